/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/stream/framing.h"
#include "support/test.h"

#define MAX 16u

/* Cut all of `bytes` that come `step` at a time: the messages with '|' behind each, then how it
 * ended. Every call gets memory of its own, so that nothing is read beyond it. */
static const char *cut_all(cw_framing framing, const char *bytes, size_t n, size_t step)
{
    static char out[1024];
    cw_framing_reader c = {.framing = framing, .max_message = MAX};
    size_t begin = 0, at = 0;
    cw_code rc = CW_AGAIN;
    out[0] = 0;
    for (size_t till = step < n ? step : n; rc == CW_AGAIN || rc == CW_OK;) {
        char *part = malloc(till - begin + 1);
        cw_str message = {NULL, 0};
        size_t used;
        memcpy(part, bytes + begin, till - begin);
        rc = cw_framing_next(&c, cw_str_make(part, till - begin), &message, &used);
        if (rc == CW_OK) {
            assert_true(message.n > 0 && message.n <= MAX);
            at += (size_t)snprintf(out + at, sizeof out - at, "%.*s|", CW_STR_ARG(message));
        }
        free(part);
        if (rc == CW_OK || rc == CW_AGAIN) {
            assert_true(used <= till - begin);
            begin += used;
        }
        if (rc == CW_AGAIN && till == n)
            break;
        if (rc == CW_AGAIN)
            till = n - till < step ? n : till + step;
    }
    snprintf(out + at, sizeof out - at, "%s %zu", cw_code_text(rc), n - begin);
    return out;
}

/* However they come: at once, in twos and threes, or byte by byte. */
static void assert_cut(cw_framing framing, const char *bytes, size_t n, const char *want)
{
    for (size_t step = 1; step <= 3; step++)
        assert_string_equal(cut_all(framing, bytes, n, step), want);
    assert_string_equal(cut_all(framing, bytes, n, n), want);
}

#define CUT(framing, bytes, want)                                                                  \
    assert_cut(CW_FRAMING_##framing, "" bytes, sizeof(bytes) - 1, "" want)

TEST(lines_end_with_lf_or_crlf)
{
    CUT(LINES, "{1}\n{2}\r\n[3", "{1}|{2}|try again 2");
    CUT(CRLF, "{1}\r\n{2}\n", "{1}|{2}|try again 0");
    CUT(LINES, "a\rb\n", "a\rb|try again 0");
}

TEST(empty_lines_mean_nothing_and_are_done_with)
{
    CUT(LINES, "\n\r\n\n{1}\n\n\n", "{1}|try again 0");
    /* However many come: none has to be kept. */
    CUT(LINES, "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\nx\n", "x|try again 0");
}

TEST(a_line_may_have_max_message_bytes)
{
    CUT(LINES, "0123456789abcdef\n", "0123456789abcdef|try again 0");
    CUT(LINES, "0123456789abcdef\r\n", "0123456789abcdef|try again 0");
    CUT(LINES, "0123456789abcdef", "try again 16");
    CUT(LINES, "0123456789abcdef\r", "try again 17");
    assert_string_equal(cut_all(CW_FRAMING_LINES, "0123456789abcdefg\n", 18, 18),
                        "limit exceeded 18");
    /* One that never ends is refused as soon as that is known. */
    CUT(LINES, "0123456789abcdefgh", "limit exceeded 18");
}

TEST(a_head_says_how_long_a_message_is)
{
    CUT(CONTENT_LENGTH, "Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]",
        "{}|[1]|try again 0");
    CUT(CONTENT_LENGTH,
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length:2 \r\n\r\n{}",
        "{}|try again 0");
    CUT(CONTENT_LENGTH, "Content-Length: 2\n\n\n\nContent-Length: 2\n\n{}", "\n\n|{}|try again 0");
    CUT(CONTENT_LENGTH, "\r\nContent-Length: 2\r\n\r\n{}\r\n", "{}|try again 0");
    CUT(CONTENT_LENGTH, "Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\n1", "1|try again 0");
    CUT(CONTENT_LENGTH, "Content-Length: 16\r\n\r\n0123456789abcde", "try again 37");
}

TEST(what_is_no_head_is_refused_at_once)
{
    CUT(CONTENT_LENGTH, "Content-Length: 17\r\n\r\n", "limit exceeded 22");
    CUT(CONTENT_LENGTH, "Content-Length: 99999999999999999999\r\n", "invalid request 38");
    CUT(CONTENT_LENGTH, "Content-Length: -1\r\n", "invalid request 20");
    CUT(CONTENT_LENGTH, "Content-Length: 2\r\nContent-Length: 2\r\n", "invalid request 38");
    CUT(CONTENT_LENGTH, "Content-Type: x\r\n\r\n", "invalid request 19");
    CUT(CONTENT_LENGTH, "hello world\n", "invalid request 12");
    CUT(CONTENT_LENGTH, "{\"jsonrpc", "invalid request 9");
    CUT(CONTENT_LENGTH, "Content-Length: 2\r\n{}", "invalid request 21");
}

TEST(a_head_has_4096_bytes_at_most)
{
    static const char end[] = "\r\nContent-Length: 1\r\n\r\n1";
    size_t rest = sizeof end - 2; /* without NUL and body */
    for (size_t n = 4095; n <= 4097; n++) {
        char *head = malloc(n + 2);
        memset(head, 'x', n);
        head[1] = ':';
        memcpy(head + n - rest, end, rest + 1);
        const char *want = n <= 4096 ? "1|try again 0" : "invalid request 4098";
        assert_string_equal(cut_all(CW_FRAMING_CONTENT_LENGTH, head, n + 1, n + 1), want);
        assert_string_equal(cut_all(CW_FRAMING_CONTENT_LENGTH, head, n + 1, 1), want);
        free(head);
    }
}

TEST(four_bytes_say_how_long_a_message_is)
{
    CUT(LENGTH,
        "\0\0\0\2{}\0\0\0\0\0\0\0\1"
        "1\0\0",
        "{}|1|try again 2");
    CUT(LENGTH,
        "\0\0\0\x10"
        "0123456789abcdef",
        "0123456789abcdef|try again 0");
    CUT(LENGTH, "\0\0\0\x11", "limit exceeded 4");
    CUT(LENGTH, "\1\0\0\1", "limit exceeded 4");
}

TEST(json_values_follow_one_another)
{
    CUT(JSON, "{\"a\":[1]}[2] \r\n\t{}", "{\"a\":[1]}|[2]|{}|try again 0");
    CUT(JSON, "{\"}]\\\"}\":1}[\"\\\\\"]", "{\"}]\\\"}\":1}|[\"\\\\\"]|try again 0");
    CUT(JSON, "1 -2.5e+3\"x\"true{}null", "1|-2.5e+3|\"x\"|true|{}|try again 4");
    CUT(JSON, " \n ", "try again 0");
    CUT(JSON, "[[[[[[[[", "try again 8");
}

TEST(what_begins_no_json_value_is_refused)
{
    CUT(JSON, "{}}", "{}|invalid request 1");
    CUT(JSON, "1,2", "invalid request 3");
    CUT(JSON, "<html>", "invalid request 6");
    CUT(JSON, "\x01", "invalid request 1");
}

TEST(a_value_may_have_max_message_bytes)
{
    CUT(JSON, "[0123456789abcd]1 ", "[0123456789abcd]|1|try again 0");
    CUT(JSON, "[0123456789abcde", "try again 16");
    CUT(JSON, "\"0123456789abcd\"", "\"0123456789abcd\"|try again 0");
    CUT(JSON, "1234567890123456 ", "1234567890123456|try again 0");
    assert_string_equal(cut_all(CW_FRAMING_JSON, "[0123456789abcde]", 17, 17), "limit exceeded 17");
    assert_string_equal(cut_all(CW_FRAMING_JSON, "[0123456789abcde]", 17, 1), "limit exceeded 17");
    assert_string_equal(cut_all(CW_FRAMING_JSON, "12345678901234567", 17, 1), "limit exceeded 17");
}

TEST(what_is_wrapped_can_be_cut)
{
    static const cw_framing all[] = {CW_FRAMING_LINES, CW_FRAMING_CRLF, CW_FRAMING_CONTENT_LENGTH,
                                     CW_FRAMING_LENGTH, CW_FRAMING_JSON};
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        char room[CW_FRAMING_ROOM], bytes[256];
        size_t n = 0;
        for (int k = 0; k < 2; k++) {
            cw_str before, behind;
            cw_framing_wrap(all[i], 3, room, &before, &behind);
            memcpy(bytes + n, before.p, before.n);
            memcpy(bytes + n + before.n, "123", 3);
            memcpy(bytes + n + before.n + 3, behind.p, behind.n);
            n += before.n + 3 + behind.n;
        }
        assert_cut(all[i], bytes, n, "123|123|try again 0");
    }
    char room[CW_FRAMING_ROOM];
    cw_str before, behind;
    cw_framing_wrap(CW_FRAMING_LENGTH, 0x01020304, room, &before, &behind);
    assert_memory_equal(before.p, "\1\2\3\4", 4);
    cw_framing_wrap(CW_FRAMING_CONTENT_LENGTH, SIZE_MAX, room, &before, &behind);
    assert_int_equal(before.n, sizeof "Content-Length: 18446744073709551615\r\n\r\n" - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_with_lf_or_crlf),
        cmocka_unit_test(empty_lines_mean_nothing_and_are_done_with),
        cmocka_unit_test(a_line_may_have_max_message_bytes),
        cmocka_unit_test(a_head_says_how_long_a_message_is),
        cmocka_unit_test(what_is_no_head_is_refused_at_once),
        cmocka_unit_test(a_head_has_4096_bytes_at_most),
        cmocka_unit_test(four_bytes_say_how_long_a_message_is),
        cmocka_unit_test(json_values_follow_one_another),
        cmocka_unit_test(what_begins_no_json_value_is_refused),
        cmocka_unit_test(a_value_may_have_max_message_bytes),
        cmocka_unit_test(what_is_wrapped_can_be_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
