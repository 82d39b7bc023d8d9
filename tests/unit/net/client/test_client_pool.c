/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the HTTP client keeps, shares, replaces and drops its connections. */
#include "support/client_fixture.h"

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define OK_HI OK_HEAD "Content-Length: 2\r\n\r\nhi"

static const fake_step always[] = {DO_READ, DO_SEND(OK_HI), DO_REPEAT};
static const fake_step once_then_close[] = {DO_READ, DO_SEND(OK_HI), DO_CLOSE, DO_END};
static const fake_step hang[] = {DO_READ, DO_END};

/* ---- keeping ---- */

TEST(a_kept_connection_is_used_again)
{
    fake_server s;
    client_fixture b;
    serve(&s, SCRIPTS(always), 1);
    client_fixture_open(&b, s.port);
    for (unsigned i = 0; i < 10; i++) {
        client_exchange a = {0};
        client_request(&b, &a);
        assert_response(&a, 200, "hi");
    }
    assert_int_equal(s.accepted, 1);
    assert_int_equal(s.requests, 10);
    client_fixture_close_client(&b);
    client_run_until(&b, atomic_load(&s.gone) == 1);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(a_warm_request_allocates_nothing)
{
    static const fake_step split[] = {DO_READ,  DO_SEND("HTTP/1.1 200 OK\r\nContent-"),
                                      DO_HOLD,  DO_SEND("Length: 10\r\n\r\nhello"),
                                      DO_HOLD,  DO_SEND("hello"),
                                      DO_REPEAT};
    fake_server s;
    client_fixture b;
    serve(&s, SCRIPTS(split), 1);
    client_fixture_open(&b, s.port);
    for (unsigned i = 0; i < 8; i++) {
        client_exchange a = {0};
        if (i == 4)
            oom_reset();
        assert_int_equal(client_send(&b, &a), CW_OK);
        /* The client reads each piece before the next one is sent. */
        for (unsigned piece = 1; piece <= 2; piece++) {
            client_run_until(&b, atomic_load(&s.held) == 2 * i + piece);
            client_run_for(&b, 1);
            fake_server_release(&s);
        }
        client_run_until(&b, a.calls);
        assert_response(&a, 200, "hellohello");
    }
    assert_int_equal(oom_count(), 0);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(a_connection_that_must_not_be_kept_is_not)
{
    static const char *const answers[] = {
        OK_HEAD "Connection: close\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        OK_HEAD "Content-Length: 2\r\n\r\nhimore",
        "HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n",
    };
    for (size_t i = 0; i < CW_COUNT(answers); i++) {
        const fake_step script[] = {DO_READ, DO_SEND(answers[i]), DO_END};
        fake_server s;
        client_fixture b;
        client_exchange a = {0}, again = {0};
        serve(&s, SCRIPTS(script), 1);
        client_fixture_open(&b, s.port);
        client_request(&b, &a);
        client_request(&b, &again);
        assert_int_equal(again.end, CW_CLIENT_OK);
        assert_int_equal(s.accepted, 2);
        client_fixture_done(&b);
        fake_server_stop(&s);
    }
}

TEST(an_idle_connection_is_closed_after_its_time)
{
    fake_server s;
    client_fixture b;
    client_exchange a = {0};
    serve(&s, SCRIPTS(always), 1);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.idle_ms = 30});
    client_request(&b, &a);
    client_run_until(&b, atomic_load(&s.gone) == 1);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(a_server_says_how_long_it_keeps_a_connection)
{
    static const fake_step script[] = {
        DO_READ, DO_SEND(OK_HEAD "Keep-Alive: max=9, timeout=0\r\nContent-Length: 2\r\n\r\nhi"),
        DO_REPEAT};
    fake_server s;
    client_fixture b;
    client_exchange a = {0}, again = {0};
    serve(&s, SCRIPTS(script), 1);
    client_fixture_open(&b, s.port);
    client_request(&b, &a);
    client_request(&b, &again);
    assert_int_equal(s.accepted, 2);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(a_connection_that_the_server_closed_is_replaced)
{
    fake_server s;
    client_fixture b;
    serve(&s, SCRIPTS(once_then_close), 1);
    client_fixture_open(&b, s.port);
    for (unsigned i = 0; i < 3; i++) {
        client_exchange a = {0};
        client_request(&b, &a);
        assert_response(&a, 200, "hi");
        client_run_for(&b, 20); /* the end of the connection comes by */
    }
    assert_int_equal(s.accepted, 3);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

/* Also where nobody looked at the socket meanwhile: it is looked at before it is used. */
TEST(a_closed_connection_is_seen_before_it_is_used)
{
    fake_server s;
    client_fixture b;
    client_exchange a = {0}, again = {0};
    serve(&s, SCRIPTS(once_then_close), 1);
    client_fixture_open(&b, s.port);
    client_request(&b, &a);
    usleep(600 * 1000);
    uv_update_time(&b.loop.uv);
    assert_int_equal(client_send(&b, &again), CW_OK);
    client_run_until(&b, again.calls);
    assert_response(&again, 200, "hi");
    assert_int_equal(s.accepted, 2);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(unasked_bytes_close_an_idle_connection)
{
    static const fake_step script[] = {DO_READ, DO_SEND(OK_HI), DO_HOLD, DO_SEND(OK_HI), DO_END};
    fake_server s;
    client_fixture b;
    client_exchange a = {0};
    serve(&s, SCRIPTS(script), 1);
    client_fixture_open(&b, s.port);
    client_request(&b, &a);
    fake_server_release(&s);
    client_run_until(&b, atomic_load(&s.gone) == 1);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

/* Two requests at once over one connection, of which `first` is the script. */
static void ask_two(const fake_step *first, client_exchange *a, client_exchange *again)
{
    fake_server s;
    client_fixture b;
    serve(&s, SCRIPTS(first, always), 2);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.connections = 1});
    assert_int_equal(client_send(&b, a), CW_OK);
    assert_int_equal(client_send(&b, again), CW_OK);
    client_run_until(&b, a->calls && again->calls);
    assert_int_equal(s.accepted, 2);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(an_answer_too_many_is_not_given_to_who_waits)
{
    static const fake_step script[] = {
        DO_READ, DO_SEND(OK_HEAD "Content-Length: 4\r\n\r\nho"), DO_PAUSE(30),
        DO_SEND("ho" OK_HEAD "Content-Length: 3\r\n\r\nbad"), DO_END};
    client_exchange a = {0}, again = {0};
    ask_two(script, &a, &again);
    assert_response(&a, 200, "hoho");
    assert_response(&again, 200, "hi");
}

TEST(who_waits_gets_another_connection_where_the_server_has_closed_it)
{
    static const fake_step script[] = {DO_READ,  DO_SEND(OK_HEAD "Content-Length: 4\r\n\r\nho"),
                                       DO_HOLD,  DO_SEND("ho"),
                                       DO_CLOSE, DO_END};
    fake_server s;
    client_fixture b;
    client_exchange a = {0}, again = {0};
    serve(&s, SCRIPTS(script, always), 2);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.connections = 1});
    assert_int_equal(client_send(&b, &a), CW_OK);
    assert_int_equal(client_send(&b, &again), CW_OK);
    client_run_until(&b, atomic_load(&s.held) == 1);
    fake_server_release(&s);
    /* The rest and the end arrive together: the client does not run meanwhile. */
    while (atomic_load(&s.ended) == 0)
        usleep(1000);
    client_run_until(&b, a.calls && again.calls);
    assert_int_equal(s.accepted, 2);
    assert_response(&again, 200, "hi");
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(an_answer_that_is_none_ends_its_connection)
{
    client_exchange a = {.spoils = true}, again = {0};
    ask_two(always, &a, &again);
    assert_response(&again, 200, "hi");
}

TEST(connections_of_a_server_that_keeps_none_are_used_once)
{
    fake_server s;
    client_fixture b;
    client_exchange a = {0}, again = {0};
    serve(&s, SCRIPTS(once_then_close, always), 2);
    client_fixture_open(&b, s.port);
    client_request(&b, &a);
    client_run_for(&b, 50);
    client_request(&b, &again);
    assert_response(&again, 200, "hi");
    assert_int_equal(b.client->n_links, 0);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(idle_connections_are_not_used_where_the_server_keeps_none)
{
    static const fake_step lost[] = {DO_READ, DO_SEND(OK_HI), DO_READ, DO_CLOSE, DO_END};
    fake_server s;
    client_fixture b;
    client_exchange all[3] = {{.calls = 0}}, again[3] = {{.calls = 0}};
    serve(&s, SCRIPTS(lost, lost, lost, always), 4);
    client_fixture_open(&b, s.port);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(client_send(&b, &all[i]), CW_OK);
    client_run_until(&b, all[0].calls && all[1].calls && all[2].calls);
    for (size_t i = 0; i < 3; i++)
        client_request(&b, &again[i]);
    assert_int_equal(again[0].end, CW_CLIENT_LOST);
    assert_response(&again[1], 200, "hi");
    assert_response(&again[2], 200, "hi");
    client_fixture_done(&b);
    fake_server_stop(&s);
}

/* ---- sending again ---- */

static const fake_step second_lost[] = {DO_READ, DO_SEND(OK_HI), DO_READ, DO_CLOSE, DO_END};
static const fake_step second_reset[] = {DO_READ, DO_SEND(OK_HI), DO_READ, DO_RESET, DO_END};

/* A request that is answered, then another on the same connection; `second` is the script of the
 * connection after that. `requests` is how many the servers have read in the end. */
static void ask_again(const fake_step *first, const fake_step *second, client_exchange *again,
                      int requests)
{
    fake_server s;
    client_fixture b;
    client_exchange a = {0};
    serve(&s, SCRIPTS(first, second), 2);
    client_fixture_open(&b, s.port);
    client_request(&b, &a);
    client_request(&b, again);
    assert_int_equal(s.requests, requests);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(a_request_that_may_not_be_repeated_is_not)
{
    const fake_step *const scripts[] = {second_lost, second_reset};
    static const cw_http_method methods[] = {CW_HTTP_POST, CW_HTTP_GET};
    for (size_t i = 0; i < 4; i++) {
        client_exchange again = {.req.method = methods[i / 2]};
        ask_again(scripts[i % 2], always, &again, 2);
        assert_int_equal(again.end, CW_CLIENT_LOST);
    }
}

TEST(a_request_that_may_be_repeated_is_sent_once_more)
{
    const fake_step *const scripts[] = {second_lost, second_reset};
    for (size_t i = 0; i < 2; i++) {
        client_exchange again = {.req.may_repeat = true};
        ask_again(scripts[i], always, &again, 3);
        assert_response(&again, 200, "hi");
    }
}

TEST(a_request_is_never_sent_three_times)
{
    static const fake_step lost[] = {DO_READ, DO_CLOSE, DO_END};
    client_exchange again = {.req.may_repeat = true};
    ask_again(second_lost, lost, &again, 3);
    assert_int_equal(again.end, CW_CLIENT_LOST);
}

TEST(what_was_answered_in_part_is_not_sent_again)
{
    static const fake_step half[] = {DO_READ,  DO_SEND(OK_HI), DO_READ, DO_SEND("HTTP/1.1 2"),
                                     DO_CLOSE, DO_END};
    client_exchange again = {.req.may_repeat = true};
    ask_again(half, always, &again, 2);
    assert_int_equal(again.end, CW_CLIENT_LOST);
}

/* ---- ceilings ---- */

TEST(requests_beyond_the_ceiling_wait_in_order)
{
    static const fake_step held[] = {DO_READ, DO_HOLD, DO_SEND(OK_HI), DO_REPEAT};
    fake_server s;
    client_fixture b;
    client_exchange a[6] = {0};
    serve(&s, SCRIPTS(held), 1);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.connections = 2, .waiting = 4});
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(client_send(&b, &a[i]), CW_OK);
    client_exchange more = {0};
    assert_int_equal(client_send(&b, &more), CW_LIMIT);
    assert_int_equal(count_requests(b.client), 6);
    client_run_until(&b, atomic_load(&s.held) == 2);
    for (size_t i = 0; i < 6; i++) {
        fake_server_release(&s);
        client_run_until(
            &b,
            a[0].calls + a[1].calls + a[2].calls + a[3].calls + a[4].calls + a[5].calls == i + 1);
        /* Two run at a time; nobody is two places ahead of its turn. */
        for (size_t j = i + 2; j < 6; j++)
            assert_int_equal(a[j].calls, 0);
    }
    assert_int_equal(s.accepted, 2);
    assert_int_equal(count_requests(b.client), 0);
    assert_int_equal(more.calls, 0);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(a_waiting_request_gets_the_place_of_a_lost_one)
{
    static const fake_step lost[] = {DO_READ, DO_RESET, DO_END};
    fake_server s;
    client_fixture b;
    client_exchange a[2] = {0};
    serve(&s, SCRIPTS(lost, always), 2);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.connections = 1});
    assert_int_equal(client_send(&b, &a[0]), CW_OK);
    assert_int_equal(client_send(&b, &a[1]), CW_OK);
    client_run_until(&b, a[0].calls && a[1].calls);
    assert_int_equal(a[0].end, CW_CLIENT_LOST);
    assert_response(&a[1], 200, "hi");
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(those_who_wait_hear_when_nobody_is_there_any_more)
{
    static const fake_step held[] = {DO_READ, DO_HOLD, DO_RESET, DO_END};
    fake_server s;
    client_fixture b;
    client_exchange a[3] = {0};
    serve(&s, SCRIPTS(held), 1);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.connections = 1});
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(client_send(&b, &a[i]), CW_OK);
    client_run_until(&b, atomic_load(&s.held) == 1);
    shutdown(s.fd, SHUT_RDWR); /* refuses from now on */
    fake_server_release(&s);
    client_run_until(&b, a[0].calls && a[1].calls && a[2].calls);
    assert_int_equal(a[0].end, CW_CLIENT_LOST);
    assert_int_equal(a[1].end, CW_CLIENT_CONNECT);
    assert_int_equal(a[2].end, CW_CLIENT_CONNECT);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

/* ---- cancelling ---- */

TEST(a_cancelled_request_closes_its_connection)
{
    static const fake_step half_head[] = {DO_READ, DO_SEND("HTTP/1.1 200"), DO_END};
    static const fake_step half_body[] = {DO_READ, DO_SEND(OK_HEAD "Content-Length: 9\r\n\r\nhi"),
                                          DO_END};
    static const fake_step half_chunk[] = {
        DO_READ, DO_SEND(OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhi"), DO_END};
    const fake_step *const scripts[] = {hang, half_head, half_body, half_chunk};
    for (size_t i = 0; i < CW_COUNT(scripts); i++) {
        fake_server s;
        client_fixture b;
        client_exchange a = {0}, next = {0};
        serve(&s, SCRIPTS(scripts[i], always), 2);
        client_fixture_open(&b, s.port);
        assert_int_equal(client_send(&b, &a), CW_OK);
        client_run_until(&b, atomic_load(&s.requests) == 1);
        client_run_for(&b, 10);
        cw_client_cancel(b.client, &a.req);
        assert_int_equal(count_requests(b.client), 0);
        cw_client_cancel(b.client, &a.req); /* nothing happens */
        assert_int_equal(count_requests(b.client), 0);
        client_run_until(&b, atomic_load(&s.gone) == 1);
        client_request(&b, &next);
        assert_response(&next, 200, "hi");
        assert_int_equal(a.calls, 0);
        client_fixture_done(&b);
        fake_server_stop(&s);
    }
}

TEST(a_request_can_be_cancelled_while_it_connects)
{
    blackhole hole;
    client_fixture b;
    client_exchange a = {0};
    blackhole_open(&hole);
    client_fixture_open(&b, hole.port);
    assert_int_equal(client_send(&b, &a), CW_OK);
    client_run_for(&b, 10);
    cw_client_cancel(b.client, &a.req);
    client_run_for(&b, 10);
    assert_int_equal(a.calls, 0);
    client_fixture_done(&b);
    blackhole_close(&hole);
}

TEST(a_request_can_be_cancelled_while_it_is_sent)
{
    static const fake_step deaf[] = {DO_HOLD, DO_END};
    static char bytes[16u << 20];
    cw_str body = {bytes, sizeof bytes};
    fake_server s;
    client_fixture b;
    client_exchange a = {.req = {.body = &body, .n_body = 1}};
    serve(&s, SCRIPTS(deaf), 1);
    client_fixture_open(&b, s.port);
    assert_int_equal(client_send(&b, &a), CW_OK);
    client_run_for(&b, 10);
    cw_client_cancel(b.client, &a.req);
    client_run_for(&b, 10);
    assert_int_equal(a.calls, 0);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(a_waiting_request_can_be_cancelled)
{
    static const fake_step held[] = {DO_READ, DO_HOLD, DO_SEND(OK_HI), DO_REPEAT};
    fake_server s;
    client_fixture b;
    client_exchange a[4] = {0};
    serve(&s, SCRIPTS(held), 1);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.connections = 1});
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(client_send(&b, &a[i]), CW_OK);
    cw_client_cancel(b.client, &a[2].req);
    cw_client_cancel(b.client, &a[3].req);
    assert_int_equal(count_requests(b.client), 2);
    fake_server_release(&s);
    fake_server_release(&s);
    client_run_until(&b, a[0].calls && a[1].calls);
    assert_int_equal(a[2].calls + a[3].calls, 0);
    assert_int_equal(s.requests, 2);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(a_request_can_be_cancelled_while_its_name_is_looked_up)
{
    client_fixture b;
    client_exchange a = {0};
    client_fixture_init(&b);
    assert_int_equal(
        client_fixture_new_client(&b, SCHEME "://no-such-name.invalid/", (cw_client_opts){0}),
        CW_OK);
    assert_int_equal(client_send(&b, &a), CW_OK);
    cw_client_cancel(b.client, &a.req);
    client_run_for(&b, 50);
    assert_int_equal(a.calls, 0);
    client_fixture_done(&b);
}

/* ---- from within on_done ---- */

static client_fixture *shared;
static client_exchange *other;

static void ask_other(client_exchange *a)
{
    (void)a;
    assert_int_equal(client_send(shared, other), CW_OK);
}

TEST(a_request_can_be_made_from_within_another_end)
{
    fake_server s;
    client_fixture b;
    client_exchange a = {.then = ask_other}, next = {0};
    shared = &b;
    other = &next;
    serve(&s, SCRIPTS(always), 1);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.connections = 1});
    client_request(&b, &a);
    client_run_until(&b, next.calls);
    assert_response(&next, 200, "hi");
    assert_int_equal(s.accepted, 1);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

static void cancel_other(client_exchange *a)
{
    (void)a;
    cw_client_cancel(shared->client, &other->req);
}

TEST(a_request_can_be_cancelled_from_within_another_end)
{
    fake_server s;
    client_fixture b;
    client_exchange a = {.then = cancel_other}, running = {0};
    shared = &b;
    other = &running;
    serve(&s, SCRIPTS(hang, always), 2);
    client_fixture_open(&b, s.port);
    assert_int_equal(client_send(&b, &running), CW_OK);
    client_run_until(&b, atomic_load(&s.requests) == 1);
    client_request(&b, &a);
    assert_int_equal(count_requests(b.client), 0);
    client_run_until(&b, atomic_load(&s.gone) == 1);
    assert_int_equal(running.calls, 0);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

static void close_all(client_exchange *a)
{
    (void)a;
    cw_client_close(shared->client, client_fixture_on_closed, shared);
}

TEST(a_client_can_be_closed_from_within_an_end)
{
    static const fake_step lost[] = {DO_READ, DO_CLOSE, DO_END};
    static const fake_step to_close[] = {DO_READ, DO_SEND(OK_HEAD "\r\nhi"), DO_CLOSE, DO_END};
    const fake_step *const scripts[] = {always, lost, to_close};
    for (size_t i = 0; i < CW_COUNT(scripts); i++) {
        fake_server s;
        client_fixture b;
        client_exchange a = {.then = close_all}, running = {0};
        shared = &b;
        serve(&s, SCRIPTS(hang, scripts[i]), 2);
        client_fixture_open(&b, s.port);
        assert_int_equal(client_send(&b, &running), CW_OK);
        client_run_until(&b, atomic_load(&s.requests) == 1);
        client_request(&b, &a);
        client_run_until(&b, b.closed);
        b.client = NULL;
        assert_int_equal(running.calls, 0);
        client_fixture_done(&b);
        fake_server_stop(&s);
    }
}

/* No connection is left that would keep it. With 1 ms the time is up before the name is known. */
TEST(a_client_without_connections_can_be_closed_from_within_an_end)
{
    for (unsigned i = 0; i < 2; i++) {
        client_fixture b;
        client_exchange a = {.then = close_all}, waiting = {0};
        cw_client_opts opts = {.connect_ms = i ? 1 : 0};
        shared = &b;
        client_fixture_init(&b);
        assert_int_equal(client_fixture_new_client(&b, SCHEME "://no-such-name.invalid/", opts),
                         CW_OK);
        assert_int_equal(client_send(&b, &a), CW_OK);
        assert_int_equal(client_send(&b, &waiting), CW_OK);
        client_run_until(&b, a.calls);
        client_run_until(&b, b.closed);
        assert_int_equal(a.end, CW_CLIENT_CONNECT);
        assert_int_equal(waiting.calls, 0);
        b.client = NULL;
        client_fixture_done(&b);
    }
}

TEST(closing_drops_what_runs_and_waits)
{
    fake_server s;
    client_fixture b;
    client_exchange a[5] = {0};
    serve(&s, SCRIPTS(always, hang), 2);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.connections = 2});
    client_request(&b, &a[0]);
    for (size_t i = 1; i < 5; i++)
        assert_int_equal(client_send(&b, &a[i]), CW_OK);
    client_fixture_done(&b);
    assert_int_equal(a[3].calls + a[4].calls, 0);
    fake_server_stop(&s);
}

/* ---- without memory ---- */

static uint16_t oom_port;

static void ask_with_failures(void *ctx)
{
    const char *host = ctx;
    char text[64];
    client_fixture b;
    snprintf(text, sizeof text, SCHEME "://%s:%u/", host, oom_port);
    memset(&b, 0, sizeof b);
    /* The loop has tests of its own. */
    if (cw_loop_init(&b.loop, 64, NULL))
        return;
    client_fixture_start_tick(&b);
    static const cw_str wanted[] = {CW_STR_INIT("Set-Cookie")};
    cw_code rc = client_fixture_new_client(
        &b, text,
        (cw_client_opts){.connect_ms = 300, .wanted = wanted, .n_wanted = CW_COUNT(wanted)});
    if (rc) {
        assert_int_equal(rc, CW_NOMEM);
        assert_true(oom_was_hit());
        b.client = NULL;
        client_fixture_done(&b);
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        client_exchange a = {0};
        bool hit = oom_was_hit();
        rc = client_send(&b, &a);
        if (rc) {
            assert_int_equal(rc, CW_NOMEM);
            assert_true(oom_was_hit());
            continue;
        }
        client_run_until(&b, a.calls);
        if (a.end != CW_CLIENT_OK) {
            /* A handshake that nobody can watch takes too long. */
            assert_true(a.end == CW_CLIENT_NOMEM ||
                        (a.end == CW_CLIENT_CONNECT && strcmp(SCHEME, "https") == 0));
            assert_true(hit || oom_was_hit());
        }
    }
    client_fixture_done(&b);
}

TEST(every_failed_allocation_ends_one_request_cleanly)
{
    static const fake_step split[] = {
        DO_READ,     DO_SEND("HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nTransfer-"),
        DO_PAUSE(3), DO_SEND("Encoding: chunked\r\n\r\n5\r\nhel"),
        DO_PAUSE(3), DO_SEND("lo\r\n0\r\n\r\n"),
        DO_REPEAT};
    static char by_number[] = "127.0.0.1", by_name[] = "localhost";
    fake_server s;
    serve(&s, SCRIPTS(split), 1);
    oom_port = s.port;
    assert_true(oom_each(ask_with_failures, by_number) >= 6);
    assert_true(oom_each(ask_with_failures, by_name) >= 7);
    fake_server_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kept_connection_is_used_again),
        cmocka_unit_test(a_warm_request_allocates_nothing),
        cmocka_unit_test(a_connection_that_must_not_be_kept_is_not),
        cmocka_unit_test(an_idle_connection_is_closed_after_its_time),
        cmocka_unit_test(a_server_says_how_long_it_keeps_a_connection),
        cmocka_unit_test(a_connection_that_the_server_closed_is_replaced),
        cmocka_unit_test(a_closed_connection_is_seen_before_it_is_used),
        cmocka_unit_test(unasked_bytes_close_an_idle_connection),
        cmocka_unit_test(a_request_that_may_not_be_repeated_is_not),
        cmocka_unit_test(a_request_that_may_be_repeated_is_sent_once_more),
        cmocka_unit_test(an_answer_too_many_is_not_given_to_who_waits),
        cmocka_unit_test(who_waits_gets_another_connection_where_the_server_has_closed_it),
        cmocka_unit_test(an_answer_that_is_none_ends_its_connection),
        cmocka_unit_test(connections_of_a_server_that_keeps_none_are_used_once),
        cmocka_unit_test(idle_connections_are_not_used_where_the_server_keeps_none),
        cmocka_unit_test(a_request_is_never_sent_three_times),
        cmocka_unit_test(what_was_answered_in_part_is_not_sent_again),
        cmocka_unit_test(requests_beyond_the_ceiling_wait_in_order),
        cmocka_unit_test(a_waiting_request_gets_the_place_of_a_lost_one),
        cmocka_unit_test(those_who_wait_hear_when_nobody_is_there_any_more),
        cmocka_unit_test(a_cancelled_request_closes_its_connection),
        cmocka_unit_test(a_request_can_be_cancelled_while_it_connects),
        cmocka_unit_test(a_request_can_be_cancelled_while_it_is_sent),
        cmocka_unit_test(a_waiting_request_can_be_cancelled),
        cmocka_unit_test(a_request_can_be_cancelled_while_its_name_is_looked_up),
        cmocka_unit_test(a_request_can_be_made_from_within_another_end),
        cmocka_unit_test(a_request_can_be_cancelled_from_within_another_end),
        cmocka_unit_test(a_client_can_be_closed_from_within_an_end),
        cmocka_unit_test(a_client_without_connections_can_be_closed_from_within_an_end),
        cmocka_unit_test(closing_drops_what_runs_and_waits),
        cmocka_unit_test(every_failed_allocation_ends_one_request_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
