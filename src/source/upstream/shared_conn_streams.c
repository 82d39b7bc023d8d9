/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_conn_streams.c - streams of unsolicited messages from an MCP server over HTTP, on the main
 * loop.
 *
 *     a modern server        one stream: subscriptions/listen
 *     a session of a         a stream each: GET, continued with Last-Event-ID
 *     legacy server
 *
 * The stream of Causeway's own session, and that of a modern server, lasts as long as the source.
 * Lists that have changed are announced. The stream of a caller's session carries messages that
 * belong to its calls: they go to the loop of the call. A question that belongs to no call, or to
 * one of several, gets an error.
 *
 *     WAITING ─► OPEN ─► ended ─► pause ─► WAITING
 *        └─ 405 and the like: no stream; also 401 and 403, unless it was open before
 *
 * The server may set the pause, else it grows with each failure. After a flood the pause is long. If the
 * credentials were rejected, no stream is opened until the server has accepted them for a call: each further
 * request could lock the account.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "json/write.h"
#include "source/upstream/shared_conn_int.h"
#include "source/upstream/upstream_int.h"

#define STREAMS_MAX 64u
#define EVENTS_MAX 1024u /* on their way to the loops of calls */
#define OPENING_MS 1000u /* calls of a new session wait no longer for its stream */
#define SWEEP_MS 30000u
#define RETRY_MS 1000u
#define PAUSE_MIN_MS 256u
#define FAILURES_MAX 6u  /* of a caller's stream */
#define REFUSED_MS 5000u /* a call that is accepted sooner may have been sent before */
#define STEADY_MS 5000u  /* a stream that was open so long has not failed */
#define QUESTIONS_MAX 16u
#define ID_MAX 128u
#define TEXT_MAX 65536u

#define MEMBERS_MAX (32u * 1024u * 1024u)

/* A question of the server that went to a call. */
typedef struct asked {
    char id[ID_MAX]; /* JSON; empty: none */
    cw_relay_route *route;
} asked;

typedef struct stream {
    cw_list node;
    cw_shared_conn *shared; /* outlives it */
    bool is_own;
    cw_relay_ticket ticket;
    cw_relay_request relay;
    cw_buf members; /* of its params, for a modern server */
    cw_upstream_req req;
    cw_upstream_stream place;
    cw_deadline pause;
    cw_list wants; /* cw_shared_conn_want */
    unsigned failures;
    uint64_t opened_at; /* 0: never */
    bool is_open;       /* the response has begun */
    bool was_lost;      /* it ended after it was open: changes may be missed */
    asked asked[QUESTIONS_MAX];
    unsigned n_asked;
} stream;

static stream *stream_at(cw_list *node)
{
    return CW_CONTAINER(node, stream, node);
}

/* ---- requests for streams ---- */

void cw_shared_conn_want_free(cw_shared_conn_want *want)
{
    cw_shared_conn_unref(want->shared);
    free(want);
}

static void drop_want(cw_message *message)
{
    cw_shared_conn_want_free(CW_CONTAINER(message, cw_shared_conn_want, message));
}

static void on_want_back(cw_message *message)
{
    cw_shared_conn_want *w = CW_CONTAINER(message, cw_shared_conn_want, message);
    w->on_reply(w);
}

/* Reply to a request for a stream that is in no list. */
static void return_want(cw_shared_conn_want *w)
{
    cw_deadline_clear(&w->limit);
    if (!w->on_reply) {
        cw_shared_conn_want_free(w);
        return;
    }
    w->message.fn = on_want_back;
    cw_loop_post(w->loop, &w->message);
}

static void return_wants(stream *s)
{
    for (cw_list *node; (node = cw_list_take_first(&s->wants));)
        return_want(CW_CONTAINER(node, cw_shared_conn_want, node));
}

static void on_opening_late(cw_deadline *d)
{
    cw_shared_conn_want *w = CW_CONTAINER(d, cw_shared_conn_want, limit);
    cw_list_remove(&w->node);
    return_want(w);
}

/* ---- messages that belong to calls ---- */

typedef struct route_event {
    cw_message message;
    cw_shared_conn *shared; /* a reference */
    cw_relay_route *route;  /* likewise */
    cw_parsed_message *parsed;
} route_event;

static void free_event(cw_message *message)
{
    route_event *e = CW_CONTAINER(message, route_event, message);
    atomic_fetch_sub(&e->shared->mcp.n_events, 1);
    cw_shared_conn_unref(e->shared);
    cw_relay_route_unref(e->route);
    cw_parsed_message_unref(e->parsed);
    free(e);
}

static void on_event(cw_message *message)
{
    const route_event *e = CW_CONTAINER(message, route_event, message);
    if (e->route->call)
        cw_upstream_mcp_receive(e->route->call, e->parsed->root);
    free_event(message);
}

static cw_parsed_message *copy_message(const cw_shared_conn *shared, const cw_json *root)
{
    cw_parsed_message *copy = cw_parsed_message_new(cw_json_span(root));
    if (copy && cw_parsed_message_parse(copy, shared->opts.answer_size * 16 + TEXT_MAX, NULL)) {
        cw_parsed_message_unref(copy);
        return NULL;
    }
    return copy;
}

/* False: too many are on their way, or no memory. */
static bool send_event(cw_shared_conn *shared, cw_relay_route *route, const cw_json *root)
{
    bool is_full = atomic_load(&shared->mcp.n_events) >= EVENTS_MAX;
    cw_parsed_message *copy = is_full ? NULL : copy_message(shared, root);
    route_event *e = copy ? malloc(sizeof *e) : NULL;
    if (!e) {
        cw_parsed_message_unref(copy);
        return false;
    }
    atomic_fetch_add(&shared->mcp.n_events, 1);
    *e = (route_event){.message = {.fn = on_event, .drop = free_event},
                       .shared = cw_shared_conn_ref(shared),
                       .route = cw_relay_route_ref(route),
                       .parsed = copy};
    cw_loop_post(route->loop, &e->message);
    return true;
}

/* Pass a notification to the call with this id; `id` 0: to the only call of the session. */
static void pass_on(stream *s, uint64_t id, const cw_json *root)
{
    cw_relay_route *route = cw_relay_sessions_find_call(&s->shared->sessions, s->ticket.key, id);
    if (route)
        (void)send_event(s->shared, route, root);
    cw_relay_route_unref(route);
}

/* ---- questions ---- */

static void answer_request(stream *s, const cw_json *id, cw_str result, int64_t code,
                           const char *problem)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, TEXT_MAX);
    cw_relay_write_answer(&text, cw_json_span(id), result, code, cw_str_from(problem));
    if (!text.code)
        cw_upstream_post(s->shared->streams.upstream, &s->req, cw_buf_str(&text));
}

/* Keep the call of a question: other calls may run when the server cancels the question. */
static void remember_question(stream *s, const cw_json *id, cw_relay_route *route)
{
    asked *a = &s->asked[s->n_asked++ % QUESTIONS_MAX];
    cw_str text = cw_json_span(id);
    cw_relay_route_unref(a->route);
    *a = (asked){.route = NULL};
    if (text.n >= ID_MAX)
        return;
    memcpy(a->id, text.p, text.n);
    a->route = cw_relay_route_ref(route);
}

static void pass_cancel(stream *s, const cw_json *params, const cw_json *root)
{
    const cw_json *id = cw_json_get(params, CW_STR("requestId"));
    for (size_t i = 0; id && i < QUESTIONS_MAX; i++) {
        asked *a = &s->asked[i];
        if (!a->route || !cw_str_is(cw_json_span(id), a->id))
            continue;
        (void)send_event(s->shared, a->route, root);
        cw_relay_route_unref(a->route);
        *a = (asked){.route = NULL};
    }
}

static void on_request(stream *s, const cw_incoming *incoming, const cw_json *root)
{
    cw_relay_route *route = NULL;
    if (cw_str_is(incoming->method, "ping")) {
        answer_request(s, incoming->request_id, CW_STR("{}"), 0, "");
        return;
    }
    if (!cw_relay_question(incoming->method, incoming->params)) {
        answer_request(s, incoming->request_id, CW_STR(""), -32601, "Method not found");
        return;
    }
    route = cw_relay_sessions_find_call(&s->shared->sessions, s->ticket.key, 0);
    if (route && send_event(s->shared, route, root))
        remember_question(s, incoming->request_id, route);
    else
        answer_request(s, incoming->request_id, CW_STR(""), -32603,
                       "No call, or more than one, runs in the session: the one that asks is not "
                       "known");
    cw_relay_route_unref(route);
}

static void on_notification(stream *s, const cw_incoming *incoming, const cw_json *root)
{
    const cw_json *token = cw_json_get(incoming->params, CW_STR("progressToken"));
    unsigned lists = cw_shared_conn_changed_lists(s->shared, incoming->method);
    uint64_t id = 0;
    if (lists)
        cw_shared_conn_announce(s->shared, lists);
    else if (cw_str_is(incoming->method, "notifications/resources/updated") && s->is_own)
        cw_shared_conn_resource_updated(s->shared, incoming->params);
    else if (cw_str_is(incoming->method, "notifications/cancelled"))
        pass_cancel(s, incoming->params, root);
    else if (cw_str_is(incoming->method, "notifications/message"))
        pass_on(s, 0, root);
    else if (cw_str_is(incoming->method, "notifications/progress") && token &&
             cw_json_to_u64(token, &id) && id)
        pass_on(s, id, root);
}

static void on_message(cw_upstream_req *req, const cw_json *root)
{
    stream *s = req->ctx;
    cw_incoming incoming = {0};
    cw_dialect_classify(&s->shared->service->protocol, root, &incoming);
    if (incoming.kind == CW_INCOMING_REQUEST)
        on_request(s, &incoming, root);
    else if (incoming.kind == CW_INCOMING_NOTIFICATION)
        on_notification(s, &incoming, root);
}

/* ---- subscriptions to resources of a legacy server, in Causeway's own session ---- */

typedef struct subscribing {
    cw_list node;           /* of the streams */
    cw_shared_conn *shared; /* outlives it */
    cw_str uri;             /* memory of its own; empty: the end of a subscription */
    cw_upstream_req req;
    cw_relay_request relay;
    cw_buf members;
} subscribing;

static void free_subscribing(subscribing *s)
{
    cw_list_remove(&s->node);
    cw_buf_done(&s->members);
    free((char *)(uintptr_t)s->uri.p);
    free(s);
}

/* Log that a server has rejected the subscription, so that it sends no updates. */
static void log_failure(const subscribing *s, const cw_upstream_reply *reply)
{
    cw_arena arena;
    const cw_json *root = reply->message ? reply->message->root : NULL;
    unsigned status = reply->answer ? reply->answer->status : 0;
    char why[64];
    cw_arena_init(&arena, 16 * s->shared->opts.answer_size + TEXT_MAX);
    if (!root && reply->end == CW_CLIENT_OK && reply->answer)
        (void)!cw_json_read(reply->answer->body, NULL, &arena, &root, NULL, NULL);
    snprintf(why, sizeof why, "HTTP status %u", status);
    if (root)
        cw_shared_conn_log_refusal(s->shared, s->uri, root);
    else if (reply->end != CW_CLIENT_OK || status >= 300)
        cw_log(CW_LOG_WARN, "source", "updates of a resource are not reported",
               CW_KV("source", s->shared->service->config.name), CW_KV("uri", s->uri),
               CW_KV("error", cw_str_from(reply->end == CW_CLIENT_OK ? why : reply->why)));
    cw_arena_done(&arena);
}

static void on_subscribed(cw_upstream_req *req, const cw_upstream_reply *reply)
{
    subscribing *s = CW_CONTAINER(req, subscribing, req);
    if (s->uri.n)
        log_failure(s, reply);
    free_subscribing(s);
}

void cw_shared_conn_streams_send(cw_shared_conn *shared, const char *method, cw_str uri)
{
    cw_shared_conn_streams *all = &shared->streams;
    cw_err err = {0};
    subscribing *s = all->upstream ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return;
    s->shared = shared;
    if (strcmp(method, "resources/subscribe") == 0) {
        char *copy = cw_str_dup(uri);
        s->uri = cw_str_make(copy, copy ? uri.n : 0);
    }
    cw_buf_init(&s->members, MEMBERS_MAX);
    cw_buf_add(&s->members, CW_STR("\"uri\":"));
    cw_json_escape(&s->members, uri);
    s->relay =
        (cw_relay_request){.method = cw_str_from(method), .members = cw_buf_str(&s->members)};
    s->req = (cw_upstream_req){.relay = &s->relay, .on_done = on_subscribed};
    s->req.id = cw_upstream_next_id(all->upstream, /* reads= */ true);
    cw_list_add(&all->subscribing, &s->node);
    if (s->members.code || cw_upstream_send(all->upstream, &s->req, &err))
        free_subscribing(s);
}

/* ---- the life of a stream ---- */

static void free_stream(stream *s)
{
    cw_shared_conn_streams *all = &s->shared->streams;
    cw_upstream_cancel(all->upstream, &s->req);
    cw_deadline_clear(&s->pause);
    return_wants(s);
    for (size_t i = 0; i < QUESTIONS_MAX; i++)
        cw_relay_route_unref(s->asked[i].route);
    cw_list_remove(&s->node);
    cw_buf_done(&s->members);
    all->n--;
    free(s);
}

static void wait_before_retry(stream *s, uint64_t ms)
{
    cw_shared_conn_streams *all = &s->shared->streams;
    unsigned i = 0;
    while (i + 1 < CW_SHARED_CONN_PAUSES && all->pauses[i].ms < ms)
        i++;
    return_wants(s);
    cw_loop_set_deadline(s->shared->opts.loop, &s->pause, &all->pauses[i]);
}

static void on_failure(stream *s)
{
    if (++s->failures > FAILURES_MAX && !s->is_own) {
        cw_relay_sessions_drop_stream(&s->shared->sessions, &s->ticket);
        free_stream(s);
        return;
    }
    wait_before_retry(s, (uint64_t)RETRY_MS << (s->failures < 7 ? s->failures - 1 : 6));
}

static void log_flood(const stream *s)
{
    cw_log(CW_LOG_WARN, "source", "too many messages on a stream: it is closed for a while",
           CW_KV("source", s->shared->service->config.name));
}

static bool is_refused(const cw_upstream_reply *reply)
{
    unsigned status = reply->answer ? reply->answer->status : 0;
    return reply->end == CW_CLIENT_REFUSED || status == 401 || status == 403;
}

/* A later rejection is temporary: the server starts, or a token has to be renewed. */
static bool was_open_before(const stream *s)
{
    return s->opened_at || s->was_lost;
}

/* Whether the server has no stream at all, so that a further request would not help. */
static bool has_none(const stream *s, const cw_upstream_reply *reply)
{
    unsigned status = reply->answer ? reply->answer->status : 0;
    bool may_pass = status >= 500 && status != 501;
    if (is_refused(reply) && was_open_before(s))
        return false;
    if (reply->end == CW_CLIENT_REFUSED)
        return true;
    if (reply->end != CW_CLIENT_OK || s->is_open || may_pass)
        return false;
    return status != 408 && status != 429;
}

/* Whether the server has lost the session. A caller's is opened again with its next call. */
static bool is_session_lost(const stream *s, const cw_upstream_reply *reply)
{
    return reply->end == CW_CLIENT_OK && reply->answer && reply->answer->status == 404 &&
           s->ticket.id[0] && s->relay.ticket;
}

static bool is_own_ticket(const cw_relay_ticket *ticket)
{
    return ticket->is_modern || strcmp(ticket->key, CW_RELAY_OWN_KEY) == 0;
}

static void miss_own(cw_shared_conn_streams *all, const cw_relay_ticket *ticket)
{
    all->has_missed = true;
    all->missed = *ticket;
}

/* The credentials were rejected. The stream is claimed again once the server has accepted them: a caller's
 * by the next call in its session. */
static void leave(stream *s)
{
    if (s->is_own)
        miss_own(&s->shared->streams, &s->ticket);
    cw_relay_sessions_drop_stream(&s->shared->sessions, &s->ticket);
    free_stream(s);
}

static void leave_refused(stream *s)
{
    uint64_t now = cw_loop_now(s->shared->opts.loop);
    atomic_store(&s->shared->streams.refused_at, now ? now : 1);
    leave(s);
}

static void on_done(cw_upstream_req *req, const cw_upstream_reply *reply)
{
    stream *s = req->ctx;
    bool was_open = s->is_open, is_end = reply->end == CW_CLIENT_OK;
    if (is_session_lost(s, reply) && s->is_own) {
        s->was_lost = true;
        s->relay.ticket = NULL;
        wait_before_retry(s, PAUSE_MIN_MS);
        return;
    }
    if (has_none(s, reply)) {
        free_stream(s);
        return;
    }
    if (is_refused(reply) && s->shared->service->protocol.has_credentials) {
        leave_refused(s);
        return;
    }
    s->is_open = false;
    if (was_open && cw_loop_now(s->shared->opts.loop) > s->opened_at + STEADY_MS)
        s->failures = 0;
    /* A stream that can be continued has missed no message. */
    s->was_lost = s->was_lost || (was_open && !(is_end && s->place.last_event[0]));
    if (reply->end == CW_CLIENT_TOO_LARGE) {
        log_flood(s);
        s->failures = FAILURES_MAX;
    }
    if (is_end && was_open && s->place.retry_ms)
        wait_before_retry(s, s->place.retry_ms);
    else
        on_failure(s);
}

static void on_open(cw_upstream_req *req)
{
    stream *s = req->ctx;
    bool was_lost = s->was_lost;
    s->is_open = true;
    s->opened_at = cw_loop_now(s->shared->opts.loop);
    s->was_lost = false;
    return_wants(s);
    if (was_lost && s->is_own)
        cw_shared_conn_announce(s->shared, /* lists= */ 0);
    if (s->is_own)
        cw_shared_conn_resources_opened(s->shared);
}

/* Write the params for a modern server. A legacy server gets none. */
static void write_members(stream *s)
{
    cw_buf_clear(&s->members);
    s->members.code = CW_OK;
    cw_buf_add(&s->members, CW_STR("\"notifications\":{" CW_SHARED_CONN_LISTS));
    cw_shared_conn_write_resources(s->shared, &s->members);
    cw_buf_add_char(&s->members, '}');
    s->relay.members = s->members.code ? CW_STR("\"notifications\":{" CW_SHARED_CONN_LISTS "}")
                                       : cw_buf_str(&s->members);
}

static void connect_stream(stream *s)
{
    cw_shared_conn *shared = s->shared;
    cw_err err = {0};
    write_members(s);
    s->relay.last_event = cw_str_from(s->place.last_event);
    s->place.on_open = on_open;
    s->req = (cw_upstream_req){.relay = &s->relay,
                               .stream = &s->place,
                               .on_message = on_message,
                               .on_done = on_done,
                               .ctx = s};
    s->req.id = cw_upstream_next_id(shared->streams.upstream, /* reads= */ true);
    if (cw_upstream_send(shared->streams.upstream, &s->req, &err))
        on_failure(s);
}

/* Causeway's own stream enters the session without its old ticket, which may be lost by now. */
static void on_pause_over(cw_deadline *d)
{
    stream *s = CW_CONTAINER(d, stream, pause);
    if (s->is_own)
        s->relay.ticket = NULL;
    if (atomic_load(&s->shared->streams.refused_at))
        leave(s);
    else
        connect_stream(s);
}

static stream *find_stream(const cw_shared_conn_streams *all, const cw_relay_ticket *ticket)
{
    const char *key = ticket->is_modern ? CW_RELAY_OWN_KEY : ticket->key;
    CW_LIST_EACH (node, &all->all) {
        if (strcmp(stream_at(node)->ticket.key, key) == 0)
            return stream_at(node);
    }
    return NULL;
}

/* End the oldest stream of a caller in whose session no call runs. False: no place is free. */
static bool make_room(cw_shared_conn *shared)
{
    cw_shared_conn_streams *all = &shared->streams;
    uint32_t most = shared->service->config.connections / 2;
    if (all->n < (most < STREAMS_MAX ? most : STREAMS_MAX))
        return true;
    for (cw_list *node = all->all.prev; node != &all->all; node = node->prev) {
        stream *s = stream_at(node);
        if (s->is_own || cw_relay_sessions_is_busy(&shared->sessions, s->ticket.key))
            continue;
        cw_relay_sessions_drop_stream(&shared->sessions, &s->ticket);
        free_stream(s);
        return true;
    }
    return false;
}

static stream *add_stream(cw_shared_conn *shared, const cw_relay_ticket *ticket)
{
    cw_shared_conn_streams *all = &shared->streams;
    bool is_own = is_own_ticket(ticket);
    stream *s = is_own || make_room(shared) ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return NULL;
    s->shared = shared;
    s->is_own = is_own;
    s->was_lost = is_own && all->has_missed;
    all->has_missed = all->has_missed && !is_own;
    s->ticket = *ticket;
    if (ticket->is_modern)
        memcpy(s->ticket.key, CW_RELAY_OWN_KEY, sizeof CW_RELAY_OWN_KEY);
    s->relay = (cw_relay_request){
        .method = CW_STR("subscriptions/listen"), .is_stream = true, .ticket = &s->ticket};
    cw_buf_init(&s->members, MEMBERS_MAX);
    cw_list_init(&s->wants);
    cw_list_add_first(&all->all, &s->node);
    all->n++;
    return s;
}

static stream *find_own(const cw_shared_conn_streams *all)
{
    CW_LIST_EACH (node, &all->all) {
        if (stream_at(node)->is_own)
            return stream_at(node);
    }
    return NULL;
}

bool cw_shared_conn_streams_is_open(const cw_shared_conn *shared)
{
    const stream *own = shared->streams.is_on ? find_own(&shared->streams) : NULL;
    return own && own->is_open;
}

void cw_shared_conn_streams_listen(cw_shared_conn *shared)
{
    stream *own = find_own(&shared->streams);
    if (!own)
        return;
    cw_upstream_cancel(shared->streams.upstream, &own->req);
    cw_deadline_clear(&own->pause);
    own->is_open = false;
    connect_stream(own);
}

static bool open_upstream(cw_shared_conn *shared)
{
    cw_err err = {0};
    cw_shared_conn_streams *all = &shared->streams;
    if (all->upstream)
        return true;
    if (cw_upstream_open(shared->service, shared, shared->opts.loop, shared->opts.answer_size,
                         &all->upstream, &err))
        return false;
    cw_loop_set_deadline(shared->opts.loop, &all->sweep, &all->sweeps);
    return true;
}

/* The stream that a request names; NULL: none yet. The server may have lost the session of a
 * caller, and its next call has opened another one: the stream of the lost one ends. */
static stream *find_wanted(const cw_shared_conn_streams *all, const cw_relay_ticket *ticket)
{
    stream *s = find_stream(all, ticket);
    if (!s || s->is_own || strcmp(s->ticket.id, ticket->id) == 0)
        return s;
    free_stream(s);
    return NULL;
}

static void on_want(cw_message *message)
{
    cw_shared_conn_want *w = CW_CONTAINER(message, cw_shared_conn_want, message);
    cw_shared_conn *shared = w->shared;
    bool can_open = !shared->is_closing && open_upstream(shared);
    stream *s = can_open ? find_wanted(&shared->streams, &w->ticket) : NULL;
    bool is_new = !s;
    if (is_new && can_open && !atomic_load(&shared->streams.refused_at))
        s = add_stream(shared, &w->ticket);
    if (!s) {
        if (is_own_ticket(&w->ticket))
            miss_own(&shared->streams, &w->ticket);
        cw_relay_sessions_drop_stream(&shared->sessions, &w->ticket);
        return_want(w);
        return;
    }
    if (s->is_open || s->pause.list) {
        return_want(w);
        return;
    }
    cw_list_add(&s->wants, &w->node);
    cw_loop_set_deadline(shared->opts.loop, &w->limit, &shared->streams.openings);
    if (is_new)
        connect_stream(s);
}

void cw_shared_conn_streams_want(cw_shared_conn_want *want)
{
    want->message = (cw_message){.fn = on_want, .drop = drop_want};
    cw_loop_post(want->shared->opts.loop, &want->message);
}

/* No call runs in Causeway's own session of a legacy server until the next discovery, so its stream is
 * claimed here. Without memory for the message, that discovery claims it. */
static void on_want_missed(cw_message *message)
{
    cw_shared_conn_want *w = CW_CONTAINER(message, cw_shared_conn_want, message);
    const cw_shared_conn_streams *all = &w->shared->streams;
    w->ticket = all->missed;
    if (all->has_missed && cw_relay_sessions_claim_stream(&w->shared->sessions, &w->ticket))
        on_want(message);
    else
        cw_shared_conn_want_free(w);
}

void cw_shared_conn_streams_accepted(cw_shared_conn *shared, uint64_t now)
{
    uint_least64_t at = atomic_load_explicit(&shared->streams.refused_at, memory_order_relaxed);
    if (CW_LIKELY(!at) || cw_clock_since(now, at) < REFUSED_MS ||
        !atomic_compare_exchange_strong(&shared->streams.refused_at, &at, 0))
        return;
    cw_shared_conn_want *w = malloc(sizeof *w);
    if (!w)
        return;
    *w = (cw_shared_conn_want){.message = {.fn = on_want_missed, .drop = drop_want},
                               .shared = cw_shared_conn_ref(shared)};
    cw_loop_post(shared->opts.loop, &w->message);
}

/* ---- changes that calls have seen ---- */

static void on_changed(cw_message *message)
{
    cw_shared_conn *shared = CW_CONTAINER(message, cw_shared_conn, streams.changed);
    cw_shared_conn_announce(shared, atomic_exchange(&shared->streams.changed_lists, 0));
    cw_shared_conn_unref(shared);
}

static void on_changed_dropped(cw_message *message)
{
    cw_shared_conn_unref(CW_CONTAINER(message, cw_shared_conn, streams.changed));
}

void cw_shared_conn_streams_changed(cw_shared_conn *shared, unsigned lists)
{
    if (!shared->streams.is_on || atomic_fetch_or(&shared->streams.changed_lists, lists))
        return;
    cw_shared_conn_ref(shared);
    cw_loop_post(shared->opts.loop, &shared->streams.changed);
}

/* ---- sessions that have ended ---- */

static void on_sweep(cw_deadline *d)
{
    cw_shared_conn_streams *all = CW_CONTAINER(d, cw_shared_conn_streams, sweep);
    cw_shared_conn *shared = CW_CONTAINER(all, cw_shared_conn, streams);
    cw_relay_ticket ended;
    while (
        cw_relay_sessions_next_ended(&shared->sessions, cw_loop_now(shared->opts.loop), &ended)) {
        stream *s = find_stream(all, &ended);
        if (s && strcmp(s->ticket.id, ended.id) == 0)
            free_stream(s);
        (void)cw_upstream_mcp_end_session(all->upstream, &ended, NULL, NULL);
    }
    cw_loop_set_deadline(shared->opts.loop, &all->sweep, &all->sweeps);
}

/* ---- begin and end ---- */

void cw_shared_conn_streams_init(cw_shared_conn *shared)
{
    cw_shared_conn_streams *all = &shared->streams;
    cw_loop *loop = shared->opts.loop;
    cw_list_init(&all->all);
    cw_list_init(&all->subscribing);
    atomic_init(&all->changed_lists, 0);
    atomic_init(&all->refused_at, 0);
    all->is_on = shared->mcp.is_on && shared->service->kind == CW_ENDPOINT_HTTP;
    all->is_following = all->is_on && shared->opts.announced;
    if (!all->is_on)
        return;
    all->changed = (cw_message){.fn = on_changed, .drop = on_changed_dropped};
    cw_deadline_list_init(&all->openings, OPENING_MS, on_opening_late);
    cw_deadline_list_init(&all->sweeps, SWEEP_MS, on_sweep);
    cw_loop_watch(loop, &all->openings);
    cw_loop_watch(loop, &all->sweeps);
    for (unsigned i = 0; i < CW_SHARED_CONN_PAUSES; i++) {
        cw_deadline_list_init(&all->pauses[i], (uint64_t)PAUSE_MIN_MS << i, on_pause_over);
        cw_loop_watch(loop, &all->pauses[i]);
    }
}

/* The streams end before their sessions. */
size_t cw_shared_conn_end_sessions(cw_shared_conn *shared, void (*on_end)(void *ctx), void *ctx)
{
    cw_shared_conn_streams *all = shared ? &shared->streams : NULL;
    cw_relay_ticket ticket;
    size_t n = 0;
    if (!all || !all->is_on)
        return 0;
    while (!cw_list_is_empty(&all->all))
        free_stream(stream_at(all->all.next));
    while (cw_relay_sessions_next_open(&shared->sessions, &ticket)) {
        if (open_upstream(shared))
            n += cw_upstream_mcp_end_session(all->upstream, &ticket, on_end, ctx);
    }
    return n;
}

void cw_shared_conn_streams_close(cw_shared_conn *shared, bool loops_ended)
{
    cw_shared_conn_streams *all = &shared->streams;
    cw_loop *loop = shared->opts.loop;
    if (!all->is_on)
        return;
    if (!loops_ended)
        (void)cw_shared_conn_end_sessions(shared, NULL, NULL);
    while (!cw_list_is_empty(&all->all))
        free_stream(stream_at(all->all.next));
    CW_LIST_EACH_SAFE (node, &all->subscribing) {
        subscribing *s = CW_CONTAINER(node, subscribing, node);
        cw_upstream_cancel(all->upstream, &s->req);
        free_subscribing(s);
    }
    cw_deadline_clear(&all->sweep);
    cw_loop_unwatch(loop, &all->openings);
    cw_loop_unwatch(loop, &all->sweeps);
    for (unsigned i = 0; i < CW_SHARED_CONN_PAUSES; i++)
        cw_loop_unwatch(loop, &all->pauses[i]);
    cw_upstream *upstream = all->upstream;
    all->upstream = NULL;
    if (upstream && loops_ended)
        cw_upstream_close(upstream, NULL, NULL);
    else if (upstream)
        cw_upstream_mcp_close_when_idle(upstream);
}
