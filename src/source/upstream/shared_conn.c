/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_conn.c - the one connection of a service, on the main loop, and the calls that travel from
 * the other loops to it and back.
 *
 *     CLOSED ─► OPENING ─► WAITING ─► INIT_CALLS ─► READY
 *        ▲         │          │           │           │
 *        └─────────┴──────────┴───────────┴───────────┘ the channel ended
 */
#include "source/upstream/shared_conn.h"
#include "metrics/metrics.h"
#include "metrics/names.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "source/upstream/shared_conn_int.h"
#include "source/upstream/upstream_int.h"

#define PAUSE_MIN_MS 250u
#define PAUSE_MAX_MS 15000u
#define LOGGED_MAX 65536u /* of an invalid message */
#define RELAY_LIMIT_MS (24u * 3600u * 1000u)

static void go_on(cw_shared_conn *shared);
static void open_channel(cw_shared_conn *shared);
static void flush(cw_shared_conn *shared);

uint64_t cw_shared_conn_next_id(cw_shared_conn *shared)
{
    return atomic_fetch_add_explicit(&shared->last_id, 1, memory_order_relaxed) + 1;
}

/* ---- calls ---- */

/* Calls that may be under way. Each loop limits its own, so that one caller cannot take all of them. */
static uint64_t calls_max(const cw_shared_conn *shared)
{
    const cw_config_remote *config = &shared->service->config;
    uint64_t n_loops = shared->opts.n_loops ? shared->opts.n_loops : 1;
    return n_loops * (config->queue + config->connections);
}

/* Add a call to the list of all calls. False: too many are under way. */
static bool list(cw_shared_conn *shared, cw_shared_conn_call *call)
{
    pthread_mutex_lock(&shared->lock);
    bool is_full = shared->n_all >= calls_max(shared);
    if (!is_full) {
        cw_list_add(&shared->all, &call->all_node);
        shared->n_all++;
    }
    pthread_mutex_unlock(&shared->lock);
    return !is_full;
}

/* Free a call, but keep its reference to the connection. */
static void drop_call(cw_shared_conn_call *call)
{
    cw_shared_conn *shared = call->shared;
    pthread_mutex_lock(&shared->lock);
    cw_list_remove(&call->all_node);
    shared->n_all--;
    pthread_mutex_unlock(&shared->lock);
    cw_parsed_message_unref(call->answer);
    free(call);
}

static void free_call(cw_shared_conn_call *call)
{
    cw_shared_conn *shared = call->shared;
    drop_call(call);
    cw_shared_conn_unref(shared);
}

/* On the loop of its caller. */
static void on_reply(cw_message *message)
{
    cw_shared_conn_call *call = CW_CONTAINER(message, cw_shared_conn_call, message);
    cw_upstream_req *req = call->req;
    if (req) {
        cw_parsed_message *parsed = call->answer;
        cw_client_response answer = {.type = CW_STR("application/json"),
                                     .body = parsed ? cw_str_make(parsed->text, parsed->n)
                                                    : CW_STR("")};
        cw_upstream_reply reply = {
            .end = call->end,
            .answer = call->end == CW_CLIENT_OK ? &answer : NULL,
            .why = call->why,
            .message = parsed,
        };
        req->conn_call = NULL;
        cw_upstream_finish(req, &reply);
    }
    free_call(call);
}

static void finish(cw_shared_conn_call *call, cw_client_end end, cw_parsed_message *answer,
                   const char *why)
{
    cw_deadline_clear(&call->deadline);
    call->end = end;
    call->answer = answer;
    size_t n = strnlen(why, sizeof call->why - 1);
    memcpy(call->why, why, n);
    call->why[n] = 0;
    call->message.fn = on_reply;
    cw_loop_post(call->loop, &call->message);
}

/* ---- calls that wait for the connection or for a response ---- */

static cw_shared_conn_call *call_of(cw_list *node)
{
    return CW_CONTAINER(node, cw_shared_conn_call, node);
}

static void remember(cw_shared_conn *shared, cw_shared_conn_call *call)
{
    cw_shared_conn_call **bucket = &shared->buckets[call->id % CW_SHARED_CONN_BUCKETS];
    call->same = *bucket;
    *bucket = call;
    cw_list_add(&shared->pending, &call->node);
}

static void forget(cw_shared_conn *shared, cw_shared_conn_call *call)
{
    cw_shared_conn_call **at = &shared->buckets[call->id % CW_SHARED_CONN_BUCKETS];
    while (*at && *at != call)
        at = &(*at)->same;
    if (*at)
        *at = call->same;
    cw_list_remove(&call->node);
}

cw_shared_conn_call *cw_shared_conn_find(cw_shared_conn *shared, uint64_t id)
{
    cw_shared_conn_call *call = shared->buckets[id % CW_SHARED_CONN_BUCKETS];
    while (call && call->id != id)
        call = call->same;
    return call;
}

/* ---- the end of a connection ---- */

static void on_channel_closed(void *ctx)
{
    cw_shared_conn_unref(ctx);
}

static void fail_waiting(cw_shared_conn *shared, cw_client_end end, const char *why)
{
    for (cw_list *node; (node = cw_list_take_first(&shared->waiting));)
        finish(call_of(node), end, NULL, why);
}

static void fail_pending(cw_shared_conn *shared, cw_client_end end, const char *why)
{
    while (!cw_list_is_empty(&shared->pending)) {
        cw_shared_conn_call *call = call_of(shared->pending.next);
        forget(shared, call);
        finish(call, end, NULL, why);
    }
}

static void count_connection(cw_shared_conn *shared, bool is_open)
{
    if (is_open != shared->is_counted)
        cw_metrics_add(CW_METRIC_SOURCE_CONNECTIONS,
                       cw_metrics_slot(CW_METRICS_SOURCE, shared->service->config.name), 0, 0,
                       is_open ? 1 : -1);
    shared->is_counted = is_open;
}

static void close_channel(cw_shared_conn *shared)
{
    shared->state = CW_SHARED_CONN_CLOSED;
    shared->was_noted = false;
    cw_shared_conn_mcp_stop(shared);
    cw_upstream_login_cancel(&shared->login);
    count_connection(shared, false);
    if (shared->channel)
        cw_channel_close(shared->channel);
    shared->channel = NULL;
}

static void disconnect(cw_shared_conn *shared, cw_client_end end, const char *why)
{
    close_channel(shared);
    fail_pending(shared, CW_CLIENT_LOST, why);
    fail_waiting(shared, end, why);
}

static void disconnect_silent(cw_shared_conn *shared)
{
    disconnect(shared, CW_CLIENT_LOST, "nothing came for too long");
    cw_shared_conn_events_ended(shared, /* was_ready= */ true, /* is_refused= */ false);
}

static void pause_next(cw_shared_conn *shared)
{
    uint64_t ms = (uint64_t)PAUSE_MIN_MS << (shared->failures < 6 ? shared->failures : 6);
    shared->failures++;
    shared->retry_at = cw_loop_now(shared->opts.loop) + (ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS);
}

/* Text of the service without secrets. They are replaced before the text is truncated. */
static void hide(const cw_shared_conn *shared, cw_str words, char ret[CW_SHARED_CONN_WHY])
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_secrets_write(&shared->service->secrets, words, &text);
    if (!text.code)
        cw_oauth_token_redact(&shared->login.oauth, text.p, text.n);
    snprintf(ret, CW_SHARED_CONN_WHY, "%.*s", text.code ? 0 : (int)text.n, text.n ? text.p : "");
}

void cw_shared_conn_give_up(cw_shared_conn *shared, cw_client_end end, const char *why)
{
    char problem[CW_SHARED_CONN_WHY];
    hide(shared, cw_str_from(why), problem);
    memcpy(shared->problem, problem, sizeof problem);
    pause_next(shared);
    disconnect(shared, end, problem);
    cw_shared_conn_events_ended(shared, /* was_ready= */ false, end == CW_CLIENT_REFUSED);
}

static void on_end(cw_channel *ch, cw_code code, const char *why, void *ctx)
{
    (void)ch;
    cw_shared_conn *shared = ctx;
    bool was_ready = shared->state == CW_SHARED_CONN_READY;
    bool is_refused = shared->state == CW_SHARED_CONN_OPENING && code == CW_DECLINED;
    char problem[CW_SHARED_CONN_WHY];
    hide(shared, cw_str_from(why), problem);
    cw_log(CW_LOG_INFO, "source", "connection ended", CW_KV("source", shared->service->config.name),
           CW_KV("problem", cw_str_from(problem)));
    if (is_refused)
        cw_oauth_token_drop(&shared->login.oauth);
    if (is_refused && shared->has_old_token) {
        close_channel(shared);
        go_on(shared); /* with a new token */
        if (shared->events.intake)
            cw_shared_conn_open(shared); /* events need it although no call waits */
        return;
    }
    if (!was_ready) {
        cw_shared_conn_give_up(shared, is_refused ? CW_CLIENT_REFUSED : CW_CLIENT_CONNECT, problem);
        return;
    }
    memcpy(shared->problem, problem, sizeof problem);
    close_channel(shared);
    fail_pending(shared,
                 code == CW_LIMIT     ? CW_CLIENT_TOO_LARGE
                 : code == CW_INVALID ? CW_CLIENT_GARBAGE
                                      : CW_CLIENT_LOST,
                 problem);
    cw_shared_conn_events_ended(shared, /* was_ready= */ true, /* is_refused= */ false);
    go_on(shared);
}

/* ---- sending ---- */

/* End a call that was cancelled before it was sent. False: it was not cancelled. */
static bool is_unwanted(cw_shared_conn_call *call)
{
    if (!atomic_load(&call->is_cancelled))
        return false;
    finish(call, CW_CLIENT_LOST, NULL, "it was cancelled");
    return true;
}

/* A request to an MCP server gets the form of its era when it is sent. */
static cw_code send_call(cw_shared_conn *shared, const cw_shared_conn_call *call)
{
    cw_str body = cw_str_make(call->body, call->n_body);
    if (!call->is_relay)
        return cw_channel_send(shared->channel, &body, 1);
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, 8 * shared->opts.answer_size);
    cw_shared_conn_mcp_set_level(shared, call->relay.log_level);
    cw_relay_write(&text, &call->relay, cw_shared_conn_era(shared), call->id);
    body = cw_buf_str(&text);
    return text.code ? text.code : cw_channel_send(shared->channel, &body, 1);
}

static void flush(cw_shared_conn *shared)
{
    while (shared->state == CW_SHARED_CONN_READY && !cw_list_is_empty(&shared->waiting)) {
        cw_shared_conn_call *call = call_of(cw_list_take_first(&shared->waiting));
        if (is_unwanted(call))
            continue;
        cw_code rc = send_call(shared, call);
        if (rc == CW_OK && call->is_notice)
            finish(call, CW_CLIENT_OK, NULL, "");
        else if (rc == CW_OK)
            remember(shared, call);
        else
            finish(call, rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, NULL,
                   "too much waits to be sent");
    }
}

/* ---- the login ---- */

static cw_shared_conn *of_login(cw_upstream_login *login)
{
    return CW_CONTAINER(login, cw_shared_conn, login);
}

static void on_token(cw_upstream_login *login)
{
    open_channel(of_login(login));
}

static uint64_t next_login_id(cw_upstream_login *login)
{
    return cw_shared_conn_next_id(of_login(login));
}

static cw_code send_init_call(cw_upstream_login *login, cw_err *err)
{
    cw_code rc = cw_channel_send(of_login(login)->channel, login->body, CW_REQUEST_TEMPLATE_PIECES);
    return rc ? cw_fail(err, rc, "cannot be sent") : CW_OK;
}

void cw_shared_conn_ready(cw_shared_conn *shared)
{
    shared->state = CW_SHARED_CONN_READY;
    shared->failures = 0;
    shared->problem[0] = 0;
    cw_shared_conn_events_ready(shared);
    flush(shared);
}

static void on_logged_in(cw_upstream_login *login)
{
    cw_shared_conn_ready(of_login(login));
}

static void on_login_failed(cw_upstream_login *login, cw_client_end end, const char *why)
{
    cw_shared_conn_give_up(of_login(login), end, why);
}

static const cw_upstream_login_ops login_ops = {
    .on_token = on_token,
    .next_id = next_login_id,
    .send = send_init_call,
    .on_done = on_logged_in,
    .on_failed = on_login_failed,
    .error_end = CW_CLIENT_CONNECT,
};

static void send_init_calls(cw_shared_conn *shared)
{
    shared->state = CW_SHARED_CONN_INIT_CALLS;
    cw_upstream_login_continue(&shared->login);
}

static void on_init_response(cw_shared_conn *shared, cw_parsed_message *message)
{
    cw_client_response answer = {.type = CW_STR("application/json"),
                                 .body = cw_str_make(message->text, message->n)};
    cw_upstream_reply reply = {
        .end = CW_CLIENT_OK, .answer = &answer, .why = "", .message = message};
    if (cw_upstream_login_accept(&shared->login, &reply))
        cw_upstream_login_continue(&shared->login);
}

/* ---- incoming messages ---- */

static void on_answer(cw_shared_conn *shared, uint64_t id, cw_parsed_message *message)
{
    if (shared->mcp.is_on && cw_shared_conn_mcp_accept(shared, id, message->root))
        return;
    if (shared->state == CW_SHARED_CONN_INIT_CALLS && id == shared->login.id) {
        on_init_response(shared, message);
        return;
    }
    cw_shared_conn_call *call = cw_shared_conn_find(shared, id);
    if (!call) { /* its time limit has passed, or it is no call */
        cw_shared_conn_resources_answer(shared, id, message->root);
        cw_shared_conn_events_answer(shared, id, message->root);
        return;
    }
    forget(shared, call);
    finish(call, CW_CLIENT_OK, cw_parsed_message_ref(message), "");
}

cw_shared_conn_call *cw_shared_conn_only_pending(const cw_shared_conn *shared)
{
    const cw_list *pending = &shared->pending;
    bool is_one = !cw_list_is_empty(pending) && pending->next == pending->prev;
    return is_one ? call_of(pending->next) : NULL;
}

/* An error without an id belongs to the handshake or login, or to the only call that waits. */
static void on_error_without_id(cw_shared_conn *shared, cw_parsed_message *message)
{
    cw_shared_conn_call *call = cw_shared_conn_only_pending(shared);
    if (shared->mcp.is_on && cw_shared_conn_mcp_accept(shared, shared->mcp.ask_id, message->root))
        return;
    if (shared->state == CW_SHARED_CONN_INIT_CALLS)
        on_init_response(shared, message);
    else if (call)
        on_answer(shared, call->id, message);
}

static void on_request(cw_shared_conn *shared, const cw_incoming *incoming)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, shared->opts.answer_size);
    cw_dialect_reply(&shared->service->protocol, incoming->request_id,
                     cw_endpoint_reply(shared->service, incoming->method, incoming->params), &text);
    cw_str all = cw_buf_str(&text);
    /* If it cannot be sent, the service gets no response. */
    if (!text.code)
        (void)!cw_channel_send(shared->channel, &all, 1);
}

/* A service that is no MCP server has tools only. */
static unsigned lists_of(cw_str method)
{
    if (cw_str_is(method, "notifications/prompts/list_changed"))
        return CW_CHANGED_PROMPTS;
    if (cw_str_is(method, "notifications/resources/list_changed"))
        return CW_CHANGED_RESOURCES;
    return CW_CHANGED_TOOLS;
}

unsigned cw_shared_conn_changed_lists(const cw_shared_conn *shared, cw_str method)
{
    const cw_config_strings *names = &shared->service->config.change_notifications;
    for (size_t i = 0; i < names->n; i++) {
        if (cw_str_eq(names->items[i], method))
            return lists_of(method);
    }
    return 0;
}

void cw_shared_conn_announce(cw_shared_conn *shared, unsigned lists)
{
    if (shared->opts.announced && !shared->is_closing)
        shared->opts.announced(shared->opts.ctx, lists);
}

cw_job_news *cw_shared_conn_news(const cw_shared_conn *shared)
{
    return shared->news;
}

static void on_notice(cw_shared_conn *shared, cw_str method, const cw_json *params)
{
    unsigned lists = cw_shared_conn_changed_lists(shared, method);
    if (shared->news)
        cw_job_news_add(shared->news, &shared->service->config.jobs, method, params);
    if (lists)
        cw_shared_conn_announce(shared, lists);
}

static void log_invalid(cw_shared_conn *shared, const char *why, cw_str message)
{
    if (shared->was_noted)
        return;
    shared->was_noted = true;
    char begin[CW_SHARED_CONN_WHY];
    hide(shared, cw_str_make(message.p, message.n < LOGGED_MAX ? message.n : LOGGED_MAX), begin);
    cw_log(CW_LOG_WARN, "source", "a message that makes no sense is ignored, as are others like it",
           CW_KV("source", shared->service->config.name), CW_KV("problem", cw_str_from(why)),
           CW_KV("text", cw_str_from(begin)));
}

static void on_parsed(cw_shared_conn *shared, cw_parsed_message *message)
{
    cw_incoming incoming = {0};
    cw_dialect_classify(&shared->service->protocol, message->root, &incoming);
    switch (incoming.kind) {
    case CW_INCOMING_RESPONSE:
        on_answer(shared, incoming.id, message);
        return;
    case CW_INCOMING_ERROR_WITHOUT_ID:
        on_error_without_id(shared, message);
        return;
    case CW_INCOMING_REQUEST:
        if (shared->mcp.is_on)
            cw_shared_conn_mcp_request(shared, &incoming, message);
        else
            on_request(shared, &incoming);
        return;
    case CW_INCOMING_NOTIFICATION:
        if (shared->mcp.is_on)
            cw_shared_conn_mcp_notice(shared, &incoming, message);
        on_notice(shared, incoming.method, incoming.params);
        cw_shared_conn_events_notice(shared, incoming.method, message->root);
        return;
    case CW_INCOMING_GREETING:
        if (shared->state == CW_SHARED_CONN_WAITING)
            send_init_calls(shared);
        return;
    case CW_INCOMING_INVALID:
        log_invalid(shared, incoming.why ? incoming.why : "",
                    cw_str_make(message->text, message->n));
        return;
    }
}

/* A message was lost for want of memory. If only one call waits, it is taken for the response; it may have
 * been an event all the same. */
static void on_message_lost(cw_shared_conn *shared)
{
    cw_shared_conn_call *call = cw_shared_conn_only_pending(shared);
    cw_shared_conn_events_lost(shared);
    if (!call)
        return;
    forget(shared, call);
    finish(call, CW_CLIENT_NOMEM, NULL, "not enough memory for the answer");
}

static void on_message(cw_channel *ch, cw_str bytes, void *ctx)
{
    (void)ch;
    cw_shared_conn *shared = ctx;
    cw_err err = {0};
    shared->received_at = cw_loop_now(shared->opts.loop);
    cw_parsed_message *message = cw_parsed_message_new(bytes);
    if (message)
        cw_oauth_token_redact(&shared->login.oauth, message->text, message->n);
    cw_code rc = message
                     ? cw_parsed_message_parse(message, shared->opts.answer_size * 16 + 65536, &err)
                     : cw_fail_nomem(&err);
    if (rc)
        log_invalid(shared, err.msg, bytes);
    else
        on_parsed(shared, message);
    if (rc == CW_NOMEM)
        on_message_lost(shared);
    cw_parsed_message_unref(message);
}

/* ---- opening ---- */

static void on_open(cw_channel *ch, void *ctx)
{
    (void)ch;
    cw_shared_conn *shared = ctx;
    count_connection(shared, true);
    shared->received_at = cw_loop_now(shared->opts.loop); /* silence is counted from now on */
    if (shared->mcp.is_on) {
        cw_shared_conn_mcp_begin(shared);
        return;
    }
    if (!cw_str_is(shared->service->config.greeting, "yes")) {
        send_init_calls(shared);
        return;
    }
    shared->state = CW_SHARED_CONN_WAITING;
    cw_upstream_login_wait(&shared->login);
}

/* Whether a response is expected. Silence beyond the limits of all calls ends it (on_limit). */
static bool is_awaited(void *ctx)
{
    const cw_shared_conn *shared = ctx;
    return !cw_list_is_empty(&shared->pending);
}

static void open_channel(cw_shared_conn *shared)
{
    static const cw_channel_ops ops = {on_open, on_message, on_end, on_channel_closed, is_awaited};
    cw_channel_opts opts = shared->service->channel;
    cw_http_header headers[CW_ENDPOINT_HEADERS + 1];
    cw_err err = {0};
    if (shared->login.oauth.token) {
        memcpy(headers, opts.headers, opts.n_headers * sizeof *headers);
        headers[opts.n_headers++] =
            (cw_http_header){CW_STR("Authorization"), cw_str_from(shared->login.oauth.token)};
        opts.headers = headers;
    }
    opts.spawner = shared->opts.spawner;
    opts.max_message = shared->opts.answer_size;
    opts.max_queue = 4 * shared->opts.answer_size;
    opts.ops = &ops;
    opts.ctx = shared;
    cw_shared_conn_ref(shared); /* until on_channel_closed */
    if (cw_channel_open(shared->opts.loop, &opts, &shared->channel, &err) == CW_OK)
        return;
    shared->channel = NULL;
    cw_shared_conn_give_up(shared, CW_CLIENT_CONNECT, err.msg);
    cw_shared_conn_unref(shared);
}

static void begin(cw_shared_conn *shared)
{
    const cw_oauth_token *oauth = &shared->login.oauth;
    shared->state = CW_SHARED_CONN_OPENING;
    shared->has_old_token = oauth->token && !cw_oauth_token_is_needed(oauth);
    cw_upstream_login_start(&shared->login);
}

void cw_shared_conn_open(cw_shared_conn *shared)
{
    if (shared->state == CW_SHARED_CONN_CLOSED &&
        cw_loop_now(shared->opts.loop) >= shared->retry_at)
        begin(shared);
}

/* Send the waiting calls, or open the connection for them. During a pause they fail. */
static void go_on(cw_shared_conn *shared)
{
    if (cw_list_is_empty(&shared->waiting))
        return;
    if (shared->state == CW_SHARED_CONN_READY)
        flush(shared);
    else if (shared->state == CW_SHARED_CONN_CLOSED &&
             cw_loop_now(shared->opts.loop) >= shared->retry_at)
        begin(shared);
    else if (shared->state == CW_SHARED_CONN_CLOSED)
        fail_waiting(shared, CW_CLIENT_CONNECT, shared->problem);
}

static void enqueue(cw_shared_conn *shared, cw_shared_conn_call *call)
{
    if (shared->is_closing) {
        finish(call, CW_CLIENT_CONNECT, NULL, "the source was taken away");
        return;
    }
    if (is_unwanted(call))
        return;
    cw_list_add(&shared->waiting, &call->node);
    call->until = cw_loop_now(shared->opts.loop) + call->limit_ms;
    cw_loop_set_deadline(shared->opts.loop, &call->deadline, &shared->limit);
    go_on(shared);
}

/* Whether the silence exceeds `limit_ms` and the limits of all calls that wait for a response. */
static bool is_dead(const cw_shared_conn *shared, uint32_t limit_ms)
{
    uint64_t silent = cw_loop_now(shared->opts.loop) - shared->received_at;
    if (silent < limit_ms)
        return false;
    CW_LIST_EACH (node, &shared->pending) {
        if (silent < call_of(node)->limit_ms)
            return false;
    }
    return true;
}

/* The time limit of the service has passed for a call. The limit of the call may be longer. */
static void on_limit(cw_deadline *d)
{
    cw_shared_conn_call *call = CW_CONTAINER(d, cw_shared_conn_call, deadline);
    cw_shared_conn *shared = call->shared;
    uint32_t limit_ms = call->limit_ms;
    if (cw_loop_now(shared->opts.loop) < call->until && !atomic_load(&call->is_cancelled)) {
        cw_loop_set_deadline(shared->opts.loop, &call->deadline, &shared->limit);
        return;
    }
    bool was_sent = cw_shared_conn_find(shared, call->id) == call;
    if (was_sent)
        forget(shared, call);
    else
        cw_list_remove(&call->node);
    finish(call, CW_CLIENT_SLOW, NULL, "no answer in time");
    if (was_sent && is_dead(shared, limit_ms))
        disconnect_silent(shared);
}

/* ---- the transport of one loop ---- */

typedef struct conn_upstream {
    cw_upstream base;
    cw_shared_conn *shared; /* a reference */
} conn_upstream;

static conn_upstream *of_upstream(cw_upstream *upstream)
{
    return CW_CONTAINER(upstream, conn_upstream, base);
}

static uint64_t next_id(cw_upstream *upstream, bool reads)
{
    (void)reads;
    return cw_shared_conn_next_id(of_upstream(upstream)->shared);
}

/* On the main loop. */
static void on_call(cw_message *message)
{
    cw_shared_conn_call *call = CW_CONTAINER(message, cw_shared_conn_call, message);
    enqueue(call->shared, call);
}

static cw_shared_conn_call *make_call(cw_shared_conn *shared, cw_loop *loop, cw_upstream_req *req)
{
    size_t n = req->relay ? cw_relay_size(req->relay) : 0;
    for (size_t i = 0; i < req->n_body; i++)
        n += req->body[i].n;
    cw_shared_conn_call *call = malloc(sizeof *call + n);
    if (!call)
        return NULL;
    uint32_t usual = shared->service->config.timeout_ms;
    *call = (cw_shared_conn_call){
        .body = (char *)(call + 1),
        .shared = cw_shared_conn_ref(shared),
        .loop = loop,
        .req = req,
        .id = req->id,
        .is_notice = req->is_notice,
        .limit_ms = req->limit_ms > usual ? req->limit_ms : usual,
    };
    if (req->relay) /* progress and questions prolong it: its caller cancels it in time */
        call->limit_ms = RELAY_LIMIT_MS;
    atomic_init(&call->is_cancelled, false);
    call->is_relay = req->relay;
    if (req->relay)
        call->relay = cw_relay_copy(req->relay, call->body);
    for (size_t i = 0; i < req->n_body; i++) {
        if (req->body[i].n)
            memcpy(call->body + call->n_body, req->body[i].p, req->body[i].n);
        call->n_body += req->body[i].n;
    }
    return call;
}

static cw_code send_request(cw_upstream *upstream, cw_upstream_req *req, cw_err *err)
{
    cw_shared_conn *shared = of_upstream(upstream)->shared;
    cw_shared_conn_call *call = make_call(shared, upstream->loop, req);
    if (!call)
        return cw_fail_nomem(err);
    if (!list(shared, call)) {
        free(call);
        cw_shared_conn_unref(shared);
        return cw_fail(err, CW_LIMIT, "too many calls are under way");
    }
    req->conn_call = call;
    call->message.fn = on_call;
    cw_loop_post(shared->opts.loop, &call->message);
    return CW_OK;
}

/* A message for an MCP server, or the cancel of a request (`id`), on its way to the main loop. */
typedef struct conn_post {
    cw_message message;
    cw_shared_conn *shared; /* a reference */
    uint64_t id;
    size_t n;
    char text[];
} conn_post;

static void free_post(cw_message *message)
{
    conn_post *p = CW_CONTAINER(message, conn_post, message);
    cw_shared_conn_unref(p->shared);
    free(p);
}

static void take_back(cw_shared_conn *shared, uint64_t id)
{
    cw_shared_conn_call *call = cw_shared_conn_find(shared, id);
    if (!call)
        return;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_SHARED_CONN_WHY * 2);
    cw_relay_write_cancelled(&text, id);
    cw_str all = cw_buf_str(&text);
    if (!text.code)
        (void)!cw_channel_send(shared->channel, &all, 1);
    forget(shared, call);
    finish(call, CW_CLIENT_LOST, NULL, "it was cancelled");
    uint64_t silent = cw_loop_now(shared->opts.loop) - shared->received_at;
    if (cw_list_is_empty(&shared->pending) && silent >= shared->service->config.timeout_ms)
        disconnect_silent(shared);
}

static void on_post(cw_message *message)
{
    conn_post *p = CW_CONTAINER(message, conn_post, message);
    cw_shared_conn *shared = p->shared;
    cw_str text = cw_str_make(p->text, p->n);
    if (shared->state == CW_SHARED_CONN_READY && p->id)
        take_back(shared, p->id);
    else if (shared->state == CW_SHARED_CONN_READY)
        (void)!cw_channel_send(shared->channel, &text, 1);
    free_post(message);
}

static void post_to_server(cw_shared_conn *shared, uint64_t id, cw_str text)
{
    conn_post *p = malloc(sizeof *p + text.n);
    if (!p)
        return;
    *p = (conn_post){.message = {.fn = on_post, .drop = free_post},
                     .shared = cw_shared_conn_ref(shared),
                     .id = id,
                     .n = text.n};
    if (text.n)
        memcpy(p->text, text.p, text.n);
    cw_loop_post(shared->opts.loop, &p->message);
}

static void cancel_request(cw_upstream *upstream, cw_upstream_req *req)
{
    cw_shared_conn_call *call = req->conn_call;
    req->conn_call = NULL;
    if (!call)
        return;
    call->req = NULL;
    atomic_store(&call->is_cancelled, true);
    if (call->is_relay)
        post_to_server(of_upstream(upstream)->shared, call->id, CW_STR(""));
}

static void post_message(cw_upstream *upstream, cw_upstream_req *req, cw_str message)
{
    if (req->conn_call)
        post_to_server(of_upstream(upstream)->shared, 0, message);
}

static void forget_request(cw_upstream_req *req)
{
    (void)req; /* all memory belongs to the call */
}

static void close_upstream(cw_upstream *upstream, void (*on_closed)(void *ctx), void *ctx)
{
    conn_upstream *u = of_upstream(upstream);
    cw_shared_conn_unref(u->shared);
    cw_endpoint_unref(upstream->service);
    free(u);
    if (on_closed)
        on_closed(ctx);
}

cw_code cw_upstream_open_shared(cw_shared_conn *shared, const cw_upstream *base, cw_upstream **ret,
                                cw_err *err)
{
    static const cw_upstream_ops ops = {next_id,        send_request,   cancel_request,
                                        forget_request, close_upstream, post_message};
    conn_upstream *u = malloc(sizeof *u);
    if (!u)
        return cw_fail_nomem(err);
    *u = (conn_upstream){.base = *base, .shared = cw_shared_conn_ref(shared)};
    u->base.ops = &ops;
    *ret = &u->base;
    return CW_OK;
}

/* ---- lifetime ---- */

static void on_unused(cw_message *message);
static void on_unused_dropped(cw_message *message);

cw_code cw_shared_conn_new(cw_endpoint *s, const cw_shared_conn_opts *opts, cw_shared_conn **ret,
                           cw_err *err)
{
    cw_shared_conn *shared = calloc(1, sizeof *shared);
    cw_job_news *news = shared && s->config.jobs.n ? cw_job_news_new() : NULL;
    if (!shared || (s->config.jobs.n && !news)) {
        free(shared);
        return cw_fail_nomem(err);
    }
    shared->news = news;
    atomic_init(&shared->refs, 1);
    atomic_init(&shared->users, 0);
    atomic_init(&shared->is_retired, false);
    atomic_init(&shared->last_id, 0);
    pthread_mutex_init(&shared->lock, NULL);
    shared->service = cw_endpoint_ref(s);
    shared->opts = *opts;
    cw_list_init(&shared->all);
    cw_list_init(&shared->waiting);
    cw_list_init(&shared->pending);
    cw_upstream_login_init(&shared->login, s, opts->loop, &login_ops);
    cw_deadline_list_init(&shared->limit, s->config.timeout_ms, on_limit);
    cw_loop_watch(opts->loop, &shared->limit);
    cw_relay_sessions_init(&shared->sessions, s->words.sessions, s->words.pinned);
    cw_shared_conn_mcp_init(shared);
    cw_shared_conn_streams_init(shared);
    cw_shared_conn_resources_init(shared);
    cw_shared_conn_events_init(shared);
    shared->unused = (cw_message){.fn = on_unused, .drop = on_unused_dropped};
    *ret = shared;
    return CW_OK;
}

cw_shared_conn *cw_shared_conn_ref(cw_shared_conn *shared)
{
    atomic_fetch_add(&shared->refs, 1);
    return shared;
}

void cw_shared_conn_unref(cw_shared_conn *shared)
{
    if (!shared || atomic_fetch_sub(&shared->refs, 1) != 1)
        return;
    cw_relay_sessions_done(&shared->sessions);
    cw_job_news_unref(shared->news); /* NOLINT: a message holds a reference of its own */
    cw_endpoint_unref(shared->service);
    cw_upstream_login_free(&shared->login);
    pthread_mutex_destroy(&shared->lock);
    free(shared);
}

void cw_shared_conn_acquire(cw_shared_conn *shared)
{
    atomic_fetch_add(&shared->users, 1);
}

void cw_shared_conn_release(cw_shared_conn *shared)
{
    if (atomic_fetch_sub(&shared->users, 1) == 1 && atomic_exchange(&shared->is_retired, false))
        cw_loop_post(shared->opts.loop, &cw_shared_conn_ref(shared)->unused);
}

bool cw_shared_conn_is_compatible(const cw_shared_conn *shared, const cw_endpoint *s,
                                  size_t answer_size)
{
    return shared->opts.answer_size == answer_size &&
           cw_endpoint_is_same_protocol(shared->service, s);
}

cw_str cw_shared_conn_problem(const cw_shared_conn *shared)
{
    return cw_str_from(shared->problem);
}

/* Free all calls. The loops have ended, so their messages are not delivered. */
static void drop_all(cw_shared_conn *shared)
{
    while (!cw_list_is_empty(&shared->all)) {
        cw_shared_conn_call *call = CW_CONTAINER(shared->all.next, cw_shared_conn_call, all_node);
        cw_deadline_clear(&call->deadline);
        if (call->req) /* its upstream is not closed yet */
            call->req->conn_call = NULL;
        drop_call(call);
        atomic_fetch_sub(&shared->refs, 1); /* not the last: the caller of close has one */
    }
    cw_list_init(&shared->waiting);
    cw_list_init(&shared->pending);
    memset(shared->buckets, 0, sizeof shared->buckets);
}

void cw_shared_conn_close(cw_shared_conn *shared, bool loops_ended)
{
    if (!shared)
        return;
    shared->is_closing = true;
    atomic_store(&shared->is_retired, false);
    cw_loop_remove_hook(&shared->hook);
    if (loops_ended)
        drop_all(shared);
    disconnect(shared, CW_CLIENT_LOST, "the source was taken away");
    cw_upstream_login_done(&shared->login);
    cw_loop_unwatch(shared->opts.loop, &shared->limit);
    cw_shared_conn_mcp_done(shared);
    cw_shared_conn_streams_close(shared, loops_ended);
    cw_shared_conn_resources_done(shared);
    cw_shared_conn_events_done(shared);
    cw_shared_conn_unref(shared);
}

/* On the main loop: the last user of a retired connection has left. */
static void on_unused(cw_message *message)
{
    cw_shared_conn *shared = CW_CONTAINER(message, cw_shared_conn, unused);
    if (!shared->is_closing)
        cw_shared_conn_close(shared, /* loops_ended= */ false);
    cw_shared_conn_unref(shared);
}

static void on_unused_dropped(cw_message *message)
{
    cw_shared_conn_unref(CW_CONTAINER(message, cw_shared_conn, unused));
}

static void on_loop_end(cw_loop_hook *hook)
{
    cw_shared_conn_close(CW_CONTAINER(hook, cw_shared_conn, hook), /* loops_ended= */ true);
}

void cw_shared_conn_retire(cw_shared_conn *shared)
{
    if (!shared)
        return;
    shared->opts.announced = NULL;
    shared->opts.updated = NULL;
    cw_shared_conn_set_events(shared, NULL);
    shared->hook.on_end = on_loop_end;
    cw_loop_add_hook(shared->opts.loop, &shared->hook);
    atomic_store(&shared->is_retired, true);
    /* The last user may have left before this: then its release has posted nothing. */
    if (!atomic_load(&shared->users) && atomic_exchange(&shared->is_retired, false))
        cw_shared_conn_close(shared, /* loops_ended= */ false);
}
