/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_websocket.c - the codec; the channel that uses it is in test_channel_ws.c. */
#include "net/stream/channel_ws.c" /* NOLINT(bugprone-suspicious-include) */
#include "support/oom.h"
#include "support/test.h"

#define MESSAGE_MAX 300u

/* RFC 6455 1.3 */
#define KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

/* ---- the handshake ---- */

static cw_code check(const char *answer, char why[CW_ERR_MSG_MAX])
{
    static const cw_http1_limits limits = {.head = 4096, .fields = 20};
    static cw_http1_head head;
    cw_err err = {0};
    cw_http1_response_init(&head, &limits);
    head.may_switch = true;
    assert_int_equal(cw_http1_parse_response(&head, answer, strlen(answer)), CW_OK);
    cw_code rc = check_response(&head, answer, KEY, &err);
    snprintf(why, CW_ERR_MSG_MAX, "%s", err.msg);
    return rc;
}

TEST(an_answer_is_checked)
{
    static const struct {
        const char *answer, *why;
    } cases[] = {
        {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Accept: " ACCEPT "\r\n\r\n",
         ""},
        {"HTTP/1.1 101 \r\nupgrade: WebSocket\r\nconnection: keep-alive, UPGRADE\r\n"
         "sec-websocket-accept: " ACCEPT "\r\nServer: x\r\n\r\n",
         ""},
        {"HTTP/1.1 200 OK\r\n\r\n", "no WebSocket there: HTTP 200"},
        {"HTTP/1.1 404 Not Found\r\n\r\n", "no WebSocket there: HTTP 404"},
        {"HTTP/1.1 101 X\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " ACCEPT
         "\r\n\r\n",
         "switched to something else than a WebSocket"},
        {"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: " ACCEPT "\r\n\r\n",
         "switched to something else than a WebSocket"},
        {"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
         "wrong Sec-WebSocket-Accept"},
        {"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Accept: S3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
         "wrong Sec-WebSocket-Accept"},
        {"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: "
         "Upgrade\r\nSec-WebSocket-Accept: " ACCEPT "\r\nSec-WebSocket-Accept: " ACCEPT "\r\n\r\n",
         "wrong Sec-WebSocket-Accept"},
        {"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: "
         "Upgrade\r\nSec-WebSocket-Accept: " ACCEPT
         "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
         "an extension or protocol that was not requested"},
        {"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: "
         "Upgrade\r\nSec-WebSocket-Accept: " ACCEPT "\r\nSec-WebSocket-Protocol: jsonrpc\r\n\r\n",
         "an extension or protocol that was not requested"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char why[CW_ERR_MSG_MAX];
        cw_code rc = check(cases[i].answer, why);
        assert_string_equal(why, cases[i].why);
        assert_int_equal(rc, *why ? CW_INVALID : CW_OK);
    }
}

TEST(a_request_has_a_fresh_key)
{
    char a[CW_WS_KEY], b[CW_WS_KEY];
    cw_buf out;
    assert_int_equal(make_key(a, NULL), CW_OK);
    assert_int_equal(make_key(b, NULL), CW_OK);
    assert_memory_not_equal(a, b, CW_WS_KEY);
    assert_memory_equal(a + 22, "==", 2);
    cw_buf_init(&out, 4096);
    write_request(&out, CW_STR("/jsonrpc?x=1"), CW_STR("[::1]:6800"), KEY, NULL, 0);
    cw_buf_add_char(&out, 0);
    assert_string_equal(out.p, "GET /jsonrpc?x=1 HTTP/1.1\r\nHost: [::1]:6800\r\n"
                               "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " KEY "\r\n\r\n");
    cw_buf_done(&out);
}

/* ---- frames ---- */

/* Read `n` bytes that come `step` at a time, each part in memory of its own: kind, ':' and content
 * of each, then how it ended. */
static const char *read_all(const char *bytes, size_t n, size_t step)
{
    static char out[4096];
    cw_ws_reader r;
    size_t begin = 0, at = 0;
    cw_code rc = CW_AGAIN;
    out[0] = 0;
    cw_ws_reader_init(&r, MESSAGE_MAX);
    for (size_t till = step < n ? step : n; rc == CW_AGAIN || rc == CW_OK;) {
        char *part = malloc(till - begin + 1);
        cw_ws_kind kind;
        cw_str got;
        size_t used;
        memcpy(part, bytes + begin, till - begin);
        rc = next_frame(&r, cw_str_make(part, till - begin), &kind, &got, &used);
        if (rc == CW_OK && kind == CW_WS_CLOSE)
            at += (size_t)snprintf(out + at, sizeof out - at, "8:%u %.*s|", r.peer_status,
                                   CW_STR_ARG(got));
        else if (rc == CW_OK && got.n > 40)
            at += (size_t)snprintf(out + at, sizeof out - at, "%d:%zu|", kind, got.n);
        else if (rc == CW_OK)
            at += (size_t)snprintf(out + at, sizeof out - at, "%d:%.*s|", kind, CW_STR_ARG(got));
        free(part);
        if (rc == CW_OK || rc == CW_AGAIN)
            begin += used;
        if (rc == CW_AGAIN && till == n)
            break;
        if (rc == CW_AGAIN)
            till = n - till < step ? n : till + step;
    }
    if (rc == CW_AGAIN)
        snprintf(out + at, sizeof out - at, "again %zu", n - begin);
    else
        snprintf(out + at, sizeof out - at, "refused %u", r.status);
    cw_ws_reader_done(&r);
    return out;
}

static void assert_read(const char *bytes, size_t n, const char *want)
{
    assert_string_equal(read_all(bytes, n, n), want);
    for (size_t step = 1; step <= 3; step++)
        assert_string_equal(read_all(bytes, n, step), want);
}

#define READ(bytes, want) assert_read("" bytes, sizeof(bytes) - 1, "" want)

TEST(messages_come_whole_or_in_pieces)
{
    READ("\x81\5hello\x81\2{}", "1:hello|1:{}|again 0");
    READ("\x01\3hel\x00\1l\x80\1o\x81\2{}", "1:hello|1:{}|again 0");
    READ("\x01\3hel\x80\0\x81\0", "1:hel|1:|again 0");
    READ("\x82\2{}\x02\1{\x80\1}", "2:{}|2:{}|again 0");
    READ("\x81\5hel", "again 5");
    READ("\x81", "again 1");
    READ("\x01\3hel\x00\1l", "again 0");
}

TEST(control_frames_come_between_pieces)
{
    READ("\x01\3hel\x89\1p\x00\1l\x8a\0\x80\1o", "9:p|10:|1:hello|again 0");
    READ("\x88\0", "8:1005 |again 0");
    READ("\x88\5\x03\xe9"
         "bye",
         "8:1001 bye|again 0");
    READ("\x88\2\x0f\xa0", "8:4000 |again 0");
}

TEST(what_the_rfc_forbids_is_refused)
{
    READ("\x81\x85"
         "abcdhello",
         "refused 1002");                /* masked */
    READ("\xc1\5hello", "refused 1002"); /* RSV1 */
    READ("\x83\1x", "refused 1002");     /* reserved opcodes */
    READ("\x8b\1x", "refused 1002");
    READ("\x80\1x", "refused 1002");        /* goes on with nothing */
    READ("\x01\1a\x81\1b", "refused 1002"); /* begins anew in the middle */
    READ("\x09\0", "refused 1002");         /* a control frame in pieces */
    READ("\x89\x7e\0\x7e", "refused 1002"); /* a long one */
    READ("\x81\x7e\0\x7d", "refused 1002"); /* lengths that are longer than due */
    READ("\x81\x7f\0\0\0\0\0\0\xff\xff", "refused 1002");
    READ("\x81\x7f\x80\0\0\0\0\0\0\0", "refused 1002");
    READ("\x88\1\3", "refused 1002");       /* half a status */
    READ("\x88\2\x03\xed", "refused 1002"); /* 1005 is never sent */
    READ("\x88\2\x07\xd0", "refused 1002"); /* 2000 is nobody's */
    READ("\x88\3\x03\xe8\xff", "refused 1007");
    READ("\x81\1\xff", "refused 1007");
    READ("\x01\1\xc3\x80\1\x28", "refused 1007");
    READ("\x01\1\xc3\x80\1\xa4", "1:\xc3\xa4|again 0"); /* a character in two pieces */
    READ("\x82\1\xff", "2:\xff|again 0");
}

TEST(a_message_may_have_max_message_bytes)
{
    char bytes[4 + MESSAGE_MAX + 8] = "\x81\x7e\x01\x2c";
    memset(bytes + 4, 'x', MESSAGE_MAX);
    assert_read(bytes, 4 + MESSAGE_MAX, "1:300|again 0");
    bytes[3] = 0x2d;
    assert_read(bytes, 4, "refused 1009");
    READ("\x81\x7f\0\0\0\1\0\0\0\0", "refused 1009");
    /* All pieces count. */
    memcpy(bytes, "\x01\x7e\x01\x2b", 4);
    memcpy(bytes + 4 + 299, "\x80\1x", 3);
    assert_read(bytes, 4 + 299 + 3, "1:300|again 0");
    memcpy(bytes + 4 + 299, "\x80\2xx", 4);
    assert_read(bytes, 4 + 299 + 2, "refused 1009");
}

TEST(what_is_sent_is_masked_and_has_the_shortest_length)
{
    static const struct {
        size_t n, head;
        const char *bytes;
    } cases[] = {
        {0, 6, "\x81\x80MASK"},
        {125, 6, "\x81\xfdMASK"},
        {126, 8, "\x81\xfe\0\x7eMASK"},
        {65535, 8, "\x81\xfe\xff\xffMASK"},
        {65536, 14, "\x81\xff\0\0\0\0\0\1\0\0MASK"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char head[CW_WS_HEAD_MAX];
        assert_int_equal(write_head(CW_WS_TEXT, cases[i].n, "MASK", head), cases[i].head);
        assert_memory_equal(head, cases[i].bytes, cases[i].head);
    }
    /* RFC 6455 5.7 */
    char text[] = "Hello";
    mask_bytes(text, 5, "\x37\xfa\x21\x3d");
    assert_memory_equal(text, "\x7f\x9f\x4d\x51\x58", 5);
    /* Every length, at every alignment: several bytes are masked at a time. */
    char many[64];
    for (size_t at = 0; at < 8; at++) {
        for (size_t n = 0; n <= 40; n++) {
            memset(many, 'a', sizeof many);
            mask_bytes(many + at, n, "MASK");
            for (size_t i = 0; i < sizeof many; i++) {
                char mask = i >= at && i < at + n ? "MASK"[(i - at) % 4] : 0;
                assert_int_equal(many[i], 'a' ^ mask);
            }
        }
    }
}

static void read_pieces(void *ctx)
{
    (void)ctx;
    static const char bytes[] = "\x01\3hel\x80\2lo\x81\2{}";
    cw_ws_reader r;
    cw_ws_kind kind;
    cw_str got;
    size_t used;
    cw_ws_reader_init(&r, MESSAGE_MAX);
    cw_code rc = next_frame(&r, cw_str_make(bytes, sizeof bytes - 1), &kind, &got, &used);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    if (!rc)
        assert_true(cw_str_is(got, "hello"));
    cw_ws_reader_done(&r);
}

TEST(pieces_survive_every_failed_allocation)
{
    assert_true(oom_each(read_pieces, NULL) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_checked),
        cmocka_unit_test(a_request_has_a_fresh_key),
        cmocka_unit_test(messages_come_whole_or_in_pieces),
        cmocka_unit_test(control_frames_come_between_pieces),
        cmocka_unit_test(what_the_rfc_forbids_is_refused),
        cmocka_unit_test(a_message_may_have_max_message_bytes),
        cmocka_unit_test(what_is_sent_is_masked_and_has_the_shortest_length),
        cmocka_unit_test(pieces_survive_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
