/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client_tls.c - TLS for the connections of the HTTP client, by libcurl.
 *
 *     our socket and address -> libcurl: connect, a proxy's tunnel, handshake, certificate
 *                            -> ours again: requests, through curl_easy_send and curl_easy_recv
 *
 * libcurl does what is easy to get wrong (CURLOPT_CONNECT_ONLY) and nothing else: what goes over
 * the connection is read, limited, repeated and kept by the same code as without TLS. Left to
 * itself, libcurl sends a POST a second time when a kept connection turns out to be dead, whether
 * or not that does harm, and takes answers that http1.h refuses.
 *
 * HTTP/1.1 only: that is what we write, and for one small call per exchange HTTP/2 has no gain
 * that its framing would not cost again. The server is told by ALPN.
 *
 * The socket stays ours all the time: libcurl is told where to connect it, and that it was closed.
 * (Debian's libcurl 7.88 cannot be told that it is connected: it connects all the same.)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/client_int.h"
#include "net/curl_loop.h"
#include "net/hostcheck.h"

/* More than this is more than one record of TLS. */
#define RECORD_MAX 16384u
/* Where libcurl wants an address, so that it looks no name up: it gets another one later. */
#define ANY_ADDRESS "127.0.0.1"

/* What the connections of a client have in common. */
struct cw_secure {
    cw_curl_loop cl;
    cw_client *client;
    CURLSH *share;                 /* sessions: the next handshake is a shorter one */
    struct curl_slist *connect_to; /* the server's true name where another one is checked */
    char url[320];
    char proxy[32];
};

struct cw_secure_link {
    CURL *easy;
    cw_buf out; /* after CW_AGAIN the same bytes must be sent from the same place */
    cw_address to;
    bool has_socket;
    char problem[CURL_ERROR_SIZE];
};

static const cw_curl *curl_of(const cw_link *l)
{
    return l->client->secure->cl.curl;
}

/* ---- what libcurl calls ---- */

static curl_socket_t give_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    cw_link *l = ctx;
    const cw_address *to = &l->secure->to;
    if (purpose != CURLSOCKTYPE_IPCXN || l->secure->has_socket)
        return CURL_SOCKET_BAD;
    l->secure->has_socket = true;
    /* It has room for every kind of address, and connects to what it finds there afterwards. */
    address->family = to->sa.ss_family;
    address->addrlen = to->len;
    memcpy((void *)&address->addr, &to->sa, to->len);
    return l->fd;
}

static int leave_open(void *ctx, curl_socket_t fd)
{
    (void)ctx, (void)fd;
    return 0;
}

static int note_text(CURL *easy, curl_infotype type, char *text, size_t n, void *ctx)
{
    cw_link *l = ctx;
    (void)easy;
    if (type == CURLINFO_TEXT)
        snprintf(l->secure->problem, sizeof l->secure->problem, "%.*s",
                 (int)strnlen(text, n && text[n - 1] == '\n' ? n - 1 : n), text);
    return 0;
}

/* libcurl tells of one problem only, and takes it for one that a server which refuses our
 * certificate is gone when TLS 1.3 has ended its handshake. Why is told when we read: listen. */
static void listen_anew(cw_link *l)
{
    const cw_curl *curl = curl_of(l);
    CURL *easy = l->secure->easy;
    *l->secure->problem = 0;
    curl->easy_setopt(easy, CURLOPT_DEBUGFUNCTION, note_text);
    curl->easy_setopt(easy, CURLOPT_DEBUGDATA, l);
    curl->easy_setopt(easy, CURLOPT_VERBOSE, 1L);
}

static void on_secured(void *self, CURLcode code)
{
    cw_link *l = self;
    cw_client *c = l->client;
    long errnum = 0;
    cw_err err;
    if (code == CURLE_OK) {
        if (*l->secure->problem)
            listen_anew(l);
        cw_link_secured(l);
        return;
    }
    curl_of(l)->easy_getinfo(l->secure->easy, CURLINFO_OS_ERRNO, &errnum);
    if (code == CURLE_COULDNT_CONNECT && errnum) {
        cw_link_not_reached(l, (int)errnum);
        return;
    }
    const char *problem = l->secure->problem;
    cw_fail(&err, CW_IO, "TLS with '%s': %s", c->opts.url.host.p,
            *problem ? problem : curl_of(l)->easy_strerror(code));
    cw_client_reached(c, l->address, false);
    cw_link_fail(l, code == CURLE_OUT_OF_MEMORY ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, err.msg);
}

/* ---- a handshake ---- */

static CURLcode set_numbers(const cw_link *l)
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
        {CURLOPT_HTTPPROXYTUNNEL, *l->client->secure->proxy != 0},
    };
    CURLcode code = CURLE_OK;
    for (size_t i = 0; i < CW_COUNT(numbers) && !code; i++)
        code = curl_of(l)->easy_setopt(l->secure->easy, numbers[i].option, numbers[i].value);
    return code;
}

static CURLcode set_texts(cw_link *l)
{
    cw_secure *s = l->client->secure;
    const cw_client_tls *tls = &l->client->opts.tls;
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
        {CURLOPT_ERRORBUFFER, l->secure->problem},
        {CURLOPT_PRIVATE, l},
        {CURLOPT_OPENSOCKETDATA, l},
    };
    CURLcode code = CURLE_OK;
    for (size_t i = 0; i < CW_COUNT(texts) && !code; i++)
        code = curl_of(l)->easy_setopt(l->secure->easy, texts[i].option, texts[i].value);
    return code;
}

static CURLcode set_functions(const cw_link *l)
{
    const cw_curl *curl = curl_of(l);
    CURL *easy = l->secure->easy;
    CURLcode code = curl->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, give_socket);
    return code ? code : curl->easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, leave_open);
}

/* libcurl holds what it read of a file of authorities for the next handshake, but only where there
 * is no folder of them as well: reading the system's costs 10 ms. */
static CURLcode set_authorities(const cw_link *l)
{
    const cw_curl *curl = curl_of(l);
    CURL *easy = l->secure->easy;
    cw_str own = l->client->opts.tls.ca_file;
    const char *file = own.n ? own.p : NULL;
    if (!file)
        curl->easy_getinfo(easy, CURLINFO_CAINFO, &file);
    if (!file || (!own.n && access(file, R_OK)))
        return curl->easy_setopt(easy, CURLOPT_CAINFO, NULL);
    CURLcode code = curl->easy_setopt(easy, CURLOPT_CAPATH, NULL);
    return code ? code : curl->easy_setopt(easy, CURLOPT_CAINFO, file);
}

cw_code cw_secure_begin(cw_link *l, const cw_address *to, cw_err *err)
{
    const cw_curl *curl = curl_of(l);
    cw_secure_link *s = l->secure;
    s->to = *to;
    s->easy = curl->easy_init();
    CURLcode code = s->easy ? set_numbers(l) : CURLE_OUT_OF_MEMORY;
    if (!code)
        code = set_texts(l);
    if (!code)
        code = set_functions(l);
    if (!code)
        code = set_authorities(l);
    if (!code && curl->multi_add_handle(l->client->secure->cl.multi, s->easy))
        code = CURLE_OUT_OF_MEMORY;
    if (!code)
        return CW_OK;
    return code == CURLE_OUT_OF_MEMORY ? cw_fail_nomem(err)
                                       : cw_fail(err, CW_IO, "%s", curl->easy_strerror(code));
}

/* ---- bytes ---- */

/* Whether it was the server who ended the connection. libcurl does not care, but an answer whose
 * end is the connection's is only then known to be whole (RFC 9112 9.8). */
static bool is_clean_end(const cw_link *l)
{
    struct curl_tlssessioninfo *tls = NULL;
    const cw_curl *curl = curl_of(l);
    return curl->ssl_get_shutdown &&
           !curl->easy_getinfo(l->secure->easy, CURLINFO_TLS_SSL_PTR, &tls) && tls &&
           tls->backend == CURLSSLBACKEND_OPENSSL && tls->internals &&
           (curl->ssl_get_shutdown(tls->internals) & SSL_RECEIVED_SHUTDOWN);
}

ssize_t cw_secure_recv(const cw_link *l, void *p, size_t n)
{
    size_t got = 0;
    CURLcode code = curl_of(l)->easy_recv(l->secure->easy, p, n, &got);
    if (code == CURLE_OK && (got || is_clean_end(l)))
        return (ssize_t)got;
    errno = code == CURLE_AGAIN ? EAGAIN : code == CURLE_OK ? ECONNRESET : EIO;
    return -1;
}

ssize_t cw_secure_send(cw_link *l, const void *p, size_t n)
{
    size_t put = 0;
    CURLcode code = curl_of(l)->easy_send(l->secure->easy, p, n, &put);
    if (code == CURLE_OK)
        return (ssize_t)put;
    if (code != CURLE_AGAIN && l->sent == 0 && n > RECORD_MAX)
        l->sent = 1; /* the first records may have arrived */
    errno = code == CURLE_AGAIN ? EAGAIN : EPIPE;
    return -1;
}

const char *cw_secure_problem(const cw_link *l)
{
    return l->secure && *l->secure->problem ? l->secure->problem : NULL;
}

cw_buf *cw_secure_out(const cw_link *l)
{
    return &l->secure->out;
}

/* ---- begin and end ---- */

bool cw_secure_reserve(cw_link *l, const cw_client_req *req)
{
    if (!l->secure) {
        l->secure = calloc(1, sizeof *l->secure);
        if (!l->secure)
            return false;
        cw_buf_init(&l->secure->out, SIZE_MAX / 2);
    }
    cw_buf_clear(&l->secure->out);
    return cw_buf_reserve(&l->secure->out, cw_client_room(l->client, req)) != NULL;
}

void cw_secure_end(cw_link *l)
{
    cw_secure_link *s = l->secure;
    const cw_curl *curl = curl_of(l);
    if (s->easy) {
        curl->multi_remove_handle(l->client->secure->cl.multi, s->easy);
        curl->easy_cleanup(s->easy);
    }
    cw_buf_done(&s->out);
    free(s);
    l->secure = NULL;
}

static void free_secure(cw_secure *s, const cw_curl *curl)
{
    curl->share_cleanup(s->share);
    curl->slist_free_all(s->connect_to);
    free(s);
}

/* The URL names whose certificate it must be; where the connection leads is another matter. */
static void make_url(cw_secure *s, const cw_client_opts *opts)
{
    if (opts->tls.server_name.n)
        snprintf(s->url, sizeof s->url, "https://%.*s:%u/", CW_STR_ARG(opts->tls.server_name),
                 opts->url.port);
    else
        snprintf(s->url, sizeof s->url, "https://%.*s/", CW_STR_ARG(opts->url.authority));
}

/* Directly: anywhere, see give_socket. Through a proxy: what that is asked for. */
static bool make_way(cw_secure *s, const cw_client_opts *opts, const cw_curl *curl)
{
    char text[320];
    bool is_v6 = memchr(opts->url.host.p, ':', opts->url.host.n) != NULL;
    if (opts->proxy.n) {
        snprintf(s->proxy, sizeof s->proxy, "http://" ANY_ADDRESS ":1");
        snprintf(text, sizeof text, is_v6 ? "::[%.*s]:%u" : "::%.*s:%u", CW_STR_ARG(opts->url.host),
                 opts->url.port);
    } else {
        snprintf(text, sizeof text, "::" ANY_ADDRESS ":%u", opts->url.port);
    }
    s->connect_to = curl->slist_append(NULL, text);
    s->share = curl->share_init();
    return s->connect_to && s->share &&
           !curl->share_setopt(s->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}

cw_code cw_secure_new(cw_client *c, cw_err *err)
{
    const cw_client_opts *opts = &c->opts;
    cw_str name = opts->tls.server_name;
    if (name.n && (memchr(name.p, ':', name.n) || !cw_host_is_valid(name)))
        return cw_fail(err, CW_PARAMS, "'%.*s' is no server name", CW_STR_ARG(name));
    const cw_curl *curl;
    cw_code rc = cw_curl_load(&curl, err);
    if (rc)
        return rc;
    cw_secure *s = calloc(1, sizeof *s);
    if (!s)
        return cw_fail_nomem(err);
    s->client = c;
    make_url(s, opts);
    rc = make_way(s, opts, curl) ? cw_curl_loop_init(&s->cl, c->loop, on_secured, err)
                                 : cw_fail_nomem(err);
    if (rc) {
        free_secure(s, curl);
        return rc;
    }
    c->secure = s;
    c->n_open++;
    return CW_OK;
}

static void on_loop_closed(cw_curl_loop *cl)
{
    cw_secure *s = CW_CONTAINER(cl, cw_secure, cl);
    cw_client *c = s->client;
    free_secure(s, cl->curl);
    c->secure = NULL;
    cw_client_enter(c);
    c->n_open--;
    cw_client_leave(c);
}

void cw_secure_close(cw_client *c)
{
    cw_curl_loop_close(&c->secure->cl, on_loop_closed);
}
