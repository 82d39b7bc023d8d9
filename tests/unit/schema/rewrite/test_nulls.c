/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members that are null because a model left them out. */
#include "schema/rewrite/nulls.h"
#include "support/json_fixture.h"
#include "support/schema_fixture.h"

static void becomes(const char *schema, const char *value, const char *expected, uint32_t dropped)
{
    cw_schema *s = must_compile_schema(schema, NULL);
    cw_arena arena;
    cw_buf out;
    uint32_t n = 0;
    int64_t steps = 100000;
    cw_arena_init(&arena, 1 << 20);
    cw_buf_init(&out, 1 << 20);
    const cw_json *v = read_deep_json(&arena, cw_str_from(value));
    assert_int_equal(cw_schema_write_without_nulls(s, v, &out, &n, &steps), CW_OK);
    assert_str(cw_buf_str(&out), expected);
    assert_int_equal(n, dropped);
    assert_true(steps > 0 && steps < 100000);
    cw_buf_done(&out);
    cw_arena_done(&arena);
    cw_schema_unref(s);
}

#define TEXT "{\"type\":\"string\"}"
#define WITH_A(more) "{\"properties\":{\"a\":" TEXT "}" more "}"

TEST(optional_members_that_reject_null_are_dropped)
{
    becomes(WITH_A(""), "{\"a\":null}", "{}", 1);
    becomes(WITH_A(""), "{ \"b\": 1, \"a\" : null, \"c\":[ 1 ] }", "{\"b\":1,\"c\":[ 1 ]}", 1);
    becomes(WITH_A(""), "{\"a\":\"x\"}", "{\"a\":\"x\"}", 0);
    becomes("{\"properties\":{\"a\":{\"enum\":[1,2]},\"b\":{\"const\":1},\"c\":false}}",
            "{\"a\":null,\"b\":null,\"c\":null}", "{}", 3);
}

TEST(members_that_may_be_null_or_must_be_there_stay)
{
    becomes(WITH_A(",\"required\":[\"a\"]"), "{\"a\":null}", "{\"a\":null}", 0);
    becomes("{\"properties\":{\"a\":{},\"b\":{\"type\":[\"null\",\"string\"]},"
            "\"c\":{\"enum\":[1,null]},\"d\":{\"anyOf\":[" TEXT ",{\"type\":\"null\"}]}}}",
            "{\"a\":null,\"b\":null,\"c\":null,\"d\":null}",
            "{\"a\":null,\"b\":null,\"c\":null,\"d\":null}", 0);
    becomes(WITH_A(",\"allOf\":[{\"required\":[\"a\"]}]"), "{\"a\":null}", "{\"a\":null}", 0);
}

/* Entries of maps, and items, are values. */
TEST(members_that_are_not_declared_and_items_stay)
{
    becomes("{\"additionalProperties\":" TEXT "}", "{\"a\":null}", "{\"a\":null}", 0);
    becomes("{\"patternProperties\":{\"a\":" TEXT "}}", "{\"a\":null}", "{\"a\":null}", 0);
    becomes("{\"items\":" TEXT "}", "[null,\"x\"]", "[null,\"x\"]", 0);
    becomes("{\"prefixItems\":[" TEXT "]}", "[null]", "[null]", 0);
}

TEST(members_are_found_at_every_depth)
{
    becomes("{\"items\":{\"additionalProperties\":" WITH_A("") "}}",
            "[{\"x\":{\"a\":null,\"b\":null}},null]", "[{\"x\":{\"b\":null}},null]", 1);
    becomes("{\"prefixItems\":[true," WITH_A("") "],\"items\":" WITH_A("") "}",
            "[{\"a\":null},{\"a\":null},{\"a\":null}]", "[{\"a\":null},{},{}]", 2);
    becomes("{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"properties\":{\"next\":{\"type\":"
            "\"object\",\"$ref\":\"#/$defs/n\"}}}}}",
            "{\"next\":{\"next\":{\"next\":null}}}", "{\"next\":{\"next\":{}}}", 1);
}

/* A branch declares members, but does not decide alone which must be there. */
TEST(branches_declare_members)
{
    becomes("{\"anyOf\":[" WITH_A(",\"required\":[\"a\"]") ",{\"required\":[\"b\"]}]}",
            "{\"a\":null,\"b\":1}", "{\"b\":1}", 1);
    becomes("{\"oneOf\":[" WITH_A("") ",{\"properties\":{\"a\":{\"type\":\"null\"}}}]}",
            "{\"a\":null}", "{\"a\":null}", 0);
}

TEST(work_has_a_limit)
{
    cw_schema *s = must_compile_schema(WITH_A(""), NULL);
    cw_arena arena;
    cw_buf out;
    uint32_t n = 0;
    int64_t steps = 3;
    cw_arena_init(&arena, 1 << 20);
    cw_buf_init(&out, 1 << 20);
    const cw_json *v = read_deep_json(&arena, CW_STR("{\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1}"));
    assert_int_equal(cw_schema_write_without_nulls(s, v, &out, &n, &steps), CW_LIMIT);
    cw_buf_done(&out);
    cw_arena_done(&arena);
    cw_schema_unref(s);
}

/* Sixteen levels of two branches each. */
TEST(the_search_for_null_has_a_limit)
{
    cw_buf b;
    int64_t steps = 1000;
    cw_buf_init(&b, 1 << 20);
    cw_buf_add(&b, CW_STR("{\"$ref\":\"#/$defs/d0\",\"$defs\":{"));
    for (int i = 0; i < 30; i++)
        cw_buf_printf(
            &b, "\"d%d\":{\"allOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]},", i,
            i + 1, i + 1);
    cw_buf_add(&b, CW_STR("\"d30\":{\"type\":\"string\"}}}"));
    char *text = cw_buf_take(&b, NULL);
    cw_schema *s = must_compile_schema(text, NULL);
    assert_true(cw_schema_takes_null(s, &steps));
    cw_schema_unref(s);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optional_members_that_reject_null_are_dropped),
        cmocka_unit_test(members_that_may_be_null_or_must_be_there_stay),
        cmocka_unit_test(members_that_are_not_declared_and_items_stay),
        cmocka_unit_test(members_are_found_at_every_depth),
        cmocka_unit_test(branches_declare_members),
        cmocka_unit_test(work_has_a_limit),
        cmocka_unit_test(the_search_for_null_has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
