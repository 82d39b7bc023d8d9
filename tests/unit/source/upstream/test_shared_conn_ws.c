/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handshake of a service that is a WebSocket: what it is shown, and what it may refuse. That it
 * is a WebSocket afterwards is for tests/functional. */
#include <signal.h>

#include "source/upstream/shared_conn_int.h"
#include "support/client_fixture.h"

#define ANSWER_SIZE 20000u
#define REFUSED "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
#define TOKEN(name)                                                                                \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 22\r\n\r\n"              \
    "{\"access_token\":\"" name "\"}"

typedef struct line {
    client_fixture b;
    cw_endpoint *service;
    cw_shared_conn *shared;
    cw_upstream *upstream;
} line;

typedef struct sent {
    cw_upstream_req req;
    unsigned calls;
    cw_client_end end;
    char why[256];
} sent;

static const fake_step refuses[] = {DO_READ, DO_SEND(REFUSED), DO_CLOSE};
static const fake_step gives_aaa[] = {DO_READ, DO_SEND(TOKEN("aaa")), DO_CLOSE};
static const fake_step gives_bbb[] = {DO_READ, DO_SEND(TOKEN("bbb")), DO_CLOSE};
static const fake_step gives_none[] = {
    DO_READ, DO_SEND("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"), DO_CLOSE};
static const fake_step hangs[] = {DO_READ, DO_END};

static cw_code try_line(line *l, cw_config_remote config, uint16_t port)
{
    static char url[64];
    snprintf(url, sizeof url, "ws://127.0.0.1:%u/rpc", port);
    config.name = CW_STR("s");
    config.url = cw_str_from(url);
    config.timeout_ms = 5000;
    config.connections = config.queue = 10;
    cw_shared_conn_opts opts = {.loop = &l->b.loop, .answer_size = ANSWER_SIZE};
    cw_code rc = cw_endpoint_new(&config, NULL, &l->service, NULL);
    if (!rc)
        rc = cw_shared_conn_new(l->service, &opts, &l->shared, NULL);
    return rc ? rc
              : cw_upstream_open(l->service, l->shared, &l->b.loop, ANSWER_SIZE, &l->upstream,
                                 NULL);
}

static void open_line(line *l, cw_config_remote config, uint16_t port)
{
    memset(l, 0, sizeof *l);
    client_fixture_init(&l->b);
    assert_int_equal(try_line(l, config, port), CW_OK);
}

static void leave_line(line *l)
{
    if (l->upstream)
        cw_upstream_close(l->upstream, NULL, NULL);
    cw_shared_conn_close(l->shared, false);
    cw_endpoint_unref(l->service);
    l->upstream = NULL;
    l->shared = NULL;
    l->service = NULL;
    client_run_for(&l->b, 20); /* whoever is on the way comes home */
}

static void close_line(line *l)
{
    leave_line(l);
    client_fixture_done(&l->b);
}

static void on_sent(cw_upstream_req *req, const cw_upstream_reply *reply)
{
    sent *s = req->ctx;
    s->calls++;
    s->end = reply->end;
    snprintf(s->why, sizeof s->why, "%s", reply->why);
}

static cw_code ask_for(line *l, sent *s)
{
    static const cw_str body = CW_STR_INIT("{}");
    s->req = (cw_upstream_req){.id = cw_upstream_next_id(l->upstream, false),
                               .body = &body,
                               .n_body = 1,
                               .on_done = on_sent,
                               .ctx = s};
    return cw_upstream_send(l->upstream, &s->req, NULL);
}

/* Our credentials are refused, and it says why. */
static void assert_fails(line *l, const char *part)
{
    sent s = {0};
    assert_int_equal(ask_for(l, &s), CW_OK);
    client_run_until(&l->b, s.calls);
    assert_int_equal(s.end, CW_CLIENT_REFUSED);
    if (!strstr(s.why, part))
        fail_msg("\"%s\" instead of \"%s\"", s.why, part);
    static const char *const secrets[] = {"aaa", "bbb", "s3cret"};
    for (size_t i = 0; i < CW_COUNT(secrets); i++)
        assert_null(strstr(s.why, secrets[i]));
    assert_true(cw_str_eq(cw_shared_conn_problem(l->shared), cw_str_from(s.why)));
}

static cw_config_remote with_token(const fake_server *t)
{
    static char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u/token", t->port);
    setenv("CONN_CLIENT_SECRET", "s3cret", 1);
    return (cw_config_remote){.oauth = {.token_url = cw_str_from(url),
                                        .client_id = CW_STR("us"),
                                        .client_secret_environment = CW_STR("CONN_CLIENT_SECRET")}};
}

TEST(headers_and_the_secret_are_shown_and_may_be_refused)
{
    static const cw_config_pair tenant[] = {{CW_STR_INIT("X-Tenant"), CW_STR_INIT("7")}};
    static const struct {
        const char *as, *name, *line;
    } cases[] = {
        {"bearer", "", "\r\nAuthorization: Bearer s3cret\r\n"},
        {"basic", "", "\r\nAuthorization: Basic czNjcmV0\r\n"},
        {"header", "X-Key", "\r\nX-Key: s3cret\r\n"},
    };
    setenv("CONN_SECRET", "s3cret", 1);
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        fake_server f;
        line l;
        cw_config_remote config = {.headers = {tenant, 1},
                                   .secret = {.as = cw_str_from(cases[i].as),
                                              .name = cw_str_from(cases[i].name),
                                              .environment = CW_STR("CONN_SECRET")}};
        fake_server_start(&f, SCRIPTS(refuses), 1);
        open_line(&l, config, f.port);
        assert_fails(&l, "the service refuses our credentials, or asks for some: HTTP 401");
        const char *request = fake_server_last_request(&f);
        assert_memory_equal(request, "GET /rpc HTTP/1.1\r\n", 19);
        assert_non_null(strstr(request, cases[i].line));
        assert_non_null(strstr(request, "\r\nX-Tenant: 7\r\n"));
        assert_non_null(strstr(request, "\r\nUser-Agent: causeway\r\n"));
        assert_null(strstr(request, "Content-Type"));
        close_line(&l);
        fake_server_stop(&f);
    }
}

TEST(a_token_is_shown_and_one_that_is_refused_is_not_shown_again)
{
    fake_server f, t;
    line l;
    fake_server_start(&f, SCRIPTS(refuses), 1);
    fake_server_start(&t, SCRIPTS(gives_aaa, gives_bbb), 2);
    open_line(&l, with_token(&t), f.port);
    assert_fails(&l, "HTTP 401");
    assert_non_null(strstr(fake_server_last_request(&f), "\r\nAuthorization: Bearer aaa\r\n"));
    assert_int_equal(f.requests, 1); /* it was a new one: another one is no better */
    client_run_for(&l.b, 300);
    assert_fails(&l, "HTTP 401");
    assert_non_null(strstr(fake_server_last_request(&f), "\r\nAuthorization: Bearer bbb\r\n"));
    assert_int_equal(t.requests, 2);
    close_line(&l);
    fake_server_stop(&f);
    fake_server_stop(&t);
}

TEST(without_a_token_nobody_is_asked)
{
    fake_server f, t;
    line l;
    fake_server_start(&f, SCRIPTS(refuses), 1);
    fake_server_start(&t, SCRIPTS(gives_none), 1);
    open_line(&l, with_token(&t), f.port);
    assert_fails(&l, "token: the token endpoint answered 400");
    assert_int_equal(f.accepted, 0);
    close_line(&l);
    fake_server_stop(&f);
    fake_server_stop(&t);
}

TEST(a_connection_can_close_while_it_waits_for_a_token)
{
    fake_server t;
    line l;
    sent s = {0};
    fake_server_start(&t, SCRIPTS(hangs), 1);
    open_line(&l, with_token(&t), unused_port());
    assert_int_equal(ask_for(&l, &s), CW_OK);
    client_run_until(&l.b, t.requests);
    cw_shared_conn_close(l.shared, false);
    l.shared = NULL;
    client_run_until(&l.b, s.calls);
    assert_string_equal(s.why, "the source was taken away");
    close_line(&l);
    fake_server_stop(&t);
}

TEST(the_way_is_another_one_with_other_credentials)
{
    static const cw_config_pair one[] = {{CW_STR_INIT("X-Tenant"), CW_STR_INIT("1")}};
    static const cw_config_pair two[] = {{CW_STR_INIT("X-Tenant"), CW_STR_INIT("2")}};
    setenv("CONN_CLIENT_SECRET", "s3cret", 1);
    const cw_config_remote plain = {.name = CW_STR("s"), .url = CW_STR("wss://a/rpc")};
    cw_config_remote others[7];
    for (size_t i = 0; i < CW_COUNT(others); i++)
        others[i] = plain;
    others[0].headers = (cw_config_pairs){one, 1};
    others[1].headers = (cw_config_pairs){two, 1};
    others[2].tls.ca_file = CW_STR("/ca.pem");
    others[3].tls.server_name = CW_STR("b");
    others[4].connect_ms = 7;
    others[5].url = CW_STR("ws://a/rpc");
    others[6].oauth.token_url = CW_STR("https://b/token");
    others[6].oauth.client_id = CW_STR("us");
    others[6].oauth.client_secret_environment = CW_STR("CONN_CLIENT_SECRET");
    cw_endpoint *all[CW_COUNT(others)], *twin;
    for (size_t i = 0; i < CW_COUNT(others); i++)
        assert_int_equal(cw_endpoint_new(&others[i], NULL, &all[i], NULL), CW_OK);
    for (size_t i = 0; i < CW_COUNT(others); i++) {
        for (size_t j = 0; j < CW_COUNT(others); j++)
            assert_int_equal(cw_endpoint_is_same_protocol(all[i], all[j]), i == j);
        assert_int_equal(cw_endpoint_new(&others[i], NULL, &twin, NULL), CW_OK);
        assert_true(cw_endpoint_is_same_protocol(all[i], twin));
        cw_endpoint_unref(twin);
    }
    for (size_t i = 0; i < CW_COUNT(others); i++)
        cw_endpoint_unref(all[i]);
}

typedef struct scene {
    line l;
    fake_server f, t;
} scene;

static void fail_once(void *ctx)
{
    scene *all = ctx;
    line *l = &all->l;
    sent s = {0};
    cw_code rc = try_line(l, with_token(&all->t), all->f.port);
    if (!rc)
        rc = ask_for(l, &s);
    if (!rc)
        client_run_until(&l->b, s.calls);
    assert_true(!rc || (oom_was_hit() && rc == CW_NOMEM));
    assert_true(s.end != CW_CLIENT_OK || !s.calls);
    leave_line(l);
}

TEST(no_failed_allocation_does_harm)
{
    static scene all;
    fake_server_start(&all.f, SCRIPTS(refuses), 1);
    fake_server_start(&all.t, SCRIPTS(gives_aaa), 1);
    client_fixture_init(&all.l.b);
    fail_once(&all); /* what is made once is made */
    assert_true(oom_each(fail_once, &all) >= 10);
    client_fixture_done(&all.l.b);
    fake_server_stop(&all.f);
    fake_server_stop(&all.t);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_and_the_secret_are_shown_and_may_be_refused),
        cmocka_unit_test(a_token_is_shown_and_one_that_is_refused_is_not_shown_again),
        cmocka_unit_test(without_a_token_nobody_is_asked),
        cmocka_unit_test(a_connection_can_close_while_it_waits_for_a_token),
        cmocka_unit_test(the_way_is_another_one_with_other_credentials),
        cmocka_unit_test(no_failed_allocation_does_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
