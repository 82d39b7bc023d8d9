/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tls_client.h - TLS over a socket of ours, by libcurl: for the HTTP client and for channels.
 *
 *     our socket and address -> libcurl: connect, a proxy's tunnel, handshake, certificate
 *                            -> ours again: bytes, through cw_tls_client_send and cw_tls_client_recv
 *
 * libcurl does what is easy to get wrong (CURLOPT_CONNECT_ONLY) and nothing else: what goes over
 * the connection is ours. Left to itself, libcurl sends a POST a second time when a kept connection
 * turns out to be dead, whether or not that does harm, and takes answers that net/http/http1.h
 * refuses.
 *
 * TLS 1.2 or 1.3. The certificate is always checked. By ALPN the server is told that HTTP/1.1
 * follows: that is what we write, and what a WebSocket begins with.
 *
 * The socket stays its owner's all the time; only libcurl may watch it until on_done.
 *
 * Ownership: who began a link ends it, before the cw_tls_client is closed. The socket outlives it.
 * Threads:   one loop.
 */
#ifndef CW_NET_CURL_TLS_CLIENT_H
#define CW_NET_CURL_TLS_CLIENT_H

#include "net/addr/connect.h"

/* Files are PEM; one that cannot be read is told when a connection is made. */
typedef struct cw_client_tls {
    cw_str ca_file;          /* empty: the system's authorities */
    cw_str certificate, key; /* ours, files; an empty key: it is in the certificate's file */
    cw_str server_name;      /* whose certificate it must be; empty: the URL's host */
} cw_client_tls;

typedef struct cw_tls_client cw_tls_client; /* what connections to one server have in common */
typedef struct cw_tls_client_conn cw_tls_client_conn; /* one of them */

typedef struct cw_tls_client_opts {
    /* Texts have a NUL behind them and outlive the cw_tls_client. */
    cw_str host;
    cw_str authority; /* as in a URL */
    uint16_t port;
    bool has_proxy; /* addresses are a proxy's, which is asked for host and port */
    cw_client_tls tls;
    /* The handshake of a link is over: CW_OK; CW_IO or CW_NOMEM with a text for logs. Where
     * `errnum` is not 0, the address was not reached, and there is no text. May end any link and
     * close the cw_tls_client. */
    void (*on_done)(void *owner, cw_code code, int errnum, const char *why);
} cw_tls_client_opts;

/* CW_PARAMS: no server name; CW_IO: libcurl is not there; CW_NOMEM. */
CW_MUST_USE cw_code cw_tls_client_new(cw_loop *loop, const cw_tls_client_opts *opts,
                                      cw_tls_client **ret, cw_err *err);
/* on_closed is called from the loop, never before this returns. */
void cw_tls_client_close(cw_tls_client *s, void (*on_closed)(void *ctx), void *ctx);

/* Begin to connect `fd`, a non-blocking socket, which ends with on_done(owner, …), never before
 * this returns. CW_IO, CW_NOMEM: nothing was begun. */
CW_MUST_USE cw_code cw_tls_client_begin(cw_tls_client *s, int fd, const cw_address *to, void *owner,
                                        cw_tls_client_conn **ret, cw_err *err);
/* NULL is fine. A link that is open says goodbye. */
void cw_tls_client_end(cw_tls_client_conn *link);
/* As recv and send: -1 with errno; EAGAIN is the only number with a meaning. The socket has no further
 * event for bytes that libcurl has taken from it. So read until EAGAIN, at once or in later turns of the
 * loop that need no event. After EAGAIN the same bytes must be sent from the same place. */
#define CW_TLS_CLIENT_RECORD 16384u /* bytes of one record, at most */
ssize_t cw_tls_client_recv(const cw_tls_client_conn *link, void *p, size_t n);
ssize_t cw_tls_client_send(const cw_tls_client_conn *link, const void *p, size_t n);
/* The error text of libcurl, or NULL. */
const char *cw_tls_client_problem(const cw_tls_client_conn *link);

#endif
