/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/json_fixture.h"
#include "support/oom.h"

static cw_str canonical(cw_arena *a, const char *text)
{
    cw_buf b;
    cw_buf_init(&b, 1u << 20);
    cw_json_add_canonical(&b, must_read(a, text));
    assert_int_equal(b.code, CW_OK);
    cw_str copy = exact_copy(a, cw_buf_str(&b));
    cw_buf_done(&b);
    return copy;
}

TEST_WITH(equal_values_have_one_spelling, cw_arena *a)
{
    static const struct {
        const char *spellings[4];
        const char *want;
    } rows[] = {
        {{"1", "1.0", "10e-1", "0.1E+1"}, "1e0"},
        {{"-1200", "-1.2e3", "-12E2", "-1200.000"}, "-12e2"},
        {{"0", "-0", "0.000", "0e99"}, "0"},
        {{"12.5", "12.50", "125e-1", "0.00125e4"}, "125e-1"},
        {{"1e30", "1000000000000000000000000000000", "10e29", "1.0e30"}, "1e30"},
        {{"\"hi\"", "\"h\\u0069\"", "\"\\u0068\\u0069\"", " \"hi\" "}, "\"hi\""},
        {{"\"/\\n\"", "\"\\/\\u000a\"", "\"/\\u000A\"", "\"\\u002f\\n\""}, "\"/\\n\""},
        {{"{\"a\":1,\"b\":[true,null]}", "{\"b\":[true,null],\"a\":1}",
          "{\"\\u0062\" : [ true , null ], \"a\":1.0}", "{\"b\":[true,null],\"a\":1e0}"},
         "{\"a\":1e0,\"b\":[true,null]}"},
        {{"{}", "{ }", "{\n}", " {}"}, "{}"},
        {{"[]", "[ ]", "[\t]", "[] "}, "[]"},
    };
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        for (size_t j = 0; j < CW_COUNT(rows[i].spellings); j++)
            assert_str(canonical(a, rows[i].spellings[j]), rows[i].want);
    }
}

TEST_WITH(different_values_have_different_spellings, cw_arena *arena)
{
    static const char *const values[] = {
        "1",
        "-1",
        "10",
        "0.1",
        "9007199254740993",
        "9007199254740992",
        "\"1\"",
        "\"1e0\"",
        "[1,0]",
        "[10]",
        "[[1],0]",
        "[1,[0]]",
        "{\"a\":1}",
        "{\"a\":\"1\"}",
        "{\"a\":{\"b\":1}}",
        "{\"a\":{},\"b\":1}",
        "null",
        "\"null\"",
        "false",
        "[]",
        "{}",
        /* Too far away to be counted: never taken for one another. */
        "1e1000000000000000000",
        "1e1000000000000000001",
        "1e10000000000000000000",
        "1e-10000000000000000000",
    };
    for (size_t i = 0; i < CW_COUNT(values); i++) {
        for (size_t j = 0; j < i; j++) {
            cw_str a = canonical(arena, values[i]), b = canonical(arena, values[j]);
            if (cw_str_eq(a, b))
                fail_msg("%s and %s are both '%.*s'", values[i], values[j], CW_STR_ARG(a));
        }
    }
}

TEST_WITH(the_deepest_document_has_one, cw_arena *a)
{
    enum { DEPTH = CW_JSON_DEPTH_CEILING };
    static char text[2 * DEPTH + 1];
    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    const cw_json_opts opts = {.max_depth = DEPTH};
    cw_buf b;
    cw_buf_init(&b, 1u << 20);
    cw_json_add_canonical(&b, must_read_opts(a, cw_str_make(text, 2 * DEPTH), &opts));
    assert_str(cw_buf_str(&b), text);
    cw_buf_done(&b);
}

static void write_once(void *ctx)
{
    cw_buf b;
    cw_buf_init(&b, 1u << 20);
    cw_json_add_canonical(&b, ctx);
    assert_int_equal(b.code, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_buf_done(&b);
}

TEST_WITH(a_failed_allocation_is_said, cw_arena *a)
{
    const cw_json *v = must_read(a, "{\"b\":{\"y\":1,\"x\":2},\"a\":[{\"c\":3}]}");
    assert_true(oom_each(write_once, (void *)(uintptr_t)v) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        arena_test(equal_values_have_one_spelling),
        arena_test(different_values_have_different_spellings),
        arena_test(the_deepest_document_has_one),
        arena_test(a_failed_allocation_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
