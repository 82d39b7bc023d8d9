/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client_send.c - requests as bytes.
 *
 * What all requests have in common is formatted once. A request of ordinary size
 * is put together in one buffer and sent with one call; the body of a large one
 * is sent from where it lies. Nothing of that is kept while a connection is slow:
 * a head is the same bytes when it is made again.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "net/client_int.h"

/* Up to here copying is cheaper than a list of ranges. */
#define COPY_MAX 16384u
#define OUT_MAX (CW_HTTP_MAX_HEAD + CW_HTTP_MAX_TARGET + COPY_MAX)
#define RANGES 16u

static bool is_header(const cw_http_header *h)
{
    return cw_http_is_token(h->name) && cw_http_is_value(h->value);
}

static size_t header_size(const cw_http_header *headers, size_t n)
{
    size_t size = 0;
    for (size_t i = 0; i < n; i++)
        size += headers[i].name.n + headers[i].value.n + 4;
    return size;
}

static void add_header(cw_buf *out, const cw_http_header *h)
{
    cw_buf_add(out, h->name);
    cw_buf_add(out, CW_STR(": "));
    cw_buf_add(out, h->value);
    cw_buf_add(out, CW_STR("\r\n"));
}

static cw_str name_of(cw_http_method method)
{
    return cw_str_from(cw_http_method_name(method));
}

/* ---- texts ---- */

/* Move the end of `*at` behind `s`, copied there. */
static cw_str put(char **at, cw_str s)
{
    char *p = *at;
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = 0;
    *at = p + s.n + 1;
    return cw_str_make(p, s.n);
}

static void copy_url(cw_client *c, char *at, const cw_client_url *url, cw_str post, cw_str common)
{
    c->opts.url = (cw_client_url){
        .host = put(&at, url->host),
        .authority = put(&at, url->authority),
        .unix_path = put(&at, url->unix_path),
        .path = put(&at, url->path),
        .port = url->port,
    };
    c->post = put(&at, post);
    c->common = put(&at, common);
}

cw_code cw_client_make_texts(cw_client *c, const cw_client_opts *opts, cw_err *err)
{
    const cw_client_url *url = &opts->url;
    cw_buf b CW_CLEANUP(cw_buf_done);
    cw_buf_init(&b, OUT_MAX);
    cw_buf_add(&b, CW_STR("POST "));
    cw_buf_add(&b, url->path);
    size_t line = b.n;
    cw_buf_printf(&b, " HTTP/1.1\r\nHost: %.*s\r\n", CW_STR_ARG(url->authority));
    for (size_t i = 0; i < opts->n_headers; i++) {
        if (!is_header(&opts->headers[i]))
            return cw_fail(err, CW_PARAMS, "a header that would break the request");
        add_header(&b, &opts->headers[i]);
    }
    if (b.code)
        return b.code == CW_NOMEM ? cw_fail_nomem(err)
                                  : cw_fail(err, CW_PARAMS, "the headers are too large");
    c->text = malloc(url->host.n + url->authority.n + url->unix_path.n + url->path.n + 2 * b.n + 6);
    if (!c->text)
        return cw_fail_nomem(err);
    copy_url(c, c->text, url, cw_buf_str(&b), cw_str_make(b.p + line, b.n - line));
    return CW_OK;
}

/* ---- one request ---- */

static size_t body_size(const cw_client_req *req)
{
    size_t n = 0;
    for (size_t i = 0; i < req->n_body; i++)
        n += req->body[i].n;
    return n;
}

/* A bound for the head. */
static size_t head_size(const cw_client *c, const cw_client_req *req)
{
    return c->post.n + req->path.n + header_size(req->headers, req->n_headers) + 64;
}

cw_code cw_client_prepare(cw_client *c, const cw_client_req *req, cw_err *err)
{
    for (size_t i = 0; i < req->n_headers; i++) {
        if (!is_header(&req->headers[i]))
            return cw_fail(err, CW_PARAMS, "a header that would break the request");
    }
    /* A space or line break would end the target. */
    if (req->path.n && (req->path.p[0] != '/' || memchr(req->path.p, ' ', req->path.n) ||
                        !cw_http_is_value(req->path)))
        return cw_fail(err, CW_PARAMS, "a path that would break the request");
    size_t head = head_size(c, req), body = body_size(req);
    if (head > OUT_MAX - COPY_MAX)
        return cw_fail(err, CW_PARAMS, "the head of the request is too large");
    cw_buf_clear(&c->out);
    return cw_buf_reserve(&c->out, head + (body <= COPY_MAX ? body : 0)) ? CW_OK
                                                                         : cw_fail_nomem(err);
}

static void add_length(cw_buf *out, size_t n)
{
    cw_buf_add(out, CW_STR("Content-Length: "));
    cw_buf_add_u64(out, n);
    cw_buf_add(out, CW_STR("\r\n"));
}

static void add_head(cw_client *c, const cw_client_req *req, size_t body)
{
    cw_buf *out = &c->out;
    if (CW_LIKELY(req->method == CW_HTTP_POST && req->path.n == 0)) {
        cw_buf_add(out, c->post);
    } else {
        cw_buf_add(out, name_of(req->method));
        cw_buf_add_char(out, ' ');
        cw_buf_add(out, req->path.n ? req->path : c->opts.url.path);
        cw_buf_add(out, c->common);
    }
    for (size_t i = 0; i < req->n_headers; i++)
        add_header(out, &req->headers[i]);
    /* RFC 9110 8.6: methods that usually have a body say so where they have none. */
    if (body || req->method == CW_HTTP_POST || req->method == CW_HTTP_PUT ||
        req->method == CW_HTTP_PATCH)
        add_length(out, body);
    cw_buf_add(out, CW_STR("\r\n"));
}

/* The ranges of `out` and then of the body, without the first `skip` bytes of all. */
static int make_ranges(const cw_client_req *req, cw_str out, size_t skip, struct iovec *iov)
{
    unsigned n = 0;
    for (size_t i = 0; i <= req->n_body && n < RANGES; i++) {
        cw_str s = i == 0 ? out : req->body[i - 1];
        if (skip >= s.n) {
            skip -= s.n;
            continue;
        }
        iov[n++] = (struct iovec){(void *)(uintptr_t)(s.p + skip), s.n - skip};
        skip = 0;
    }
    return (int)n;
}

static ssize_t send_ranges(const cw_link *l, cw_str out)
{
    struct iovec iov[RANGES];
    struct msghdr msg = {.msg_iov = iov};
    msg.msg_iovlen = (size_t)make_ranges(l->req, out, l->sent, iov);
    return sendmsg(l->fd, &msg, MSG_NOSIGNAL);
}

cw_code cw_link_send(cw_link *l)
{
    cw_client *c = l->client;
    const cw_client_req *req = l->req;
    size_t body = body_size(req);
    bool whole = body <= COPY_MAX;
    cw_buf_clear(&c->out);
    add_head(c, req, body);
    size_t total = c->out.n + body;
    for (size_t i = 0; whole && i < req->n_body; i++)
        cw_buf_add(&c->out, req->body[i]);
    cw_str out = cw_buf_str(&c->out);
    while (l->sent < total) {
        ssize_t n = whole ? send(l->fd, out.p + l->sent, total - l->sent, MSG_NOSIGNAL)
                          : send_ranges(l, out);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK ? CW_AGAIN : CW_GONE;
        l->sent += (size_t)n;
    }
    return CW_OK;
}
