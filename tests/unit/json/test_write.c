/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "support/json_fixture.h"
#include "support/oom.h"

static void add_sample(cw_json_writer *w)
{
    cw_json_open_object(w);
    cw_json_add_key(w, CW_STR("id"));
    cw_json_add_span(w, CW_STR("12345678901234567890"));
    cw_json_add_string_member(w, CW_STR("a\"b"), CW_STR("line\n"));
    cw_json_add_i64_member(w, CW_STR("n"), -7);
    cw_json_add_bool_member(w, CW_STR("t"), true);
    cw_json_add_key(w, CW_STR("list"));
    cw_json_open_array(w);
    cw_json_add_null(w);
    cw_json_add_bool(w, false);
    cw_json_open_array(w);
    cw_json_close(w);
    cw_json_open_object(w);
    cw_json_close(w);
    cw_json_add_u64(w, UINT64_MAX);
    cw_json_add_i64(w, INT64_MIN);
    cw_json_add_double(w, 0.5);
    cw_json_close(w);
    cw_json_add_key(w, CW_STR(""));
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("x"), CW_STR(""));
    cw_json_close(w);
    cw_json_close(w);
}

TEST(compact_text_has_no_white_space)
{
    cw_buf b;
    cw_buf_init(&b, 4096);
    cw_json_writer w;
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    add_sample(&w);
    assert_int_equal(cw_json_writer_end(&w, NULL), CW_OK);
    assert_str(cw_buf_str(&b),
               "{\"id\":12345678901234567890,\"a\\\"b\":\"line\\n\",\"n\":-7,\"t\":true,"
               "\"list\":[null,false,[],{},18446744073709551615,-9223372036854775808,0.5],"
               "\"\":{\"x\":\"\"}}");
    cw_buf_done(&b);
}

TEST(indented_text_has_a_member_a_line)
{
    cw_buf b;
    cw_buf_init(&b, 4096);
    cw_json_writer w;
    cw_json_writer_init(&w, &b, CW_JSON_INDENT);
    add_sample(&w);
    assert_int_equal(cw_json_writer_end(&w, NULL), CW_OK);
    assert_str(cw_buf_str(&b), "{\n"
                               "  \"id\": 12345678901234567890,\n"
                               "  \"a\\\"b\": \"line\\n\",\n"
                               "  \"n\": -7,\n"
                               "  \"t\": true,\n"
                               "  \"list\": [\n"
                               "    null,\n"
                               "    false,\n"
                               "    [],\n"
                               "    {},\n"
                               "    18446744073709551615,\n"
                               "    -9223372036854775808,\n"
                               "    0.5\n"
                               "  ],\n"
                               "  \"\": {\n"
                               "    \"x\": \"\"\n"
                               "  }\n"
                               "}");
    cw_buf_done(&b);
}

TEST(scalars_can_be_the_root)
{
    cw_buf b;
    cw_buf_init(&b, 64);
    cw_json_writer w;
    cw_json_writer_init(&w, &b, CW_JSON_INDENT);
    cw_json_add_i64(&w, 0);
    assert_int_equal(cw_json_writer_end(&w, NULL), CW_OK);
    assert_str(cw_buf_str(&b), "0");
    cw_buf_done(&b);
}

static void check_ceilings(cw_json_style style)
{
    cw_buf b;
    cw_buf_init(&b, 4096);
    cw_json_writer w;
    cw_json_writer_init(&w, &b, style);
    add_sample(&w);
    size_t whole = b.n;
    cw_buf_done(&b);
    for (size_t max = 0; max <= whole; max++) {
        cw_err err = {0};
        cw_buf_init(&b, max);
        cw_json_writer_init(&w, &b, style);
        add_sample(&w);
        cw_code rc = cw_json_writer_end(&w, &err);
        assert_true(b.n <= max);
        assert_int_equal(rc, max < whole ? CW_LIMIT : CW_OK);
        if (rc)
            assert_non_null(strstr(err.msg, "JSON text longer than"));
        cw_buf_done(&b);
    }
}

TEST(the_ceiling_of_the_buffer_is_sticky_and_exact)
{
    check_ceilings(CW_JSON_COMPACT);
    check_ceilings(CW_JSON_INDENT);
}

TEST(the_depth_ceiling_is_reached_exactly)
{
    for (uint32_t depth = CW_JSON_WRITE_DEPTH; depth <= CW_JSON_WRITE_DEPTH + 2; depth++) {
        cw_buf b;
        cw_buf_init(&b, 1u << 20);
        cw_json_writer w;
        cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
        for (uint32_t i = 0; i < depth; i++) {
            if (i % 3 == 0) {
                cw_json_open_array(&w);
            } else {
                cw_json_open_object(&w);
                cw_json_add_key(&w, CW_STR("k"));
            }
        }
        cw_json_add_null(&w);
        for (uint32_t i = 0; i < depth; i++)
            cw_json_close(&w);
        cw_err err = {0};
        assert_int_equal(cw_json_writer_end(&w, &err),
                         depth > CW_JSON_WRITE_DEPTH ? CW_LIMIT : CW_OK);
        if (depth > CW_JSON_WRITE_DEPTH)
            assert_string_equal(err.msg, "JSON nested deeper than 128 levels");
        cw_buf_done(&b);
    }
}

static void write_once(void *ctx)
{
    cw_buf b;
    cw_buf_init(&b, 1u << 20);
    cw_json_writer w;
    cw_json_writer_init(&w, &b, CW_JSON_INDENT);
    cw_json_open_array(&w);
    for (int i = 0; i < 20; i++) {
        add_sample(&w);
        cw_json_add_value(&w, *(const cw_json **)ctx);
    }
    cw_json_close(&w);
    cw_err err = {0};
    assert_int_equal(cw_json_writer_end(&w, &err), oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_buf_done(&b);
}

TEST_WITH(writing_survives_every_failed_allocation, cw_arena *a)
{
    const cw_json *v = must_read(a, "{\"a\":[1,2,{\"b\":\"text\\n\"}]}");
    assert_true(oom_each(write_once, &v) >= 3);
}

static void check_escape(cw_str text, cw_str want)
{
    cw_buf b;
    cw_buf_init(&b, 1u << 16);
    cw_json_escape(&b, text);
    if (!cw_str_eq(cw_buf_str(&b), want))
        fail_msg("'%.*s' is not '%.*s'", CW_STR_ARG(cw_buf_str(&b)), CW_STR_ARG(want));
    cw_buf_done(&b);
}

TEST(text_is_escaped_as_little_as_possible)
{
    check_escape(CW_STR(""), CW_STR("\"\""));
    check_escape((cw_str){NULL, 0}, CW_STR("\"\""));
    check_escape(CW_STR("plain / <>&'"), CW_STR("\"plain / <>&'\""));
    check_escape(CW_STR("\"\\\b\f\n\r\t"), CW_STR("\"\\\"\\\\\\b\\f\\n\\r\\t\""));
    check_escape(CW_STR("\0\x01\x1F\x7F"), CW_STR("\"\\u0000\\u0001\\u001f\\u007f\""));
    check_escape(CW_STR("caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"),
                 CW_STR("\"caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\""));
    check_escape(CW_STR("a\xFFz"), CW_STR("\"a\xEF\xBF\xBDz\""));
    check_escape(CW_STR("\xC3"), CW_STR("\"\xEF\xBF\xBD\""));
    check_escape(CW_STR("\xED\xA0\x80"), CW_STR("\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""));
}

/* Every byte at every place around the vector's sixteen: what is written reads back. */
TEST_WITH(every_byte_survives_at_every_place, cw_arena *a)
{
    for (unsigned byte = 0; byte < 0x80; byte++) {
        for (size_t place = 0; place < 34; place++) {
            char text[40];
            memset(text, 'x', sizeof text);
            text[place] = (char)byte;
            cw_buf b;
            cw_buf_init(&b, 1000);
            cw_str source = exact_copy(a, cw_str_make(text, place + 1 + place % 5));
            cw_json_escape(&b, source);
            const cw_json *v = must_read_opts(a, cw_buf_str(&b), NULL);
            assert_true(cw_str_eq(cw_json_text(v), source));
            cw_buf_done(&b);
        }
        cw_arena_reset(a);
    }
}

TEST(escaping_stops_at_the_ceiling)
{
    cw_buf b;
    cw_buf_init(&b, 10);
    cw_json_escape(&b, CW_STR("aaaaaaaaa"));
    assert_int_equal(b.code, CW_LIMIT);
    cw_buf_clear(&b);
    cw_json_escape(&b, CW_STR("\n\n\n\n\n"));
    assert_int_equal(b.code, CW_LIMIT);
    cw_buf_clear(&b);
    cw_json_escape(&b, CW_STR("\n\n\n\n"));
    assert_int_equal(b.code, CW_OK);
    cw_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compact_text_has_no_white_space),
        cmocka_unit_test(indented_text_has_a_member_a_line),
        cmocka_unit_test(scalars_can_be_the_root),
        cmocka_unit_test(the_ceiling_of_the_buffer_is_sticky_and_exact),
        cmocka_unit_test(the_depth_ceiling_is_reached_exactly),
        arena_test(writing_survives_every_failed_allocation),
        cmocka_unit_test(text_is_escaped_as_little_as_possible),
        arena_test(every_byte_survives_at_every_place),
        cmocka_unit_test(escaping_stops_at_the_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
