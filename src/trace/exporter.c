/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exporter.c - sends spans to a collector: OTLP over HTTP, from the main loop.
 *
 *     IDLE ── spans wait ──► DELAYED ── delay is over, or enough for a request ──► SENDING
 *       ▲                                                                         │  ▲
 *       └── no span waits ◄── answered, or given up ◄─────────────────────────────┤  │ time is over
 *                                                                                 ▼  │
 *                                                             429, 502 to 504,  RETRYING
 *                                                             or no answer
 *
 * One request runs at a time. The bytes of its spans are those of the buffers that the loops filled:
 * they are taken from the loops, and stay until the request is over. Meanwhile the loops fill their
 * next buffers, and drop spans when these are full.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/gzip.h"
#include "base/log.h"
#include "base/random.h"
#include "net/client/client.h"
#include "trace/tracer_int.h"

#define ANSWER_MAX 65536u
#define RETRY_MIN_MS 1000u
#define RETRY_MAX_MS 30000u
#define TRIES 5u
#define RESOURCE_MAX 16384u
#define HEAD_MAX (RESOURCE_MAX + 1024u)
#define BODY_MAX (64u * 1024u * 1024u) /* OTLP's own limit */

typedef enum state {
    IDLE,
    DELAYED,
    SENDING,
    RETRYING,
} state;

/* A buffer that was taken from a loop. */
typedef struct taken {
    cw_span_buffer *buffer; /* NULL: none yet */
    uint64_t n_taken;       /* spans that were ever taken from the loop */
    uint32_t left;          /* spans that no request has */
    size_t at;              /* the first byte of those */
    size_t n_sent;          /* bytes of the current request */
} taken;

struct cw_trace_exporter {
    cw_tracer *tracer;
    cw_client *client; /* NULL: nothing is sent */
    char *identity;    /* of the options that the client was made from */
    cw_buf resource, scope, head;
    cw_client_req request;
    cw_str *pieces;   /* the head, and one of each loop */
    taken *taken;     /* of each loop */
    uint32_t n_spans; /* of the current request */
    unsigned n_tries;
    state state;
    uint32_t timeout_ms, delay_ms, give_up_ms;
    uint64_t begun_ms; /* the first request of these spans */
    bool is_gzip;
    cw_buf packed;      /* the body of the request, if it is compressed */
    uv_timer_t timer;   /* delay, time limit of a request, pause before a retry */
    uv_timer_t flusher; /* the end of a flush */
    void (*on_flushed)(void *ctx);
    void *flushed_ctx;
    atomic_ullong sent, failed, rejected;
    bool is_failing; /* the log has a line about it */
    bool is_closing;
    unsigned n_closing; /* handles and clients */
    void (*on_free)(cw_tracer *t);
};

static void start_request(cw_trace_exporter *e);

/* ---- the end ---- */

static void free_exporter(cw_trace_exporter *e)
{
    cw_tracer *t = e->tracer;
    void (*fn)(cw_tracer *) = e->on_free;
    for (unsigned i = 0; e->taken && i < t->n_loops; i++)
        free(e->taken[i].buffer);
    free(e->taken);
    free(e->pieces);
    free(e->identity);
    cw_buf_done(&e->resource);
    cw_buf_done(&e->scope);
    cw_buf_done(&e->head);
    cw_buf_done(&e->packed);
    free(e);
    if (fn)
        fn(t);
}

static void on_part_closed(cw_trace_exporter *e)
{
    if (--e->n_closing == 0 && e->on_free)
        free_exporter(e);
}

static void on_timer_closed(uv_handle_t *handle)
{
    on_part_closed(handle->data);
}

static void on_client_closed(void *ctx)
{
    on_part_closed(ctx);
}

static void close_client(cw_trace_exporter *e)
{
    cw_client *client = e->client;
    e->client = NULL;
    if (!client)
        return;
    e->n_closing++;
    cw_client_close(client, on_client_closed, e);
}

void cw_trace_exporter_close(cw_trace_exporter *e)
{
    if (e->is_closing)
        return;
    e->is_closing = true;
    e->n_closing += 2;
    close_client(e);
    uv_close((uv_handle_t *)&e->timer, on_timer_closed);
    uv_close((uv_handle_t *)&e->flusher, on_timer_closed);
}

void cw_trace_exporter_free(cw_trace_exporter *e, void (*fn)(cw_tracer *t))
{
    cw_trace_exporter_close(e);
    e->on_free = fn;
    if (e->n_closing == 0)
        free_exporter(e);
}

void cw_trace_exporter_counts(const cw_trace_exporter *e, cw_trace_counts *ret)
{
    ret->sent = atomic_load(&e->sent);
    ret->failed = atomic_load(&e->failed);
    ret->rejected = atomic_load(&e->rejected);
}

/* ---- spans of the loops ---- */

/* Spans of a loop that no request has. */
static uint64_t n_waiting(const cw_trace_exporter *e, unsigned i)
{
    const taken *t = &e->taken[i];
    uint64_t added = atomic_load_explicit(&e->tracer->loops[i].n_added, memory_order_acquire);
    return added - t->n_taken + t->left;
}

/* Exchange the buffer of a loop for the empty one of the last request. While the loop writes a span
 * it has the buffer, for less than a microsecond. */
static void take_buffer(const cw_trace_exporter *e, unsigned i)
{
    taken *t = &e->taken[i];
    cw_trace_loop *l = &e->tracer->loops[i];
    cw_span_buffer *full = NULL;
    if (t->left || n_waiting(e, i) == 0)
        return;
    if (t->buffer) {
        t->buffer->n = t->buffer->spans = 0;
        t->buffer->wake_at = 1;
    }
    do {
        full = atomic_load_explicit(&l->fill, memory_order_relaxed);
        if (!full)
            sched_yield();
    } while (!full || !atomic_compare_exchange_weak_explicit(
                          &l->fill, &full, t->buffer, memory_order_acq_rel, memory_order_relaxed));
    t->buffer = full;
    t->left = full->spans;
    t->n_taken += full->spans;
    t->at = t->n_sent = 0;
}

/* The length of the `spans` field at `p`: its tag, its length, its bytes. */
static size_t field_size(const char *p)
{
    size_t n = 0, i = 1;
    unsigned shift = 0;
    do {
        n |= (size_t)((unsigned char)p[i] & 0x7F) << shift;
        shift += 7;
    } while ((unsigned char)p[i++] & 0x80);
    return i + n;
}

/* Choose up to `most` spans of a buffer for the next request. Returns their number. */
static uint32_t choose(taken *t, uint32_t most)
{
    uint32_t n = 0;
    size_t end = t->at;
    if (t->left == 0)
        return 0;
    if (t->left <= most) {
        n = t->left;
        end = t->buffer->n;
    } else {
        for (; n < most; n++)
            end += field_size(t->buffer->bytes + end);
    }
    t->n_sent = end - t->at;
    t->left -= n;
    return n;
}

/* Choose the spans of the next request. False: none waits. */
static bool collect(cw_trace_exporter *e)
{
    cw_tracer *t = e->tracer;
    uint32_t room = atomic_load(&t->batch);
    e->n_spans = 0;
    for (unsigned i = 0; i < t->n_loops; i++) {
        take_buffer(e, i);
        uint32_t n = choose(&e->taken[i], room);
        room -= n;
        e->n_spans += n;
    }
    return e->n_spans > 0;
}

/* The spans of the request are over, whatever became of them. */
static void forget_spans(cw_trace_exporter *e)
{
    for (unsigned i = 0; i < e->tracer->n_loops; i++) {
        taken *t = &e->taken[i];
        t->at += t->n_sent;
        t->n_sent = 0;
    }
}

static uint64_t count_waiting(const cw_trace_exporter *e)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < e->tracer->n_loops; i++)
        n += n_waiting(e, i);
    return n;
}

/* Whether a request should start before the delay is over. */
static bool is_enough(const cw_trace_exporter *e)
{
    return count_waiting(e) >= atomic_load(&e->tracer->batch);
}

/* ---- a request ---- */

static void finish_flush(cw_trace_exporter *e)
{
    void (*fn)(void *) = e->on_flushed;
    e->on_flushed = NULL;
    if (!fn)
        return;
    uv_timer_stop(&e->flusher);
    fn(e->flushed_ctx);
}

/* To the next request, or to rest. */
static void go_on(cw_trace_exporter *e)
{
    forget_spans(e);
    uv_timer_stop(&e->timer);
    e->state = IDLE;
    if (e->on_flushed || is_enough(e))
        start_request(e);
    else
        cw_trace_exporter_wake(e);
}

static void give_up(cw_trace_exporter *e, const char *why, unsigned status)
{
    atomic_fetch_add(&e->failed, e->n_spans);
    if (!e->is_failing)
        cw_log(CW_LOG_WARN, "trace", "spans cannot be exported and are dropped",
               CW_KN("spans", e->n_spans), CW_KV("why", cw_str_from(why)),
               status ? CW_KN("status", status) : (cw_log_field){0});
    e->is_failing = true;
    go_on(e);
}

static void succeed(cw_trace_exporter *e, cw_str body)
{
    uint64_t rejected = cw_otlp_read_rejected(body);
    rejected = rejected < e->n_spans ? rejected : e->n_spans;
    if (rejected)
        cw_log(CW_LOG_WARN, "trace", "the collector rejected spans", CW_KN("spans", rejected));
    if (e->is_failing)
        cw_log(CW_LOG_INFO, "trace", "spans are exported again");
    e->is_failing = false;
    atomic_fetch_add(&e->rejected, rejected);
    atomic_fetch_add(&e->sent, e->n_spans - rejected);
    go_on(e);
}

static void on_retry(uv_timer_t *timer);

/* Each pause is twice as long as the one before, less up to half of it at random. */
static uint64_t pause_ms(const cw_trace_exporter *e)
{
    uint64_t ms = (uint64_t)RETRY_MIN_MS << (e->n_tries - 1);
    ms = ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS;
    return ms - cw_random_u64() % (ms / 2);
}

static void retry(cw_trace_exporter *e, cw_str after, const char *why, unsigned status)
{
    uint64_t seconds = 0;
    uint64_t ms = e->n_tries < TRIES ? pause_ms(e) : 0;
    if (after.p && cw_str_to_u64(cw_str_trim(after), &seconds))
        ms = seconds < RETRY_MAX_MS / 1000 ? seconds * 1000 : RETRY_MAX_MS;
    bool is_late = cw_clock_ms() + ms > e->begun_ms + e->give_up_ms;
    if (e->n_tries >= TRIES || e->on_flushed || is_late) {
        give_up(e, why, status);
        return;
    }
    e->state = RETRYING;
    uv_timer_start(&e->timer, on_retry, ms, 0);
}

static bool may_retry(unsigned status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

static void on_done(cw_client_req *req, cw_client_end end, const cw_client_response *answer,
                    const char *why)
{
    cw_trace_exporter *e = req->ctx;
    uv_timer_stop(&e->timer);
    if (end != CW_CLIENT_OK)
        retry(e, (cw_str){NULL, 0}, why, 0);
    else if (answer->status / 100 == 2)
        succeed(e, answer->body);
    else if (may_retry(answer->status))
        retry(e, answer->wanted[0], "the collector asks to wait", answer->status);
    else
        give_up(e, "the collector refuses them", answer->status);
}

static void on_slow(uv_timer_t *timer)
{
    cw_trace_exporter *e = timer->data;
    cw_client_cancel(e->client, &e->request);
    retry(e, (cw_str){NULL, 0}, "the collector did not answer in time", 0);
}

static void send_request(cw_trace_exporter *e)
{
    cw_err err = {0};
    e->n_tries++;
    e->state = SENDING;
    uv_timer_start(&e->timer, on_slow, e->timeout_ms, 0);
    cw_code rc = cw_client_send(e->client, &e->request, &err);
    if (rc) {
        uv_timer_stop(&e->timer);
        retry(e, (cw_str){NULL, 0}, err.msg, 0);
    }
}

static void on_retry(uv_timer_t *timer)
{
    send_request(timer->data);
}

/* Without memory the body is sent as it is. A batch is small: it takes the main loop a millisecond. */
static void pack_body(cw_trace_exporter *e)
{
    static const cw_http_header gzip = {CW_STR_INIT("Content-Encoding"), CW_STR_INIT("gzip")};
    CW_CLEANUP(cw_buf_done) cw_buf plain;
    cw_buf_init(&plain, BODY_MAX);
    for (size_t i = 0; i < e->request.n_body; i++)
        cw_buf_add(&plain, e->pieces[i]);
    cw_buf_clear(&e->packed);
    if (plain.code || cw_gzip(cw_buf_str(&plain), plain.n, &e->packed))
        return;
    e->pieces[0] = cw_buf_str(&e->packed);
    e->request.n_body = 1;
    e->request.headers = &gzip;
    e->request.n_headers = 1;
}

/* The pieces of the body: the head, and the spans of each loop where they lie. */
static bool write_body(cw_trace_exporter *e)
{
    size_t n = 1, bytes = 0;
    for (unsigned i = 0; i < e->tracer->n_loops; i++) {
        const taken *t = &e->taken[i];
        if (t->n_sent)
            e->pieces[n++] = cw_str_make(t->buffer->bytes + t->at, t->n_sent);
        bytes += t->n_sent;
    }
    cw_buf_clear(&e->head);
    cw_otlp_add_head(&e->head, cw_buf_str(&e->resource), cw_buf_str(&e->scope), bytes);
    e->pieces[0] = cw_buf_str(&e->head);
    e->request = (cw_client_req){.method = CW_HTTP_POST,
                                 .body = e->pieces,
                                 .n_body = n,
                                 .may_repeat = true,
                                 .on_done = on_done,
                                 .ctx = e};
    if (e->is_gzip)
        pack_body(e);
    return !e->head.code;
}

static void start_request(cw_trace_exporter *e)
{
    if (!e->client || !collect(e)) {
        e->state = IDLE;
        finish_flush(e);
        return;
    }
    e->n_tries = 0;
    e->begun_ms = cw_clock_ms();
    if (write_body(e))
        send_request(e);
    else
        give_up(e, "not enough memory", 0);
}

static void on_delay(uv_timer_t *timer)
{
    start_request(timer->data);
}

void cw_trace_exporter_wake(cw_trace_exporter *e)
{
    if (e->is_closing || e->state == SENDING || e->state == RETRYING || !e->client)
        return;
    if (is_enough(e)) {
        uv_timer_stop(&e->timer);
        start_request(e);
    } else if (e->state == IDLE && count_waiting(e)) {
        e->state = DELAYED;
        uv_timer_start(&e->timer, on_delay, e->delay_ms, 0);
    }
}

static void on_flush_late(uv_timer_t *timer)
{
    finish_flush(timer->data);
}

void cw_trace_exporter_flush(cw_trace_exporter *e, uint32_t ms, void (*fn)(void *ctx), void *ctx)
{
    bool is_busy = e->state == SENDING;
    if (e->is_closing || !e->client || (!is_busy && !count_waiting(e) && e->state != RETRYING)) {
        fn(ctx);
        return;
    }
    e->on_flushed = fn;
    e->flushed_ctx = ctx;
    uv_timer_start(&e->flusher, on_flush_late, ms, 0);
    if (is_busy)
        return;
    uv_timer_stop(&e->timer);
    if (e->state == RETRYING)
        send_request(e);
    else
        start_request(e);
}

/* ---- options ---- */

cw_code cw_trace_exporter_new(cw_tracer *t, cw_trace_exporter **ret, cw_err *err)
{
    cw_trace_exporter *e = calloc(1, sizeof *e);
    if (!e)
        return cw_fail_nomem(err);
    e->tracer = t;
    e->taken = calloc(t->n_loops, sizeof *e->taken);
    e->pieces = calloc(t->n_loops + 1, sizeof *e->pieces);
    cw_buf_init(&e->resource, RESOURCE_MAX);
    cw_buf_init(&e->scope, RESOURCE_MAX);
    cw_buf_init(&e->head, HEAD_MAX);
    cw_buf_init(&e->packed, BODY_MAX);
    if (!e->taken || !e->pieces) {
        free_exporter(e);
        return cw_fail_nomem(err);
    }
    uv_timer_init(&t->main_loop->uv, &e->timer);
    uv_timer_init(&t->main_loop->uv, &e->flusher);
    e->timer.data = e->flusher.data = e;
    *ret = e;
    return CW_OK;
}

/* All that a client is made from, as one text: an equal one keeps its connection. */
static char *make_identity(const cw_trace_export_opts *o)
{
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    const cw_str texts[] = {o->url, o->ca_file, o->certificate, o->key};
    for (size_t i = 0; i < CW_COUNT(texts); i++) {
        cw_buf_add(&b, texts[i].p ? texts[i] : CW_STR(""));
        cw_buf_add_char(&b, '\n');
    }
    for (size_t i = 0; i < o->n_headers; i++) {
        cw_buf_add(&b, o->headers[i].name);
        cw_buf_add_char(&b, ':');
        cw_buf_add(&b, o->headers[i].value);
        cw_buf_add_char(&b, '\n');
    }
    char *text = cw_buf_take(&b, NULL);
    cw_buf_done(&b);
    return text;
}

static cw_code open_client(const cw_trace_exporter *e, const cw_trace_export_opts *o,
                           cw_client **ret, cw_err *err)
{
    static const cw_str wanted[] = {CW_STR_INIT("Retry-After")};
    cw_client_url url;
    cw_code rc = cw_client_url_parse(o->url, &url, err);
    if (rc)
        return rc;
    cw_http_header headers[CW_TRACE_MAX_HEADERS + 2] = {
        {CW_STR("Content-Type"), CW_STR("application/x-protobuf")},
        {CW_STR("User-Agent"), CW_STR("Causeway/" CW_VERSION " OTel-OTLP-Exporter-C/" CW_VERSION)},
    };
    size_t n = o->n_headers < CW_TRACE_MAX_HEADERS ? o->n_headers : CW_TRACE_MAX_HEADERS;
    if (n)
        memcpy(headers + 2, o->headers, n * sizeof *headers);
    cw_client_opts opts = {.url = url,
                           .connections = 1,
                           .waiting = 1,
                           .connect_ms = o->timeout_ms,
                           .first_byte_ms = o->timeout_ms,
                           .answer_size = ANSWER_MAX,
                           .headers = headers,
                           .n_headers = n + 2,
                           .wanted = wanted,
                           .n_wanted = CW_COUNT(wanted),
                           .tls = {o->ca_file, o->certificate, o->key, CW_STR("")}};
    return cw_client_new(e->tracer->main_loop, &opts, ret, err);
}

/* The spans of a request that runs are sent by the new client. */
static void use_client(cw_trace_exporter *e, cw_client *client, char *identity)
{
    bool is_sending = e->state == SENDING;
    if (is_sending) {
        cw_client_cancel(e->client, &e->request);
        uv_timer_stop(&e->timer);
    }
    close_client(e);
    e->client = client;
    free(e->identity);
    e->identity = identity;
    if (!client && (is_sending || e->state == RETRYING)) {
        uv_timer_stop(&e->timer);
        atomic_fetch_add(&e->failed, e->n_spans);
        forget_spans(e);
        e->state = IDLE;
    } else if (is_sending) {
        send_request(e);
    }
}

cw_code cw_trace_exporter_configure(cw_trace_exporter *e, const cw_trace_export_opts *o,
                                    cw_err *err)
{
    cw_client *client = NULL;
    char *identity = make_identity(o);
    if (!identity)
        return cw_fail_nomem(err);
    bool is_same = e->identity && strcmp(identity, e->identity) == 0;
    cw_code rc = is_same || !o->url.n ? CW_OK : open_client(e, o, &client, err);
    if (rc) {
        free(identity);
        return rc;
    }
    cw_buf_clear(&e->resource);
    cw_buf_clear(&e->scope);
    cw_otlp_add_resource(&e->resource, o->resource, o->n_resource);
    cw_otlp_add_scope(&e->scope, CW_STR("causeway"), CW_STR(CW_VERSION));
    e->timeout_ms = o->timeout_ms;
    e->delay_ms = o->delay_ms;
    e->give_up_ms = o->give_up_ms;
    e->is_gzip = o->is_gzip;
    if (is_same)
        free(identity);
    else
        use_client(e, client, identity);
    if (e->resource.code || e->scope.code)
        return cw_fail(err, CW_LIMIT, "the attributes of the resource are too long");
    return CW_OK;
}
