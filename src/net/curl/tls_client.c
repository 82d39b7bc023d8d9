/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tls_client.c - libcurl makes the connection; the socket is lent to it.
 *
 * HTTP/1.1 only: for one small call per exchange HTTP/2 has no gain that its framing would not cost
 * again.
 *
 * libcurl is told where to connect the socket, and that it was closed. (Debian's libcurl 7.88
 * cannot be told that it is connected: it connects all the same.)
 */
#include "net/curl/tls_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/curl/curl_loop.h"
#include "net/http/hostcheck.h"

/* A placeholder, so that libcurl resolves no name: it gets the real address later. */
#define ANY_ADDRESS "127.0.0.1"

struct cw_tls_client {
    cw_curl_loop cl;
    cw_tls_client_opts opts;
    CURLSH *share;                 /* sessions: the next handshake is a shorter one */
    struct curl_slist *connect_to; /* the server's true name where another one is checked */
    char url[320];
    char proxy[32];
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

struct cw_tls_client_conn {
    cw_tls_client *secure;
    void *owner;
    CURL *easy;
    int fd;
    cw_address to;
    bool has_socket;
    char problem[CURL_ERROR_SIZE];
};

static const cw_curl *curl_of(const cw_tls_client_conn *l)
{
    return l->secure->cl.curl;
}

/* ---- what libcurl calls ---- */

static curl_socket_t give_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    cw_tls_client_conn *l = ctx;
    if (purpose != CURLSOCKTYPE_IPCXN || l->has_socket)
        return CURL_SOCKET_BAD;
    l->has_socket = true;
    /* It has room for every kind of address, and connects to what it finds there afterwards. */
    address->family = l->to.sa.ss_family;
    address->addrlen = l->to.len;
    memcpy((void *)&address->addr, &l->to.sa, l->to.len);
    return l->fd;
}

static int leave_open(void *ctx, curl_socket_t fd)
{
    (void)ctx, (void)fd;
    return 0;
}

static int keep_text(CURL *easy, curl_infotype type, char *text, size_t n, void *ctx)
{
    cw_tls_client_conn *l = ctx;
    (void)easy;
    if (type == CURLINFO_TEXT)
        snprintf(l->problem, sizeof l->problem, "%.*s",
                 (int)strnlen(text, n && text[n - 1] == '\n' ? n - 1 : n), text);
    return 0;
}

/* libcurl tells of one problem only, and takes it for one that a server which refuses our
 * certificate is gone when TLS 1.3 has ended its handshake. Why is told when we read: listen. */
static void relisten(cw_tls_client_conn *l)
{
    const cw_curl *curl = curl_of(l);
    *l->problem = 0;
    curl->easy_setopt(l->easy, CURLOPT_DEBUGFUNCTION, keep_text);
    curl->easy_setopt(l->easy, CURLOPT_DEBUGDATA, l);
    curl->easy_setopt(l->easy, CURLOPT_VERBOSE, 1L);
}

static void on_secured(void *self, CURLcode code)
{
    cw_tls_client_conn *l = self;
    const cw_tls_client_opts *opts = &l->secure->opts;
    long errnum = 0;
    cw_err err;
    if (code == CURLE_OK) {
        if (*l->problem)
            relisten(l);
        opts->on_done(l->owner, CW_OK, 0, NULL);
        return;
    }
    curl_of(l)->easy_getinfo(l->easy, CURLINFO_OS_ERRNO, &errnum);
    if (code == CURLE_COULDNT_CONNECT && errnum) {
        opts->on_done(l->owner, CW_IO, (int)errnum, NULL);
        return;
    }
    cw_fail(&err, code == CURLE_OUT_OF_MEMORY ? CW_NOMEM : CW_IO, "TLS with '%s': %s", opts->host.p,
            *l->problem ? l->problem : curl_of(l)->easy_strerror(code));
    opts->on_done(l->owner, err.code, 0, err.msg);
}

/* ---- a handshake ---- */

static CURLcode set_numbers(const cw_tls_client_conn *l)
{
    const struct {
        CURLoption option;
        long value;
    } numbers[] = {
        {CURLOPT_CONNECT_ONLY, 1},
        {CURLOPT_FRESH_CONNECT, 1},
        {CURLOPT_NOSIGNAL, 1},
        {CURLOPT_NETRC, CURL_NETRC_IGNORED},
        {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
        {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
        {CURLOPT_SSL_VERIFYPEER, 1},
        {CURLOPT_SSL_VERIFYHOST, 2},
        {CURLOPT_HTTPPROXYTUNNEL, l->secure->opts.has_proxy},
    };
    CURLcode code = CURLE_OK;
    for (size_t i = 0; i < CW_COUNT(numbers) && !code; i++)
        code = curl_of(l)->easy_setopt(l->easy, numbers[i].option, numbers[i].value);
    return code;
}

static CURLcode set_texts(cw_tls_client_conn *l)
{
    cw_tls_client *s = l->secure;
    const cw_client_tls *tls = &s->opts.tls;
    /* Without a proxy of ours, there is none for any host. */
    char every[] = "*", none[] = "", https[] = "https";
    const struct {
        CURLoption option;
        const void *value;
    } texts[] = {
        {CURLOPT_URL, s->url},
        {CURLOPT_PROTOCOLS_STR, https},
        {CURLOPT_PROXY, s->proxy},
        {CURLOPT_NOPROXY, *s->proxy ? none : every},
        {CURLOPT_CONNECT_TO, s->connect_to},
        {CURLOPT_SHARE, s->share},
        {CURLOPT_SSLCERT, tls->certificate.n ? tls->certificate.p : NULL},
        {CURLOPT_SSLKEY, tls->key.n ? tls->key.p : NULL},
        {CURLOPT_ERRORBUFFER, l->problem},
        {CURLOPT_PRIVATE, l},
        {CURLOPT_OPENSOCKETDATA, l},
    };
    CURLcode code = CURLE_OK;
    for (size_t i = 0; i < CW_COUNT(texts) && !code; i++)
        code = curl_of(l)->easy_setopt(l->easy, texts[i].option, texts[i].value);
    return code;
}

static CURLcode set_functions(const cw_tls_client_conn *l)
{
    const cw_curl *curl = curl_of(l);
    CURLcode code = curl->easy_setopt(l->easy, CURLOPT_OPENSOCKETFUNCTION, give_socket);
    return code ? code : curl->easy_setopt(l->easy, CURLOPT_CLOSESOCKETFUNCTION, leave_open);
}

/* libcurl holds what it read of a file of authorities for the next handshake, but only where there
 * is no folder of them as well: reading the system's costs 10 ms. */
static CURLcode set_authorities(const cw_tls_client_conn *l)
{
    const cw_curl *curl = curl_of(l);
    cw_str own = l->secure->opts.tls.ca_file;
    const char *file = own.n ? own.p : NULL;
    if (!file)
        curl->easy_getinfo(l->easy, CURLINFO_CAINFO, &file);
    if (!file || (!own.n && access(file, R_OK)))
        return curl->easy_setopt(l->easy, CURLOPT_CAINFO, NULL);
    CURLcode code = curl->easy_setopt(l->easy, CURLOPT_CAPATH, NULL);
    return code ? code : curl->easy_setopt(l->easy, CURLOPT_CAINFO, file);
}

cw_code cw_tls_client_begin(cw_tls_client *s, int fd, const cw_address *to, void *owner,
                            cw_tls_client_conn **ret, cw_err *err)
{
    const cw_curl *curl = s->cl.curl;
    cw_tls_client_conn *l = calloc(1, sizeof *l);
    if (!l)
        return cw_fail_nomem(err);
    *l = (cw_tls_client_conn){.secure = s, .owner = owner, .fd = fd, .to = *to};
    l->easy = curl->easy_init();
    CURLcode code = l->easy ? set_numbers(l) : CURLE_OUT_OF_MEMORY;
    if (!code)
        code = set_texts(l);
    if (!code)
        code = set_functions(l);
    if (!code)
        code = set_authorities(l);
    if (!code && curl->multi_add_handle(s->cl.multi, l->easy))
        code = CURLE_OUT_OF_MEMORY;
    if (!code) {
        *ret = l;
        return CW_OK;
    }
    cw_tls_client_end(l);
    return code == CURLE_OUT_OF_MEMORY ? cw_fail_nomem(err)
                                       : cw_fail(err, CW_IO, "%s", curl->easy_strerror(code));
}

void cw_tls_client_end(cw_tls_client_conn *l)
{
    if (!l)
        return;
    if (l->easy) {
        curl_of(l)->multi_remove_handle(l->secure->cl.multi, l->easy);
        curl_of(l)->easy_cleanup(l->easy);
    }
    free(l);
}

/* ---- bytes ---- */

/* Whether it was the server who ended the connection. libcurl does not care, but an answer whose
 * end is the connection's is only then known to be whole (RFC 9112 9.8). */
static bool is_clean_end(const cw_tls_client_conn *l)
{
    struct curl_tlssessioninfo *tls = NULL;
    const cw_curl *curl = curl_of(l);
    return curl->ssl_get_shutdown && !curl->easy_getinfo(l->easy, CURLINFO_TLS_SSL_PTR, &tls) &&
           tls && tls->backend == CURLSSLBACKEND_OPENSSL && tls->internals &&
           (curl->ssl_get_shutdown(tls->internals) & SSL_RECEIVED_SHUTDOWN);
}

ssize_t cw_tls_client_recv(const cw_tls_client_conn *l, void *p, size_t n)
{
    size_t got = 0;
    CURLcode code = curl_of(l)->easy_recv(l->easy, p, n, &got);
    if (code == CURLE_OK && (got || is_clean_end(l)))
        return (ssize_t)got;
    errno = code == CURLE_AGAIN ? EAGAIN : code == CURLE_OK ? ECONNRESET : EIO;
    return -1;
}

ssize_t cw_tls_client_send(const cw_tls_client_conn *l, const void *p, size_t n)
{
    size_t put = 0;
    CURLcode code = curl_of(l)->easy_send(l->easy, p, n, &put);
    if (code == CURLE_OK)
        return (ssize_t)put;
    errno = code == CURLE_AGAIN ? EAGAIN : EPIPE;
    return -1;
}

const char *cw_tls_client_problem(const cw_tls_client_conn *l)
{
    return l && *l->problem ? l->problem : NULL;
}

/* ---- begin and end ---- */

static void free_secure(cw_tls_client *s, const cw_curl *curl)
{
    curl->share_cleanup(s->share);
    curl->slist_free_all(s->connect_to);
    free(s);
}

/* The URL names whose certificate it must be; where the connection leads is another matter. */
static void make_url(cw_tls_client *s)
{
    const cw_tls_client_opts *opts = &s->opts;
    if (opts->tls.server_name.n)
        snprintf(s->url, sizeof s->url, "https://%.*s:%u/", CW_STR_ARG(opts->tls.server_name),
                 opts->port);
    else
        snprintf(s->url, sizeof s->url, "https://%.*s/", CW_STR_ARG(opts->authority));
}

/* Directly: anywhere, see give_socket. Through a proxy: what that is asked for. */
static bool make_bio(cw_tls_client *s, const cw_curl *curl)
{
    char text[320];
    const cw_tls_client_opts *opts = &s->opts;
    bool is_v6 = memchr(opts->host.p, ':', opts->host.n) != NULL;
    if (opts->has_proxy) {
        snprintf(s->proxy, sizeof s->proxy, "http://" ANY_ADDRESS ":1");
        snprintf(text, sizeof text, is_v6 ? "::[%.*s]:%u" : "::%.*s:%u", CW_STR_ARG(opts->host),
                 opts->port);
    } else {
        snprintf(text, sizeof text, "::" ANY_ADDRESS ":%u", opts->port);
    }
    s->connect_to = curl->slist_append(NULL, text);
    s->share = curl->share_init();
    return s->connect_to && s->share &&
           !curl->share_setopt(s->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}

cw_code cw_tls_client_new(cw_loop *loop, const cw_tls_client_opts *opts, cw_tls_client **ret,
                          cw_err *err)
{
    cw_str name = opts->tls.server_name;
    if (name.n && (memchr(name.p, ':', name.n) || !cw_host_is_valid(name)))
        return cw_fail(err, CW_PARAMS, "'%.*s' is no server name", CW_STR_ARG(name));
    const cw_curl *curl;
    cw_code rc = cw_curl_load(&curl, err);
    if (rc)
        return rc;
    cw_tls_client *s = calloc(1, sizeof *s);
    if (!s)
        return cw_fail_nomem(err);
    s->opts = *opts;
    make_url(s);
    rc = make_bio(s, curl) ? cw_curl_loop_init(&s->cl, loop, on_secured, err) : cw_fail_nomem(err);
    if (rc) {
        free_secure(s, curl);
        return rc;
    }
    *ret = s;
    return CW_OK;
}

static void on_loop_closed(cw_curl_loop *cl)
{
    cw_tls_client *s = CW_CONTAINER(cl, cw_tls_client, cl);
    void (*on_closed)(void *ctx) = s->on_closed;
    void *ctx = s->closed_ctx;
    free_secure(s, cl->curl);
    on_closed(ctx);
}

void cw_tls_client_close(cw_tls_client *s, void (*on_closed)(void *ctx), void *ctx)
{
    s->on_closed = on_closed;
    s->closed_ctx = ctx;
    cw_curl_loop_close(&s->cl, on_loop_closed);
}
