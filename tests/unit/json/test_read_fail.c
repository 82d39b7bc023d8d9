/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/json_fixture.h"

typedef struct failure {
    const char *text;
    size_t offset;
    const char *msg;
} failure;

static const failure failures[] = {
    {"", 0, "line 1, column 1: expected a value, found the end of the text"},
    {"  \n ", 4, "line 2, column 2: expected a value, found the end of the text"},
    {"x", 0, "line 1, column 1: expected a value, found 'x'"},
    {"tru", 0, "line 1, column 1: expected a value, found 't'"},
    {"nul", 0, "line 1, column 1: expected a value, found 'n'"},
    {"fals", 0, "line 1, column 1: expected a value, found 'f'"},
    {"True", 0, "line 1, column 1: expected a value, found 'T'"},
    {"\xEF\xBB\xBF{}", 0, "line 1, column 1: expected a value, found byte 0xEF"},
    {"truex", 4, "line 1, column 5: expected the end of the text, found 'x'"},
    {"{} {}", 3, "line 1, column 4: expected the end of the text, found '{'"},
    {"[1", 2, "line 1, column 3: expected ',' or ']', found the end of the text"},
    {"[1 2]", 3, "line 1, column 4: expected ',' or ']', found '2'"},
    {"[1}", 2, "line 1, column 3: expected ',' or ']', found '}'"},
    {"[1,]", 3, "line 1, column 4: expected a value, found ']'"},
    {"[,1]", 1, "line 1, column 2: expected a value, found ','"},
    {"[1,,2]", 3, "line 1, column 4: expected a value, found ','"},
    {"[1\x01]", 2, "line 1, column 3: expected ',' or ']', found byte 0x01"},
    {"{", 1, "line 1, column 2: expected a key or '}', found the end of the text"},
    {"{a:1}", 1, "line 1, column 2: expected a key or '}', found 'a'"},
    {"{,}", 1, "line 1, column 2: expected a key or '}', found ','"},
    {"{\"a\":1,}", 7, "line 1, column 8: expected a key after ',', found '}'"},
    {"{\"a\":1 \"b\":2}", 7, "line 1, column 8: expected ',' or '}', found '\"'"},
    {"{\"a\":1]", 6, "line 1, column 7: expected ',' or '}', found ']'"},
    {"{\"a\"}", 4, "line 1, column 5: expected ':' after the key, found '}'"},
    {"{\n\n  \"a\" = 1}", 9, "line 3, column 7: expected ':' after the key, found '='"},
    {"{\"a\"", 4, "line 1, column 5: expected ':' after the key, found the end of the text"},
    {"{\"a\":}", 5, "line 1, column 6: expected a value, found '}'"},
    {"01", 0, "line 1, column 1: a number must not start with 0"},
    {"[-01]", 2, "line 1, column 3: a number must not start with 0"},
    {"-", 1, "line 1, column 2: expected a digit, found the end of the text"},
    {"-x", 1, "line 1, column 2: expected a digit, found 'x'"},
    {"+1", 0, "line 1, column 1: expected a value, found '+'"},
    {".5", 0, "line 1, column 1: expected a value, found '.'"},
    {"1.", 2,
     "line 1, column 3: expected a digit after the decimal point, found the end of the text"},
    {"1.e5", 2, "line 1, column 3: expected a digit after the decimal point, found 'e'"},
    {"1e", 2, "line 1, column 3: expected a digit in the exponent, found the end of the text"},
    {"1e+", 3, "line 1, column 4: expected a digit in the exponent, found the end of the text"},
    {"1e+-2", 3, "line 1, column 4: expected a digit in the exponent, found '-'"},
    {"0x10", 1, "line 1, column 2: expected the end of the text, found 'x'"},
    {"\"abc", 4,
     "line 1, column 5: expected '\"' at the end of a string, found the end of the text"},
    {"\"a\nb\"", 2, "line 1, column 3: control character U+000A in a string must be escaped"},
    {"\"\x1F\"", 1, "line 1, column 2: control character U+001F in a string must be escaped"},
    {"\"\\x\"", 2, "line 1, column 3: expected one of \"\\/bfnrtu after a backslash, found 'x'"},
    {"\"\\", 2,
     "line 1, column 3: expected one of \"\\/bfnrtu after a backslash, found the end of the text"},
    {"\"\\u12g4\"", 1, "line 1, column 2: expected four hex digits after \\u"},
    {"\"\\u12", 1, "line 1, column 2: expected four hex digits after \\u"},
    {"\"\\uD800\"", 1, "line 1, column 2: \\uD800 is half of a surrogate pair"},
    {"\"\\udc00\"", 1, "line 1, column 2: \\uDC00 is half of a surrogate pair"},
    {"\"\\ud800\\u0041\"", 1, "line 1, column 2: \\uD800 is half of a surrogate pair"},
    {"\"\xC3\xA9\xC3\xA9\xFF\"", 5, "line 1, column 4: invalid UTF-8 in a string (byte 0xFF)"},
    {"[\"\xE2\x82\xAC\",\n\"\xF0\x9F\x98\x80\" x", 15,
     "line 2, column 5: expected ',' or ']', found 'x'"},
    {"{\"id\":1,\"id\":2}", 8, "line 1, column 9: duplicate key \"id\""},
    {"{\"a\\u0062\":1,\"ab\":2}", 13, "line 1, column 14: duplicate key \"ab\""},
};

TEST_WITH(failures_say_what_was_expected_and_where, cw_arena *a)
{
    for (size_t i = 0; i < CW_COUNT(failures); i++) {
        const failure *f = &failures[i];
        cw_str src = exact_copy(a, cw_str_from(f->text));
        const cw_json *root = NULL;
        cw_json_pos pos = {0};
        cw_err err = {0};
        assert_int_equal(cw_json_read(src, NULL, a, &root, &pos, &err), CW_PARSE);
        assert_string_equal(err.msg, f->msg);
        assert_int_equal(pos.offset, f->offset);
        assert_null(root);
        /* Nobody needs to ask for the details. */
        assert_int_equal(cw_json_read(src, NULL, a, &root, NULL, NULL), CW_PARSE);
    }
}

TEST_WITH(a_null_pointer_without_bytes_is_an_empty_text, cw_arena *a)
{
    const cw_json *root;
    assert_int_equal(cw_json_read((cw_str){NULL, 0}, NULL, a, &root, NULL, NULL), CW_PARSE);
}

TEST_WITH(a_long_duplicate_key_is_shortened_between_characters, cw_arena *a)
{
    char key[200];
    cw_str src;
    cw_err err;
    const cw_json *root;
    /* Two-byte letters, once at even and once at odd places. */
    for (size_t shift = 0; shift < 2; shift++) {
        memset(key, 'x', sizeof key);
        for (size_t i = shift; i + 1 < 100; i += 2)
            memcpy(key + i, "\xC3\xA9", 2);
        char text[512];
        int n = snprintf(text, sizeof text, "{\"%.100s\":1,\"%.100s\":2}", key, key);
        src = cw_str_make(text, (size_t)n);
        assert_int_equal(cw_json_read(src, NULL, a, &root, NULL, &err), CW_PARSE);
        size_t len = strlen(err.msg);
        assert_true(len < 110);
        assert_string_equal(err.msg + len - 4, "...\"");
        assert_memory_equal(err.msg + len - 6, "\xC3\xA9", 2);
    }
}

TEST(locate_counts_lines_and_characters)
{
    cw_str src = CW_STR("ab\n\xC3\xA9\xE2\x82\xAC\xFFz\r\nq");
    static const struct {
        size_t offset;
        uint32_t line, column;
    } cases[] = {{0, 1, 1}, {2, 1, 3},  {3, 2, 1},  {5, 2, 2},  {8, 2, 3},
                 {9, 2, 4}, {10, 2, 5}, {12, 3, 1}, {13, 3, 2}, {999, 3, 2}};
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_json_pos pos = cw_json_locate(src, cases[i].offset);
        assert_int_equal(pos.line, cases[i].line);
        assert_int_equal(pos.column, cases[i].column);
    }
    assert_int_equal(cw_json_locate(src, 999).offset, src.n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        arena_test(failures_say_what_was_expected_and_where),
        arena_test(a_null_pointer_without_bytes_is_an_empty_text),
        arena_test(a_long_duplicate_key_is_shortened_between_characters),
        cmocka_unit_test(locate_counts_lines_and_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
