/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tls.h - TLS contexts, and certificates and keys on disk: whether they can be used, and why not.
 *
 * OpenSSL reports a reason without a place ("no start line"). The explanation reads the file once
 * more and adds the line and a remedy. It runs only after a failure. Each failure is CW_PARAMS: the
 * text names the file, the line if there is one, and what to do.
 *
 * Ownership: a context is OpenSSL's own reference-counted SSL_CTX; a connection holds a reference.
 * Threads:   a context may be shared. The calling thread waits for the disk.
 * Limits:    CW_TLS_FILE_MAX bytes of a file are explained.
 */
#ifndef CW_NET_SERVER_TLS_H
#define CW_NET_SERVER_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CW_TLS_FILE_MAX (1024u * 1024u)
/* Forward secrecy and authenticated encryption. */
#define CW_TLS_CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"
#define CW_TLS_CIPHERS_MAX 1024u

typedef enum cw_tls_file {
    CW_TLS_CERTIFICATE,
    CW_TLS_KEY,
} cw_tls_file;

typedef struct cw_tls_opts {
    const char *certificate, *key; /* paths */
    const char *ciphers;           /* of TLS 1.2, as OpenSSL lists them; NULL: CW_TLS_CIPHERS */
    bool tls13_only;
} cw_tls_opts;

/* Read certificate chain and key (PEM), which must belong together. The buffers of a connection are
 * released between records, so an idle connection stays small. */
CW_MUST_USE cw_code cw_tls_context_new(const cw_tls_opts *opts, SSL_CTX **ret, cw_err *err);
/* Whether every name of the list is a cipher, or a group of them, that OpenSSL has and permits. */
CW_MUST_USE cw_code cw_tls_check_ciphers(const char *ciphers, cw_err *err);
/* Whether both files can be used together, without keeping them. *ret_file is the file that has to
 * change. */
CW_MUST_USE cw_code cw_tls_check_files(const char *certificate, const char *key,
                                       cw_tls_file *ret_file, cw_err *err);
/* A time in which all certificates of a chain are valid, ms since 1970. */
typedef struct cw_tls_validity {
    int64_t from, until;
} cw_tls_validity;

/* The validity of all certificates of a file. */
CW_MUST_USE cw_code cw_tls_file_validity(const char *path, cw_tls_validity *ret, cw_err *err);
/* A server that presents a certificate. */
typedef struct cw_tls_peer {
    const char *host; /* name or address */
    uint16_t port;
    const char *server_name; /* whose certificate is asked for; NULL: the host's */
} cw_tls_peer;

/* The validity of the certificate that a server presents. Nothing is verified: the caller only
 * looks at the dates. Blocks, for commands: the resolver has its own limit, then connection and
 * handshake together take maximum `timeout_ms`, even if the server sends single bytes. SIGPIPE must
 * be ignored. CW_IO. */
CW_MUST_USE cw_code cw_tls_peer_validity(const cw_tls_peer *peer, uint32_t timeout_ms,
                                         cw_tls_validity *ret, cw_err *err);
/* Whether the file holds certificates of authorities (PEM), all of them readable. */
CW_MUST_USE cw_code cw_tls_check_authorities(const char *path, cw_err *err);

#endif
