/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tls.c - TLS for the connections of the HTTP client (net/curl/tls_client.h): what goes over it is
 * read, limited, repeated and kept by the same code as without. */
#include <errno.h>

#include "net/client/client_int.h"

static void on_secured(void *owner, cw_code code, int errnum, const char *why)
{
    cw_client_conn *l = owner;
    if (code == CW_OK) {
        cw_client_conn_on_tls(l);
        return;
    }
    if (errnum) {
        cw_client_conn_not_reached(l, errnum);
        return;
    }
    cw_client_reached(l->client, l->address, false);
    cw_client_conn_fail(l, code == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, why);
}

cw_code cw_client_tls_open(cw_client *c, cw_err *err)
{
    const cw_tls_client_opts opts = {
        .host = c->opts.url.host,
        .authority = c->opts.url.authority,
        .port = c->opts.url.port,
        .has_proxy = c->opts.proxy.n,
        .tls = c->opts.tls,
        .on_done = on_secured,
    };
    cw_code rc = cw_tls_client_new(c->loop, &opts, &c->secure, err);
    if (!rc)
        c->n_open++;
    return rc;
}

static void on_closed(void *ctx)
{
    cw_client *c = ctx;
    cw_client_enter(c);
    c->n_open--;
    cw_client_leave(c);
}

void cw_client_tls_close(cw_client *c)
{
    cw_tls_client *s = c->secure;
    c->secure = NULL;
    cw_tls_client_close(s, on_closed, c);
}

bool cw_client_conn_reserve(cw_client_conn *l, const cw_client_req *req)
{
    cw_buf_clear(&l->out);
    return cw_buf_reserve(&l->out, cw_client_room(l->client, req)) != NULL;
}

ssize_t cw_client_conn_send_secure(cw_client_conn *l, const void *p, size_t n)
{
    ssize_t put = cw_tls_client_send(l->secure, p, n);
    if (put < 0 && errno != EAGAIN && l->sent == 0 && n > CW_TLS_CLIENT_RECORD)
        l->sent = 1; /* the first records may have arrived */
    return put;
}
