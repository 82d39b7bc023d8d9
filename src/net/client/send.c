/* SPDX-License-Identifier: GPL-2.0-or-later */
/* send.c - requests as bytes.
 *
 * The common part of all requests is formatted once. A request of ordinary size
 * is put together in one buffer and sent with one call; the body of a large one
 * is sent from where it lies. Nothing of that is kept while a connection is slow:
 * a head is the same bytes when it is made again.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "net/client/client_int.h"

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

/* Find the destination of connections, and the origin form for a proxy. */
static cw_code find_conn(cw_client *c, const cw_client_opts *opts, cw_buf *origin, cw_err *err)
{
    const cw_client_url *url = &opts->url;
    cw_client_url proxy;
    c->dial_host = url->host;
    c->dial_port = url->port;
    if (opts->proxy.n == 0)
        return CW_OK;
    if (url->unix_path.n)
        return cw_fail(err, CW_PARAMS, "no proxy leads to a unix socket");
    cw_code rc = cw_client_url_parse(opts->proxy, &proxy, err);
    if (rc)
        return cw_wrap(err, rc, "proxy");
    if (proxy.unix_path.n || proxy.is_tls || !cw_str_is(proxy.path, "/"))
        return cw_fail(err, CW_PARAMS, "a proxy is written as http://HOST:PORT");
    c->dial_host = proxy.host;
    c->dial_port = proxy.port;
    if (!url->is_tls)
        cw_buf_printf(origin, "http://%.*s", CW_STR_ARG(url->authority));
    return CW_OK;
}

/* Have all strings point to copies in `text`, each with a NUL behind it. */
static cw_code copy_texts(cw_client *c, cw_err *err)
{
    cw_client_opts *o = &c->opts;
    cw_str *all[] = {
        &o->url.host,        &o->url.authority, &o->url.unix_path,   &o->url.path,  &o->tls.ca_file,
        &o->tls.certificate, &o->tls.key,       &o->tls.server_name, &o->proxy,     &c->dial_host,
        &c->origin,          &c->post,          &c->common,          &c->wanted[0], &c->wanted[1],
        &c->wanted[2],       &c->wanted[3],
    };
    _Static_assert(CW_CLIENT_WANTED == 4, "the list has them all");
    size_t size = 0;
    for (size_t i = 0; i < CW_COUNT(all); i++)
        size += all[i]->n + 1;
    char *p = c->text = malloc(size);
    if (!p)
        return cw_fail_nomem(err);
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        size_t n = all[i]->n;
        if (n)
            memcpy(p, all[i]->p, n);
        p[n] = 0;
        all[i]->p = p;
        p += n + 1;
    }
    return CW_OK;
}

static cw_code use_idle(cw_client *c, const cw_client_opts *opts, cw_err *err)
{
    if (opts->n_wanted > CW_CLIENT_WANTED)
        return cw_fail(err, CW_PARAMS, "more than %u headers of answers", CW_CLIENT_WANTED);
    for (size_t i = 0; i < opts->n_wanted; i++) {
        c->wanted[i] = opts->wanted[i];
        c->wants_cookies |= cw_str_ieq(opts->wanted[i], CW_STR("set-cookie"));
    }
    c->opts.wanted = c->wanted;
    return CW_OK;
}

static cw_code write_common(cw_buf *b, const cw_client_opts *opts, cw_err *err)
{
    cw_buf_printf(b, " HTTP/1.1\r\nHost: %.*s\r\n", CW_STR_ARG(opts->url.authority));
    for (size_t i = 0; i < opts->n_headers; i++) {
        if (!is_header(&opts->headers[i]))
            return cw_fail(err, CW_PARAMS, "a header that would break the request");
        add_header(b, &opts->headers[i]);
    }
    if (b->code == CW_LIMIT)
        return cw_fail(err, CW_PARAMS, "the headers are too large");
    return b->code ? cw_fail_nomem(err) : CW_OK;
}

cw_code cw_client_make_texts(cw_client *c, const cw_client_opts *opts, cw_err *err)
{
    cw_buf b CW_CLEANUP(cw_buf_done);
    cw_buf_init(&b, OUT_MAX);
    cw_buf_add(&b, CW_STR("POST "));
    size_t origin = b.n;
    cw_code rc = find_conn(c, opts, &b, err);
    size_t path = b.n;
    cw_buf_add(&b, opts->url.path);
    size_t common = b.n;
    if (!rc)
        rc = write_common(&b, opts, err);
    if (!rc)
        rc = use_idle(c, opts, err);
    if (rc)
        return rc;
    c->post = cw_buf_str(&b);
    c->origin = cw_str_make(b.p + origin, path - origin);
    c->common = cw_str_make(b.p + common, b.n - common);
    return copy_texts(c, err);
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
    return c->post.n + c->origin.n + req->path.n + header_size(req->headers, req->n_headers) + 64;
}

size_t cw_client_room(const cw_client *c, const cw_client_req *req)
{
    size_t body = body_size(req);
    return head_size(c, req) + (body <= COPY_MAX ? body : 0);
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
    if (head_size(c, req) > OUT_MAX - COPY_MAX)
        return cw_fail(err, CW_PARAMS, "the head of the request is too large");
    if (c->secure)
        return CW_OK; /* each connection has a buffer of its own */
    cw_buf_clear(&c->out);
    return cw_buf_reserve(&c->out, cw_client_room(c, req)) ? CW_OK : cw_fail_nomem(err);
}

static void add_length(cw_buf *out, size_t n)
{
    cw_buf_add(out, CW_STR("Content-Length: "));
    cw_buf_add_u64(out, n);
    cw_buf_add(out, CW_STR("\r\n"));
}

static void add_head(const cw_client *c, cw_buf *out, const cw_client_req *req, size_t body)
{
    if (CW_LIKELY(req->method == CW_HTTP_POST && req->path.n == 0)) {
        cw_buf_add(out, c->post);
    } else {
        cw_buf_add(out, name_of(req->method));
        cw_buf_add_char(out, ' ');
        cw_buf_add(out, c->origin);
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

static ssize_t send_ranges(cw_client_conn *l, cw_str out)
{
    struct iovec iov[RANGES] = {{0}};
    struct msghdr msg = {.msg_iov = iov};
    msg.msg_iovlen = (size_t)make_ranges(l->req, out, l->sent, iov);
    return l->secure ? cw_client_conn_send_secure(l, iov[0].iov_base, iov[0].iov_len)
                     : sendmsg(l->fd, &msg, MSG_NOSIGNAL);
}

static ssize_t send_whole(cw_client_conn *l, cw_str out)
{
    const char *p = out.p + l->sent;
    size_t n = out.n - l->sent;
    return l->secure ? cw_client_conn_send_secure(l, p, n) : send(l->fd, p, n, MSG_NOSIGNAL);
}

/* The head, with the body behind it where that is `whole`. TLS has the same bytes in the same place
 * until they are out. */
static cw_str make_out(cw_client_conn *l, size_t body, bool whole)
{
    const cw_client_req *req = l->req;
    cw_buf *out = l->secure ? &l->out : &l->client->out;
    if (l->secure && l->unsent)
        return cw_buf_str(out);
    cw_buf_clear(out);
    add_head(l->client, out, req, body);
    for (size_t i = 0; whole && i < req->n_body; i++)
        cw_buf_add(out, req->body[i]);
    return cw_buf_str(out);
}

cw_code cw_client_conn_send(cw_client_conn *l)
{
    size_t body = body_size(l->req);
    bool whole = body <= COPY_MAX;
    cw_str out = make_out(l, body, whole);
    size_t total = whole ? out.n : out.n + body;
    while (l->sent < total) {
        ssize_t n = whole ? send_whole(l, out) : send_ranges(l, out);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK ? CW_AGAIN : CW_GONE;
        l->sent += (size_t)n;
    }
    return CW_OK;
}
