/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_stream.c - events/stream: a request that receives the events of one type until it ends.
 *
 * Before each event the rights of the caller are judged again: its credentials must be unchanged, and its
 * view must show the event. A reader that is slow continues where it stopped; events that its type has
 * lost meanwhile are a gap.
 */
#include "access/fair_key.h"
#include "door/mcp/event/events.h"
#include "event/occurrence.h"

#define NOTIFY "notifications/events/"

/* Lives in its responder's arena. */
typedef struct stream {
    cw_runtime_watch watch;
    cw_mcp_registry_entry link; /* ends the stream */
    cw_mcp_expiry expiry;       /* of the token that opened it */
    cw_login_watch opened_by;
    cw_event_watch events;
    cw_deadline heartbeat;
    cw_mcp *door;
    cw_responder *responder;
    cw_rpc_item *item;
    cw_fair_group *place;
    cw_view *view; /* of an authenticated caller, or in a toolset; NULL: the anonymous one */
    bool is_anonymous;
    cw_str name;
    const cw_json *arguments;
    int64_t oldest;
    uint64_t after;    /* the last event that was sent, or left out */
    uint64_t gap_seen; /* the last lost event that was reported */
    bool is_full;
    bool has_left;
} stream;

static void leave(stream *s)
{
    if (s->has_left)
        return;
    s->has_left = true;
    cw_fair_slots_leave(&s->door->streams, s->place);
    cw_event_watch_remove(&s->events);
    cw_deadline_clear(&s->heartbeat);
    cw_list_remove(&s->watch.node);
    cw_list_remove(&s->link.node);
    cw_mcp_expiry_remove(&s->expiry);
    cw_login_watch_remove(&s->opened_by);
}

static cw_view *view_of(const stream *s)
{
    return s->view ? s->view : cw_runtime_anonymous(s->watch.rl);
}

/* ---- messages ---- */

/* Send a message and end its buffer. False: the stream has ended. */
static bool send_message(stream *s, cw_json_writer *w, cw_buf *b)
{
    cw_json_add_key(w, CW_STR("_meta"));
    cw_json_open_object(w);
    cw_json_add_key(w, CW_STR(CW_MCP_META("subscriptionId")));
    cw_json_add_span(w, s->item->id);
    cw_json_close(w);
    cw_json_close(w);
    cw_json_close(w);
    cw_code rc = cw_json_writer_end(w, NULL);
    if (!rc)
        rc = cw_responder_send(s->responder, CW_SEND_MESSAGE, cw_buf_str(b));
    cw_buf_done(b);
    s->is_full = s->is_full || rc == CW_AGAIN;
    if (rc == CW_OK || rc == CW_AGAIN)
        return true;
    leave(s);
    cw_responder_end(s->responder);
    return false;
}

static void add_cursor(cw_json_writer *w, const stream *s)
{
    char cursor[CW_EVENT_CURSOR];
    cw_event_cursor_write(cw_event_type_hub(s->events.type), s->after, cursor);
    cw_json_add_string_member(w, CW_STR("cursor"), cw_str_from(cursor));
}

static bool send_active(stream *s, bool is_truncated)
{
    cw_json_writer w;
    cw_buf b;
    cw_mcp_open_notification(&w, &b, CW_STR(NOTIFY "active"));
    add_cursor(&w, s);
    cw_json_add_bool_member(&w, CW_STR("truncated"), is_truncated);
    return send_message(s, &w, &b);
}

static bool send_event(stream *s, const cw_method_event *of, const cw_event *event)
{
    cw_json_writer w;
    cw_buf b;
    cw_mcp_open_notification(&w, &b, CW_STR(NOTIFY "event"));
    cw_event_add_members(&w, cw_event_type_hub(of->type), of->name, event);
    cw_event_count_delivered(of->type, CW_EVENT_MODE_PUSH, 1);
    return send_message(s, &w, &b);
}

/* ---- the end ---- */

static void send_result(stream *s)
{
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"resultType\":\"complete\",\"_meta\":{\"" CW_MCP_META(
                       "subscriptionId") "\":"));
    cw_buf_add(&b, s->item->id);
    cw_buf_add(&b, CW_STR("," CW_MCP_SERVER_META "}}"));
    cw_rpc_close(&b, s->item->id);
    cw_rpc_item_reply(s->item, 200, &b, CW_STR(""));
}

static void end(stream *s)
{
    leave(s);
    send_result(s);
}

/* The caller may receive the event no more. An event that is gone and one that is hidden now look the
 * same. */
static void terminate(stream *s, int64_t code, const char *text, cw_str name)
{
    cw_json_writer w;
    cw_buf b, message;
    cw_buf_init(&message, CW_BUF_MAX);
    cw_buf_add(&message, cw_str_from(text));
    cw_buf_add(&message, cw_door_excerpt(name));
    cw_mcp_open_notification(&w, &b, CW_STR(NOTIFY "terminated"));
    cw_json_add_key(&w, CW_STR("error"));
    cw_json_open_object(&w);
    cw_json_add_i64_member(&w, CW_STR("code"), code);
    cw_json_add_string_member(&w, CW_STR("message"), cw_buf_str(&message));
    cw_json_close(&w);
    cw_buf_done(&message);
    if (send_message(s, &w, &b))
        end(s);
}

static void terminate_hidden(stream *s)
{
    terminate(s, CW_MCP_EVENT_NOT_FOUND, "Event not found: ", s->name);
}

/* ---- events ---- */

/* A new catalogue may have another type of this name. */
static void watch_type(stream *s, cw_event_type *type)
{
    if (s->events.type == type)
        return;
    cw_event_watch_remove(&s->events);
    cw_event_watch_add(type, s->responder->loop, s->after, &s->events);
}

/* False: the stream has ended. */
static bool send_batch(stream *s, const cw_method_event *of, const cw_event_batch *batch,
                       size_t *ret_n)
{
    *ret_n = 0;
    for (size_t i = 0; i < batch->n && !s->is_full; i++) {
        const cw_event *event = batch->items[i];
        bool is_match = false;
        cw_code rc = event->arrived < s->oldest
                         ? CW_OK
                         : cw_mcp_event_match(of, s->arguments, event, &is_match);
        s->after = event->number;
        *ret_n += 1;
        /* Without memory it may be lost. */
        if (rc ? !send_active(s, /* is_truncated= */ true) : is_match && !send_event(s, of, event))
            return false;
    }
    return true;
}

/* Send what has arrived, as far as the reader takes it. */
static void deliver(stream *s)
{
    for (bool goes_on = true; goes_on && !s->is_full;) {
        cw_event_batch batch;
        size_t n;
        if (!cw_login_watch_is_current(&s->opened_by))
            return; /* on_confirmed follows */
        const cw_entry *entry = cw_mcp_event_find(view_of(s), s->name);
        if (!entry) {
            terminate_hidden(s);
            return;
        }
        const cw_method_event *of = entry->method->event;
        watch_type(s, of->type);
        cw_event_read(of->type, s->after, CW_EVENT_BATCH, &batch);
        bool is_gap = batch.is_truncated && batch.lost > s->gap_seen;
        s->gap_seen = batch.lost;
        bool is_there = !is_gap || send_active(s, /* is_truncated= */ true);
        is_there = is_there && send_batch(s, of, &batch, &n);
        goes_on = is_there && n == batch.n && batch.has_more;
        if (is_there && n == batch.n)
            s->after = batch.cursor;
        cw_event_batch_done(&batch);
        if (!is_there)
            return;
    }
}

static void on_news(cw_event_watch *w)
{
    deliver(CW_CONTAINER(w, stream, events));
}

void cw_mcp_on_heartbeat(cw_deadline *d)
{
    stream *s = CW_CONTAINER(d, stream, heartbeat);
    cw_json_writer w;
    cw_buf b;
    cw_loop_set_deadline(s->responder->loop, &s->heartbeat,
                         &cw_mcp_registry_of(s->door, s->responder->loop)->heartbeats);
    if (s->is_full)
        return;
    cw_mcp_open_notification(&w, &b, CW_STR(NOTIFY "heartbeat"));
    add_cursor(&w, s);
    (void)send_message(s, &w, &b);
}

/* ---- changes of rights ---- */

static void on_change(cw_runtime_watch *watch, unsigned lists)
{
    stream *s = CW_CONTAINER(watch, stream, watch);
    (void)lists;
    if (s->view) {
        cw_view *now = cw_runtime_view_in(
            watch->rl, s->is_anonymous ? NULL : cw_view_caller(s->view), cw_view_toolset(s->view));
        if (!now) {
            terminate_hidden(s);
            return;
        }
        cw_view_unref(s->view);
        s->view = cw_view_ref(now);
    }
    const cw_entry *entry = cw_mcp_event_find(view_of(s), s->name);
    if (entry)
        watch_type(s, entry->method->event->type);
    else
        terminate_hidden(s);
}

static void on_cancel(cw_mcp_registry_entry *link)
{
    stream *s = CW_CONTAINER(link, stream, link);
    leave(s);
    cw_rpc_item_no_reply(s->item);
}

static void on_expired(cw_mcp_expiry *expiry)
{
    terminate(CW_CONTAINER(expiry, stream, expiry), CW_MCP_EVENT_FORBIDDEN,
              "The credentials have expired", CW_STR(""));
}

/* With other rights the client may open another stream, at its cursor. */
static void on_login_ended(cw_login_watch *watch)
{
    stream *s = CW_CONTAINER(watch, stream, opened_by);
    cw_view *view =
        watch->now ? cw_runtime_view_in(s->watch.rl, watch->now, cw_view_toolset(s->view)) : NULL;
    if (view && cw_mcp_event_find(view, s->name))
        end(s);
    else
        terminate_hidden(s);
}

static void on_login_confirmed(cw_login_watch *watch)
{
    deliver(CW_CONTAINER(watch, stream, opened_by));
}

static void on_event(cw_responder *responder, cw_responder_event event, void *ctx)
{
    stream *s = ctx;
    (void)responder;
    switch (event) {
    case CW_RESPONDER_GONE:
        leave(s);
        break;
    case CW_RESPONDER_DRAINED:
        s->is_full = false;
        deliver(s);
        break;
    case CW_RESPONDER_STOPPING:
        end(s);
        break;
    }
}

/* ---- the begin ---- */

static void release(void *ctx)
{
    stream *s = ctx;
    leave(s);
    cw_view_unref(s->view);
}

static void follow_caller(stream *s, const cw_mcp_request *r)
{
    cw_view *view = r->view;
    bool is_authenticated =
        !cw_runtime_is_anonymous(r->rl, view) && !cw_caller_is_anonymous(cw_view_caller(view));
    s->watch.is_always = true;
    if (!is_authenticated && !cw_view_toolset(view))
        return;
    s->view = cw_view_ref(view);
    s->is_anonymous = !is_authenticated;
    if (!is_authenticated)
        return;
    s->expiry.at = cw_caller_expires(cw_view_caller(view));
    s->expiry.on_expired = on_expired;
    s->opened_by.on_ended = on_login_ended;
    s->opened_by.on_confirmed = on_login_confirmed;
}

/* The arguments outlive the request's document. */
static cw_code keep_query(stream *s, const cw_mcp_event_query *q, cw_arena *arena)
{
    s->name = cw_arena_dup_str(arena, q->entry->method->event->name);
    s->oldest = q->oldest;
    if (!s->name.p)
        return CW_NOMEM;
    if (!q->arguments)
        return CW_OK;
    cw_str copy = cw_arena_dup_str(arena, cw_json_span(q->arguments));
    return copy.p ? cw_json_read(copy, NULL, arena, &s->arguments, NULL, NULL) : CW_NOMEM;
}

static cw_code stream_new(const cw_mcp_request *r, const cw_mcp_event_query *q, stream **ret)
{
    cw_arena *arena = r->responder->arena;
    stream *s = cw_arena_calloc(arena, 1, sizeof *s);
    if (!s)
        return CW_NOMEM;
    s->watch.on_change = on_change;
    s->watch.rl = r->rl;
    s->link.cancel = on_cancel;
    s->events.on_news = on_news;
    s->events.mode = CW_EVENT_MODE_PUSH;
    s->door = r->door;
    s->responder = r->responder;
    s->item = r->item;
    s->has_left = true;
    follow_caller(s, r);
    *ret = s;
    if (cw_arena_hold(arena, s, release) || keep_query(s, q, arena))
        return CW_NOMEM;
    cw_fair_key key = cw_caller_fair_key(cw_view_caller(r->view), cw_responder_peer(r->responder));
    cw_code rc =
        cw_fair_slots_enter(&r->door->streams, &key, cw_runtime_config(r->rl)->limits.subscriptions,
                            /* each= */ 0, &s->place);
    s->has_left = rc != CW_OK;
    return rc;
}

static void begin(const cw_mcp_request *r, stream *s, const cw_mcp_event_query *q)
{
    cw_event_type *type = q->entry->method->event->type;
    cw_mcp_registry *registry = cw_mcp_registry_of(s->door, s->responder->loop);
    s->responder->is_lasting = true;
    s->responder->on_event = on_event;
    s->responder->ctx = s;
    s->after = q->cursor.p ? q->after : cw_event_now(cw_event_type_hub(type));
    cw_event_watch_add(type, s->responder->loop, s->after, &s->events);
    cw_runtime_watch_add(r->rl, &s->watch);
    cw_loop_set_deadline(s->responder->loop, &s->heartbeat, &registry->heartbeats);
    if (s->expiry.at && !s->responder->session)
        cw_mcp_expiry_add(&registry->expiries, &s->expiry);
    if (s->view && !s->is_anonymous && !s->responder->session)
        cw_mcp_watch_login(r->rl, s->view, &s->opened_by);
    cw_event_batch batch;
    cw_event_read(type, s->after, 1, &batch);
    bool is_truncated = q->is_old || batch.is_truncated;
    s->gap_seen = batch.lost;
    cw_event_batch_done(&batch);
    if (send_active(s, is_truncated))
        deliver(s);
}

void cw_mcp_stream_events(const cw_mcp_request *r)
{
    cw_mcp_event_query q;
    stream *s;
    if (!cw_mcp_event_query_read(r, &q))
        return;
    if (!r->responder->can_stream) {
        cw_door_fail(r->item, 406, CW_RPC_INVALID, "Accept must allow text/event-stream");
        return;
    }
    cw_code rc = stream_new(r, &q, &s);
    if (!rc)
        rc = cw_mcp_registry_enter(r, &s->link);
    if (rc == CW_LIMIT) {
        cw_buf text, data;
        cw_buf_init(&text, CW_BUF_MAX);
        cw_buf_init(&data, CW_BUF_MAX);
        cw_buf_add(&text, CW_STR("Too many subscriptions are open"));
        cw_door_fail_with(r->item, 503, CW_MCP_EVENT_EXHAUSTED, &text, &data);
    } else if (rc) {
        cw_door_fail_nomem(r->item);
    } else {
        cw_call_audit_read(r->rl, r->view, cw_mcp_door_name(r->responder),
                           cw_responder_peer(r->responder), q.entry->method->id,
                           cw_event_type_uri(q.entry->method->event->type));
        begin(r, s, &q);
    }
}
