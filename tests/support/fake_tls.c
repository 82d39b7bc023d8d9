/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_tls.c - issue certificates, and run the connections of a fake server over TLS. */
#include "support/fake_tls.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

struct fake_pki fake_pki;
const fake_transport fake_tls_transport = {
    fake_tls_open, fake_tls_recv, fake_tls_send, fake_tls_has_more, fake_tls_close,
};

static void add_extension(X509 *x, const X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, (X509 *)(uintptr_t)issuer, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    assert_non_null(e);
    assert_true(X509_add_ext(x, e, -1));
    X509_EXTENSION_free(e);
}

void fake_cert_issue(const fake_cert_opts *opts, fake_cert *ret)
{
    static long serial;
    X509 *x = X509_new();
    EVP_PKEY *key = EVP_EC_gen("P-256");
    const fake_cert *issuer = opts->issuer ? opts->issuer : ret;
    *ret = (fake_cert){key, x};
    assert_true(x && key);
    X509_set_version(x, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(x), opts->until ? opts->from : -FAKE_DAY);
    X509_gmtime_adj(X509_getm_notAfter(x), opts->until ? opts->until : FAKE_DAY);
    X509_set_pubkey(x, key);
    char name[32];
    snprintf(name, sizeof name, "test %ld", serial);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(issuer->certificate));
    add_extension(x, issuer->certificate, NID_basic_constraints,
                  opts->names ? "CA:FALSE" : "critical,CA:TRUE");
    if (opts->names)
        add_extension(x, issuer->certificate, NID_subject_alt_name, opts->names);
    assert_true(X509_sign(x, issuer->key, EVP_sha256()) > 0);
}

void fake_cert_free(fake_cert *cert)
{
    X509_free(cert->certificate);
    EVP_PKEY_free(cert->key);
    *cert = (fake_cert){0};
}

SSL_CTX *fake_tls_context(const fake_cert *cert)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    assert_non_null(context);
    assert_true(SSL_CTX_use_certificate(context, cert->certificate) > 0);
    assert_true(SSL_CTX_use_PrivateKey(context, cert->key) > 0);
    return context;
}

static void remove_all(void)
{
    unlink(fake_pki.ca);
    unlink(fake_pki.certificate);
    unlink(fake_pki.key);
    rmdir(fake_pki.folder);
    fake_cert_free(&fake_pki.authority);
    fake_cert_free(&fake_pki.server);
    fake_cert_free(&fake_pki.client);
    SSL_CTX_free(fake_pki.context);
}

static FILE *create_file(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s/%s", fake_pki.folder, name);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    return f;
}

void fake_tls_init(void)
{
    if (fake_pki.context)
        return;
    snprintf(fake_pki.folder, sizeof fake_pki.folder, "%s/cw-tls-XXXXXX", P_tmpdir);
    assert_non_null(mkdtemp(fake_pki.folder));
    fake_cert_issue(&(fake_cert_opts){0}, &fake_pki.authority);
    fake_cert_issue(
        &(fake_cert_opts){.names = "IP:127.0.0.1,DNS:localhost", .issuer = &fake_pki.authority},
        &fake_pki.server);
    fake_cert_issue(&(fake_cert_opts){.names = "DNS:client", .issuer = &fake_pki.authority},
                    &fake_pki.client);
    FILE *f = create_file(fake_pki.ca, sizeof fake_pki.ca, "ca.pem");
    assert_true(PEM_write_X509(f, fake_pki.authority.certificate));
    fclose(f);
    f = create_file(fake_pki.certificate, sizeof fake_pki.certificate, "client.pem");
    assert_true(PEM_write_X509(f, fake_pki.client.certificate));
    fclose(f);
    f = create_file(fake_pki.key, sizeof fake_pki.key, "client.key");
    assert_true(PEM_write_PrivateKey(f, fake_pki.client.key, NULL, NULL, 0, NULL, NULL));
    fclose(f);
    fake_pki.context = fake_tls_context(&fake_pki.server);
    atexit(remove_all);
}

const char *fake_tls_ca(void)
{
    fake_tls_init();
    return fake_pki.ca;
}

bool fake_tls_open(struct fake_conn *c)
{
    /* OpenSSL writes without MSG_NOSIGNAL. Only here: the client must not raise one. */
    sigset_t pipe_only;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, NULL);
    /* An answer must not wait behind tickets: with bytes unread, closing throws it away. */
    int on = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    SSL *tls = SSL_new(c->server->transport_ctx);
    if (!tls || !SSL_set_fd(tls, c->fd) || SSL_accept(tls) <= 0) {
        SSL_free(tls);
        return false;
    }
    atomic_fetch_add(&c->server->handshakes, 1);
    atomic_fetch_add(&c->server->resumed, SSL_session_reused(tls) ? 1 : 0);
    c->tls = tls;
    return true;
}

ssize_t fake_tls_recv(const struct fake_conn *c, void *p, size_t n)
{
    return SSL_read(c->tls, p, (int)n);
}

ssize_t fake_tls_send(const struct fake_conn *c, const void *p, size_t n)
{
    return SSL_write(c->tls, p, (int)n);
}

bool fake_tls_has_more(const struct fake_conn *c)
{
    return SSL_pending(c->tls) > 0;
}

void fake_tls_close(struct fake_conn *c, bool notify)
{
    if (notify)
        SSL_shutdown(c->tls);
    SSL_free(c->tls);
}

void fake_server_start_tls(fake_server *s, const fake_step *const *scripts, size_t n)
{
    fake_tls_init();
    fake_server_start_with(s, NULL, &fake_tls_transport, fake_pki.context, scripts, n);
}
