/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conn_tls.c - bytes of a connection through TLS. */
#include <openssl/err.h>
#include <string.h>

#include "net/server/server_int.h"

/* The size of one record; a head and a small body are gathered into one record. */
#define RECORD_MAX 16384

SSL *cw_conn_tls_new(SSL_CTX *context, int fd)
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
        return CONN_TLS_WANT_READ;
    case SSL_ERROR_WANT_WRITE:
        return CONN_TLS_WANT_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        ERR_clear_error();
        return CONN_TLS_FAILED;
    }
}

ssize_t cw_conn_tls_read(SSL *tls, void *p, size_t n)
{
    size_t got;
    ERR_clear_error();
    int rc = SSL_read_ex(tls, p, n, &got);
    return rc == 1 ? (ssize_t)got : translate(tls, rc);
}

ssize_t cw_conn_tls_write(SSL *tls, const struct iovec *iov, int n_iov)
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

void cw_conn_tls_goodbye(SSL *tls)
{
    ERR_clear_error();
    if (SSL_is_init_finished(tls))
        SSL_shutdown(tls);
    ERR_clear_error();
}

void cw_conn_tls_free(SSL *tls, bool clean)
{
    if (!tls)
        return;
    if (clean)
        cw_conn_tls_goodbye(tls);
    SSL_free(tls);
}
