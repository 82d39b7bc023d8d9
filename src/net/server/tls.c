/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tls.c - TLS contexts, and checks of certificate and key files before they are used. */
#include "net/server/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "net/addr/connect.h"
#include "net/addr/lookup.h"

#define BEGIN "-----BEGIN "
#define DASHES "-----"

/* How a kind of file is spoken of. */
typedef struct file_kind {
    const char *name;
    const char *label; /* the end of what stands behind BEGIN */
    const char *convert;
} file_kind;

static const file_kind certificate_kind = {"TLS certificate", "CERTIFICATE",
                                           "openssl x509 -inform DER -in FILE -out PEM"};
static const file_kind key_kind = {"TLS key", "PRIVATE KEY",
                                   "openssl pkey -inform DER -in FILE -out PEM"};

/* One block of a PEM file. */
typedef struct block {
    cw_str label; /* "CERTIFICATE" */
    cw_str text;  /* from its first line to the end of the file */
    unsigned line;
} block;

static const char *take_reason(void)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = ERR_reason_error_string(code);
    ERR_clear_error();
    return reason ? reason : "unreadable";
}

/* The next block of *rest; false: there is none. *line counts the lines that are behind. */
static bool next_block(cw_str *rest, unsigned *line, block *ret)
{
    while (rest->p && rest->n) {
        cw_str all = *rest;
        cw_str text = cw_str_cut(all, '\n', rest);
        (*line)++;
        if (!cw_str_starts(text, CW_STR(BEGIN)))
            continue;
        size_t n = text.n - (sizeof BEGIN - 1);
        const char *label = text.p + sizeof BEGIN - 1;
        const char *end = memmem(label, n, DASHES, sizeof DASHES - 1);
        *ret = (block){cw_str_make(label, end ? (size_t)(end - label) : n), all, *line};
        return true;
    }
    return false;
}

/* A key with a passphrase is rejected: a server has no terminal to enter it. */
static int no_passphrase(char *buf, int size, int writing, void *ctx)
{
    (void)writing, (void)ctx;
    if (size > 0)
        buf[0] = 0;
    return 0;
}

static bool is_readable(const block *b, const file_kind *kind)
{
    BIO *bio = BIO_new_mem_buf(b->text.p, (int)b->text.n);
    bool is_good = false;
    if (bio && kind == &certificate_kind) {
        X509 *certificate = PEM_read_bio_X509_AUX(bio, NULL, no_passphrase, NULL);
        is_good = certificate != NULL;
        X509_free(certificate);
    } else if (bio) {
        EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
        is_good = key != NULL;
        EVP_PKEY_free(key);
    }
    BIO_free(bio);
    return is_good;
}

static bool is_encrypted(const block *b)
{
    cw_str rest, second;
    cw_str_cut(b->text, '\n', &rest);
    second = rest.p ? cw_str_cut(rest, '\n', &rest) : CW_STR("");
    return cw_str_is(b->label, "ENCRYPTED PRIVATE KEY") ||
           (cw_str_starts(second, CW_STR("Proc-Type:")) &&
            cw_str_ends(second, CW_STR("ENCRYPTED")));
}

static cw_code fail_block(const file_kind *kind, const char *path, const block *b, cw_err *err)
{
    if (is_encrypted(b))
        return cw_fail(
            err, CW_PARAMS,
            "%s '%s': line %u: has a passphrase; remove it: openssl pkey -in FILE -out NEW",
            kind->name, path, b->line);
    return cw_fail(err, CW_PARAMS,
                   "%s '%s': line %u: the block is damaged (%s); copy the file again", kind->name,
                   path, b->line, take_reason());
}

/* CW_OK: every block can be read. */
static cw_code check_blocks(const file_kind *kind, const char *path, cw_str text, cw_err *err)
{
    block b = {0}, other = {0};
    unsigned line = 0;
    size_t n = 0;
    for (cw_str rest = text; next_block(&rest, &line, &b);) {
        if (!cw_str_ends(b.label, cw_str_from(kind->label))) {
            other = other.line ? other : b;
            continue;
        }
        n++;
        if (!is_readable(&b, kind))
            return fail_block(kind, path, &b, err);
    }
    if (n)
        return CW_OK;
    if (other.line)
        return cw_fail(err, CW_PARAMS, "%s '%s': line %u: has a %.*s and no %s; name another file",
                       kind->name, path, other.line, CW_STR_ARG(other.label), kind->label);
    return cw_fail(err, CW_PARAMS, "%s '%s': has no line \"" BEGIN "...\"; convert it to PEM: %s",
                   kind->name, path, kind->convert);
}

/* Without a problem in the file itself: CW_OK. */
static cw_code check_file(const file_kind *kind, const char *path, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_err why = {0};
    cw_buf_init(&text, CW_TLS_FILE_MAX);
    cw_code rc = cw_file_read(path, CW_FILE_PLAIN, &text, &why);
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    /* The message of cw_file_read names the file, and begins with what could not be done. */
    const char *reason = rc ? strrchr(why.msg, ':') : NULL;
    if (rc)
        return cw_fail(err, CW_PARAMS, "%s '%s': %s; check the path and who may read the file",
                       kind->name, path, reason ? reason + 2 : "not a file");
    return check_blocks(kind, path, cw_buf_str(&text), err);
}

static cw_code explain(const file_kind *kind, const char *path, cw_err *err)
{
    cw_code rc = check_file(kind, path, err);
    if (rc)
        ERR_clear_error();
    return rc ? rc : cw_fail(err, CW_PARAMS, "%s '%s': %s", kind->name, path, take_reason());
}

/* Load a certificate chain and its key. *ret_file is the file that has to change. */
static cw_code load_files(SSL_CTX *context, const char *certificate, const char *key,
                          cw_tls_file *ret_file, cw_err *err)
{
    ERR_clear_error();
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    *ret_file = CW_TLS_CERTIFICATE;
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1)
        return explain(&certificate_kind, certificate, err);
    *ret_file = CW_TLS_KEY;
    /* This compares the key with the certificate too. */
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 &&
        SSL_CTX_check_private_key(context) == 1)
        return CW_OK;
    cw_code rc = check_file(&key_kind, key, err);
    ERR_clear_error();
    if (rc)
        return rc;
    return cw_fail(err, CW_PARAMS,
                   "TLS key '%s': is not the key of the first certificate in '%s'; name the files "
                   "that belong together",
                   key, certificate);
}

cw_code cw_tls_check_files(const char *certificate, const char *key, cw_tls_file *ret_file,
                           cw_err *err)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context)
        return cw_fail_nomem(err);
    cw_code rc = load_files(context, certificate, key, ret_file, err);
    SSL_CTX_free(context);
    return rc;
}

cw_code cw_tls_check_authorities(const char *path, cw_err *err)
{
    ERR_clear_error();
    cw_code rc = check_file(&certificate_kind, path, err);
    ERR_clear_error();
    return rc;
}

/* ---- validity ---- */

static int64_t wall_ms(const ASN1_TIME *time)
{
    struct tm tm = {0};
    return ASN1_TIME_to_tm(time, &tm) == 1 ? (int64_t)timegm(&tm) * 1000 : 0;
}

static void narrow(cw_tls_validity *v, const X509 *certificate)
{
    int64_t from = wall_ms(X509_get0_notBefore(certificate));
    int64_t until = wall_ms(X509_get0_notAfter(certificate));
    v->from = from > v->from ? from : v->from;
    v->until = until < v->until ? until : v->until;
}

cw_code cw_tls_file_validity(const char *path, cw_tls_validity *ret, cw_err *err)
{
    cw_tls_validity all = {INT64_MIN, INT64_MAX};
    cw_code rc = cw_tls_check_authorities(path, err);
    BIO *bio = rc ? NULL : BIO_new_file(path, "r");
    X509 *one = NULL;
    while (bio && (one = PEM_read_bio_X509_AUX(bio, NULL, no_passphrase, NULL))) {
        narrow(&all, one);
        X509_free(one);
    }
    BIO_free(bio);
    ERR_clear_error();
    if (!rc && all.from == INT64_MIN)
        rc = cw_fail(err, CW_PARAMS, "TLS certificate '%s': cannot be read", path);
    if (!rc)
        *ret = all;
    return rc;
}

/* ---- the certificate of another server ---- */

#define PEER_ADDRESSES 8u

/* Wait for an event. False at the deadline, and after an error. */
static bool wait_for(int fd, short events, uint64_t deadline)
{
    struct pollfd p = {.fd = fd, .events = events};
    for (uint64_t now = cw_clock_ms(); now < deadline; now = cw_clock_ms()) {
        int n = poll(&p, 1, (int)(deadline - now));
        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
    }
    errno = ETIMEDOUT;
    return false;
}

static int open_socket(const cw_address *to, uint64_t deadline)
{
    bool is_pending = false;
    int fd = cw_connect_open(to, &is_pending);
    int errnum = 0;
    if (fd < 0 || !is_pending)
        return fd;
    errnum = wait_for(fd, POLLOUT, deadline) ? cw_connect_result(fd) : errno;
    if (!errnum)
        return fd;
    close(fd);
    errno = errnum;
    return -1;
}

/* Each address has an equal part of the time that is left. */
static int connect_to(const cw_tls_peer *peer, uint64_t deadline, cw_err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    cw_address addresses[PEER_ADDRESSES];
    int fd = -1;
    int rc = getaddrinfo(peer->host, NULL, &hints, &found);
    if (rc) {
        cw_fail(err, CW_IO, "'%s': %s", peer->host, gai_strerror(rc));
        return -1;
    }
    size_t n = cw_lookup_take(found, peer->port, addresses, PEER_ADDRESSES);
    freeaddrinfo(found);
    errno = EADDRNOTAVAIL;
    for (size_t i = 0; i < n && fd < 0; i++) {
        uint64_t now = cw_clock_ms();
        uint64_t part = now < deadline ? (deadline - now) / (n - i) : 0;
        fd = open_socket(&addresses[i], now + part);
    }
    if (fd < 0)
        cw_fail_errno(err, errno, "'%s' port %u", peer->host, peer->port);
    return fd;
}

static bool set_name(SSL *tls, const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    char name[TLSEXT_MAXLEN_host_name + 1]; /* the macro of OpenSSL takes no constant text */
    snprintf(name, sizeof name, "%s", host);
    bool is_address =
        inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
    return is_address || SSL_set_tlsext_host_name(tls, name) == 1;
}

static cw_code shake_hands(SSL *tls, int fd, uint64_t deadline, cw_err *err)
{
    for (;;) {
        int rc = SSL_connect(tls);
        int reason = SSL_get_error(tls, rc);
        if (rc == 1)
            return CW_OK;
        if (reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE)
            return cw_fail(err, CW_IO, "TLS handshake: %s",
                           reason == SSL_ERROR_SSL ? take_reason()
                                                   : "the server closed the connection");
        if (!wait_for(fd, reason == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, deadline))
            return cw_fail_errno(err, errno, "TLS handshake");
    }
}

/* A server that requires a certificate of clients presents its own before it rejects this client. So
 * the handshake need not succeed. */
static cw_code read_peer(SSL *tls, int fd, const cw_tls_peer *peer, uint64_t deadline,
                         cw_tls_validity *ret, cw_err *err)
{
    SSL_set_verify(tls, SSL_VERIFY_NONE, NULL);
    SSL_set_options(tls, SSL_OP_IGNORE_UNEXPECTED_EOF);
    if (SSL_set_fd(tls, fd) != 1 ||
        !set_name(tls, peer->server_name ? peer->server_name : peer->host))
        return cw_fail_nomem(err);
    cw_code rc = shake_hands(tls, fd, deadline, err);
    X509 *certificate = SSL_get1_peer_certificate(tls);
    if (!certificate)
        return rc ? cw_wrap(err, rc, "'%s'", peer->host)
                  : cw_fail(err, CW_IO, "'%s': presents no certificate", peer->host);
    *ret = (cw_tls_validity){INT64_MIN, INT64_MAX};
    narrow(ret, certificate);
    X509_free(certificate);
    return CW_OK;
}

cw_code cw_tls_peer_validity(const cw_tls_peer *peer, uint32_t timeout_ms, cw_tls_validity *ret,
                             cw_err *err)
{
    uint64_t deadline = cw_clock_ms() + timeout_ms;
    int fd = connect_to(peer, deadline, err);
    if (fd < 0)
        return CW_IO;
    ERR_clear_error();
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *tls = context ? SSL_new(context) : NULL;
    cw_code rc = tls ? read_peer(tls, fd, peer, deadline, ret, err) : cw_fail_nomem(err);
    SSL_free(tls);
    SSL_CTX_free(context);
    ERR_clear_error();
    close(fd);
    return rc;
}

/* ---- contexts ---- */

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

/* Whatever the list has, it must authenticate and encrypt. */
static bool set_ciphers(SSL_CTX *c, cw_str list)
{
    char text[CW_TLS_CIPHERS_MAX + sizeof ":!aNULL:!eNULL"];
    snprintf(text, sizeof text, "%.*s:!aNULL:!eNULL", CW_STR_ARG(list));
    bool is_ok = SSL_CTX_set_cipher_list(c, text) == 1;
    ERR_clear_error();
    return is_ok;
}

/* OpenSSL skips unknown names silently: each is tried alone. */
static bool is_cipher(SSL_CTX *c, cw_str name)
{
    bool is_operator = name.n && (name.p[0] == '!' || name.p[0] == '-' || name.p[0] == '@');
    return is_operator ||
           set_ciphers(c, cw_str_starts(name, CW_STR("+")) ? cw_str_make(name.p + 1, name.n - 1)
                                                           : name);
}

static cw_code check_ciphers(SSL_CTX *c, cw_str list, cw_err *err)
{
    if (list.n > CW_TLS_CIPHERS_MAX)
        return cw_fail(err, CW_PARAMS, "tls.ciphers is longer than %u bytes", CW_TLS_CIPHERS_MAX);
    for (cw_str rest = list; rest.p;) {
        cw_str name = cw_str_cut(rest, ':', &rest);
        if (!is_cipher(c, name))
            return cw_fail(err, CW_PARAMS,
                           "'%.*s' is no cipher of TLS 1.2 that OpenSSL permits; see "
                           "openssl ciphers -v",
                           CW_STR_ARG(name));
    }
    if (!set_ciphers(c, list))
        return cw_fail(err, CW_PARAMS,
                       "no cipher of TLS 1.2 is left of '%.*s'; see "
                       "openssl ciphers -v",
                       CW_STR_ARG(list));
    return CW_OK;
}

cw_code cw_tls_check_ciphers(const char *ciphers, cw_err *err)
{
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());
    if (!c)
        return cw_fail_nomem(err);
    cw_code rc = check_ciphers(c, cw_str_from(ciphers), err);
    SSL_CTX_free(c);
    return rc;
}

cw_code cw_tls_context_new(const cw_tls_opts *opts, SSL_CTX **ret, cw_err *err)
{
    ERR_clear_error();
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());
    if (!c)
        return cw_fail_nomem(err);
    set_up(c, opts->tls13_only);
    cw_tls_file wrong;
    cw_code rc = load_files(c, opts->certificate, opts->key, &wrong, err);
    if (!rc)
        rc = check_ciphers(c, cw_str_from(opts->ciphers ? opts->ciphers : CW_TLS_CIPHERS), err);
    if (rc) {
        SSL_CTX_free(c);
        return rc;
    }
    *ret = c;
    return CW_OK;
}
