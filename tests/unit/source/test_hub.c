/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The only connection of a service: calls of several loops on it, and all that can happen to it. */
#include "hub_check.h"

/* ---- what is said first ---- */

static void nothing_is_opened_before_the_first_call(void **state)
{
    (void)state;
    line l;
    sent s = {0};
    open_line(&l, usual());
    listen_at_path(&l);
    run_for(&l.b, 20);
    assert_false(take_peer(&l));
    begin(&l, &s);
    hear(&l, CALL(1));
    say(&l, REPLY(1));
    wait_for(&l, &s, CW_CLIENT_OK, "\"result\":1");
    assert_int_equal(cw_hub_problem(l.hub).n, 0);
    close_line(&l);
}

static void a_greeting_is_waited_for_and_the_prelude_goes_first(void **state)
{
    (void)state;
    line l;
    sent s = {0};
    cw_config_remote config = usual();
    config.preset = CW_STR("qmp");
    open_line(&l, config);
    listen_at_path(&l);
    begin(&l, &s);
    run_until(&l.b, take_peer(&l));
    run_for(&l.b, 20);
    assert_null(next_line(&l));
    say(&l, "{\"QMP\":{\"version\":{}}}\n");
    hear(&l, "{\"id\":2,\"execute\":\"qmp_capabilities\"}");
    run_for(&l.b, 20);
    assert_null(next_line(&l));
    say(&l, "{\"event\":\"STOP\"}\n{\"return\":{},\"id\":2}\n");
    hear(&l, "{\"id\":1,\"execute\":\"m\",\"arguments\":[1]}");
    say(&l, "{\"QMP\":{}}\n{\"return\":5,\"id\":1}\n"); /* one greeting too many */
    wait_for(&l, &s, CW_CLIENT_OK, "\"return\":5");
    close_line(&l);
}

static const cw_config_prelude three[] = {
    {.method = CW_STR_INIT("initialize"), .params = CW_STR_INIT("{}")},
    {.method = CW_STR_INIT("initialized"), .params = CW_STR_INIT(""), .notify = true},
    {.method = CW_STR_INIT("login"), .params = CW_STR_INIT("[1]")},
};

static void a_prelude_is_said_anew_on_every_connection(void **state)
{
    (void)state;
    line l;
    sent s[2] = {0};
    cw_config_remote config = usual();
    config.prelude = (cw_config_preludes){three, 3};
    open_line(&l, config);
    listen_at_path(&l);
    for (unsigned i = 0; i < 2; i++) {
        char text[128];
        unsigned first = i == 0 ? 2 : 5;
        begin(&l, &s[i]);
        snprintf(text, sizeof text,
                 "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"initialize\",\"params\":{}}", first);
        hear(&l, text);
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{}}\n", first);
        say(&l, text);
        hear(&l, "{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"}");
        snprintf(text, sizeof text,
                 "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"login\",\"params\":[1]}", first + 1);
        hear(&l, text);
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{}}\n", first + 1);
        say(&l, text);
        hear(&l, i == 0 ? CALL(1) : CALL(4));
        say(&l, i == 0 ? REPLY(1) : REPLY(4));
        wait_for(&l, &s[i], CW_CLIENT_OK, "result");
        hang_up(&l);
        run_until(&l.b, l.hub->state == CW_HUB_CLOSED);
    }
    close_line(&l);
}

static void a_prelude_that_is_refused_fails_those_who_wait(void **state)
{
    (void)state;
    line l;
    sent a = {0}, b = {0};
    cw_config_remote config = usual();
    config.prelude = (cw_config_preludes){three, 1};
    open_line(&l, config);
    listen_at_path(&l);
    begin(&l, &a);
    begin(&l, &b);
    run_until(&l.b, take_peer(&l));
    /* Without an id: while it is being said an error can be of nothing else. */
    say(&l, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"no way\"}}\n");
    wait_for(&l, &a, CW_CLIENT_CONNECT, "prelude 'initialize': no way");
    wait_for(&l, &b, CW_CLIENT_CONNECT, "no way");
    assert_non_null(strstr(cw_hub_problem(l.hub).p, "no way"));
    close_line(&l);
}

static void a_service_that_does_not_begin_is_given_up(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        line l;
        sent s = {0};
        cw_config_remote config = usual();
        config.timeout_ms = 60;
        config.prelude = (cw_config_preludes){three, i};
        config.greeting = i ? CW_STR("no") : CW_STR("yes");
        config.dialect = i ? CW_STR("2.0") : CW_STR("qmp");
        open_line(&l, config);
        listen_at_path(&l);
        begin(&l, &s);
        run_until(&l.b, take_peer(&l));
        run_until(&l.b, s.calls);
        assert_true(s.end == CW_CLIENT_CONNECT || s.end == CW_CLIENT_SLOW);
        run_until(&l.b, l.hub->state == CW_HUB_CLOSED);
        assert_non_null(strstr(cw_hub_problem(l.hub).p, "say first"));
        close_line(&l);
    }
}

/* ---- messages ---- */

static void answers_out_of_order_reach_who_asked(void **state)
{
    (void)state;
    line l;
    sent s[3] = {0};
    open_line(&l, usual());
    listen_at_path(&l);
    for (unsigned i = 0; i < 3; i++)
        begin(&l, &s[i]);
    hear(&l, CALL(1));
    hear(&l, CALL(2));
    hear(&l, CALL(3));
    say(&l, REPLY(3) REPLY(1) REPLY(99));
    wait_for(&l, &s[2], CW_CLIENT_OK, "\"result\":3");
    wait_for(&l, &s[0], CW_CLIENT_OK, "\"result\":1");
    assert_int_equal(s[1].calls, 0);
    say(&l, REPLY(2) REPLY(2));
    wait_for(&l, &s[1], CW_CLIENT_OK, "\"result\":2");
    run_for(&l.b, 10);
    assert_int_equal(s[1].calls, 1);
    close_line(&l);
}

static void many_calls_share_buckets(void **state)
{
    (void)state;
    enum { N = 600 };
    static sent s[N];
    line l;
    cw_config_remote config = usual();
    config.queue = N;
    open_line(&l, config);
    listen_at_path(&l);
    memset(s, 0, sizeof s);
    for (unsigned i = 0; i < N; i++)
        begin(&l, &s[i]);
    run_until(&l.b, take_peer(&l));
    for (unsigned n = 0; n < N;) {
        turn(&l.b);
        n += next_line(&l) != NULL;
    }
    for (unsigned i = N; i > 0; i--) {
        char text[80];
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":\"r%u\"}\n", i, i);
        say(&l, text);
        if (i % 50 == 0)
            turn(&l.b);
    }
    for (unsigned i = 0; i < N; i++) {
        char text[16];
        snprintf(text, sizeof text, "\"r%u\"", i + 1);
        wait_for(&l, &s[i], CW_CLIENT_OK, text);
    }
    close_line(&l);
}

static void the_service_may_ask_tell_and_talk_nonsense(void **state)
{
    (void)state;
    static const cw_str changed[] = {CW_STR_INIT("methods_changed")};
    line l;
    sent s = {0};
    cw_config_remote config = usual();
    config.replies = CW_STR("{\"echo\":\"$params\",\"fixed\":{\"a\":1}}");
    config.announcements = (cw_config_strings){changed, 1};
    open_line(&l, config);
    listen_at_path(&l);
    begin(&l, &s);
    hear(&l, CALL(1));
    say(&l, "{\"jsonrpc\":\"2.0\",\"id\":\"e\",\"method\":\"echo\",\"params\":[1,{}]}\n"
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}\n"
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"fixed\"}\n"
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"other\"}\n");
    hear(&l, "{\"jsonrpc\":\"2.0\",\"id\":\"e\",\"result\":[1,{}]}");
    hear(&l, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}");
    hear(&l, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":1}}");
    hear(&l, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32601,\"message\":\"Method not "
             "found\"}}");
    say(&l, "{\"jsonrpc\":\"2.0\",\"method\":\"other\"}\n"
            "{\"jsonrpc\":\"2.0\",\"method\":\"methods_changed\"}\n");
    run_until(&l.b, l.announced);
    say(&l, "nonsense\n[]\n{}\n" REPLY(1));
    wait_for(&l, &s, CW_CLIENT_OK, "\"result\":1");
    assert_int_equal(l.announced, 1);
    close_line(&l);
}

static void an_error_without_an_id_is_that_of_the_only_call(void **state)
{
    (void)state;
    static const char lost[] = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1}}\n";
    line l;
    sent a = {0}, b = {0};
    open_line(&l, usual());
    listen_at_path(&l);
    begin(&l, &a);
    begin(&l, &b);
    hear(&l, CALL(1));
    hear(&l, CALL(2));
    say(&l, lost);
    run_for(&l.b, 20);
    assert_int_equal(a.calls + b.calls, 0);
    say(&l, REPLY(1));
    wait_for(&l, &a, CW_CLIENT_OK, "result");
    say(&l, lost);
    wait_for(&l, &b, CW_CLIENT_OK, "\"error\"");
    say(&l, lost); /* of nobody at all */
    run_for(&l.b, 10);
    close_line(&l);
}

static void a_notice_is_over_when_it_was_sent(void **state)
{
    (void)state;
    line l;
    sent s = {.req.is_notice = true};
    open_line(&l, usual());
    listen_at_path(&l);
    begin(&l, &s);
    hear(&l, "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[1]}");
    wait_for(&l, &s, CW_CLIENT_OK, "");
    close_line(&l);
}

/* ---- ends ---- */

static void what_ran_when_the_connection_ended_is_lost(void **state)
{
    (void)state;
    line l;
    sent a = {0}, b = {0}, c = {0};
    open_line(&l, usual());
    listen_at_path(&l);
    begin(&l, &a);
    begin(&l, &b);
    hear(&l, CALL(1));
    hear(&l, CALL(2));
    hang_up(&l);
    wait_for(&l, &a, CW_CLIENT_LOST, "");
    wait_for(&l, &b, CW_CLIENT_LOST, "");
    begin(&l, &c); /* at once */
    hear(&l, CALL(3));
    say(&l, REPLY(3));
    wait_for(&l, &c, CW_CLIENT_OK, "result");
    close_line(&l);
}

static void pauses_grow_while_it_cannot_be_reached(void **state)
{
    (void)state;
    line l;
    open_line(&l, usual());
    uint64_t last = 0;
    for (unsigned i = 0; i < 10; i++) {
        sent s = {0}, early = {0};
        l.hub->retry_at = 0; /* as if that time had passed */
        begin(&l, &s);
        wait_for(&l, &s, CW_CLIENT_CONNECT, "");
        assert_true(cw_hub_problem(l.hub).n > 0);
        uint64_t pause = l.hub->retry_at - cw_loop_now(&l.b.loop);
        assert_true(pause + 5 >= last && pause <= 15000);
        last = pause;
        begin(&l, &early);
        wait_for(&l, &early, CW_CLIENT_CONNECT, cw_hub_problem(l.hub).p);
        assert_int_equal(l.hub->failures, i + 1);
    }
    assert_true(last > 14000);
    /* Then it is there. */
    sent s = {0};
    listen_at_path(&l);
    l.hub->retry_at = 0;
    begin(&l, &s);
    hear(&l, CALL(21));
    say(&l, REPLY(21));
    wait_for(&l, &s, CW_CLIENT_OK, "result");
    assert_int_equal(l.hub->failures, 0);
    assert_int_equal(cw_hub_problem(l.hub).n, 0);
    close_line(&l);
}

static void a_call_has_its_time_and_silence_ends_the_connection(void **state)
{
    (void)state;
    line l;
    sent a = {0}, b = {0}, c = {0};
    cw_config_remote config = usual();
    config.timeout_ms = 150;
    open_line(&l, config);
    listen_at_path(&l);
    begin(&l, &a);
    hear(&l, CALL(1));
    run_for(&l.b, 60);
    say(&l, "{\"jsonrpc\":\"2.0\",\"method\":\"alive\"}\n");
    begin(&l, &b);
    hear(&l, CALL(2));
    wait_for(&l, &a, CW_CLIENT_SLOW, "in time");
    assert_int_equal(l.hub->state, CW_HUB_READY); /* it spoke meanwhile */
    say(&l, REPLY(1));                            /* too late */
    say(&l, REPLY(2));
    wait_for(&l, &b, CW_CLIENT_OK, "result");
    assert_int_equal(a.calls, 1);
    begin(&l, &c);
    hear(&l, CALL(3));
    sent d = {0};
    run_for(&l.b, 60);
    begin(&l, &d);
    wait_for(&l, &c, CW_CLIENT_SLOW, "in time");
    wait_for(&l, &d, CW_CLIENT_LOST, "nothing came for too long");
    run_until(&l.b, next_line(&l) == NULL && l.ended);
    close_line(&l);
}

static void a_connection_that_has_just_opened_is_not_silent(void **state)
{
    (void)state;
    line l;
    sent a = {0}, b = {0};
    cw_config_remote config = usual();
    config.timeout_ms = 200;
    config.greeting = CW_STR("yes");
    config.dialect = CW_STR("qmp");
    open_line(&l, config);
    listen_at_path(&l);
    begin(&l, &a);
    run_until(&l.b, take_peer(&l));
    run_for(&l.b, 120);
    begin(&l, &b);
    say(&l, "{\"QMP\":{}}\n");
    wait_for(&l, &a, CW_CLIENT_SLOW, "in time"); /* most of its time had gone before */
    assert_int_equal(l.hub->state, CW_HUB_READY);
    say(&l, "{\"return\":1,\"id\":2}\n");
    wait_for(&l, &b, CW_CLIENT_OK, "return");
    close_line(&l);
}

static void a_message_that_is_too_large_ends_it(void **state)
{
    (void)state;
    static char large[ANSWER_SIZE + 1000];
    line l;
    sent s = {0};
    memset(large, 'x', sizeof large - 1);
    open_line(&l, usual());
    listen_at_path(&l);
    begin(&l, &s);
    hear(&l, CALL(1));
    say(&l, large);
    wait_for(&l, &s, CW_CLIENT_TOO_LARGE, "");
    close_line(&l);
}

static void what_is_no_framing_ends_it(void **state)
{
    (void)state;
    line l;
    sent s = {0};
    cw_config_remote config = usual();
    config.framing = CW_STR("content-length");
    open_line(&l, config);
    listen_at_path(&l);
    begin(&l, &s);
    run_until(&l.b, take_peer(&l));
    run_until(&l.b, l.hub->pending.next != &l.hub->pending);
    say(&l, "no header at all\r\n\r\n");
    wait_for(&l, &s, CW_CLIENT_GARBAGE, "");
    close_line(&l);
}

/* ---- whoever leaves ---- */

static void one_who_has_left_is_told_nothing(void **state)
{
    (void)state;
    line l;
    sent a = {0}, b = {0};
    open_line(&l, usual());
    listen_at_path(&l);
    begin(&l, &a);
    begin(&l, &b);
    hear(&l, CALL(1));
    cw_way_cancel(l.way, &a.req);
    cw_way_cancel(l.way, &a.req);
    say(&l, REPLY(1) REPLY(2));
    wait_for(&l, &b, CW_CLIENT_OK, "result");
    assert_int_equal(a.calls, 0);
    close_line(&l);
}

static void too_many_calls_are_refused(void **state)
{
    (void)state;
    line l;
    sent s[4] = {0};
    cw_config_remote config = usual();
    config.queue = 2;
    open_line(&l, config);
    listen_at_path(&l);
    for (unsigned i = 0; i < 3; i++)
        begin(&l, &s[i]);
    assert_int_equal(begin_on(&l, l.way, &s[3]), CW_LIMIT);
    close_line(&l);
}

static void a_hub_that_closes_fails_what_runs_and_what_comes(void **state)
{
    (void)state;
    line l;
    sent a = {0}, b = {0}, c = {0};
    open_line(&l, usual());
    listen_at_path(&l);
    begin(&l, &a);
    hear(&l, CALL(1));
    begin(&l, &b); /* is still on its way */
    cw_hub_ref(l.hub);
    cw_hub_close(l.hub, false);
    begin(&l, &c);
    wait_for(&l, &a, CW_CLIENT_LOST, "taken away");
    wait_for(&l, &b, CW_CLIENT_CONNECT, "taken away");
    wait_for(&l, &c, CW_CLIENT_CONNECT, "taken away");
    cw_hub_unref(l.hub);
    l.hub = NULL;
    close_line(&l);
}

static void a_hub_can_close_while_it_opens(void **state)
{
    (void)state;
    line l;
    sent s = {0};
    cw_config_remote config = usual();
    config.greeting = CW_STR("yes");
    open_line(&l, config);
    listen_at_path(&l);
    begin(&l, &s);
    run_until(&l.b, take_peer(&l));
    cw_hub_close(l.hub, false);
    l.hub = NULL;
    wait_for(&l, &s, CW_CLIENT_LOST, "taken away");
    close_line(&l);
}

static void when_the_loops_have_ended_nobody_is_told(void **state)
{
    (void)state;
    line l;
    sent a = {0}, b = {0};
    open_line(&l, usual());
    listen_at_path(&l);
    begin(&l, &a);
    begin(&l, &b);
    hear(&l, CALL(1));
    hear(&l, CALL(2));
    cw_way_close(l.way, NULL, NULL);
    l.way = NULL;
    cw_hub_close(l.hub, true);
    l.hub = NULL;
    close_line(&l);
    assert_int_equal(a.calls + b.calls, 0);
}

/* ---- several loops ---- */

typedef struct other {
    cw_loop loop;
    line *line;
    cw_way *way;
    sent calls[20];
} other;

static void nothing(void *arg)
{
    (void)arg;
}

static void turn_other(other *o)
{
    uv_run(&o->loop.uv, UV_RUN_NOWAIT);
}

static void open_other(other *o, line *l)
{
    memset(o, 0, sizeof *o);
    o->line = l;
    assert_int_equal(cw_loop_init(&o->loop, 1024, NULL), CW_OK);
    assert_int_equal(cw_way_open(l->service, l->hub, &o->loop, ANSWER_SIZE, &o->way, NULL), CW_OK);
}

static void close_other(other *o)
{
    cw_way_close(o->way, NULL, NULL);
    cw_loop_end(&o->loop);
    cw_loop_run(&o->loop);
    cw_loop_done(&o->loop);
}

static void calls_of_several_loops_come_home(void **state)
{
    (void)state;
    line l;
    static other o[2];
    sent s = {0};
    open_line(&l, usual());
    listen_at_path(&l);
    open_other(&o[0], &l);
    open_other(&o[1], &l);
    begin(&l, &s);
    assert_int_equal(begin_on(&l, o[0].way, &o[0].calls[0]), CW_OK);
    assert_int_equal(begin_on(&l, o[1].way, &o[1].calls[0]), CW_OK);
    hear(&l, CALL(1));
    hear(&l, CALL(2));
    hear(&l, CALL(3));
    say(&l, REPLY(2) REPLY(3) REPLY(1));
    wait_for(&l, &s, CW_CLIENT_OK, "\"result\":1");
    assert_int_equal(o[0].calls[0].calls, 0); /* their own loops tell them */
    turn_other(&o[0]);
    turn_other(&o[1]);
    assert_non_null(strstr(o[0].calls[0].text, "\"result\":2"));
    assert_non_null(strstr(o[1].calls[0].text, "\"result\":3"));
    close_other(&o[0]);
    close_other(&o[1]);
    close_line(&l);
}

static void fill_mailbox(other *o)
{
    while (cw_loop_post(&o->loop, nothing, NULL) == CW_OK)
        continue;
}

static void an_answer_waits_until_its_loop_has_room(void **state)
{
    (void)state;
    line l;
    static other o;
    open_line(&l, usual());
    listen_at_path(&l);
    open_other(&o, &l);
    assert_int_equal(begin_on(&l, o.way, &o.calls[0]), CW_OK);
    hear(&l, CALL(1));
    fill_mailbox(&o);
    say(&l, REPLY(1));
    run_until(&l.b, l.hub->stuck.root.next != &l.hub->stuck.root);
    run_for(&l.b, 20);
    turn_other(&o);
    assert_int_equal(o.calls[0].calls, 0);
    run_until(&l.b, (turn_other(&o), o.calls[0].calls));
    assert_int_equal(o.calls[0].end, CW_CLIENT_OK);
    close_other(&o);
    close_line(&l);
}

static void a_hub_that_closes_waits_for_room_too(void **state)
{
    (void)state;
    line l;
    static other o;
    open_line(&l, usual());
    listen_at_path(&l);
    open_other(&o, &l);
    assert_int_equal(begin_on(&l, o.way, &o.calls[0]), CW_OK);
    hear(&l, CALL(1));
    fill_mailbox(&o);
    cw_hub_close(l.hub, false);
    l.hub = NULL;
    assert_int_equal(begin_on(&l, o.way, &o.calls[1]), CW_OK); /* comes after the end */
    run_for(&l.b, 30);
    run_until(&l.b, (turn_other(&o), o.calls[0].calls && o.calls[1].calls));
    assert_int_equal(o.calls[0].end, CW_CLIENT_LOST);
    assert_int_equal(o.calls[1].end, CW_CLIENT_CONNECT);
    /* And one for which the lists are watched again. */
    fill_mailbox(&o);
    assert_int_equal(begin_on(&l, o.way, &o.calls[2]), CW_OK);
    run_for(&l.b, 30);
    run_until(&l.b, (turn_other(&o), o.calls[2].calls));
    close_other(&o);
    close_line(&l);
}

/* From threads of their own, each with many calls. */
static atomic_uint n_told;

static void on_threaded(cw_way_req *req, const cw_reply *reply)
{
    char expected[32];
    snprintf(expected, sizeof expected, "\"result\":%u}", (unsigned)req->id);
    on_sent(req, reply);
    assert_non_null(strstr(((sent *)req->ctx)->text, expected));
    atomic_fetch_add(&n_told, 1);
}

static void begin_many(void *arg)
{
    other *o = arg;
    for (size_t i = 0; i < CW_COUNT(o->calls); i++) {
        sent *s = &o->calls[i];
        assert_int_equal(begin_on(o->line, o->way, s), CW_OK);
        s->req.on_done = on_threaded; /* nobody is told before this returns */
    }
}

static void end_other(void *arg)
{
    other *o = arg;
    cw_way_close(o->way, NULL, NULL);
    cw_loop_end(&o->loop);
}

static void loops_of_other_threads_call_at_once(void **state)
{
    (void)state;
    line l;
    static other o[3];
    cw_config_remote config = usual();
    config.queue = 100;
    open_line(&l, config);
    listen_at_path(&l);
    atomic_store(&n_told, 0);
    for (unsigned i = 0; i < 3; i++) {
        open_other(&o[i], &l);
        assert_int_equal(cw_loop_start(&o[i].loop, NULL), CW_OK);
        assert_int_equal(cw_loop_post(&o[i].loop, begin_many, &o[i]), CW_OK);
    }
    run_until(&l.b, take_peer(&l));
    while (atomic_load(&n_told) < 3 * CW_COUNT(o[0].calls)) {
        turn(&l.b);
        const char *got = next_line(&l);
        unsigned id;
        char text[64];
        if (!got || sscanf(got, "{\"jsonrpc\":\"2.0\",\"id\":%u", &id) != 1)
            continue;
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":%u}\n", id, id);
        say(&l, text);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(cw_loop_post(&o[i].loop, end_other, &o[i]), CW_OK);
        pthread_join(o[i].loop.thread, NULL);
        cw_loop_done(&o[i].loop);
    }
    close_line(&l);
}

/* ---- without memory ---- */

static void call_once(void *ctx)
{
    line *l = ctx;
    sent s = {0};
    cw_hub *hub = NULL;
    cw_hub_opts opts = {.loop = &l->b.loop, .answer_size = ANSWER_SIZE};
    cw_way *way = NULL;
    cw_code rc = cw_hub_new(l->service, &opts, &hub, NULL);
    if (!rc)
        rc = cw_way_open(l->service, hub, &l->b.loop, ANSWER_SIZE, &way, NULL);
    if (!rc)
        rc = begin_on(l, way, &s);
    while (!rc && !s.calls) {
        turn(&l->b);
        const char *got = take_peer(l) ? next_line(l) : NULL;
        if (l->peer >= 0 && l->ended)
            hang_up(l);
        if (got)
            say(l, strstr(got, "initialize") ? REPLY(2) : REPLY(1));
    }
    cw_arena_done(&s.arena);
    if (rc)
        assert_true(rc == CW_NOMEM && oom_was_hit());
    else if (s.end != CW_CLIENT_OK)
        assert_true(oom_was_hit());
    if (way)
        cw_way_close(way, NULL, NULL);
    cw_hub_close(hub, false);
    run_for(&l->b, 5);
    if (take_peer(l))
        hang_up(l);
}

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    line l;
    cw_config_remote config = usual();
    config.timeout_ms = 50; /* where the answer itself could not be read */
    config.prelude = (cw_config_preludes){three, 1};
    open_line(&l, config);
    listen_at_path(&l);
    assert_true(oom_each(call_once, &l) >= 6);
    close_line(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_opened_before_the_first_call),
        cmocka_unit_test(a_greeting_is_waited_for_and_the_prelude_goes_first),
        cmocka_unit_test(a_prelude_is_said_anew_on_every_connection),
        cmocka_unit_test(a_prelude_that_is_refused_fails_those_who_wait),
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
        cmocka_unit_test(a_hub_that_closes_fails_what_runs_and_what_comes),
        cmocka_unit_test(a_hub_can_close_while_it_opens),
        cmocka_unit_test(when_the_loops_have_ended_nobody_is_told),
        cmocka_unit_test(calls_of_several_loops_come_home),
        cmocka_unit_test(an_answer_waits_until_its_loop_has_room),
        cmocka_unit_test(a_hub_that_closes_waits_for_room_too),
        cmocka_unit_test(loops_of_other_threads_call_at_once),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, make_path, NULL);
}
