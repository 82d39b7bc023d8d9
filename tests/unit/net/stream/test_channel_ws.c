/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_channel_ws.c - channels that are WebSockets; with OVER_TLS, wss. */
#include "support/channel_fixture.h"

#include <linux/sockios.h>
#include <openssl/sha.h>
#include <sys/ioctl.h>

#include "base/base64.h"
#include "support/held_records.h"

/* RFC 6455 5.3: masking twice gives the bytes again. */
static void unmask(char *p, size_t n, const char mask[4])
{
    for (size_t i = 0; i < n; i++)
        p[i] = (char)(p[i] ^ mask[i % 4]);
}

static int listening, peer;
static uint16_t port;
static channel_record s;

#ifdef OVER_TLS
static const bool is_tls = true;
#else
static const bool is_tls = false;
#endif

SETUP(set_up)
{
    memset(&s, 0, sizeof s);
    listening = peer_listen(&port);
    peer = -1;
    return channel_fixture_setup(state);
}

TEARDOWN(tear_down)
{
    held_records_end();
    if (s.channel)
        close_channel(&s);
    if (peer >= 0)
        peer_close(peer);
    close(listening);
    return channel_fixture_teardown(state);
}

/* Nothing comes behind it before it is answered. */
static void read_request(int fd, char *out, size_t size)
{
    size_t n = 0;
    out[0] = 0;
    while (!strstr(out, "\r\n\r\n")) {
        ssize_t k = -1;
        assert_true(n + 1 < size);
        channel_run_until((k = peer_recv(fd, out + n, size - 1 - n)) >= 0 || errno != EAGAIN);
        assert_true(k > 0);
        n += (size_t)k;
        out[n] = 0;
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
    opts.is_tls = is_tls;
    if (is_tls)
        opts.tls.ca_file = cw_str_from(fake_tls_ca());
    return open_channel(&s, opts);
}

static char request[2048];

/* Answer the handshake, `rest` in the same piece. */
static void greet(const char *rest, size_t n)
{
    char accept[29], answer[512], want[64];
    peer = peer_accept(listening);
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
    channel_run_until(s.opens);
}

/* A frame of the channel's with less than 126 bytes. */
static void assert_frame(unsigned first, const char *want)
{
    char head[6], data[126] = "";
    peer_read(peer, head, sizeof head);
    assert_int_equal((unsigned char)head[0], first);
    assert_int_equal((unsigned char)head[1], 0x80 | strlen(want));
    peer_read(peer, data, strlen(want));
    unmask(data, strlen(want), head + 2);
    assert_string_equal(data, want);
}

TEST(messages_go_both_ways)
{
    assert_int_equal(begin((cw_channel_opts){0}), CW_OK);
    greet("\x81\2{}\x82\3[1]\x01\1", 11); /* the first frames may come with the answer */
    peer_send(peer,
              "1\x80\1"
              "2",
              4);
    channel_run_until(s.messages == 3);
    assert_string_equal(s.text, "{}|[1]|12|");
    cw_str pieces[] = {CW_STR("{\"a\":\n"), CW_STR("1}")};
    assert_int_equal(cw_channel_send(s.channel, pieces, 2), CW_OK);
    assert_frame(0x81, "{\"a\":\n1}");
}

TEST(large_messages_go_both_ways)
{
    size_t n = 1u << 20;
    char *text = malloc(n + 14), *got = malloc(n + 14);
    memset(text, '1', n + 14);
    open_ws((cw_channel_opts){0});
    cw_str piece = {text, n};
    assert_int_equal(cw_channel_send(s.channel, &piece, 1), CW_OK);
    peer_read(peer, got, n + 14);
    assert_memory_equal(got, "\x81\xff\0\0\0\0\0\x10\0\0", 10);
    unmask(got + 14, n, got + 10);
    assert_memory_equal(got + 14, text, n);
    memcpy(text, "\x81\x7f\0\0\0\0\0\x10\0\0", 10);
    peer_send(peer, text, n + 10);
    channel_run_until(s.messages);
    assert_string_equal(s.text, "1048576|");
    free(text);
    free(got);
}

/* With TLS each one is a record. libcurl 8.15 and later takes many at once from the socket, which has
 * no more events then. */
TEST(many_small_messages_that_come_at_once_are_all_read)
{
    open_ws((cw_channel_opts){0});
    for (int i = 0; i < 100; i++)
        assert_int_equal(peer_write(peer, "\x81\2{}", 4), 4);
    channel_run_until(s.messages == 100);
}

/* A reset drops the bytes that the kernel of the channel does not have yet. */
static void wait_until_arrived(int fd)
{
    uint64_t until = cw_clock_ms() + patience(CHANNEL_WAIT_MS);
    int left = 1;
    while (ioctl(fd, SIOCOUTQ, &left) == 0 && left) {
        assert_true(cw_clock_ms() < until);
        usleep(1000);
    }
    assert_int_equal(left, 0);
}

/* Over TLS, more records come than one turn of the loop reads. */
TEST(messages_before_a_reset_are_all_read)
{
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};
    open_ws((cw_channel_opts){0});
    for (int i = 0; i < 100; i++)
        assert_int_equal(peer_write(peer, "\x81\2{}", 4), 4);
    wait_until_arrived(peer);
    assert_int_equal(setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    if (is_tls)
        SSL_set_quiet_shutdown(peer_tls, 1);
    peer_close(peer);
    peer = -1;
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_GONE, "the connection was closed");
    assert_int_equal(s.messages, 100);
}

/* With TLS the socket has no event for the bytes that libcurl has taken from it. */
TEST(messages_that_libcurl_holds_are_all_read)
{
    char burst[400];
    open_ws((cw_channel_opts){0});
    held_records_begin();
    for (size_t i = 0; i < sizeof burst; i += 4)
        memcpy(burst + i, "\x81\2{}", 4);
    peer_send(peer, burst, sizeof burst);
    channel_run_until(s.messages == sizeof burst / 4);
}

TEST(a_ping_is_answered)
{
    open_ws((cw_channel_opts){0});
    peer_send(peer, "\x89\5hello\x8a\0\x89\0", 11);
    assert_frame(0x8a, "hello");
    assert_frame(0x8a, "");
    assert_int_equal(s.messages + s.ends, 0);
}

TEST(pings_do_not_fill_the_queue_without_end)
{
    char pings[127 * 50];
    for (size_t i = 0; i < 50; i++) {
        memset(pings + i * 127, 'x', 127);
        memcpy(pings + i * 127, "\x89\x7d", 2);
    }
    open_ws((cw_channel_opts){.max_queue = 1000});
    for (int i = 0; i < 1000; i++)
        peer_send(peer, pings, sizeof pings);
    peer_send(peer, "\x81\2{}", 4);
    channel_run_until(s.messages);
    assert_int_equal(s.ends, 0);
}

TEST(a_close_is_answered_and_told)
{
    open_ws((cw_channel_opts){0});
    peer_send(peer,
              "\x88\6\x03\xe9"
              "away\x81\2{}",
              12);
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_GONE, "1001 away");
    assert_int_equal(s.messages, 0);
    assert_frame(0x88, "\x03\xe9");
}

TEST(our_close_is_said)
{
    open_ws((cw_channel_opts){0});
    assert_int_equal(channel_send_text(&s, "{}"), CW_OK);
    close_channel(&s);
    assert_frame(0x81, "{}");
    assert_frame(0x88, "\x03\xe8");
    channel_run_until(peer_is_closed(peer));
}

TEST(what_is_refused_is_closed_with_its_status)
{
    open_ws((cw_channel_opts){0});
    peer_send(peer, "\x81\1\xff", 3);
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_INVALID, "not framed as a WebSocket");
    assert_frame(0x88, "\x03\xef");
    close_channel(&s);
    peer_close(peer);
    memset(&s, 0, sizeof s);
    open_ws((cw_channel_opts){.max_message = 10});
    peer_send(peer, "\x81\x0b", 2);
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_LIMIT, "more than 10 bytes");
    assert_frame(0x88, "\x03\xf1");
}

TEST(what_is_no_websocket_is_told)
{
    static const struct {
        const char *answer;
        cw_code code;
        const char *why;
    } cases[] = {
        {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", CW_INVALID,
         "no WebSocket there: HTTP 404"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", CW_INVALID,
         "no WebSocket there: HTTP 200"},
        {"HTTP/1.1 503 X\r\n\r\n", CW_INVALID, "no WebSocket there: HTTP 503"},
        {"HTTP/1.1 401 X\r\nWWW-Authenticate: Basic\r\n\r\n", CW_DECLINED,
         "refuses our credentials, or asks for some: HTTP 401"},
        {"HTTP/1.1 403 X\r\n\r\n", CW_DECLINED,
         "refuses our credentials, or asks for some: HTTP 403"},
        {"HTTP/1.1 302 X\r\nLocation: wss://elsewhere/\r\n\r\n", CW_INVALID,
         "elsewhere: HTTP 302 is not followed"},
        {"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n",
         CW_INVALID, "Sec-WebSocket-Accept"},
        {"{\"jsonrpc\":\"2.0\"}\n", CW_INVALID, "no WebSocket there"},
        {"HTTP/1.1 101", CW_IO, "closed"},
        {"", CW_IO, "closed"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        memset(&s, 0, sizeof s);
        assert_int_equal(begin((cw_channel_opts){0}), CW_OK);
        peer = peer_accept(listening);
        read_request(peer, request, sizeof request);
        peer_send_text(peer, cases[i].answer);
        peer_close(peer);
        channel_run_until(s.ends);
        assert_channel_ended(&s, cases[i].code, cases[i].why);
        assert_int_equal(s.opens, 0);
        close_channel(&s);
    }
    peer = -1;
}

TEST(an_answer_that_does_not_come_is_not_waited_for)
{
    uint64_t began = cw_clock_ms();
    assert_int_equal(begin((cw_channel_opts){.connect_ms = 100}), CW_OK);
    channel_run_until(s.ends);
    /* With TLS nobody has answered that one's handshake either. */
    assert_channel_ended(&s, CW_TIMEOUT, is_tls ? "connect to 127.0.0.1:" : "handshake");
    assert_in_range(cw_clock_ms() - began, 90, patience(1000));
    close_channel(&s);
    memset(&s, 0, sizeof s);
    assert_int_equal(begin((cw_channel_opts){.connect_ms = 300}), CW_OK);
    channel_run_until(peer_try_accept(listening) >= 0); /* that of before */
    peer = -1;
    if (is_tls)
        SSL_free(peer_tls);
    peer = peer_accept(listening);
    read_request(peer, request, sizeof request);
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_TIMEOUT, "handshake");
}

TEST(headers_go_with_the_handshake)
{
    char secret[] = "Bearer s3cret", tenant[] = "7";
    cw_http_header headers[] = {{CW_STR("Authorization"), cw_str_from(secret)},
                                {CW_STR("X-Tenant"), cw_str_from(tenant)}};
    assert_int_equal(begin((cw_channel_opts){.headers = headers, .n_headers = 2}), CW_OK);
    memset(secret, 'x', 6); /* it has a copy */
    memset(headers, 0, sizeof headers);
    greet("", 0);
    channel_run_until(s.opens);
    assert_non_null(strstr(request, "\r\nAuthorization: Bearer s3cret\r\nX-Tenant: 7\r\n\r\n"));
}

TEST(headers_that_would_break_the_handshake_are_refused)
{
    const cw_http_header bad[] = {
        {CW_STR("A"), CW_STR("1\r\nB: 2")}, {CW_STR("A:"), CW_STR("1")},
        {CW_STR("A b"), CW_STR("1")},       {CW_STR(""), CW_STR("1")},
        {CW_STR("A"), CW_STR("1\0")},
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_int_equal(begin((cw_channel_opts){.headers = &bad[i], .n_headers = 1}), CW_PARAMS);
    char *large = calloc(1, 2u << 20);
    memset(large, 'x', 2u << 20);
    const cw_http_header long_one = {CW_STR("A"), cw_str_make(large, 2u << 20)};
    assert_int_equal(begin((cw_channel_opts){.headers = &long_one, .n_headers = 1}), CW_LIMIT);
    free(large);
}

/* ---- whether it is still there ---- */

TEST(a_quiet_connection_is_pinged_and_a_pong_keeps_it)
{
    open_ws((cw_channel_opts){.ping_ms = 30, .connect_ms = 500});
    for (int i = 0; i < 3; i++) {
        assert_frame(0x89, "");
        peer_send(peer, "\x8a\0", 2);
    }
    assert_int_equal(s.ends + s.messages, 0);
    assert_int_equal(channel_send_text(&s, "{}"), CW_OK);
    assert_frame(0x81, "{}");
}

TEST(who_speaks_is_not_pinged)
{
    open_ws((cw_channel_opts){.ping_ms = 300, .connect_ms = 500});
    uint64_t until = cw_clock_ms() + 700;
    unsigned n = 0;
    while (cw_clock_ms() < until) {
        uint64_t next = cw_clock_ms() + 20;
        peer_send(peer, "\x81\2{}", 4);
        channel_run_until(cw_clock_ms() >= next);
        n++;
    }
    channel_run_until(s.messages == n);
    char byte;
    assert_true(peer_recv(peer, &byte, 1) < 0 && errno == EAGAIN);
}

TEST(without_any_answer_to_a_ping_it_has_ended)
{
    uint64_t began = cw_clock_ms();
    unsigned ms = (unsigned)patience(100); /* also for the handshake */
    char text[64];
    snprintf(text, sizeof text, "no answer to a ping within %u ms", ms);
    open_ws((cw_channel_opts){.ping_ms = 50, .connect_ms = ms});
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_GONE, text);
    assert_in_range(cw_clock_ms() - began, ms + 40, ms + patience(1500));
    assert_frame(0x89, "");
}

TEST(who_works_on_an_answer_is_not_pinged)
{
    open_ws((cw_channel_opts){.ping_ms = 300, .connect_ms = 500});
    s.is_awaiting = true;
    uint64_t until = cw_clock_ms() + 1000;
    channel_run_until(cw_clock_ms() >= until);
    assert_int_equal(s.ends, 0);
    s.is_awaiting = false;
    channel_run_until(s.ends);
    assert_channel_ended(&s, CW_GONE, "no answer to a ping within 500 ms");
}

TEST(any_message_answers_a_ping)
{
    open_ws((cw_channel_opts){.ping_ms = 30, .connect_ms = 150});
    for (int i = 0; i < 3; i++) {
        assert_frame(0x89, "");
        peer_send(peer, "\x81\2{}", 4);
    }
    uint64_t until = cw_clock_ms() + 20;
    channel_run_until(cw_clock_ms() >= until);
    assert_int_equal(s.ends, 0);
    assert_int_equal(s.messages, 3);
}

TEST(who_is_slow_to_take_a_message_is_left_in_peace)
{
    size_t n = 8u << 20; /* more than sockets hold */
    char *text = malloc(n + 14);
    memset(text, '1', n);
    open_ws(
        (cw_channel_opts){.ping_ms = 30, .connect_ms = 300, .max_message = n, .max_queue = 2 * n});
    cw_str piece = {text, n};
    assert_int_equal(cw_channel_send(s.channel, &piece, 1), CW_OK);
    uint64_t until = cw_clock_ms() + 700;
    channel_run_until(cw_clock_ms() >= until);
    assert_int_equal(s.ends, 0);
    peer_read(peer, text, n + 14);
    assert_frame(0x89, "");
    free(text);
}

TEST(what_waits_is_joined_by_more)
{
    enum { SIZE = 1 << 20, TIMES = 12 };
    char *text = malloc(SIZE + 14);
    open_ws((cw_channel_opts){.max_message = SIZE, .max_queue = 2u * SIZE * TIMES});
    for (int i = 0; i < TIMES; i++) {
        memset(text, 'a' + i, SIZE);
        cw_str piece = {text, SIZE};
        assert_int_equal(cw_channel_send(s.channel, &piece, 1), CW_OK);
        channel_turn();
    }
    for (int i = 0; i < TIMES; i++) {
        peer_read(peer, text, SIZE + 14);
        unmask(text + 14, SIZE, text + 10);
        for (size_t at = 14; at < SIZE + 14; at++) {
            if (text[at] != 'a' + i)
                fail_msg("message %d, byte %zu: %d", i, at, text[at]);
        }
    }
    assert_int_equal(s.ends, 0);
    free(text);
}

static void talk_once(void *ctx)
{
    (void)ctx;
    memset(&s, 0, sizeof s);
    memset(request, 0, sizeof request);
    char accept[29], answer[512];
    const cw_http_header header = {CW_STR("X-Tenant"), CW_STR("7")};
    peer = -1;
    cw_code rc = begin((cw_channel_opts){.headers = &header, .n_headers = 1, .connect_ms = 1000});
    if (rc) {
        assert_int_equal(rc, CW_NOMEM);
        return;
    }
    size_t n = 0;
    bool is_answered = false;
    uint64_t until = cw_clock_ms() + CHANNEL_WAIT_MS;
    while (s.messages < 2 && !s.ends && cw_clock_ms() < until) {
        channel_turn();
        if (peer < 0)
            peer = peer_try_accept(listening);
        ssize_t k = peer < 0 ? -1 : peer_recv(peer, request + n, sizeof request - 1 - n);
        n += k > 0 ? (size_t)k : 0;
        if (is_answered || !strstr(request, "\r\n\r\n"))
            continue;
        answer_key(request, accept);
        snprintf(answer, sizeof answer,
                 "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Accept: %s\r\n\r\n",
                 accept);
        peer_send(peer, answer, 30);
        peer_send_text(peer, answer + 30);
        peer_send(peer, "\x81\2{}\x01\1", 6);
        peer_send(peer,
                  "1\x80\1"
                  "2",
                  4);
        is_answered = true;
    }
    if (s.ends) {
        /* Where a socket of libcurl's cannot be watched, time runs out. */
        assert_true(s.code == CW_NOMEM || (is_tls && s.code == CW_TIMEOUT));
        assert_true(oom_was_hit());
    } else {
        assert_string_equal(s.text, "{}|12|");
        rc = channel_send_text(&s, "{}");
        assert_true(rc == CW_OK || rc == CW_NOMEM);
    }
    close_channel(&s);
    if (peer < 0)
        peer = peer_try_accept(listening);
    if (peer >= 0)
        peer_close(peer);
    peer = -1;
}

TEST(no_failed_allocation_does_harm)
{
    assert_true(oom_each(talk_once, NULL) >= 6);
}

#define CHANNEL_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHANNEL_TEST(messages_go_both_ways),
        CHANNEL_TEST(large_messages_go_both_ways),
        CHANNEL_TEST(many_small_messages_that_come_at_once_are_all_read),
        CHANNEL_TEST(messages_that_libcurl_holds_are_all_read),
        CHANNEL_TEST(messages_before_a_reset_are_all_read),
        CHANNEL_TEST(a_ping_is_answered),
        CHANNEL_TEST(pings_do_not_fill_the_queue_without_end),
        CHANNEL_TEST(a_close_is_answered_and_told),
        CHANNEL_TEST(our_close_is_said),
        CHANNEL_TEST(what_is_refused_is_closed_with_its_status),
        CHANNEL_TEST(what_is_no_websocket_is_told),
        CHANNEL_TEST(an_answer_that_does_not_come_is_not_waited_for),
        CHANNEL_TEST(headers_go_with_the_handshake),
        CHANNEL_TEST(headers_that_would_break_the_handshake_are_refused),
        CHANNEL_TEST(a_quiet_connection_is_pinged_and_a_pong_keeps_it),
        CHANNEL_TEST(who_speaks_is_not_pinged),
        CHANNEL_TEST(who_works_on_an_answer_is_not_pinged),
        CHANNEL_TEST(without_any_answer_to_a_ping_it_has_ended),
        CHANNEL_TEST(any_message_answers_a_ping),
        CHANNEL_TEST(who_is_slow_to_take_a_message_is_left_in_peace),
        CHANNEL_TEST(what_waits_is_joined_by_more),
        CHANNEL_TEST(no_failed_allocation_does_harm),
    };
    peer_uses_tls = is_tls;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
