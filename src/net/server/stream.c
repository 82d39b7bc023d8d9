/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stream.c - responses whose body is sent in pieces. */
#include <assert.h>
#include <stdio.h>

#include "net/server/server_int.h"

/* Longest chunk frame around the data: 16 hex digits and two line ends. */
#define FRAME_MAX 24u

/* Call the listener only when the stream still stands after each call. */
static void notify_drained(cw_http_req *req)
{
    if (!req->stream_full)
        return;
    req->stream_full = false;
    cw_request_notify(req, CW_HTTP_DRAINED);
}

static cw_code send_queue(cw_http_req *req)
{
    cw_conn *c = req->c;
    while (req->out.n) {
        struct iovec iov = {req->out.p, req->out.n};
        ssize_t sent = cw_conn_write(c, &iov, 1);
        if (sent == CONN_IO_AGAIN)
            return CW_AGAIN;
        if (sent < 0)
            return CW_GONE;
        c->progress += (uint64_t)sent;
        cw_buf_consume(&req->out, (size_t)sent);
    }
    return CW_OK;
}

cw_code cw_stream_flush(cw_http_req *req)
{
    cw_code rc = send_queue(req);
    if (rc != CW_OK)
        return rc;
    cw_buf_release(&req->out);
    if (req->ending)
        cw_conn_next(req->c);
    else
        notify_drained(req);
    return CW_OK;
}

/* Bytes for the wire, framed as a chunk where the version has chunks. All or nothing. */
static cw_code enqueue(cw_http_req *req, cw_str bytes)
{
    if (bytes.n + FRAME_MAX > req->out.max - req->out.n)
        return CW_LIMIT;
    if (!req->stream_chunked) {
        cw_buf_add(&req->out, bytes);
    } else {
        char frame[FRAME_MAX];
        int n = snprintf(frame, sizeof frame, "%zx\r\n", bytes.n);
        if (cw_buf_reserve(&req->out, bytes.n + FRAME_MAX)) {
            cw_buf_add_bytes(&req->out, frame, (size_t)n);
            cw_buf_add(&req->out, bytes);
            cw_buf_add(&req->out, CW_STR("\r\n"));
        }
    }
    cw_code rc = req->out.code;
    req->out.code = CW_OK; /* nothing of it was added; what waits is still whole */
    return rc;
}

/* A write from outside a poll event: a broken connection is left to the poll, so that no request
 * ends while its handler writes to it. */
static void push(cw_http_req *req)
{
    if (send_queue(req) == CW_GONE)
        shutdown(req->c->fd, SHUT_RDWR);
    cw_conn_settle(req->c);
}

void cw_http_stream_open(cw_http_req *req, const cw_http_response *answer)
{
    static const cw_http_response broken = {.status = 500};
    cw_conn *c = req->c;
    assert(!req->answered);
    req->answered = true;
    req->stream_chunked = req->head.minor > 0;
    req->stream_silent = req->head.method == CW_HTTP_HEAD;
    /* A HEAD on a stream has its response, but the end of the stream is unknown. */
    if (!req->stream_chunked || req->stream_silent || answer->close)
        c->closing = true;
    const char *framing = req->stream_chunked ? "Transfer-Encoding: chunked\r\n" : "";
    size_t n = cw_reply_head(req, answer, framing);
    if (!n)
        n = cw_reply_head(req, answer = &broken, framing);
    req->status = (uint16_t)answer->status;
    c->state = CONN_STREAM;
    cw_buf_add_bytes(&req->out, c->sl->head, n);
    if (req->out.code) {
        /* The client sees a closed connection instead of half a head. */
        req->out.code = CW_OK;
        shutdown(c->fd, SHUT_RDWR);
    }
    push(req);
}

cw_code cw_http_stream_write(cw_http_req *req, cw_str bytes)
{
    assert(req->c->state == CONN_STREAM && !req->ending);
    if (req->stream_silent || bytes.n == 0)
        return CW_OK;
    cw_code rc = enqueue(req, bytes);
    if (rc)
        return rc;
    req->sent += bytes.n;
    push(req);
    req->stream_full = req->out.n > req->out.max / 2;
    return req->stream_full ? CW_AGAIN : CW_OK;
}

void cw_http_stream_close(cw_http_req *req)
{
    assert(req->c->state == CONN_STREAM && !req->ending);
    req->ending = true;
    req->listener = NULL; /* the closing handler is not notified */
    if (req->stream_chunked && !req->stream_silent) {
        /* The end must go out even when the queue is full or memory is short. */
        req->out.max += FRAME_MAX;
        cw_buf_add(&req->out, CW_STR("0\r\n\r\n"));
        if (req->out.code) {
            req->out.code = CW_OK;
            req->c->closing = true;
        }
    }
    cw_code rc = send_queue(req);
    if (rc == CW_OK)
        cw_conn_next(req->c);
    else if (rc == CW_GONE)
        cw_conn_lost(req->c);
    else
        cw_conn_settle(req->c);
}

void cw_stream_ping(cw_http_req *req)
{
    if (!req->stream_silent)
        (void)enqueue(req, CW_STR(":\n\n"));
    push(req);
}

void cw_sse_open(cw_http_req *req, const cw_http_header *headers, size_t n_headers)
{
    cw_http_header all[16] = {
        {CW_STR("Cache-Control"), CW_STR("no-store, no-transform")},
        {CW_STR("X-Accel-Buffering"), CW_STR("no")}, /* nginx in front must not collect events */
    };
    size_t n = 2;
    assert(n_headers <= CW_COUNT(all) - n);
    for (size_t i = 0; i < n_headers; i++)
        all[n++] = headers[i];
    cw_http_response answer = {
        .status = 200, .type = CW_STR("text/event-stream"), .headers = all, .n_headers = n};
    req->stream_sse = true;
    cw_http_stream_open(req, &answer);
}

static bool has_line_break(cw_str s)
{
    return s.n && (memchr(s.p, '\n', s.n) || memchr(s.p, '\r', s.n) || memchr(s.p, 0, s.n));
}

static void add_field(cw_buf *b, cw_str name, cw_str value)
{
    cw_buf_add(b, name);
    cw_buf_add(b, CW_STR(": "));
    cw_buf_add(b, value);
    cw_buf_add_char(b, '\n');
}

/* CR, LF and CRLF all end a line in an event stream, so each begins a new data: field. */
static void add_data(cw_buf *b, cw_str data)
{
    size_t start = 0;
    for (size_t i = 0; i <= data.n; i++) {
        if (i < data.n && data.p[i] != '\n' && data.p[i] != '\r')
            continue;
        add_field(b, CW_STR("data"), cw_str_make(data.p + start, i - start));
        if (i + 1 < data.n && data.p[i] == '\r' && data.p[i + 1] == '\n')
            i++;
        start = i + 1;
    }
}

cw_code cw_sse_send(cw_http_req *req, cw_str event, cw_str id, cw_str data)
{
    if (has_line_break(event) || has_line_break(id))
        return CW_PARAMS;
    cw_buf b;
    cw_buf_init(&b, req->out.max);
    if (event.n)
        add_field(&b, CW_STR("event"), event);
    if (id.n)
        add_field(&b, CW_STR("id"), id);
    add_data(&b, data);
    cw_buf_add_char(&b, '\n');
    cw_code rc = b.code ? b.code : cw_http_stream_write(req, cw_buf_str(&b));
    cw_buf_done(&b);
    return rc;
}
