/* SPDX-License-Identifier: GPL-2.0-or-later */
/* response.c - what comes back on a connection of the HTTP client.
 *
 * An answer that comes with one read is handed on where it lies, in the loop's
 * buffer. Else a head is held until it is whole, and a body is collected; where
 * the next bytes can only be content, they are read to their place at once.
 */
#include <errno.h>
#include <stdio.h>

#include "net/client/client_int.h"

#define INTERIM_MAX 8u
#define READ_MORE 4096u
/* A buffer that is kept with its connection. */
#define KEEP_MAX 16384u

const cw_http1_limits cw_client_conn_limits = {
    .target = 0, .head = CW_HTTP_MAX_HEAD, .fields = CW_HTTP_MAX_FIELDS};

/* ---- a whole answer ---- */

static bool store_headers(cw_client_conn *l, const char *p);
static void load_headers(const cw_client_conn *l, cw_client_response *answer);

/* Bytes of a body kept for the next one, unless they are many. */
static void tidy(cw_buf *b)
{
    if (b->cap > KEEP_MAX)
        cw_buf_release(b);
    else
        cw_buf_clear(b);
}

static void keep(cw_client_conn *l)
{
    cw_client *c = l->client;
    tidy(&l->in);
    tidy(&l->answer);
    tidy(&l->out);
    l->state = LINK_IDLE;
    l->wanted = true;
    l->idle_since = cw_loop_now(c->loop);
    cw_client_conn_move(l, &c->idle);
    cw_loop_set_deadline(c->loop, &l->deadline, &c->idling);
    cw_client_defer_serve(c);
}

static void complete(cw_client_conn *l, cw_str body, bool more)
{
    cw_client *c = l->client;
    cw_client_req *req = l->req;
    bool is_spoiled = false;
    cw_client_response answer = {.status = l->head.code,
                                 .type = {l->type, l->type_len},
                                 .body = body,
                                 .conn = l,
                                 .is_spoiled = &is_spoiled};
    if (c->opts.n_wanted)
        load_headers(l, &answer);
    if (more || l->unsent)
        l->broken = true;
    l->req = NULL;
    l->state = LINK_TELL;
    cw_client_enter(c);
    cw_client_finish(req, CW_CLIENT_OK, &answer, "");
    /* The client may have been closed meanwhile. */
    if (l->state == LINK_TELL) {
        if (l->broken || is_spoiled || cw_loop_now(c->loop) < c->no_reuse_until)
            cw_client_conn_close(l);
        else
            keep(l);
    }
    cw_client_leave(c);
}

bool cw_client_peer(const cw_client_response *answer, cw_address *ret)
{
    ret->len = sizeof ret->sa;
    return answer->conn &&
           getpeername(answer->conn->fd, (struct sockaddr *)&ret->sa, &ret->len) == 0;
}

static void fail_too_large(cw_client_conn *l)
{
    char why[64];
    snprintf(why, sizeof why, "an answer of more than %zu bytes", l->client->opts.answer_size);
    cw_client_conn_fail(l, CW_CLIENT_TOO_LARGE, why);
}

static void refuse_body(cw_client_conn *l, cw_code rc)
{
    if (rc == CW_LIMIT && l->body.status == 413)
        fail_too_large(l);
    else
        cw_client_conn_fail(l, CW_CLIENT_GARBAGE, l->body.reason);
}

/* ---- input ---- */

/* "Keep-Alive: timeout=5": not to be used for the last part of that time, when the server may close
 * it while a request is on its way. */
static uint64_t wanted_for(cw_str value)
{
    cw_str rest = value;
    uint64_t seconds;
    while (rest.p) {
        cw_str item = cw_str_trim(cw_str_cut(rest, ',', &rest));
        if (item.n > 8 && cw_str_ieq(cw_str_make(item.p, 8), CW_STR("timeout=")) &&
            cw_str_to_u64(cw_str_make(item.p + 8, item.n - 8), &seconds) && seconds < 86400)
            return seconds > 2 ? (seconds - 1) * 1000 : seconds * 500;
    }
    return UINT64_MAX;
}

static void note_promise(cw_client_conn *l, const char *p)
{
    size_t i = cw_http1_find(&l->head, p, CW_STR("keep-alive"), 0);
    uint64_t ms = i == CW_HTTP1_NONE ? UINT64_MAX : wanted_for(cw_http1_value(&l->head, p, i));
    l->idle_until = ms == UINT64_MAX ? UINT64_MAX : cw_loop_now(l->client->loop) + ms;
}

/* Whether the connection's end will be the body's. */
static bool ends_with_close(cw_client_conn *l)
{
    cw_str none = {"", 0}, piece;
    return !l->head.chunked && !l->head.has_length &&
           cw_http1_read_body(&l->body, &none, &piece) == CW_AGAIN;
}

/* "text/event-stream", with or without parameters. */
static bool is_event_stream(const cw_http1_head *h, const char *p)
{
    cw_str rest;
    if (h->code != 200 || h->content_type == CW_HTTP1_NONE)
        return false;
    cw_str type = cw_str_trim(cw_str_cut(cw_http1_value(h, p, h->content_type), ';', &rest));
    return cw_str_ieq(type, CW_STR("text/event-stream"));
}

static bool deliver(cw_client_conn *l, cw_str piece);

/* The final head is complete. False: refused, or cancelled by the receiver of a stream. */
static bool begin_body(cw_client_conn *l, const char *p)
{
    const cw_http1_head *h = &l->head;
    bool is_stream = l->req->on_data && is_event_stream(h, p);
    cw_code rc = cw_http1_response_body_init(&l->body, h, l->req->method,
                                             is_stream ? UINT64_MAX : l->client->opts.answer_size);
    if (rc) {
        refuse_body(l, rc);
        return false;
    }
    /* A 204 has no body, but a server that frames one may send it. */
    bool odd = h->code == 204 && (h->chunked || h->content_length);
    if (!h->keep_alive || odd || ends_with_close(l))
        l->broken = true;
    l->streams = is_stream;
    l->type_len = 0;
    if (h->content_type != CW_HTTP1_NONE) {
        cw_str type = cw_http1_value(h, p, h->content_type);
        l->type_len =
            (uint8_t)(type.n < CW_CLIENT_CONN_TYPE_MAX ? type.n : CW_CLIENT_CONN_TYPE_MAX);
        memcpy(l->type, type.p, l->type_len);
    }
    if (l->client->opts.n_wanted && !store_headers(l, p)) {
        cw_client_conn_fail(l, CW_CLIENT_NOMEM, "out of memory");
        return false;
    }
    note_promise(l, p);
    l->state = LINK_BODY;
    return !is_stream || deliver(l, CW_STR(""));
}

/* Returns the bytes that were used; 0: not a whole head, or the link is closed. */
static size_t take_head(cw_client_conn *l, const char *p, size_t n)
{
    cw_code rc = cw_http1_parse_response(&l->head, p, n);
    if (rc == CW_AGAIN)
        return 0;
    if (rc) {
        cw_client_conn_fail(l, CW_CLIENT_GARBAGE, l->head.reason);
        return 0;
    }
    size_t size = l->head.size;
    if (l->head.code >= 200)
        return begin_body(l, p) ? size : 0;
    if (++l->interim > INTERIM_MAX) {
        cw_client_conn_fail(l, CW_CLIENT_GARBAGE, "too many interim answers");
        return 0;
    }
    cw_http1_response_init(&l->head, &cw_client_conn_limits);
    return size;
}

/* A piece of a stream. False: the request was cancelled. */
static bool deliver(cw_client_conn *l, cw_str piece)
{
    cw_client *c = l->client;
    cw_client_response head = {.status = l->head.code, .type = {l->type, l->type_len}};
    if (c->opts.n_wanted)
        load_headers(l, &head);
    cw_client_enter(c);
    l->req->on_data(l->req, &head, piece);
    bool is_open = l->state == LINK_BODY;
    cw_client_leave(c);
    return is_open;
}

/* Keep a piece of the body, or hand it on. False: the connection is closed. */
static bool take_piece(cw_client_conn *l, cw_str piece)
{
    if (l->streams)
        return deliver(l, piece);
    cw_buf_add(&l->answer, piece);
    if (!l->answer.code)
        return true;
    cw_client_conn_fail(l, CW_CLIENT_NOMEM, "out of memory");
    return false;
}

static void take_body(cw_client_conn *l, cw_str in)
{
    cw_str piece;
    uint64_t left = cw_http1_body_left(&l->body);
    /* Whole and in one place: no copy. */
    if (l->head.has_length && left && left <= in.n && l->answer.n == 0 && !l->streams) {
        complete(l, cw_str_make(in.p, (size_t)left), in.n > left);
        return;
    }
    for (;;) {
        cw_code rc = cw_http1_read_body(&l->body, &in, &piece);
        if (rc == CW_DONE) {
            complete(l, cw_buf_str(&l->answer), in.n > 0);
            return;
        }
        if (rc != CW_AGAIN) {
            refuse_body(l, rc);
            return;
        }
        if (piece.n == 0 || !take_piece(l, piece))
            return;
    }
}

/* Take `n` bytes; returns those that are to be held, the beginning of a head. */
static size_t take(cw_client_conn *l, const char *p, size_t n)
{
    size_t used = 0;
    if (!l->answered)
        cw_deadline_clear(&l->deadline);
    l->answered = true;
    while (l->state == LINK_HEAD && used < n) {
        size_t size = take_head(l, p + used, n - used);
        used += size;
        if (size == 0)
            return l->state == LINK_HEAD ? n - used : 0;
    }
    if (l->state == LINK_BODY)
        take_body(l, cw_str_make(p + used, n - used));
    return 0;
}

/* The state is HEAD still: the bytes of `in` from `at` on are the beginning of a head. */
static void take_held(cw_client_conn *l)
{
    size_t held = take(l, l->in.p, l->in.n);
    if (l->state == LINK_HEAD)
        cw_buf_consume(&l->in, l->in.n - held);
    else if (l->state == LINK_BODY)
        tidy(&l->in);
}

void cw_client_conn_end(cw_client_conn *l, int errnum)
{
    if (errnum == 0 && l->state == LINK_BODY && cw_http1_end_body(&l->body) == CW_DONE) {
        complete(l, cw_buf_str(&l->answer), /* more= */ false);
        return;
    }
    char why[256];
    const char *problem = cw_tls_client_problem(l->secure);
    if (!problem)
        problem = errnum ? strerror(errnum) : "";
    snprintf(why, sizeof why, "%s%s%s",
             l->answered ? "the connection ended within the answer"
                         : "the connection ended before an answer",
             *problem ? ": " : "", problem);
    cw_client_conn_lost(l, why);
}

/* The destination of the next bytes: the body if they can only belong there, the buffer of a
 * partial head, or else the loop's buffer. */
static cw_buf *target_of(cw_client_conn *l, size_t *room)
{
    bool is_body = l->state == LINK_BODY && !l->streams;
    uint64_t left = is_body ? cw_http1_body_left(&l->body) : 0;
    *room = left && left < CW_LOOP_SCRATCH ? (size_t)left : CW_LOOP_SCRATCH;
    if (left)
        return &l->answer;
    if (l->in.n == 0)
        return NULL;
    *room = READ_MORE;
    return &l->in;
}

static void took_body(cw_client_conn *l, const char *p, size_t n)
{
    cw_str in = {p, n}, piece;
    cw_buf_commit(&l->answer, n);
    cw_code rc = cw_http1_read_body(&l->body, &in, &piece);
    if (rc == CW_AGAIN && l->head.has_length)
        rc = cw_http1_read_body(&l->body, &in, &piece);
    if (rc == CW_DONE)
        complete(l, cw_buf_str(&l->answer), /* more= */ false);
}

static void took(cw_client_conn *l, const cw_buf *target, const char *p, size_t n)
{
    if (target == &l->answer) {
        took_body(l, p, n);
        return;
    }
    if (target) {
        cw_buf_commit(&l->in, n);
        take_held(l);
        return;
    }
    size_t held = take(l, p, n);
    if (held == 0)
        return;
    cw_buf_add_bytes(&l->in, p + n - held, held);
    if (l->in.code)
        cw_client_conn_fail(l, CW_CLIENT_NOMEM, "out of memory");
}

bool cw_client_conn_read(cw_client_conn *l)
{
    size_t room;
    cw_buf *target = target_of(l, &room);
    char *p = target ? cw_buf_reserve(target, room) : l->client->loop->scratch;
    if (!p) {
        cw_client_conn_fail(l, CW_CLIENT_NOMEM, "out of memory");
        return false;
    }
    ssize_t n;
    do
        n = l->secure ? cw_tls_client_recv(l->secure, p, room) : recv(l->fd, p, room, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return false;
    if (n <= 0) {
        cw_client_conn_end(l, n ? errno : 0);
        return false;
    }
    took(l, target, p, (size_t)n);
    return l->state == LINK_HEAD || l->state == LINK_BODY;
}

/* ---- headers that the caller wants ---- */

/* headers of answers that are wanted, held until the body is there.
 *
 * Their values lie one behind another in a buffer of the connection; the places
 * are offsets, since it may move while it grows.
 */

static cw_client_conn_place add(cw_client_conn *l, cw_str value)
{
    cw_client_conn_place place = {
        .at = (uint32_t)l->header_text.n, .n = (uint32_t)value.n, .is_there = true};
    cw_buf_add(&l->header_text, value);
    return place;
}

static cw_str at_place(const cw_client_conn *l, const cw_client_conn_place *place)
{
    cw_str text = cw_buf_str(&l->header_text);
    return place->is_there ? cw_str_make(text.p + place->at, place->n) : (cw_str){0};
}

/* "name=value" of a Set-Cookie field and the rest behind it; .p is NULL where it is none. */
static cw_str pair_of(cw_str field, cw_str *attributes)
{
    cw_str pair = cw_str_trim(cw_str_cut(field, ';', attributes));
    return pair.n && pair.p[0] != '=' && memchr(pair.p, '=', pair.n) ? pair : (cw_str){0};
}

static cw_str name_of(cw_str pair)
{
    cw_str value;
    return cw_str_trim(cw_str_cut(pair, '=', &value));
}

/* "Max-Age=0" or less: that is how a server takes a cookie back. */
static bool is_taken_back(cw_str attributes)
{
    const cw_str name = CW_STR("max-age=");
    while (attributes.p) {
        cw_str item = cw_str_trim(cw_str_cut(attributes, ';', &attributes));
        if (item.n > name.n && cw_str_ieq(cw_str_make(item.p, name.n), name) &&
            (item.p[name.n] == '-' ||
             cw_str_is(cw_str_make(item.p + name.n, item.n - name.n), "0")))
            return true;
    }
    return false;
}

/* The last one of several cookies with one name counts. */
static bool comes_again(const cw_client_conn *l, const char *p, cw_str name, size_t after)
{
    cw_str attributes;
    size_t i = after;
    while ((i = cw_http1_find(&l->head, p, CW_STR("set-cookie"), i + 1)) != CW_HTTP1_NONE) {
        cw_str pair = pair_of(cw_http1_value(&l->head, p, i), &attributes);
        if (pair.p && cw_str_eq(name_of(pair), name))
            return true;
    }
    return false;
}

static void add_cookies(cw_client_conn *l, const char *p)
{
    size_t start = l->header_text.n;
    size_t i = cw_http1_find(&l->head, p, CW_STR("set-cookie"), 0);
    for (; i != CW_HTTP1_NONE; i = cw_http1_find(&l->head, p, CW_STR("set-cookie"), i + 1)) {
        cw_str attributes;
        cw_str pair = pair_of(cw_http1_value(&l->head, p, i), &attributes);
        if (!pair.p || comes_again(l, p, name_of(pair), i) || is_taken_back(attributes) ||
            l->header_text.n - start + pair.n + 2 > CW_CLIENT_WANTED_MAX)
            continue;
        if (l->header_text.n > start)
            cw_buf_add(&l->header_text, CW_STR("; "));
        cw_buf_add(&l->header_text, pair);
    }
    l->cookies = (cw_client_conn_place){(uint32_t)start, (uint32_t)(l->header_text.n - start),
                                        l->header_text.n > start};
}

static bool store_headers(cw_client_conn *l, const char *p)
{
    const cw_client_opts *opts = &l->client->opts;
    cw_buf_clear(&l->header_text);
    l->cookies = (cw_client_conn_place){0};
    for (size_t k = 0; k < opts->n_wanted; k++) {
        size_t i = cw_http1_find(&l->head, p, opts->wanted[k], 0);
        cw_str value = i == CW_HTTP1_NONE ? (cw_str){0} : cw_http1_value(&l->head, p, i);
        bool is_there = i != CW_HTTP1_NONE && value.n <= CW_CLIENT_WANTED_MAX;
        l->values[k] = is_there ? add(l, value) : (cw_client_conn_place){0};
    }
    if (l->client->wants_cookies)
        add_cookies(l, p);
    return !l->header_text.code;
}

static void load_headers(const cw_client_conn *l, cw_client_response *answer)
{
    for (size_t k = 0; k < l->client->opts.n_wanted; k++)
        answer->wanted[k] = at_place(l, &l->values[k]);
    answer->cookies = at_place(l, &l->cookies);
}
