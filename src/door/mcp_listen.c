/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_listen.c - a stream that tells when the list of tools has changed. */
#include "door/mcp_int.h"
#include "json/write.h"

/* Open on one loop. */
#define LISTENERS_MAX 1000u
#define SUBSCRIPTION "\"_meta\":{\"" CW_MCP_META("subscriptionId") "\":"

/* In the request's arena. */
typedef struct listener {
    cw_bridge_watch watch;
    cw_port *port;
    cw_turn_item *item;
    cw_view *view; /* of somebody who has logged in: what was listed last; held by the arena */
    uint64_t generation; /* of the accounts, when this began */
    cw_str id;
    bool wants_tools;
    bool is_full;
    bool has_news; /* to be told when the reader has caught up */
} listener;

static void close_stream(listener *l)
{
    cw_bridge_watch_remove(&l->watch);
    cw_port_end(l->port);
}

/* An event made of `head`, the subscription's id and `tail`. A reader who missed one would never
 * know: whoever cannot be told is disconnected. False when that happened. */
static bool tell(listener *l, cw_str head, cw_str tail)
{
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_buf_add(&b, head);
    cw_buf_add(&b, l->id);
    cw_buf_add(&b, tail);
    cw_code rc = b.code;
    if (!rc)
        rc = cw_port_say(l->port, CW_SAID_MESSAGE, cw_buf_str(&b));
    cw_buf_done(&b);
    if (rc == CW_AGAIN)
        l->is_full = true;
    if (rc == CW_OK || rc == CW_AGAIN)
        return true;
    close_stream(l);
    return false;
}

static void send_changed(listener *l)
{
    l->has_news = false;
    (void)tell(l,
               CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\","
                      "\"params\":{" SUBSCRIPTION),
               CW_STR("}}}"));
}

static void send_end(listener *l);

/* Whether somebody who has logged in sees other tools than before. */
static bool sees_others(listener *l)
{
    cw_view *now = cw_bridge_view(l->watch.bl, cw_view_caller(l->view));
    if (!now)
        return true; /* asking for the list once too often does no harm */
    bool differs = cw_view_changes(l->view, now) & CW_NEWS_TOOLS;
    cw_view_unref(l->view);
    l->view = cw_view_ref(now);
    return differs;
}

static void on_change(cw_bridge_watch *watch, unsigned lists)
{
    listener *l = CW_CONTAINER(watch, listener, watch);
    /* The credentials may no longer be good: whoever comes back has to show them again. */
    if (l->view && cw_accounts_generation(cw_bridge_accounts(watch->bl)) != l->generation) {
        send_end(l);
        return;
    }
    if (!l->wants_tools || (l->view ? !sees_others(l) : !(lists & CW_NEWS_TOOLS)))
        return;
    if (l->is_full)
        l->has_news = true;
    else
        send_changed(l);
}

/* The server ends the subscription in good order: with the result of the request. */
static void send_end(listener *l)
{
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_message_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"resultType\":\"complete\"," SUBSCRIPTION));
    cw_buf_add(&b, l->id);
    cw_buf_add(&b, CW_STR(",\"" CW_MCP_META("serverInfo") "\":" CW_MCP_SERVER "}}"));
    cw_message_close(&b, l->id);
    cw_bridge_watch_remove(&l->watch);
    cw_turn_answer(l->item, 200, &b, CW_STR(""));
}

static void on_event(cw_port *port, cw_port_event event, void *ctx)
{
    listener *l = ctx;
    (void)port;
    switch (event) {
    case CW_PORT_GONE:
        cw_bridge_watch_remove(&l->watch);
        break;
    case CW_PORT_DRAINED:
        l->is_full = false;
        if (l->has_news)
            send_changed(l);
        break;
    case CW_PORT_STOPPING:
        send_end(l);
        break;
    }
}

static void drop_view(void *ctx)
{
    listener *l = ctx;
    cw_view_unref(l->view);
}

/* Somebody who has logged in is told of other things than the anonymous. */
static cw_code follow_caller(const cw_mcp_request *r, listener *l)
{
    const cw_turn_opts *opts = &r->item->turn->opts;
    if (cw_caller_is_anonymous(cw_view_caller(opts->view)))
        return CW_OK;
    l->view = cw_view_ref(opts->view);
    l->watch.is_always = true;
    l->generation = cw_accounts_generation(cw_bridge_accounts(opts->bl));
    return cw_arena_hold(r->port->arena, l, drop_view);
}

static void open_stream(const cw_mcp_request *r, listener *l)
{
    r->port->on_event = on_event;
    r->port->ctx = l;
    cw_bridge_watch_add(r->item->turn->opts.bl, &l->watch);
    (void)tell(l,
               l->wants_tools
                   ? CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/"
                            "acknowledged\",\"params\":{\"notifications\":{\"toolsListChanged\":"
                            "true}," SUBSCRIPTION)
                   : CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/"
                            "acknowledged\",\"params\":{\"notifications\":{}," SUBSCRIPTION),
               CW_STR("}}}"));
}

void cw_mcp_listen(const cw_mcp_request *r)
{
    const cw_turn_opts *opts = &r->item->turn->opts;
    const cw_json *wanted = cw_json_get(r->params, CW_STR("notifications"));
    cw_verdict verdict = cw_view_discover_verdict(opts->view);
    if (verdict != CW_VERDICT_ALLOW) {
        cw_mcp_refuse(r->item, verdict, NULL);
        return;
    }
    if (!cw_json_is(wanted, CW_JSON_OBJECT)) {
        cw_mcp_fail(r->item, 200, CW_RPC_PARAMS, "notifications must be an object");
        return;
    }
    if (!r->port->can_say) {
        cw_mcp_fail(r->item, 406, CW_RPC_INVALID, "Accept must allow text/event-stream");
        return;
    }
    if (cw_bridge_watching(opts->bl) >= LISTENERS_MAX) {
        cw_mcp_fail(r->item, 503, CW_RPC_INTERNAL, "Too many subscriptions are open");
        return;
    }
    listener *l = cw_arena_calloc(r->port->arena, 1, sizeof *l);
    if (!l || follow_caller(r, l)) {
        cw_mcp_fail(r->item, 500, CW_RPC_INTERNAL, "out of memory");
        return;
    }
    l->watch.on_change = on_change;
    l->port = r->port;
    l->item = r->item;
    l->id = r->item->id;
    l->wants_tools = cw_json_is(cw_json_get(wanted, CW_STR("toolsListChanged")), CW_JSON_TRUE);
    open_stream(r, l);
}
