/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/snapshot.h"
#include "support/json_fixture.h"

#include "catalogue/tool/param_headers.h"
#include "support/oom.h"

#define MARK(name) "\"x-mcp-header\":\"" name "\""

/* A method with the params "a" and "b"; NULL: without that one. */
static cw_method method_of(cw_param params[2], const char *a, const char *b)
{
    params[0] = (cw_param){.name = CW_STR("a"), .schema = cw_str_from(a)};
    params[1] = (cw_param){.name = CW_STR("b"), .schema = cw_str_from(b)};
    return (cw_method){.id = CW_STR("m"), .params = params, .n_params = 2};
}

static void assert_problem(const char *a, const char *b, const char *expected)
{
    cw_arena arena;
    cw_param params[2];
    cw_method method = method_of(params, a, b);
    const cw_param_headers *mirrors;
    size_t n;
    cw_err err = {0};
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_param_headers_find(&method, NULL, &arena, &mirrors, &n, &err), CW_PARAMS);
    assert_non_null(strstr(err.msg, expected));
    cw_arena_done(&arena);
}

TEST(declarations_are_found_with_their_values)
{
    cw_arena arena;
    cw_param params[2];
    cw_method method =
        method_of(params, "{\"type\":\"string\"," MARK("Region") "}",
                  "{\"type\":\"object\",\"properties\":{\"c\":{\"type\":\"integer\"," MARK(
                      "C") "},"
                           "\"x-mcp-header\":{\"type\":\"boolean\"," MARK("D") "}}}");
    const cw_param_headers *mirrors;
    size_t n;
    cw_arena_init(&arena, 1 << 20);
    const cw_json *arguments = json_of(&arena, "{\"a\":\"eu\",\"b\":{\"x-mcp-header\":true}}");
    assert_int_equal(cw_param_headers_find(&method, arguments, &arena, &mirrors, &n, NULL), CW_OK);
    assert_int_equal(n, 3);
    assert_str(mirrors[0].header, "Region");
    assert_str(cw_json_text(mirrors[0].value), "eu");
    assert_str(mirrors[1].header, "C");
    assert_null(mirrors[1].value);
    assert_str(mirrors[2].header, "D");
    assert_true(cw_json_is(mirrors[2].value, CW_JSON_TRUE));
    cw_arena_done(&arena);
}

TEST(one_schema_for_all_arguments_counts_alone)
{
    cw_arena arena;
    cw_param params[2];
    cw_method method = method_of(params, "{\"type\":\"string\"," MARK("Old") "}", "{}");
    method.input = CW_STR(
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"," MARK("New") "}}}");
    const cw_param_headers *mirrors;
    size_t n;
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_param_headers_find(&method, NULL, &arena, &mirrors, &n, NULL), CW_OK);
    assert_int_equal(n, 1);
    assert_str(mirrors[0].header, "New");
    cw_arena_done(&arena);
}

TEST(most_schemas_have_none)
{
    cw_arena arena;
    cw_param params[2];
    /* The second only mentions it. */
    cw_method method = method_of(params, "{\"type\":\"string\"}",
                                 "{\"default\":{" MARK("X") "},\"description\":\"x-mcp-header\"}");
    const cw_param_headers *mirrors;
    size_t n = 1;
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_param_headers_find(&method, NULL, &arena, &mirrors, &n, NULL), CW_OK);
    assert_int_equal(n, 0);
    cw_arena_done(&arena);
}

TEST(wrong_declarations_are_refused)
{
    assert_problem("{\"type\":\"string\"," MARK("a b") "}", "{}", "name of a header");
    assert_problem("{\"type\":\"string\"," MARK("") "}", "{}", "name of a header");
    assert_problem("{\"type\":\"string\",\"x-mcp-header\":1}", "{}", "name of a header");
    assert_problem("{\"type\":\"string\",\"x-mcp-header\":\"a\\u0000\"}", "{}", "name of a header");
    assert_problem("{" MARK("A") "}", "{}", "type");
    assert_problem("{\"type\":\"number\"," MARK("A") "}", "{}", "type");
    assert_problem("{\"type\":[\"string\"]," MARK("A") "}", "{}", "type");
    assert_problem("{\"type\":\"string\"," MARK("Same") "}",
                   "{\"type\":\"string\"," MARK("sAME") "}", "twice");
    assert_problem("{\"type\":\"array\",\"items\":{\"type\":\"string\"," MARK("A") "}}", "{}",
                   "properties");
    assert_problem("{\"anyOf\":[{\"properties\":{\"p\":{\"type\":\"string\"," MARK("A") "}}}]}",
                   "{}", "properties");
    assert_problem("{\"$defs\":{\"p\":{\"type\":\"string\"," MARK("A") "}}}", "{}", "properties");
    /* Spelt with an escape it is the same. */
    assert_problem("{\"x\\u002dmcp-header\":\"A\"}", "{}", "type");
}

TEST(there_is_a_ceiling)
{
    cw_arena arena;
    cw_buf text;
    cw_param params[2];
    const cw_param_headers *mirrors;
    size_t n;
    cw_buf_init(&text, 1 << 16);
    for (unsigned count = CW_PARAM_HEADERS_MAX; count <= CW_PARAM_HEADERS_MAX + 1; count++) {
        cw_buf_clear(&text);
        cw_buf_add(&text, CW_STR("{\"properties\":{"));
        for (unsigned i = 0; i < count; i++)
            cw_buf_printf(&text, "%s\"p%u\":{\"type\":\"string\",\"x-mcp-header\":\"H%u\"}",
                          i ? "," : "", i, i);
        cw_buf_add(&text, CW_STR("}}"));
        cw_buf_add_char(&text, '\0');
        cw_method method = method_of(params, text.p, "{}");
        cw_arena_init(&arena, 1 << 20);
        cw_code rc = cw_param_headers_find(&method, NULL, &arena, &mirrors, &n, NULL);
        assert_int_equal(rc, count > CW_PARAM_HEADERS_MAX ? CW_PARAMS : CW_OK);
        cw_arena_done(&arena);
    }
    cw_buf_done(&text);
}

TEST(a_schema_is_written_without_the_keyword)
{
    cw_arena arena;
    cw_buf out;
    cw_arena_init(&arena, 1 << 20);
    cw_buf_init(&out, 1 << 16);
    cw_param_headers_write_without(
        &out,
        json_of(&arena,
                "{" MARK("A") ",\"properties\":{\"x-mcp-header\":{" MARK("B") ",\"enum\":[{" MARK(
                    "C") "}]},\"b\":true},\"allOf\":[{" MARK("D") "},{\"minimum\":1.50}]}"));
    assert_str(cw_buf_str(&out), "{\"properties\":{\"x-mcp-header\":{\"enum\":[{" MARK(
                                     "C") "}]},\"b\":true},\"allOf\":[{},{\"minimum\":1.50}]}");
    cw_buf_done(&out);
    cw_arena_done(&arena);
}

static void find_once(void *ctx)
{
    cw_arena arena;
    cw_param params[2];
    cw_method method = method_of(params, ctx, "{\"type\":\"string\"," MARK("B") "}");
    const cw_param_headers *mirrors;
    size_t n;
    cw_arena_init(&arena, 1 << 20);
    cw_code rc = cw_param_headers_find(&method, NULL, &arena, &mirrors, &n, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_arena_done(&arena);
}

TEST(every_failed_allocation_is_reported)
{
    char text[] = "{\"type\":\"string\"," MARK("A") "}";
    assert_true(oom_each(find_once, text) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declarations_are_found_with_their_values),
        cmocka_unit_test(one_schema_for_all_arguments_counts_alone),
        cmocka_unit_test(most_schemas_have_none),
        cmocka_unit_test(wrong_declarations_are_refused),
        cmocka_unit_test(there_is_a_ceiling),
        cmocka_unit_test(a_schema_is_written_without_the_keyword),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
