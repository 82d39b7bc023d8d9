/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "host/wire.h"
#include "support/oom.h"
#include "support/test.h"

#define CANCEL "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel\"}"
#define MAX_BODY 200000u

typedef struct rig {
    cw_wire wire;
    int peer;
} rig;

static int set_up(void **state)
{
    rig *r = calloc(1, sizeof(*r));
    int fds[2];
    assert_non_null(r);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    r->peer = fds[1];
    assert_int_equal(cw_wire_init(&r->wire, fds[0], MAX_BODY, NULL), CW_OK);
    *state = r;
    return 0;
}

static int tear_down(void **state)
{
    rig *r = *state;
    close(r->wire.fd);
    if (r->peer >= 0)
        close(r->peer);
    cw_wire_done(&r->wire);
    free(r);
    return 0;
}

static void send_bytes(rig *r, const void *p, size_t n)
{
    assert_int_equal(send(r->peer, p, n, 0), n);
}

static void send_frame(rig *r, uint64_t id, const char *body)
{
    char frame[1024];
    uint32_t n = (uint32_t)strlen(body);
    memcpy(frame, &n, sizeof(n));
    memcpy(frame + 4, &id, sizeof(id));
    memcpy(frame + CW_WIRE_HEAD, body, n);
    send_bytes(r, frame, CW_WIRE_HEAD + n);
}

static void expect_frame(rig *r, uint64_t id, const char *body)
{
    uint64_t got_id;
    cw_str got;
    cw_err err;
    assert_int_equal(cw_wire_next(&r->wire, &got_id, &got, &err), CW_OK);
    assert_int_equal(got_id, id);
    assert_int_equal(got.n, strlen(body));
    assert_memory_equal(got.p, body, got.n);
}

static void expect_code(rig *r, cw_code code)
{
    uint64_t id;
    cw_str body;
    cw_err err;
    assert_int_equal(cw_wire_next(&r->wire, &id, &body, &err), code);
}

/* The socket is looked at once a millisecond. */
static void wait_for_a_look(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

TEST_WITH(frames_come_one_by_one_however_they_were_sent, rig *r)
{
    send_frame(r, 1, "one");
    send_frame(r, UINT64_MAX, "");
    send_frame(r, 3, "three");
    expect_frame(r, 1, "one");
    assert_true(cw_wire_has_more(&r->wire));
    expect_frame(r, UINT64_MAX, "");
    expect_frame(r, 3, "three");
    assert_false(cw_wire_has_more(&r->wire));
}

TEST_WITH(a_frame_may_come_byte_by_byte, rig *r)
{
    char frame[CW_WIRE_HEAD + 5] = {5};
    memcpy(frame + CW_WIRE_HEAD, "hello", 5);
    if (fork() == 0) {
        for (size_t i = 0; i < sizeof(frame); i++) {
            (void)!write(r->peer, frame + i, 1);
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        }
        _exit(0);
    }
    expect_frame(r, 0, "hello");
}

TEST_WITH(a_closed_socket_is_the_end, rig *r)
{
    send_frame(r, 1, "one");
    close(r->peer);
    r->peer = -1;
    expect_frame(r, 1, "one");
    expect_code(r, CW_DONE);
}

TEST_WITH(an_end_inside_a_frame_is_an_error, rig *r)
{
    send_frame(r, 1, "one");
    send_bytes(r, "\5\0\0\0\0\0\0\0\0\0\0\0hel", 15);
    close(r->peer);
    r->peer = -1;
    expect_frame(r, 1, "one");
    expect_code(r, CW_INVALID);
}

TEST_WITH(a_frame_over_the_limit_is_refused, rig *r)
{
    char head[CW_WIRE_HEAD] = {0};
    uint32_t n = MAX_BODY + 1;
    memcpy(head, &n, sizeof(n));
    send_bytes(r, head, sizeof(head));
    expect_code(r, CW_LIMIT);
}

TEST_WITH(a_frame_of_the_limit_is_read, rig *r)
{
    char *frame = calloc(1, CW_WIRE_HEAD + MAX_BODY);
    uint32_t n = MAX_BODY;
    uint64_t id;
    cw_str body;
    memcpy(frame, &n, sizeof(n));
    if (fork() == 0) {
        for (size_t i = 0; i < CW_WIRE_HEAD + MAX_BODY;)
            i += (size_t)write(r->peer, frame + i, CW_WIRE_HEAD + MAX_BODY - i);
        _exit(0);
    }
    assert_int_equal(cw_wire_next(&r->wire, &id, &body, NULL), CW_OK);
    assert_int_equal(body.n, MAX_BODY);
    free(frame);
}

TEST_WITH(a_frame_without_memory_is_dropped_and_the_next_one_read, rig *r)
{
    enum { BIG = 150000 };
    char *frame = calloc(1, CW_WIRE_HEAD + BIG);
    uint32_t n = BIG;
    uint64_t id = 7;
    cw_str body;
    memcpy(frame, &n, sizeof(n));
    memcpy(frame + 4, &id, sizeof(id));
    send_bytes(r, frame, CW_WIRE_HEAD + BIG);
    send_frame(r, 8, "next");
    id = 0;
    oom_fail_from(1);
    assert_int_equal(cw_wire_next(&r->wire, &id, &body, NULL), CW_NOMEM);
    assert_int_equal(id, 7);
    expect_frame(r, 8, "next");
    oom_reset();
    send_frame(r, 9, "later");
    expect_frame(r, 9, "later");
    free(frame);
}

TEST_WITH(what_comes_during_a_call_leaves_its_frame_in_place, rig *r)
{
    uint64_t id;
    cw_str body;
    send_frame(r, 1, "one");
    send_frame(r, 2, "two");
    assert_int_equal(cw_wire_next(&r->wire, &id, &body, NULL), CW_OK);
    for (int i = 0; i < 100; i++)
        send_frame(r, 3, "three");
    cw_wire_look(&r->wire, CW_WIRE_AHEAD);
    wait_for_a_look();
    send_frame(r, 4, "four");
    cw_wire_look(&r->wire, CW_WIRE_AHEAD);
    assert_memory_equal(body.p, "one", 3);
    expect_frame(r, 2, "two");
    for (int i = 0; i < 100; i++)
        expect_frame(r, 3, "three");
    expect_frame(r, 4, "four");
}

TEST_WITH(cancels_are_seen_ahead_of_their_turn, rig *r)
{
    send_frame(r, 1, "one");
    send_frame(r, 2, "two");
    send_frame(r, 2, CANCEL);
    send_frame(r, 1, "{ \"jsonrpc\": \"2.0\", \"method\": \"$/cancel\" }");
    expect_frame(r, 1, "one");
    assert_true(cw_wire_has_cancel(&r->wire, 1));
    assert_true(cw_wire_has_cancel(&r->wire, 2));
    assert_false(cw_wire_has_cancel(&r->wire, 3));
    expect_frame(r, 2, "two");
    assert_true(cw_wire_has_cancel(&r->wire, 2));
    expect_frame(r, 2, CANCEL);
    cw_wire_drop_cancel(&r->wire, 2);
    cw_wire_drop_cancel(&r->wire, 77);
    assert_false(cw_wire_has_cancel(&r->wire, 2));
    assert_true(cw_wire_has_cancel(&r->wire, 1));
}

TEST_WITH(cancels_that_come_during_a_call_are_seen, rig *r)
{
    send_frame(r, 1, "one");
    send_frame(r, 5, "five");
    expect_frame(r, 1, "one");
    assert_false(cw_wire_has_cancel(&r->wire, 1));
    send_frame(r, 5, CANCEL);
    send_bytes(r, "\x25\0\0\0\1\0\0\0\0\0\0\0{\"jsonrpc\":", 23); /* the half of one for 1 */
    cw_wire_look(&r->wire, CW_WIRE_AHEAD);
    assert_true(cw_wire_has_cancel(&r->wire, 5));
    assert_false(cw_wire_has_cancel(&r->wire, 1));
    send_bytes(r, "\"2.0\",\"method\":\"$/cancel\"}", 26);
    wait_for_a_look();
    cw_wire_look(&r->wire, CW_WIRE_AHEAD);
    assert_true(cw_wire_has_cancel(&r->wire, 1));
    expect_frame(r, 5, "five");
    assert_true(cw_wire_has_cancel(&r->wire, 5));
    expect_frame(r, 5, CANCEL);
    expect_frame(r, 1, CANCEL);
}

TEST_WITH(only_a_cancel_is_one, rig *r)
{
    send_frame(r, 1, "one");
    send_frame(r, 1, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancels\"}");
    send_frame(r, 1, "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{\"x\":\"$/cancel\"}}");
    send_frame(r, 1, "");
    expect_frame(r, 1, "one");
    assert_false(cw_wire_has_cancel(&r->wire, 1));
}

TEST_WITH(reading_ahead_has_a_ceiling, rig *r)
{
    char body[1001];
    memset(body, 'x', 1000);
    body[1000] = '\0';
    send_frame(r, 1, "one");
    expect_frame(r, 1, "one");
    for (int i = 0; i < 70; i++)
        send_frame(r, 2, body);
    cw_wire_look(&r->wire, 1000);
    assert_int_equal(r->wire.ahead.n, CW_WIRE_READ);
    wait_for_a_look();
    cw_wire_look(&r->wire, 1000);
    assert_int_equal(r->wire.ahead.n, CW_WIRE_READ);
    for (int i = 0; i < 70; i++)
        expect_frame(r, 2, body);
}

TEST_WITH(a_look_without_memory_changes_nothing, rig *r)
{
    send_frame(r, 1, "one");
    send_frame(r, 2, "two");
    expect_frame(r, 1, "one");
    send_frame(r, 3, "three");
    oom_fail_from(1);
    cw_wire_look(&r->wire, CW_WIRE_AHEAD);
    oom_reset();
    assert_false(cw_wire_has_cancel(&r->wire, 1));
    expect_frame(r, 2, "two");
    expect_frame(r, 3, "three");
}

TEST_WITH(the_peer_that_left_is_noticed_by_a_look, rig *r)
{
    send_frame(r, 1, "one");
    expect_frame(r, 1, "one");
    close(r->peer);
    r->peer = -1;
    cw_wire_look(&r->wire, CW_WIRE_AHEAD);
    assert_true(r->wire.has_ended);
    cw_wire_open_frame(&r->wire.out, 1);
    cw_wire_flush(&r->wire); /* and no SIGPIPE */
    expect_code(r, CW_DONE);
}

TEST_WITH(reports_go_between_what_waits_and_the_answer, rig *r)
{
    cw_buf *out = &r->wire.out;
    char got[64];
    cw_buf_add(out, CW_STR("started "));
    size_t start = out->n;
    cw_buf_add(out, CW_STR("12"));
    cw_wire_send(&r->wire, start, CW_STR("report "));
    cw_buf_add(out, CW_STR("34"));
    cw_wire_send(&r->wire, start, CW_STR("again "));
    cw_wire_flush(&r->wire);
    ssize_t n = recv(r->peer, got, sizeof(got), 0);
    assert_int_equal(n, 25);
    assert_memory_equal(got, "started report again 1234", 25);
    assert_int_equal(out->n, 0);
}

static void init_once(void *ctx)
{
    (void)ctx;
    cw_wire w;
    cw_code rc = cw_wire_init(&w, -1, MAX_BODY, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    if (!rc)
        cw_wire_done(&w);
}

TEST(init_survives_every_failed_allocation)
{
    assert_true(oom_each(init_once, NULL) >= 2);
}

#define WITH_RIG(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_RIG(frames_come_one_by_one_however_they_were_sent),
        WITH_RIG(a_frame_may_come_byte_by_byte),
        WITH_RIG(a_closed_socket_is_the_end),
        WITH_RIG(an_end_inside_a_frame_is_an_error),
        WITH_RIG(a_frame_over_the_limit_is_refused),
        WITH_RIG(a_frame_of_the_limit_is_read),
        WITH_RIG(a_frame_without_memory_is_dropped_and_the_next_one_read),
        WITH_RIG(what_comes_during_a_call_leaves_its_frame_in_place),
        WITH_RIG(cancels_are_seen_ahead_of_their_turn),
        WITH_RIG(cancels_that_come_during_a_call_are_seen),
        WITH_RIG(only_a_cancel_is_one),
        WITH_RIG(reading_ahead_has_a_ceiling),
        WITH_RIG(a_look_without_memory_changes_nothing),
        WITH_RIG(the_peer_that_left_is_noticed_by_a_look),
        WITH_RIG(reports_go_between_what_waits_and_the_answer),
        cmocka_unit_test(init_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
