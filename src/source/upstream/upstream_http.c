/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upstream_http.c - the transport over HTTP: a request is a POST, or a GET with the request in its
 * query. Each loop has connections of its own and logs in for itself.
 *
 *     NONE ─► RUNNING: token, initial calls ─► DONE ─► NONE on 401, or when the token expires
 */
#include <stdlib.h>

#include "base/percent.h"
#include "metrics/metrics.h"
#include "metrics/names.h"
#include "source/upstream/upstream_int.h"
#include "source/upstream/upstream_login.h"

#define SCRATCH_MAX (1024u * 1024u)
#define COOKIE_MIN 8u /* bytes of a value that counts as a secret; shorter ones may be words */

typedef enum login_state {
    LOGIN_NONE,
    LOGIN_RUNNING,
    LOGIN_DONE,
} login_state;

typedef struct http_upstream {
    cw_upstream base;
    cw_client *client;
    cw_list waiting; /* of cw_upstream_req: for a login */
    uint64_t last_id;
    login_state state;
    cw_upstream_login login;
    cw_client_req init_call;
    cw_upstream_headers init_headers;
    cw_deferred later; /* start the login */
    char *cookies, *handshake;
    cw_secrets session;     /* token and cookies of the login */
    cw_arena session_texts; /* its texts */
    unsigned depth;         /* of loops over the waiting requests: their owners may close this */
    bool was_late;          /* the last login took longer than its token was good */
    bool is_closing;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
} http_upstream;

static http_upstream *http_of(cw_upstream *upstream)
{
    return CW_CONTAINER(upstream, http_upstream, base);
}

static cw_code send_now(http_upstream *h, cw_upstream_req *req, cw_err *err);
static void end_if_closing(http_upstream *h);

/* ---- requests that wait for a login ---- */

static bool is_logged_in(const http_upstream *h)
{
    const cw_endpoint *s = h->base.service;
    bool needs_none = s->config.init_calls.n == 0 && s->oauth_basic.n == 0;
    return needs_none || (h->state == LOGIN_DONE && !cw_oauth_token_is_needed(&h->login.oauth));
}

static void stop_waiting(cw_upstream_req *req)
{
    req->upstream->n_waiting -= req->is_waiting;
    req->is_waiting = false;
}

static void fail(cw_upstream_req *req, cw_client_end end, const char *why)
{
    cw_upstream_reply reply = {.end = end, .why = why};
    cw_upstream_finish(req, &reply);
}

static void fail_code(cw_upstream_req *req, cw_code rc, const char *why)
{
    fail(req, rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, why);
}

static void fail_waiting(http_upstream *h, cw_client_end end, const char *why)
{
    h->depth++;
    /* Only these: an owner may send another request, which waits for the next login. */
    for (size_t n = h->base.n_waiting; n && !cw_list_is_empty(&h->waiting); n--)
        fail(CW_CONTAINER(h->waiting.next, cw_upstream_req, node), end, why);
    end_if_closing(h);
}

static void send_waiting(http_upstream *h)
{
    h->depth++;
    while (!cw_list_is_empty(&h->waiting) && is_logged_in(h)) {
        cw_upstream_req *req = CW_CONTAINER(h->waiting.next, cw_upstream_req, node);
        cw_err err = {0};
        stop_waiting(req);
        cw_list_remove(&req->node);
        cw_list_add(&h->base.running, &req->node);
        cw_code rc = send_now(h, req, &err);
        if (rc)
            fail_code(req, rc, err.msg);
    }
    end_if_closing(h);
}

/* The login starts later: the function that sends must return before it calls an owner. */
static void log_in(http_upstream *h)
{
    if (h->state == LOGIN_RUNNING)
        return;
    h->state = LOGIN_RUNNING;
    cw_loop_defer(h->base.loop, &h->later);
}

static void enqueue(http_upstream *h, cw_upstream_req *req)
{
    req->is_waiting = true;
    h->base.n_waiting++;
    cw_list_remove(&req->node);
    cw_list_add(&h->waiting, &req->node);
    log_in(h);
}

/* ---- headers ---- */

static void free_headers(cw_upstream_headers *headers)
{
    free(headers->texts);
    *headers = (cw_upstream_headers){.n = 0};
}

/* The headers of the current login and of a request (NULL: none). They replace those of *ret. */
static cw_code make_headers(const http_upstream *h, const cw_upstream_req *req,
                            cw_upstream_headers *ret, cw_err *err)
{
    const cw_http_header all[] = {
        {CW_STR("traceparent"), req ? req->traceparent : CW_STR("")},
        {CW_STR("tracestate"), req ? req->tracestate : CW_STR("")},
        {CW_STR("Cookie"), cw_str_from(h->cookies)},
        {h->base.service->config.handshake_header, cw_str_from(h->handshake)},
        {CW_STR("Authorization"), cw_str_from(h->login.oauth.token)},
    };
    size_t size = 0;
    free_headers(ret);
    for (size_t i = 0; i < CW_COUNT(all); i++)
        size += all[i].value.n;
    if (size == 0)
        return CW_OK;
    char *to = ret->texts = malloc(size);
    if (!to)
        return cw_fail_nomem(err);
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        cw_str value = all[i].value;
        if (value.n == 0)
            continue;
        memcpy(to, value.p, value.n);
        ret->items[ret->n++] = (cw_http_header){all[i].name, cw_str_make(to, value.n)};
        to += value.n;
    }
    return CW_OK;
}

/* ---- responses ---- */

static void send_again(http_upstream *h, cw_upstream_req *req)
{
    cw_err err = {0};
    req->was_again = true;
    cw_list_remove(&req->node);
    cw_list_add(&h->base.running, &req->node);
    cw_code rc = send_now(h, req, &err);
    if (rc)
        fail_code(req, rc, err.msg);
}

/* Keep a header that the service requires in later requests. False: the response has none. */
static bool take_handshake(http_upstream *h, const cw_client_response *answer)
{
    const cw_endpoint *s = h->base.service;
    if (!s->config.handshake_header.n || answer->status != s->config.handshake_status)
        return false;
    cw_str value = answer->wanted[CW_UPSTREAM_HEADER_HANDSHAKE];
    char *copy = value.p ? cw_str_dup(value) : NULL;
    if (!copy)
        return false;
    free(h->handshake);
    h->handshake = copy;
    return true;
}

/* Whether the status shows that the login has ended, and another one may help. */
static bool log_out(http_upstream *h, unsigned status)
{
    const cw_endpoint *s = h->base.service;
    bool by_calls = s->config.init_calls.n && (status == 401 || status == 403);
    bool by_token = s->oauth_basic.n && status == 401;
    if (!by_calls && !by_token)
        return false;
    if (h->state == LOGIN_DONE) {
        h->state = LOGIN_NONE;
        cw_oauth_token_drop(&h->login.oauth);
    }
    return true;
}

/* Whether a rejected request is sent once more. The service has not carried it out. */
static bool retry(http_upstream *h, cw_upstream_req *req, const cw_client_response *answer)
{
    if (req->was_again)
        return false;
    if (take_handshake(h, answer)) {
        send_again(h, req);
        return true;
    }
    if (!log_out(h, answer->status))
        return false;
    req->was_again = true;
    enqueue(h, req);
    return true;
}

static void on_done(cw_client_req *http, cw_client_end end, const cw_client_response *answer,
                    const char *why)
{
    cw_upstream_req *req = http->ctx;
    http_upstream *h = http_of(req->upstream);
    req->is_sent = false;
    if (end == CW_CLIENT_OK && retry(h, req, answer))
        return;
    cw_upstream_reply reply = {.end = end, .answer = answer, .why = why, .session = &h->session};
    cw_upstream_finish(req, &reply);
}

/* ---- requests ---- */

/* Whether a request is sent by GET where it fits into a URL. */
static bool uses_get(const cw_upstream *upstream, bool reads)
{
    const cw_preset_values *words = &upstream->service->words;
    return words->gets || (words->gets_reads && reads);
}

static uint64_t next_id(cw_upstream *upstream, bool reads)
{
    uint64_t next = ++http_of(upstream)->last_id;
    return uses_get(upstream, reads) ? CW_UPSTREAM_GET_ID : next;
}

/* PATH?query=…; NULL: it is too long, or no memory. Then the request is a POST. */
static char *make_query(const cw_upstream *upstream, const cw_upstream_req *req)
{
    cw_str path = req->path.n ? req->path : upstream->service->url.path;
    cw_buf out;
    cw_buf_init(&out, CW_UPSTREAM_QUERY_MAX);
    cw_buf_add(&out, path);
    cw_buf_add_char(&out, memchr(path.p, '?', path.n) ? '&' : '?');
    cw_buf_add(&out, CW_STR("query="));
    for (size_t i = 0; i < req->n_body; i++)
        cw_percent_encode(&out, req->body[i]);
    char *text = cw_buf_take(&out, NULL);
    cw_buf_done(&out);
    return text;
}

static void on_data(cw_client_req *http, const cw_client_response *head, cw_str piece)
{
    cw_upstream_req *req = http->ctx;
    req->on_data(req, head, piece);
}

static void add_more_headers(cw_upstream_headers *to, const cw_upstream_req *req)
{
    for (size_t i = 0; i < req->n_more && i < CW_UPSTREAM_MORE_HEADERS; i++)
        to->items[to->n++] = req->more[i];
}

static cw_http_method verb_of(const cw_upstream_req *req)
{
    if (req->is_delete)
        return CW_HTTP_DELETE;
    return req->n_body && !req->query ? CW_HTTP_POST : CW_HTTP_GET;
}

static cw_code send_now(http_upstream *h, cw_upstream_req *req, cw_err *err)
{
    cw_code rc = make_headers(h, req, &req->headers, err);
    if (rc)
        return rc;
    add_more_headers(&req->headers, req);
    if (uses_get(&h->base, req->reads) && req->n_body && !req->query)
        req->query = make_query(&h->base, req);
    req->http = (cw_client_req){
        .method = verb_of(req),
        .path = req->query ? cw_str_from(req->query) : req->path,
        .headers = req->headers.items,
        .n_headers = req->headers.n,
        .body = req->query ? NULL : req->body,
        .n_body = req->query ? 0 : req->n_body,
        .may_repeat = req->may_repeat,
        .owner = req->owner,
        .on_done = on_done,
        .on_data = req->on_data ? on_data : NULL,
        .ctx = req,
    };
    rc = cw_client_send(h->client, &req->http, err);
    req->is_sent = rc == CW_OK;
    return rc;
}

static cw_code send_request(cw_upstream *upstream, cw_upstream_req *req, cw_err *err)
{
    http_upstream *h = http_of(upstream);
    if (is_logged_in(h))
        return send_now(h, req, err);
    if (h->base.n_waiting >= upstream->service->config.queue)
        return cw_fail(err, CW_LIMIT, "too many wait for the login");
    enqueue(h, req);
    return CW_OK;
}

static void cancel_request(cw_upstream *upstream, cw_upstream_req *req)
{
    if (req->is_sent)
        cw_client_cancel(http_of(upstream)->client, &req->http);
}

static void forget(cw_upstream_req *req)
{
    stop_waiting(req);
    free_headers(&req->headers);
    free(req->query);
    req->query = NULL;
}

/* ---- the login ---- */

static http_upstream *of_login(cw_upstream_login *login)
{
    return CW_CONTAINER(login, http_upstream, login);
}

static void keep_cookies(http_upstream *h, const cw_client_response *answer)
{
    char *copy = answer->cookies.n ? cw_str_dup(answer->cookies) : NULL;
    if (!copy)
        return;
    free(h->cookies);
    h->cookies = copy;
}

/* The token and the values of the cookies are as secret as the credentials they were issued for. */
static cw_code keep_session(http_upstream *h)
{
    cw_str token = {NULL, 0}, rest = cw_str_from(h->cookies);
    h->session.n = 0;
    cw_arena_reset(&h->session_texts);
    if (h->login.oauth.token)
        cw_str_cut(cw_str_from(h->login.oauth.token), ' ', &token);
    cw_code rc = cw_secrets_add(&h->session, token, &h->session_texts);
    while (rest.n && !rc) {
        cw_str value, pair = cw_str_cut(rest, ';', &rest);
        cw_str_cut(pair, '=', &value);
        if (value.p && value.n >= COOKIE_MIN)
            rc = cw_secrets_add(&h->session, value, &h->session_texts);
    }
    return rc == CW_LIMIT ? CW_OK : rc; /* only the first cookies are redacted */
}

static void on_login_failed(cw_upstream_login *login, cw_client_end end, const char *why)
{
    http_upstream *h = of_login(login);
    if (h->init_call.ctx)
        cw_client_cancel(h->client, &h->init_call);
    h->state = LOGIN_NONE;
    h->was_late = false;
    fail_waiting(h, end, why);
}

/* Continue the login with the token, or with the cookies of an initial call. */
static void go_on(http_upstream *h)
{
    if (keep_session(h))
        on_login_failed(&h->login, CW_CLIENT_NOMEM, "not enough memory for the login");
    else
        cw_upstream_login_continue(&h->login);
}

static void on_token(cw_upstream_login *login)
{
    go_on(of_login(login));
}

static void on_init_response(cw_client_req *http, cw_client_end end,
                             const cw_client_response *answer, const char *why)
{
    http_upstream *h = http->ctx;
    cw_upstream_reply reply = {.end = end, .answer = answer, .why = why, .session = &h->session};
    h->init_call.ctx = NULL;
    if (!cw_upstream_login_accept(&h->login, &reply))
        return;
    keep_cookies(h, answer);
    go_on(h);
}

static uint64_t next_login_id(cw_upstream_login *login)
{
    return ++of_login(login)->last_id; /* always by POST */
}

static cw_code send_init_call(cw_upstream_login *login, cw_err *err)
{
    http_upstream *h = of_login(login);
    cw_code rc = make_headers(h, NULL, &h->init_headers, err);
    if (rc)
        return rc;
    h->init_call = (cw_client_req){
        .method = CW_HTTP_POST,
        .headers = h->init_headers.items,
        .n_headers = h->init_headers.n,
        .body = login->body,
        .n_body = CW_REQUEST_TEMPLATE_PIECES,
        .on_done = on_init_response,
        .ctx = h,
    };
    rc = cw_client_send(h->client, &h->init_call, err);
    if (rc)
        h->init_call.ctx = NULL;
    return rc;
}

/* The token may expire before the initial calls are over, perhaps because it was an old one. One
 * more login requests a new token. If that expires too, a third login would not help. */
static void on_logged_in(cw_upstream_login *login)
{
    http_upstream *h = of_login(login);
    h->state = LOGIN_DONE;
    bool is_late = !is_logged_in(h) && !cw_list_is_empty(&h->waiting);
    if (is_late && h->was_late) {
        on_login_failed(login, CW_CLIENT_CONNECT, "the login takes longer than its token is good");
        return;
    }
    h->was_late = is_late;
    if (is_late)
        log_in(h);
    else
        send_waiting(h);
}

static const cw_upstream_login_ops login_ops = {
    .on_token = on_token,
    .next_id = next_login_id,
    .send = send_init_call,
    .on_done = on_logged_in,
    .on_failed = on_login_failed,
    .answers_notifications = true,
    .error_end = CW_CLIENT_REFUSED,
};

static void on_later(cw_deferred *later)
{
    http_upstream *h = CW_CONTAINER(later, http_upstream, later);
    /* The old session ends here: a login must not carry its cookies. */
    free(h->cookies);
    h->cookies = NULL;
    cw_upstream_login_start(&h->login);
}

/* ---- open and close ---- */

static void free_upstream(http_upstream *h)
{
    cw_endpoint_unref(h->base.service);
    cw_upstream_login_free(&h->login);
    cw_arena_done(&h->session_texts);
    free(h->cookies);
    free(h->handshake);
    free(h);
}

static void on_client_closed(void *ctx)
{
    http_upstream *h = ctx;
    void (*on_closed)(void *) = h->on_closed;
    void *closed_ctx = h->closed_ctx;
    free_upstream(h);
    if (on_closed)
        on_closed(closed_ctx);
}

static void end_if_closing(http_upstream *h)
{
    if (--h->depth == 0 && h->is_closing)
        cw_client_close(h->client, on_client_closed, h);
}

static void close_upstream(cw_upstream *upstream, void (*on_closed)(void *ctx), void *ctx)
{
    http_upstream *h = http_of(upstream);
    while (!cw_list_is_empty(&h->waiting))
        cw_upstream_cancel(upstream, CW_CONTAINER(h->waiting.next, cw_upstream_req, node));
    cw_loop_cancel_deferred(&h->later);
    cw_upstream_login_done(&h->login);
    if (h->init_call.ctx)
        cw_client_cancel(h->client, &h->init_call);
    free_headers(&h->init_headers);
    h->on_closed = on_closed;
    h->closed_ctx = ctx;
    h->is_closing = true;
    h->depth++;
    end_if_closing(h);
}

static cw_code open_client(http_upstream *h, size_t answer_size, cw_err *err)
{
    const cw_endpoint *s = h->base.service;
    const cw_str wanted[] = {CW_STR("Set-Cookie"), s->config.handshake_header,
                             CW_STR("Mcp-Session-Id")};
    bool is_mcp = cw_dialect_is_mcp(s->protocol.dialect);
    cw_client_opts opts = {
        .url = s->url,
        .connections = s->config.connections,
        .waiting = s->config.queue,
        .connect_ms = s->config.connect_ms,
        .first_byte_ms = s->config.first_byte_ms,
        .answer_size = answer_size,
        .headers = s->headers,
        .n_headers = s->n_headers,
        .wanted = wanted,
        .n_wanted = is_mcp                         ? 3
                    : s->config.handshake_header.n ? 2
                    : s->config.init_calls.n       ? 1
                                                   : 0,
        .tls = {s->config.tls.ca_file, s->config.tls.certificate, s->config.tls.key,
                s->config.tls.server_name},
        .proxy = s->config.proxy,
        .metrics_source = cw_metrics_slot(CW_METRICS_SOURCE, s->config.name),
    };
    return cw_client_new(h->base.loop, &opts, &h->client, err);
}

cw_code cw_upstream_open_http(size_t answer_size, const cw_upstream *base, cw_upstream **ret,
                              cw_err *err)
{
    static const cw_upstream_ops ops = {
        .next_id = next_id,
        .send = send_request,
        .cancel = cancel_request,
        .forget = forget,
        .close = close_upstream,
    };
    http_upstream *h = calloc(1, sizeof *h);
    if (!h)
        return cw_fail_nomem(err);
    h->base = *base;
    h->base.ops = &ops;
    cw_code rc = open_client(h, answer_size, err);
    if (rc) {
        free(h);
        return rc;
    }
    cw_list_init(&h->waiting);
    h->later.fn = on_later;
    cw_arena_init(&h->session_texts, SCRATCH_MAX);
    cw_upstream_login_init(&h->login, base->service, base->loop, &login_ops);
    *ret = &h->base;
    return CW_OK;
}
