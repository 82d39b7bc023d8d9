/* SPDX-License-Identifier: GPL-2.0-or-later */
/* responder_http.c - the responder of an HTTP request: a plain response, or server-sent events.
 *
 * A slow reader gets only the newest progress. The reply may be larger than the stream's queue: it is sent
 * in pieces, each after the previous one has left.
 */
#include "door/negotiate.h"
#include "door/responder.h"
#include "door/rpc_message.h"
#include "metrics/metrics.h"

#define PIECE 16384u
#define PIECE_MIN 256u
/* How long a client waits before it opens a stream again. */
#define RETRY_MS "2000"

typedef struct http_responder {
    cw_responder base;
    cw_http_req *req;
    cw_buf newest;   /* progress that waits for a slow reader */
    cw_str rest[3];  /* of the last event, while it is being sent */
    uint64_t n_lost; /* log lines */
    bool is_open;
    bool is_full;
    bool is_replying; /* rest[] is sent as the reader takes it, then the stream ends */
} http_responder;

static http_responder *http_of(const cw_responder *p)
{
    return CW_CONTAINER((cw_responder *)(uintptr_t)p, http_responder, base);
}

static cw_code send_event(http_responder *h, cw_str message)
{
    cw_code rc = cw_sse_send(h->req, CW_STR("message"), CW_STR(""), message);
    if (rc == CW_AGAIN)
        h->is_full = true;
    return rc;
}

/* ---- saying ---- */

static void count_stream(const http_responder *h, int64_t n)
{
    cw_metrics_stream kind = h->base.is_lasting ? CW_STREAM_LISTEN : CW_STREAM_CALL;
    cw_metrics_add(CW_METRIC_STREAMS, h->base.is_get ? CW_STREAM_GET : kind, 0, 0, n);
}

static void drop_newest(void *newest)
{
    count_stream(CW_CONTAINER(newest, http_responder, newest), -1);
    cw_buf_done(newest);
}

void cw_responder_open(cw_responder *p)
{
    http_responder *h = http_of(p);
    if (h->is_open)
        return;
    h->is_open = true;
    p->takes_parts = false;
    cw_buf_init(&h->newest, 0);
    count_stream(h, 1);
    /* Without memory for the hold nothing is kept for a slow reader: the ceiling stays 0. */
    if (!cw_arena_hold(p->arena, &h->newest, drop_newest))
        h->newest.max = CW_BUF_MAX;
    cw_sse_open(h->req, NULL, 0);
    /* The line belongs to the next event: on its own some clients take it for an event without
     * data. */
    if (p->is_lasting)
        (void)cw_http_stream_write(h->req, CW_STR("retry: " RETRY_MS "\n"));
}

void cw_responder_add_lost(cw_buf *out, uint64_t n)
{
    cw_buf_add(out, CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{"
                           "\"level\":\"warning\",\"logger\":\"causeway\",\"data\":\"The client "
                           "reads too slowly; log lines lost: "));
    cw_buf_add_i64(out, (int64_t)n);
    cw_buf_add(out, CW_STR("\"}}"));
}

/* The lines that a slow reader has lost, once it reads again. */
static void notify_lost(http_responder *h)
{
    cw_buf b;
    if (!h->n_lost || h->is_full)
        return;
    cw_buf_init(&b, 256);
    cw_responder_add_lost(&b, h->n_lost);
    cw_code rc = b.code ? b.code : send_event(h, cw_buf_str(&b));
    if (rc == CW_OK || rc == CW_AGAIN)
        h->n_lost = 0;
    cw_buf_done(&b);
}

static cw_code on_send(cw_responder *p, cw_send_class kind, cw_str message)
{
    http_responder *h = http_of(p);
    cw_code rc;
    cw_responder_open(p);
    switch (kind) {
    case CW_SEND_PROGRESS:
        if (h->is_full) {
            cw_buf_clear(&h->newest);
            cw_buf_add(&h->newest, message);
            return CW_AGAIN;
        }
        /* A progress report may be lost: the next one replaces it. */
        return send_event(h, message);
    case CW_SEND_LOG:
        notify_lost(h);
        rc = h->is_full ? CW_LIMIT : send_event(h, message);
        if (rc != CW_OK && rc != CW_AGAIN)
            h->n_lost++;
        return rc;
    case CW_SEND_MESSAGE:
        return send_event(h, message);
    }
    return CW_INVALID;
}

/* ---- the reply ---- */

/* Send what is left of the last event as far as it goes; the reader is not slow now. */
static void pump(http_responder *h)
{
    size_t most = PIECE;
    for (size_t i = 0; i < CW_COUNT(h->rest); i++) {
        cw_str *part = &h->rest[i];
        while (part->n) {
            size_t n = part->n < most ? part->n : most;
            cw_code rc = cw_http_stream_write(h->req, cw_str_make(part->p, n));
            if (rc == CW_LIMIT && most > PIECE_MIN) {
                most /= 2; /* the queue is small */
                continue;
            }
            if (rc != CW_OK && rc != CW_AGAIN) {
                cw_http_stream_close(h->req); /* the client sees a stream without an answer */
                return;
            }
            part->p += n;
            part->n -= n;
            h->is_full = rc == CW_AGAIN;
            if (h->is_full)
                return;
        }
    }
    cw_http_stream_close(h->req);
}

/* A body with line breaks is never one of our own texts, so it may be written to. */
static bool has_lines(cw_str body)
{
    return body.n && (memchr(body.p, '\n', body.n) || memchr(body.p, '\r', body.n));
}

void cw_responder_join_lines(cw_str body)
{
    char *p = (char *)(uintptr_t)body.p;
    if (!has_lines(body))
        return;
    for (size_t i = 0; i < body.n; i++) {
        if (p[i] == '\n' || p[i] == '\r')
            p[i] = ' ';
    }
}

static void reply_event(http_responder *h, cw_str body)
{
    cw_responder_join_lines(body);
    h->base.on_event = NULL;
    h->is_replying = true;
    h->rest[0] = CW_STR("event: message\ndata: ");
    h->rest[1] = body;
    h->rest[2] = CW_STR("\n\n");
    if (!h->is_full)
        pump(h);
}

void cw_responder_reply_http(cw_http_req *req, const cw_response *answer)
{
    char seconds[CW_DIGITS_SIZE];
    CW_UNINIT cw_http_header headers[4];
    size_t n = 0;
    if (answer->challenge.n)
        headers[n++] = (cw_http_header){CW_STR("WWW-Authenticate"), answer->challenge};
    if (answer->session.n)
        headers[n++] = (cw_http_header){CW_STR("Mcp-Session-Id"), answer->session};
    if (answer->language.n)
        headers[n++] = (cw_http_header){CW_STR("Content-Language"), answer->language};
    if (answer->retry_s)
        headers[n++] =
            (cw_http_header){CW_STR("Retry-After"), cw_digits_u64(answer->retry_s, seconds)};
    bool is_plain = answer->plain.n > 0;
    cw_http_reply(req, &(cw_http_response){.status = answer->status,
                                           .type = is_plain ? CW_RESPONDER_PLAIN : CW_STR(""),
                                           .body = is_plain ? answer->plain : answer->body,
                                           .more = answer->more,
                                           .headers = headers,
                                           .n_headers = n,
                                           .no_store = true});
}

static void on_reply(cw_responder *p, const cw_response *answer)
{
    http_responder *h = http_of(p);
    if (h->is_open && answer->body.n)
        reply_event(h, answer->body);
    else if (h->is_open)
        cw_http_stream_close(h->req);
    else
        cw_responder_reply_http(h->req, answer);
}

static void on_end(cw_responder *p)
{
    http_responder *h = http_of(p);
    if (h->is_open)
        cw_http_stream_close(h->req);
    else
        cw_http_reply(h->req, &(cw_http_response){.status = 202});
}

/* ---- events ---- */

static void on_drained(http_responder *h)
{
    h->is_full = false;
    if (h->is_replying) {
        pump(h);
        return;
    }
    if (h->newest.n) {
        (void)send_event(h, cw_buf_str(&h->newest));
        cw_buf_clear(&h->newest);
    }
    notify_lost(h);
    if (!h->is_full && h->base.on_event)
        h->base.on_event(&h->base, CW_RESPONDER_DRAINED, h->base.ctx);
}

static void on_http_event(cw_http_req *req, cw_http_event event, void *ctx)
{
    http_responder *h = ctx;
    (void)req;
    if (event == CW_HTTP_DRAINED)
        on_drained(h);
    else if (h->base.on_event)
        h->base.on_event(&h->base,
                         event == CW_HTTP_GONE ? CW_RESPONDER_GONE : CW_RESPONDER_STOPPING,
                         h->base.ctx);
}

static cw_str on_header(const cw_responder *p, cw_str name, bool *ret_repeats)
{
    const http_responder *h = http_of(p);
    if (ret_repeats)
        return cw_http_req_header_once(h->req, name, ret_repeats);
    return cw_http_req_header(h->req, name);
}

static cw_str on_peer(const cw_responder *p)
{
    return cw_http_req_peer(http_of(p)->req);
}

static void on_eof_cancel(cw_responder *p)
{
    cw_http_cancel_on_eof(http_of(p)->req);
}

cw_responder *cw_responder_of(cw_http_req *req)
{
    static const cw_responder_ops ops = {on_reply,  on_send, on_end,
                                         on_header, on_peer, on_eof_cancel};
    http_responder *h = cw_arena_alloc(cw_http_req_arena(req), sizeof *h);
    if (!h)
        return NULL;
    *h = (http_responder){.base = {.ops = &ops,
                                   .arena = cw_http_req_arena(req),
                                   .loop = cw_http_req_loop(req),
                                   .has_headers = true,
                                   .takes_parts = true,
                                   .can_stream = cw_negotiate_events(req)},
                          .req = req};
    cw_http_listen(req, on_http_event, h);
    return &h->base;
}

cw_http_req *cw_responder_req(const cw_responder *p)
{
    return http_of(p)->req;
}
