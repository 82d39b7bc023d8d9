/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_tls.h - TLS for fake_server.h, and certificates for it.
 *
 *     fake_server_start_tls(&s, scripts, n);     a good certificate for 127.0.0.1 and localhost
 *     opts.tls.ca_file = fake_tls_ca();          the authority that signed it
 *
 *     fake_cert_issue(&(fake_cert_opts){.names = "DNS:other.example"}, &cert);
 *     fake_server_start_with(&s, NULL, &fake_tls_transport, fake_tls_context(&cert), scripts, n);
 *
 * The authority, its certificates and their files are made by the first call of fake_tls_init and
 * removed when the program exits.
 *
 * Threads: the fake_tls_ functions of the transport run in the threads of the fake server; all
 *          others are for the thread of the test.
 */
#ifndef CW_TESTS_FAKE_TLS_H
#define CW_TESTS_FAKE_TLS_H

#include <openssl/ssl.h>

#include "support/fake_server.h"

#define FAKE_DAY 86400L

typedef struct fake_cert {
    EVP_PKEY *key;
    X509 *certificate;
} fake_cert;

typedef struct fake_cert_opts {
    const char *names;       /* subjectAltName; NULL: an authority */
    const fake_cert *issuer; /* NULL: self-signed */
    long from, until;        /* seconds from now; 0, 0: a day around now */
} fake_cert_opts;

/* Filled by fake_tls_init. */
extern struct fake_pki {
    char folder[64];
    char ca[96], certificate[96], key[96]; /* paths; the last two belong to the client */
    fake_cert authority, server, client;
    SSL_CTX *context; /* of a server with the good certificate */
} fake_pki;

/* Make what fake_pki holds; later calls do nothing. */
void fake_tls_init(void);
/* The path of the authority's certificate. */
const char *fake_tls_ca(void);

/* Make a key and a certificate. Release them with fake_cert_free. */
void fake_cert_issue(const fake_cert_opts *opts, fake_cert *ret);
void fake_cert_free(fake_cert *cert);
/* The context of a server with this certificate; the caller frees it with SSL_CTX_free. */
SSL_CTX *fake_tls_context(const fake_cert *cert);

/* The transport; its context is an SSL_CTX. The functions are exported for variants of it. */
bool fake_tls_open(struct fake_conn *c);
ssize_t fake_tls_recv(const struct fake_conn *c, void *p, size_t n);
ssize_t fake_tls_send(const struct fake_conn *c, const void *p, size_t n);
bool fake_tls_has_more(const struct fake_conn *c);
void fake_tls_close(struct fake_conn *c, bool notify);
extern const fake_transport fake_tls_transport;

/* fake_server_start with TLS and the good certificate. */
void fake_server_start_tls(fake_server *s, const fake_step *const *scripts, size_t n);

#endif
