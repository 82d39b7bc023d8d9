/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers for different callers on one loop are read in turn. */
#include "support/client_fixture.h"
#include "support/patience.h"

#define LARGE 90000u /* takes more than one read */
#define CALLER 1000u
#define OTHER 2000u

static const fake_step good[] = {DO_READ,
                                 DO_SEND("HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n"),
                                 DO_FILL(LARGE), DO_REPEAT};
static const fake_step *const scripts[] = {good};
static fake_server server;
static client_fixture f;

SETUP(set_up)
{
    serve(&server, scripts, 1);
    client_fixture_init_at(&f, /* reads_in_turn= */ true);
    char url[64];
    snprintf(url, sizeof url, SCHEME "://127.0.0.1:%u/rpc", server.port);
    return client_fixture_new_client(&f, url, (cw_client_opts){0});
}

TEARDOWN(tear_down)
{
    client_fixture_done(&f);
    fake_server_stop(&server);
    return 0;
}

/* A caller whose steps took long. */
static void pause_caller(uint64_t ms)
{
    uint64_t until = cw_clock_ns() + ms * 1000000;
    f.queue.pauses[CALLER % CW_RUN_QUEUE_PAUSES].group = CALLER;
    f.queue.pauses[CALLER % CW_RUN_QUEUE_PAUSES].until_ns = f.queue.paused_ns = until;
}

static cw_client_conn *conn(void)
{
    return CW_CONTAINER(f.client->links.next, cw_client_conn, node);
}

static void assert_large(const client_exchange *e)
{
    assert_int_equal(e->end, CW_CLIENT_OK);
    assert_int_equal(e->n, LARGE);
}

/* Send a request of the caller and wait until its answer is queued. */
static void queue_answer(client_exchange *e)
{
    e->req.owner = CALLER;
    assert_int_equal(client_send(&f, e), CW_OK);
    client_run_until(&f, cw_run_queue_has(&conn()->runner));
}

TEST(an_answer_of_a_caller_that_pauses_is_not_polled_for_and_read_afterwards)
{
    client_exchange a = {0};
    pause_caller(patience(60000));
    queue_answer(&a);
    client_run_until(&f, conn()->events == 0);
    assert_int_equal(a.calls, 0);
    pause_caller(0);
    client_run_until(&f, a.calls);
    assert_large(&a);
    /* The connection is polled for again. */
    client_exchange again = {0};
    client_request(&f, &again);
    assert_large(&again);
    assert_int_equal(server.accepted, 1);
}

TEST(an_answer_of_another_caller_is_read_meanwhile)
{
    client_exchange a = {0}, b = {.req = {.owner = OTHER}};
    pause_caller(patience(60000));
    queue_answer(&a);
    client_request(&f, &b);
    assert_large(&b);
    assert_int_equal(a.calls, 0);
    client_fixture_close_client(&f); /* before its request ends */
}

TEST(a_request_can_be_cancelled_while_its_answer_waits)
{
    client_exchange a = {0}, b = {.req = {.owner = OTHER}};
    pause_caller(patience(60000));
    queue_answer(&a);
    cw_client_cancel(f.client, &a.req);
    assert_int_equal(cw_fair_count(&f.queue.queue), 0);
    client_request(&f, &b);
    assert_large(&b);
    assert_int_equal(a.calls, 0);
}

TEST(an_answer_that_waits_for_its_turn_is_not_late)
{
    client_exchange a = {0};
    f.client->answering.ms = 50;
    f.client->opts.first_byte_ms = 50;
    pause_caller(patience(60000));
    queue_answer(&a);
    client_run_for(&f, 200);
    assert_int_equal(a.calls, 0);
    pause_caller(0);
    client_run_until(&f, a.calls);
    assert_large(&a);
}

TEST(answers_of_two_callers_contest_the_loop_and_those_of_one_do_not)
{
    const uint64_t owners[] = {CALLER, CALLER, 0, CALLER, OTHER};
    for (size_t i = 0; i < 5; i++) {
        client_exchange e = {.req = {.owner = owners[i]}};
        assert_int_equal(f.queue.contested_ns, 0);
        client_request(&f, &e);
        assert_large(&e);
    }
    assert_true(f.queue.contested_ns > 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_answer_of_a_caller_that_pauses_is_not_polled_for_and_read_afterwards),
        T(an_answer_of_another_caller_is_read_meanwhile),
        T(a_request_can_be_cancelled_while_its_answer_waits),
        T(an_answer_that_waits_for_its_turn_is_not_late),
        T(answers_of_two_callers_contest_the_loop_and_those_of_one_do_not),
    };
    return cmocka_run_group_tests_name("client_turns", tests, NULL, NULL);
}
