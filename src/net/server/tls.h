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

#endif
