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
#include "door/mcp_listen.h"

#include "access/share.h"
#include "json/write.h"

#define SUBSCRIPTION "\"_meta\":{\"" CW_MCP_META("subscriptionId") "\":"

typedef cw_mcp_listener listener;

const cw_mcp_change cw_mcp_changes[CW_MCP_CHANGES] = {
    {CW_NEWS_TOOLS, CW_STR_INIT("toolsListChanged"),
     CW_STR_INIT("notifications/tools/list_changed")},
    {CW_NEWS_PROMPTS, CW_STR_INIT("promptsListChanged"),
     CW_STR_INIT("notifications/prompts/list_changed")},
    {CW_NEWS_RESOURCES, CW_STR_INIT("resourcesListChanged"),
     CW_STR_INIT("notifications/resources/list_changed")},
};

static void leave_place(listener *l)
{
    cw_places_leave(&l->door->streams, l->place);
    l->place = NULL;
}

static void leave(listener *l)
{
    leave_place(l);
    cw_bridge_watch_remove(&l->watch);
    cw_mcp_link_remove(&l->link);
    if (l->holds_session)
        cw_mcp_memory_release(&l->door->memory, l->session, cw_clock_wall_ms());
    l->holds_session = false;
    cw_mcp_expiry_remove(&l->expiry);
    cw_session_watch_remove(&l->opened_by);
}

static void close_stream(listener *l)
{
    leave(l);
    cw_port_end(l->port);
}

/* ---- telling ---- */

bool cw_mcp_listener_say(listener *l, const cw_buf *b)
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
    bool is_there = cw_mcp_listener_say(l, &b);
    cw_buf_done(&b);
    return is_there;
}

static bool tell_lists(listener *l, unsigned changed)
{
    for (size_t i = 0; i < CW_MCP_CHANGES; i++) {
        if (!(changed & cw_mcp_changes[i].list))
            continue;
        if (l->is_full)
            l->missed |= (uint8_t)cw_mcp_changes[i].list;
        else if (!tell(l, cw_mcp_changes[i].method, CW_STR("")))
            return false;
    }
    return true;
}

/* As the caller sees things now. */
static cw_view *view_of(listener *l)
{
    return l->view ? l->view : cw_bridge_anonymous(l->watch.bl);
}

/* Whether the caller sees this resource, still: it may have asked long ago. CW_DECLINED: it does
 * not; CW_NOMEM. */
static cw_code look_for(listener *l, cw_str uri)
{
    const cw_entry *entry;
    cw_str variables;
    cw_arena scratch;
    cw_arena_init(&scratch, SIZE_MAX / 2);
    cw_code rc = cw_mcp_find_resource(view_of(l), uri, &scratch, &entry, &variables);
    cw_arena_done(&scratch);
    return rc;
}

static bool tell_uri(listener *l, cw_str uri)
{
    cw_code rc = look_for(l, uri);
    if (rc == CW_DECLINED)
        return true;
    if (!rc)
        return tell(l, CW_STR("notifications/resources/updated"), uri);
    close_stream(l);
    return false;
}

static void end(listener *l);

/* Credentials may no longer be good when accounts have changed, and whoever may not list anything
 * is not told that lists change. Whoever comes back is asked for everything again. False: it is
 * not told anything, and but for lines it has ended. */
static bool may_hear(listener *l)
{
    bool is_same = !l->view || l->port->session ||
                   cw_accounts_generation(cw_bridge_accounts(l->watch.bl)) == l->generation;
    if (is_same && cw_view_discover_verdict(view_of(l)) == CW_VERDICT_ALLOW)
        return true;
    if (!l->port->session)
        end(l);
    return false;
}

/* Which addresses were missed is not known: all are told then. A client that reads one once too
 * often does no harm. False: it is disconnected, without memory. */
static bool gather_late(listener *l)
{
    l->has_missed_uri = false;
    l->next_uri = 0;
    if (!l->session)
        return true;
    cw_mcp_memory_wishes(&l->door->memory, l->session, &l->late);
    if (!l->late.code)
        return true;
    close_stream(l);
    return false;
}

/* The next of them; .p is NULL when all are told. */
static cw_str take_late(listener *l)
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

/* The reader reads again: tell what was missed, as far as it goes. */
static void catch_up(listener *l)
{
    unsigned missed = l->missed;
    l->is_full = false;
    l->missed = 0;
    if (!may_hear(l) || !tell_lists(l, missed))
        return;
    while (!l->is_full) {
        cw_str uri = take_late(l);
        bool goes_on = uri.p ? tell_uri(l, uri) : l->has_missed_uri && gather_late(l);
        if (!goes_on)
            return;
    }
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
    return l->session && cw_mcp_memory_wants(&l->door->memory, l->session, uri);
}

/* The lists that are news for this listener. */
static unsigned lists_of(listener *l, const cw_news *news)
{
    unsigned lists = news->lists & l->wants;
    return lists && news->source ? cw_view_lists_of(view_of(l), news->source, lists) : lists;
}

static void on_news(cw_bridge_watch *watch, const cw_news *news)
{
    listener *l = CW_CONTAINER(watch, listener, watch);
    if (!is_ready(l) || !may_hear(l) || !tell_lists(l, lists_of(l, news)))
        return;
    if (!news->uri.n || !wants_uri(l, news->uri))
        return;
    if (l->is_full)
        l->has_missed_uri = true;
    else
        (void)tell_uri(l, news->uri);
}

/* What somebody who has logged in sees otherwise than before. False: nobody knows, without memory.
 */
static bool look_again(listener *l, unsigned *ret_changed)
{
    cw_view *now = cw_bridge_view(l->watch.bl, cw_view_caller(l->view));
    if (!now)
        return false;
    *ret_changed = cw_view_changes(l->view, now);
    cw_view_unref(l->view);
    l->view = cw_view_ref(now);
    return true;
}

static void on_change(cw_bridge_watch *watch, unsigned changed)
{
    listener *l = CW_CONTAINER(watch, listener, watch);
    if (!may_hear(l))
        return;
    if (l->view && !look_again(l, &changed))
        end(l); /* what it may hear of is not known */
    else if (is_ready(l))
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

/* The token is no longer good: whoever comes back needs another one. */
static void on_expired(cw_mcp_expiry *expiry)
{
    end(CW_CONTAINER(expiry, listener, expiry));
}

static void on_session_end(cw_session_watch *watch)
{
    end(CW_CONTAINER(watch, listener, opened_by));
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
        catch_up(l);
        break;
    case CW_PORT_STOPPING:
        end(l);
        break;
    }
}

/* ---- the beginning ---- */

static void release(void *ctx)
{
    listener *l = ctx;
    leave_place(l);
    cw_view_unref(l->view);
    cw_buf_done(&l->late);
}

/* Somebody who has logged in is told of other things than the anonymous, and not for ever. */
static void follow_caller(listener *l, cw_bridge_loop *bl, cw_view *view)
{
    if (view == cw_bridge_anonymous(bl))
        return;
    cw_accounts *accounts = cw_bridge_accounts(bl);
    l->view = cw_view_ref(view);
    l->watch.is_always = true;
    l->generation = accounts ? cw_accounts_generation(accounts) : 0;
    l->expiry.at = cw_caller_expires(cw_view_caller(view));
    l->expiry.on_expired = on_expired;
    l->opened_by.on_ended = on_session_end;
}

cw_code cw_mcp_listener_new(cw_mcp *door, cw_port *port, cw_bridge_loop *bl, cw_view *view,
                            listener **ret)
{
    listener *l = cw_arena_calloc(port->arena, 1, sizeof *l);
    if (!l)
        return CW_NOMEM;
    l->watch.on_change = on_change;
    l->watch.on_news = on_news;
    l->link.cancel = on_cancel;
    l->door = door;
    l->port = port;
    cw_buf_init(&l->late, SIZE_MAX / 2);
    follow_caller(l, bl, view);
    *ret = l;
    if (cw_arena_hold(port->arena, l, release))
        return CW_NOMEM;
    cw_fair_key key = cw_share_key(cw_view_caller(view), cw_port_peer(port));
    return cw_places_enter(&door->streams, &key, cw_bridge_settings_of(bl)->subscriptions,
                           /* each= */ 0, &l->place);
}

void cw_mcp_listener_enter(listener *l, cw_bridge_loop *bl)
{
    l->port->on_event = on_event;
    l->port->ctx = l;
    cw_bridge_watch_add(bl, &l->watch);
    if (l->expiry.at && !l->port->session)
        cw_mcp_expiry_add(&cw_mcp_desk_of(l->door, l->port->loop)->expiries, &l->expiry);
    if (l->view && !l->port->session)
        cw_mcp_watch_session(bl, l->view, &l->opened_by);
}

cw_code cw_mcp_listen_session(cw_mcp *door, cw_port *port, cw_bridge_loop *bl, cw_view *view,
                              const cw_mcp_session *session)
{
    listener *l;
    cw_code rc = cw_mcp_listener_new(door, port, bl, view, &l);
    if (rc)
        return rc;
    cw_mcp_keeper keeper;
    cw_mcp_keeper_init(&keeper, view, port);
    rc = cw_mcp_memory_hold(&door->memory, &keeper, session);
    if (rc)
        return rc;
    l->holds_session = true;
    l->wants = CW_NEWS_TOOLS | CW_NEWS_PROMPTS | CW_NEWS_RESOURCES;
    l->session = session;
    cw_mcp_listener_enter(l, bl);
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
