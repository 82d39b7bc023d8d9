/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_channel_ws.c - channels that are WebSockets. */
#include "channel_check.h"

#include <openssl/sha.h>

#include "base/base64.h"
#include "net/websocket.h"

static int listening, peer;
static uint16_t port;
static seen s;

static int set_up(void **state)
{
    memset(&s, 0, sizeof s);
    listening = listen_tcp(&port);
    peer = -1;
    return set_up_loop(state);
}

static int tear_down(void **state)
{
    if (s.channel)
        close_channel(&s);
    if (peer >= 0)
        close(peer);
    close(listening);
    return tear_down_loop(state);
}

/* Read the request, byte by byte so that nothing behind it is taken. */
static void read_request(int fd, char *out, size_t size)
{
    size_t n = 0;
    out[0] = 0;
    while (!strstr(out, "\r\n\r\n")) {
        assert_true(n + 1 < size);
        peer_read(fd, out + n, 1);
        out[++n] = 0;
    }
}

static void answer_key(const char *request, char accept[29])
{
    char text[64 + 1];
    unsigned char digest[SHA_DIGEST_LENGTH];
    const char *key = strstr(request, "Sec-WebSocket-Key: ");
    assert_non_null(key);
    snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key + 19);
    SHA1((const unsigned char *)text, strlen(text), digest);
    accept[cw_base64_encode(cw_str_make((const char *)digest, sizeof digest), accept)] = 0;
}

static cw_code begin(cw_channel_opts opts)
{
    opts.host = CW_STR("127.0.0.1");
    opts.port = port;
    opts.websocket = CW_STR("/jsonrpc");
    return open_channel(&s, opts);
}

/* Answer the handshake, `rest` in the same piece. */
static void greet(const char *rest, size_t n)
{
    char request[1024], accept[29], answer[512], want[64];
    peer = accept_one(listening);
    read_request(peer, request, sizeof request);
    snprintf(want, sizeof want, "GET /jsonrpc HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n", port);
    assert_memory_equal(request, want, strlen(want));
    answer_key(request, accept);
    int k = snprintf(answer, sizeof answer,
                     "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                     "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
                     accept);
    memcpy(answer + k, rest, n);
    peer_send(peer, answer, (size_t)k + n);
}

static void open_ws(cw_channel_opts opts)
{
    assert_int_equal(begin(opts), CW_OK);
    greet("", 0);
    run_until(s.opens);
}

/* A frame of the channel's with less than 126 bytes. */
static void assert_frame(unsigned first, const char *want)
{
    char head[6], data[126] = "";
    peer_read(peer, head, sizeof head);
    assert_int_equal((unsigned char)head[0], first);
    assert_int_equal((unsigned char)head[1], 0x80 | strlen(want));
    peer_read(peer, data, strlen(want));
    cw_ws_mask(data, strlen(want), head + 2);
    assert_string_equal(data, want);
}

static void messages_go_both_ways(void **state)
{
    (void)state;
    assert_int_equal(begin((cw_channel_opts){0}), CW_OK);
    greet("\x81\2{}\x82\3[1]\x01\1", 11); /* the first frames may come with the answer */
    peer_send(peer,
              "1\x80\1"
              "2",
              4);
    run_until(s.messages == 3);
    assert_string_equal(s.text, "{}|[1]|12|");
    cw_str pieces[] = {CW_STR("{\"a\":\n"), CW_STR("1}")};
    assert_int_equal(cw_channel_send(s.channel, pieces, 2), CW_OK);
    assert_frame(0x81, "{\"a\":\n1}");
}

static void large_messages_go_both_ways(void **state)
{
    (void)state;
    size_t n = 1u << 20;
    char *text = malloc(n + 14), *got = malloc(n + 14);
    memset(text, '1', n + 14);
    open_ws((cw_channel_opts){0});
    cw_str piece = {text, n};
    assert_int_equal(cw_channel_send(s.channel, &piece, 1), CW_OK);
    peer_read(peer, got, n + 14);
    assert_memory_equal(got, "\x81\xff\0\0\0\0\0\x10\0\0", 10);
    cw_ws_mask(got + 14, n, got + 10);
    assert_memory_equal(got + 14, text, n);
    memcpy(text, "\x81\x7f\0\0\0\0\0\x10\0\0", 10);
    peer_send(peer, text, n + 10);
    run_until(s.messages);
    assert_string_equal(s.text, "1048576|");
    free(text);
    free(got);
}

static void a_ping_is_answered(void **state)
{
    (void)state;
    open_ws((cw_channel_opts){0});
    peer_send(peer, "\x89\5hello\x8a\0\x89\0", 11);
    assert_frame(0x8a, "hello");
    assert_frame(0x8a, "");
    assert_int_equal(s.messages + s.ends, 0);
}

static void pings_do_not_fill_the_queue_without_end(void **state)
{
    (void)state;
    char pings[127 * 50];
    for (size_t i = 0; i < 50; i++) {
        memset(pings + i * 127, 'x', 127);
        memcpy(pings + i * 127, "\x89\x7d", 2);
    }
    open_ws((cw_channel_opts){.max_queue = 1000});
    for (int i = 0; i < 1000; i++)
        peer_send(peer, pings, sizeof pings);
    peer_send(peer, "\x81\2{}", 4);
    run_until(s.messages);
    assert_int_equal(s.ends, 0);
}

static void a_close_is_answered_and_told(void **state)
{
    (void)state;
    open_ws((cw_channel_opts){0});
    peer_send(peer,
              "\x88\6\x03\xe9"
              "away\x81\2{}",
              12);
    run_until(s.ends);
    assert_ended(&s, CW_GONE, "1001 away");
    assert_int_equal(s.messages, 0);
    assert_frame(0x88, "\x03\xe9");
}

static void our_close_is_said(void **state)
{
    (void)state;
    open_ws((cw_channel_opts){0});
    assert_int_equal(send_text(&s, "{}"), CW_OK);
    close_channel(&s);
    assert_frame(0x81, "{}");
    assert_frame(0x88, "\x03\xe8");
    run_until(peer_is_closed(peer));
}

static void what_is_refused_is_closed_with_its_status(void **state)
{
    (void)state;
    open_ws((cw_channel_opts){0});
    peer_send(peer, "\x81\1\xff", 3);
    run_until(s.ends);
    assert_ended(&s, CW_INVALID, "not framed as a WebSocket");
    assert_frame(0x88, "\x03\xef");
    close_channel(&s);
    close(peer);
    memset(&s, 0, sizeof s);
    open_ws((cw_channel_opts){.max_message = 10});
    peer_send(peer, "\x81\x0b", 2);
    run_until(s.ends);
    assert_ended(&s, CW_LIMIT, "more than 10 bytes");
    assert_frame(0x88, "\x03\xf1");
}

static void what_is_no_websocket_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        cw_code code;
        const char *why;
    } cases[] = {
        {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", CW_INVALID, "HTTP 404"},
        {"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n",
         CW_INVALID, "Sec-WebSocket-Accept"},
        {"{\"jsonrpc\":\"2.0\"}\n", CW_INVALID, "no WebSocket there"},
        {"HTTP/1.1 101", CW_IO, "closed"},
        {"", CW_IO, "closed"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char request[1024];
        memset(&s, 0, sizeof s);
        assert_int_equal(begin((cw_channel_opts){0}), CW_OK);
        peer = accept_one(listening);
        read_request(peer, request, sizeof request);
        peer_say(peer, cases[i].answer);
        close(peer);
        run_until(s.ends);
        assert_ended(&s, cases[i].code, cases[i].why);
        assert_int_equal(s.opens, 0);
        close_channel(&s);
    }
    peer = -1;
}

static void an_answer_that_does_not_come_is_not_waited_for(void **state)
{
    (void)state;
    uint64_t began = cw_clock_ms();
    assert_int_equal(begin((cw_channel_opts){.connect_ms = 100}), CW_OK);
    run_until(s.ends);
    assert_ended(&s, CW_TIMEOUT, "handshake");
    assert_in_range(cw_clock_ms() - began, 90, 1000);
}

static void talk_once(void *ctx)
{
    (void)ctx;
    memset(&s, 0, sizeof s);
    char request[1024] = "", accept[29], answer[512];
    peer = -1;
    cw_code rc = begin((cw_channel_opts){0});
    if (rc) {
        assert_int_equal(rc, CW_NOMEM);
        return;
    }
    size_t n = 0;
    bool is_answered = false;
    uint64_t until = cw_clock_ms() + PATIENCE_MS;
    while (s.messages < 2 && !s.ends && cw_clock_ms() < until) {
        turn();
        if (peer < 0)
            peer = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        ssize_t k = peer < 0 ? -1 : recv(peer, request + n, sizeof request - 1 - n, 0);
        n += k > 0 ? (size_t)k : 0;
        if (is_answered || !strstr(request, "\r\n\r\n"))
            continue;
        answer_key(request, accept);
        snprintf(answer, sizeof answer,
                 "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Accept: %s\r\n\r\n",
                 accept);
        peer_send(peer, answer, 30);
        peer_say(peer, answer + 30);
        peer_send(peer, "\x81\2{}\x01\1", 6);
        peer_send(peer,
                  "1\x80\1"
                  "2",
                  4);
        is_answered = true;
    }
    if (s.ends) {
        assert_int_equal(s.code, CW_NOMEM);
        assert_true(oom_was_hit());
    } else {
        assert_string_equal(s.text, "{}|12|");
        rc = send_text(&s, "{}");
        assert_true(rc == CW_OK || rc == CW_NOMEM);
    }
    close_channel(&s);
    if (peer < 0)
        peer = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    if (peer >= 0)
        close(peer);
    peer = -1;
}

static void no_failed_allocation_does_harm(void **state)
{
    (void)state;
    assert_true(oom_each(talk_once, NULL) >= 6);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(messages_go_both_ways),
        TEST(large_messages_go_both_ways),
        TEST(a_ping_is_answered),
        TEST(pings_do_not_fill_the_queue_without_end),
        TEST(a_close_is_answered_and_told),
        TEST(our_close_is_said),
        TEST(what_is_refused_is_closed_with_its_status),
        TEST(what_is_no_websocket_is_told),
        TEST(an_answer_that_does_not_come_is_not_waited_for),
        TEST(no_failed_allocation_does_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
