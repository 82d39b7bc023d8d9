/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tls.h - OpenSSL behind four functions.
 *
 * The engine reads and writes the socket itself, without blocking; the caller
 * polls. Buffers are given back between records, so an idle connection stays
 * small.
 *
 * Ownership: a context is OpenSSL's own reference-counted SSL_CTX; a connection holds a reference.
 * Threads:   a context may be shared, a connection belongs to one loop.
 */
#ifndef CW_NET_SERVER_TLS_H
#define CW_NET_SERVER_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"

/* Results of cw_tls_read and cw_tls_write beside a byte count; 0 is the peer's clean end. */
#define CW_TLS_WANT_READ (-1)
#define CW_TLS_WANT_WRITE (-2)
#define CW_TLS_FAILED (-3)

/* Read certificate chain and key (PEM). Fails with CW_PARAMS naming the file, its line and a remedy
 * (tls_files.h), also when the two do not belong together. */
CW_MUST_USE cw_code cw_tls_context_new(const char *certificate, const char *key, bool tls13_only,
                                       SSL_CTX **ret, cw_err *err);
/* A server-side connection on `fd`; NULL when out of memory. */
SSL *cw_tls_new(SSL_CTX *context, int fd);
ssize_t cw_tls_read(SSL *tls, void *p, size_t n);
/* Writes one record's worth at most. After CW_TLS_WANT_*, call again with at least the same bytes.
 */
ssize_t cw_tls_write(SSL *tls, const struct iovec *iov, int n_iov);
/* Say that nothing more will come, without waiting for the answer. */
void cw_tls_goodbye(SSL *tls);
/* Free; a clean end says goodbye first. NULL is fine. */
void cw_tls_free(SSL *tls, bool clean);

#endif
