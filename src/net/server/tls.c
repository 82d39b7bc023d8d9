/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tls.c - TLS of one connection, on top of OpenSSL. */
#include "net/server/tls.h"

#include <openssl/err.h>
#include <string.h>

#include "net/server/tls_files.h"

/* The size of one record; a head and a small body are gathered into one record. */
#define RECORD_MAX 16384

static int choose_protocol(SSL *tls, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *ctx)
{
    (void)tls;
    (void)ctx;
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *chosen;
    int rc = SSL_select_next_proto(&chosen, out_len, ours, sizeof ours - 1, in, in_len);
    *out = chosen;
    return rc == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void set_up(SSL_CTX *c, bool tls13_only)
{
    SSL_CTX_set_min_proto_version(c, tls13_only ? TLS1_3_VERSION : TLS1_2_VERSION);
    SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                               SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    /* One read(2) for header and body of a record instead of two. */
    SSL_CTX_set_read_ahead(c, 1);
    /* Sessions live in tickets at the client, not in our memory. */
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(c, 1);
    SSL_CTX_set_alpn_select_cb(c, choose_protocol, NULL);
}

cw_code cw_tls_context_new(const char *certificate, const char *key, bool tls13_only, SSL_CTX **ret,
                           cw_err *err)
{
    ERR_clear_error();
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());
    if (!c)
        return cw_fail_nomem(err);
    set_up(c, tls13_only);
    cw_tls_file wrong;
    cw_code rc = cw_tls_load_files(c, certificate, key, &wrong, err);
    if (rc) {
        SSL_CTX_free(c);
        return rc;
    }
    *ret = c;
    return CW_OK;
}

SSL *cw_tls_new(SSL_CTX *context, int fd)
{
    ERR_clear_error();
    SSL *tls = SSL_new(context);
    if (!tls)
        return NULL;
    if (SSL_set_fd(tls, fd) != 1) {
        SSL_free(tls);
        return NULL;
    }
    SSL_set_accept_state(tls);
    return tls;
}

static ssize_t translate(SSL *tls, int rc)
{
    switch (SSL_get_error(tls, rc)) {
    case SSL_ERROR_WANT_READ:
        return CW_TLS_WANT_READ;
    case SSL_ERROR_WANT_WRITE:
        return CW_TLS_WANT_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        ERR_clear_error();
        return CW_TLS_FAILED;
    }
}

ssize_t cw_tls_read(SSL *tls, void *p, size_t n)
{
    size_t got;
    ERR_clear_error();
    int rc = SSL_read_ex(tls, p, n, &got);
    return rc == 1 ? (ssize_t)got : translate(tls, rc);
}

ssize_t cw_tls_write(SSL *tls, const struct iovec *iov, int n_iov)
{
    char record[RECORD_MAX];
    const void *p = iov[0].iov_base;
    size_t n = iov[0].iov_len;
    if (n_iov > 1 && n < sizeof record) {
        n = 0;
        for (int i = 0; i < n_iov && n < sizeof record; i++) {
            size_t part = iov[i].iov_len;
            if (part > sizeof record - n)
                part = sizeof record - n;
            memcpy(record + n, iov[i].iov_base, part);
            n += part;
        }
        p = record;
    }
    size_t written;
    ERR_clear_error();
    int rc = SSL_write_ex(tls, p, n, &written);
    return rc == 1 ? (ssize_t)written : translate(tls, rc);
}

void cw_tls_goodbye(SSL *tls)
{
    ERR_clear_error();
    if (SSL_is_init_finished(tls))
        SSL_shutdown(tls);
    ERR_clear_error();
}

void cw_tls_free(SSL *tls, bool clean)
{
    if (!tls)
        return;
    if (clean)
        cw_tls_goodbye(tls);
    SSL_free(tls);
}
