/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines in, lines out, over a source in this process. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "door/mcp/stdio.h"
#include "support/oom.h"
#include "support/patience.h"
#include "support/runtime_fixture.h"
#include "support/test.h"

#define LINE_SIZE 8192u
#define QUEUE_SIZE 16384u

#define CALL(id, name)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name    \
    "\",\"arguments\":{}}}\n"
#define CALL_WITH_PROGRESS(id, name)                                                               \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name    \
    "\",\"arguments\":{},\"_meta\":{\"progressToken\":1}}}\n"
#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}\n"
#define CANCEL(id)                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id    \
    "}}\n"

static cw_mcp *door;
static cw_stdio *client;
static int to_us = -1, from_us = -1;
static unsigned n_ended, n_overdue;
static char *read_bytes; /* all that was read, with a NUL behind it */
static size_t n_read;

static void on_end(void *ctx)
{
    (void)ctx;
    n_ended++;
}

static void on_overdue(void *ctx)
{
    (void)ctx;
    n_overdue++;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* It takes no messages yet. */
static cw_code prepare(cw_err *err)
{
    int in[2], out[2];
    static cw_seal seal;
    n_ended = n_overdue = 0;
    n_read = 0;
    client = NULL;
    door = NULL;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
    to_us = in[1];
    from_us = out[0];
    cw_code rc = runtime_fixture_init(60000, true, err);
    if (!rc)
        rc = runtime_fixture_publish(NULL, NULL, err);
    if (!rc)
        rc = cw_seal_init(&seal, err);
    if (!rc)
        rc = cw_mcp_new(fixture.runtime, 1, &seal, &door, err);
    cw_stdio_opts opts = {.door = door,
                          .runtime = fixture.runtime,
                          .loop = &fixture.loop,
                          .in = in[0],
                          .out = out[1],
                          .line_size = LINE_SIZE,
                          .queue_size = QUEUE_SIZE,
                          .calls = 4,
                          .file_ms = 1000,
                          .on_overdue = on_overdue,
                          .on_end = on_end};
    if (!rc)
        rc = cw_stdio_new(&opts, &client, err);
    if (!rc)
        runtime_fixture_turn(3); /* the publish above */
    close(in[0]);
    close(out[1]);
    return rc;
}

static cw_code begin(cw_err *err)
{
    cw_code rc = prepare(err);
    if (!rc)
        cw_stdio_go(client);
    return rc;
}

static void finish(void)
{
    cw_stdio_close(client);
    runtime_fixture_end_loop();
    cw_mcp_free(door);
    runtime_fixture_done();
    close_fd(&to_us);
    close_fd(&from_us);
}

SETUP(set_up)
{
    cw_err err;
    read_bytes = calloc(1, 4 << 20);
    return read_bytes ? (int)begin(&err) : 1;
}

SETUP(set_up_loading)
{
    cw_err err;
    read_bytes = calloc(1, 4 << 20);
    return read_bytes ? (int)prepare(&err) : 1;
}

TEARDOWN(tear_down)
{
    finish();
    free(read_bytes);
    return 0;
}

static void come(const char *text)
{
    assert_int_equal(write(to_us, text, strlen(text)), (ssize_t)strlen(text));
    runtime_fixture_turn(20);
}

static void take(void)
{
    ssize_t n = read(from_us, read_bytes + n_read, (4 << 20) - n_read - 1);
    n_read += n > 0 ? (size_t)n : 0;
    read_bytes[n_read] = '\0';
}

static bool has(const char *text)
{
    take();
    return strstr(read_bytes, text) != NULL;
}

static void until(const char *text)
{
    uint64_t end = cw_clock_ms() + 5000;
    while (!has(text)) {
        if (cw_clock_ms() > end)
            fail_msg("'%s' did not come", text);
        runtime_fixture_turn(1);
    }
}

static unsigned count(const char *text)
{
    unsigned n = 0;
    for (const char *p = strstr(read_bytes, text); p; p = strstr(p + 1, text))
        n++;
    return n;
}

TEST(a_call_is_answered_while_another_runs)
{
    come(CALL("1", "hold") CALL("2", "echo"));
    until("\"id\":2}\n");
    assert_false(has("\"id\":1}"));
    fake_op_result(fake_source_newest(fixture.source), "{\"a\":\n1}");
    until("\"id\":1}\n");
    assert_true(has("{\"a\": 1}")); /* a line break in a result */
    assert_int_equal(count("\n"), 2);
}

TEST(a_cancelled_call_is_not_answered)
{
    come(CALL("1", "hold"));
    assert_int_equal(atomic_load(&fixture.source->started), 1);
    come(CANCEL("\"1\"") CANCEL("7"));
    assert_int_equal(atomic_load(&fixture.source->cancelled), 0);
    come(CANCEL("1") PING("2"));
    until("\"id\":2}\n");
    assert_int_equal(atomic_load(&fixture.source->cancelled), 1);
    assert_false(has("\"id\":1}"));
}

TEST(one_cancel_is_for_all_requests_of_an_id)
{
    come(CALL("1", "hold") CALL("1", "hold") CANCEL("1"));
    assert_int_equal(atomic_load(&fixture.source->cancelled), 2);
}

TEST(what_is_more_than_may_run_waits_on_the_input)
{
    come(CALL("1", "hold") CALL("2", "hold") CALL("3", "hold") CALL("4", "hold") PING("5"));
    assert_int_equal(atomic_load(&fixture.source->started), 4);
    assert_false(has("\"id\":5}"));
    fake_op_result(fake_source_newest(fixture.source), "{}");
    until("\"id\":5}\n");
}

TEST(a_slow_reader_gets_the_newest_progress_and_every_answer)
{
    /* 40,000 reports are far more than queue and pipe take. */
    come(CALL_WITH_PROGRESS("1", "flood"));
    assert_true(n_read == 0);
    come(PING("2"));
    until("\"id\":1}\n");
    until("\"id\":2}\n");
    unsigned n = count("notifications/progress");
    assert_in_range(n, 1, 5000);
    const char *answer = strstr(read_bytes, "\"result\":{\"content\"");
    assert_non_null(answer);
    assert_null(strstr(answer, "notifications/progress")); /* none behind the answer */
}

TEST(nobody_who_does_not_read_is_listened_to)
{
    come(CALL("1", "flood"));
    for (int i = 0; i < 100; i++)
        come(CALL("2", "echo"));
    /* One answer is 1 MB: nothing else was begun. */
    assert_int_equal(atomic_load(&fixture.source->started), 1);
    until("\"id\":1}\n");
    uint64_t end = cw_clock_ms() + 5000;
    while (count("\"id\":2}") < 100 && cw_clock_ms() < end) {
        runtime_fixture_turn(5);
        take();
    }
    assert_int_equal(count("\"id\":2}"), 100);
}

TEST(the_end_of_the_input_waits_a_little_for_what_runs)
{
    come(CALL("1", "hold"));
    close_fd(&to_us);
    runtime_fixture_turn(10);
    assert_int_equal(n_ended, 0);
    fake_op_result(fake_source_newest(fixture.source), "{}");
    runtime_fixture_until(&n_ended, 1);
    assert_true(has("\"id\":1}\n"));
}

static void stand_still(unsigned ms)
{
    uint64_t end = cw_clock_ms() + ms;
    while (cw_clock_ms() < end)
        usleep(1000);
}

static void on_late_result(cw_message *message)
{
    (void)message;
    fake_op_result(fake_source_newest(fixture.source), "{}");
}

TEST(a_result_that_came_in_time_is_sent_by_a_process_that_did_not_run)
{
    static cw_message result = {.fn = on_late_result};
    come(CALL("1", "hold"));
    close_fd(&to_us);
    runtime_fixture_turn(10);
    cw_loop_post(&fixture.loop, &result);
    stand_still(CW_STDIO_END_MS + 50);
    runtime_fixture_until(&n_ended, 1);
    assert_true(has("\"id\":1}\n"));
}

TEST(lines_of_an_input_that_has_ended_wait_for_the_catalogue)
{
    come(CALL("1", "hold") "half a line");
    close_fd(&to_us);
    runtime_fixture_until(&n_overdue, 2);
    assert_int_equal(n_ended, 0);
    cw_stdio_go(client);
    /* Also if it does not run for a while, and the time is up before it has taken the lines. */
    stand_still(2 * CW_STDIO_END_MS);
    until("-32700");
    fake_op_result(fake_source_newest(fixture.source), "{}");
    runtime_fixture_until(&n_ended, 1);
    assert_true(has("\"id\":1}\n"));
}

TEST(a_stop_does_not_wait_for_the_catalogue)
{
    come(PING("1"));
    cw_stdio_stop(client);
    runtime_fixture_turn(5);
    assert_int_equal(n_ended, 1);
    assert_int_equal(n_overdue, 0);
}

TEST(what_runs_for_too_long_is_left)
{
    uint64_t began = cw_clock_ms();
    come(CALL("1", "hold"));
    close_fd(&to_us);
    runtime_fixture_until(&n_ended, 1);
    assert_in_range(cw_clock_ms() - began, CW_STDIO_END_MS - 50, patience(1000));
    assert_false(has("\"id\":1}"));
}

TEST(a_second_stop_does_not_wait)
{
    come(CALL("1", "hold"));
    cw_stdio_stop(client);
    runtime_fixture_turn(5);
    assert_int_equal(n_ended, 0);
    cw_stdio_stop(client);
    runtime_fixture_turn(5);
    assert_int_equal(n_ended, 1);
}

TEST(a_reader_that_is_gone_ends_it)
{
    come(CALL("1", "hold"));
    close_fd(&from_us);
    come(PING("2"));
    runtime_fixture_until(&n_ended, 1);
}

TEST(it_can_be_closed_in_every_state)
{
    /* the tear-down does it */
    come(CALL("1", "hold") CALL("2", "echo") CALL_WITH_PROGRESS("3", "flood") "half a line");
}

/* ---- memory ---- */

static const char *const script[] = {
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-11-25\",\"capabilities\":{}}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n",
    CALL("3", "echo"),
    CALL_WITH_PROGRESS("4", "steps"),
    CALL("5", "hold"),
    CANCEL("5"),
    "garbage\n",
};

static void talk_once(void *ctx)
{
    (void)ctx;
    cw_err err;
    cw_code rc = begin(&err);
    assert_true(rc == CW_OK || oom_was_hit());
    for (size_t i = 0; !rc && i < CW_COUNT(script); i++)
        come(script[i]);
    if (!rc && !oom_was_hit()) {
        take();
        assert_int_equal(count("\"result\""), 4);
    }
    /* Whatever failed: the next message is answered. */
    if (!rc && oom_was_hit()) {
        oom_reset();
        come("\n" PING("9"));
        until("\"id\":9}\n");
    }
    finish();
}

TEST(talking_survives_every_failed_allocation)
{
    read_bytes = calloc(1, 4 << 20);
    assert_non_null(read_bytes);
    assert_true(oom_each(talk_once, NULL) > 50);
    free(read_bytes);
}

#define STDIO_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define LOADING_TEST(f) cmocka_unit_test_setup_teardown(f, set_up_loading, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STDIO_TEST(a_call_is_answered_while_another_runs),
        STDIO_TEST(a_cancelled_call_is_not_answered),
        STDIO_TEST(one_cancel_is_for_all_requests_of_an_id),
        STDIO_TEST(what_is_more_than_may_run_waits_on_the_input),
        STDIO_TEST(a_slow_reader_gets_the_newest_progress_and_every_answer),
        STDIO_TEST(nobody_who_does_not_read_is_listened_to),
        STDIO_TEST(the_end_of_the_input_waits_a_little_for_what_runs),
        STDIO_TEST(a_result_that_came_in_time_is_sent_by_a_process_that_did_not_run),
        LOADING_TEST(lines_of_an_input_that_has_ended_wait_for_the_catalogue),
        LOADING_TEST(a_stop_does_not_wait_for_the_catalogue),
        STDIO_TEST(what_runs_for_too_long_is_left),
        STDIO_TEST(a_second_stop_does_not_wait),
        STDIO_TEST(a_reader_that_is_gone_ends_it),
        STDIO_TEST(it_can_be_closed_in_every_state),
        cmocka_unit_test(talking_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
