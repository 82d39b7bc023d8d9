/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log_line.h"

#include "base/ids.h"
#include "base/utf8.h"
#include "support/test.h"

#define TIME_LEN 24

static char line[CW_LOG_LINE_MAX + 1];

/* The line without its time, which must have the expected form. */
static const char *format(bool json, cw_log_level level, const char *component, const char *message,
                          const cw_log_field *fields)
{
    memset(line, '#', sizeof(line));
    size_t n = cw_log_line_format(line, json ? CW_LOG_FORM_JSON : CW_LOG_FORM_TEXT, level,
                                  component, message, fields);
    assert_true(n <= CW_LOG_LINE_MAX);
    assert_int_equal(line[n - 1], '\n');
    assert_ptr_equal(memchr(line, '\n', n), line + n - 1);
    assert_true(cw_utf8_is_valid(cw_str_make(line, n)));
    line[n - 1] = '\0';
    const char *time = json ? line + strlen("{\"time\":\"") : line;
    static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    for (size_t i = 0; i < TIME_LEN; i++) {
        if (form[i] == 'd')
            assert_in_range(time[i], '0', '9');
        else
            assert_int_equal(time[i], form[i]);
    }
    return time + TIME_LEN;
}

static const char *format_value(bool json, cw_str value)
{
    const char *text =
        format(json, CW_LOG_INFO, "c", "m", (const cw_log_field[]){CW_KV("k", value), {0}});
    return strchr(text, 'k');
}

TEST(text_and_json_have_the_documented_form)
{
    const cw_log_field fields[] = {CW_KV("address", CW_STR("[::]:80")), CW_KN("code", 7), {0}};
    assert_string_equal(format(false, CW_LOG_WARN, "net", "listener closed", fields),
                        " warn net: listener closed address=\"[::]:80\" code=7");
    assert_string_equal(format(true, CW_LOG_WARN, "net", "listener closed", fields),
                        "\",\"level\":\"warn\",\"component\":\"net\",\"message\":"
                        "\"listener closed\",\"address\":\"[::]:80\",\"code\":7}");
    assert_string_equal(format(false, CW_LOG_ERROR, "x", "y", NULL), " error x: y");
    assert_string_equal(format(true, CW_LOG_DEBUG, NULL, NULL, NULL),
                        "\",\"level\":\"debug\",\"component\":\"\",\"message\":\"\"}");
}

TEST(numbers_keep_their_sign_and_range)
{
    const cw_log_field fields[] = {CW_KN("a", INT64_MIN), CW_KN("b", INT64_MAX), {0}};
    assert_string_equal(format(false, CW_LOG_INFO, "c", "m", fields),
                        " info c: m a=-9223372036854775808 b=9223372036854775807");
}

TEST(every_control_character_is_escaped)
{
    static const uint32_t more[] = {0x7F,   0x2028, 0x2029, 0x202A, 0x202E,
                                    0x2066, 0x2069, 0x200E, 0x200F, 0x061C};
    uint32_t cps[64 + CW_COUNT(more)];
    size_t n = 0;
    for (uint32_t cp = 0; cp < 0x20; cp++)
        cps[n++] = cp;
    for (uint32_t cp = 0x80; cp < 0xA0; cp++)
        cps[n++] = cp;
    for (size_t i = 0; i < CW_COUNT(more); i++)
        cps[n++] = more[i];
    for (size_t i = 0; i < n; i++) {
        char value[6] = "<";
        char escape[8];
        unsigned len = cw_utf8_encode(cps[i], value + 1);
        value[1 + len] = '>';
        snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)cps[i]);
        if (cps[i] == '\n' || cps[i] == '\r' || cps[i] == '\t')
            snprintf(escape, sizeof(escape), "\\%c",
                     cps[i] == '\n'   ? 'n'
                     : cps[i] == '\r' ? 'r'
                                      : 't');
        char expected[32];
        snprintf(expected, sizeof(expected), "k=\"<%s>\"", escape);
        assert_string_equal(format_value(false, cw_str_make(value, len + 2)), expected);
        snprintf(expected, sizeof(expected), "k\":\"<%s>\"}", escape);
        assert_string_equal(format_value(true, cw_str_make(value, len + 2)), expected);
    }
}

TEST(neighbours_of_the_controls_stay_as_they_are)
{
    static const char text[] = " ~\xC2\xA0\xE2\x80\xA7\xE2\x80\xAF\xE2\x81\xA5\xE2\x81\xAA'/\xF0"
                               "\x9F\x98\x80";
    char expected[64];
    snprintf(expected, sizeof(expected), "k=\"%s\"", text);
    assert_string_equal(format_value(false, cw_str_from(text)), expected);
}

TEST(quotes_and_backslashes_are_escaped)
{
    assert_string_equal(format_value(false, CW_STR("a\"b\\n")), "k=\"a\\\"b\\\\n\"");
    assert_string_equal(format_value(true, CW_STR("a\"b\\n")), "k\":\"a\\\"b\\\\n\"}");
    assert_string_equal(format_value(true, CW_STR("")), "k\":\"\"}");
}

TEST(ill_formed_bytes_are_escaped_one_by_one)
{
    assert_string_equal(format_value(false, CW_STR("a\x80z")), "k=\"a\\x80z\"");
    assert_string_equal(format_value(false, CW_STR("\xC0\xAF")), "k=\"\\xc0\\xaf\"");
    assert_string_equal(format_value(false, CW_STR("\xED\xA0\x80")), "k=\"\\xed\\xa0\\x80\"");
    assert_string_equal(format_value(false, CW_STR("\xE2\x82")), "k=\"\\xe2\\x82\"");
    assert_string_equal(format_value(true, CW_STR("a\xFFz")), "k\":\"a\\ufffdz\"}");
    assert_string_equal(format_value(true, CW_STR("\xE2\x82")), "k\":\"\\ufffd\\ufffd\"}");
}

TEST(messages_components_and_keys_are_escaped_too)
{
    const cw_log_field fields[] = {CW_KN("a\nb\x1B", 1), {0}};
    assert_string_equal(format(false, CW_LOG_INFO, "c\n", "m\r\x1B[2J", fields),
                        " info c\\n: m\\r\\u001b[2J a\\nb\\u001b=1");
    assert_string_equal(format(true, CW_LOG_INFO, "c\"", "m\n", fields),
                        "\",\"level\":\"info\",\"component\":\"c\\\"\",\"message\":\"m\\n\","
                        "\"a\\nb\\u001b\":1}");
}

TEST(long_fields_are_cut_between_characters)
{
    char value[CW_LOG_FIELD_MAX + 8];
    char expected[CW_LOG_FIELD_MAX + 16];
    memset(value, 'v', sizeof(value));
    const char *text = format_value(false, cw_str_make(value, CW_LOG_FIELD_MAX));
    assert_int_equal(strlen(text), strlen("k=\"\"") + CW_LOG_FIELD_MAX);
    snprintf(expected, sizeof(expected), "k=\"%.*s...\"", (int)CW_LOG_FIELD_MAX, value);
    text = format_value(false, cw_str_make(value, CW_LOG_FIELD_MAX + 1));
    assert_string_equal(text, expected);
    /* A character of three bytes across the limit goes as a whole. */
    (void)cw_utf8_encode(0x20AC, value + CW_LOG_FIELD_MAX - 1);
    snprintf(expected, sizeof(expected), "k=\"%.*s...\"", (int)CW_LOG_FIELD_MAX - 1, value);
    text = format_value(false, cw_str_make(value, sizeof(value)));
    assert_string_equal(text, expected);
}

TEST(a_full_line_leaves_fields_out_and_says_so)
{
    char value[CW_LOG_FIELD_MAX];
    char message[CW_LOG_FIELD_MAX + 100];
    memset(value, 1, sizeof(value));
    memset(message, 1, sizeof(message) - 1);
    message[sizeof(message) - 1] = '\0';
    cw_str v = cw_str_make(value, sizeof(value));
    const cw_log_field fields[] = {
        CW_KV("a", CW_STR("first")), CW_KV("b", v), CW_KV("c", v), CW_KV("d", CW_STR("last")), {0}};
    const char *text = format(false, CW_LOG_INFO, "c", "m", fields);
    assert_non_null(strstr(text, " a=\"first\" b=\"\\u0001"));
    assert_null(strstr(text, " c="));
    assert_non_null(strstr(text, "\\u0001\" d=\"last\" cut=true"));
    text = format(true, CW_LOG_INFO, "c", message, fields);
    assert_non_null(strstr(text, "\\u0001...\",\"a\":\"first\",\"d\":\"last\",\"cut\":true}"));
}

/* One more byte each time across the limit: the mark and the end of the line always have room. */
TEST(a_line_of_any_length_is_complete)
{
    char control[CW_LOG_FIELD_MAX];
    char plain[CW_LOG_FIELD_MAX];
    memset(control, 1, sizeof(control));
    memset(plain, 'p', sizeof(plain));
    cw_str v = cw_str_make(control, sizeof(control));
    size_t longest = 0;
    for (size_t n = 0; n <= sizeof(plain); n++) {
        const cw_log_field fields[] = {CW_KV("a", v),
                                       CW_KV("b", cw_str_make(plain, sizeof(plain))),
                                       CW_KV("c", cw_str_make(plain, n)),
                                       CW_KV("d", v),
                                       {0}};
        for (int json = 0; json < 2; json++) {
            static const char *const ends[] = {" cut=true", ",\"cut\":true}"};
            const char *text = format(json, CW_LOG_INFO, "c", "m", fields);
            size_t len = strlen(line);
            longest = len > longest ? len : longest;
            assert_string_equal(text + strlen(text) - strlen(ends[json]), ends[json]);
        }
    }
    assert_in_range(longest, CW_LOG_LINE_MAX - 16, CW_LOG_LINE_MAX - 1);
}

TEST(the_ids_of_the_current_request_are_in_every_line_however_long)
{
    char control[CW_LOG_FIELD_MAX];
    memset(control, 1, sizeof control);
    cw_str v = cw_str_make(control, sizeof control);
    const cw_log_field fields[] = {CW_KV("a", v), CW_KV("b", v), {0}};
    cw_ids ids = {.request = 0x0123456789abcdef};
    cw_ids *outer = cw_ids_enter(&ids);
    assert_null(outer);
    assert_string_equal(format(false, CW_LOG_INFO, "c", "m", NULL),
                        " info c: m request_id=0123456789abcdef");
    ids.has_trace = true;
    ids.flags = CW_IDS_SAMPLED;
    memset(ids.trace_id, 0xab, sizeof ids.trace_id);
    memset(ids.span_id, 0xcd, sizeof ids.span_id);
    const char *text = format(true, CW_LOG_INFO, "c", "m", fields);
    assert_non_null(strstr(text, "\",\"request_id\":\"0123456789abcdef\",\"trace_id\":"
                                 "\"abababababababababababababababab\",\"span_id\":"
                                 "\"cdcdcdcdcdcdcdcd\",\"trace_flags\":\"01\",\"cut\":true}"));
    cw_ids_leave(outer);
    assert_string_equal(format(false, CW_LOG_INFO, "c", "m", NULL), " info c: m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_and_json_have_the_documented_form),
        cmocka_unit_test(numbers_keep_their_sign_and_range),
        cmocka_unit_test(every_control_character_is_escaped),
        cmocka_unit_test(neighbours_of_the_controls_stay_as_they_are),
        cmocka_unit_test(quotes_and_backslashes_are_escaped),
        cmocka_unit_test(ill_formed_bytes_are_escaped_one_by_one),
        cmocka_unit_test(messages_components_and_keys_are_escaped_too),
        cmocka_unit_test(long_fields_are_cut_between_characters),
        cmocka_unit_test(a_full_line_leaves_fields_out_and_says_so),
        cmocka_unit_test(a_line_of_any_length_is_complete),
        cmocka_unit_test(the_ids_of_the_current_request_are_in_every_line_however_long),
    };
    return cmocka_run_group_tests_name("log_format", tests, NULL, NULL);
}
