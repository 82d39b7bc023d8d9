/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upstream_mcp.c - the transport to an MCP server over HTTP: sessions, and event streams.
 *
 *     request ─► session? ─┬─ yes ─► POST ─► JSON, or events … ─► response
 *                          ├─ no ──► server/discover ─► initialize ─► notifications/initialized
 *                          └─ another loop opens it: wait
 *
 * The HTTP transport below logs in to the service. A request with a 404 for its session was not
 * carried out: the session is opened again, and the request is sent once more.
 */
#include <stdio.h>
#include <stdlib.h>

#include "source/upstream/mcp_exchange.h"
#include "source/upstream/shared_conn_int.h"
#include "source/upstream/upstream_int.h"

#define OPENING_MS 10000u /* for each response before a session is open, at most */
#define BODY_MAX (64u * 1024u * 1024u)
#define POSTS_MAX 1024u /* notifications and responses under way */

typedef struct cw_upstream_mcp mcp_upstream;
typedef struct cw_upstream_exchange exchange;
typedef struct cw_upstream_mcp_call call;

/* A request of an owner. */
struct cw_upstream_mcp_call {
    exchange x;
    cw_upstream_req *outer;
    cw_relay_route *route; /* in its session, where it has one */
    bool was_healed;
    bool is_setting_level; /* of the session's log lines, before the call itself */
    bool is_open;          /* of a stream: its response has begun */
};

/* A message without a response. */
typedef struct cw_upstream_mcp_post {
    exchange x;
    void (*on_end)(void *ctx); /* or NULL */
    void *ctx;
} posting;

typedef enum opening_step {
    STEP_ASK,
    STEP_INITIALIZE,
    STEP_INITIALIZED,
    STEP_STREAM, /* for its stream: a server may send questions there as soon as a call runs */
} opening_step;

/* A session that this loop opens. */
typedef struct opening {
    exchange x;
    opening_step step;
    unsigned capabilities;
    bool wants_stream;
    cw_shared_conn_want *want; /* on its way; or NULL */
} opening;

struct cw_upstream_mcp {
    cw_upstream base;
    cw_upstream *http;
    cw_shared_conn *shared; /* a reference */
    cw_relay_sessions *sessions;
    size_t answer_size;
    cw_list waiting, running, openings, posts; /* of exchange */
    size_t n_posts;
    cw_relay_waiter *wait; /* in the table, or on its way here; or NULL */
    cw_deadline_list limits;
    unsigned depth; /* of loops over the waiting requests */
    bool is_closing;
    bool closes_when_idle; /* after the last post */
    cw_deferred idle;
    cw_loop_hook hook; /* for a loop that ends before that */
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

static mcp_upstream *mcp_of(cw_upstream *upstream)
{
    return CW_CONTAINER(upstream, mcp_upstream, base);
}

static exchange *exchange_at(cw_list *node)
{
    return CW_CONTAINER(node, exchange, node);
}

static call *call_of(exchange *x)
{
    return CW_CONTAINER(x, call, x);
}

static void advance(call *c);
static void finish_call(call *c, const cw_upstream_reply *reply);
static void advance_all(mcp_upstream *u);
static void end_if_closing(mcp_upstream *u);

/* Ids are unique over all loops, because these share the sessions of a server. */
static uint64_t next_id(cw_upstream *upstream, bool reads)
{
    (void)reads;
    return atomic_fetch_add_explicit(&mcp_of(upstream)->shared->last_id, 1, memory_order_relaxed) +
           1;
}

static void init_exchange(exchange *x, mcp_upstream *u)
{
    cw_upstream_exchange_init(x, u, u->http, u->answer_size);
}

/* ---- messages without a response ---- */

static void on_posted(exchange *x, const cw_upstream_reply *reply)
{
    mcp_upstream *u = x->home;
    posting p = *CW_CONTAINER(x, posting, x);
    (void)reply;
    u->n_posts--;
    cw_upstream_exchange_free(x);
    if (p.on_end)
        p.on_end(p.ctx);
    else if (!u->n_posts && u->closes_when_idle)
        cw_loop_defer(u->base.loop, &u->idle);
}

/* Send a notification, a response, or (empty) the end of the session. NULL: it is not sent. */
static posting *post(mcp_upstream *u, const cw_relay_ticket *ticket, cw_str message)
{
    cw_err err;
    posting *p = u->n_posts < POSTS_MAX && !u->is_closing ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return NULL;
    exchange *x = &p->x;
    init_exchange(x, u);
    x->ticket = *ticket;
    x->on_end = on_posted;
    cw_buf_add(&x->body, message);
    cw_upstream_exchange_set_headers(x, CW_STR(""), CW_STR(""));
    cw_code rc = cw_upstream_exchange_send(x, message.n > 0, message.n == 0, &err);
    if (rc) {
        cw_upstream_exchange_free(x);
        return NULL;
    }
    cw_loop_set_deadline(u->base.loop, &x->limit, &u->limits);
    cw_list_add(&u->posts, &x->node);
    u->n_posts++;
    return p;
}

/* ---- opening a session ---- */

static opening *opening_of(exchange *x)
{
    return CW_CONTAINER(x, opening, x);
}

/* The response; NULL: none that can be read. Lives in *arena, or with the exchange. */
static const cw_json *read_response(const exchange *x, const cw_upstream_reply *reply,
                                    cw_arena *arena)
{
    const cw_json *root = NULL;
    if (x->message)
        return x->message->root;
    if (reply->end != CW_CLIENT_OK || !reply->answer ||
        cw_json_read(reply->answer->body, NULL, arena, &root, NULL, NULL))
        return NULL;
    return root;
}

static void send_step(opening *o, opening_step step);

static void free_opening(opening *o)
{
    if (o->want)
        o->want->owner = NULL;
    cw_list_remove(&o->x.node);
    cw_upstream_exchange_free(&o->x);
}

/* Move the calls that wait for the session of this key to *ret. */
static void take_waiting(mcp_upstream *u, const char *key, cw_list *ret)
{
    cw_list_init(ret);
    CW_LIST_EACH_SAFE (node, &u->waiting) {
        if (strcmp(exchange_at(node)->ticket.key, key) != 0)
            continue;
        cw_list_remove(node);
        cw_list_add(ret, node);
    }
}

/* Calls that wait for the session fail as the opening did. */
static void fail_opening(opening *o, const cw_upstream_reply *reply)
{
    mcp_upstream *u = o->x.home;
    cw_list failed;
    u->depth++;
    cw_relay_sessions_failed(u->sessions, &o->x.ticket);
    take_waiting(u, o->x.ticket.key, &failed);
    for (cw_list *node; (node = cw_list_take_first(&failed));)
        finish_call(call_of(exchange_at(node)), reply);
    if (!u->is_closing) {
        free_opening(o);
        advance_all(u);
    }
    u->depth--;
    end_if_closing(u);
}

static void succeed(opening *o)
{
    mcp_upstream *u = o->x.home;
    cw_relay_sessions_opened(u->sessions, &o->x.ticket, cw_loop_now(u->base.loop));
    free_opening(o);
    advance_all(u);
}

/* Ask the main loop for the stream of a session, or of a modern server. NULL: no memory. */
static cw_shared_conn_want *want_stream(mcp_upstream *u, const cw_relay_ticket *ticket,
                                        void (*on_reply)(cw_shared_conn_want *w), void *owner)
{
    cw_shared_conn_want *w = malloc(sizeof *w);
    if (!w) {
        cw_relay_sessions_drop_stream(u->sessions, ticket);
        return NULL;
    }
    *w = (cw_shared_conn_want){.shared = cw_shared_conn_ref(u->shared),
                               .ticket = *ticket,
                               .loop = u->base.loop,
                               .owner = owner,
                               .on_reply = on_reply};
    cw_shared_conn_streams_want(w);
    return w;
}

static void on_stream_ready(cw_shared_conn_want *w)
{
    opening *o = w->owner;
    cw_shared_conn_want_free(w);
    if (!o)
        return;
    o->want = NULL;
    succeed(o);
}

/* The session is open. Calls in it begin when its stream is open, too. */
static void open_stream(opening *o)
{
    mcp_upstream *u = o->x.home;
    o->step = STEP_STREAM;
    if (o->wants_stream && cw_relay_sessions_claim_stream(u->sessions, &o->x.ticket))
        o->want = want_stream(u, &o->x.ticket, on_stream_ready, o);
    if (!o->want)
        succeed(o);
}

/* The server is a modern one: there are no sessions. */
static void end_modern(opening *o)
{
    mcp_upstream *u = o->x.home;
    cw_relay_sessions_failed(u->sessions, &o->x.ticket);
    cw_relay_sessions_set_era(u->sessions, CW_RELAY_MODERN);
    free_opening(o);
    advance_all(u);
}

static void on_asked(opening *o, const cw_upstream_reply *reply, const cw_json *root)
{
    unsigned status = reply->answer ? reply->answer->status : 0;
    bool is_silent = reply->end != CW_CLIENT_OK;
    cw_relay_era era = is_silent ? CW_RELAY_UNKNOWN : cw_relay_judge(status, root);
    if (reply->end == CW_CLIENT_CONNECT || reply->end == CW_CLIENT_REFUSED || status == 401) {
        fail_opening(o, reply);
        return;
    }
    if (era == CW_RELAY_MODERN) {
        cw_relay_sessions_learn(o->x.home->sessions, root);
        end_modern(o);
        return;
    }
    if (era == CW_RELAY_LEGACY)
        cw_relay_sessions_set_era(o->x.home->sessions, era);
    o->x.ticket.era = era;
    send_step(o, STEP_INITIALIZE);
}

static void copy_text(char *to, size_t size, cw_str from)
{
    size_t n = from.n < size ? from.n : 0; /* a text that is too long is dropped */
    if (n)
        memcpy(to, from.p, n);
    to[n] = 0;
}

static void on_initialized(opening *o, const cw_upstream_reply *reply, const cw_json *root,
                           cw_str session)
{
    cw_relay_ticket *t = &o->x.ticket;
    cw_str version = cw_relay_negotiated(root);
    if (!version.p) {
        const cw_json *text = cw_json_get(cw_json_get(root, CW_STR("error")), CW_STR("message"));
        char why[200];
        snprintf(why, sizeof why, "initialize: %.*s",
                 CW_STR_ARG(cw_json_is(text, CW_JSON_STRING) ? cw_json_text(text)
                                                             : CW_STR("no result")));
        cw_upstream_reply refused = {.end = CW_CLIENT_GARBAGE, .why = why};
        unsigned status = reply->end == CW_CLIENT_OK && reply->answer ? reply->answer->status : 0;
        bool is_http = reply->end != CW_CLIENT_OK || !reply->answer || status >= 300;
        bool is_denied = status == 401 || status == 403; /* whatever the body says */
        fail_opening(o, is_denied || (is_http && !root) ? reply : &refused);
        return;
    }
    cw_relay_sessions_learn(o->x.home->sessions, root);
    copy_text(t->version, sizeof t->version, version);
    copy_text(t->id, sizeof t->id, session);
    send_step(o, STEP_INITIALIZED);
}

static void on_opening_end(exchange *x, const cw_upstream_reply *reply)
{
    opening *o = opening_of(x);
    cw_arena arena;
    cw_list_add(&x->home->openings, &x->node); /* until the next step */
    cw_arena_init(&arena, 16 * x->home->answer_size + 65536);
    const cw_json *root = read_response(x, reply, &arena);
    cw_str session = reply->answer ? reply->answer->wanted[CW_UPSTREAM_HEADER_SESSION]
                                   : cw_str_from(x->ticket.id);
    if (o->step == STEP_ASK)
        on_asked(o, reply, root);
    else if (o->step == STEP_INITIALIZE)
        on_initialized(o, reply, root, session);
    else
        open_stream(o); /* after any response to the notification */
    cw_arena_done(&arena);
}

/* The response may be an event stream. The id of the session is in its header. */
static void on_opening_data(cw_upstream_req *inner, const cw_client_response *head, cw_str piece)
{
    exchange *x = inner->ctx;
    copy_text(x->ticket.id, sizeof x->ticket.id, head->wanted[CW_UPSTREAM_HEADER_SESSION]);
    cw_upstream_exchange_read(inner, head, piece);
}

static void write_step(opening *o)
{
    exchange *x = &o->x;
    cw_buf_clear(&x->body);
    x->n_headers = 0;
    x->id = o->step == STEP_INITIALIZED ? 0 : next_id(&x->home->base, /* reads= */ false);
    if (o->step == STEP_ASK) {
        cw_relay_write_discover(&x->body, o->capabilities, x->id);
        x->ticket.is_modern = true;
        cw_upstream_exchange_set_headers(x, CW_STR("server/discover"), CW_STR(""));
        x->ticket.is_modern = false;
    } else if (o->step == STEP_INITIALIZE) {
        cw_relay_write_initialize(&x->body, o->capabilities, x->id);
    } else {
        cw_buf_add(&x->body, CW_STR(CW_RELAY_INITIALIZED));
        cw_upstream_exchange_set_headers(x, CW_STR(""), CW_STR(""));
    }
}

static void send_step(opening *o, opening_step step)
{
    exchange *x = &o->x;
    cw_err err = {0};
    o->step = step;
    write_step(o);
    cw_code rc = cw_upstream_exchange_send(x, /* has_body= */ true, /* is_delete= */ false, &err);
    if (rc) {
        fail_opening(
            o, &(cw_upstream_reply){.end = rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT,
                                    .why = err.msg});
        return;
    }
    cw_loop_set_deadline(x->home->base.loop, &x->limit, &x->home->limits);
}

/* Sent later: the call that needs the session must be in `waiting` first. */
static void on_opening_begin(cw_deferred *later)
{
    opening *o = CW_CONTAINER(CW_CONTAINER(later, exchange, later), opening, x);
    send_step(o, o->x.ticket.era == CW_RELAY_LEGACY ? STEP_INITIALIZE : STEP_ASK);
}

/* Whether the session of the call has a stream of its own. A session of one call has none. */
static bool wants_stream(const call *c)
{
    const mcp_upstream *u = c->x.home;
    bool is_short = u->sessions->mode == CW_RELAY_MODE_CALL && c->outer->relay->caller.n;
    return u->shared->streams.is_following && !is_short && !c->outer->relay->is_stream;
}

static bool open_session(mcp_upstream *u, const call *c)
{
    opening *o = calloc(1, sizeof *o);
    if (!o) {
        cw_relay_sessions_failed(u->sessions, &c->x.ticket);
        return false;
    }
    init_exchange(&o->x, u);
    o->x.ticket = c->x.ticket;
    o->x.on_end = on_opening_end;
    o->x.on_data = on_opening_data;
    o->capabilities = c->outer->relay->capabilities;
    o->wants_stream = wants_stream(c);
    o->x.later.fn = on_opening_begin;
    cw_list_add(&u->openings, &o->x.node);
    cw_loop_defer(u->base.loop, &o->x.later);
    return true;
}

/* ---- calls ---- */

static void end_route(call *c)
{
    cw_relay_sessions_end_call(c->x.home->sessions, c->route);
    c->route = NULL;
}

/* Keep the position of a stream, so that it can be continued later. */
static void keep_place(const call *c)
{
    cw_upstream_stream *stream = c->outer->stream;
    if (!stream || !c->x.has_events)
        return;
    memcpy(stream->last_event, c->x.events.id, sizeof stream->last_event);
    stream->retry_ms = c->x.events.retry_ms;
}

static void finish_call(call *c, const cw_upstream_reply *reply)
{
    mcp_upstream *u = c->x.home;
    cw_upstream_req *outer = c->outer;
    cw_parsed_message *message = c->x.message;
    cw_upstream_reply streamed = *reply;
    cw_client_response answer = {.status = 200, .type = CW_STR("application/json")};
    end_route(c);
    keep_place(c);
    if (u->sessions->mode == CW_RELAY_MODE_CALL && outer->relay->caller.n && c->x.ticket.id[0]) {
        cw_relay_sessions_drop(u->sessions, &c->x.ticket);
        (void)post(u, &c->x.ticket, CW_STR(""));
    }
    if (message) {
        answer.body = cw_str_make(message->text, message->n);
        streamed = (cw_upstream_reply){.end = CW_CLIENT_OK,
                                       .answer = &answer,
                                       .why = "",
                                       .session = reply->session,
                                       .message = message};
        c->x.message = NULL;
    }
    outer->mcp_call = NULL;
    cw_upstream_exchange_free(&c->x);
    cw_upstream_finish(outer, &streamed);
    cw_parsed_message_unref(message);
}

/* Forget the era of a server that was unavailable, or that may have been replaced. The next request
 * asks for it. This request is not repeated, since it may have been carried out. */
static void doubt_era(const call *c, const cw_upstream_reply *reply)
{
    unsigned status = reply->answer ? reply->answer->status : 0;
    bool is_away = reply->end == CW_CLIENT_CONNECT || reply->end == CW_CLIENT_LOST;
    bool is_strange = c->x.ticket.is_modern ? status == 400 || status == 404 || status == 405
                                            : status == 400 || status == 404;
    if (is_away || (is_strange && !c->x.is_stream))
        cw_relay_sessions_forget_era(c->x.home->sessions);
}

static void forget_level(const call *c)
{
    cw_relay_sessions_forget_level(c->x.home->sessions, &c->x.ticket,
                                   cw_relay_level(c->outer->relay->log_level));
}

static cw_code send_call(call *c, cw_err *err);
static void fail_call(call *c, cw_code rc, const char *why);

/* The session has the level: send the call. */
static void go_on(call *c)
{
    cw_err err = {0};
    cw_code rc = send_call(c, &err);
    if (rc)
        fail_call(c, rc, err.msg);
    else
        cw_list_add(&c->x.home->running, &c->x.node);
}

static void on_call_end(exchange *x, const cw_upstream_reply *reply)
{
    call *c = call_of(x);
    unsigned status = reply->end == CW_CLIENT_OK && reply->answer ? reply->answer->status : 0;
    bool is_lost = status == 404 && x->ticket.id[0];
    bool was_level = c->is_setting_level;
    if (reply->end == CW_CLIENT_OK && status < 300 && !x->is_stream)
        cw_shared_conn_streams_accepted(x->home->shared, cw_loop_now(x->home->base.loop));
    c->is_setting_level = false;
    if (was_level && reply->end != CW_CLIENT_OK)
        forget_level(c);
    if (was_level && !is_lost) {
        go_on(c); /* after any response to the level */
        return;
    }
    doubt_era(c, reply);
    if (is_lost)
        cw_relay_sessions_drop(x->home->sessions, &x->ticket);
    if (!is_lost || c->was_healed || c->outer->relay->ticket) {
        finish_call(c, reply);
        return;
    }
    c->was_healed = true;
    end_route(c);
    x->ticket.key[0] = 0;
    advance(c);
}

/* Some servers send notifications of changed lists on the stream of a call. */
static bool take_change(exchange *x, const cw_json *message)
{
    cw_incoming incoming = {0};
    mcp_upstream *u = x->home;
    cw_dialect_classify(&u->base.service->protocol, message, &incoming);
    unsigned lists = incoming.kind == CW_INCOMING_NOTIFICATION
                         ? cw_shared_conn_changed_lists(u->shared, incoming.method)
                         : 0;
    if (lists)
        cw_shared_conn_streams_changed(u->shared, lists);
    return lists;
}

static void on_call_message(exchange *x, const cw_json *message)
{
    cw_upstream_req *outer = call_of(x)->outer;
    if (!take_change(x, message) && outer->on_message)
        outer->on_message(outer, message);
}

void cw_upstream_mcp_receive(struct cw_upstream_mcp_call *c, const cw_json *message)
{
    if (c->outer->on_message)
        c->outer->on_message(c->outer, message);
}

static void on_call_open(exchange *x)
{
    call *c = call_of(x);
    cw_upstream_req *outer = c->outer;
    bool was_open = c->is_open;
    c->is_open = true;
    if (!was_open && outer->stream && outer->stream->on_open)
        outer->stream->on_open(outer);
}

/* Enter the call in its session: messages on the stream of the session may belong to it. */
static cw_code begin_route(call *c, cw_err *err)
{
    const cw_relay_ticket *t = &c->x.ticket;
    if (t->is_modern || !t->id[0] || c->outer->relay->is_stream || c->route)
        return CW_OK;
    c->route = cw_relay_route_new(c->x.home->base.loop, c->outer->id, c);
    if (!c->route)
        return cw_fail_nomem(err);
    cw_relay_sessions_begin_call(c->x.home->sessions, t->key, c->route);
    return CW_OK;
}

static cw_code send_call(call *c, cw_err *err)
{
    exchange *x = &c->x;
    const cw_relay_request *r = c->outer->relay;
    bool has_body = !r->is_stream || x->ticket.is_modern;
    cw_code rc = begin_route(c, err);
    if (rc)
        return rc;
    cw_buf_clear(&x->body);
    x->id = has_body ? c->outer->id : 0;
    if (has_body)
        cw_relay_write(&x->body, r, x->ticket.is_modern ? CW_RELAY_MODERN : CW_RELAY_LEGACY, x->id);
    cw_upstream_exchange_set_headers(x, r->method, r->name);
    if (!has_body)
        cw_upstream_exchange_add_header(x, "Last-Event-ID", r->last_event);
    for (size_t i = 0; i < r->n_headers && x->ticket.is_modern; i++)
        x->headers[x->n_headers++] = (cw_http_header){r->headers[i].name, r->headers[i].value};
    x->owner = c->outer->owner;
    x->traceparent = c->outer->traceparent;
    x->tracestate = c->outer->tracestate;
    return cw_upstream_exchange_send(x, has_body, /* is_delete= */ false, err);
}

/* Whether the log level of the session is too low for the client. */
static bool needs_level(const call *c)
{
    const cw_relay_request *r = c->outer->relay;
    return !r->is_stream && cw_relay_sessions_raise_level(c->x.home->sessions, &c->x.ticket,
                                                          cw_relay_level(r->log_level));
}

static cw_code send_level(call *c, cw_err *err)
{
    exchange *x = &c->x;
    cw_buf_clear(&x->body);
    x->id = next_id(&x->home->base, /* reads= */ false);
    cw_relay_write_level(&x->body, c->outer->relay->log_level, x->id);
    cw_upstream_exchange_set_headers(x, CW_STR("logging/setLevel"), CW_STR(""));
    cw_code rc = cw_upstream_exchange_send(x, /* has_body= */ true, /* is_delete= */ false, err);
    c->is_setting_level = rc == CW_OK;
    if (rc)
        forget_level(c);
    return rc;
}

static void fail_call(call *c, cw_code rc, const char *why)
{
    finish_call(c, &(cw_upstream_reply){.end = rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT,
                                        .why = why});
}

static void on_woken(cw_message *message)
{
    cw_relay_waiter *w = CW_CONTAINER(message, cw_relay_waiter, message);
    mcp_upstream *u = w->owner;
    free(w);
    if (!u)
        return;
    u->wait = NULL;
    advance_all(u);
}

static void on_wake_dropped(cw_message *message)
{
    cw_relay_waiter *w = CW_CONTAINER(message, cw_relay_waiter, message);
    mcp_upstream *u = w->owner;
    if (u)
        u->wait = NULL;
    free(w);
}

static cw_code enter(call *c)
{
    mcp_upstream *u = c->x.home;
    uint64_t now = cw_loop_now(u->base.loop);
    const cw_relay_request *r = c->outer->relay;
    if (r->ticket) {
        c->x.ticket = *r->ticket;
        return CW_OK;
    }
    cw_code rc = cw_relay_sessions_enter(u->sessions, r, now, NULL, &c->x.ticket);
    if (rc != CW_AGAIN || u->wait)
        return rc;
    cw_relay_waiter *w = calloc(1, sizeof *w);
    if (!w)
        return CW_NOMEM;
    *w = (cw_relay_waiter){
        .loop = u->base.loop, .owner = u, .message = {.fn = on_woken, .drop = on_wake_dropped}};
    rc = cw_relay_sessions_enter(u->sessions, r, now, w, &c->x.ticket);
    if (rc == CW_AGAIN)
        u->wait = w;
    else
        free(w);
    return rc;
}

/* The next step of a call that is in no list: send it, or wait. CW_OK, or why it cannot be done. */
static cw_code try_call(call *c, cw_err *err)
{
    mcp_upstream *u = c->x.home;
    cw_code rc = enter(c);
    if (rc == CW_OK) {
        if (!c->x.ticket.has_stream && wants_stream(c) &&
            cw_relay_sessions_claim_stream(u->sessions, &c->x.ticket))
            (void)want_stream(u, &c->x.ticket, NULL, NULL);
        rc = needs_level(c) ? send_level(c, err) : send_call(c, err);
        if (rc == CW_OK)
            cw_list_add(&u->running, &c->x.node);
        return rc;
    }
    if (rc == CW_DECLINED && !open_session(u, c))
        rc = CW_NOMEM;
    if (rc != CW_DECLINED && rc != CW_AGAIN)
        return cw_fail(err, rc, "no session can be opened");
    cw_list_add(&u->waiting, &c->x.node);
    return CW_OK;
}

static void advance(call *c)
{
    cw_err err = {0};
    cw_code rc = try_call(c, &err);
    if (rc)
        fail_call(c, rc, err.msg);
}

static void advance_all(mcp_upstream *u)
{
    cw_list now;
    cw_list_init(&now);
    u->depth++;
    cw_list_move(&u->waiting, &u->waiting, &now);
    for (cw_list *node; !u->is_closing && (node = cw_list_take_first(&now));)
        advance(call_of(exchange_at(node)));
    u->depth--;
    end_if_closing(u);
}

/* ---- the transport ---- */

static cw_code send_request(cw_upstream *upstream, cw_upstream_req *req, cw_err *err)
{
    mcp_upstream *u = mcp_of(upstream);
    call *c = calloc(1, sizeof *c);
    if (!c)
        return cw_fail_nomem(err);
    init_exchange(&c->x, u);
    c->x.on_end = on_call_end;
    c->x.on_other = on_call_message;
    c->x.on_open = on_call_open;
    c->x.is_stream = req->relay->is_stream;
    c->outer = req;
    cw_code rc = try_call(c, err);
    if (rc) {
        end_route(c);
        cw_upstream_exchange_free(&c->x);
    } else {
        req->mcp_call = c;
    }
    return rc;
}

static void cancel_request(cw_upstream *upstream, cw_upstream_req *req)
{
    mcp_upstream *u = mcp_of(upstream);
    call *c = req->mcp_call;
    if (!c)
        return;
    bool is_running = cw_list_is_in(&c->x.inner.node) && !c->is_setting_level;
    req->mcp_call = NULL;
    if (c->is_setting_level)
        forget_level(c);
    if (is_running && !c->x.ticket.is_modern && !req->relay->is_stream) {
        CW_CLEANUP(cw_buf_done) cw_buf text;
        cw_buf_init(&text, BODY_MAX);
        cw_relay_write_cancelled(&text, req->id);
        if (!text.code)
            (void)post(u, &c->x.ticket, cw_buf_str(&text));
    }
    end_route(c);
    cw_upstream_exchange_drop(&c->x);
}

static void forget_request(cw_upstream_req *req)
{
    (void)req; /* all memory belongs to the call */
}

static void post_message(cw_upstream *upstream, cw_upstream_req *req, cw_str message)
{
    if (req->mcp_call)
        (void)post(mcp_of(upstream), &req->mcp_call->x.ticket, message);
}

bool cw_upstream_mcp_end_session(cw_upstream *upstream, const cw_relay_ticket *ticket,
                                 void (*on_end)(void *ctx), void *ctx)
{
    posting *p = post(mcp_of(upstream), ticket, CW_STR(""));
    if (!p)
        return false;
    p->on_end = on_end;
    p->ctx = ctx;
    return true;
}

static void on_http_closed(void *ctx)
{
    mcp_upstream *u = ctx;
    void (*on_closed)(void *) = u->on_closed;
    void *closed_ctx = u->closed_ctx;
    cw_shared_conn_unref(u->shared);
    cw_endpoint_unref(u->base.service);
    free(u);
    if (on_closed)
        on_closed(closed_ctx);
}

static void end_if_closing(mcp_upstream *u)
{
    if (u->depth == 0 && u->is_closing)
        cw_upstream_close(u->http, on_http_closed, u);
}

static void leave_table(mcp_upstream *u)
{
    if (!u->wait)
        return;
    u->wait->owner = NULL;
    if (cw_relay_sessions_leave(u->sessions, u->wait))
        free(u->wait);
    u->wait = NULL;
}

static void close_upstream(cw_upstream *upstream, void (*on_closed)(void *ctx), void *ctx)
{
    mcp_upstream *u = mcp_of(upstream);
    u->is_closing = true;
    CW_LIST_EACH_SAFE (node, &u->openings) {
        opening *o = opening_of(exchange_at(node));
        cw_relay_sessions_failed(u->sessions, &o->x.ticket);
        cw_upstream_cancel(u->http, &o->x.inner);
        free_opening(o);
    }
    CW_LIST_EACH_SAFE (node, &u->posts)
        cw_upstream_exchange_drop(exchange_at(node));
    leave_table(u);
    cw_loop_unwatch(u->base.loop, &u->limits);
    u->on_closed = on_closed;
    u->closed_ctx = ctx;
    end_if_closing(u);
}

static void on_idle(cw_deferred *later)
{
    mcp_upstream *u = CW_CONTAINER(later, mcp_upstream, idle);
    cw_loop_remove_hook(&u->hook);
    cw_upstream_close(&u->base, NULL, NULL);
}

static void on_loop_end(cw_loop_hook *hook)
{
    mcp_upstream *u = CW_CONTAINER(hook, mcp_upstream, hook);
    cw_loop_cancel_deferred(&u->idle);
    cw_upstream_close(&u->base, NULL, NULL);
}

void cw_upstream_mcp_close_when_idle(cw_upstream *upstream)
{
    mcp_upstream *u = mcp_of(upstream);
    if (!u->n_posts) {
        cw_upstream_close(upstream, NULL, NULL);
        return;
    }
    CW_LIST_EACH (node, &u->posts)
        CW_CONTAINER(exchange_at(node), posting, x)->on_end = NULL;
    u->closes_when_idle = true;
    u->idle.fn = on_idle;
    u->hook.on_end = on_loop_end;
    cw_loop_add_hook(u->base.loop, &u->hook);
}

static cw_code open_http(mcp_upstream *u, cw_err *err)
{
    return cw_upstream_open(u->base.service, NULL, u->base.loop, u->answer_size, &u->http, err);
}

cw_code cw_upstream_open_mcp(cw_shared_conn *shared, size_t answer_size, const cw_upstream *base,
                             cw_upstream **ret, cw_err *err)
{
    static const cw_upstream_ops ops = {next_id,        send_request,   cancel_request,
                                        forget_request, close_upstream, post_message};
    mcp_upstream *u = calloc(1, sizeof *u);
    if (!u)
        return cw_fail_nomem(err);
    u->base = *base;
    u->base.ops = &ops;
    u->answer_size = answer_size;
    cw_code rc = open_http(u, err);
    if (rc) {
        free(u);
        return rc;
    }
    u->shared = cw_shared_conn_ref(shared);
    u->sessions = &shared->sessions;
    cw_list_init(&u->waiting);
    cw_list_init(&u->running);
    cw_list_init(&u->openings);
    cw_list_init(&u->posts);
    uint32_t ms = base->service->config.timeout_ms / 2;
    cw_deadline_list_init(&u->limits, ms < OPENING_MS ? ms : OPENING_MS,
                          cw_upstream_exchange_on_late);
    cw_loop_watch(base->loop, &u->limits);
    *ret = &u->base;
    return CW_OK;
}
