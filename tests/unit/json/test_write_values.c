/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/json_fixture.h"

static void check(cw_arena *a, const char *text, cw_json_style style, const char *want)
{
    cw_buf b;
    cw_buf_init(&b, 1u << 20);
    cw_json_writer w;
    cw_json_writer_init(&w, &b, style);
    cw_json_add_value(&w, must_read(a, text));
    assert_int_equal(cw_json_writer_end(&w, NULL), CW_OK);
    assert_str(cw_buf_str(&b), want);
    cw_buf_done(&b);
}

TEST_WITH(a_document_comes_back_without_its_white_space, cw_arena *a)
{
    static const char *const compact[] = {
        "null",
        "1",
        "-1.50E+07",
        "\"\"",
        "\"\\u0041\\/\\n\xC3\xA9\"",
        "[]",
        "{}",
        "[[]]",
        "[{}]",
        "[1,2,3]",
        "{\"a\":1}",
        "{\"a\":{\"b\":[]},\"c\":[{},[],\"\\\"\"]}",
        "[12345678901234567890,0.1,1e400,\"a\\u0000b\"]",
        "{\"\\u0061b\":true,\"\":false}",
        "[\"0123456789abcdef\",\"0123456789abcdefg\",\"0123456789abcdef0123456789abcde\"]",
        "[\"0123456789abcdef0123456789abcdef0123456789abcdef\",123,12,1]",
    };
    for (size_t i = 0; i < CW_COUNT(compact); i++)
        check(a, compact[i], CW_JSON_COMPACT, compact[i]);
    check(a, " { \"a\" : [ 1 ,\n2 ] , \"b\" : { } } ", CW_JSON_COMPACT, "{\"a\":[1,2],\"b\":{}}");
}

TEST_WITH(a_document_is_indented, cw_arena *a)
{
    check(a, "1", CW_JSON_INDENT, "1");
    check(a, "[ ]", CW_JSON_INDENT, "[]");
    check(a, "{\"a\":[1,{}],\"b\":{\"c\":[[]]}}", CW_JSON_INDENT,
          "{\n"
          "  \"a\": [\n"
          "    1,\n"
          "    {}\n"
          "  ],\n"
          "  \"b\": {\n"
          "    \"c\": [\n"
          "      []\n"
          "    ]\n"
          "  }\n"
          "}");
}

TEST_WITH(a_part_is_written_at_the_depth_where_it_is_put, cw_arena *a)
{
    const cw_json *v = must_read(a, "{\"x\":{\"y\":[1]},\"z\":0}");
    cw_buf b;
    cw_buf_init(&b, 4096);
    cw_json_writer w;
    cw_json_writer_init(&w, &b, CW_JSON_INDENT);
    cw_json_open_array(&w);
    cw_json_add_value(&w, cw_json_get(v, CW_STR("x")));
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR("k"));
    cw_json_add_value(&w, cw_json_get(v, CW_STR("x")));
    cw_json_close(&w);
    cw_json_add_value(&w, cw_json_get(v, CW_STR("z")));
    cw_json_close(&w);
    assert_int_equal(cw_json_writer_end(&w, NULL), CW_OK);
    assert_str(cw_buf_str(&b), "[\n"
                               "  {\n"
                               "    \"y\": [\n"
                               "      1\n"
                               "    ]\n"
                               "  },\n"
                               "  {\n"
                               "    \"k\": {\n"
                               "      \"y\": [\n"
                               "        1\n"
                               "      ]\n"
                               "    }\n"
                               "  },\n"
                               "  0\n"
                               "]");
    cw_buf_done(&b);
}

/* Strings of every length, so that every way of copying is taken. */
TEST_WITH(text_of_every_length_is_copied_whole, cw_arena *a)
{
    for (size_t n = 0; n < 80; n++) {
        char text[100];
        text[0] = '"';
        for (size_t i = 0; i < n; i++)
            text[i + 1] = (char)('a' + i % 26);
        text[n + 1] = '"';
        text[n + 2] = '\0';
        check(a, text, CW_JSON_COMPACT, text);
    }
}

TEST_WITH(the_ceiling_of_the_buffer_is_exact, cw_arena *a)
{
    const cw_json *v = must_read(a, "{ \"a\" : [ 1 , \"two\\n\" ] ,             \"b\" : {} }");
    for (int style = 0; style < 2; style++) {
        cw_buf b;
        cw_buf_init(&b, 4096);
        cw_json_writer w;
        cw_json_writer_init(&w, &b, (cw_json_style)style);
        cw_json_add_value(&w, v);
        size_t whole = b.n;
        cw_buf_done(&b);
        for (size_t max = 0; max <= whole + 1; max++) {
            cw_buf_init(&b, max);
            cw_json_writer_init(&w, &b, (cw_json_style)style);
            cw_json_add_value(&w, v);
            cw_code rc = cw_json_writer_end(&w, NULL);
            assert_int_equal(rc, max < whole ? CW_LIMIT : CW_OK);
            assert_true(b.n <= max);
            cw_buf_done(&b);
        }
    }
}

TEST_WITH(a_document_deeper_than_the_writer_is_written, cw_arena *a)
{
    enum { DEPTH = 500 };
    char text[2 * DEPTH + 1];
    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    text[2 * DEPTH] = '\0';
    const cw_json_opts opts = {.max_depth = DEPTH};
    const cw_json *v = must_read_opts(a, cw_str_from(text), &opts);
    for (int style = 0; style < 2; style++) {
        cw_buf b;
        cw_buf_init(&b, 4u << 20);
        cw_json_writer w;
        cw_json_writer_init(&w, &b, (cw_json_style)style);
        cw_json_add_value(&w, v);
        assert_int_equal(cw_json_writer_end(&w, NULL), CW_OK);
        const cw_json *again = must_read_opts(a, cw_buf_str(&b), &opts);
        assert_true(cw_json_equal(v, again));
        cw_buf_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        arena_test(a_document_comes_back_without_its_white_space),
        arena_test(a_document_is_indented),
        arena_test(a_part_is_written_at_the_depth_where_it_is_put),
        arena_test(text_of_every_length_is_copied_whole),
        arena_test(the_ceiling_of_the_buffer_is_exact),
        arena_test(a_document_deeper_than_the_writer_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
