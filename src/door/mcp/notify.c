/* SPDX-License-Identifier: GPL-2.0-or-later */
/* notify.c - notifies clients of changed lists and resources.
 *
 *     modern    subscriptions/listen: a request that is answered when it ends
 *     legacy    GET with a session: a stream, and the resources that the session has subscribed to
 *               standard output: the one client
 *
 * Sources report changes (call/runtime.h), and a new catalogue may change lists; then each subscriber
 * gets the changes of its own caller's view. A modern subscriber with the permission to view the traffic also
 * gets the calls of all callers, once a second, and each step of the statistics: this is for the console.
 */
#include <stdio.h>

#include "access/fair_key.h"
#include "door/mcp/task/task_away.h"
#include "json/write.h"
#include "metrics/recent.h"
#include "metrics/step.h"

#define SUBSCRIPTION "\"_meta\":{\"" CW_MCP_META("subscriptionId") "\":"

/* Lives in its responder's arena. */
typedef struct subscriber {
    cw_runtime_watch watch;
    cw_mcp_registry_entry link; /* ends the stream */
    cw_mcp_expiry expiry;       /* of the token that opened it */
    cw_login_watch opened_by;   /* the credentials of the caller */
    cw_mcp *door;
    cw_responder *responder;
    cw_fair_group *place;          /* among the streams of all clients */
    cw_fair_group *watcher;        /* among those that get calls; NULL: it gets none */
    cw_deadline next_calls;        /* in cw_mcp_registry.watching */
    cw_recent_query calls;         /* that it gets */
    uint64_t last_step;            /* of the statistics that it got */
    cw_rpc_item *item;             /* modern: the request that waits */
    const cw_mcp_session *session; /* legacy */
    /* The last view of an authenticated caller, or in a toolset; held by the arena. */
    cw_view *view;
    bool is_anonymous;  /* that view is the anonymous caller's */
    const cw_str *uris; /* modern */
    uint32_t n_uris;
    uint32_t next_uri;        /* of those that are sent again after a loss; n_uris: none */
    cw_mcp_task_watch *tasks; /* modern */
    uint32_t n_tasks;
    cw_buf late;    /* legacy: the same; a NUL behind each */
    size_t late_at; /* sent up to here */
    uint8_t wants;  /* CW_CHANGE_… */
    uint8_t missed; /* to be sent when the reader reads again */
    uint8_t told;   /* lists that are sent again when another server has changed */
    bool has_missed_uri;
    bool is_full;
    bool has_calls, has_steps; /* a watcher gets these */
    bool holds_session;        /* in the session store */
    bool is_entered;           /* its URIs, in the interest of the runtime */
} subscriber;

/* Lists that may change. */
typedef struct change_name {
    unsigned list;
    cw_str name; /* its name in subscriptions/listen */
    cw_str method;
} change_name;

#define CHANGES 4u
#define URIS_MAX 1000u /* resources of one subscription */
#define CALLS_MAX 20u  /* sent at a time */
#define TRAFFIC "causeway/traffic"
#define STATS "causeway/stats"

static const change_name changes[CHANGES] = {
    {CW_CHANGED_TOOLS, CW_STR_INIT("toolsListChanged"),
     CW_STR_INIT("notifications/tools/list_changed")},
    {CW_CHANGED_PROMPTS, CW_STR_INIT("promptsListChanged"),
     CW_STR_INIT("notifications/prompts/list_changed")},
    {CW_CHANGED_RESOURCES, CW_STR_INIT("resourcesListChanged"),
     CW_STR_INIT("notifications/resources/list_changed")},
    {CW_CHANGED_EVENTS, CW_STR_INIT("eventsListChanged"),
     CW_STR_INIT("notifications/events/list_changed")},
};

/* Events are resources, so their list may change with that of the resources. */
static unsigned with_events(unsigned lists)
{
    return lists & CW_CHANGED_RESOURCES ? lists | CW_CHANGED_EVENTS : lists;
}

static void leave_place(subscriber *l)
{
    cw_fair_slots_leave(&l->door->streams, l->place);
    cw_fair_slots_leave(&l->door->watchers, l->watcher);
    l->place = l->watcher = NULL;
    if (l->has_steps)
        cw_metrics_step_unwatch();
    l->has_steps = false;
}

/* The session store enters the subscriptions of legacy clients. */
static void enter_uris(subscriber *l)
{
    for (uint32_t i = 0; i < l->n_uris; i++)
        cw_interest_enter(cw_runtime_interest(l->door->runtime), l->uris[i]);
    l->is_entered = true;
}

static void leave_uris(subscriber *l)
{
    for (uint32_t i = 0; i < l->n_uris && l->is_entered; i++)
        cw_interest_leave(cw_runtime_interest(l->door->runtime), l->uris[i]);
    l->is_entered = false;
}

static void leave_tasks(subscriber *l)
{
    for (uint32_t i = 0; i < l->n_tasks; i++)
        cw_mcp_task_watch_remove(&l->tasks[i]);
    l->n_tasks = 0;
}

static void leave(subscriber *l)
{
    leave_place(l);
    leave_uris(l);
    leave_tasks(l);
    cw_deadline_clear(&l->next_calls);
    cw_list_remove(&l->watch.node);
    cw_list_remove(&l->link.node);
    if (l->holds_session)
        cw_mcp_session_store_release(&l->door->sessions, l->session, cw_clock_wall_ms());
    l->holds_session = false;
    cw_mcp_expiry_remove(&l->expiry);
    cw_login_watch_remove(&l->opened_by);
}

static void close_stream(subscriber *l)
{
    leave(l);
    cw_responder_end(l->responder);
}

/* ---- telling ---- */

/* Queue a message. CW_LIMIT: the queue has no room for it; CW_NOMEM. */
static cw_code enqueue(subscriber *l, const cw_buf *b)
{
    cw_code rc =
        b->code ? b->code : cw_responder_send(l->responder, CW_SEND_MESSAGE, cw_buf_str(b));
    if (rc != CW_AGAIN)
        return rc;
    l->is_full = true;
    return CW_OK;
}

static bool close_after(subscriber *l, cw_code rc)
{
    if (rc)
        close_stream(l);
    return rc == CW_OK;
}

static bool subscriber_send(subscriber *l, const cw_buf *b)
{
    return close_after(l, enqueue(l, b));
}

/* `uri` empty: none. */
static bool notify(subscriber *l, cw_str method, cw_str uri)
{
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_buf_add(&b, CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\""));
    cw_buf_add(&b, method);
    cw_buf_add_char(&b, '"');
    if (uri.n || l->item)
        cw_buf_add(&b, CW_STR(",\"params\":{"));
    if (uri.n) {
        cw_buf_add(&b, CW_STR("\"uri\":"));
        cw_json_escape(&b, uri);
    }
    if (l->item) {
        cw_buf_add(&b, uri.n ? CW_STR("," SUBSCRIPTION) : CW_STR(SUBSCRIPTION));
        cw_buf_add(&b, l->item->id);
        cw_buf_add(&b, CW_STR("}}}"));
    } else {
        cw_buf_add(&b, uri.n ? CW_STR("}}") : CW_STR("}"));
    }
    bool is_there = subscriber_send(l, &b);
    cw_buf_done(&b);
    return is_there;
}

static bool notify_lists(subscriber *l, unsigned changed)
{
    l->told |= (uint8_t)changed;
    for (size_t i = 0; i < CHANGES; i++) {
        if (!(changed & changes[i].list))
            continue;
        if (l->is_full)
            l->missed |= (uint8_t)changes[i].list;
        else if (!notify(l, changes[i].method, CW_STR("")))
            return false;
    }
    return true;
}

/* As the caller sees things now. */
static cw_view *view_of(subscriber *l)
{
    return l->view ? l->view : cw_runtime_anonymous(l->watch.rl);
}

/* Whether the caller sees this resource, still: it may have asked long ago. CW_NOTFOUND: it does
 * not; CW_NOMEM. */
static cw_code find_resource(subscriber *l, cw_str uri, const void *source)
{
    const cw_entry *entry;
    cw_str variables;
    cw_arena scratch;
    cw_arena_init(&scratch, CW_ARENA_MAX);
    cw_code rc = cw_view_match_resource(view_of(l), uri, &scratch, &entry, &variables);
    cw_arena_done(&scratch);
    /* An MCP server does not speak for the resources of another. */
    bool is_foreign =
        !rc && source && entry->method->exposed->is_relayed && entry->method->source != source;
    return is_foreign ? CW_NOTFOUND : rc;
}

/* `source` is that of the update; NULL: it is sent again, and not known any more. */
static bool notify_uri(subscriber *l, cw_str uri, const void *source)
{
    cw_code rc = find_resource(l, uri, source);
    if (rc == CW_NOTFOUND)
        return true;
    if (!rc)
        return notify(l, CW_STR("notifications/resources/updated"), uri);
    close_stream(l);
    return false;
}

/* The state of a task, which the caller may see; `is_full`: with its questions or its result. */
static cw_code send_task(subscriber *l, const cw_mcp_task_watch *watch, bool is_full)
{
    CW_CLEANUP(cw_buf_done) cw_buf b;
    uint32_t poll_ms = cw_runtime_config(l->watch.rl)->mcp.tasks.poll_ms;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_buf_add(&b, CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks\",\"params\":{"));
    cw_task_write(watch->task, poll_ms, is_full, &b);
    cw_buf_add(&b, CW_STR("," SUBSCRIPTION));
    cw_buf_add(&b, l->item->id);
    cw_buf_add(&b, CW_STR("}}}"));
    return enqueue(l, &b);
}

/* Nothing for a caller that may not see the task any more. False: disconnected. */
static bool notify_task(subscriber *l, cw_mcp_task_watch *watch)
{
    watch->is_late = l->is_full || !cw_login_watch_is_current(&l->opened_by);
    if (watch->is_late || !cw_mcp_task_is_allowed(view_of(l), watch->task))
        return true;
    cw_code rc = send_task(l, watch, /* is_full= */ true);
    /* The client reads the rest with tasks/get, and keeps its other tasks. */
    if (rc == CW_LIMIT)
        rc = send_task(l, watch, /* is_full= */ false);
    return close_after(l, rc);
}

/* How a message for the stream of a session travels to all loops: the name of a tool and the message
 * follow. */
typedef struct session_message {
    cw_mcp *door;
    unsigned char number[CW_MCP_NUMBER];
    size_t n_tool;
} session_message;

static bool may_call(subscriber *l, cw_str tool)
{
    const cw_view *view = view_of(l);
    const cw_entry *entry = cw_view_find_tool(view, tool);
    return entry && cw_view_verdict(view, entry) == CW_VERDICT_ALLOW &&
           cw_login_watch_is_current(&l->opened_by);
}

static void on_session_message(cw_runtime_loop *rl, cw_str bytes)
{
    session_message m;
    memcpy(&m, bytes.p, sizeof m);
    cw_mcp_registry *registry = cw_mcp_registry_of(m.door, cw_runtime_loop_of(rl));
    cw_str key = cw_str_make((const char *)m.number, CW_MCP_NUMBER);
    cw_str tool = cw_str_make(bytes.p + sizeof m, m.n_tool);
    cw_str text = cw_str_make(tool.p + tool.n, bytes.n - sizeof m - m.n_tool);
    cw_mcp_registry_entry *link = cw_mcp_registry_find(registry->streams, key, NULL);
    subscriber *l = link ? CW_CONTAINER(link, subscriber, link) : NULL;
    /* A stream that is full loses it: the client polls, too. */
    if (l && !l->is_full && may_call(l, tool))
        (void)cw_responder_send(l->responder, CW_SEND_MESSAGE, text);
}

void cw_mcp_notify_session(cw_mcp *door, cw_runtime_loop *rl, const cw_mcp_session *session,
                           cw_str tool, cw_str message)
{
    CW_CLEANUP(cw_buf_done) cw_buf b;
    session_message m;
    memset(&m, 0, sizeof m);
    m.door = door;
    m.n_tool = tool.n;
    memcpy(m.number, session->number, CW_MCP_NUMBER);
    cw_buf_init(&b, CW_BUF_MAX);
    cw_buf_add_bytes(&b, &m, sizeof m);
    cw_buf_add(&b, tool);
    cw_buf_add(&b, message);
    if (!b.code)
        cw_runtime_broadcast(rl, on_session_message, cw_buf_str(&b));
}

static void on_task(cw_mcp_task_watch *watch)
{
    (void)notify_task(watch->self, watch);
}

/* False: disconnected. */
static bool notify_late_tasks(subscriber *l)
{
    for (uint32_t i = 0; i < l->n_tasks; i++) {
        if (l->tasks[i].is_late && !notify_task(l, &l->tasks[i]))
            return false;
    }
    return true;
}

static void end(subscriber *l);

/* A caller that may not list anything gets no notification that lists change. False: nothing is
 * sent, and a stream over HTTP has ended. */
static bool is_authorized(subscriber *l)
{
    if (cw_view_discover_verdict(view_of(l)) == CW_VERDICT_ALLOW)
        return true;
    if (!l->responder->session)
        end(l);
    return false;
}

/* The missed URIs are unknown, so all are sent. Reading a resource once too often does no harm.
 * False: disconnected, out of memory. */
static bool collect_missed(subscriber *l)
{
    l->has_missed_uri = false;
    l->next_uri = 0;
    if (!l->session)
        return true;
    cw_mcp_session_store_subscriptions(&l->door->sessions, l->session, &l->late);
    if (!l->late.code)
        return true;
    close_stream(l);
    return false;
}

/* The next URI to send; .p is NULL at the end. */
static cw_str take_late(subscriber *l)
{
    if (l->next_uri < l->n_uris)
        return l->uris[l->next_uri++];
    if (l->late_at < l->late.n) {
        cw_str uri = cw_str_from(l->late.p + l->late_at);
        l->late_at += uri.n + 1;
        return uri;
    }
    cw_buf_release(&l->late);
    l->late_at = 0;
    return (cw_str){NULL, 0};
}

/* The reader reads again, or its credentials are confirmed: send what was missed, as far as the
 * queue takes it. */
static void send_missed(subscriber *l)
{
    unsigned missed = l->missed;
    l->is_full = false;
    if (!cw_login_watch_is_current(&l->opened_by))
        return; /* on_confirmed follows */
    l->missed = 0;
    if (!is_authorized(l) || !notify_lists(l, missed) || !notify_late_tasks(l))
        return;
    while (!l->is_full) {
        cw_str uri = take_late(l);
        bool goes_on = uri.p ? notify_uri(l, uri, NULL) : l->has_missed_uri && collect_missed(l);
        if (!goes_on)
            return;
    }
}

/* ---- changes ---- */

/* Whether a legacy client has sent initialize; nothing may be sent before. */
static bool is_ready(const subscriber *l)
{
    return !l->session || l->session->version.n > 0;
}

static bool wants_uri(const subscriber *l, cw_str uri)
{
    for (uint32_t i = 0; i < l->n_uris; i++) {
        if (cw_str_eq(l->uris[i], uri))
            return true;
    }
    return l->session && cw_mcp_session_store_is_subscribed(&l->door->sessions, l->session, uri);
}

/* The changed lists that the subscriber has asked for. */
static unsigned lists_of(subscriber *l, const cw_change *change)
{
    unsigned lists = change->lists & CW_CHANGED_AGAIN ? l->told : change->lists;
    if (with_events(lists) & l->wants && change->source)
        lists = cw_view_lists_with_source(view_of(l), change->source, lists);
    return with_events(lists) & l->wants;
}

/* While credentials have to be checked again, changes wait for the result. */
static bool send_lists(subscriber *l, unsigned lists)
{
    if (cw_login_watch_is_current(&l->opened_by))
        return notify_lists(l, lists);
    l->missed |= (uint8_t)lists;
    return true;
}

static void on_change_event(cw_runtime_watch *watch, const cw_change *change)
{
    subscriber *l = CW_CONTAINER(watch, subscriber, watch);
    if (!is_ready(l) || !is_authorized(l) || !send_lists(l, lists_of(l, change)))
        return;
    if (change->lists & CW_CHANGED_SETTLED)
        l->told = 0;
    if (!change->uri.n || !wants_uri(l, change->uri))
        return;
    if (l->is_full || !cw_login_watch_is_current(&l->opened_by))
        l->has_missed_uri = true;
    else
        (void)notify_uri(l, change->uri, change->source);
}

/* The view of the last catalogue; NULL: its toolset is gone, or out of memory. */
static cw_view *current_view(const subscriber *l)
{
    return cw_runtime_view_in(l->watch.rl, l->is_anonymous ? NULL : cw_view_caller(l->view),
                              cw_view_toolset(l->view));
}

/* The lists that have changed in a view of its own. False: it cannot be had any more. */
static bool diff_view(subscriber *l, unsigned *ret_changed)
{
    cw_view *now = current_view(l);
    if (!now)
        return false;
    *ret_changed = cw_view_changes(l->view, now);
    cw_view_unref(l->view);
    l->view = cw_view_ref(now);
    return true;
}

static void end_changed(subscriber *l);

static void on_change(cw_runtime_watch *watch, unsigned changed)
{
    subscriber *l = CW_CONTAINER(watch, subscriber, watch);
    unsigned form = changed & CW_CHANGED_FORM ? CW_CHANGED_TOOLS : 0;
    if (!is_authorized(l))
        return;
    if (l->view && !diff_view(l, &changed))
        end_changed(l);
    else if (is_ready(l))
        (void)send_lists(l, with_events(changed | form) & l->wants);
}

/* ---- calls ---- */

static void wait_for_calls(subscriber *l)
{
    cw_loop_set_deadline(l->responder->loop, &l->next_calls,
                         &cw_mcp_registry_of(l->door, l->responder->loop)->watching);
}

/* Add `_meta` with the id of the subscription, and end the message. */
static cw_code end_notification(cw_json_writer *w, cw_str id)
{
    cw_json_add_key(w, CW_STR("_meta"));
    cw_json_open_object(w);
    cw_json_add_key(w, CW_STR(CW_MCP_META("subscriptionId")));
    cw_json_add_span(w, id);
    cw_json_close(w);
    cw_json_close(w);
    cw_json_close(w);
    return cw_json_writer_end(w, NULL);
}

/* The calls since the last message, or nothing if there were none. False: disconnected. */
static bool send_calls(subscriber *l)
{
    cw_buf b;
    cw_json_writer w;
    cw_mcp_open_notification(&w, &b, CW_STR("notifications/" TRAFFIC));
    uint64_t last = cw_recent_write(&w, &l->calls, CALLS_MAX);
    bool has_calls = last > l->calls.after;
    l->calls.after = last;
    bool is_there = !has_calls || (!end_notification(&w, l->item->id) && subscriber_send(l, &b));
    cw_buf_done(&b);
    return is_there;
}

/* The newest step of the statistics, once. False: disconnected. */
static bool send_step(subscriber *l)
{
    CW_CLEANUP(cw_buf_done) cw_buf step;
    cw_buf b;
    cw_json_writer w;
    cw_buf_init(&step, CW_METRICS_STEP_MAX);
    uint64_t number = cw_metrics_step_add(&step);
    if (!number || number == l->last_step || step.code)
        return true;
    l->last_step = number;
    cw_mcp_open_notification(&w, &b, CW_STR("notifications/" STATS));
    cw_json_add_key(&w, CW_STR("stats"));
    cw_json_add_span(&w, cw_buf_str(&step));
    bool is_there = !end_notification(&w, l->item->id) && subscriber_send(l, &b);
    cw_buf_done(&b);
    return is_there;
}

/* A slow reader, and one whose credentials are checked again, miss calls and steps: the number of calls is in
 * the next message. */
void cw_mcp_on_traffic(cw_deadline *d)
{
    subscriber *l = CW_CONTAINER(d, subscriber, next_calls);
    bool is_waiting = l->is_full || !cw_login_watch_is_current(&l->opened_by);
    bool is_there = is_waiting || !l->has_calls || send_calls(l);
    if (is_there && !is_waiting && l->has_steps && l->last_step != cw_metrics_step_last())
        is_there = send_step(l);
    if (is_there)
        wait_for_calls(l);
}

static cw_str text_of(const cw_json *object, const char *name)
{
    const cw_json *v = cw_json_get(object, cw_str_from(name));
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
}

/* Calls of all callers, for those with the permission. `wanted` selects them: {"tool": …, "outcome": …,
 * "caller": …, "calls": false, "stats": true}; NULL: the client asks for none. CW_LIMIT. */
static cw_code take_traffic(const cw_mcp_request *r, subscriber *l, const cw_json *wanted)
{
    const cw_caller *caller = cw_view_caller(r->view);
    if (!cw_json_is(wanted, CW_JSON_OBJECT) ||
        !cw_caller_may(caller, CW_STR(CW_PERMISSION_VIEW_TRAFFIC)))
        return CW_OK;
    l->calls = (cw_recent_query){.after = cw_recent_last(),
                                 .tool = text_of(wanted, "tool"),
                                 .caller = text_of(wanted, "caller"),
                                 .outcome = text_of(wanted, "outcome")};
    cw_fair_key key = cw_caller_fair_key(caller, cw_responder_peer(r->responder));
    cw_code rc = cw_fair_slots_enter(&r->door->watchers, &key,
                                     cw_runtime_config(r->rl)->limits.console_streams,
                                     /* each= */ 0, &l->watcher);
    if (rc)
        return rc;
    l->has_calls = !cw_json_is(cw_json_get(wanted, CW_STR("calls")), CW_JSON_FALSE);
    l->has_steps = cw_json_is(cw_json_get(wanted, CW_STR("stats")), CW_JSON_TRUE);
    l->last_step = cw_metrics_step_last();
    if (l->has_steps)
        cw_metrics_step_watch();
    return CW_OK;
}

/* ---- the end ---- */

/* The server ends the subscription in good order: with the result of the request. */
static void send_result(subscriber *l)
{
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"resultType\":\"complete\"," SUBSCRIPTION));
    cw_buf_add(&b, l->item->id);
    cw_buf_add(&b, CW_STR(",\"" CW_MCP_META("serverInfo") "\":" CW_MCP_SERVER "}}"));
    cw_rpc_close(&b, l->item->id);
    cw_rpc_item_reply(l->item, 200, &b, CW_STR(""));
}

static void end(subscriber *l)
{
    leave(l);
    if (l->item)
        send_result(l);
    else if (!l->responder->session)
        cw_responder_end(l->responder);
}

static void on_cancel(cw_mcp_registry_entry *link)
{
    subscriber *l = CW_CONTAINER(link, subscriber, link);
    leave(l);
    if (l->item)
        cw_rpc_item_no_reply(l->item);
    else
        cw_responder_end(l->responder);
}

/* The token has expired; the client must come back with a new one. */
static void on_expired(cw_mcp_expiry *expiry)
{
    end(CW_CONTAINER(expiry, subscriber, expiry));
}

/* The lists that differ with the new rights of the caller. Nothing is sent to a caller that may not
 * list anything any more. */
static unsigned lists_after(subscriber *l, cw_caller *now)
{
    cw_view *view = now ? cw_runtime_view_in(l->watch.rl, now, cw_view_toolset(l->view)) : NULL;
    if (!view || cw_view_discover_verdict(view) != CW_VERDICT_ALLOW)
        return 0;
    return with_events(cw_view_changes(l->view, view) | l->missed) & l->wants;
}

/* The last notifications of a stream. Those of a slow reader do not wait: a queue that is full is half
 * empty (net/server/request_api.h), so that these few have room. */
static bool notify_last(subscriber *l, unsigned lists)
{
    for (size_t i = 0; i < CHANGES; i++) {
        l->is_full = false;
        if (!notify_lists(l, lists & changes[i].list))
            return false;
    }
    return true;
}

/* What the client has read is out of date, and what it would read now is not known. */
static void end_changed(subscriber *l)
{
    if (!is_ready(l) || notify_last(l, l->wants))
        end(l);
}

/* The credentials are gone, or the rights of the caller have changed. Many clients read their lists
 * again for a notification only, and not because a stream ends. */
static void on_login_ended(cw_login_watch *watch)
{
    subscriber *l = CW_CONTAINER(watch, subscriber, opened_by);
    if (!is_ready(l) || notify_last(l, lists_after(l, watch->now)))
        end(l);
}

static void on_login_confirmed(cw_login_watch *watch)
{
    subscriber *l = CW_CONTAINER(watch, subscriber, opened_by);
    if (!l->is_full && is_ready(l))
        send_missed(l);
}

static void on_event(cw_responder *responder, cw_responder_event event, void *ctx)
{
    subscriber *l = ctx;
    (void)responder;
    switch (event) {
    case CW_RESPONDER_GONE:
        leave(l);
        break;
    case CW_RESPONDER_DRAINED:
        send_missed(l);
        break;
    case CW_RESPONDER_STOPPING:
        end(l);
        break;
    }
}

/* ---- the beginning ---- */

static void release(void *ctx)
{
    subscriber *l = ctx;
    leave_place(l);
    leave_uris(l);
    leave_tasks(l);
    cw_view_unref(l->view);
    cw_buf_done(&l->late);
}

/* Follow a view of its own: of an authenticated caller until its credentials end, of the anonymous
 * one in a toolset. */
static void follow_caller(subscriber *l, cw_runtime_loop *rl, cw_view *view)
{
    bool is_authenticated =
        !cw_runtime_is_anonymous(rl, view) && !cw_caller_is_anonymous(cw_view_caller(view));
    if (!is_authenticated && !cw_view_toolset(view))
        return;
    l->view = cw_view_ref(view);
    l->is_anonymous = !is_authenticated;
    l->watch.is_always = true;
    if (!is_authenticated)
        return;
    l->expiry.at = cw_caller_expires(cw_view_caller(view));
    l->expiry.on_expired = on_expired;
    l->opened_by.on_ended = on_login_ended;
    l->opened_by.on_confirmed = on_login_confirmed;
}

static cw_code subscriber_new(cw_mcp *door, cw_responder *responder, cw_runtime_loop *rl,
                              cw_view *view, subscriber **ret)
{
    subscriber *l = cw_arena_calloc(responder->arena, 1, sizeof *l);
    if (!l)
        return CW_NOMEM;
    l->watch.on_change = on_change;
    l->watch.on_change_event = on_change_event;
    l->link.cancel = on_cancel;
    l->door = door;
    l->responder = responder;
    cw_buf_init(&l->late, CW_BUF_MAX);
    follow_caller(l, rl, view);
    *ret = l;
    if (cw_arena_hold(responder->arena, l, release))
        return CW_NOMEM;
    cw_fair_key key = cw_caller_fair_key(cw_view_caller(view), cw_responder_peer(responder));
    return cw_fair_slots_enter(&door->streams, &key, cw_runtime_config(rl)->limits.subscriptions,
                               /* each= */ 0, &l->place);
}

static void subscriber_enter(subscriber *l, cw_runtime_loop *rl)
{
    const cw_replicas *replicas = cw_runtime_replicas(rl);
    /* It may read old lists at another server without a notification. */
    if (replicas && !cw_replicas_is_settled(replicas))
        l->told = l->wants;
    l->responder->on_event = on_event;
    l->responder->ctx = l;
    cw_runtime_watch_add(rl, &l->watch);
    if (l->expiry.at && !l->responder->session)
        cw_mcp_expiry_add(&cw_mcp_registry_of(l->door, l->responder->loop)->expiries, &l->expiry);
    if (l->view && !l->is_anonymous && !l->responder->session)
        cw_mcp_watch_login(rl, l->view, &l->opened_by);
}

cw_code cw_mcp_subscribe_session(cw_mcp *door, cw_responder *responder, cw_runtime_loop *rl,
                                 cw_view *view, const cw_mcp_session *session)
{
    subscriber *l;
    cw_code rc = subscriber_new(door, responder, rl, view, &l);
    if (rc)
        return rc;
    cw_mcp_session_owner owner;
    cw_mcp_session_owner_init(&owner, view, responder);
    rc = cw_mcp_session_store_hold(&door->sessions, &owner, session);
    if (rc)
        return rc;
    l->holds_session = true;
    l->wants = CW_CHANGED_TOOLS | CW_CHANGED_PROMPTS | CW_CHANGED_RESOURCES;
    l->session = session;
    subscriber_enter(l, rl);
    if (responder->session)
        return CW_OK;
    /* A message goes to one stream only: a newer one takes the place of those that are open. */
    cw_mcp_registry_add(cw_mcp_registry_of(door, responder->loop)->streams, &l->link,
                        cw_mcp_number(session));
    cw_fair_key by = cw_caller_fair_key(cw_view_caller(view), cw_responder_peer(responder));
    cw_mcp_close_streams(door, rl, session, &by, &l->link);
    return CW_OK;
}

cw_code cw_mcp_subscribe_responder(cw_mcp *door, cw_responder *responder, cw_runtime_loop *rl,
                                   cw_view *view)
{
    return cw_mcp_subscribe_session(door, responder, rl, view, responder->session);
}

/* One record for all that is not there: a thousand would push others out of the audit. */
static void audit_hidden(const cw_mcp_request *r, cw_str first, uint32_t n)
{
    char more[32] = "";
    if (n == 0)
        return;
    if (n > 1)
        snprintf(more, sizeof more, "and %u more", n - 1);
    cw_mcp_audit_refusal(r, first, cw_str_from(more), CW_VERDICT_HIDDEN);
}

/* The resources that the caller sees of the first that it named. */
static cw_code take_uris(const cw_mcp_request *r, subscriber *l, const cw_json *named)
{
    cw_str hidden = {NULL, 0};
    uint32_t n_hidden = 0;
    uint32_t n = cw_json_is(named, CW_JSON_ARRAY) ? cw_json_count(named) : 0, found = 0;
    if (n > URIS_MAX)
        n = URIS_MAX;
    cw_str *uris = n ? cw_arena_calloc(r->responder->arena, n, sizeof *uris) : NULL;
    if (n && !uris)
        return CW_NOMEM;
    cw_arena scratch;
    cw_arena_init(&scratch, CW_ARENA_MAX);
    cw_code rc = CW_OK;
    const cw_json *v = n ? cw_json_first(named) : NULL;
    for (uint32_t i = 0; i < n && rc != CW_NOMEM; i++, v = cw_json_next(v)) {
        const cw_entry *entry;
        cw_str variables;
        if (!cw_json_is(v, CW_JSON_STRING))
            continue;
        rc = cw_view_match_resource(r->view, cw_json_text(v), &scratch, &entry, &variables);
        if (rc == CW_OK)
            uris[found++] = cw_json_text(v);
        else if (rc == CW_NOTFOUND && n_hidden++ == 0)
            hidden = cw_json_text(v);
    }
    cw_arena_done(&scratch);
    audit_hidden(r, hidden, n_hidden);
    l->uris = uris;
    l->n_uris = l->next_uri = found;
    return rc == CW_NOMEM ? CW_NOMEM : CW_OK;
}

/* The caller's tasks among the first that it named. */
static cw_code take_tasks(const cw_mcp_request *r, subscriber *l, const cw_json *named,
                          const cw_mcp_tasks_found *found)
{
    uint32_t n = cw_json_is(named, CW_JSON_ARRAY) ? cw_json_count(named) : 0;
    if (n > CW_MCP_TASK_WATCHES)
        n = CW_MCP_TASK_WATCHES;
    l->tasks = n ? cw_arena_calloc(r->responder->arena, n, sizeof *l->tasks) : NULL;
    if (n && !l->tasks)
        return CW_NOMEM;
    const cw_json *v = n ? cw_json_first(named) : NULL;
    for (uint32_t i = 0; i < n; i++, v = cw_json_next(v)) {
        cw_mcp_task_watch *watch = &l->tasks[l->n_tasks];
        *watch = (cw_mcp_task_watch){.on_change = on_task, .self = l, .is_late = true};
        if (cw_json_is(v, CW_JSON_STRING) && !cw_mcp_task_is_repeated(named, v) &&
            cw_mcp_task_watch_add(r, cw_json_text(v), found, watch))
            l->n_tasks++;
    }
    return CW_OK;
}

static void take_lists(const cw_mcp_request *r, subscriber *l, const cw_json *filter)
{
    bool has_events = cw_runtime_config(r->rl)->mcp.events.enabled;
    for (size_t i = 0; i < CHANGES; i++) {
        if (changes[i].list == CW_CHANGED_EVENTS && !has_events)
            continue;
        if (cw_json_is(cw_json_get(filter, changes[i].name), CW_JSON_TRUE))
            l->wants |= (uint8_t)changes[i].list;
    }
}

/* The accepted part of the filter. */
static void write_honoured(cw_json_writer *w, const subscriber *l)
{
    cw_json_open_object(w);
    for (size_t i = 0; i < CHANGES; i++) {
        if (l->wants & changes[i].list)
            cw_json_add_bool_member(w, changes[i].name, true);
    }
    if (l->n_uris) {
        cw_json_add_key(w, CW_STR("resourceSubscriptions"));
        cw_json_open_array(w);
        for (uint32_t i = 0; i < l->n_uris; i++)
            cw_json_add_string(w, l->uris[i]);
        cw_json_close(w);
    }
    if (l->tasks && l->n_tasks) {
        cw_json_add_key(w, CW_STR("taskIds"));
        cw_json_open_array(w);
        for (uint32_t i = 0; i < l->n_tasks; i++)
            cw_json_add_string(w, cw_task_id(l->tasks[i].task));
        cw_json_close(w);
    }
    if (l->watcher)
        cw_json_add_bool_member(w, CW_STR(TRAFFIC), true);
    cw_json_close(w);
}

/* The first message. `b` is initialized. CW_PARAMS: too large for the stream. */
static cw_code write_acknowledgement(const cw_mcp_request *r, const subscriber *l, cw_buf *b)
{
    size_t most = cw_runtime_config(r->rl)->limits.stream_queue / 2;
    cw_json_writer w;
    cw_mcp_open_notification(&w, b, CW_STR("notifications/subscriptions/acknowledged"));
    cw_json_add_key(&w, CW_STR("notifications"));
    write_honoured(&w, l);
    if (end_notification(&w, r->item->id))
        return CW_NOMEM;
    return b->n > most ? CW_PARAMS : CW_OK;
}

static void refuse_subscription(const cw_mcp_request *r, cw_code rc)
{
    if (rc == CW_PARAMS)
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, "resourceSubscriptions are too long");
    else if (rc == CW_LIMIT)
        cw_door_fail(r->item, 503, CW_RPC_INTERNAL, "Too many subscriptions are open");
    else
        cw_door_fail_nomem(r->item);
}

static void open_subscription(const cw_mcp_request *r, const cw_mcp_tasks_found *found)
{
    const cw_json *filter = cw_json_get(r->params, CW_STR("notifications"));
    subscriber *l;
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_code rc = subscriber_new(r->door, r->responder, r->rl, r->view, &l);
    if (!rc)
        rc = take_uris(r, l, cw_json_get(filter, CW_STR("resourceSubscriptions")));
    if (!rc)
        rc = take_tasks(r, l, cw_json_get(filter, CW_STR("taskIds")), found);
    if (!rc)
        rc = take_traffic(r, l, cw_json_get(filter, CW_STR(TRAFFIC)));
    if (!rc) {
        take_lists(r, l, filter);
        rc = write_acknowledgement(r, l, &b);
    }
    if (!rc)
        rc = cw_mcp_registry_enter(r, &l->link);
    if (rc) {
        refuse_subscription(r, rc);
    } else {
        l->item = r->item;
        r->responder->is_lasting = true;
        enter_uris(l);
        subscriber_enter(l, r->rl);
        if (subscriber_send(l, &b) && notify_late_tasks(l) && l->watcher)
            wait_for_calls(l);
    }
    cw_buf_done(&b);
}

void cw_mcp_subscriptions_listen(const cw_mcp_request *r)
{
    const cw_json *filter = cw_json_get(r->params, CW_STR("notifications"));
    if (!cw_mcp_may(r, /* discovers= */ true))
        return;
    if (!cw_json_is(filter, CW_JSON_OBJECT))
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, "notifications must be an object");
    else if (cw_json_get(filter, CW_STR("taskIds")) && !cw_mcp_task_check_declared(r))
        return;
    else if (!r->responder->can_stream)
        cw_door_fail(r->item, 406, CW_RPC_INVALID, "Accept must allow text/event-stream");
    else
        cw_mcp_tasks_gather(r, cw_json_get(filter, CW_STR("taskIds")), open_subscription);
}
