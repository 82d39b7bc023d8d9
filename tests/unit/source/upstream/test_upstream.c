/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests over HTTP, and what a service wants first: a login, a token, a header repeated. */
#include "source/upstream/upstream_int.h"
#include "support/client_fixture.h"

#define JSON(status, headers, n)                                                                   \
    "HTTP/1.1 " status "\r\nContent-Type: application/json\r\n" headers "Content-Length: " #n      \
    "\r\n\r\n"
#define ANSWER(id) JSON("200 OK", "", 37) "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":\"r\"}"
#define LOGIN(id, cookie)                                                                          \
    JSON("200 OK", "Set-Cookie: " cookie "; Path=/\r\n", 37)                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":\"r\"}"
#define DENIED "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
#define CONFLICT(id) "HTTP/1.1 409 Conflict\r\nX-Session: " id "\r\nContent-Length: 0\r\n\r\n"
#define TOKEN(n, text) JSON("200 OK", "", n) text

typedef struct sent {
    cw_upstream_req req;
    cw_str body;
    unsigned calls;
    cw_client_end end;
    unsigned status;
    char text[128];
    char why[256];
    void (*then)(struct sent *s);
} sent;

typedef struct road {
    client_fixture b;
    cw_endpoint *service;
    cw_upstream *upstream;
    bool closed;
} road;

static void on_sent(cw_upstream_req *req, const cw_upstream_reply *reply)
{
    sent *s = req->ctx;
    s->calls++;
    s->end = reply->end;
    snprintf(s->why, sizeof s->why, "%s", reply->why);
    if (reply->end == CW_CLIENT_OK) {
        s->status = reply->answer->status;
        snprintf(s->text, sizeof s->text, "%.*s", CW_STR_ARG(reply->answer->body));
    }
    if (s->then)
        s->then(s);
}

static void on_way_closed(void *ctx)
{
    ((road *)ctx)->closed = true;
}

static void open_road(road *r, cw_config_remote config, uint16_t port)
{
    static char url[64];
    cw_err err = {0};
    snprintf(url, sizeof url, "http://127.0.0.1:%u/rpc", port);
    memset(r, 0, sizeof *r);
    client_fixture_init(&r->b);
    config.name = CW_STR("shop");
    config.url = cw_str_from(url);
    config.timeout_ms = 5000;
    config.connections = config.connections ? config.connections : 1;
    config.queue = config.queue ? config.queue : 10;
    if (cw_endpoint_new(&config, NULL, &r->service, &err) ||
        cw_upstream_open(r->service, NULL, &r->b.loop, CLIENT_BODY_MAX, &r->upstream, &err))
        fail_msg("%s", err.msg);
}

static void close_road(road *r)
{
    cw_upstream_close(r->upstream, on_way_closed, r);
    client_run_until(&r->b, r->closed);
    cw_endpoint_unref(r->service);
    client_fixture_done(&r->b);
}

static cw_code begin(road *r, sent *s, const char *body)
{
    s->body = cw_str_from(body);
    s->req.id = cw_upstream_next_id(r->upstream, false);
    s->req.body = &s->body;
    s->req.n_body = *body ? 1 : 0;
    s->req.on_done = on_sent;
    s->req.ctx = s;
    return cw_upstream_send(r->upstream, &s->req, NULL);
}

static void ask_for(road *r, sent *s)
{
    assert_int_equal(begin(r, s, "{\"q\":1}"), CW_OK);
    assert_int_equal(s->calls, 0);
}

static void wait_for(road *r, sent *s, unsigned status)
{
    client_run_until(&r->b, s->calls);
    assert_int_equal(s->calls, 1);
    if (s->end != CW_CLIENT_OK)
        fail_msg("%d: %s", s->end, s->why);
    assert_int_equal(s->status, status);
}

/* The next request has come and is held: look at it, then let it go on. */
static unsigned n_seen;

static const char *see(road *r, fake_server *f)
{
    n_seen++;
    client_run_until(&r->b, atomic_load(&f->held) == n_seen);
    return fake_server_last_request(f);
}

static const cw_config_init_call login[] = {
    {.method = CW_STR_INIT("login"), .params = CW_STR_INIT("[\"joe\"]")},
};
static const cw_config_init_call two[] = {
    {.method = CW_STR_INIT("login"), .params = CW_STR_INIT("[\"joe\"]")},
    {.method = CW_STR_INIT("select"), .params = CW_STR_INIT("")},
};

/* ---- plain requests ---- */

TEST(a_request_is_posted_and_a_path_is_got)
{
    static const fake_step script[] = {DO_READ, DO_HOLD, DO_SEND(ANSWER(1)), DO_REPEAT};
    fake_server f;
    road r;
    sent a = {0}, b = {.req.path = CW_STR("/methods?page=1")};
    n_seen = 0;
    fake_server_start(&f, SCRIPTS(script), 1);
    open_road(&r, (cw_config_remote){0}, f.port);
    ask_for(&r, &a);
    assert_non_null(strstr(see(&r, &f), "POST /rpc HTTP/1.1\r\n"));
    assert_non_null(strstr(fake_server_last_request(&f), "\r\n\r\n{\"q\":1}"));
    fake_server_release(&f);
    wait_for(&r, &a, 200);
    assert_non_null(strstr(a.text, "\"result\":\"r\""));
    assert_int_equal(begin(&r, &b, ""), CW_OK);
    assert_non_null(strstr(see(&r, &f), "GET /methods?page=1 HTTP/1.1\r\n"));
    fake_server_release(&f);
    wait_for(&r, &b, 200);
    cw_upstream_cancel(r.upstream, &b.req); /* fine for one that is over */
    close_road(&r);
    fake_server_stop(&f);
}

TEST(a_service_may_want_requests_in_the_query)
{
    static const fake_step script[] = {DO_READ, DO_HOLD, DO_SEND(ANSWER(1)), DO_REPEAT};
    static char large[CW_UPSTREAM_QUERY_MAX + 1];
    fake_server f;
    road r;
    sent s[5] = {0};
    n_seen = 0;
    memset(large, 'x', sizeof large - 1);
    fake_server_start(&f, SCRIPTS(script), 1);
    open_road(&r, (cw_config_remote){.http_method = CW_STR("GET")}, f.port);
    ask_for(&r, &s[0]);
    assert_non_null(strstr(see(&r, &f), "GET /rpc?query=%7B%22q%22%3A1%7D HTTP/1.1\r\n"));
    fake_server_release(&f);
    wait_for(&r, &s[0], 200);
    /* One that is too long goes as POST. */
    assert_int_equal(begin(&r, &s[1], large), CW_OK);
    assert_non_null(strstr(see(&r, &f), "POST /rpc HTTP/1.1\r\n"));
    fake_server_release(&f);
    wait_for(&r, &s[1], 200);
    close_road(&r);
    fake_server_stop(&f);
    n_seen = 0;
    fake_server_start(&f, SCRIPTS(script), 1);
    open_road(&r, (cw_config_remote){.http_method = CW_STR("AUTO")}, f.port);
    ask_for(&r, &s[2]);
    assert_non_null(strstr(see(&r, &f), "POST /rpc HTTP/1.1\r\n"));
    fake_server_release(&f);
    wait_for(&r, &s[2], 200);
    s[3].req.reads = true;
    ask_for(&r, &s[3]);
    assert_non_null(strstr(see(&r, &f), "GET /rpc?query=%7B"));
    /* One that cannot be sent leaves nothing behind. */
    for (unsigned i = 0; i < 20; i++) {
        s[4].req.reads = true;
        if (begin(&r, &s[4], "{}") == CW_LIMIT)
            break;
        cw_upstream_cancel(r.upstream, &s[4].req);
    }
    close_road(&r);
    assert_int_equal(s[3].calls + s[4].calls, 0); /* dropped without a word */
    fake_server_stop(&f);
}

TEST(what_cannot_be_queued_leaves_nothing_behind)
{
    static const fake_step script[] = {DO_READ, DO_END};
    fake_server f;
    road r;
    sent s[3] = {0};
    fake_server_start(&f, SCRIPTS(script), 1);
    open_road(&r, (cw_config_remote){.http_method = CW_STR("GET"), .queue = 1}, f.port);
    ask_for(&r, &s[0]);
    ask_for(&r, &s[1]);
    assert_int_equal(begin(&r, &s[2], "{}"), CW_LIMIT);
    assert_null(s[2].req.query);
    close_road(&r);
    fake_server_stop(&f);
}

/* ---- a header that is to be repeated ---- */

TEST(a_handshake_header_is_repeated)
{
    static const fake_step script[] = {DO_READ,
                                       DO_SEND(CONFLICT("one")),
                                       DO_READ,
                                       DO_HOLD,
                                       DO_SEND(ANSWER(1)), /* first */
                                       DO_READ,
                                       DO_HOLD,
                                       DO_SEND(ANSWER(2)), /* second */
                                       DO_READ,
                                       DO_SEND(CONFLICT("two")),
                                       DO_READ,
                                       DO_HOLD,
                                       DO_SEND(CONFLICT("three")),
                                       DO_END};
    const cw_config_remote config = {.handshake_status = 409,
                                     .handshake_header = CW_STR("X-Session")};
    fake_server f;
    road r;
    sent s[3] = {0};
    n_seen = 0;
    fake_server_start(&f, SCRIPTS(script), 1);
    open_road(&r, config, f.port);
    static const char *const values[] = {"one", "one", "two"};
    for (unsigned i = 0; i < 3; i++) {
        char line[64];
        ask_for(&r, &s[i]);
        snprintf(line, sizeof line, "\r\nX-Session: %s\r\n", values[i]);
        assert_non_null(strstr(see(&r, &f), line));
        assert_non_null(strstr(fake_server_last_request(&f), "{\"q\":1}"));
        fake_server_release(&f);
        wait_for(&r, &s[i], i == 2 ? 409 : 200); /* once, not for ever */
    }
    close_road(&r);
    fake_server_stop(&f);
}

/* ---- a login ---- */

TEST(the_login_goes_first_and_its_cookies_with_every_request)
{
    static const fake_step script[] = {DO_READ,
                                       DO_HOLD,
                                       DO_SEND(LOGIN(3, "sid=abc")),
                                       DO_READ,
                                       DO_HOLD,
                                       DO_SEND(ANSWER(4)),
                                       DO_READ,
                                       DO_HOLD,
                                       DO_SEND(ANSWER(1)),
                                       DO_READ,
                                       DO_SEND(ANSWER(2)),
                                       DO_END};
    fake_server f;
    road r;
    sent a = {0}, b = {0};
    n_seen = 0;
    fake_server_start(&f, SCRIPTS(script), 1);
    open_road(&r, (cw_config_remote){.init_calls = {two, 2}}, f.port);
    ask_for(&r, &a);
    ask_for(&r, &b);
    assert_int_equal(r.upstream->n_waiting, 2);
    assert_non_null(strstr(see(&r, &f),
                           "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"login\",\"params\":[\"joe"));
    assert_null(strstr(fake_server_last_request(&f), "Cookie:"));
    fake_server_release(&f);
    /* The second call of a prelude belongs to the session of the first. */
    assert_non_null(strstr(see(&r, &f), "\"method\":\"select\"}"));
    assert_non_null(strstr(fake_server_last_request(&f), "\r\nCookie: sid=abc\r\n"));
    fake_server_release(&f);
    assert_non_null(strstr(see(&r, &f), "{\"q\":1}"));
    assert_non_null(strstr(fake_server_last_request(&f), "\r\nCookie: sid=abc\r\n"));
    fake_server_release(&f);
    wait_for(&r, &a, 200);
    wait_for(&r, &b, 200);
    assert_int_equal(r.upstream->n_waiting, 0);
    close_road(&r);
    fake_server_stop(&f);
}

TEST(who_is_not_known_any_more_logs_in_again)
{
    static const fake_step script[] = {DO_READ,
                                       DO_SEND(LOGIN(2, "sid=one")),
                                       DO_READ,
                                       DO_SEND(DENIED), /* at once */
                                       DO_READ,
                                       DO_HOLD,
                                       DO_SEND(LOGIN(3, "sid=two")), /* again */
                                       DO_READ,
                                       DO_HOLD,
                                       DO_SEND(ANSWER(1)), /* now it is right */
                                       DO_READ,
                                       DO_SEND(DENIED),
                                       DO_READ,
                                       DO_SEND(LOGIN(5, "sid=three")),
                                       DO_READ,
                                       DO_SEND(DENIED), /* but not twice */
                                       DO_END};
    fake_server f;
    road r;
    sent a = {0}, b = {0};
    n_seen = 0;
    fake_server_start(&f, SCRIPTS(script), 1);
    open_road(&r, (cw_config_remote){.init_calls = {login, 1}}, f.port);
    ask_for(&r, &a);
    assert_non_null(strstr(see(&r, &f), "\"method\":\"login\""));
    assert_null(strstr(fake_server_last_request(&f), "Cookie:")); /* not as who it was */
    fake_server_release(&f);
    assert_non_null(strstr(see(&r, &f), "\r\nCookie: sid=two\r\n"));
    fake_server_release(&f);
    wait_for(&r, &a, 200);
    ask_for(&r, &b);
    wait_for(&r, &b, 401);
    assert_int_equal(r.upstream->n_waiting, 0);
    close_road(&r);
    fake_server_stop(&f);
}

TEST(one_that_waits_for_a_connection_outlives_the_session)
{
    static const fake_step script[] = {DO_READ,
                                       DO_SEND(LOGIN(3, "sid=one")),
                                       DO_READ,
                                       DO_SEND(DENIED),
                                       DO_READ,
                                       DO_HOLD,
                                       DO_SEND(ANSWER(2)),
                                       DO_READ,
                                       DO_SEND(LOGIN(4, "sid=two")),
                                       DO_READ,
                                       DO_SEND(ANSWER(1)),
                                       DO_END};
    fake_server f;
    road r;
    sent a = {0}, b = {0};
    n_seen = 0;
    fake_server_start(&f, SCRIPTS(script), 1);
    open_road(&r, (cw_config_remote){.init_calls = {login, 1}}, f.port);
    ask_for(&r, &a);
    ask_for(&r, &b);
    /* The first was denied; the second is sent with what it had then, and not with freed bytes. */
    assert_non_null(strstr(see(&r, &f), "\r\nCookie: sid=one\r\n"));
    fake_server_release(&f);
    wait_for(&r, &a, 200);
    wait_for(&r, &b, 200);
    close_road(&r);
    fake_server_stop(&f);
}

static road *again_road;
static sent *again;

static void ask_again(sent *s)
{
    (void)s;
    ask_for(again_road, again);
}

TEST(a_login_that_fails_fails_all_who_wait)
{
    static const fake_step script[] = {
        DO_READ,
        DO_SEND(JSON("200 OK", "", 66) "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":1,"
                                       "\"message\":\"who is joe\"}}"),
        DO_READ, DO_HOLD, DO_END};
    fake_server f;
    road r;
    sent a = {0}, b = {0}, c = {0};
    n_seen = 0;
    fake_server_start(&f, SCRIPTS(script), 1);
    open_road(&r, (cw_config_remote){.init_calls = {login, 1}}, f.port);
    again_road = &r;
    again = &c;
    a.then = ask_again; /* which must wait for the next login and not fail with this one */
    ask_for(&r, &a);
    ask_for(&r, &b);
    client_run_until(&r.b, a.calls && b.calls);
    assert_int_equal(a.end, CW_CLIENT_REFUSED);
    assert_string_equal(a.why, "initial call 'login': who is joe");
    assert_string_equal(b.why, "initial call 'login': who is joe");
    see(&r, &f);
    assert_int_equal(c.calls, 0);
    assert_int_equal(r.upstream->n_waiting, 1);
    close_road(&r); /* while it logs in */
    assert_int_equal(c.calls, 0);
    fake_server_stop(&f);
}

TEST(a_login_that_cannot_be_made_fails_all_who_wait)
{
    road r;
    sent a = {0};
    open_road(&r, (cw_config_remote){.init_calls = {login, 1}}, unused_port());
    ask_for(&r, &a);
    client_run_until(&r.b, a.calls);
    assert_int_equal(a.end, CW_CLIENT_CONNECT);
    assert_true(strncmp(a.why, "initial call '", 14) == 0);
    close_road(&r);
}

TEST(those_who_wait_are_counted_and_may_leave)
{
    static const fake_step script[] = {
        DO_READ, DO_HOLD, DO_SEND(LOGIN(4, "sid=x")), DO_READ, DO_SEND(ANSWER(3)), DO_END};
    fake_server f;
    road r;
    sent s[4] = {0};
    n_seen = 0;
    fake_server_start(&f, SCRIPTS(script), 1);
    open_road(&r, (cw_config_remote){.init_calls = {login, 1}, .queue = 2}, f.port);
    ask_for(&r, &s[0]);
    ask_for(&r, &s[1]);
    assert_int_equal(begin(&r, &s[2], "{}"), CW_LIMIT);
    cw_upstream_cancel(r.upstream, &s[0].req);
    cw_upstream_cancel(r.upstream, &s[0].req);
    cw_upstream_cancel(r.upstream, &s[1].req);
    assert_int_equal(r.upstream->n_waiting, 0);
    see(&r, &f);
    ask_for(&r, &s[3]);
    fake_server_release(&f);
    wait_for(&r, &s[3], 200);
    assert_int_equal(s[0].calls + s[1].calls + s[2].calls, 0);
    close_road(&r);
    fake_server_stop(&f);
}

/* Who is told may end the way: a source that was replaced closes with its last call. */
static road *ending;

static void end_road(sent *s)
{
    (void)s;
    cw_upstream_close(ending->upstream, on_way_closed, ending);
    ending->upstream = NULL;
}

static void finish_road(road *r)
{
    client_run_until(&r->b, r->closed);
    cw_endpoint_unref(r->service);
    client_fixture_done(&r->b);
}

TEST(an_upstream_may_end_when_the_login_fails)
{
    for (unsigned i = 0; i < 2; i++) {
        road r;
        sent s[2] = {0};
        ending = &r;
        s[i].then = end_road; /* the first of two, or the last */
        open_road(&r, (cw_config_remote){.init_calls = {login, 1}}, unused_port());
        ask_for(&r, &s[0]);
        ask_for(&r, &s[1]);
        finish_road(&r);
        assert_int_equal(s[0].calls, 1);
        assert_int_equal(s[1].calls, i); /* the other was dropped without a word */
    }
}

TEST(an_upstream_may_end_when_the_login_has_succeeded)
{
    static const fake_step script[] = {DO_READ, DO_SEND(LOGIN(3, "sid=abc")), DO_END};
    fake_server f;
    road r;
    /* The first of them cannot be sent, and whoever is told ends the way. */
    sent s[2] = {{.req.path = CW_STR("/a\nb"), .then = end_road}};
    ending = &r;
    fake_server_start(&f, SCRIPTS(script), 1);
    open_road(&r, (cw_config_remote){.init_calls = {login, 1}}, f.port);
    ask_for(&r, &s[0]);
    ask_for(&r, &s[1]);
    finish_road(&r);
    assert_int_equal(s[0].calls, 1);
    assert_int_equal(s[0].end, CW_CLIENT_CONNECT);
    assert_int_equal(s[1].calls, 0);
    fake_server_stop(&f);
}

/* ---- a token ---- */

static cw_config_remote with_token(fake_server *f, char url[64])
{
    snprintf(url, 64, "http://127.0.0.1:%u/token", f->port);
    setenv("CW_TEST_WAY_SECRET", "s3:cr", 1);
    return (cw_config_remote){.oauth = {.token_url = cw_str_from(url),
                                        .client_id = CW_STR("me"),
                                        .client_secret_environment = CW_STR("CW_TEST_WAY_SECRET"),
                                        .scope = CW_STR("read write")}};
}

TEST(a_token_is_got_used_and_renewed)
{
    static const fake_step tokens[] = {DO_READ,
                                       DO_SEND(TOKEN(40, "{\"access_token\":\"aaa\",\"expires_in\":"
                                                         "3600}")),
                                       DO_CLOSE};
    static const fake_step renewed[] = {DO_READ, DO_SEND(TOKEN(22, "{\"access_token\":\"bbb\"}")),
                                        DO_CLOSE};
    static const fake_step script[] = {
        DO_READ, DO_HOLD, DO_SEND(ANSWER(1)), DO_READ, DO_SEND(DENIED),
        DO_READ, DO_HOLD, DO_SEND(ANSWER(2)), DO_END};
    fake_server f, t;
    road r;
    char url[64];
    sent a = {0}, b = {0};
    n_seen = 0;
    fake_server_start(&f, SCRIPTS(script), 1);
    fake_server_start(&t, SCRIPTS(tokens, renewed), 2);
    open_road(&r, with_token(&t, url), f.port);
    ask_for(&r, &a);
    assert_non_null(strstr(see(&r, &f), "\r\nAuthorization: Bearer aaa\r\n"));
    assert_non_null(
        strstr(fake_server_last_request(&t), "grant_type=client_credentials&scope=read%20write"));
    assert_non_null(
        strstr(fake_server_last_request(&t), "Basic bWU6czMlM0Fjcg==")); /* me:s3%3Acr */
    fake_server_release(&f);
    wait_for(&r, &a, 200);
    ask_for(&r, &b);
    assert_non_null(strstr(see(&r, &f), "\r\nAuthorization: Bearer bbb\r\n"));
    fake_server_release(&f);
    wait_for(&r, &b, 200);
    assert_int_equal(atomic_load(&t.requests), 2);
    close_road(&r);
    fake_server_stop(&f);
    fake_server_stop(&t);
}

TEST(a_token_goes_with_the_login_too)
{
    static const fake_step tokens[] = {DO_READ, DO_SEND(TOKEN(22, "{\"access_token\":\"aaa\"}")),
                                       DO_CLOSE};
    static const fake_step script[] = {
        DO_READ, DO_HOLD, DO_SEND(LOGIN(2, "sid=x")), DO_READ, DO_SEND(ANSWER(1)), DO_END};
    fake_server f, t;
    road r;
    char url[64];
    sent a = {0};
    n_seen = 0;
    fake_server_start(&f, SCRIPTS(script), 1);
    fake_server_start(&t, SCRIPTS(tokens), 1);
    cw_config_remote config = with_token(&t, url);
    config.init_calls = (cw_config_preludes){login, 1};
    open_road(&r, config, f.port);
    ask_for(&r, &a);
    assert_non_null(strstr(see(&r, &f), "\r\nAuthorization: Bearer aaa\r\n"));
    assert_non_null(strstr(fake_server_last_request(&f), "\"method\":\"login\""));
    fake_server_release(&f);
    wait_for(&r, &a, 200);
    close_road(&r);
    fake_server_stop(&f);
    fake_server_stop(&t);
}

#define SHORT_LIVED                                                                                \
    {                                                                                              \
        DO_READ, DO_SEND(TOKEN(37, "{\"access_token\":\"aaa\",\"expires_in\":1}")), DO_CLOSE       \
    }

/* An initial call has come and is held until the token, which is good for a second, is over. */
static void outlive_token(road *r, fake_server *f)
{
    see(r, f);
    uint64_t end = cw_loop_now(&r->b.loop) + 1000;
    client_run_until(&r->b, cw_loop_now(&r->b.loop) >= end);
    fake_server_release(f);
}

/* Ask for something, with a token of `t` and an initial call that takes longer than the token is good. */
static void ask_late(road *r, fake_server *f, fake_server *t, sent *a)
{
    static char url[64];
    cw_config_remote config = with_token(t, url);
    config.init_calls = (cw_config_preludes){login, 1};
    n_seen = 0;
    open_road(r, config, f->port);
    ask_for(r, a);
    outlive_token(r, f);
}

TEST(a_login_that_outlives_its_token_is_done_again)
{
    static const fake_step short_lived[] = SHORT_LIVED;
    static const fake_step tokens[] = {DO_READ, DO_SEND(TOKEN(22, "{\"access_token\":\"bbb\"}")),
                                       DO_CLOSE};
    static const fake_step script[] = {
        DO_READ, DO_HOLD, DO_SEND(LOGIN(2, "sid=x")), DO_READ, DO_SEND(LOGIN(3, "sid=y")),
        DO_READ, DO_HOLD, DO_SEND(ANSWER(1)),         DO_END};
    fake_server f, t;
    road r;
    sent a = {0};
    fake_server_start(&f, SCRIPTS(script), 1);
    fake_server_start(&t, SCRIPTS(short_lived, tokens), 2);
    ask_late(&r, &f, &t, &a);
    assert_non_null(strstr(see(&r, &f), "\r\nAuthorization: Bearer bbb\r\n"));
    fake_server_release(&f);
    wait_for(&r, &a, 200);
    close_road(&r);
    fake_server_stop(&f);
    fake_server_stop(&t);
}

TEST(a_login_that_outlives_every_token_fails_and_does_not_go_on_for_ever)
{
    static const fake_step tokens[] = SHORT_LIVED;
    static const fake_step script[] = {DO_READ, DO_HOLD, DO_SEND(LOGIN(2, "sid=x")),
                                       DO_READ, DO_HOLD, DO_SEND(LOGIN(3, "sid=y")),
                                       DO_END};
    fake_server f, t;
    road r;
    sent a = {0};
    fake_server_start(&f, SCRIPTS(script), 1);
    fake_server_start(&t, SCRIPTS(tokens, tokens), 2);
    ask_late(&r, &f, &t, &a);
    outlive_token(&r, &f);
    client_run_until(&r.b, a.calls);
    assert_int_equal(a.end, CW_CLIENT_CONNECT);
    assert_string_equal(a.why, "the login takes longer than its token is good");
    assert_int_equal(atomic_load(&t.requests), 2);
    close_road(&r);
    fake_server_stop(&f);
    fake_server_stop(&t);
}

TEST(a_token_that_is_over_at_once_is_not_asked_for_for_ever)
{
    static const fake_step tokens[] = {DO_READ,
                                       DO_SEND(TOKEN(37, "{\"access_token\":\"aaa\",\"expires_in\":"
                                                         "0}")),
                                       DO_CLOSE};
    static const fake_step script[] = {DO_READ, DO_SEND(ANSWER(1)), DO_END};
    fake_server f, t;
    road r;
    char url[64];
    sent a = {0};
    fake_server_start(&f, SCRIPTS(script), 1);
    fake_server_start(&t, SCRIPTS(tokens), 1);
    open_road(&r, with_token(&t, url), f.port);
    ask_for(&r, &a);
    wait_for(&r, &a, 200);
    assert_int_equal(atomic_load(&t.requests), 1);
    close_road(&r);
    fake_server_stop(&f);
    fake_server_stop(&t);
}

TEST(a_token_that_is_none_is_told)
{
    static const struct {
        fake_step script[3];
        const char *why;
    } cases[] = {
        {{DO_READ, DO_SEND(TOKEN(2, "{}")), DO_CLOSE}, "token: no access_token in the answer"},
        {{DO_READ, DO_SEND(TOKEN(19, "{\"access_token\":\"\"}")), DO_CLOSE}, "token: no access"},
        {{DO_READ, DO_SEND(TOKEN(4, "what")), DO_CLOSE}, "token: "},
        {{DO_READ, DO_SEND(TOKEN(23, "{\"access_token\":\"a\\nb\"}")), DO_CLOSE},
         "token: an access_token that cannot be sent"},
        {{DO_READ, DO_SEND(JSON("400 Bad Request", "", 2) "{}"), DO_CLOSE},
         "token: the token endpoint answered 400: it refuses our credentials"},
        {{DO_READ, DO_CLOSE, DO_END}, "token: "},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        fake_server t;
        road r;
        char url[64];
        sent a = {0};
        fake_server_start(&t, SCRIPTS(cases[i].script), 1);
        open_road(&r, with_token(&t, url), unused_port());
        ask_for(&r, &a);
        client_run_until(&r.b, a.calls);
        bool is_refused = strstr(cases[i].why, "credentials");
        assert_int_equal(a.end, is_refused ? CW_CLIENT_REFUSED : CW_CLIENT_CONNECT);
        if (strncmp(a.why, cases[i].why, strlen(cases[i].why)) != 0)
            fail_msg("%s", a.why);
        close_road(&r);
        fake_server_stop(&t);
    }
}

TEST(an_upstream_can_close_while_it_waits_for_a_token)
{
    static const fake_step silent[] = {DO_READ, DO_END};
    fake_server t;
    road r;
    char url[64];
    sent a = {0};
    fake_server_start(&t, SCRIPTS(silent), 1);
    open_road(&r, with_token(&t, url), unused_port());
    ask_for(&r, &a);
    client_run_until(&r.b, atomic_load(&t.requests));
    close_road(&r);
    assert_int_equal(a.calls, 0);
    fake_server_stop(&t);
}

/* ---- without memory ---- */

typedef struct trip {
    client_fixture b;
    cw_endpoint *service;
} trip;

static void travel_once(void *ctx)
{
    trip *t = ctx;
    road r = {.service = t->service};
    sent s = {0};
    cw_code rc = cw_upstream_open(t->service, NULL, &t->b.loop, CLIENT_BODY_MAX, &r.upstream, NULL);
    if (!rc) {
        rc = begin(&r, &s, "{\"q\":1}");
        if (!rc)
            client_run_until(&t->b, s.calls);
        cw_upstream_close(r.upstream, on_way_closed, &r);
        client_run_until(&t->b, r.closed);
    }
    if (rc)
        assert_true(oom_was_hit() && rc == CW_NOMEM);
    else if (s.end != CW_CLIENT_OK)
        assert_true(oom_was_hit());
}

TEST(every_failed_allocation_is_survived)
{
    static const fake_step script[] = {DO_READ, DO_SEND(LOGIN(2, "sid=x")), DO_READ,
                                       DO_SEND(ANSWER(1)), DO_CLOSE};
    cw_config_remote config = {.name = CW_STR("shop"),
                               .init_calls = {login, 1},
                               .http_method = CW_STR("GET"),
                               .timeout_ms = 2000,
                               .connections = 1,
                               .queue = 2};
    fake_server f;
    trip t;
    char url[64];
    fake_server_start(&f, SCRIPTS(script), 1);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/rpc", f.port);
    config.url = cw_str_from(url);
    client_fixture_init(&t.b);
    assert_int_equal(cw_endpoint_new(&config, NULL, &t.service, NULL), CW_OK);
    assert_true(oom_each(travel_once, &t) >= 4);
    cw_endpoint_unref(t.service);
    client_fixture_done(&t.b);
    fake_server_stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_posted_and_a_path_is_got),
        cmocka_unit_test(a_service_may_want_requests_in_the_query),
        cmocka_unit_test(what_cannot_be_queued_leaves_nothing_behind),
        cmocka_unit_test(a_handshake_header_is_repeated),
        cmocka_unit_test(the_login_goes_first_and_its_cookies_with_every_request),
        cmocka_unit_test(who_is_not_known_any_more_logs_in_again),
        cmocka_unit_test(one_that_waits_for_a_connection_outlives_the_session),
        cmocka_unit_test(a_login_that_fails_fails_all_who_wait),
        cmocka_unit_test(a_login_that_cannot_be_made_fails_all_who_wait),
        cmocka_unit_test(those_who_wait_are_counted_and_may_leave),
        cmocka_unit_test(a_token_is_got_used_and_renewed),
        cmocka_unit_test(an_upstream_may_end_when_the_login_fails),
        cmocka_unit_test(an_upstream_may_end_when_the_login_has_succeeded),
        cmocka_unit_test(a_token_goes_with_the_login_too),
        cmocka_unit_test(a_login_that_outlives_its_token_is_done_again),
        cmocka_unit_test(a_login_that_outlives_every_token_fails_and_does_not_go_on_for_ever),
        cmocka_unit_test(a_token_that_is_over_at_once_is_not_asked_for_for_ever),
        cmocka_unit_test(a_token_that_is_none_is_told),
        cmocka_unit_test(an_upstream_can_close_while_it_waits_for_a_token),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
