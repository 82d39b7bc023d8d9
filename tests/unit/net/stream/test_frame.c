/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/stream/frame.h"
#include "support/oom.h"
#include "support/test.h"

#define MAX_BODY (256u * 1024u)
#define MAX_QUEUE (512u * 1024u)

static cw_loop loop;
static cw_frames frames;
static int peer;
static struct {
    uint64_t id;
    size_t n;
    char first, last;
} got[256];
static size_t n_got;
static int ended; /* how often */
static cw_code why;
static bool closed, close_on_frame;
static unsigned more; /* frames that the peer writes while others are read */

static size_t put_frame(char *out, uint64_t id, const char *body, size_t n)
{
    uint32_t length = (uint32_t)n;
    memcpy(out, &length, 4);
    memcpy(out + 4, &id, 8);
    memcpy(out + 12, body, n);
    return 12 + n;
}

static void on_frame(cw_frames *f, uint64_t id, cw_str body)
{
    char bytes[64];
    if (more && more--)
        assert_true(write(peer, bytes, put_frame(bytes, id + 1, "more", 4)) == 16);
    assert_true(n_got < CW_COUNT(got));
    got[n_got].id = id;
    got[n_got].n = body.n;
    got[n_got].first = body.n ? body.p[0] : 0;
    got[n_got].last = body.n ? body.p[body.n - 1] : 0;
    n_got++;
    if (close_on_frame)
        cw_frames_close(f);
}

static void on_end(cw_frames *f, cw_code code)
{
    (void)f;
    ended++;
    why = code;
}

static void on_closed(cw_frames *f)
{
    (void)f;
    closed = true;
}

static const cw_frames_ops ops = {on_frame, on_end, on_closed};

static void turn(void)
{
    uv_run(&loop.uv, UV_RUN_NOWAIT);
}

SETUP(set_up)
{
    n_got = 0;
    ended = 0;
    closed = close_on_frame = false;
    more = 0;
    assert_int_equal(cw_loop_init(&loop, 64, NULL), CW_OK);
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    peer = fds[1];
    assert_int_equal(cw_frames_open(&frames, &loop, fds[0], MAX_BODY, MAX_QUEUE, &ops, NULL),
                     CW_OK);
    return 0;
}

TEARDOWN(tear_down)
{
    cw_frames_close(&frames);
    if (peer >= 0)
        close(peer);
    cw_loop_end(&loop);
    cw_loop_run(&loop);
    assert_true(closed);
    cw_loop_done(&loop);
    return 0;
}

static void write_peer(const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(peer, p, n);
        if (done < 0) {
            turn();
            continue;
        }
        p += done;
        n -= (size_t)done;
    }
}

TEST(frames_arrive_wherever_they_are_cut)
{
    char bytes[256];
    size_t n = put_frame(bytes, 1, "abc", 3);
    n += put_frame(bytes + n, 2, "", 0);
    n += put_frame(bytes + n, UINT64_MAX, "xy", 2);
    for (size_t first = 0; first <= n; first++) {
        for (size_t second = first; second <= n; second++) {
            n_got = 0;
            write_peer(bytes, first);
            turn();
            write_peer(bytes + first, second - first);
            turn();
            write_peer(bytes + second, n - second);
            turn();
            assert_int_equal(n_got, 3);
            assert_int_equal(got[0].id, 1);
            assert_int_equal(got[0].last, 'c');
            assert_int_equal(got[1].n, 0);
            assert_true(got[2].id == UINT64_MAX);
            assert_int_equal(got[2].first, 'x');
        }
    }
    assert_int_equal(ended, 0);
}

TEST(a_frame_larger_than_the_scratch_buffer_arrives)
{
    char *body = malloc(MAX_BODY);
    char *bytes = malloc(MAX_BODY + 12);
    assert_non_null(body);
    assert_non_null(bytes);
    memset(body, 'q', MAX_BODY);
    body[MAX_BODY - 1] = 'z';
    for (uint64_t round = 0; round < 3; round++)
        write_peer(bytes, put_frame(bytes, round, body, MAX_BODY));
    for (int i = 0; i < 20 && n_got < 3; i++)
        turn();
    assert_int_equal(n_got, 3);
    assert_int_equal(got[2].n, MAX_BODY);
    assert_int_equal(got[2].last, 'z');
    free(body);
    free(bytes);
}

TEST(a_frame_over_the_ceiling_ends_the_stream_before_its_body)
{
    char head[12] = {0};
    uint32_t length = MAX_BODY + 1;
    memcpy(head, &length, 4);
    write_peer(head, 12);
    turn();
    assert_int_equal(ended, 1);
    assert_int_equal(why, CW_LIMIT);
    assert_int_equal(frames.in.cap, 0);
}

TEST(a_long_frame_in_parts_is_refused_when_its_head_is_whole)
{
    char head[12];
    memset(head, 0xFF, sizeof head);
    write_peer(head, 5);
    turn();
    assert_int_equal(ended, 0);
    write_peer(head + 5, 7);
    turn();
    assert_int_equal(why, CW_LIMIT);
}

TEST(what_came_before_the_end_counts)
{
    char bytes[64];
    write_peer(bytes, put_frame(bytes, 7, "last", 4));
    close(peer);
    peer = -1;
    turn();
    turn();
    assert_int_equal(n_got, 1);
    assert_int_equal(ended, 1);
    assert_int_equal(why, CW_GONE);
    turn();
    assert_int_equal(ended, 1);
}

TEST(an_end_inside_a_frame_is_told_apart)
{
    char bytes[64];
    size_t n = put_frame(bytes, 7, "half", 4);
    write_peer(bytes, n - 1);
    close(peer);
    peer = -1;
    turn();
    turn();
    assert_int_equal(n_got, 0);
    assert_int_equal(why, CW_INVALID);
}

TEST(a_peer_that_dies_with_unread_frames_is_still_heard)
{
    cw_str body = CW_STR("unread");
    assert_int_equal(cw_frames_send(&frames, 1, &body, 1), CW_OK);
    turn();
    char bytes[64];
    write_peer(bytes, put_frame(bytes, 7, "last words", 10));
    close(peer); /* a reset: it had something to read */
    peer = -1;
    /* Writing to it now must not hide what it said. */
    assert_int_equal(cw_frames_send(&frames, 2, &body, 1), CW_OK);
    for (int i = 0; i < 4; i++)
        turn();
    assert_int_equal(n_got, 1);
    assert_int_equal(got[0].id, 7);
    assert_int_equal(ended, 1);
    assert_int_equal(why, CW_GONE);
}

TEST(draining_hears_everything_at_once)
{
    char bytes[64];
    for (uint64_t i = 0; i < 5; i++)
        write_peer(bytes, put_frame(bytes, i, "x", 1));
    close(peer);
    peer = -1;
    cw_frames_drain(&frames);
    assert_int_equal(n_got, 5);
    assert_int_equal(ended, 1);
    cw_frames_drain(&frames);
    assert_int_equal(ended, 1);
}

TEST(draining_ends_though_the_peer_goes_on)
{
    char bytes[64];
    write_peer(bytes, put_frame(bytes, 1, "x", 1));
    more = 100;
    cw_frames_drain(&frames);
    assert_in_range(n_got, 1, 2);
    more = 0;
    turn();
    assert_int_equal(ended, 0);
}

TEST(closing_in_a_callback_hands_out_nothing_more)
{
    close_on_frame = true;
    char bytes[64];
    size_t n = put_frame(bytes, 1, "a", 1);
    n += put_frame(bytes + n, 2, "b", 1);
    write_peer(bytes, n);
    turn();
    turn();
    assert_int_equal(n_got, 1);
    assert_int_equal(ended, 0);
    assert_true(closed);
    closed = false; /* once more by tear_down: it is closed already */
    cw_frames_close(&frames);
    turn();
    assert_false(closed);
    closed = true;
}

TEST(frames_of_one_turn_leave_in_one_piece)
{
    cw_str a[] = {CW_STR("{\"id\":"), CW_STR(""), CW_STR("1}")};
    assert_false(cw_frames_gathers(&frames));
    assert_int_equal(cw_frames_send(&frames, 5, a, 3), CW_OK);
    assert_int_equal(cw_frames_send(&frames, 6, a, 0), CW_OK);
    assert_true(cw_frames_gathers(&frames));
    char in[128];
    assert_true(read(peer, in, sizeof in) < 0); /* not before the turn ends */
    turn();
    assert_false(cw_frames_gathers(&frames));
    char want[128];
    size_t n = put_frame(want, 5, "{\"id\":1}", 8);
    n += put_frame(want + n, 6, "", 0);
    assert_int_equal(read(peer, in, sizeof in), (ssize_t)n);
    assert_memory_equal(in, want, n);
}

TEST(what_the_socket_does_not_take_waits_up_to_the_ceiling)
{
    int small = 4096;
    setsockopt(frames.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    char *body = malloc(MAX_BODY);
    assert_non_null(body);
    memset(body, 'p', MAX_BODY);
    cw_str piece = {body, MAX_BODY};
    cw_str two[] = {piece, CW_STR("x")};
    assert_int_equal(cw_frames_send(&frames, 1, two, 2), CW_LIMIT);
    assert_int_equal(cw_frames_send(&frames, 1, &piece, 1), CW_OK);
    turn();
    assert_true(frames.sent > 0);
    /* With what was sent taken out of the way a second one fits, a third does not. */
    cw_code rc = cw_frames_send(&frames, 2, &piece, 1);
    assert_int_equal(rc, CW_OK);
    size_t queued = frames.out.n;
    assert_int_equal(cw_frames_send(&frames, 3, &piece, 1), CW_LIMIT);
    assert_int_equal(frames.out.n, queued);
    size_t total = 0;
    char in[65536];
    for (int idle = 0; idle < 100 && total < 2 * (MAX_BODY + 12u);) {
        ssize_t n = read(peer, in, sizeof in);
        idle = n > 0 ? 0 : idle + 1;
        total += n > 0 ? (size_t)n : 0;
        turn();
    }
    assert_int_equal(total, 2 * (MAX_BODY + 12u));
    assert_int_equal(frames.out.n, 0);
    assert_int_equal(frames.out.cap, 0); /* large memory is given back */
    assert_int_equal(frames.events, UV_READABLE);
    free(body);
}

TEST(memory_failure_of_a_send_changes_nothing)
{
    cw_str body = CW_STR("body");
    oom_fail_at(1);
    assert_int_equal(cw_frames_send(&frames, 1, &body, 1), CW_NOMEM);
    oom_reset();
    assert_int_equal(cw_frames_send(&frames, 2, &body, 1), CW_OK);
    turn();
    char in[64];
    assert_int_equal(read(peer, in, sizeof in), 16);
    assert_int_equal(in[4], 2);
}

TEST(memory_failure_for_a_part_ends_the_stream)
{
    char bytes[64];
    size_t n = put_frame(bytes, 1, "part", 4);
    write_peer(bytes, n - 2);
    oom_fail_at(1);
    turn();
    oom_reset();
    assert_int_equal(ended, 1);
    assert_int_equal(why, CW_NOMEM);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(frames_arrive_wherever_they_are_cut),
        T(a_frame_larger_than_the_scratch_buffer_arrives),
        T(a_frame_over_the_ceiling_ends_the_stream_before_its_body),
        T(a_long_frame_in_parts_is_refused_when_its_head_is_whole),
        T(what_came_before_the_end_counts),
        T(an_end_inside_a_frame_is_told_apart),
        T(a_peer_that_dies_with_unread_frames_is_still_heard),
        T(draining_hears_everything_at_once),
        T(draining_ends_though_the_peer_goes_on),
        T(closing_in_a_callback_hands_out_nothing_more),
        T(frames_of_one_turn_leave_in_one_piece),
        T(what_the_socket_does_not_take_waits_up_to_the_ceiling),
        T(memory_failure_of_a_send_changes_nothing),
        T(memory_failure_for_a_part_ends_the_stream),
    };
    return cmocka_run_group_tests_name("net/frame", tests, NULL, NULL);
}
