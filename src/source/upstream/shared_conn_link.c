/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_conn_link.c - the connection of a hub: opening it, what is said first, answers to whom
 * they are for.
 *
 *     CLOSED ─► OPENING ─► GREETING ─► PRELUDE ─► READY
 *        ▲         │           │          │         │
 *        └─────────┴───────────┴──────────┴─────────┘ the channel ended
 */
#include <stdio.h>

#include "base/log.h"
#include "source/upstream/shared_conn_int.h"

#define PAUSE_MIN_MS 250u
#define PAUSE_MAX_MS 15000u
#define NOTED_MAX 65536u /* of a message that makes no sense */

static void go_on(cw_shared_conn *shared);

/* ---- rings ---- */

static void put(cw_shared_conn_call *ring, cw_shared_conn_call *call)
{
    call->next = ring;
    call->prev = ring->prev;
    call->prev->next = call;
    ring->prev = call;
}

static void take_out(cw_shared_conn_call *call)
{
    call->prev->next = call->next;
    call->next->prev = call->prev;
}

static void remember(cw_shared_conn *shared, cw_shared_conn_call *call)
{
    cw_shared_conn_call **bucket = &shared->buckets[call->id % CW_SHARED_CONN_BUCKETS];
    call->same = *bucket;
    *bucket = call;
    put(&shared->pending, call);
}

static void forget(cw_shared_conn *shared, cw_shared_conn_call *call)
{
    cw_shared_conn_call **at = &shared->buckets[call->id % CW_SHARED_CONN_BUCKETS];
    while (*at && *at != call)
        at = &(*at)->same;
    if (*at)
        *at = call->same;
    take_out(call);
}

static cw_shared_conn_call *find(cw_shared_conn *shared, uint64_t id)
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

static void fail_ring(cw_shared_conn *shared, cw_shared_conn_call *ring, cw_client_end end,
                      const char *why)
{
    while (ring->next != ring) {
        cw_shared_conn_call *call = ring->next;
        if (ring == &shared->pending)
            forget(shared, call);
        else
            take_out(call);
        cw_shared_conn_finish(call, end, NULL, why);
    }
}

static void close_channel(cw_shared_conn *shared)
{
    shared->state = CW_SHARED_CONN_CLOSED;
    shared->n_init_calls = 0;
    shared->was_noted = false;
    cw_oauth_token_cancel(&shared->oauth);
    cw_deadline_clear(&shared->prelude_deadline);
    if (shared->channel)
        cw_channel_close(shared->channel);
    shared->channel = NULL;
}

void cw_shared_conn_disconnect(cw_shared_conn *shared, cw_client_end end, const char *why)
{
    close_channel(shared);
    fail_ring(shared, &shared->pending, CW_CLIENT_LOST, why);
    fail_ring(shared, &shared->waiting, end, why);
}

static void pause_next(cw_shared_conn *shared)
{
    uint64_t ms = (uint64_t)PAUSE_MIN_MS << (shared->failures < 6 ? shared->failures : 6);
    shared->failures++;
    shared->retry_at = cw_loop_now(shared->opts.loop) + (ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS);
}

/* Somebody else's words without our secrets, which are looked for before anything is cut. */
static void hide(const cw_shared_conn *shared, cw_str words, char ret[CW_SHARED_CONN_WHY])
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, SIZE_MAX / 2);
    cw_secrets_write(&shared->service->secrets, words, &text);
    if (!text.code)
        cw_oauth_token_redact(&shared->oauth, text.p, text.n);
    snprintf(ret, CW_SHARED_CONN_WHY, "%.*s", text.code ? 0 : (int)text.n, text.n ? text.p : "");
}

/* It could not be opened, or what it said first was not what it should be. */
static void give_up(cw_shared_conn *shared, cw_client_end end, const char *why)
{
    char problem[CW_SHARED_CONN_WHY];
    hide(shared, cw_str_from(why), problem);
    memcpy(shared->problem, problem, sizeof problem);
    pause_next(shared);
    cw_shared_conn_disconnect(shared, end, problem);
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
        cw_oauth_token_drop(&shared->oauth);
    if (is_refused && shared->has_old_token) {
        close_channel(shared);
        go_on(shared); /* with another one */
        return;
    }
    if (!was_ready) {
        give_up(shared, is_refused ? CW_CLIENT_REFUSED : CW_CLIENT_CONNECT, problem);
        return;
    }
    memcpy(shared->problem, problem, sizeof problem);
    close_channel(shared);
    fail_ring(shared, &shared->pending,
              code == CW_LIMIT     ? CW_CLIENT_TOO_LARGE
              : code == CW_INVALID ? CW_CLIENT_GARBAGE
                                   : CW_CLIENT_LOST,
              problem);
    go_on(shared);
}

/* ---- what is said first ---- */

/* A call that was cancelled goes home without having been sent. */
static bool is_unwanted(cw_shared_conn_call *call)
{
    if (!atomic_load(&call->is_cancelled))
        return false;
    cw_shared_conn_finish(call, CW_CLIENT_LOST, NULL, "it was cancelled");
    return true;
}

static void flush(cw_shared_conn *shared)
{
    while (shared->state == CW_SHARED_CONN_READY && shared->waiting.next != &shared->waiting) {
        cw_shared_conn_call *call = shared->waiting.next;
        cw_str body = cw_str_make(call->body, call->n_body);
        take_out(call);
        if (is_unwanted(call))
            continue;
        cw_code rc = cw_channel_send(shared->channel, &body, 1);
        if (rc == CW_OK && call->is_notice)
            cw_shared_conn_finish(call, CW_CLIENT_OK, NULL, "");
        else if (rc == CW_OK)
            remember(shared, call);
        else
            cw_shared_conn_finish(call, rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, NULL,
                                  "too much waits to be sent");
    }
}

/* One of the prelude; CW_NOMEM, CW_LIMIT. */
static cw_code send_call(cw_shared_conn *shared, const cw_config_init_call *p)
{
    const cw_protocol_opts *protocol = &shared->service->protocol;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, shared->opts.answer_size);
    if (p->notify) {
        cw_request_template_write_notification(protocol, p->method, p->params, &text);
        cw_str all = cw_buf_str(&text);
        return text.code ? text.code : cw_channel_send(shared->channel, &all, 1);
    }
    cw_request_template wire;
    cw_str pieces[CW_REQUEST_TEMPLATE_PIECES];
    char room[CW_REQUEST_TEMPLATE_ROOM];
    cw_arena_reset(&shared->scratch);
    cw_code rc = cw_request_template_make(protocol, p->method, &shared->scratch, &wire, NULL);
    if (rc)
        return rc;
    shared->prelude_id = cw_shared_conn_number(shared);
    cw_request_template_write(protocol, &wire, shared->prelude_id, p->params, room, pieces);
    cw_loop_set_deadline(shared->opts.loop, &shared->prelude_deadline, &shared->first);
    return cw_channel_send(shared->channel, pieces, CW_REQUEST_TEMPLATE_PIECES);
}

static void send_init_calls(cw_shared_conn *shared)
{
    const cw_config_preludes *all = &shared->service->config.init_calls;
    shared->state = CW_SHARED_CONN_INIT_CALLS;
    while (shared->n_init_calls < all->n) {
        const cw_config_init_call *p = &all->items[shared->n_init_calls];
        if (send_call(shared, p)) {
            give_up(shared, CW_CLIENT_NOMEM, "not enough memory for the prelude");
            return;
        }
        if (!p->notify)
            return; /* go on with its answer */
        shared->n_init_calls++;
    }
    shared->state = CW_SHARED_CONN_READY;
    cw_deadline_clear(&shared->prelude_deadline); /* a greeting may be all there was */
    shared->failures = 0;
    shared->problem[0] = 0;
    flush(shared);
}

static void on_prelude_answer(cw_shared_conn *shared, uint64_t id, cw_parsed_message *message)
{
    cw_client_response answer = {.type = CW_STR("application/json"),
                                 .body = cw_str_make(message->text, message->n)};
    cw_upstream_reply reply = {CW_CLIENT_OK, &answer, "", .message = message};
    cw_outcome outcome;
    cw_deadline_clear(&shared->prelude_deadline);
    cw_dialect_parse_response(&shared->service->protocol, shared->service->config.name, id, &reply,
                              &shared->scratch, &outcome);
    if (outcome.kind == CW_OUTCOME_RESULT) {
        shared->n_init_calls++;
        send_init_calls(shared);
        return;
    }
    char why[CW_SHARED_CONN_WHY];
    snprintf(why, sizeof why, "prelude '%s': %.*s",
             shared->service->config.init_calls.items[shared->n_init_calls].method.p,
             CW_STR_ARG(outcome.message));
    give_up(shared, CW_CLIENT_CONNECT, why);
}

/* ---- what comes in ---- */

static void on_answer(cw_shared_conn *shared, uint64_t id, cw_parsed_message *message)
{
    if (shared->state == CW_SHARED_CONN_INIT_CALLS && id == shared->prelude_id) {
        on_prelude_answer(shared, id, message);
        return;
    }
    cw_shared_conn_call *call = find(shared, id);
    if (!call)
        return; /* its time was up */
    forget(shared, call);
    cw_shared_conn_finish(call, CW_CLIENT_OK, cw_parsed_message_ref(message), "");
}

/* The only call that waits for an answer; NULL: there is none, or there are several. */
static cw_shared_conn_call *only_pending(const cw_shared_conn *shared)
{
    cw_shared_conn_call *call = shared->pending.next;
    return call != &shared->pending && call == shared->pending.prev ? call : NULL;
}

/* An error that names no call: clear only where one call waits. */
static void on_error_without_id(cw_shared_conn *shared, cw_parsed_message *message)
{
    cw_shared_conn_call *call = only_pending(shared);
    if (shared->state == CW_SHARED_CONN_INIT_CALLS)
        on_prelude_answer(shared, shared->prelude_id, message);
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
    /* Where it cannot be sent the service finds out for itself that nobody answers. */
    if (!text.code)
        (void)!cw_channel_send(shared->channel, &all, 1);
}

static void on_notice(cw_shared_conn *shared, cw_str method)
{
    const cw_config_strings *names = &shared->service->config.announcements;
    for (size_t i = 0; i < names->n; i++) {
        if (cw_str_eq(names->items[i], method) && shared->opts.announced && !shared->is_closing) {
            shared->opts.announced(shared->opts.ctx);
            return;
        }
    }
}

static void log_invalid(cw_shared_conn *shared, const char *why, cw_str message)
{
    if (shared->was_noted)
        return;
    shared->was_noted = true;
    char begin[CW_SHARED_CONN_WHY];
    hide(shared, cw_str_make(message.p, message.n < NOTED_MAX ? message.n : NOTED_MAX), begin);
    cw_log(CW_LOG_WARN, "source", "a message that makes no sense is ignored, as are others like it",
           CW_KV("source", shared->service->config.name), CW_KV("problem", cw_str_from(why)),
           CW_KV("message", cw_str_from(begin)));
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
        on_request(shared, &incoming);
        return;
    case CW_INCOMING_NOTIFICATION:
        on_notice(shared, incoming.method);
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

/* There is no memory for a message. Only where one call waits is it clear whose answer it was. */
static void on_message_lost(cw_shared_conn *shared)
{
    cw_shared_conn_call *call = only_pending(shared);
    if (!call)
        return;
    forget(shared, call);
    cw_shared_conn_finish(call, CW_CLIENT_NOMEM, NULL, "not enough memory for the answer");
}

static void on_message(cw_channel *ch, cw_str bytes, void *ctx)
{
    (void)ch;
    cw_shared_conn *shared = ctx;
    cw_err err = {0};
    shared->received_at = cw_loop_now(shared->opts.loop);
    cw_parsed_message *message = cw_parsed_message_new(bytes);
    if (message)
        cw_oauth_token_redact(&shared->oauth, message->text, message->n);
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
    shared->received_at = cw_loop_now(shared->opts.loop); /* a new one is not silent for long yet */
    if (!cw_str_is(shared->service->config.greeting, "yes")) {
        send_init_calls(shared);
        return;
    }
    shared->state = CW_SHARED_CONN_WAITING;
    cw_loop_set_deadline(shared->opts.loop, &shared->prelude_deadline, &shared->first);
}

/* Calls have their own limits, and silence beyond them ends it (cw_shared_conn_on_limit). */
static bool is_awaited(void *ctx)
{
    const cw_shared_conn *shared = ctx;
    return shared->pending.next != &shared->pending;
}

static void open_channel(cw_shared_conn *shared)
{
    static const cw_channel_ops ops = {on_open, on_message, on_end, on_channel_closed, is_awaited};
    cw_channel_opts opts = shared->service->channel;
    cw_http_header headers[CW_ENDPOINT_HEADERS + 1];
    cw_err err = {0};
    if (shared->oauth.token) {
        memcpy(headers, opts.headers, opts.n_headers * sizeof *headers);
        headers[opts.n_headers++] =
            (cw_http_header){CW_STR("Authorization"), cw_str_from(shared->oauth.token)};
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
    give_up(shared, CW_CLIENT_CONNECT, err.msg);
    cw_shared_conn_unref(shared);
}

void cw_shared_conn_on_token(cw_oauth_token *b, const char *why)
{
    cw_shared_conn *shared = CW_CONTAINER(b, cw_shared_conn, oauth);
    char text[CW_SHARED_CONN_WHY];
    if (!why) {
        open_channel(shared);
        return;
    }
    snprintf(text, sizeof text, "token: %s", why);
    give_up(shared, b->is_refused ? CW_CLIENT_REFUSED : CW_CLIENT_CONNECT, text);
}

static void begin(cw_shared_conn *shared)
{
    shared->state = CW_SHARED_CONN_OPENING;
    shared->has_old_token = shared->oauth.token && !cw_oauth_token_is_needed(&shared->oauth);
    if (cw_oauth_token_is_needed(&shared->oauth))
        cw_oauth_token_request(&shared->oauth);
    else
        open_channel(shared);
}

/* See to those who wait. */
static void go_on(cw_shared_conn *shared)
{
    if (shared->waiting.next == &shared->waiting)
        return;
    if (shared->state == CW_SHARED_CONN_READY)
        flush(shared);
    else if (shared->state == CW_SHARED_CONN_CLOSED &&
             cw_loop_now(shared->opts.loop) >= shared->retry_at)
        begin(shared);
    else if (shared->state == CW_SHARED_CONN_CLOSED)
        fail_ring(shared, &shared->waiting, CW_CLIENT_CONNECT, shared->problem);
}

void cw_shared_conn_enqueue(cw_shared_conn *shared, cw_shared_conn_call *call)
{
    if (shared->is_closing) {
        cw_shared_conn_finish(call, CW_CLIENT_CONNECT, NULL, "the source was taken away");
        return;
    }
    if (is_unwanted(call))
        return;
    put(&shared->waiting, call);
    call->until = cw_loop_now(shared->opts.loop) + call->limit_ms;
    cw_loop_set_deadline(shared->opts.loop, &call->deadline, &shared->limit);
    go_on(shared);
}

/* Nothing came for so long that even the most patient of those who wait would have given up. */
static bool is_dead(const cw_shared_conn *shared, uint32_t limit_ms)
{
    uint64_t silent = cw_loop_now(shared->opts.loop) - shared->received_at;
    if (silent < limit_ms)
        return false;
    for (const cw_shared_conn_call *call = shared->pending.next; call != &shared->pending;
         call = call->next) {
        if (silent < call->limit_ms)
            return false;
    }
    return true;
}

/* The time of the service is up for a call; its own may be longer. */
void cw_shared_conn_on_limit(cw_deadline *d)
{
    cw_shared_conn_call *call = CW_CONTAINER(d, cw_shared_conn_call, deadline);
    cw_shared_conn *shared = call->shared;
    uint32_t limit_ms = call->limit_ms;
    if (cw_loop_now(shared->opts.loop) < call->until && !atomic_load(&call->is_cancelled)) {
        cw_loop_set_deadline(shared->opts.loop, &call->deadline, &shared->limit);
        return;
    }
    bool was_sent = find(shared, call->id) == call;
    if (was_sent)
        forget(shared, call);
    else
        take_out(call);
    cw_shared_conn_finish(call, CW_CLIENT_SLOW, NULL, "no answer in time");
    if (was_sent && is_dead(shared, limit_ms))
        cw_shared_conn_disconnect(shared, CW_CLIENT_LOST, "nothing came for too long");
}

void cw_shared_conn_on_idle(cw_deadline *d)
{
    give_up(CW_CONTAINER(d, cw_shared_conn, prelude_deadline), CW_CLIENT_CONNECT,
            "it did not say in time what it should say first");
}
