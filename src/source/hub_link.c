/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hub_link.c - the connection of a hub: opening it, what is said first, answers to whom they are
 * for.
 *
 *     CLOSED ─► OPENING ─► GREETING ─► PRELUDE ─► READY
 *        ▲         │           │          │         │
 *        └─────────┴───────────┴──────────┴─────────┘ the channel ended
 */
#include <stdio.h>

#include "base/log.h"
#include "source/hub_int.h"

#define PAUSE_MIN_MS 250u
#define PAUSE_MAX_MS 15000u
#define NOTED_MAX 65536u /* of a message that makes no sense */

static void go_on(cw_hub *hub);

/* ---- rings ---- */

static void put(cw_hub_call *ring, cw_hub_call *call)
{
    call->next = ring;
    call->prev = ring->prev;
    call->prev->next = call;
    ring->prev = call;
}

static void take_out(cw_hub_call *call)
{
    call->prev->next = call->next;
    call->next->prev = call->prev;
}

static void remember(cw_hub *hub, cw_hub_call *call)
{
    cw_hub_call **bucket = &hub->buckets[call->id % CW_HUB_BUCKETS];
    call->same = *bucket;
    *bucket = call;
    put(&hub->pending, call);
}

static void forget(cw_hub *hub, cw_hub_call *call)
{
    cw_hub_call **at = &hub->buckets[call->id % CW_HUB_BUCKETS];
    while (*at && *at != call)
        at = &(*at)->same;
    if (*at)
        *at = call->same;
    take_out(call);
}

static cw_hub_call *find(cw_hub *hub, uint64_t id)
{
    cw_hub_call *call = hub->buckets[id % CW_HUB_BUCKETS];
    while (call && call->id != id)
        call = call->same;
    return call;
}

/* ---- the end of a connection ---- */

static void on_channel_closed(void *ctx)
{
    cw_hub_unref(ctx);
}

static void fail_ring(cw_hub *hub, cw_hub_call *ring, cw_client_end end, const char *why)
{
    while (ring->next != ring) {
        cw_hub_call *call = ring->next;
        if (ring == &hub->pending)
            forget(hub, call);
        else
            take_out(call);
        cw_hub_finish(call, end, CW_STR(""), why);
    }
}

static void close_channel(cw_hub *hub)
{
    hub->state = CW_HUB_CLOSED;
    hub->n_prelude = 0;
    hub->was_noted = false;
    cw_bearer_cancel(&hub->bearer);
    cw_deadline_clear(&hub->prelude_deadline);
    if (hub->channel)
        cw_channel_close(hub->channel);
    hub->channel = NULL;
}

void cw_hub_hang_up(cw_hub *hub, cw_client_end end, const char *why)
{
    close_channel(hub);
    fail_ring(hub, &hub->pending, CW_CLIENT_LOST, why);
    fail_ring(hub, &hub->waiting, end, why);
}

static void pause_next(cw_hub *hub)
{
    uint64_t ms = (uint64_t)PAUSE_MIN_MS << (hub->failures < 6 ? hub->failures : 6);
    hub->failures++;
    hub->retry_at = cw_loop_now(hub->opts.loop) + (ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS);
}

/* Somebody else's words without our secrets, which are looked for before anything is cut. */
static void hide(const cw_hub *hub, cw_str words, char ret[CW_HUB_WHY])
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, SIZE_MAX / 2);
    cw_secrets_write(&hub->service->secrets, words, &text);
    if (!text.code)
        cw_bearer_mask(&hub->bearer, text.p, text.n);
    snprintf(ret, CW_HUB_WHY, "%.*s", text.code ? 0 : (int)text.n, text.n ? text.p : "");
}

/* It could not be opened, or what it said first was not what it should be. */
static void give_up(cw_hub *hub, cw_client_end end, const char *why)
{
    char problem[CW_HUB_WHY];
    hide(hub, cw_str_from(why), problem);
    memcpy(hub->problem, problem, sizeof problem);
    pause_next(hub);
    cw_hub_hang_up(hub, end, problem);
}

static void on_end(cw_channel *ch, cw_code code, const char *why, void *ctx)
{
    (void)ch;
    cw_hub *hub = ctx;
    bool was_ready = hub->state == CW_HUB_READY;
    bool is_refused = hub->state == CW_HUB_OPENING && code == CW_DECLINED;
    char problem[CW_HUB_WHY];
    hide(hub, cw_str_from(why), problem);
    cw_log(CW_LOG_INFO, "source", "connection ended", CW_KV("source", hub->service->config.name),
           CW_KV("problem", cw_str_from(problem)));
    if (is_refused)
        cw_bearer_drop(&hub->bearer);
    if (is_refused && hub->has_old_token) {
        close_channel(hub);
        go_on(hub); /* with another one */
        return;
    }
    if (!was_ready) {
        give_up(hub, is_refused ? CW_CLIENT_REFUSED : CW_CLIENT_CONNECT, problem);
        return;
    }
    memcpy(hub->problem, problem, sizeof problem);
    close_channel(hub);
    fail_ring(hub, &hub->pending,
              code == CW_LIMIT     ? CW_CLIENT_TOO_LARGE
              : code == CW_INVALID ? CW_CLIENT_GARBAGE
                                   : CW_CLIENT_LOST,
              problem);
    go_on(hub);
}

/* ---- what is said first ---- */

/* A call that was cancelled goes home without having been sent. */
static bool is_unwanted(cw_hub_call *call)
{
    if (!atomic_load(&call->is_cancelled))
        return false;
    cw_hub_finish(call, CW_CLIENT_LOST, CW_STR(""), "it was cancelled");
    return true;
}

static void flush(cw_hub *hub)
{
    while (hub->state == CW_HUB_READY && hub->waiting.next != &hub->waiting) {
        cw_hub_call *call = hub->waiting.next;
        cw_str body = cw_str_make(call->body, call->n_body);
        take_out(call);
        if (is_unwanted(call))
            continue;
        cw_code rc = cw_channel_send(hub->channel, &body, 1);
        if (rc == CW_OK && call->is_notice)
            cw_hub_finish(call, CW_CLIENT_OK, CW_STR(""), "");
        else if (rc == CW_OK)
            remember(hub, call);
        else
            cw_hub_finish(call, rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, CW_STR(""),
                          "too much waits to be sent");
    }
}

/* One of the prelude; CW_NOMEM, CW_LIMIT. */
static cw_code say(cw_hub *hub, const cw_config_prelude *p)
{
    const cw_speech *speech = &hub->service->speech;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, hub->opts.answer_size);
    if (p->notify) {
        cw_wire_write_notice(speech, p->method, p->params, &text);
        cw_str all = cw_buf_str(&text);
        return text.code ? text.code : cw_channel_send(hub->channel, &all, 1);
    }
    cw_wire wire;
    cw_str pieces[CW_WIRE_PIECES];
    char room[CW_WIRE_ROOM];
    cw_arena_reset(&hub->scratch);
    cw_code rc = cw_wire_make(speech, p->method, &hub->scratch, &wire, NULL);
    if (rc)
        return rc;
    hub->prelude_id = cw_hub_number(hub);
    cw_wire_write(speech, &wire, hub->prelude_id, p->params, room, pieces);
    cw_loop_set_deadline(hub->opts.loop, &hub->prelude_deadline, &hub->first);
    return cw_channel_send(hub->channel, pieces, CW_WIRE_PIECES);
}

static void say_prelude(cw_hub *hub)
{
    const cw_config_preludes *all = &hub->service->config.prelude;
    hub->state = CW_HUB_PRELUDE;
    while (hub->n_prelude < all->n) {
        const cw_config_prelude *p = &all->items[hub->n_prelude];
        if (say(hub, p)) {
            give_up(hub, CW_CLIENT_NOMEM, "not enough memory for the prelude");
            return;
        }
        if (!p->notify)
            return; /* go on with its answer */
        hub->n_prelude++;
    }
    hub->state = CW_HUB_READY;
    cw_deadline_clear(&hub->prelude_deadline); /* a greeting may be all there was */
    hub->failures = 0;
    hub->problem[0] = 0;
    flush(hub);
}

static void on_prelude_answer(cw_hub *hub, uint64_t id, cw_str message)
{
    cw_client_answer answer = {.type = CW_STR("application/json"), .body = message};
    cw_reply reply = {CW_CLIENT_OK, &answer, "", NULL};
    cw_outcome outcome;
    cw_deadline_clear(&hub->prelude_deadline);
    cw_dialect_judge(&hub->service->speech, hub->service->config.name, id, &reply, &hub->scratch,
                     &outcome);
    if (outcome.kind == CW_OUTCOME_RESULT) {
        hub->n_prelude++;
        say_prelude(hub);
        return;
    }
    char why[CW_HUB_WHY];
    snprintf(why, sizeof why, "prelude '%s': %.*s",
             hub->service->config.prelude.items[hub->n_prelude].method.p,
             CW_STR_ARG(outcome.message));
    give_up(hub, CW_CLIENT_CONNECT, why);
}

/* ---- what comes in ---- */

static void on_answer(cw_hub *hub, uint64_t id, cw_str message)
{
    if (hub->state == CW_HUB_PRELUDE && id == hub->prelude_id) {
        on_prelude_answer(hub, id, message);
        return;
    }
    cw_hub_call *call = find(hub, id);
    if (!call)
        return; /* its time was up */
    forget(hub, call);
    cw_hub_finish(call, CW_CLIENT_OK, message, "");
}

/* An error that says of no call that it is its own: clear only where there is but one. */
static void on_answer_to_nobody(cw_hub *hub, cw_str message)
{
    if (hub->state == CW_HUB_PRELUDE)
        on_prelude_answer(hub, hub->prelude_id, message);
    else if (hub->pending.next != &hub->pending && hub->pending.next == hub->pending.prev)
        on_answer(hub, hub->pending.next->id, message);
}

static void on_request(cw_hub *hub, const cw_heard *heard)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, hub->opts.answer_size);
    cw_dialect_reply(&hub->service->speech, heard->ask,
                     cw_service_reply(hub->service, heard->method, heard->params), &text);
    cw_str all = cw_buf_str(&text);
    /* Where it cannot be sent the service finds out for itself that nobody answers. */
    if (!text.code)
        (void)!cw_channel_send(hub->channel, &all, 1);
}

static void on_notice(cw_hub *hub, cw_str method)
{
    const cw_config_strings *names = &hub->service->config.announcements;
    for (size_t i = 0; i < names->n; i++) {
        if (cw_str_eq(names->items[i], method) && hub->opts.announced && !hub->is_closing) {
            hub->opts.announced(hub->opts.ctx);
            return;
        }
    }
}

static void note_nonsense(cw_hub *hub, const char *why, cw_str message)
{
    if (hub->was_noted)
        return;
    hub->was_noted = true;
    char begin[CW_HUB_WHY];
    hide(hub, cw_str_make(message.p, message.n < NOTED_MAX ? message.n : NOTED_MAX), begin);
    cw_log(CW_LOG_WARN, "source", "a message that makes no sense is ignored, as are others like it",
           CW_KV("source", hub->service->config.name), CW_KV("problem", cw_str_from(why)),
           CW_KV("message", cw_str_from(begin)));
}

static void on_message(cw_channel *ch, cw_str message, void *ctx)
{
    (void)ch;
    cw_hub *hub = ctx;
    const cw_json *root;
    cw_heard heard = {0};
    cw_err err = {0};
    const cw_json_opts opts = {.max_bytes = message.n + 1};
    hub->heard_at = cw_loop_now(hub->opts.loop);
    cw_arena_reset(&hub->scratch);
    cw_code rc = cw_json_read(message, &opts, &hub->scratch, &root, NULL, &err);
    if (rc) {
        note_nonsense(hub, err.msg, message);
        return;
    }
    cw_dialect_hear(&hub->service->speech, root, &heard);
    switch (heard.kind) {
    case CW_HEARD_ANSWER:
        on_answer(hub, heard.id, message);
        return;
    case CW_HEARD_ANSWER_TO_NOBODY:
        on_answer_to_nobody(hub, message);
        return;
    case CW_HEARD_REQUEST:
        on_request(hub, &heard);
        return;
    case CW_HEARD_NOTICE:
        on_notice(hub, heard.method);
        return;
    case CW_HEARD_GREETING:
        if (hub->state == CW_HUB_GREETING)
            say_prelude(hub);
        return;
    case CW_HEARD_NOTHING:
        note_nonsense(hub, heard.why ? heard.why : "", message);
        return;
    }
}

/* ---- opening ---- */

static void on_open(cw_channel *ch, void *ctx)
{
    (void)ch;
    cw_hub *hub = ctx;
    hub->heard_at = cw_loop_now(hub->opts.loop); /* a new one is not silent for long yet */
    if (!cw_str_is(hub->service->config.greeting, "yes")) {
        say_prelude(hub);
        return;
    }
    hub->state = CW_HUB_GREETING;
    cw_loop_set_deadline(hub->opts.loop, &hub->prelude_deadline, &hub->first);
}

/* Calls have their own limits, and silence beyond them ends it (cw_hub_on_limit). */
static bool is_awaited(void *ctx)
{
    const cw_hub *hub = ctx;
    return hub->pending.next != &hub->pending;
}

static void open_channel(cw_hub *hub)
{
    static const cw_channel_ops ops = {on_open, on_message, on_end, on_channel_closed, is_awaited};
    cw_channel_opts opts = hub->service->channel;
    cw_http_header headers[CW_SERVICE_HEADERS + 1];
    cw_err err = {0};
    if (hub->bearer.token) {
        memcpy(headers, opts.headers, opts.n_headers * sizeof *headers);
        headers[opts.n_headers++] =
            (cw_http_header){CW_STR("Authorization"), cw_str_from(hub->bearer.token)};
        opts.headers = headers;
    }
    opts.spawner = hub->opts.spawner;
    opts.max_message = hub->opts.answer_size;
    opts.max_queue = 4 * hub->opts.answer_size;
    opts.ops = &ops;
    opts.ctx = hub;
    cw_hub_ref(hub); /* until on_channel_closed */
    if (cw_channel_open(hub->opts.loop, &opts, &hub->channel, &err) == CW_OK)
        return;
    hub->channel = NULL;
    give_up(hub, CW_CLIENT_CONNECT, err.msg);
    cw_hub_unref(hub);
}

void cw_hub_on_token(cw_bearer *b, const char *why)
{
    cw_hub *hub = CW_CONTAINER(b, cw_hub, bearer);
    char text[CW_HUB_WHY];
    if (!why) {
        open_channel(hub);
        return;
    }
    snprintf(text, sizeof text, "token: %s", why);
    give_up(hub, b->is_refused ? CW_CLIENT_REFUSED : CW_CLIENT_CONNECT, text);
}

static void begin(cw_hub *hub)
{
    hub->state = CW_HUB_OPENING;
    hub->has_old_token = hub->bearer.token && !cw_bearer_is_due(&hub->bearer);
    if (cw_bearer_is_due(&hub->bearer))
        cw_bearer_ask(&hub->bearer);
    else
        open_channel(hub);
}

/* See to those who wait. */
static void go_on(cw_hub *hub)
{
    if (hub->waiting.next == &hub->waiting)
        return;
    if (hub->state == CW_HUB_READY)
        flush(hub);
    else if (hub->state == CW_HUB_CLOSED && cw_loop_now(hub->opts.loop) >= hub->retry_at)
        begin(hub);
    else if (hub->state == CW_HUB_CLOSED)
        fail_ring(hub, &hub->waiting, CW_CLIENT_CONNECT, hub->problem);
}

void cw_hub_take(cw_hub *hub, cw_hub_call *call)
{
    if (hub->is_closing) {
        cw_hub_finish(call, CW_CLIENT_CONNECT, CW_STR(""), "the source was taken away");
        return;
    }
    if (is_unwanted(call))
        return;
    put(&hub->waiting, call);
    call->until = cw_loop_now(hub->opts.loop) + call->limit_ms;
    cw_loop_set_deadline(hub->opts.loop, &call->deadline, &hub->limit);
    go_on(hub);
}

/* Nothing came for so long that even the most patient of those who wait would have given up. */
static bool is_dead(const cw_hub *hub, uint32_t limit_ms)
{
    uint64_t silent = cw_loop_now(hub->opts.loop) - hub->heard_at;
    if (silent < limit_ms)
        return false;
    for (const cw_hub_call *call = hub->pending.next; call != &hub->pending; call = call->next) {
        if (silent < call->limit_ms)
            return false;
    }
    return true;
}

/* The time of the service is up for a call; its own may be longer. */
void cw_hub_on_limit(cw_deadline *d)
{
    cw_hub_call *call = CW_CONTAINER(d, cw_hub_call, deadline);
    cw_hub *hub = call->hub;
    uint32_t limit_ms = call->limit_ms;
    if (cw_loop_now(hub->opts.loop) < call->until && !atomic_load(&call->is_cancelled)) {
        cw_loop_set_deadline(hub->opts.loop, &call->deadline, &hub->limit);
        return;
    }
    bool was_sent = find(hub, call->id) == call;
    if (was_sent)
        forget(hub, call);
    else
        take_out(call);
    cw_hub_finish(call, CW_CLIENT_SLOW, CW_STR(""), "no answer in time");
    if (was_sent && is_dead(hub, limit_ms))
        cw_hub_hang_up(hub, CW_CLIENT_LOST, "nothing came for too long");
}

void cw_hub_on_silence(cw_deadline *d)
{
    give_up(CW_CONTAINER(d, cw_hub, prelude_deadline), CW_CLIENT_CONNECT,
            "it did not say in time what it should say first");
}
