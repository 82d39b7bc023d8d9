/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/utf8.h"
#include "source/remote/remote_int.h"
#include "support/test.h"

static cw_err err;

static cw_code check_usage(cw_str text)
{
    cw_method m = {.id = CW_STR("m"), .usage = text};
    return cw_remote_check_hidden(&m, &err);
}

static cw_code check_schema(const char *text)
{
    cw_param param = {.name = CW_STR("p"), .schema = cw_str_from(text)};
    cw_method m = {.id = CW_STR("m"), .params = &param, .n_params = 1};
    return cw_remote_check_hidden(&m, &err);
}

/* "a", so many times the character, "b". */
static cw_code check_character(uint32_t cp, unsigned times)
{
    char text[64] = "a";
    size_t n = 1;
    for (unsigned i = 0; i < times; i++)
        n += cw_utf8_encode(cp, text + n);
    text[n++] = 'b';
    return check_usage(cw_str_make(text, n));
}

TEST(threat_D2_hidden_characters_are_refused_up_to_the_edges)
{
    static const uint32_t refused[] = {
        0x01,   0x08,   0x0b,   0x0c,   0x0e,   0x1b,   0x1f,    0x7f,    0x80,    0x9f,
        0x115f, 0x1160, 0x180e, 0x200b, 0x2028, 0x2029, 0x202a,  0x202e,  0x2060,  0x2066,
        0x206f, 0x3164, 0xfeff, 0xffa0, 0xfff9, 0xfffb, 0xe0000, 0xe0001, 0xe0041, 0xe007f,
    };
    static const uint32_t taken[] = {
        0x09,   0x0a,   0x0d,   0x20,   0x7e,   0xa0,    0xad,    0x115e,  0x1161,  0x200a,
        0x200c, 0x200d, 0x200e, 0x200f, 0x2027, 0x202f,  0x205f,  0x2070,  0x3163,  0x3165,
        0xfefe, 0xff9f, 0xffa1, 0xfff8, 0xfffd, 0xdffff, 0xe0080, 0xe0100, 0x1f600,
    };
    for (size_t i = 0; i < CW_COUNT(refused); i++) {
        if (check_character(refused[i], 1) != CW_PARAMS)
            fail_msg("U+%04X was taken", (unsigned)refused[i]);
    }
    for (size_t i = 0; i < CW_COUNT(taken); i++) {
        if (check_character(taken[i], 1) != CW_OK)
            fail_msg("U+%04X: %s", (unsigned)taken[i], err.msg);
    }
    assert_int_equal(check_character(0x202e, 1), CW_PARAMS);
    assert_string_equal(err.msg, "the description: has U+202E, which is not shown to people");
}

TEST(threat_D2_helpers_in_a_row_are_refused)
{
    static const uint32_t helpers[] = {0x200c, 0x200d, 0x200e, 0x61c, 0x34f, 0xfe0f, 0xe01ef};
    for (size_t i = 0; i < CW_COUNT(helpers); i++) {
        assert_int_equal(check_character(helpers[i], 2), CW_OK);
        assert_int_equal(check_character(helpers[i], 3), CW_PARAMS);
    }
}

TEST(controls_are_found_in_json_and_escapes_are_not)
{
    assert_int_equal(check_schema("{\"title\":\"a\\tb\\nc\\\\u001b \\\"d\\\" \\\\b\"}"), CW_OK);
    assert_int_equal(check_schema("{\"title\":\"a\\u001b[8m\"}"), CW_PARAMS);
    assert_string_equal(err.msg, "the schema of a parameter: has a control character");
    assert_int_equal(check_schema("{\"title\":\"a\\b\"}"), CW_PARAMS);
    assert_int_equal(check_schema("{\"title\":\"a\\f\"}"), CW_PARAMS);
    assert_int_equal(check_schema("{\"a\xe2\x80\xae\":1}"), CW_PARAMS);
    /* In plain text a backslash is a backslash. */
    assert_int_equal(check_usage(CW_STR("C:\\bin \\u001b")), CW_OK);
}

/* Many write all that is not ASCII so: that alone says nothing. */
TEST(escapes_stand_for_what_they_say)
{
    assert_int_equal(check_schema("{\"title\":\"Gr\\u00fc\\u00DFe \\ud83d\\ude00\"}"), CW_OK);
    assert_int_equal(check_schema("{\"title\":\"a\\u200bb\"}"), CW_PARAMS);
    assert_string_equal(err.msg,
                        "the schema of a parameter: has U+200B, which is not shown to people");
    assert_int_equal(check_schema("{\"title\":\"\\udb40\\udc49\"}"), CW_PARAMS);
    assert_string_equal(err.msg,
                        "the schema of a parameter: has U+E0049, which is not shown to people");
    assert_int_equal(check_schema("{\"title\":\"\\u200d\\u200d\"}"), CW_OK);
    assert_int_equal(check_schema("{\"title\":\"\\u200d\\u200d\\u200d\"}"), CW_PARAMS);
    assert_int_equal(check_schema("{\"title\":\"\\\\u200b\"}"), CW_OK);
}

TEST(every_text_of_a_method_is_looked_at)
{
    const cw_str bad = CW_STR("x\xe2\x80\x8by");
    const cw_str bad_json = CW_STR("{\"x\xe2\x80\x8by\":1}");
    cw_param params[2] = {{.name = CW_STR("a")}, {.name = CW_STR("b")}};
    cw_method m = {.id = CW_STR("m"), .params = params, .n_params = 2};
    assert_int_equal(cw_remote_check_hidden(&m, &err), CW_OK);
    cw_mark mark = {.title = CW_STR("t"), .annotations = CW_STR("{}")};
    m.mark = &mark;
    assert_int_equal(cw_remote_check_hidden(&m, &err), CW_OK);
    cw_str *const plain[] = {&m.id, &m.usage, &params[1].name, &params[1].description, &mark.title};
    cw_str *const json[] = {&m.input, &m.output, &params[1].schema, &mark.annotations};
    for (size_t i = 0; i < CW_COUNT(plain) + CW_COUNT(json); i++) {
        bool is_json = i >= CW_COUNT(plain);
        cw_str *text = is_json ? json[i - CW_COUNT(plain)] : plain[i];
        cw_str old = *text;
        *text = is_json ? bad_json : bad;
        assert_int_equal(cw_remote_check_hidden(&m, &err), CW_PARAMS);
        *text = old;
    }
    assert_int_equal(cw_remote_check_hidden(&m, &err), CW_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threat_D2_hidden_characters_are_refused_up_to_the_edges),
        cmocka_unit_test(threat_D2_helpers_in_a_row_are_refused),
        cmocka_unit_test(controls_are_found_in_json_and_escapes_are_not),
        cmocka_unit_test(escapes_stand_for_what_they_say),
        cmocka_unit_test(every_text_of_a_method_is_looked_at),
    };
    return cmocka_run_group_tests_name("source/remote_hidden", tests, NULL, NULL);
}
