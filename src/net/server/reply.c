/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reply.c - sends responses and streams, and writes the access log. */
#include <assert.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/digits.h"
#include "base/log.h"
#include "json/write.h"
#include "metrics/metrics.h"
#include "net/server/server_int.h"

const cw_http_header cw_reply_no_store = {CW_STR_INIT("Cache-Control"), CW_STR_INIT("no-store")};

#define ALLOW_ORIGIN CW_STR("Access-Control-Allow-Origin")
/* The response headers that a page of another origin may read. */
#define EXPOSED "Mcp-Session-Id, WWW-Authenticate, X-Request-Id"

/* ---- the head ---- */

typedef struct head_writer {
    char *p;
    size_t n;
    bool failed;
} head_writer;

static void add(head_writer *w, const char *p, size_t n)
{
    if (n > CW_HTTP_RESPONSE_HEAD - w->n) {
        w->failed = true;
        return;
    }
    memcpy(w->p + w->n, p, n);
    w->n += n;
}

#define ADD(w, literal) add((w), literal, sizeof(literal) - 1)

static void add_number(head_writer *w, uint64_t value)
{
    char text[CW_DIGITS_SIZE];
    cw_str digits = cw_digits_u64(value, text);
    add(w, digits.p, digits.n);
}

static void add_header(head_writer *w, cw_str name, cw_str value)
{
    /* The only way into a response head: nothing here can end a line. */
    if (!cw_http_is_token(name) || !cw_http_is_value(value)) {
        w->failed = true;
        return;
    }
    add(w, name.p, name.n);
    ADD(w, ": ");
    add(w, value.p, value.n);
    ADD(w, "\r\n");
}

static void add_status(head_writer *w, unsigned status)
{
    if (CW_LIKELY(status == 200)) {
        ADD(w, "HTTP/1.1 200 OK\r\n");
        return;
    }
    const char *text = cw_http_status_text(status);
    ADD(w, "HTTP/1.1 ");
    add_number(w, status);
    ADD(w, " ");
    add(w, text, strlen(text));
    ADD(w, "\r\n");
}

static bool is_bodyless(unsigned status)
{
    return status == 204 || status == 304;
}

static bool has_origin(const cw_http_response *a)
{
    for (size_t i = 0; i < a->n_headers; i++) {
        if (cw_str_ieq(a->headers[i].name, ALLOW_ORIGIN))
            return true;
    }
    return false;
}

/* A cache must not give the answer for one origin to another. */
static bool may_be_cached(const cw_http_req *req, const cw_http_response *a)
{
    if (a->no_store || (req->head.method != CW_HTTP_GET && req->head.method != CW_HTTP_HEAD))
        return false;
    for (size_t i = 0; i < a->n_headers; i++) {
        if (cw_str_ieq(a->headers[i].name, CW_STR("Cache-Control")))
            return !cw_str_starts(a->headers[i].value, CW_STR("no-store"));
    }
    return true;
}

/* CORS: let the page of an allowed origin read the answer. This grants no access: request.c checks
 * Origin. Credentials that browsers add themselves are never allowed. */
static void add_cors(head_writer *w, const cw_http_req *req, const cw_http_response *a)
{
    bool varies = req->from_page || may_be_cached(req, a);
    if (!varies || has_origin(a))
        return;
    add_header(w, CW_STR("Vary"), CW_STR("Origin"));
    if (!req->from_page)
        return;
    add_header(w, ALLOW_ORIGIN, cw_http_req_header(req, CW_STR("Origin")));
    add_header(w, CW_STR("Access-Control-Expose-Headers"), CW_STR(EXPOSED));
}

static uint64_t body_size(const cw_http_response *a)
{
    uint64_t n = a->body.n;
    for (size_t i = 0; a->more && i < CW_HTTP_MORE_PARTS; i++)
        n += a->more[i].n;
    return n;
}

static size_t reply_head(cw_http_req *req, const cw_http_response *a, const char *framing)
{
    cw_conn *c = req->c;
    head_writer w = {.p = c->sl->head};
    add_status(&w, a->status);
    ADD(&w, "Date: ");
    add(&w, cw_loop_date(&c->sl->loop), CW_CLOCK_HTTP_LEN);
    char id[CW_IDS_HEX];
    cw_ids_format_request(req->ids.request, id);
    ADD(&w, "\r\n" CW_REPLY_NOSNIFF "X-Request-Id: ");
    add(&w, id, sizeof id - 1);
    ADD(&w, "\r\n");
    if (!is_bodyless(a->status) && a->type.n)
        add_header(&w, CW_STR("Content-Type"), a->type);
    else if (a->body.n && !is_bodyless(a->status))
        ADD(&w, "Content-Type: application/json\r\n");
    if (framing) {
        add(&w, framing, strlen(framing));
    } else if (!is_bodyless(a->status)) {
        ADD(&w, "Content-Length: ");
        add_number(&w, body_size(a));
        ADD(&w, "\r\n");
    }
    if (a->no_store)
        ADD(&w, "Cache-Control: no-store\r\n");
    for (size_t i = 0; i < a->n_headers; i++)
        add_header(&w, a->headers[i].name, a->headers[i].value);
    add_cors(&w, req, a);
    if (c->closing)
        ADD(&w, "Connection: close\r\n");
    else if (req->head.minor == 0)
        ADD(&w, "Connection: keep-alive\r\n");
    ADD(&w, "\r\n");
    return w.failed ? 0 : w.n;
}

/* ---- sending ---- */

/* The ranges of the parts that are not empty, `most` bytes in all. Returns their number. */
static int gather(const cw_str *parts, size_t n_parts, size_t most, struct iovec *iov)
{
    int n = 0;
    for (size_t i = 0; i < n_parts && most; i++) {
        size_t part = parts[i].n < most ? parts[i].n : most;
        if (part)
            iov[n++] = (struct iovec){(void *)(uintptr_t)parts[i].p, part};
        most -= part;
    }
    return n;
}

static void advance(cw_str *parts, size_t n)
{
    for (size_t i = 0; n; i++) {
        size_t part = n < parts[i].n ? n : parts[i].n;
        if (!part)
            continue; /* an empty part has no address to count from */
        parts[i].p += part;
        parts[i].n -= part;
        n -= part;
    }
}

static bool is_sent(const cw_str *parts, size_t n_parts)
{
    for (size_t i = 0; i < n_parts; i++) {
        if (parts[i].n)
            return false;
    }
    return true;
}

/* Send as much of a response as goes in one turn of the loop; the parts become what is left. */
static cw_code send_parts(cw_conn *c, cw_str *parts, size_t n_parts)
{
    size_t left = CW_HTTP_MAX_WRITE;
    CW_UNINIT struct iovec iov[CW_REPLY_PARTS];
    for (int n_iov; (n_iov = gather(parts, n_parts, left, iov)) > 0;) {
        ssize_t sent = cw_conn_write(c, iov, n_iov);
        if (sent == CONN_IO_AGAIN)
            return CW_AGAIN;
        if (sent < 0)
            return CW_GONE;
        left -= (size_t)sent;
        c->progress += (size_t)sent;
        advance(parts, (size_t)sent);
        if (CW_LIKELY(is_sent(parts, n_parts)))
            return CW_OK;
    }
    return CW_AGAIN;
}

/* The same for one part that is smaller than CW_HTTP_MAX_WRITE: most responses are. */
static cw_code send_one(cw_conn *c, cw_str *part)
{
    struct iovec iov = {(void *)(uintptr_t)part->p, part->n};
    ssize_t sent = cw_conn_write(c, &iov, 1);
    if (sent < 0)
        return sent == CONN_IO_AGAIN ? CW_AGAIN : CW_GONE;
    c->progress += (size_t)sent;
    part->p += sent;
    part->n -= (size_t)sent;
    return part->n ? CW_AGAIN : CW_OK;
}

/* The head is in a buffer of the loop, so what could not be sent moves to the arena. */
static cw_code keep_rest(cw_http_req *req, const cw_str *parts, size_t n_parts)
{
    memcpy(req->left, parts, n_parts * sizeof *parts);
    req->n_left = (uint8_t)n_parts;
    req->left[0] = cw_arena_dup_str(&req->arena, parts[0]);
    return req->left[0].p ? CW_AGAIN : CW_GONE;
}

/* `more`: further parts of the body; NULL: none. */
static void send_answer(cw_http_req *req, size_t head_n, cw_str body, const cw_str *more)
{
    cw_conn *c = req->c;
    size_t n = 1;
    CW_UNINIT cw_str parts[CW_REPLY_PARTS];
    parts[0] = cw_str_make(c->sl->head, head_n);
    /* A small body goes out with the head: copying it is cheaper than a list of two ranges. */
    if (body.n && body.n <= sizeof c->sl->head - head_n) {
        memcpy(c->sl->head + head_n, body.p, body.n);
        parts[0].n += body.n;
    } else {
        parts[n++] = body;
    }
    for (size_t i = 0; more && i < CW_HTTP_MORE_PARTS; i++)
        parts[n++] = more[i];
    c->state = CONN_SEND;
    cw_code rc = n == 1 ? send_one(c, parts) : send_parts(c, parts, n);
    if (rc == CW_AGAIN)
        rc = keep_rest(req, parts, n);
    if (rc == CW_GONE)
        cw_conn_lost(c);
    else if (rc == CW_OK)
        cw_conn_next(c);
    else
        cw_conn_settle(c);
}

void cw_http_reply(cw_http_req *req, const cw_http_response *answer)
{
    static const cw_http_response broken = {
        .status = 500,
        .body = CW_STR_INIT("{\"error\":{\"code\":\"internal_error\","
                            "\"message\":\"The answer could not be written\"}}"),
        .headers = &cw_reply_no_store,
        .n_headers = 1,
    };
    assert(!req->answered);
    req->answered = true;
    if (answer->close)
        req->c->closing = true;
    size_t n = reply_head(req, answer, NULL);
    if (!n) {
        answer = &broken;
        n = reply_head(req, answer, NULL);
    }
    bool has_no_body = req->head.method == CW_HTTP_HEAD || is_bodyless(answer->status);
    req->status = (uint16_t)answer->status;
    req->sent = has_no_body ? 0 : body_size(answer);
    if (has_no_body)
        send_answer(req, n, CW_STR(""), NULL);
    else
        send_answer(req, n, answer->body, answer->more);
}

static void write_error(cw_buf *out, const char *code, cw_str message)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR("error"));
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("code"), cw_str_from(code));
    cw_json_add_string_member(&w, CW_STR("message"), message);
    cw_json_close(&w);
    cw_json_close(&w);
    (void)cw_json_writer_end(&w, NULL);
}

static void reply_error(cw_http_req *req, const char *code, cw_str message, cw_str id,
                        cw_http_response *answer)
{
    cw_buf buf;
    cw_buf_init(&buf, 4096);
    if (req->route && req->route->protocol)
        answer->type = req->route->protocol->write_error(&buf, answer->status, message, id);
    else if (req->route && req->route->write_error)
        req->route->write_error(&buf, answer->status, message);
    else
        write_error(&buf, code, message);
    cw_str body = buf.code ? (cw_str){NULL, 0} : cw_arena_dup_str(&req->arena, cw_buf_str(&buf));
    cw_buf_done(&buf);
    if (!body.p)
        answer->type = CW_STR("");
    answer->body = body.p ? body : CW_STR("{}");
    cw_http_reply(req, answer);
}

void cw_reply_error(cw_http_req *req, unsigned status, const char *code, cw_str message,
                    const cw_http_header *headers, size_t n_headers)
{
    cw_http_response answer = {.status = status, .headers = headers, .n_headers = n_headers};
    reply_error(req, code, message, (cw_str){NULL, 0}, &answer);
}

void cw_http_reply_error(cw_http_req *req, unsigned status, const char *code, cw_str message)
{
    cw_reply_error(req, status, code, message, &cw_reply_no_store, 1);
}

static const char *code_of(unsigned status)
{
    switch (status) {
    case 408:
        return "request_timeout";
    case 413:
        return "payload_too_large";
    case 414:
        return "uri_too_long";
    case 417:
        return "expectation_failed";
    case 431:
        return "header_too_large";
    case 501:
        return "not_implemented";
    case 503:
        return "unavailable";
    case 505:
        return "version_not_supported";
    default:
        return "bad_request";
    }
}

static cw_metrics_rejected reason_of(const cw_http_req *req, unsigned status)
{
    if (status == 408)
        return CW_REJECTED_TIMEOUT;
    if (status == 503)
        return CW_REJECTED_MEMORY;
    return req->route ? CW_REJECTED_BODY : CW_REJECTED_HEAD;
}

void cw_reply_refuse_id(cw_http_req *req, unsigned status, const char *reason, cw_str id)
{
    cw_metrics_count(CW_METRIC_REQUESTS_REJECTED, reason_of(req, status), 0, 0);
    cw_http_response answer = {
        .status = status, .headers = &cw_reply_no_store, .n_headers = 1, .close = true};
    req->c->client_done = false; /* bytes that we will not read may be on their way */
    reply_error(req, code_of(status), cw_str_from(reason), id, &answer);
}

void cw_reply_refuse(cw_http_req *req, unsigned status, const char *reason)
{
    cw_reply_refuse_id(req, status, reason, (cw_str){NULL, 0});
}

/* The query belongs to the client: it may hold arguments of a call, or a token that was put in the
 * wrong place. */
static cw_str without_query(cw_str target)
{
    const char *mark = target.n ? memchr(target.p, '?', target.n) : NULL;
    return mark ? cw_str_make(target.p, (size_t)(mark - target.p) + 1) : target;
}

static cw_str target_of(const cw_http_req *req)
{
    return cw_str_make(req->bytes + req->head.target_at, req->head.target_len);
}

#define CLIENT_ID_MAX 64u

/* The id that a client gave its request, for the log alone; empty: none that may stand there. */
static cw_str client_id(const cw_http_req *req)
{
    cw_str id = cw_http_req_header(req, CW_STR("X-Request-Id"));
    if (id.n > CLIENT_ID_MAX)
        return CW_STR("");
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];
        if (!cw_is_alnum(c) && c != '.' && c != '_' && c != '-')
            return CW_STR("");
    }
    return id.p ? id : CW_STR("");
}

static void log_access(cw_http_req *req, unsigned status, uint64_t ns)
{
    if (!req->c->sl->settings->opts.access_log || !cw_log_on(CW_LOG_INFO, "access"))
        return;
    char host[CW_ADDRESS_TEXT];
    cw_address peer;
    cw_req_client(req, &peer);
    cw_address_format_host(&peer, host, sizeof host);
    bool parsed = req->bytes && req->head.size;
    cw_str method = CW_STR("-"), target = CW_STR("-");
    if (parsed) {
        method = cw_str_make(req->bytes + req->head.method_at, req->head.method_len);
        target = without_query(target_of(req));
    }
    cw_str id = parsed ? client_id(req) : CW_STR("");
    cw_ids *outer = cw_ids_enter(&req->ids);
    cw_log(CW_LOG_INFO, "access", "request", CW_KV("peer", cw_str_from(host)),
           CW_KV("method", method), CW_KV("target", target), CW_KN("status", status),
           CW_KN("bytes", req->sent), CW_KN("us", ns / 1000),
           id.n ? CW_KV("client_request_id", id) : (cw_log_field){0});
    cw_ids_leave(outer);
}

/* Most responses are 200, the first value: no text is made for it. */
static uint32_t status_label(unsigned status)
{
    char code[12];
    if (CW_LIKELY(status == 200))
        return 0;
    snprintf(code, sizeof code, "%u", status);
    return cw_metrics_value(CW_METRIC_HTTP, 2, cw_str_from(code));
}

/* By the pattern of the route: paths are the client's. */
static void observe(const cw_http_req *req, unsigned status, uint64_t ns)
{
    cw_metrics_observe(CW_METRIC_HTTP, req->route ? req->route->slot : 0, req->head.method,
                       status_label(status), ns, NULL);
}

void cw_reply_log(cw_http_req *req, unsigned status)
{
    cw_loop *loop = &req->c->sl->loop;
    const cw_server_opts *opts = &req->c->sl->settings->opts;
    if (!cw_metrics_is_on() && !opts->access_log && !opts->on_response)
        return;
    uint64_t ns = cw_loop_set_recent(loop, cw_clock_ns()) - req->started_ns;
    observe(req, status, ns);
    if (opts->on_response)
        opts->on_response(req, status, req->started_ns, opts->response_ctx);
    log_access(req, status, ns);
}

/* ---- streams ---- */

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

static cw_code flush_stream(cw_http_req *req)
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

cw_code cw_reply_flush(cw_http_req *req)
{
    if (req->c->state == CONN_STREAM)
        return flush_stream(req);
    cw_code rc = send_parts(req->c, req->left, req->n_left);
    if (rc == CW_OK)
        cw_conn_next(req->c);
    return rc;
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
    size_t n = reply_head(req, answer, framing);
    if (!n)
        n = reply_head(req, answer = &broken, framing);
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
    /* Once full, up to CW_HTTP_DRAINED: a writer that waits does not look at what others write. */
    if (req->out.n > req->out.max / 2)
        req->stream_full = true;
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
        (void)enqueue(req, CW_STR(":\n")); /* no empty line: it would end an event */
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
