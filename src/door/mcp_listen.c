/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_listen.c - who is told that lists and resources have changed.
 *
 *     modern    subscriptions/listen: a request that is answered when it ends
 *     legacy    GET with a session: a stream, and what the session has subscribed to
 *               lines: the one client at the other end
 *
 * News come from sources (bridge.h) and from a catalogue that was replaced; of the
 * latter each listener hears what its own caller sees.
 */
#include "door/mcp_int.h"
#include "json/write.h"

/* Resources of one modern subscription. */
#define URIS_MAX 1000u
#define SUBSCRIPTION "\"_meta\":{\"" CW_MCP_META("subscriptionId") "\":"

/* In the port's arena. */
typedef struct listener {
    cw_bridge_watch watch;
    cw_mcp_link link; /* for those who end it */
    cw_mcp *door;
    cw_port *port;
    cw_turn_item *item;            /* modern: the request that waits */
    const cw_mcp_session *session; /* legacy */
    cw_view *view; /* of somebody who has logged in: what was listed last; held by the arena */
    uint64_t generation; /* of the accounts, when this began */
    const cw_str *uris;  /* modern */
    uint32_t n_uris;
    uint8_t wants;  /* CW_NEWS_… */
    uint8_t missed; /* to be told when the reader has caught up */
    bool has_missed_uri;
    bool is_full;
} listener;

static const struct {
    unsigned list;
    cw_str wish; /* its name in subscriptions/listen */
    cw_str method;
} lists[] = {
    {CW_NEWS_TOOLS, CW_STR_INIT("toolsListChanged"),
     CW_STR_INIT("notifications/tools/list_changed")},
    {CW_NEWS_PROMPTS, CW_STR_INIT("promptsListChanged"),
     CW_STR_INIT("notifications/prompts/list_changed")},
    {CW_NEWS_RESOURCES, CW_STR_INIT("resourcesListChanged"),
     CW_STR_INIT("notifications/resources/list_changed")},
};

static void leave(listener *l)
{
    if (l->watch.next)
        atomic_fetch_sub(&l->door->n_streams, 1);
    cw_bridge_watch_remove(&l->watch);
    cw_mcp_link_remove(&l->link);
}

static void close_stream(listener *l)
{
    leave(l);
    cw_port_end(l->port);
}

/* ---- telling ---- */

/* A reader who missed something would never know: whoever cannot be told is disconnected. False
 * when that happened. */
static bool say(listener *l, const cw_buf *b)
{
    cw_code rc = b->code ? b->code : cw_port_say(l->port, CW_SAID_MESSAGE, cw_buf_str(b));
    if (rc == CW_AGAIN)
        l->is_full = true;
    if (rc == CW_OK || rc == CW_AGAIN)
        return true;
    close_stream(l);
    return false;
}

/* `uri` empty: none. */
static bool tell(listener *l, cw_str method, cw_str uri)
{
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
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
    bool is_there = say(l, &b);
    cw_buf_done(&b);
    return is_there;
}

static bool tell_lists(listener *l, unsigned changed)
{
    for (size_t i = 0; i < CW_COUNT(lists); i++) {
        if (!(changed & lists[i].list))
            continue;
        if (l->is_full)
            l->missed |= (uint8_t)lists[i].list;
        else if (!tell(l, lists[i].method, CW_STR("")))
            return false;
    }
    return true;
}

static bool tell_uri(listener *l, cw_str uri)
{
    return tell(l, CW_STR("notifications/resources/updated"), uri);
}

/* Which ones were missed is not known: a client that reads one once too often does no harm. */
static void tell_all_uris(listener *l)
{
    cw_buf b;
    l->has_missed_uri = false;
    for (uint32_t i = 0; i < l->n_uris; i++) {
        if (!tell_uri(l, l->uris[i]))
            return;
    }
    if (!l->session)
        return;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_mcp_session_wishes(l->door, l->session, &b);
    bool is_there = true;
    for (size_t at = 0; is_there && at < b.n; at += strlen(b.p + at) + 1)
        is_there = tell_uri(l, cw_str_from(b.p + at));
    if (is_there && b.code)
        close_stream(l);
    cw_buf_done(&b);
}

/* ---- news ---- */

/* Whether a legacy client has said hello; until then nothing may be said to it. */
static bool is_ready(const listener *l)
{
    return !l->session || l->session->version.n > 0;
}

static bool wants_uri(const listener *l, cw_str uri)
{
    for (uint32_t i = 0; i < l->n_uris; i++) {
        if (cw_str_eq(l->uris[i], uri))
            return true;
    }
    return l->session && cw_mcp_session_wants(l->door, l->session, uri);
}

static void on_news(cw_bridge_watch *watch, const cw_news *news)
{
    listener *l = CW_CONTAINER(watch, listener, watch);
    if (!is_ready(l) || !tell_lists(l, news->lists & l->wants))
        return;
    if (!news->uri.n || !wants_uri(l, news->uri))
        return;
    if (l->is_full)
        l->has_missed_uri = true;
    else
        (void)tell_uri(l, news->uri);
}

/* What somebody who has logged in sees otherwise than before. */
static unsigned look_again(listener *l)
{
    cw_view *now = cw_bridge_view(l->watch.bl, cw_view_caller(l->view));
    if (!now)
        return l->wants; /* asking for the lists once too often does no harm */
    unsigned changed = cw_view_changes(l->view, now);
    cw_view_unref(l->view);
    l->view = cw_view_ref(now);
    return changed;
}

static void end(listener *l);

static void on_change(cw_bridge_watch *watch, unsigned changed)
{
    listener *l = CW_CONTAINER(watch, listener, watch);
    /* The credentials may no longer be good: whoever comes back has to show them again. */
    if (l->view && !l->port->session &&
        cw_accounts_generation(cw_bridge_accounts(watch->bl)) != l->generation) {
        end(l);
        return;
    }
    if (l->view)
        changed = look_again(l);
    if (is_ready(l))
        (void)tell_lists(l, changed & l->wants);
}

/* ---- the end ---- */

/* The server ends the subscription in good order: with the result of the request. */
static void send_result(listener *l)
{
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_message_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"resultType\":\"complete\"," SUBSCRIPTION));
    cw_buf_add(&b, l->item->id);
    cw_buf_add(&b, CW_STR(",\"" CW_MCP_META("serverInfo") "\":" CW_MCP_SERVER "}}"));
    cw_message_close(&b, l->item->id);
    cw_turn_answer(l->item, 200, &b, CW_STR(""));
}

static void end(listener *l)
{
    leave(l);
    if (l->item)
        send_result(l);
    else if (!l->port->session)
        cw_port_end(l->port);
}

static void on_cancel(cw_mcp_link *link)
{
    listener *l = CW_CONTAINER(link, listener, link);
    leave(l);
    if (l->item)
        cw_turn_skip(l->item);
    else
        cw_port_end(l->port);
}

static void on_event(cw_port *port, cw_port_event event, void *ctx)
{
    listener *l = ctx;
    (void)port;
    switch (event) {
    case CW_PORT_GONE:
        leave(l);
        break;
    case CW_PORT_DRAINED:
        l->is_full = false;
        unsigned missed = l->missed;
        l->missed = 0;
        if (tell_lists(l, missed) && l->has_missed_uri)
            tell_all_uris(l);
        break;
    case CW_PORT_STOPPING:
        end(l);
        break;
    }
}

/* ---- the beginning ---- */

static void drop_view(void *ctx)
{
    listener *l = ctx;
    cw_view_unref(l->view);
}

/* Somebody who has logged in is told of other things than the anonymous. */
static cw_code follow_caller(listener *l, cw_bridge_loop *bl, cw_view *view)
{
    if (view == cw_bridge_anonymous(bl))
        return CW_OK;
    cw_accounts *accounts = cw_bridge_accounts(bl);
    l->view = cw_view_ref(view);
    l->watch.is_always = true;
    l->generation = accounts ? cw_accounts_generation(accounts) : 0;
    return cw_arena_hold(l->port->arena, l, drop_view);
}

/* One that nobody tells anything yet. */
static cw_code make(cw_mcp *door, cw_port *port, cw_bridge_loop *bl, cw_view *view, listener **ret)
{
    if (atomic_load(&door->n_streams) >= cw_bridge_settings_of(bl)->subscriptions)
        return CW_LIMIT;
    listener *l = cw_arena_calloc(port->arena, 1, sizeof *l);
    if (!l)
        return CW_NOMEM;
    l->watch.on_change = on_change;
    l->watch.on_news = on_news;
    l->link.cancel = on_cancel;
    l->door = door;
    l->port = port;
    *ret = l;
    return follow_caller(l, bl, view) ? CW_NOMEM : CW_OK;
}

static void enter(listener *l, cw_bridge_loop *bl)
{
    l->port->on_event = on_event;
    l->port->ctx = l;
    atomic_fetch_add(&l->door->n_streams, 1);
    cw_bridge_watch_add(bl, &l->watch);
}

cw_code cw_mcp_listen_session(cw_mcp *door, cw_port *port, cw_bridge_loop *bl, cw_view *view,
                              const cw_mcp_session *session)
{
    listener *l;
    cw_code rc = make(door, port, bl, view, &l);
    if (rc)
        return rc;
    l->wants = CW_NEWS_TOOLS | CW_NEWS_PROMPTS | CW_NEWS_RESOURCES;
    l->session = session;
    enter(l, bl);
    if (port->session)
        return CW_OK;
    /* A message goes to one stream only: a newer one takes the place of those that are open. */
    cw_mcp_link_add(cw_mcp_desk_of(door, port->loop)->streams, &l->link, cw_mcp_number(session));
    cw_mcp_close_streams(door, bl, session, &l->link);
    return CW_OK;
}

cw_code cw_mcp_listen_port(cw_mcp *door, cw_port *port, cw_bridge_loop *bl, cw_view *view)
{
    return cw_mcp_listen_session(door, port, bl, view, port->session);
}

/* ---- subscriptions/listen ---- */

/* The resources that the caller sees of those that it named. */
static cw_code take_uris(const cw_mcp_request *r, listener *l, const cw_json *named)
{
    uint32_t n = cw_json_is(named, CW_JSON_ARRAY) ? cw_json_count(named) : 0, found = 0;
    cw_str *uris =
        n ? cw_arena_calloc(r->port->arena, n < URIS_MAX ? n : URIS_MAX, sizeof *uris) : NULL;
    if (n && !uris)
        return CW_NOMEM;
    cw_arena scratch;
    cw_arena_init(&scratch, SIZE_MAX / 2);
    cw_code rc = CW_OK;
    for (const cw_json *v = n ? cw_json_first(named) : NULL;
         v && found < URIS_MAX && rc != CW_NOMEM; v = cw_json_next(v)) {
        const cw_entry *entry;
        cw_str variables;
        if (!cw_json_is(v, CW_JSON_STRING))
            continue;
        rc = cw_mcp_find_resource(r->item->turn->opts.view, cw_json_text(v), &scratch, &entry,
                                  &variables);
        if (rc == CW_OK)
            uris[found++] = cw_json_text(v);
    }
    cw_arena_done(&scratch);
    l->uris = uris;
    l->n_uris = found;
    return rc == CW_NOMEM ? CW_NOMEM : CW_OK;
}

/* What is honoured of the wishes. */
static void acknowledge(listener *l)
{
    cw_buf b;
    cw_json_writer w;
    cw_mcp_open_notice(&w, &b, CW_STR("notifications/subscriptions/acknowledged"));
    cw_json_add_key(&w, CW_STR("notifications"));
    cw_json_open_object(&w);
    for (size_t i = 0; i < CW_COUNT(lists); i++) {
        if (l->wants & lists[i].list)
            cw_json_add_bool_member(&w, lists[i].wish, true);
    }
    if (l->n_uris) {
        cw_json_add_key(&w, CW_STR("resourceSubscriptions"));
        cw_json_open_array(&w);
        for (uint32_t i = 0; i < l->n_uris; i++)
            cw_json_add_string(&w, l->uris[i]);
        cw_json_close(&w);
    }
    cw_json_close(&w);
    cw_json_add_key(&w, CW_STR("_meta"));
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR(CW_MCP_META("subscriptionId")));
    cw_json_add_span(&w, l->item->id);
    cw_json_close(&w);
    cw_json_close(&w);
    cw_json_close(&w);
    if (cw_json_writer_end(&w, NULL) && !b.code)
        b.code = CW_NOMEM;
    (void)say(l, &b);
    cw_buf_done(&b);
}

/* Have it known by its request's id, for a client that may take it back. */
static cw_code enter_by_id(const cw_mcp_request *r, listener *l)
{
    if (!r->session->is_named)
        return CW_OK;
    cw_str key = cw_mcp_call_key(r->session, r->item->id, r->port->arena);
    if (!key.p)
        return CW_NOMEM;
    cw_mcp_link_add(cw_mcp_desk_of(r->door, r->port->loop)->calls, &l->link, key);
    return CW_OK;
}

static void open_stream(const cw_mcp_request *r, const cw_json *wishes)
{
    const cw_turn_opts *opts = &r->item->turn->opts;
    listener *l;
    cw_code rc = make(r->door, r->port, opts->bl, opts->view, &l);
    if (!rc)
        rc = take_uris(r, l, cw_json_get(wishes, CW_STR("resourceSubscriptions")));
    if (!rc)
        rc = enter_by_id(r, l);
    if (rc) {
        bool is_full = rc == CW_LIMIT;
        cw_mcp_fail(r->item, is_full ? 503 : 500, CW_RPC_INTERNAL,
                    is_full ? "Too many subscriptions are open" : "out of memory");
        return;
    }
    for (size_t i = 0; i < CW_COUNT(lists); i++) {
        if (cw_json_is(cw_json_get(wishes, lists[i].wish), CW_JSON_TRUE))
            l->wants |= (uint8_t)lists[i].list;
    }
    l->item = r->item;
    enter(l, opts->bl);
    acknowledge(l);
}

void cw_mcp_listen(const cw_mcp_request *r)
{
    const cw_json *wishes = cw_json_get(r->params, CW_STR("notifications"));
    cw_verdict verdict = cw_view_discover_verdict(r->item->turn->opts.view);
    if (verdict != CW_VERDICT_ALLOW)
        cw_mcp_refuse(r->item, verdict, NULL);
    else if (!cw_json_is(wishes, CW_JSON_OBJECT))
        cw_mcp_fail(r->item, 200, CW_RPC_PARAMS, "notifications must be an object");
    else if (!r->port->can_say)
        cw_mcp_fail(r->item, 406, CW_RPC_INVALID, "Accept must allow text/event-stream");
    else
        open_stream(r, wishes);
}
