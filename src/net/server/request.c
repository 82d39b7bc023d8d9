/* SPDX-License-Identifier: GPL-2.0-or-later */
/* request.c - one request: head, body, checks, and its pool. */
#include <assert.h>
#include <stdlib.h>

#include "metrics/metrics.h"
#include "net/addr/network.h"
#include "net/server/server_int.h"

/* A request's memory: what its body may become as a document, and room to work. */
#define ARENA_FACTOR 10u
#define ARENA_BASE (256u * 1024u)
/* Body buffers up to this size are kept for the next request. */
#define BODY_KEEP 16384u
/* Requests of a loop that keep their memory after a burst. */
#define POOL_KEEP 64u

/* The headers that a page of another origin may send, and the prefix of those for arguments. */
#define ALLOWED_HEADERS                                                                            \
    "Authorization, Content-Type, Accept-Language, MCP-Protocol-Version, Mcp-Method, Mcp-Name, "   \
    "Mcp-Session-Id, Last-Event-ID, traceparent, tracestate"
#define PARAM_PREFIX "mcp-param-"
#define PREFLIGHT_MAX_AGE "600" /* seconds; browsers have lower limits of their own */

/* ---- slots ---- */

static cw_http_req *grow_pool(cw_server_loop *sl)
{
    if (sl->n_slots == sl->cap_slots) {
        uint32_t cap = sl->cap_slots ? sl->cap_slots * 2 : 64;
        cw_http_req **slots = realloc(sl->slots, cap * sizeof *slots);
        if (!slots)
            return NULL;
        sl->slots = slots;
        uint32_t *free_slots = realloc(sl->free_slots, cap * sizeof *free_slots);
        if (!free_slots)
            return NULL;
        sl->free_slots = free_slots;
        sl->cap_slots = cap;
    }
    cw_http_req *req = calloc(1, sizeof *req);
    if (!req)
        return NULL;
    req->slot = sl->n_slots;
    cw_arena_init(&req->arena, 0);
    cw_buf_init(&req->body, 0);
    sl->slots[sl->n_slots++] = req;
    return req;
}

cw_http_req *cw_request_new(cw_conn *c)
{
    cw_server_loop *sl = c->sl;
    const cw_server_opts *opts = &sl->settings->opts;
    cw_http_req *req = sl->n_free ? sl->slots[sl->free_slots[--sl->n_free]] : grow_pool(sl);
    if (!req)
        return NULL;
    req->c = c;
    req->arena.max = (size_t)opts->body_size * ARENA_FACTOR + ARENA_BASE;
    req->body.max = (size_t)opts->body_size;
    cw_buf_init(&req->out, opts->stream_queue);
    req->param = CW_STR("");
    req->route = NULL;
    req->bytes = NULL;
    req->listener = NULL;
    req->data = NULL;
    req->status = 0;
    req->sent = 0;
    req->charged = 0;
    req->skipped = NULL;
    req->from_page = false;
    req->answered = req->stream_sse = req->stream_full = req->ending = req->cancels_on_eof = false;
    req->ids = (cw_ids){.request = cw_ids_new_request()};
    req->started_ns = cw_loop_recent_ns(&c->sl->loop);
    cw_http1_head_init(&req->head, &opts->head);
    return req;
}

/* The body counts no more. */
static void discharge(cw_http_req *req)
{
    if (CW_UNLIKELY(req->charged))
        cw_fair_slots_give(&req->c->sl->server->bodies, &req->payer, req->charged);
    req->charged = 0;
}

void cw_request_free(cw_http_req *req)
{
    cw_server_loop *sl = req->c->sl;
    discharge(req);
    req->generation++;
    req->c = NULL;
    cw_arena_recycle(&req->arena);
    cw_buf_done(&req->out);
    if (req->body.cap > BODY_KEEP)
        cw_buf_release(&req->body);
    else
        cw_buf_clear(&req->body);
    sl->free_slots[sl->n_free++] = req->slot;
}

static void free_request(cw_http_req *req)
{
    cw_arena_done(&req->arena);
    cw_buf_done(&req->body);
    free(req);
}

void cw_request_pool_trim(cw_server_loop *sl)
{
    while (sl->n_slots > POOL_KEEP && !sl->slots[sl->n_slots - 1]->c)
        free_request(sl->slots[--sl->n_slots]);
    sl->n_free = 0;
    for (uint32_t i = 0; i < sl->n_slots; i++) {
        if (!sl->slots[i]->c)
            sl->free_slots[sl->n_free++] = i;
    }
}

void cw_request_pool_done(cw_server_loop *sl)
{
    for (uint32_t i = 0; i < sl->n_slots; i++)
        free_request(sl->slots[i]);
    free(sl->slots);
    free(sl->free_slots);
    sl->slots = NULL;
    sl->free_slots = NULL;
    sl->n_slots = sl->cap_slots = sl->n_free = 0;
}

void cw_http_listen(cw_http_req *req, cw_http_listener fn, void *ctx)
{
    req->listener = fn;
    req->listener_ctx = ctx;
}

void cw_http_cancel_on_eof(cw_http_req *req)
{
    req->cancels_on_eof = true;
    /* One that came already is announced again. */
    if (CW_UNLIKELY(req->c->input_over))
        cw_conn_settle(req->c);
}

void cw_request_notify(cw_http_req *req, cw_http_event event)
{
    if (!req->listener)
        return;
    cw_ids *outer = cw_ids_enter(&req->ids);
    req->listener(req, event, req->listener_ctx);
    cw_ids_leave(outer);
}

/* ---- from head to handler ---- */

static bool has_body(const cw_http_req *req)
{
    return req->head.chunked || req->head.content_length > 0;
}

/* A request is answered without its body: close, rather than read unused bytes. The body may
 * be on its way even from a client that asked for the close. */
static void leave_body(cw_http_req *req)
{
    if (!has_body(req))
        return;
    req->c->closing = true;
    req->c->client_done = false;
}

/* Refuse a request whose framing is sound: the connection can go on unless there is a body. */
static void refuse(cw_http_req *req, unsigned status, const char *code, const char *message)
{
    leave_body(req);
    cw_http_reply_error(req, status, code, cw_str_from(message));
}

static cw_str field(const cw_http_req *req, uint16_t index)
{
    return index == CW_HTTP1_NONE ? CW_STR("") : cw_http1_value(&req->head, req->bytes, index);
}

static bool check_target(cw_http_req *req)
{
    const char *reason = NULL;
    cw_str raw = cw_str_make(req->bytes + req->head.target_at, req->head.target_len);
    cw_code rc = cw_target_parse(raw, &req->arena, &req->target, &reason);
    if (rc == CW_INVALID)
        cw_reply_refuse(req, 400, reason);
    else if (rc)
        cw_reply_refuse(req, 503, "out of memory");
    return !rc;
}

/* Whether it comes from a proxy whose statements about the client are trusted. */
static bool is_proxied(const cw_http_req *req)
{
    const cw_proxies *proxies = req->c->sl->settings->proxies;
    cw_address peer;
    if (CW_LIKELY(!proxies) || req->c->ignores_forwarded)
        return false;
    cw_conn_peer_address(req->c, &peer);
    return cw_proxies_has(proxies, &peer);
}

/* The first value of a list: the outermost of several proxies wrote it. */
static cw_str first_of(const cw_http_req *req, cw_str name)
{
    cw_str rest;
    cw_str value = cw_http_req_header(req, name);
    return value.p ? cw_str_trim(cw_str_cut(value, ',', &rest)) : value;
}

/* Whether the client uses TLS, to this server or to a trusted proxy. */
static bool is_secure(const cw_http_req *req)
{
    return req->c->tls || (is_proxied(req) &&
                           cw_str_ieq(first_of(req, CW_STR("X-Forwarded-Proto")), CW_STR("https")));
}

/* Whether pages of every origin may ask for the path. */
static bool is_open(const cw_http_req *req)
{
    cw_str param;
    const cw_route *route = cw_router_match(req->c->sl->server->router, req->target.path, &param);
    return route && route->is_open;
}

/* Whether a page is one of this server: browsers let it read everything. */
static bool is_own(cw_str origin, bool is_https, cw_str host)
{
    cw_str rest;
    (void)cw_str_cut(origin, ':', &rest);
    return rest.p && cw_origin_has_scheme(origin, is_https) && cw_str_starts(rest, CW_STR("//")) &&
           cw_host_eq(cw_str_make(rest.p + 2, rest.n - 2), host);
}

/* The one place where Host and Origin are judged: before routing, so for every path there is or
 * will be. */
static bool check_host(cw_http_req *req)
{
    const cw_hostlist *list = req->c->sl->settings->hosts;
    cw_str host = field(req, req->head.host);
    if (req->target.authority.p) {
        if (req->head.host != CW_HTTP1_NONE && !cw_host_eq(req->target.authority, host)) {
            cw_reply_refuse(req, 400, "the target's host is not the Host header's");
            return false;
        }
        host = req->target.authority;
    }
    /* A 1.0 client without Host is no browser, and only browsers can be rebound. */
    bool checked = req->head.host != CW_HTTP1_NONE || req->target.authority.p;
    if (checked && !req->c->is_local && !cw_hostlist_allows_host(list, host)) {
        cw_metrics_count(CW_METRIC_REQUESTS_REJECTED, CW_REJECTED_HOST, 0, 0);
        refuse(req, 421, "misdirected_request", "This server does not answer for that host");
        return false;
    }
    if (req->head.origin == CW_HTTP1_NONE)
        return true;
    cw_str origin = field(req, req->head.origin);
    bool is_https = is_secure(req);
    bool is_allowed = cw_hostlist_allows_origin(list, origin, is_https, host);
    req->from_page = is_allowed && !is_own(origin, is_https, host);
    if (is_allowed || is_open(req))
        return true;
    cw_metrics_count(CW_METRIC_REQUESTS_REJECTED, CW_REJECTED_ORIGIN, 0, 0);
    refuse(req, 403, "origin_not_allowed", "This origin may not use this server");
    return false;
}

static const char *methods_of(cw_http_req *req)
{
    const cw_route *route = req->route;
    return route->protocol ? route->protocol->allow(req, route->protocol_self) : route->allow;
}

static bool is_param_header(cw_str name)
{
    const cw_str prefix = CW_STR(PARAM_PREFIX);
    return name.n > prefix.n && cw_str_ieq(cw_str_make(name.p, prefix.n), prefix) &&
           cw_http_is_token(name);
}

/* The fixed list, and the requested headers of arguments. */
static cw_str allowed_headers(cw_http_req *req)
{
    cw_str rest = cw_http_req_header(req, CW_STR("Access-Control-Request-Headers"));
    cw_str allowed = CW_STR(ALLOWED_HEADERS);
    cw_buf b;
    cw_buf_init(&b, CW_HTTP_RESPONSE_HEAD / 2);
    cw_buf_add(&b, allowed);
    while (rest.p) {
        cw_str name = cw_str_trim(cw_str_cut(rest, ',', &rest));
        if (!is_param_header(name))
            continue;
        cw_buf_add(&b, CW_STR(", "));
        cw_buf_add(&b, name);
    }
    cw_str all = b.code ? (cw_str){NULL, 0} : cw_arena_dup_str(&req->arena, cw_buf_str(&b));
    cw_buf_done(&b);
    return all.p ? all : allowed;
}

static void answer_options(cw_http_req *req, const char *allow)
{
    cw_http_header headers[5] = {{CW_STR("Allow"), cw_str_from(allow)}};
    cw_http_response answer = {.status = 204, .headers = headers, .n_headers = 1};
    bool is_for_all = req->route && req->route->is_open;
    /* A preflight request of a browser. */
    if ((req->from_page || is_for_all) &&
        cw_http_req_header(req, CW_STR("Access-Control-Request-Method")).p) {
        headers[1] = (cw_http_header){CW_STR("Access-Control-Allow-Methods"), cw_str_from(allow)};
        headers[2] = (cw_http_header){CW_STR("Access-Control-Allow-Headers"), allowed_headers(req)};
        headers[3] = (cw_http_header){CW_STR("Access-Control-Max-Age"), CW_STR(PREFLIGHT_MAX_AGE)};
        headers[4] = (cw_http_header){CW_STR("Access-Control-Allow-Origin"), CW_STR("*")};
        answer.n_headers = is_for_all ? 5 : 4;
    }
    leave_body(req);
    cw_http_reply(req, &answer);
}

void cw_http_reply_not_allowed(cw_http_req *req)
{
    const cw_http_header headers[] = {{CW_STR("Allow"), cw_str_from(methods_of(req))},
                                      cw_reply_no_store};
    cw_reply_error(req, 405, "method_not_allowed",
                   CW_STR("This resource does not have that method"), headers, CW_COUNT(headers));
}

/* HEAD is GET without the body, where there is no protocol of its own. */
static bool has_handler(const cw_route *route, cw_http_method method)
{
    return route->handlers[method] ||
           (method == CW_HTTP_HEAD && route->handlers[CW_HTTP_GET] && !route->protocol);
}

/* Most requests of a loop have the path of the one before. */
static const cw_route *match_route(cw_http_req *req)
{
    cw_server_loop *sl = req->c->sl;
    if (sl->last_route && cw_str_eq(req->target.path, sl->last_route->prefix))
        return sl->last_route;
    const cw_route *route = cw_router_match(sl->server->router, req->target.path, &req->param);
    if (route && !route->variable)
        sl->last_route = route;
    return route;
}

static bool find_handler(cw_http_req *req)
{
    cw_http_method method = req->head.method;
    if (method == CW_HTTP_UNKNOWN) {
        refuse(req, 501, "not_implemented", "Unknown request method");
        return false;
    }
    if (method == CW_HTTP_OPTIONS && cw_str_is(req->target.path, "*")) {
        answer_options(req, "GET, HEAD, POST, OPTIONS");
        return false;
    }
    req->route = match_route(req);
    if (!req->route || !(req->route->at & req->c->at) || !cw_route_is_on(req->route)) {
        req->route = NULL;
        refuse(req, 404, "not_found", "There is nothing at this path");
        return false;
    }
    if (CW_LIKELY(has_handler(req->route, method)))
        return true;
    if (method == CW_HTTP_OPTIONS) {
        answer_options(req, methods_of(req));
        return false;
    }
    leave_body(req);
    cw_http_reply_not_allowed(req);
    return false;
}

static void run(cw_http_req *req)
{
    cw_http_method m = req->head.method;
    if (!req->route->handlers[m])
        m = CW_HTTP_GET; /* HEAD */
    cw_conn *c = req->c;
    uint32_t generation = req->generation;
    c->state = CONN_RUN;
    cw_ids *outer = cw_ids_enter(&req->ids);
    req->route->handlers[m](req, req->route->selves[m]);
    cw_ids_leave(outer);
    /* Begun after the order to stop went round. Requests are pooled, so this one can be asked. */
    bool running =
        req->generation == generation && (c->state == CONN_RUN || c->state == CONN_STREAM);
    if (c->sl->stopping && running)
        cw_request_notify(req, CW_HTTP_STOPPING);
}

static bool has_coding(const cw_http_req *req)
{
    const cw_str name = CW_STR("Content-Encoding");
    size_t i = cw_http1_find(&req->head, req->bytes, name, 0);
    while (i != CW_HTTP1_NONE &&
           cw_str_ieq(cw_http1_value(&req->head, req->bytes, i), CW_STR("identity")))
        i = cw_http1_find(&req->head, req->bytes, name, i + 1);
    return i != CW_HTTP1_NONE;
}

/* ---- bodies that are refused ----
 *
 * The error should have the id of the JSON-RPC request, and the id may be its last member. So the
 * rest of a body that cannot be kept is read and dropped, up to a ceiling in bytes and time.
 */

#define TOO_LARGE "request body too large"

static void drop_body(cw_http_req *req)
{
    discharge(req);
    cw_buf_release(&req->body);
}

/* Whether ids are looked for in bodies that are refused. */
static bool has_ids(const cw_http_req *req)
{
    return req->route->protocol && req->head.method == CW_HTTP_POST;
}

/* The longest body that is read; one that is kept may be shorter. */
static uint64_t max_read(const cw_http_req *req)
{
    uint64_t max = req->c->sl->settings->opts.body_size;
    return has_ids(req) ? max + CW_HTTP_MAX_SKIPPED : max;
}

/* Refuse a request because of its body: now, or behind the body. */
static void refuse_body(cw_http_req *req, unsigned status, const char *reason)
{
    cw_skipped_body *s = has_ids(req) ? cw_arena_alloc(&req->arena, sizeof *req->skipped) : NULL;
    if (!s) {
        cw_reply_refuse(req, status, reason);
        return;
    }
    *s = (cw_skipped_body){.status = status,
                           .reason = reason,
                           .until_ns = cw_clock_ns() + UINT64_C(1000000) * CW_HTTP_SKIP_MS};
    cw_json_id_scan_init(&s->scan);
    cw_json_id_scan_add(&s->scan, cw_buf_str(&req->body));
    req->skipped = s;
    drop_body(req);
}

void cw_request_refuse_slow(cw_http_req *req)
{
    if (req->skipped)
        cw_reply_refuse(req, req->skipped->status, req->skipped->reason);
    else
        cw_reply_refuse(req, 408, "the request body came too slowly");
}

/* Read on; returns the bytes that were used. */
static size_t skip_body(cw_http_req *req, cw_str in)
{
    cw_skipped_body *s = req->skipped;
    size_t n = in.n;
    cw_str piece;
    cw_code rc;
    while ((rc = cw_http1_read_body(&req->reader, &in, &piece)) == CW_AGAIN && piece.n)
        cw_json_id_scan_add(&s->scan, piece);
    if (rc == CW_AGAIN && cw_clock_ns() < s->until_ns)
        return n - in.n;
    cw_str id = rc == CW_DONE ? cw_json_id_scan_end(&s->scan) : (cw_str){NULL, 0};
    cw_reply_refuse_id(req, s->status, s->reason, id);
    return n;
}

static bool check_body(cw_http_req *req)
{
    uint64_t max = req->c->sl->settings->opts.body_size;
    /* A client that asks first has sent nothing yet: it is refused at once. */
    bool asks = req->head.expect_continue && req->head.content_length > max;
    if (cw_http1_body_init(&req->reader, &req->head, asks ? max : max_read(req))) {
        cw_reply_refuse(req, req->reader.status, req->reader.reason);
        return false;
    }
    if (!has_body(req))
        return true;
    /* No decoder, no bombs: a compressed body is refused, not opened. */
    if (has_coding(req)) {
        refuse(req, 415, "unsupported_media_type", "Send the body without Content-Encoding");
        return false;
    }
    return true;
}

static void send_continue(cw_conn *c)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct iovec iov = {(void *)(uintptr_t)text, sizeof text - 1};
    ssize_t sent = cw_conn_write(c, &iov, 1);
    /* A socket that takes nothing now is no harm: clients go on without the line after a while.
     * Half of it, or a record that TLS will send first of all, would spoil the answer. */
    if (sent == sizeof text - 1 || (sent == CONN_IO_AGAIN && !c->tls))
        return;
    cw_conn_lost(c);
}

void cw_request_begin(cw_http_req *req, const char *head)
{
    cw_conn *c = req->c;
    c->client_done = !req->head.keep_alive;
    if (c->client_done || c->sl->stopping || c->pipelined >= c->sl->settings->opts.pipelined)
        c->closing = true;
    req->bytes = cw_arena_dup(&req->arena, head, req->head.size);
    if (!req->bytes) {
        cw_reply_refuse(req, 503, "out of memory");
        return;
    }
    if (!check_target(req) || !check_host(req) || !find_handler(req) || !check_body(req))
        return;
    if (!has_body(req)) {
        run(req);
        return;
    }
    c->state = CONN_BODY;
    if (req->head.content_length > req->body.max)
        refuse_body(req, 413, TOO_LARGE);
    else if (req->head.expect_continue)
        send_continue(c);
}

static uint32_t units_of(uint64_t size)
{
    return (uint32_t)((size + CW_BODY_UNIT - 1) / CW_BODY_UNIT);
}

/* Many clients that each stay below the ceiling of one body must not fill the memory together, and
 * those of one network must leave some of it to others. The caller is known only after its body.
 * Small bodies are not counted: their number is limited by that of connections. */
static cw_code charge(cw_http_req *req, size_t size)
{
    if (CW_LIKELY(size <= BODY_KEEP) || units_of(size) == req->charged)
        return CW_OK;
    if (!req->charged)
        req->payer = cw_network_fair_key(cw_http_req_peer(req));
    uint32_t one = units_of(req->body.max);
    uint32_t all = (uint32_t)(req->c->sl->settings->opts.body_memory / CW_BODY_UNIT);
    cw_code rc =
        cw_fair_slots_take(&req->c->sl->server->bodies, &req->payer, units_of(size) - req->charged,
                           all > one ? all : one, /* least= */ one);
    if (!rc)
        req->charged = units_of(size);
    return rc;
}

/* NULL: a piece of the body was kept. Otherwise why the request is refused. */
static const char *add_piece(cw_http_req *req, cw_str piece)
{
    cw_code rc = charge(req, req->body.n + piece.n);
    if (rc == CW_LIMIT)
        return "too many large requests at once";
    if (!rc)
        cw_buf_add(&req->body, piece);
    return rc || req->body.code ? "out of memory" : NULL;
}

/* Keep a piece of the body. False: the request is refused for it. */
static bool keep_piece(cw_http_req *req, cw_str piece)
{
    bool is_large = piece.n > req->body.max - req->body.n;
    const char *reason = is_large ? TOO_LARGE : add_piece(req, piece);
    if (reason)
        refuse_body(req, is_large ? 413 : 503, reason);
    return !reason;
}

size_t cw_request_take_body(cw_http_req *req, const char *p, size_t n)
{
    cw_str in = cw_str_make(p, n);
    cw_str piece;
    cw_code rc;
    if (req->skipped)
        return skip_body(req, in);
    while ((rc = cw_http1_read_body(&req->reader, &in, &piece)) == CW_AGAIN && piece.n) {
        if (keep_piece(req, piece))
            continue;
        if (!req->skipped)
            return n; /* answered */
        cw_json_id_scan_add(&req->skipped->scan, piece);
        return n - in.n + skip_body(req, in);
    }
    size_t used = n - in.n;
    if (rc == CW_DONE)
        run(req);
    else if (rc != CW_AGAIN) {
        cw_reply_refuse(req, req->reader.status, req->reader.reason);
        return n;
    }
    return used;
}

/* ---- what a handler sees ---- */

cw_http_method cw_http_req_method(const cw_http_req *req)
{
    return req->head.method;
}

cw_str cw_http_req_query(const cw_http_req *req)
{
    return req->target.query;
}

cw_str cw_http_req_path(const cw_http_req *req)
{
    return req->target.path;
}

cw_str cw_http_req_param(const cw_http_req *req)
{
    return req->param;
}

/* .p is NULL for CW_HTTP1_NONE. */
static cw_str value_of(const cw_http_req *req, size_t index)
{
    return index == CW_HTTP1_NONE ? (cw_str){NULL, 0}
                                  : cw_http1_value(&req->head, req->bytes, index);
}

cw_str cw_http_req_header(const cw_http_req *req, cw_str name)
{
    return value_of(req, cw_http1_find(&req->head, req->bytes, name, 0));
}

cw_str cw_http_req_accept(const cw_http_req *req)
{
    return value_of(req, req->head.accept);
}

cw_str cw_http_req_content_type(const cw_http_req *req)
{
    return value_of(req, req->head.content_type);
}

cw_str cw_http_req_authorization(const cw_http_req *req)
{
    return value_of(req, req->head.authorization);
}

cw_str cw_http_req_header_once(const cw_http_req *req, cw_str name, bool *ret_repeats)
{
    return value_of(req, cw_http1_find_once(&req->head, req->bytes, name, ret_repeats));
}

bool cw_http_req_has_traceparent(const cw_http_req *req)
{
    return req->head.has_traceparent;
}

cw_str cw_http_req_header_next(const cw_http_req *req, cw_str name, size_t *at)
{
    size_t i = cw_http1_find(&req->head, req->bytes, name, *at);
    if (i == CW_HTTP1_NONE)
        return (cw_str){NULL, 0};
    *at = i + 1;
    return cw_http1_value(&req->head, req->bytes, i);
}

cw_str cw_http_req_body(const cw_http_req *req)
{
    return cw_buf_str(&req->body);
}

/* Whether requests may be for this host. */
static bool allows_host(const cw_http_req *req, cw_str host)
{
    return cw_host_is_valid(host) && cw_hostlist_allows_host(req->c->sl->settings->hosts, host);
}

/* Whether this host is spelt as in the configuration, without a port or with one that we listen on:
 * one of few (cw_hostlist_has_spelling). */
static bool is_own_host(const cw_http_req *req, cw_str host)
{
    uint16_t ports[CW_SERVER_MAX_LISTENERS];
    const cw_server *s = req->c->sl->server;
    for (size_t i = 0; i < s->n_listeners; i++)
        ports[i] = cw_address_port(&s->listeners[i].address);
    return cw_hostlist_has_spelling(req->c->sl->settings->hosts, host, ports, s->n_listeners);
}

cw_str cw_http_req_origin(cw_http_req *req, bool *ret_known)
{
    cw_str host = cw_http_req_header(req, CW_STR("Host"));
    const char *scheme = is_secure(req) ? "https" : "http";
    *ret_known = true;
    if (is_proxied(req)) {
        cw_str forwarded = first_of(req, CW_STR("X-Forwarded-Host"));
        /* The statement of a proxy is checked as well. */
        if (forwarded.n && allows_host(req, forwarded))
            host = forwarded;
    }
    if (!host.n)
        return CW_STR("");
    *ret_known = is_own_host(req, host);
    char *text = cw_arena_printf(&req->arena, "%s://%.*s", scheme, CW_STR_ARG(host));
    return text ? cw_str_from(text) : (cw_str){NULL, 0};
}

/* Fields of one name are one list, in their order (RFC 9110, 5.3): the last is by the proxy that is
 * nearest. .p is NULL where there is none, or no memory. */
static cw_str join_forwarded(const cw_http_req *req, cw_arena *arena)
{
    const cw_str name = CW_STR("X-Forwarded-For");
    bool repeats;
    cw_str list = cw_http_req_header_once(req, name, &repeats);
    size_t at = 0, n = 0;
    if (!repeats)
        return list;
    for (cw_str v; (v = cw_http_req_header_next(req, name, &at)).p;)
        n += v.n + 1;
    char *to = cw_arena_alloc(arena, n);
    if (!to)
        return (cw_str){NULL, 0};
    list = cw_str_make(to, n - 1);
    at = 0;
    for (cw_str v; (v = cw_http_req_header_next(req, name, &at)).p;) {
        memcpy(to, v.p, v.n);
        to += v.n;
        *to++ = ',';
    }
    return list;
}

void cw_req_client(const cw_http_req *req, cw_address *ret)
{
    cw_conn_peer_address(req->c, ret);
    if (CW_LIKELY(!req->c->sl->settings->proxies || !req->head.size || !is_proxied(req)))
        return;
    CW_UNINIT cw_address client;
    cw_str list = join_forwarded(req, &((cw_http_req *)(uintptr_t)req)->arena);
    if (list.n && cw_proxies_client(req->c->sl->settings->proxies, list, &client))
        *ret = client;
}

/* The address of the connection as text; most requests of a loop come from the one before. */
static cw_str conn_peer(const cw_conn *c)
{
    cw_peer_text *last = &c->sl->last_peer;
    if (last->n && last->family == c->peer_family &&
        memcmp(last->peer, c->peer, sizeof last->peer) == 0)
        return cw_str_make(last->text, last->n);
    CW_UNINIT cw_address address;
    cw_conn_peer_address(c, &address);
    cw_address_format_host(&address, last->text, sizeof last->text);
    last->n = strlen(last->text);
    last->family = c->peer_family;
    memcpy(last->peer, c->peer, sizeof last->peer);
    return cw_str_make(last->text, last->n);
}

cw_str cw_http_req_peer(const cw_http_req *req)
{
    CW_UNINIT char text[CW_ADDRESS_TEXT];
    cw_str peer;
    if (CW_LIKELY(!req->c->sl->settings->proxies)) {
        peer = conn_peer(req->c);
    } else {
        CW_UNINIT cw_address client;
        cw_req_client(req, &client);
        cw_address_format_host(&client, text, sizeof text);
        peer = cw_str_from(text);
    }
    cw_arena *arena = &((cw_http_req *)(uintptr_t)req)->arena;
    cw_str copy = cw_arena_dup_str(arena, peer);
    return copy.p ? copy : CW_STR("");
}

uint16_t cw_http_req_peer_port(const cw_http_req *req)
{
    return is_proxied(req) ? 0 : req->c->peer_port;
}

bool cw_http_req_is_private(const cw_http_req *req)
{
    cw_address peer;
    if (req->c->tls)
        return true;
    bool repeats = false;
    cw_str proto = is_proxied(req)
                       ? cw_http_req_header_once(req, CW_STR("X-Forwarded-Proto"), &repeats)
                       : (cw_str){NULL, 0};
    if (proto.p)
        return !repeats && cw_str_ieq(proto, CW_STR("https"));
    cw_conn_peer_address(req->c, &peer);
    return !req->c->is_far && cw_address_is_loopback(&peer);
}

bool cw_http_req_local_uid(const cw_http_req *req, uid_t *ret_uid)
{
    *ret_uid = req->c->local_uid;
    return req->c->is_local;
}

cw_arena *cw_http_req_arena(cw_http_req *req)
{
    return &req->arena;
}

cw_str cw_http_req_route(const cw_http_req *req)
{
    bool has_own = req->route && !req->route->protocol;
    return has_own ? cw_str_from(req->route->path) : CW_STR("");
}

cw_str cw_http_req_pattern(const cw_http_req *req)
{
    return req->route ? cw_str_from(req->route->path) : CW_STR("");
}

bool cw_http_req_is_tls(const cw_http_req *req)
{
    return req->c->tls != NULL;
}

cw_ids *cw_http_req_ids(cw_http_req *req)
{
    return &req->ids;
}

void cw_http_req_set_data(cw_http_req *req, void *data)
{
    req->data = data;
}

void *cw_http_req_data(const cw_http_req *req)
{
    return req->data;
}

cw_loop *cw_http_req_loop(cw_http_req *req)
{
    return &req->c->sl->loop;
}

bool cw_http_req_is_stopping(const cw_http_req *req)
{
    return req->c->sl->stopping;
}
