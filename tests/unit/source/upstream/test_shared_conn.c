/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The only connection of a service: calls of several loops on it, and all that can happen to it. */
#include "support/shared_conn_fixture.h"

/* ---- what is said first ---- */

TEST(nothing_is_opened_before_the_first_call)
{
    shared_conn_fixture l;
    shared_conn_call s = {0};
    shared_conn_open(&l, shared_conn_config());
    service_listen(&l);
    client_run_for(&l.client, 20);
    assert_false(service_accept(&l));
    shared_conn_send(&l, &s);
    service_expect(&l, CALL(1));
    service_send(&l, REPLY(1));
    shared_conn_expect(&l, &s, CW_CLIENT_OK, "\"result\":1");
    assert_int_equal(cw_shared_conn_problem(l.conn).n, 0);
    shared_conn_close(&l);
}

TEST(a_greeting_is_waited_for_and_the_prelude_goes_first)
{
    shared_conn_fixture l;
    shared_conn_call s = {0};
    cw_config_remote config = shared_conn_config();
    config.preset = CW_STR("qmp");
    shared_conn_open(&l, config);
    service_listen(&l);
    shared_conn_send(&l, &s);
    client_run_until(&l.client, service_accept(&l));
    client_run_for(&l.client, 20);
    assert_null(service_next_line(&l));
    service_send(&l, "{\"QMP\":{\"version\":{}}}\n");
    service_expect(&l, "{\"id\":2,\"execute\":\"qmp_capabilities\"}");
    client_run_for(&l.client, 20);
    assert_null(service_next_line(&l));
    service_send(&l, "{\"event\":\"STOP\"}\n{\"return\":{},\"id\":2}\n");
    service_expect(&l, "{\"id\":1,\"execute\":\"m\",\"arguments\":[1]}");
    service_send(&l, "{\"QMP\":{}}\n{\"return\":5,\"id\":1}\n"); /* one greeting too many */
    shared_conn_expect(&l, &s, CW_CLIENT_OK, "\"return\":5");
    shared_conn_close(&l);
}

static const cw_config_init_call three[] = {
    {.method = CW_STR_INIT("initialize"), .params = CW_STR_INIT("{}")},
    {.method = CW_STR_INIT("initialized"), .params = CW_STR_INIT(""), .notify = true},
    {.method = CW_STR_INIT("login"), .params = CW_STR_INIT("[1]")},
};

TEST(a_prelude_is_said_anew_on_every_connection)
{
    shared_conn_fixture l;
    shared_conn_call s[2] = {0};
    cw_config_remote config = shared_conn_config();
    config.init_calls = (cw_config_preludes){three, 3};
    shared_conn_open(&l, config);
    service_listen(&l);
    for (unsigned i = 0; i < 2; i++) {
        char text[128];
        unsigned first = i == 0 ? 2 : 5;
        shared_conn_send(&l, &s[i]);
        snprintf(text, sizeof text,
                 "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"initialize\",\"params\":{}}", first);
        service_expect(&l, text);
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{}}\n", first);
        service_send(&l, text);
        service_expect(&l, "{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"}");
        snprintf(text, sizeof text,
                 "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"login\",\"params\":[1]}", first + 1);
        service_expect(&l, text);
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{}}\n", first + 1);
        service_send(&l, text);
        service_expect(&l, i == 0 ? CALL(1) : CALL(4));
        service_send(&l, i == 0 ? REPLY(1) : REPLY(4));
        shared_conn_expect(&l, &s[i], CW_CLIENT_OK, "result");
        service_hang_up(&l);
        client_run_until(&l.client, l.conn->state == CW_SHARED_CONN_CLOSED);
    }
    shared_conn_close(&l);
}

TEST(a_prelude_that_is_refused_fails_those_who_wait)
{
    shared_conn_fixture l;
    shared_conn_call a = {0}, b = {0};
    cw_config_remote config = shared_conn_config();
    config.init_calls = (cw_config_preludes){three, 1};
    shared_conn_open(&l, config);
    service_listen(&l);
    shared_conn_send(&l, &a);
    shared_conn_send(&l, &b);
    client_run_until(&l.client, service_accept(&l));
    /* Without an id: while it is being said an error can be of nothing else. */
    service_send(
        &l, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"no way\"}}\n");
    shared_conn_expect(&l, &a, CW_CLIENT_CONNECT, "initial call 'initialize': no way");
    shared_conn_expect(&l, &b, CW_CLIENT_CONNECT, "no way");
    assert_non_null(strstr(cw_shared_conn_problem(l.conn).p, "no way"));
    shared_conn_close(&l);
}

TEST(a_prelude_with_a_secret_that_is_refused_is_about_credentials)
{
    static const cw_config_init_call login[] = {
        {.method = CW_STR_INIT("login"), .params = CW_STR_INIT("{\"password\":\"walk across\"}")}};
    shared_conn_fixture l;
    shared_conn_call s = {0};
    cw_config_remote config = shared_conn_config();
    config.init_calls = (cw_config_preludes){login, 1};
    shared_conn_open(&l, config);
    service_listen(&l);
    shared_conn_send(&l, &s);
    client_run_until(&l.client, service_accept(&l));
    service_send(&l,
                 "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":1,\"message\":\"no way\"}}\n");
    shared_conn_expect(&l, &s, CW_CLIENT_REFUSED, "initial call 'login': no way");
    shared_conn_close(&l);
}

TEST(a_service_that_does_not_begin_is_given_up)
{
    for (unsigned i = 0; i < 2; i++) {
        shared_conn_fixture l;
        shared_conn_call s = {0};
        cw_config_remote config = shared_conn_config();
        config.timeout_ms = 60;
        config.init_calls = (cw_config_preludes){three, i};
        config.greeting = i ? CW_STR("no") : CW_STR("yes");
        config.dialect = i ? CW_STR("2.0") : CW_STR("qmp");
        shared_conn_open(&l, config);
        service_listen(&l);
        shared_conn_send(&l, &s);
        client_run_until(&l.client, service_accept(&l));
        client_run_until(&l.client, s.calls);
        assert_true(s.end == CW_CLIENT_CONNECT || s.end == CW_CLIENT_SLOW);
        client_run_until(&l.client, l.conn->state == CW_SHARED_CONN_CLOSED);
        assert_non_null(
            strstr(cw_shared_conn_problem(l.conn).p, "did not complete the login in time"));
        shared_conn_close(&l);
    }
}

/* ---- messages ---- */

TEST(answers_out_of_order_reach_who_asked)
{
    shared_conn_fixture l;
    shared_conn_call s[3] = {0};
    shared_conn_open(&l, shared_conn_config());
    service_listen(&l);
    for (unsigned i = 0; i < 3; i++)
        shared_conn_send(&l, &s[i]);
    service_expect(&l, CALL(1));
    service_expect(&l, CALL(2));
    service_expect(&l, CALL(3));
    service_send(&l, REPLY(3) REPLY(1) REPLY(99));
    shared_conn_expect(&l, &s[2], CW_CLIENT_OK, "\"result\":3");
    shared_conn_expect(&l, &s[0], CW_CLIENT_OK, "\"result\":1");
    assert_int_equal(s[1].calls, 0);
    service_send(&l, REPLY(2) REPLY(2));
    shared_conn_expect(&l, &s[1], CW_CLIENT_OK, "\"result\":2");
    client_run_for(&l.client, 10);
    assert_int_equal(s[1].calls, 1);
    shared_conn_close(&l);
}

TEST(many_calls_share_buckets)
{
    enum { N = 600 };
    static shared_conn_call s[N];
    shared_conn_fixture l;
    cw_config_remote config = shared_conn_config();
    config.queue = N;
    shared_conn_open(&l, config);
    service_listen(&l);
    memset(s, 0, sizeof s);
    for (unsigned i = 0; i < N; i++)
        shared_conn_send(&l, &s[i]);
    client_run_until(&l.client, service_accept(&l));
    for (unsigned n = 0; n < N;) {
        client_fixture_turn(&l.client);
        n += service_next_line(&l) != NULL;
    }
    for (unsigned i = N; i > 0; i--) {
        char text[80];
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":\"r%u\"}\n", i, i);
        service_send(&l, text);
        if (i % 50 == 0)
            client_fixture_turn(&l.client);
    }
    for (unsigned i = 0; i < N; i++) {
        char text[16];
        snprintf(text, sizeof text, "\"r%u\"", i + 1);
        shared_conn_expect(&l, &s[i], CW_CLIENT_OK, text);
    }
    shared_conn_close(&l);
}

TEST(the_service_may_ask_tell_and_talk_nonsense)
{
    static const cw_str changed[] = {CW_STR_INIT("methods_changed")};
    shared_conn_fixture l;
    shared_conn_call s = {0};
    cw_config_remote config = shared_conn_config();
    config.replies = CW_STR("{\"echo\":\"$params\",\"fixed\":{\"a\":1}}");
    config.change_notifications = (cw_config_strings){changed, 1};
    shared_conn_open(&l, config);
    service_listen(&l);
    shared_conn_send(&l, &s);
    service_expect(&l, CALL(1));
    service_send(&l, "{\"jsonrpc\":\"2.0\",\"id\":\"e\",\"method\":\"echo\",\"params\":[1,{}]}\n"
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}\n"
                     "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"fixed\"}\n"
                     "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"other\"}\n");
    service_expect(&l, "{\"jsonrpc\":\"2.0\",\"id\":\"e\",\"result\":[1,{}]}");
    service_expect(&l, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}");
    service_expect(&l, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":1}}");
    service_expect(
        &l, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32601,\"message\":\"Method not "
            "found\"}}");
    service_send(&l, "{\"jsonrpc\":\"2.0\",\"method\":\"other\"}\n"
                     "{\"jsonrpc\":\"2.0\",\"method\":\"methods_changed\"}\n");
    client_run_until(&l.client, l.announced);
    service_send(&l, "nonsense\n[]\n{}\n" REPLY(1));
    shared_conn_expect(&l, &s, CW_CLIENT_OK, "\"result\":1");
    assert_int_equal(l.announced, 1);
    assert_int_equal(l.lists, CW_CHANGED_TOOLS);
    shared_conn_close(&l);
}

TEST(an_error_without_an_id_is_that_of_the_only_call)
{
    static const char lost[] = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1}}\n";
    shared_conn_fixture l;
    shared_conn_call a = {0}, b = {0};
    shared_conn_open(&l, shared_conn_config());
    service_listen(&l);
    shared_conn_send(&l, &a);
    shared_conn_send(&l, &b);
    service_expect(&l, CALL(1));
    service_expect(&l, CALL(2));
    service_send(&l, lost);
    client_run_for(&l.client, 20);
    assert_int_equal(a.calls + b.calls, 0);
    service_send(&l, REPLY(1));
    shared_conn_expect(&l, &a, CW_CLIENT_OK, "result");
    service_send(&l, lost);
    shared_conn_expect(&l, &b, CW_CLIENT_OK, "\"error\"");
    service_send(&l, lost); /* of nobody at all */
    client_run_for(&l.client, 10);
    shared_conn_close(&l);
}

TEST(a_notice_is_over_when_it_was_sent)
{
    shared_conn_fixture l;
    shared_conn_call s = {.req.is_notice = true};
    shared_conn_open(&l, shared_conn_config());
    service_listen(&l);
    shared_conn_send(&l, &s);
    service_expect(&l, "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[1]}");
    shared_conn_expect(&l, &s, CW_CLIENT_OK, "");
    shared_conn_close(&l);
}

/* ---- ends ---- */

TEST(what_ran_when_the_connection_ended_is_lost)
{
    shared_conn_fixture l;
    shared_conn_call a = {0}, b = {0}, c = {0};
    shared_conn_open(&l, shared_conn_config());
    service_listen(&l);
    shared_conn_send(&l, &a);
    shared_conn_send(&l, &b);
    service_expect(&l, CALL(1));
    service_expect(&l, CALL(2));
    service_hang_up(&l);
    shared_conn_expect(&l, &a, CW_CLIENT_LOST, "");
    shared_conn_expect(&l, &b, CW_CLIENT_LOST, "");
    shared_conn_send(&l, &c); /* at once */
    service_expect(&l, CALL(3));
    service_send(&l, REPLY(3));
    shared_conn_expect(&l, &c, CW_CLIENT_OK, "result");
    shared_conn_close(&l);
}

TEST(pauses_grow_while_it_cannot_be_reached)
{
    shared_conn_fixture l;
    shared_conn_open(&l, shared_conn_config());
    uint64_t last = 0;
    for (unsigned i = 0; i < 10; i++) {
        shared_conn_call s = {0}, early = {0};
        l.conn->retry_at = 0; /* as if that time had passed */
        shared_conn_send(&l, &s);
        shared_conn_expect(&l, &s, CW_CLIENT_CONNECT, "");
        assert_true(cw_shared_conn_problem(l.conn).n > 0);
        uint64_t pause = l.conn->retry_at - cw_loop_now(&l.client.loop);
        assert_true(pause + 5 >= last && pause <= 15000);
        last = pause;
        shared_conn_send(&l, &early);
        shared_conn_expect(&l, &early, CW_CLIENT_CONNECT, cw_shared_conn_problem(l.conn).p);
        assert_int_equal(l.conn->failures, i + 1);
    }
    assert_true(last > 14000);
    /* Then it is there. */
    shared_conn_call s = {0};
    service_listen(&l);
    l.conn->retry_at = 0;
    shared_conn_send(&l, &s);
    service_expect(&l, CALL(21));
    service_send(&l, REPLY(21));
    shared_conn_expect(&l, &s, CW_CLIENT_OK, "result");
    assert_int_equal(l.conn->failures, 0);
    assert_int_equal(cw_shared_conn_problem(l.conn).n, 0);
    shared_conn_close(&l);
}

TEST(a_call_has_its_time_and_silence_ends_the_connection)
{
    shared_conn_fixture l;
    shared_conn_call a = {0}, b = {0}, c = {0};
    cw_config_remote config = shared_conn_config();
    config.timeout_ms = 150;
    shared_conn_open(&l, config);
    service_listen(&l);
    shared_conn_send(&l, &a);
    service_expect(&l, CALL(1));
    client_run_for(&l.client, 60);
    service_send(&l, "{\"jsonrpc\":\"2.0\",\"method\":\"alive\"}\n");
    shared_conn_send(&l, &b);
    service_expect(&l, CALL(2));
    shared_conn_expect(&l, &a, CW_CLIENT_SLOW, "in time");
    assert_int_equal(l.conn->state, CW_SHARED_CONN_READY); /* it spoke meanwhile */
    service_send(&l, REPLY(1));                            /* too late */
    service_send(&l, REPLY(2));
    shared_conn_expect(&l, &b, CW_CLIENT_OK, "result");
    assert_int_equal(a.calls, 1);
    shared_conn_send(&l, &c);
    service_expect(&l, CALL(3));
    shared_conn_call d = {0};
    client_run_for(&l.client, 60);
    shared_conn_send(&l, &d);
    shared_conn_expect(&l, &c, CW_CLIENT_SLOW, "in time");
    shared_conn_expect(&l, &d, CW_CLIENT_LOST, "nothing came for too long");
    client_run_until(&l.client, service_next_line(&l) == NULL && l.ended);
    shared_conn_close(&l);
}

TEST(a_connection_that_has_just_opened_is_not_silent)
{
    shared_conn_fixture l;
    shared_conn_call a = {0}, b = {0};
    cw_config_remote config = shared_conn_config();
    config.timeout_ms = 200;
    config.greeting = CW_STR("yes");
    config.dialect = CW_STR("qmp");
    shared_conn_open(&l, config);
    service_listen(&l);
    shared_conn_send(&l, &a);
    client_run_until(&l.client, service_accept(&l));
    client_run_for(&l.client, 120);
    shared_conn_send(&l, &b);
    service_send(&l, "{\"QMP\":{}}\n");
    shared_conn_expect(&l, &a, CW_CLIENT_SLOW, "in time"); /* most of its time had gone before */
    assert_int_equal(l.conn->state, CW_SHARED_CONN_READY);
    service_send(&l, "{\"return\":1,\"id\":2}\n");
    shared_conn_expect(&l, &b, CW_CLIENT_OK, "return");
    shared_conn_close(&l);
}

TEST(a_message_that_is_too_large_ends_it)
{
    static char large[SHARED_CONN_BODY_MAX + 1000];
    shared_conn_fixture l;
    shared_conn_call s = {0};
    memset(large, 'x', sizeof large - 1);
    shared_conn_open(&l, shared_conn_config());
    service_listen(&l);
    shared_conn_send(&l, &s);
    service_expect(&l, CALL(1));
    service_send(&l, large);
    shared_conn_expect(&l, &s, CW_CLIENT_TOO_LARGE, "");
    shared_conn_close(&l);
}

TEST(what_is_no_framing_ends_it)
{
    shared_conn_fixture l;
    shared_conn_call s = {0};
    cw_config_remote config = shared_conn_config();
    config.framing = CW_STR("content-length");
    shared_conn_open(&l, config);
    service_listen(&l);
    shared_conn_send(&l, &s);
    client_run_until(&l.client, service_accept(&l));
    client_run_until(&l.client, l.conn->pending.next != &l.conn->pending);
    service_send(&l, "no header at all\r\n\r\n");
    shared_conn_expect(&l, &s, CW_CLIENT_GARBAGE, "");
    shared_conn_close(&l);
}

/* ---- whoever leaves ---- */

TEST(one_who_has_left_is_told_nothing)
{
    shared_conn_fixture l;
    shared_conn_call a = {0}, b = {0};
    shared_conn_open(&l, shared_conn_config());
    service_listen(&l);
    shared_conn_send(&l, &a);
    shared_conn_send(&l, &b);
    service_expect(&l, CALL(1));
    cw_upstream_cancel(l.upstream, &a.req);
    cw_upstream_cancel(l.upstream, &a.req);
    service_send(&l, REPLY(1) REPLY(2));
    shared_conn_expect(&l, &b, CW_CLIENT_OK, "result");
    assert_int_equal(a.calls, 0);
    shared_conn_close(&l);
}

TEST(too_many_calls_are_refused)
{
    shared_conn_fixture l;
    shared_conn_call s[4] = {0};
    cw_config_remote config = shared_conn_config();
    config.queue = 2;
    shared_conn_open(&l, config);
    service_listen(&l);
    for (unsigned i = 0; i < 3; i++)
        shared_conn_send(&l, &s[i]);
    assert_int_equal(shared_conn_send_on(&l, l.upstream, &s[3]), CW_LIMIT);
    shared_conn_close(&l);
}

TEST(a_connection_that_closes_fails_what_runs_and_what_comes)
{
    shared_conn_fixture l;
    shared_conn_call a = {0}, b = {0}, c = {0};
    shared_conn_open(&l, shared_conn_config());
    service_listen(&l);
    shared_conn_send(&l, &a);
    service_expect(&l, CALL(1));
    shared_conn_send(&l, &b); /* is still on its way */
    cw_shared_conn_ref(l.conn);
    cw_shared_conn_close(l.conn, false);
    shared_conn_send(&l, &c);
    shared_conn_expect(&l, &a, CW_CLIENT_LOST, "taken away");
    shared_conn_expect(&l, &b, CW_CLIENT_CONNECT, "taken away");
    shared_conn_expect(&l, &c, CW_CLIENT_CONNECT, "taken away");
    cw_shared_conn_unref(l.conn);
    l.conn = NULL;
    shared_conn_close(&l);
}

TEST(a_connection_can_close_while_it_opens)
{
    shared_conn_fixture l;
    shared_conn_call s = {0};
    cw_config_remote config = shared_conn_config();
    config.greeting = CW_STR("yes");
    shared_conn_open(&l, config);
    service_listen(&l);
    shared_conn_send(&l, &s);
    client_run_until(&l.client, service_accept(&l));
    cw_shared_conn_close(l.conn, false);
    l.conn = NULL;
    shared_conn_expect(&l, &s, CW_CLIENT_LOST, "taken away");
    shared_conn_close(&l);
}

TEST(when_the_loops_have_ended_nobody_is_told)
{
    shared_conn_fixture l;
    shared_conn_call a = {0}, b = {0};
    shared_conn_open(&l, shared_conn_config());
    service_listen(&l);
    shared_conn_send(&l, &a);
    shared_conn_send(&l, &b);
    service_expect(&l, CALL(1));
    service_expect(&l, CALL(2));
    cw_upstream_close(l.upstream, NULL, NULL);
    l.upstream = NULL;
    cw_loop_drop_messages(&l.client.loop);
    cw_shared_conn_close(l.conn, true);
    l.conn = NULL;
    shared_conn_close(&l);
    assert_int_equal(a.calls + b.calls, 0);
}

/* ---- several loops ---- */

typedef struct other {
    cw_loop loop;
    shared_conn_fixture *fixture;
    cw_upstream *upstream;
    cw_message begin, end;
    shared_conn_call calls[20];
} other;

static void turn_other(other *o)
{
    uv_run(&o->loop.uv, UV_RUN_NOWAIT);
}

static void open_other(other *o, shared_conn_fixture *l)
{
    memset(o, 0, sizeof *o);
    o->fixture = l;
    assert_int_equal(cw_loop_init(&o->loop, 1024, NULL), CW_OK);
    assert_int_equal(
        cw_upstream_open(l->endpoint, l->conn, &o->loop, SHARED_CONN_BODY_MAX, &o->upstream, NULL),
        CW_OK);
}

static void close_other(other *o)
{
    cw_upstream_close(o->upstream, NULL, NULL);
    cw_loop_end(&o->loop);
    cw_loop_run(&o->loop);
    cw_loop_done(&o->loop);
}

TEST(calls_of_several_loops_come_home)
{
    shared_conn_fixture l;
    static other o[2];
    shared_conn_call s = {0};
    shared_conn_open(&l, shared_conn_config());
    service_listen(&l);
    open_other(&o[0], &l);
    open_other(&o[1], &l);
    shared_conn_send(&l, &s);
    assert_int_equal(shared_conn_send_on(&l, o[0].upstream, &o[0].calls[0]), CW_OK);
    assert_int_equal(shared_conn_send_on(&l, o[1].upstream, &o[1].calls[0]), CW_OK);
    service_expect(&l, CALL(1));
    service_expect(&l, CALL(2));
    service_expect(&l, CALL(3));
    service_send(&l, REPLY(2) REPLY(3) REPLY(1));
    shared_conn_expect(&l, &s, CW_CLIENT_OK, "\"result\":1");
    assert_int_equal(o[0].calls[0].calls, 0); /* their own loops tell them */
    turn_other(&o[0]);
    turn_other(&o[1]);
    assert_non_null(strstr(o[0].calls[0].text, "\"result\":2"));
    assert_non_null(strstr(o[1].calls[0].text, "\"result\":3"));
    close_other(&o[0]);
    close_other(&o[1]);
    shared_conn_close(&l);
}

TEST(calls_of_a_connection_that_closes_come_home_too)
{
    shared_conn_fixture l;
    static other o;
    shared_conn_open(&l, shared_conn_config());
    service_listen(&l);
    open_other(&o, &l);
    assert_int_equal(shared_conn_send_on(&l, o.upstream, &o.calls[0]), CW_OK);
    service_expect(&l, CALL(1));
    cw_shared_conn_close(l.conn, false);
    l.conn = NULL;
    assert_int_equal(shared_conn_send_on(&l, o.upstream, &o.calls[1]),
                     CW_OK); /* comes after the end */
    client_run_until(&l.client, (turn_other(&o), o.calls[0].calls && o.calls[1].calls));
    assert_int_equal(o.calls[0].end, CW_CLIENT_LOST);
    assert_int_equal(o.calls[1].end, CW_CLIENT_CONNECT);
    close_other(&o);
    shared_conn_close(&l);
}

/* From threads of their own, each with many calls. */
static atomic_uint n_told;

static void on_threaded(cw_upstream_req *req, const cw_upstream_reply *reply)
{
    char expected[32];
    snprintf(expected, sizeof expected, "\"result\":%u}", (unsigned)req->id);
    shared_conn_on_done(req, reply);
    assert_non_null(strstr(((shared_conn_call *)req->ctx)->text, expected));
    atomic_fetch_add(&n_told, 1);
}

static void begin_many(cw_message *message)
{
    other *o = CW_CONTAINER(message, other, begin);
    for (size_t i = 0; i < CW_COUNT(o->calls); i++) {
        shared_conn_call *s = &o->calls[i];
        assert_int_equal(shared_conn_send_on(o->fixture, o->upstream, s), CW_OK);
        s->req.on_done = on_threaded; /* nobody is told before this returns */
    }
}

static void end_other(cw_message *message)
{
    other *o = CW_CONTAINER(message, other, end);
    cw_upstream_close(o->upstream, NULL, NULL);
    cw_loop_end(&o->loop);
}

TEST(loops_of_other_threads_call_at_once)
{
    shared_conn_fixture l;
    static other o[3];
    cw_config_remote config = shared_conn_config();
    config.queue = 100;
    shared_conn_open(&l, config);
    service_listen(&l);
    atomic_store(&n_told, 0);
    for (unsigned i = 0; i < 3; i++) {
        open_other(&o[i], &l);
        assert_int_equal(cw_loop_start(&o[i].loop, NULL), CW_OK);
        o[i].begin.fn = begin_many;
        cw_loop_post(&o[i].loop, &o[i].begin);
    }
    client_run_until(&l.client, service_accept(&l));
    while (atomic_load(&n_told) < 3 * CW_COUNT(o[0].calls)) {
        client_fixture_turn(&l.client);
        const char *got = service_next_line(&l);
        unsigned id;
        char text[64];
        if (!got || sscanf(got, "{\"jsonrpc\":\"2.0\",\"id\":%u", &id) != 1)
            continue;
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":%u}\n", id, id);
        service_send(&l, text);
    }
    for (unsigned i = 0; i < 3; i++) {
        o[i].end.fn = end_other;
        cw_loop_post(&o[i].loop, &o[i].end);
        pthread_join(o[i].loop.thread, NULL);
        cw_loop_done(&o[i].loop);
    }
    shared_conn_close(&l);
}

/* ---- without memory ---- */

/* Whether an event or a gap is behind the cursor, which then passes it. */
static bool has_news(cw_event_type *type, uint64_t *cursor)
{
    cw_event_batch batch;
    cw_event_read(type, *cursor, CW_EVENT_BATCH, &batch);
    *cursor = batch.cursor;
    bool is_news = batch.n || batch.is_truncated;
    cw_event_batch_done(&batch);
    return is_news;
}

/* Receive a notification while the n-th allocation fails. False: so many are not made. */
static bool notify_without(shared_conn_fixture *l, cw_event_type *type, uint64_t *cursor, size_t n)
{
    oom_fail_at(n);
    service_send(l, "{\"jsonrpc\":\"2.0\",\"method\":\"done\",\"params\":{}}\n");
    client_run_until(&l->client, has_news(type, cursor));
    bool was_hit = oom_was_hit();
    oom_reset();
    return was_hit;
}

TEST(an_event_that_is_lost_for_want_of_memory_leaves_a_gap)
{
    static const cw_config_event event = {
        .name = CW_STR_INIT("done"), .keep = 100, .keep_ms = 60000, .per_minute = 60000};
    shared_conn_fixture l;
    cw_event_hub *hub = NULL;
    cw_event_intake *intake = NULL;
    cw_buf warnings;
    size_t n_rules, n = 1;
    cw_config_remote config = shared_conn_config();
    config.events = (cw_config_events){&event, 1};
    cw_buf_init(&warnings, CW_BUF_MAX);
    shared_conn_open(&l, config);
    service_listen(&l);
    const cw_event_hub_opts opts = {.main = &l.client.loop, .n_loops = 1};
    assert_int_equal(cw_event_hub_new(&opts, &hub, NULL), CW_OK);
    assert_int_equal(cw_event_intake_new(hub, l.endpoint, &warnings, &intake, NULL), CW_OK);
    cw_event_type *type = cw_event_intake_rules(intake, &n_rules)->type;
    cw_shared_conn_set_events(l.conn, intake);
    client_run_until(&l.client, service_accept(&l));
    uint64_t cursor = cw_event_now(hub);
    while (notify_without(&l, type, &cursor, n))
        n++;
    assert_true(n > 3);
    cw_event_intake_unref(intake);
    cw_event_hub_close(hub);
    shared_conn_close(&l);
    cw_event_hub_free(hub);
    cw_buf_done(&warnings);
}

static void call_once(void *ctx)
{
    shared_conn_fixture *l = ctx;
    shared_conn_call s = {0};
    cw_shared_conn *shared = NULL;
    cw_shared_conn_opts opts = {.loop = &l->client.loop, .answer_size = SHARED_CONN_BODY_MAX};
    cw_upstream *upstream = NULL;
    cw_code rc = cw_shared_conn_new(l->endpoint, &opts, &shared, NULL);
    if (!rc)
        rc = cw_upstream_open(l->endpoint, shared, &l->client.loop, SHARED_CONN_BODY_MAX, &upstream,
                              NULL);
    if (!rc)
        rc = shared_conn_send_on(l, upstream, &s);
    while (!rc && !s.calls) {
        client_fixture_turn(&l->client);
        const char *got = service_accept(l) ? service_next_line(l) : NULL;
        if (l->peer >= 0 && l->ended)
            service_hang_up(l);
        if (got)
            service_send(l, strstr(got, "initialize") ? REPLY(2) : REPLY(1));
    }
    cw_arena_done(&s.arena);
    if (rc)
        assert_true(rc == CW_NOMEM && oom_was_hit());
    else if (s.end != CW_CLIENT_OK)
        assert_true(oom_was_hit());
    if (upstream)
        cw_upstream_close(upstream, NULL, NULL);
    cw_shared_conn_close(shared, false);
    client_run_for(&l->client, 5);
    if (service_accept(l))
        service_hang_up(l);
}

TEST(every_failed_allocation_is_survived)
{
    shared_conn_fixture l;
    cw_config_remote config = shared_conn_config();
    config.timeout_ms = 50; /* where the answer itself could not be read */
    config.init_calls = (cw_config_preludes){three, 1};
    shared_conn_open(&l, config);
    service_listen(&l);
    assert_true(oom_each(call_once, &l) >= 6);
    shared_conn_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_opened_before_the_first_call),
        cmocka_unit_test(a_greeting_is_waited_for_and_the_prelude_goes_first),
        cmocka_unit_test(a_prelude_is_said_anew_on_every_connection),
        cmocka_unit_test(a_prelude_that_is_refused_fails_those_who_wait),
        cmocka_unit_test(a_prelude_with_a_secret_that_is_refused_is_about_credentials),
        cmocka_unit_test(a_service_that_does_not_begin_is_given_up),
        cmocka_unit_test(answers_out_of_order_reach_who_asked),
        cmocka_unit_test(many_calls_share_buckets),
        cmocka_unit_test(the_service_may_ask_tell_and_talk_nonsense),
        cmocka_unit_test(an_error_without_an_id_is_that_of_the_only_call),
        cmocka_unit_test(a_notice_is_over_when_it_was_sent),
        cmocka_unit_test(what_ran_when_the_connection_ended_is_lost),
        cmocka_unit_test(pauses_grow_while_it_cannot_be_reached),
        cmocka_unit_test(a_call_has_its_time_and_silence_ends_the_connection),
        cmocka_unit_test(a_connection_that_has_just_opened_is_not_silent),
        cmocka_unit_test(a_message_that_is_too_large_ends_it),
        cmocka_unit_test(what_is_no_framing_ends_it),
        cmocka_unit_test(one_who_has_left_is_told_nothing),
        cmocka_unit_test(too_many_calls_are_refused),
        cmocka_unit_test(a_connection_that_closes_fails_what_runs_and_what_comes),
        cmocka_unit_test(a_connection_can_close_while_it_opens),
        cmocka_unit_test(when_the_loops_have_ended_nobody_is_told),
        cmocka_unit_test(calls_of_several_loops_come_home),
        cmocka_unit_test(calls_of_a_connection_that_closes_come_home_too),
        cmocka_unit_test(loops_of_other_threads_call_at_once),
        cmocka_unit_test(an_event_that_is_lost_for_want_of_memory_leaves_a_gap),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, service_path_setup, NULL);
}
