/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/upgrade/packet.h"
#include "support/assert_str.h"
#include "support/oom.h"
#include "support/test.h"

typedef struct ends {
    int one, other;
} ends;

static ends open_ends(void)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    return (ends){fds[0], fds[1]};
}

static void close_ends(ends e)
{
    close(e.one);
    close(e.other);
}

static cw_code send_text(int fd, const char *text, size_t n_text, const int *fds, size_t n_fds)
{
    CW_CLEANUP(cw_buf_done) cw_buf buf;
    cw_json_writer w;
    cw_buf_init(&buf, 4 * CW_PACKET_MAX);
    cw_packet_open(&w, &buf, "test");
    cw_json_add_string_member(&w, CW_STR("text"), cw_str_make(text, n_text));
    cw_json_add_i64_member(&w, CW_STR("number"), 7);
    cw_json_add_bool_member(&w, CW_STR("flag"), true);
    return cw_packet_send(fd, &w, &buf, fds, n_fds, NULL);
}

TEST(a_message_arrives_with_its_members_and_descriptors)
{
    ends e = open_ends();
    cw_packet p;
    assert_int_equal(cw_packet_receive(e.other, &p, NULL), CW_AGAIN);
    assert_int_equal(send_text(e.one, "a \"b\"", 5, &e.one, 1), CW_OK);
    assert_int_equal(cw_packet_receive(e.other, &p, NULL), CW_OK);
    assert_str(p.type, "test");
    assert_str(cw_packet_text(&p, "text"), "a \"b\"");
    assert_int_equal(cw_packet_number(&p, "number"), 7);
    assert_true(cw_packet_flag(&p, "flag"));
    assert_int_equal(cw_packet_text(&p, "number").n, 0);
    assert_int_equal(cw_packet_number(&p, "text"), 0);
    assert_false(cw_packet_flag(&p, "none"));
    assert_int_equal(p.n_fds, 1);
    int fd = p.fds[0];
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    cw_packet_done(&p);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    close_ends(e);
}

TEST(the_end_of_the_other_side_is_noticed)
{
    ends e = open_ends();
    cw_packet p;
    assert_int_equal(cw_packet_wait(e.other, 10, &p, NULL), CW_TIMEOUT);
    assert_int_equal(cw_packet_send_type(e.one, "last", NULL), CW_OK);
    close(e.one);
    assert_int_equal(cw_packet_wait(e.other, 1000, &p, NULL), CW_OK);
    cw_packet_done(&p);
    assert_int_equal(cw_packet_wait(e.other, 1000, &p, NULL), CW_GONE);
    assert_int_equal(cw_packet_send_type(e.other, "late", NULL), CW_IO);
    close(e.other);
}

TEST(messages_have_a_ceiling_on_both_sides)
{
    static char text[2 * CW_PACKET_MAX];
    ends e = open_ends();
    cw_packet p;
    memset(text, 'x', sizeof text);
    assert_int_equal(send_text(e.one, text, CW_PACKET_MAX - 100, NULL, 0), CW_OK);
    assert_int_equal(cw_packet_receive(e.other, &p, NULL), CW_OK);
    cw_packet_done(&p);
    assert_int_equal(send_text(e.one, text, CW_PACKET_MAX, NULL, 0), CW_LIMIT);
    assert_int_equal(send(e.one, text, sizeof text, 0), sizeof text);
    assert_int_equal(cw_packet_receive(e.other, &p, NULL), CW_PARAMS);
    close_ends(e);
}

static size_t count_descriptors(void)
{
    size_t n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* More than fit: those that came are closed. */
static void send_many(int fd, size_t n)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(128 * sizeof(int))];
    } control = {.bytes = {0}};
    char text[] = "{\"type\":\"test\"}";
    struct iovec iov = {text, sizeof text - 1};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = CMSG_SPACE(n * sizeof(int))};
    struct cmsghdr *h = CMSG_FIRSTHDR(&message);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(n * sizeof(int));
    for (size_t i = 0; i < n; i++)
        memcpy(CMSG_DATA(h) + i * sizeof fd, &fd, sizeof fd);
    assert_true(sendmsg(fd, &message, 0) > 0);
}

TEST(descriptors_have_a_ceiling)
{
    ends e = open_ends();
    cw_packet p;
    size_t before = count_descriptors();
    send_many(e.one, CW_PACKET_FDS);
    assert_int_equal(cw_packet_receive(e.other, &p, NULL), CW_OK);
    assert_int_equal(p.n_fds, CW_PACKET_FDS);
    cw_packet_done(&p);
    send_many(e.one, 100);
    assert_int_equal(cw_packet_receive(e.other, &p, NULL), CW_PARAMS);
    assert_int_equal(count_descriptors(), before);
    close_ends(e);
}

TEST(nonsense_is_refused)
{
    static const char *const wrong[] = {"x",
                                        "{}",
                                        "[]",
                                        "{\"type\":1}",
                                        "{\"type\":\"\"}",
                                        "{\"type\":\"a\"",
                                        "[[[[[[[[]]]]]]]]",
                                        "{\"type\":\"a\"}}"};
    ends e = open_ends();
    cw_packet p;
    for (size_t i = 0; i < CW_COUNT(wrong); i++) {
        cw_err err = {0};
        assert_true(send(e.one, wrong[i], strlen(wrong[i]), 0) > 0);
        assert_int_equal(cw_packet_receive(e.other, &p, &err), CW_PARAMS);
        assert_true(err.msg[0] != 0);
    }
    close_ends(e);
}

static void exchange_once(void *ctx)
{
    ends e = open_ends();
    cw_packet p;
    (void)ctx;
    cw_code rc = send_text(e.one, "hello", 5, &e.one, 1);
    if (!rc)
        rc = cw_packet_receive(e.other, &p, NULL);
    if (!rc)
        cw_packet_done(&p);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    close_ends(e);
}

TEST(an_exchange_survives_every_failed_allocation)
{
    size_t before = count_descriptors();
    assert_true(oom_each(exchange_once, NULL) >= 2);
    assert_int_equal(count_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_arrives_with_its_members_and_descriptors),
        cmocka_unit_test(the_end_of_the_other_side_is_noticed),
        cmocka_unit_test(messages_have_a_ceiling_on_both_sides),
        cmocka_unit_test(descriptors_have_a_ceiling),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(an_exchange_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
