/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the HTTP client does about TLS itself, and about proxies. All else is in test_client.c and
 * test_client_pool.c, which are built for both. */
#define OVER_TLS
#include <poll.h>

#include "support/client_fixture.h"
#include "support/held_records.h"
#include "support/patience.h"

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define OK_HI OK_HEAD "Content-Length: 2\r\n\r\nhi"

static const fake_step always[] = {DO_READ, DO_SEND(OK_HI), DO_REPEAT};
static const fake_step hang[] = {DO_READ, DO_END};

/* ---- certificates ---- */

/* One request to a server with this certificate; `s` is stopped. */
static client_exchange ask_server(fake_server *s, SSL_CTX *context, cw_client_opts opts)
{
    client_fixture b;
    client_exchange a = {0};
    fake_server_start_with(s, NULL, &fake_tls_transport, context, SCRIPTS(always), 1);
    client_fixture_open_with(&b, s->port, opts);
    client_request(&b, &a);
    client_fixture_done(&b);
    fake_server_stop(s);
    return a;
}

static client_exchange ask_identity(const fake_cert_opts *wish, cw_client_opts opts,
                                    unsigned *handshakes)
{
    fake_cert id;
    fake_server s;
    fake_cert_issue(wish, &id);
    SSL_CTX *context = fake_tls_context(&id);
    client_exchange a = ask_server(&s, context, opts);
    *handshakes = s.requests;
    SSL_CTX_free(context);
    fake_cert_free(&id);
    return a;
}

TEST(a_certificate_must_be_right)
{
    fake_tls_init();
    const fake_cert *ca = &fake_pki.authority;
    fake_cert stranger;
    fake_cert_issue(&(fake_cert_opts){0}, &stranger);
    const struct {
        fake_cert_opts wish;
        const char *why;
    } cases[] = {
        {{.names = "IP:127.0.0.1"}, "self-signed certificate"},
        {{.names = "IP:127.0.0.1", .issuer = &stranger}, "unable to get local issuer certificate"},
        {{.names = "IP:127.0.0.1", .issuer = ca, .from = -9, .until = -1}, "expired"},
        {{.names = "IP:127.0.0.1", .issuer = ca, .from = 60, .until = 90}, "not yet valid"},
        {{.names = "IP:127.0.0.2,DNS:127.0.0.1", .issuer = ca}, "127.0.0.1"},
        {{.names = "DNS:localhost", .issuer = ca}, "127.0.0.1"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        unsigned requests;
        client_exchange a = ask_identity(&cases[i].wish, (cw_client_opts){0}, &requests);
        assert_int_equal(a.end, CW_CLIENT_CONNECT);
        assert_int_equal(requests, 0); /* not a byte of ours goes to whoever that is */
        if (!strstr(a.why, cases[i].why) || !strstr(a.why, "TLS with '127.0.0.1'"))
            fail_msg("%zu: %s", i, a.why);
    }
    unsigned requests;
    client_exchange good = ask_identity(&(fake_cert_opts){.names = "IP:127.0.0.1", .issuer = ca},
                                        (cw_client_opts){0}, &requests);
    assert_response(&good, 200, "hi");
    fake_cert_free(&stranger);
}

TEST(the_systems_authorities_do_not_know_ours)
{
    fake_server s;
    client_fixture b;
    client_exchange a = {0};
    char url[64];
    fake_server_start_tls(&s, SCRIPTS(always), 1);
    snprintf(url, sizeof url, "https://127.0.0.1:%u/", s.port);
    cw_client_opts opts = {.answer_size = CLIENT_BODY_MAX};
    assert_int_equal(cw_client_url_parse(cw_str_from(url), &opts.url, NULL), CW_OK);
    client_fixture_init(&b);
    assert_int_equal(cw_client_new(&b.loop, &opts, &b.client, NULL), CW_OK);
    client_request(&b, &a);
    assert_int_equal(a.end, CW_CLIENT_CONNECT);
    assert_int_equal(s.requests, 0);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(a_file_that_is_not_there_is_said)
{
    const cw_client_opts cases[] = {
        {.tls = {.ca_file = CW_STR("/nowhere/ca.pem")}},
        {.tls = {.certificate = CW_STR("/nowhere/client.pem")}},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        fake_server s;
        fake_tls_init();
        client_exchange a = ask_server(&s, fake_pki.context, cases[i]);
        assert_int_equal(a.end, CW_CLIENT_CONNECT);
        if (!strstr(a.why, "/nowhere/"))
            fail_msg("%s", a.why);
        assert_int_equal(s.requests, 0);
    }
}

static int on_server_name(SSL *tls, int *alert, void *ctx)
{
    const char *name = SSL_get_servername(tls, TLSEXT_NAMETYPE_host_name);
    (void)alert;
    snprintf(ctx, 64, "%s", name ? name : "");
    return SSL_TLSEXT_ERR_OK;
}

TEST(another_server_name_can_be_asked_for)
{
    fake_cert id;
    fake_server s;
    client_fixture b;
    char name[64] = "?", want[64];
    fake_tls_init();
    fake_cert_issue(&(fake_cert_opts){.names = "DNS:other.example", .issuer = &fake_pki.authority},
                    &id);
    SSL_CTX *context = fake_tls_context(&id);
    SSL_CTX_set_tlsext_servername_callback(context, on_server_name);
    SSL_CTX_set_tlsext_servername_arg(context, name);
    cw_client_opts opts = {.tls.server_name = CW_STR("other.example")};
    client_exchange a = ask_server(&s, context, opts);
    assert_response(&a, 200, "hi");
    assert_string_equal(name, "other.example");
    /* The request is for the URL's host all the same. */
    snprintf(want, sizeof want, "\r\nHost: 127.0.0.1:%u\r\n", s.port);
    assert_non_null(strstr(fake_server_last_request(&s), want));
    opts.tls.server_name = CW_STR("others.example");
    a = ask_server(&s, context, opts);
    assert_int_equal(a.end, CW_CLIENT_CONNECT);
    static const char *const bad[] = {"a b", "a/b", "a:1", "a@b", "[::1]", "a\r\nb", "a#"};
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        client_fixture_init(&b);
        opts.tls.server_name = cw_str_from(bad[i]);
        assert_int_equal(client_fixture_new_client(&b, "https://127.0.0.1/", opts), CW_PARAMS);
        b.client = NULL;
        client_fixture_done(&b);
    }
    SSL_CTX_free(context);
    fake_cert_free(&id);
}

TEST(a_client_can_show_a_certificate)
{
    fake_tls_init();
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        fake_server s;
        SSL_CTX *context = fake_tls_context(&fake_pki.server);
        SSL_CTX_set_max_proto_version(context, version);
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        SSL_CTX_set_session_id_context(context, (const unsigned char *)"t", 1);
        assert_true(SSL_CTX_load_verify_locations(context, fake_pki.ca, NULL));
        cw_client_opts opts = {.tls = {.certificate = cw_str_from(fake_pki.certificate),
                                       .key = cw_str_from(fake_pki.key)}};
        client_exchange a = ask_server(&s, context, opts);
        assert_response(&a, 200, "hi");
        /* With TLS 1.3 the server says so after the client has begun to send; its reset may
         * overtake its alert then. */
        a = ask_server(&s, context, (cw_client_opts){0});
        bool is_late = version == TLS1_3_VERSION;
        assert_int_equal(a.end, is_late ? CW_CLIENT_LOST : CW_CLIENT_CONNECT);
        if (!strstr(a.why, "alert") && !(is_late && *a.why))
            fail_msg("'%s'", a.why);
        assert_int_equal(s.requests, 0);
        SSL_CTX_free(context);
    }
}

TEST(old_versions_are_refused)
{
    fake_server s;
    fake_tls_init();
    SSL_CTX *context = fake_tls_context(&fake_pki.server);
    SSL_CTX_set_security_level(context, 0);
    SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context, TLS1_1_VERSION);
    client_exchange a = ask_server(&s, context, (cw_client_opts){0});
    assert_int_equal(a.end, CW_CLIENT_CONNECT);
    assert_int_equal(s.handshakes, 0);
    SSL_CTX_free(context);
}

static int pick_http2(SSL *tls, const unsigned char **out, unsigned char *n,
                      const unsigned char *in, unsigned in_n, void *ctx)
{
    static const unsigned char both[] = "\x02h2\x08http/1.1";
    (void)tls;
    snprintf(ctx, 64, "%.*s", (int)in_n, (const char *)in);
    return SSL_select_next_proto((unsigned char **)(uintptr_t)out, n, both, sizeof both - 1, in,
                                 in_n) == OPENSSL_NPN_NEGOTIATED
               ? SSL_TLSEXT_ERR_OK
               : SSL_TLSEXT_ERR_NOACK;
}

TEST(a_server_is_told_that_it_is_http_1_1)
{
    fake_server s;
    char offered[64] = "";
    fake_tls_init();
    SSL_CTX *context = fake_tls_context(&fake_pki.server);
    SSL_CTX_set_alpn_select_cb(context, pick_http2, offered);
    client_exchange a = ask_server(&s, context, (cw_client_opts){0});
    assert_response(&a, 200, "hi");
    assert_string_equal(offered, "\x08http/1.1");
    SSL_CTX_free(context);
}

TEST(a_server_without_tls_is_not_reached)
{
    static const fake_step polite[] = {DO_SEND("HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n"),
                                       DO_END};
    static const fake_step closes[] = {DO_PAUSE(5), DO_CLOSE, DO_END};
    static const fake_step resets[] = {DO_PAUSE(5), DO_RESET, DO_END};
    const fake_step *const scripts[] = {polite, closes, resets};
    for (size_t i = 0; i < CW_COUNT(scripts); i++) {
        fake_server s;
        client_fixture b;
        client_exchange a = {.req.may_repeat = true};
        fake_server_start(&s, &scripts[i], 1);
        client_fixture_open(&b, s.port);
        client_request(&b, &a);
        assert_int_equal(a.end, CW_CLIENT_CONNECT);
        assert_non_null(strstr(a.why, "TLS with '127.0.0.1': "));
        assert_int_equal(s.accepted, 1);
        client_fixture_done(&b);
        fake_server_stop(&s);
    }
}

/* ---- handshakes ---- */

TEST(a_handshake_has_its_time)
{
    static const fake_step deaf[] = {DO_END};
    fake_server s;
    client_fixture b;
    client_exchange a = {0};
    fake_server_start(&s, SCRIPTS(hang, deaf), 2);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.connect_ms = 80});
    uint64_t start = cw_clock_ms();
    client_request(&b, &a);
    uint64_t took = cw_clock_ms() - start;
    assert_int_equal(a.end, CW_CLIENT_CONNECT);
    assert_true(took >= 70 && took < patience(2000));
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(a_request_can_be_cancelled_within_the_handshake)
{
    fake_server s;
    client_fixture b;
    client_exchange a = {0}, other = {0};
    fake_server_start(&s, SCRIPTS(hang), 1);
    client_fixture_open(&b, s.port);
    assert_int_equal(client_send(&b, &a), CW_OK);
    assert_int_equal(client_send(&b, &other), CW_OK);
    client_run_until(&b, atomic_load(&s.accepted) == 2);
    client_run_for(&b, 20);
    cw_client_cancel(b.client, &a.req);
    assert_int_equal(count_requests(b.client), 1);
    cw_client_cancel(b.client, &a.req);
    client_run_for(&b, 20);
    client_fixture_done(&b); /* the other one is in its handshake still */
    assert_int_equal(a.calls + other.calls, 0);
    fake_server_stop(&s);
}

static client_fixture *shared;

static void close_all(client_exchange *a)
{
    (void)a;
    cw_client_close(shared->client, client_fixture_on_closed, shared);
}

TEST(a_client_can_be_closed_when_a_handshake_fails)
{
    static const fake_step garbage[] = {DO_SEND("no TLS here"), DO_END};
    fake_server s;
    client_fixture b;
    client_exchange a[3] = {{.then = close_all}, {.then = close_all}, {.then = close_all}};
    shared = &b;
    fake_server_start(&s, SCRIPTS(garbage), 1);
    client_fixture_open(&b, s.port);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(client_send(&b, &a[i]), CW_OK);
    client_run_until(&b, b.closed);
    assert_int_equal(a[0].calls + a[1].calls + a[2].calls, 1);
    b.client = NULL;
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(a_handshake_is_made_once_for_many_requests)
{
    fake_server s;
    client_fixture b;
    fake_server_start_tls(&s, SCRIPTS(always), 1);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.connections = 3});
    for (unsigned i = 0; i < 20; i++) {
        client_exchange a[3] = {0};
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(client_send(&b, &a[k]), CW_OK);
        client_run_until(&b, a[0].calls && a[1].calls && a[2].calls);
        for (size_t k = 0; k < 3; k++)
            assert_response(&a[k], 200, "hi");
    }
    assert_int_equal(s.handshakes, 3);
    assert_int_equal(s.requests, 60);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

/* Where a server keeps no connections, its next handshake is a short one. */
TEST(a_session_is_resumed)
{
    static const fake_step once[] = {DO_READ,
                                     DO_SEND(OK_HEAD "Connection: close\r\n"
                                                     "Content-Length: 2\r\n\r\nhi"),
                                     DO_CLOSE, DO_END};
    fake_server s;
    client_fixture b;
    fake_server_start_tls(&s, SCRIPTS(once), 1);
    client_fixture_open(&b, s.port);
    for (unsigned i = 0; i < 3; i++) {
        client_exchange a = {0};
        client_request(&b, &a);
        assert_response(&a, 200, "hi");
    }
    assert_int_equal(s.handshakes, 3);
    assert_int_equal(s.resumed, 2);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

/* ---- answers ---- */

/* Somebody on the way can end a connection, but cannot say goodbye in the server's name. */
TEST(an_answer_that_was_cut_is_lost)
{
    static const fake_step cut[] = {DO_READ, DO_SEND(OK_HEAD "\r\nhel"), DO_CUT, DO_END};
    static const fake_step whole[] = {DO_READ, DO_SEND(OK_HEAD "\r\nhel"), DO_CLOSE, DO_END};
    fake_server s;
    client_fixture b;
    client_exchange a = {0}, good = {0};
    fake_server_start_tls(&s, SCRIPTS(cut, whole), 2);
    client_fixture_open(&b, s.port);
    client_request(&b, &a);
    assert_int_equal(a.end, CW_CLIENT_LOST);
    client_request(&b, &good);
    assert_response(&good, 200, "hel");
    client_fixture_done(&b);
    fake_server_stop(&s);
}

static int renew_keys(SSL *tls)
{
    return SSL_key_update(tls, SSL_KEY_UPDATE_NOT_REQUESTED) && SSL_do_handshake(tls) > 0;
}

static ssize_t send_with_new_keys(const struct fake_conn *c, const void *p, size_t n)
{
    ssize_t k = fake_tls_send(c, p, n);
    return k > 0 && !renew_keys(c->tls) ? -1 : k;
}

/* A message of TLS itself behind an answer is neither a byte nor an end. */
TEST(messages_of_tls_do_not_end_an_idle_connection)
{
    static const fake_transport wire = {fake_tls_open, fake_tls_recv, send_with_new_keys,
                                        fake_tls_has_more, fake_tls_close};
    fake_server s;
    client_fixture b;
    fake_tls_init();
    fake_server_start_with(&s, NULL, &wire, fake_pki.context, SCRIPTS(always), 1);
    client_fixture_open(&b, s.port);
    for (unsigned i = 0; i < 3; i++) {
        client_exchange a = {0};
        client_request(&b, &a);
        assert_response(&a, 200, "hi");
        client_run_for(&b, 20);
    }
    assert_int_equal(s.handshakes, 1);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

/* The socket has no more events, and other connections of the loop have their turn in between. */
TEST(an_answer_that_libcurl_holds_is_read_in_several_turns)
{
    static const fake_step once[] = {DO_READ, DO_SEND(OK_HI), DO_END};
    fake_server s;
    client_fixture b;
    client_exchange a = {0};
    size_t most = 0;
    held_records_begin();
    fake_server_start_tls(&s, SCRIPTS(once), 1);
    client_fixture_open(&b, s.port);
    assert_int_equal(client_send(&b, &a), CW_OK);
    for (uint64_t until = cw_clock_ms() + patience(CLIENT_WAIT_MS);
         !a.calls && cw_clock_ms() < until;) {
        size_t before = held_records.at;
        client_fixture_turn(&b);
        most = held_records.at - before > most ? held_records.at - before : most;
    }
    held_records_end();
    assert_response(&a, 200, "hi");
    assert_in_range(most, 1, held_records.n / 2);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

#define PIECE 3000000u

/* Several at once that are all sent in parts, so that none may send from the other's place. */
TEST(large_requests_do_not_mix)
{
    static const fake_step slow[] = {DO_PAUSE(30), DO_READ, DO_SEND(OK_HI), DO_REPEAT};
    static char bytes[4][PIECE];
    static const cw_http_header own = {CW_STR_INIT("X-Own"), CW_STR_INIT("1")};
    fake_server s;
    client_fixture b;
    client_exchange a[4] = {0};
    cw_str pieces[4][3];
    fake_server_start_tls(&s, SCRIPTS(slow), 1);
    client_fixture_open(&b, s.port);
    for (size_t i = 0; i < 4; i++) {
        memset(bytes[i], 'a' + (int)i, PIECE);
        pieces[i][0] = cw_str_make(bytes[i], 10);
        pieces[i][1] = cw_str_make(bytes[i], PIECE);
        pieces[i][2] = cw_str_make(bytes[i], PIECE - 1);
        a[i].req.headers = &own;
        a[i].req.n_headers = 1;
        a[i].req.body = pieces[i];
        a[i].req.n_body = 3;
        assert_int_equal(client_send(&b, &a[i]), CW_OK);
    }
    client_run_until(&b, a[0].calls && a[1].calls && a[2].calls && a[3].calls);
    for (size_t i = 0; i < 4; i++)
        assert_response(&a[i], 200, "hi");
    assert_int_equal(s.body_bytes, 4 * (2 * PIECE + 9));
    client_fixture_done(&b);
    fake_server_stop(&s);
}

/* ---- proxies ---- */

/* A proxy that lets everybody through to `port`, or nobody. */
typedef struct fake_proxy {
    fake_server s;
    uint16_t port;
    bool refuses;
    char asked_for[256];
} fake_proxy;

static void pump(int from, int to)
{
    struct pollfd fds[] = {{from, POLLIN, 0}, {to, POLLIN, 0}};
    char buf[16384];
    while (poll(fds, 2, -1) > 0) {
        for (size_t i = 0; i < 2; i++) {
            if (!fds[i].revents)
                continue;
            ssize_t n = recv(fds[i].fd, buf, sizeof buf, 0);
            if (n <= 0 || send(fds[1 - i].fd, buf, (size_t)n, MSG_NOSIGNAL) != n)
                return;
        }
    }
}

/* The proxy's part of a connection; the script has nothing left to do. */
static bool tunnel(struct fake_conn *c)
{
    fake_proxy *p = c->server->transport_ctx;
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons(p->port)};
    size_t n = 0;
    while (n < sizeof p->asked_for - 1 && !strstr(p->asked_for, "\r\n\r\n")) {
        if (recv(c->fd, p->asked_for + n, 1, 0) != 1)
            return false;
        p->asked_for[++n] = 0;
    }
    const char *answer =
        p->refuses ? "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n" : "HTTP/1.1 200 Go\r\n\r\n";
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool there = p->refuses || connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
    if (there && send(c->fd, answer, strlen(answer), MSG_NOSIGNAL) > 0 && !p->refuses)
        pump(c->fd, fd);
    close(fd);
    return false;
}

static void fake_proxy_start(fake_proxy *p, uint16_t port)
{
    static const fake_transport wire = {.open = tunnel};
    static const fake_step *const scripts[] = {hang};
    memset(p, 0, sizeof *p);
    p->port = port;
    fake_server_start_with(&p->s, NULL, &wire, p, scripts, 1);
}

TEST(a_proxy_makes_a_tunnel)
{
    fake_server s;
    fake_proxy proxy;
    client_fixture b;
    char url[64], want[128];
    fake_server_start_tls(&s, SCRIPTS(always), 1);
    fake_proxy_start(&proxy, s.port);
    snprintf(url, sizeof url, "http://localhost:%u", proxy.s.port);
    /* Nobody but the proxy could find that name, and its certificate is the other's. */
    cw_client_opts opts = {.proxy = cw_str_from(url), .tls.server_name = CW_STR("localhost")};
    client_fixture_init(&b);
    assert_int_equal(client_fixture_new_client(&b, "https://far.invalid:77/rpc", opts), CW_OK);
    for (unsigned i = 0; i < 3; i++) {
        client_exchange a = {0};
        client_request(&b, &a);
        assert_response(&a, 200, "hi");
    }
    assert_int_equal(s.handshakes, 1);
    snprintf(want, sizeof want, "CONNECT far.invalid:77 HTTP/1.1\r\nHost: far.invalid:77\r\n");
    assert_memory_equal(proxy.asked_for, want, strlen(want));
    assert_non_null(
        strstr(fake_server_last_request(&s), "POST /rpc HTTP/1.1\r\nHost: far.invalid:77\r\n"));
    client_fixture_done(&b);
    fake_server_stop(&proxy.s);
    fake_server_stop(&s);
}

TEST(a_proxy_that_refuses_is_said)
{
    fake_proxy proxy;
    client_fixture b;
    client_exchange a = {0};
    char url[64];
    fake_proxy_start(&proxy, 1);
    proxy.refuses = true;
    snprintf(url, sizeof url, "http://127.0.0.1:%u", proxy.s.port);
    client_fixture_init(&b);
    assert_int_equal(client_fixture_new_client(&b, "https://far.invalid/",
                                               (cw_client_opts){.proxy = cw_str_from(url)}),
                     CW_OK);
    client_request(&b, &a);
    assert_int_equal(a.end, CW_CLIENT_CONNECT);
    if (!strstr(a.why, "403") || !strstr(a.why, "far.invalid"))
        fail_msg("%s", a.why);
    client_fixture_done(&b);
    fake_server_stop(&proxy.s);
}

TEST(a_proxy_is_told_the_whole_url_without_tls)
{
    fake_server s;
    client_fixture b;
    client_exchange a = {0}, other = {.req = {.method = CW_HTTP_GET, .path = CW_STR("/b?c")}};
    char url[64];
    fake_server_start(&s, SCRIPTS(always), 1);
    snprintf(url, sizeof url, "http://localhost:%u/", s.port);
    client_fixture_init(&b);
    assert_int_equal(client_fixture_new_client(&b, "http://far.invalid:77/a",
                                               (cw_client_opts){.proxy = cw_str_from(url)}),
                     CW_OK);
    client_request(&b, &a);
    assert_response(&a, 200, "hi");
    const char *want = "POST http://far.invalid:77/a HTTP/1.1\r\nHost: far.invalid:77\r\n";
    assert_memory_equal(fake_server_last_request(&s), want, strlen(want));
    client_request(&b, &other);
    want = "GET http://far.invalid:77/b?c HTTP/1.1\r\nHost: far.invalid:77\r\n";
    assert_memory_equal(fake_server_last_request(&s), want, strlen(want));
    assert_int_equal(s.accepted, 1);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(a_proxy_is_an_http_url)
{
    static const struct {
        const char *url, *proxy;
    } bad[] = {
        {"https://a/", "https://b/"},   {"http://a/", "https://b/"},
        {"http://a/", "socks5://b/"},   {"http://a/", "b:80"},
        {"http://a/", "http://b/path"}, {"http://a/", "http://u:p@b/"},
        {"http://a/", "unix:/b"},       {"unix:/a:/", "http://b/"},
        {"https://a/", "http://b:0/"},
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        client_fixture b;
        client_fixture_init(&b);
        cw_client_opts opts = {.proxy = cw_str_from(bad[i].proxy)};
        if (client_fixture_new_client(&b, bad[i].url, opts) != CW_PARAMS)
            fail_msg("%s by way of %s", bad[i].url, bad[i].proxy);
        b.client = NULL;
        client_fixture_done(&b);
    }
}

TEST(the_environment_has_no_say)
{
    static const char *const names[] = {"https_proxy", "http_proxy", "ALL_PROXY"};
    fake_server s;
    fake_proxy proxy;
    client_fixture b;
    client_exchange a = {0}, proxied = {0};
    char url[64];
    for (size_t i = 0; i < CW_COUNT(names); i++)
        setenv(names[i], "http://127.0.0.1:9", 1);
    setenv("no_proxy", "*", 1);
    setenv("SSL_CERT_FILE", "/nowhere/ca.pem", 1);
    fake_server_start_tls(&s, SCRIPTS(always), 1);
    client_fixture_open(&b, s.port);
    client_request(&b, &a);
    assert_response(&a, 200, "hi");
    client_fixture_done(&b);
    fake_proxy_start(&proxy, s.port);
    snprintf(url, sizeof url, "http://127.0.0.1:%u", proxy.s.port);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.proxy = cw_str_from(url)});
    client_request(&b, &proxied);
    assert_response(&proxied, 200, "hi");
    assert_int_equal(proxy.s.accepted, 1);
    client_fixture_done(&b);
    fake_server_stop(&proxy.s);
    fake_server_stop(&s);
    for (size_t i = 0; i < CW_COUNT(names); i++)
        unsetenv(names[i]);
    unsetenv("no_proxy");
    unsetenv("SSL_CERT_FILE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_certificate_must_be_right),
        cmocka_unit_test(the_systems_authorities_do_not_know_ours),
        cmocka_unit_test(a_file_that_is_not_there_is_said),
        cmocka_unit_test(another_server_name_can_be_asked_for),
        cmocka_unit_test(a_client_can_show_a_certificate),
        cmocka_unit_test(old_versions_are_refused),
        cmocka_unit_test(a_server_is_told_that_it_is_http_1_1),
        cmocka_unit_test(a_server_without_tls_is_not_reached),
        cmocka_unit_test(a_handshake_has_its_time),
        cmocka_unit_test(a_request_can_be_cancelled_within_the_handshake),
        cmocka_unit_test(a_client_can_be_closed_when_a_handshake_fails),
        cmocka_unit_test(a_handshake_is_made_once_for_many_requests),
        cmocka_unit_test(a_session_is_resumed),
        cmocka_unit_test(an_answer_that_was_cut_is_lost),
        cmocka_unit_test(messages_of_tls_do_not_end_an_idle_connection),
        cmocka_unit_test(an_answer_that_libcurl_holds_is_read_in_several_turns),
        cmocka_unit_test(large_requests_do_not_mix),
        cmocka_unit_test(a_proxy_makes_a_tunnel),
        cmocka_unit_test(a_proxy_that_refuses_is_said),
        cmocka_unit_test(a_proxy_is_told_the_whole_url_without_tls),
        cmocka_unit_test(a_proxy_is_an_http_url),
        cmocka_unit_test(the_environment_has_no_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
