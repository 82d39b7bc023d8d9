/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The whole server with each allocation failing in turn: ours, libuv's and OpenSSL's. A request may
 * then fail cleanly; the process must live, leak nothing, and serve the next one. */
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <signal.h>
#include <unistd.h>

#include "net/server/server.h"
#include "support/oom.h"
#include "support/test.h"

#define BIG_BODY 200000
#define MAX_BODY (256 * 1024)
#define REFUSED_BODY (MAX_BODY + 1000)
/* Each fills a block of the request's arena, a new one or that of an earlier request, so that the
 * refusal of the body allocates. */
#define HEADER 600
#define LONG_HEADER 3800

static cw_router router;
static cw_server *server;
static cw_address plain, secure;
static SSL_CTX *client_tls;
static char cert_path[] = "/tmp/causeway-cert-XXXXXX";
static char key_path[] = "/tmp/causeway-key-XXXXXX";

/* ---- the application ---- */

static void echo(cw_http_req *req, void *self)
{
    (void)self;
    cw_str body = cw_arena_dup_str(cw_http_req_arena(req), cw_http_req_body(req));
    if (body.p)
        cw_http_reply(req, &(cw_http_response){.status = 200, .body = body});
    else
        cw_http_reply_error(req, 503, "unavailable", CW_STR("out of memory"));
}

static cw_str write_error(cw_buf *out, unsigned status, cw_str message, cw_str id)
{
    cw_buf_printf(out, "%u %.*s %.*s", status, CW_STR_ARG(message), CW_STR_ARG(id));
    return CW_STR("text/plain");
}

static const char *allow(cw_http_req *req, void *self)
{
    (void)req;
    (void)self;
    return "POST, OPTIONS";
}

/* Errors of this path have the id of the refused body. */
static const cw_route_protocol rpc = {write_error, allow};

static void stream(cw_http_req *req, void *self)
{
    (void)self;
    cw_sse_open(req, NULL, 0);
    for (int i = 0; i < 3; i++)
        (void)!cw_sse_send(req, CW_STR("e"), CW_STR("1"), CW_STR("two\nlines"));
    cw_http_stream_close(req);
}

/* ---- a client that allocates nothing we count ---- */

typedef struct client {
    int fd;
    SSL *tls;
} client;

static int connect_to(const cw_address *a)
{
    int fd = socket(a->sa.ss_family, SOCK_STREAM, 0);
    struct timeval limit = {.tv_sec = 10};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(connect(fd, (const struct sockaddr *)&a->sa, a->len), 0);
    return fd;
}

/* The response's status, 0 when the connection was closed instead. */
static int read_status(client *c)
{
    char text[8192];
    size_t n = 0;
    for (;;) {
        ssize_t got = c->tls ? SSL_read(c->tls, text + n, (int)(sizeof text - 1 - n))
                             : recv(c->fd, text + n, sizeof text - 1 - n, 0);
        if (got <= 0)
            break;
        n += (size_t)got;
        if (n == sizeof text - 1)
            n = 64; /* the beginning is all we judge */
    }
    text[n] = 0;
    int status = 0;
    if (n && sscanf(text, "HTTP/1.1 %d ", &status) != 1)
        fail_msg("garbage instead of a response: %.40s", text);
    return status;
}

static int exchange(bool tls, const char *const *parts, size_t n_parts)
{
    client c = {.fd = connect_to(tls ? &secure : &plain)};
    int status = 0;
    if (tls) {
        c.tls = SSL_new(client_tls);
        if (!c.tls || SSL_set_fd(c.tls, c.fd) != 1 || SSL_connect(c.tls) != 1) {
            /* The failing allocation may be the client's own; that tells nothing. */
            SSL_free(c.tls);
            close(c.fd);
            return 0;
        }
    }
    for (size_t i = 0; i < n_parts; i++) {
        size_t n = strlen(parts[i]);
        if (c.tls)
            (void)!SSL_write(c.tls, parts[i], (int)n);
        else
            (void)!send(c.fd, parts[i], n, MSG_NOSIGNAL);
        usleep(500); /* so that the pieces arrive one by one */
    }
    status = read_status(&c);
    SSL_free(c.tls);
    close(c.fd);
    return status;
}

/* ---- scenarios ---- */

static char big_request[BIG_BODY + 200];
static char refused_request[REFUSED_BODY + HEADER + 200];
static char long_refused_request[REFUSED_BODY + LONG_HEADER + 200];

typedef struct scenario {
    const char *name;
    bool tls;
    size_t n;
    const char *parts[4];
} scenario;

#define GET "GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

static const scenario scenarios[] = {
    {"a plain request", false, 1, {GET}},
    {"a head in pieces",
     false,
     3,
     {"GET /ec", "ho HTTP/1.1\r\nHost: loc", "alhost\r\nConnection: close\r\n\r\n"}},
    {"a percent-encoded path",
     false,
     1,
     {"GET /%65cho HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"}},
    {"a chunked body",
     false,
     2,
     {"POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: "
      "chunked\r\n\r\n5\r\nhel",
      "lo\r\n0\r\n\r\n"}},
    {"a large body", false, 1, {big_request}},
    {"a refused body", false, 1, {refused_request}},
    {"a refused body behind a long head", false, 1, {long_refused_request}},
    {"pipelined requests", false, 1, {"GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n" GET}},
    {"a stream",
     false,
     1,
     {"GET /stream HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"}},
    {"an unknown path",
     false,
     1,
     {"GET /no HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"}},
    {"a malformed request", false, 1, {"GET / HTTP/1.1\nHost: a\r\n\r\n"}},
    {"a request over TLS", true, 1, {GET}},
    {"a stream over TLS",
     true,
     1,
     {"GET /stream HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"}},
};

static bool is_clean(int healthy, int status)
{
    return status == healthy || status == 0 || status == 500 || status == 503;
}

static void run_with_failures(const scenario *s, int healthy, bool all_following)
{
    for (size_t n = 1; n < 5000; n++) {
        if (all_following)
            oom_fail_from(n);
        else
            oom_fail_at(n);
        int status = exchange(s->tls, s->parts, s->n);
        bool hit = oom_was_hit();
        oom_reset();
        if (!is_clean(healthy, status))
            fail_msg("%s, allocation %zu: status %d", s->name, n, status);
        assert_int_equal(exchange(false, scenarios[0].parts, 1), 200);
        if (!hit)
            return;
    }
    fail_msg("%s: the failure is met without end", s->name);
}

TEST(the_server_survives_every_failed_allocation)
{
    for (size_t i = 0; i < CW_COUNT(scenarios); i++) {
        const scenario *s = &scenarios[i];
        int healthy = exchange(s->tls, s->parts, s->n);
        assert_true(healthy >= 200);
        run_with_failures(s, healthy, /* all_following= */ false);
        /* Under TLS the client shares the process and could not even connect. */
        if (!s->tls)
            run_with_failures(s, healthy, /* all_following= */ true);
    }
}

/* ---- set-up ---- */

static void *tls_malloc(size_t n, const char *file, int line)
{
    (void)file;
    (void)line;
    return malloc(n);
}

static void *tls_realloc(void *p, size_t n, const char *file, int line)
{
    (void)file;
    (void)line;
    return realloc(p, n);
}

static void tls_free(void *p, const char *file, int line)
{
    (void)file;
    (void)line;
    free(p);
}

static void write_certificate(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    assert_non_null(key);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -60);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    X509_NAME *name = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1,
                               0);
    X509_set_issuer_name(cert, name);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    FILE *f = fdopen(mkstemp(cert_path), "w");
    PEM_write_X509(f, cert);
    fclose(f);
    f = fdopen(mkstemp(key_path), "w");
    PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL);
    fclose(f);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static void fill_big_request(void)
{
    int n = snprintf(big_request, sizeof big_request,
                     "POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                     "Content-Length: %d\r\n\r\n",
                     BIG_BODY);
    memset(big_request + n, 'b', BIG_BODY);
}

/* The id comes last. */
static void fill_refused_request(char *out, size_t size, int header)
{
    static const char id[] = "\"id\":1}";
    int n = snprintf(out, size,
                     "POST /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                     "Content-Length: %d\r\nX-Long: %0*d\r\n\r\n{\"a\":\"",
                     REFUSED_BODY, header, 0);
    char *body = strstr(out, "{");
    memset(out + n, 'b', REFUSED_BODY);
    snprintf(body + REFUSED_BODY - sizeof id - 1, sizeof id + 2, "\",%s", id);
}

SETUP(set_up)
{
    cw_err err = {0};
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(CRYPTO_set_mem_functions(tls_malloc, tls_realloc, tls_free), 1);
    assert_int_equal(uv_replace_allocator(malloc, realloc, calloc, free), 0);
    write_certificate();
    fill_big_request();
    fill_refused_request(refused_request, sizeof refused_request, HEADER);
    fill_refused_request(long_refused_request, sizeof long_refused_request, LONG_HEADER);
    client_tls = SSL_CTX_new(TLS_client_method());
    cw_router_init(&router);
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/echo", echo, NULL), CW_OK);
    assert_int_equal(cw_router_add(&router, CW_HTTP_POST, "/echo", echo, NULL), CW_OK);
    assert_int_equal(cw_router_add(&router, CW_HTTP_POST, "/rpc", echo, NULL), CW_OK);
    cw_router_set_protocol(&router, "/rpc", &rpc, NULL);
    assert_int_equal(cw_router_add(&router, CW_HTTP_GET, "/stream", stream, NULL), CW_OK);
    assert_int_equal(cw_server_new(&router, 1, &server, &err), CW_OK);
    assert_int_equal(cw_server_listen(server, CW_STR("127.0.0.1:0"), false, &err), CW_OK);
    assert_int_equal(cw_server_listen(server, CW_STR("127.0.0.1:0"), true, &err), CW_OK);
    cw_server_opts opts = CW_SERVER_DEFAULTS;
    opts.body_size = MAX_BODY;
    opts.tls_certificate = cert_path;
    opts.tls_key = key_path;
    assert_int_equal(cw_server_configure(server, &opts, &err), CW_OK);
    assert_int_equal(cw_server_start(server, &err), CW_OK);
    size_t n;
    const cw_listener *l = cw_server_listeners(server, &n);
    plain = l[0].address;
    secure = l[1].address;
    return 0;
}

TEARDOWN(tear_down)
{
    cw_server_free(server);
    cw_router_done(&router);
    SSL_CTX_free(client_tls);
    unlink(cert_path);
    unlink(key_path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_server_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
