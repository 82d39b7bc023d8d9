/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conn_proxy.c - the header of the PROXY protocol at the beginning of a connection. */
#include <errno.h>

#include "base/log.h"
#include "metrics/metrics.h"
#include "net/addr/proxy_header.h"
#include "net/server/server_int.h"

static cw_log_kind refused_kind =
    CW_LOG_KIND(CW_LOG_WARN, "net", "connection refused: PROXY protocol", "peer");

void cw_conn_refuse_proxy(const cw_address *peer, const char *why)
{
    char text[CW_ADDRESS_TEXT];
    cw_address_format_host(peer, text, sizeof text);
    cw_metrics_count(CW_METRIC_CONNECTIONS_REFUSED, CW_REFUSED_PROXY, 0, 0);
    cw_log_limited(&refused_kind, cw_str_from(text), CW_KV("peer", cw_str_from(text)),
                   CW_KV("why", cw_str_from(why)));
}

static ssize_t receive(int fd, char *p, size_t n, int flags)
{
    ssize_t got;
    do
        got = recv(fd, p, n, flags);
    while (got < 0 && errno == EINTR);
    return got;
}

static cw_code refuse(const cw_conn *c, const char *why)
{
    cw_address peer;
    cw_conn_peer_address(c, &peer);
    cw_conn_refuse_proxy(&peer, why);
    return CW_INVALID;
}

/* From now on the client is the peer, and counts as one. */
static cw_code take_client(cw_conn *c, const cw_address *client)
{
    bool counted;
    if (!cw_server_count_address(c->sl, client, &c->peer_key, &counted)) {
        cw_server_refuse_full(c->fd, c->tls != NULL, /* is_total= */ false);
        return CW_LIMIT;
    }
    c->counted = counted;
    c->ignores_forwarded = false;
    cw_conn_set_peer(c, client);
    return CW_OK;
}

cw_code cw_conn_read_proxy_header(cw_conn *c)
{
    size_t held = c->in.n;
    cw_proxy_header header;
    const char *why;
    char *to = cw_buf_reserve(&c->in, CW_PROXY_HEADER_MAX - held);
    if (!to)
        return CW_NOMEM;
    /* What follows the header is for TLS, or for the parser of requests, and stays in the kernel. */
    ssize_t n = receive(c->fd, to, CW_PROXY_HEADER_MAX - held, MSG_PEEK);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return CW_AGAIN;
    if (n <= 0)
        return CW_GONE;
    cw_code rc = cw_proxy_header_parse(c->in.p, held + (size_t)n, &header, &why);
    if (rc == CW_INVALID)
        return refuse(c, why);
    size_t own = rc ? (size_t)n : header.size - held;
    if (receive(c->fd, to, own, 0) != (ssize_t)own)
        return CW_GONE;
    if (rc) {
        cw_buf_commit(&c->in, own);
        return rc;
    }
    cw_buf_release(&c->in);
    c->state = CONN_IDLE;
    return header.has_client ? take_client(c, &header.client) : CW_OK;
}
