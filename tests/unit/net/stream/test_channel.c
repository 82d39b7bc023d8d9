/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_channel.c - channels over sockets. */
#include "support/channel_fixture.h"

#include <time.h>

#include "net/stream/framing.h"

static int listening, peer;
static uint16_t port;
static channel_record s;

SETUP(set_up)
{
    memset(&s, 0, sizeof s);
    listening = peer_listen(&port);
    peer = -1;
    return channel_fixture_setup(state);
}

TEARDOWN(tear_down)
{
    if (s.channel)
        close_channel(&s);
    if (peer >= 0)
        close(peer);
    close(listening);
    return channel_fixture_teardown(state);
}

static void open_tcp(cw_channel_opts opts)
{
    opts.host = CW_STR("127.0.0.1");
    opts.port = port;
    assert_int_equal(open_channel(&s, opts), CW_OK);
    peer = peer_accept(listening);
    channel_run_until(s.opens);
}

TEST(messages_go_both_ways_in_every_framing)
{
    static const struct {
        cw_framing framing;
        const char *come, *go;
    } cases[] = {
        {CW_FRAMING_LINES, "{1}\n\n{2}\r\n", "{\"a\":1}\n"},
        {CW_FRAMING_CRLF, "{1}\r\n{2}\r\n", "{\"a\":1}\r\n"},
        {CW_FRAMING_CONTENT_LENGTH, "Content-Length: 3\r\n\r\n{1}Content-Length:3\r\n\r\n{2}",
         "Content-Length: 7\r\n\r\n{\"a\":1}"},
        {CW_FRAMING_JSON, "{1}{2}", "{\"a\":1}\n"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        open_tcp((cw_channel_opts){.framing = cases[i].framing});
        cw_str pieces[] = {CW_STR("{\"a\""), CW_STR(""), CW_STR(":1}")};
        assert_int_equal(cw_channel_send(s.channel, pieces, CW_COUNT(pieces)), CW_OK);
        assert_peer_reads(peer, cases[i].go);
        peer_send_text(peer, cases[i].come);
        channel_run_until(s.messages == 2);
        assert_string_equal(s.text, "{1}|{2}|");
        /* And byte by byte. */
        for (const char *p = cases[i].come; *p; p++) {
            peer_send(peer, p, 1);
            channel_turn();
        }
        channel_run_until(s.messages == 4);
        assert_string_equal(s.text, "{1}|{2}|{1}|{2}|");
        close_channel(&s);
        channel_run_until(peer_is_closed(peer));
        close(peer);
        memset(&s, 0, sizeof s);
    }
    peer = -1;
}

TEST(a_length_is_written_before_each_message)
{
    char got[6];
    open_tcp((cw_channel_opts){.framing = CW_FRAMING_LENGTH});
    assert_int_equal(channel_send_text(&s, "{}"), CW_OK);
    peer_read(peer, got, sizeof got);
    assert_memory_equal(got, "\0\0\0\2{}", sizeof got);
    peer_send(peer, "\0\0\0\0\0\0\0\3[1]", 11);
    channel_run_until(s.messages == 1);
    assert_string_equal(s.text, "[1]|");
}

TEST(a_socket_may_be_a_path)
{
    char folder[] = "/tmp/cw-channel-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s", folder);
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    snprintf(un.sun_path, sizeof un.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(open_channel(&s, (cw_channel_opts){.unix_path = cw_str_from(path)}), CW_OK);
    memset(path, 'x', 3); /* it was copied */
    peer = peer_accept(fd);
    channel_run_until(s.opens);
    peer_send_text(peer, "{1}\n");
    channel_run_until(s.messages);
    assert_int_equal(channel_send_text(&s, "{}"), CW_OK);
    assert_peer_reads(peer, "{}\n");
    close_channel(&s);
    close(fd);
    unlink(un.sun_path);
    memset(&s, 0, sizeof s);
    /* Nobody is there now. */
    assert_int_equal(open_channel(&s, (cw_channel_opts){.unix_path = cw_str_from(un.sun_path)}),
                     CW_OK);
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_IO, "No such file");
    rmdir(folder);
}

TEST(a_host_may_be_a_name)
{
    assert_int_equal(open_channel(&s, (cw_channel_opts){.host = CW_STR("localhost"), .port = port}),
                     CW_OK);
    peer = peer_accept(listening); /* also where ::1, where nobody listens, is tried before */
    channel_run_until(s.opens);
    peer_send_text(peer, "1\n");
    channel_run_until(s.messages);
}

TEST(a_name_that_is_none_is_told)
{
    assert_int_equal(
        open_channel(&s, (cw_channel_opts){.host = CW_STR("no such name"), .port = port}), CW_OK);
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_IO, "look up 'no such name'");
}

TEST(who_does_not_listen_is_told)
{
    close(listening);
    listening = -1;
    assert_int_equal(open_channel(&s, (cw_channel_opts){.host = CW_STR("127.0.0.1"), .port = port}),
                     CW_OK);
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_IO, "Connection refused");
    assert_int_equal(s.opens, 0);
    assert_int_equal(channel_send_text(&s, "{}"), CW_GONE);
}

TEST(who_never_answers_is_given_up)
{
    int hole = peer_listen(&port), fillers[4];
    struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    assert_int_equal(listen(hole, 0), 0);
    for (size_t i = 0; i < CW_COUNT(fillers); i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        connect(fillers[i], (struct sockaddr *)&in, sizeof in);
    }
    usleep(20000);
    uint64_t began = cw_clock_ms();
    assert_int_equal(
        open_channel(
            &s, (cw_channel_opts){.host = CW_STR("127.0.0.1"), .port = port, .connect_ms = 150}),
        CW_OK);
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_TIMEOUT, "timed out");
    assert_in_range(cw_clock_ms() - began, 140, patience(1000));
    for (size_t i = 0; i < CW_COUNT(fillers); i++)
        close(fillers[i]);
    close(hole);
}

TEST(opts_that_cannot_be_are_refused)
{
    static const char *const command[] = {"cat", NULL}, *const none[] = {NULL};
    char path[200];
    memset(path, 'x', sizeof path);
    const cw_channel_opts wrong[] = {
        {.port = 1},
        {.host = CW_STR("a"), .unix_path = CW_STR("/b")},
        {.host = CW_STR("a"), .command = command},
        {.host = cw_str_make("a\0b", 3)},
        {.command = none},
        {.command = command}, /* no spawner */
        {.unix_path = cw_str_make(path, sizeof path)},
        {.host = CW_STR("a"), .websocket = CW_STR("ws")},
        {.host = CW_STR("a"), .websocket = CW_STR("/a b")},
        {.host = CW_STR("a"), .websocket = CW_STR("/a\r\nb")},
        {.host = CW_STR("a"), .max_message = SIZE_MAX},
    };
    for (size_t i = 0; i < CW_COUNT(wrong); i++)
        assert_int_equal(open_channel(&s, wrong[i]), CW_PARAMS);
    static char long_name[2u << 20];
    memset(long_name, 'x', sizeof long_name);
    assert_int_equal(
        open_channel(&s, (cw_channel_opts){.host = cw_str_make(long_name, sizeof long_name)}),
        CW_LIMIT);
}

TEST(the_end_of_the_other_side_is_told_once)
{
    open_tcp((cw_channel_opts){0});
    peer_send_text(peer, "{1}\n{2");
    shutdown(peer, SHUT_WR);
    channel_run_until(s.ends);
    assert_string_equal(s.text, "{1}|");
    assert_channel_ended(&s, CW_GONE, "closed inside a message");
    assert_int_equal(channel_send_text(&s, "{}"), CW_GONE);
    for (int i = 0; i < 20; i++)
        channel_turn();
    assert_int_equal(s.ends, 1);
}

TEST(a_reset_is_an_end)
{
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    open_tcp((cw_channel_opts){0});
    setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(peer);
    peer = -1;
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_GONE, "reset");
}

TEST(a_message_that_is_too_large_is_the_end)
{
    char line[102];
    memset(line, '1', sizeof line);
    open_tcp((cw_channel_opts){.max_message = 100});
    peer_send(peer, line, 100);
    peer_send_text(peer, "\n");
    channel_run_until(s.messages);
    peer_send(peer, line, 102);
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_LIMIT, "more than 100 bytes");
}

TEST(another_framing_is_the_end)
{
    open_tcp((cw_channel_opts){.framing = CW_FRAMING_CONTENT_LENGTH});
    peer_send_text(peer, "HTTP/1.1 400 Bad Request\r\n\r\n");
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_INVALID, "no JSON-RPC message in this framing");
}

TEST(large_messages_go_both_ways)
{
    size_t n = 3u << 20;
    char *text = malloc(n + 1), *got = malloc(n + 1);
    memset(text, '1', n);
    text[n] = '\n';
    open_tcp((cw_channel_opts){0});
    cw_str piece = {text, n};
    assert_int_equal(cw_channel_send(s.channel, &piece, 1), CW_OK);
    assert_int_equal(channel_send_text(&s, "{}"), CW_OK);
    peer_read(peer, got, n + 1);
    assert_memory_equal(got, text, n + 1);
    assert_peer_reads(peer, "{}\n");
    peer_send(peer, text, n + 1);
    peer_send_text(peer, "{}\n");
    channel_run_until(s.messages == 2);
    assert_string_equal(s.text, "3145728|{}|");
    free(text);
    free(got);
}

TEST(what_waits_to_be_sent_has_a_ceiling)
{
    size_t n = 100000;
    unsigned sent = 0;
    char *text = malloc(n);
    memset(text, '1', n);
    open_tcp((cw_channel_opts){.max_queue = 250000, .max_message = 150000});
    cw_str pieces[2] = {{text, n}, {text, n}};
    assert_int_equal(cw_channel_send(s.channel, pieces, 2), CW_LIMIT);
    while (cw_channel_send(s.channel, pieces, 1) == CW_OK) {
        sent++;
        for (int i = 0; i < 3; i++)
            channel_turn();
        assert_true(sent < 1000);
    }
    assert_true(sent >= 2);
    /* Nothing of the refused ones is sent, and there is room again when the others are. */
    for (unsigned i = 0; i < sent; i++) {
        peer_read(peer, text, n);
        assert_peer_reads(peer, "\n");
    }
    memset(text, '2', n);
    assert_int_equal(cw_channel_send(s.channel, pieces, 1), CW_OK);
    peer_read(peer, text, n);
    assert_int_equal(text[0], '2');
    assert_int_equal(text[n - 1], '2');
    free(text);
}

TEST(a_message_cannot_end_its_line)
{
    open_tcp((cw_channel_opts){0});
    assert_int_equal(channel_send_text(&s, "{\n\"a\":\r\n1}"), CW_OK);
    assert_peer_reads(peer, "{ \"a\":  1}\n");
}

TEST(messages_of_one_turn_leave_together)
{
    char got[64];
    open_tcp((cw_channel_opts){0});
    for (int i = 0; i < 3; i++)
        assert_int_equal(channel_send_text(&s, "{}"), CW_OK);
    assert_int_equal(recv(peer, got, sizeof got, 0), -1);
    channel_turn();
    assert_int_equal(recv(peer, got, sizeof got, 0), 9);
}

static void close_it(channel_record *which)
{
    cw_channel_close(which->channel);
}

TEST(it_may_be_closed_within_any_callback)
{
    cw_channel_opts opts = {.host = CW_STR("127.0.0.1"), .port = port};
    s.on_open = close_it;
    assert_int_equal(open_channel(&s, opts), CW_OK);
    channel_run_until(s.closes);
    memset(&s, 0, sizeof s);
    close(peer_accept(listening));

    s.on_message = close_it;
    open_tcp((cw_channel_opts){0});
    peer_send_text(peer, "1\n2\n3\n");
    channel_run_until(s.closes);
    assert_int_equal(s.messages, 1);
    memset(&s, 0, sizeof s);
    close(peer);

    s.on_end = close_it;
    open_tcp((cw_channel_opts){0});
    close(peer);
    peer = -1;
    channel_run_until(s.closes);
    assert_int_equal(s.ends, 1);
    memset(&s, 0, sizeof s);

    opts.port = port;
    assert_int_equal(open_channel(&s, opts), CW_OK);
    close_channel(&s);
    opts.host = CW_STR("localhost");
    memset(&s, 0, sizeof s);
    assert_int_equal(open_channel(&s, opts), CW_OK);
    channel_turn();
    channel_turn();
    close_channel(&s);
}

TEST(what_was_sent_leaves_before_the_close)
{
    open_tcp((cw_channel_opts){0});
    assert_int_equal(channel_send_text(&s, "{\"method\":\"exit\"}"), CW_OK);
    close_channel(&s);
    assert_peer_reads(peer, "{\"method\":\"exit\"}\n");
    channel_run_until(peer_is_closed(peer));
}

TEST(the_end_of_the_loop_closes_it)
{
    open_tcp((cw_channel_opts){0});
    uv_close((uv_handle_t *)&channel_tick, NULL);
    cw_loop_end(&channel_loop);
    assert_int_equal(s.closes, 0);
    cw_loop_run(&channel_loop);
    assert_int_equal(s.closes, 1);
    assert_int_equal(s.ends, 0);
}

static void talk_once(void *ctx)
{
    (void)ctx;
    memset(&s, 0, sizeof s);
    int fd = -1;
    bool is_name = ctx != NULL;
    cw_channel_opts opts = {.host = is_name ? CW_STR("localhost") : CW_STR("127.0.0.1"),
                            .port = port};
    cw_code rc = open_channel(&s, opts);
    if (rc) {
        assert_int_equal(rc, CW_NOMEM);
        assert_true(oom_was_hit());
        return;
    }
    channel_run_until(s.opens || s.ends);
    if (s.opens) {
        fd = peer_accept(listening);
        rc = channel_send_text(&s, "{}");
        assert_true(rc == CW_OK || rc == CW_NOMEM);
        peer_send_text(fd, "{1}\n{2");
        channel_turn();
        peer_send_text(fd, "}\n");
        channel_run_until(s.messages == 2 || s.ends);
    }
    if (s.ends) {
        assert_int_equal(s.code, CW_NOMEM);
        assert_true(oom_was_hit());
    }
    close_channel(&s);
    if (fd < 0)
        fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        close(fd);
}

TEST(no_failed_allocation_does_harm)
{
    assert_true(oom_each(talk_once, NULL) >= 4);
    assert_true(oom_each(talk_once, &channel_loop) >= 5);
}

#define CHANNEL_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHANNEL_TEST(messages_go_both_ways_in_every_framing),
        CHANNEL_TEST(a_length_is_written_before_each_message),
        CHANNEL_TEST(a_socket_may_be_a_path),
        CHANNEL_TEST(a_host_may_be_a_name),
        CHANNEL_TEST(a_name_that_is_none_is_told),
        CHANNEL_TEST(who_does_not_listen_is_told),
        CHANNEL_TEST(who_never_answers_is_given_up),
        CHANNEL_TEST(opts_that_cannot_be_are_refused),
        CHANNEL_TEST(the_end_of_the_other_side_is_told_once),
        CHANNEL_TEST(a_reset_is_an_end),
        CHANNEL_TEST(a_message_that_is_too_large_is_the_end),
        CHANNEL_TEST(another_framing_is_the_end),
        CHANNEL_TEST(large_messages_go_both_ways),
        CHANNEL_TEST(what_waits_to_be_sent_has_a_ceiling),
        CHANNEL_TEST(a_message_cannot_end_its_line),
        CHANNEL_TEST(messages_of_one_turn_leave_together),
        CHANNEL_TEST(it_may_be_closed_within_any_callback),
        CHANNEL_TEST(what_was_sent_leaves_before_the_close),
        CHANNEL_TEST(the_end_of_the_loop_closes_it),
        CHANNEL_TEST(no_failed_allocation_does_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
