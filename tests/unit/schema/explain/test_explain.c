/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said about values that are not valid. */
#include "support/schema_fixture.h"

/* All problems as lines. */
static void explain(const char *schema, const char *instance, const cw_schema_explain_opts *opts,
                    char *out, size_t n)
{
    cw_arena a;
    cw_arena_init(&a, 16u << 20);
    cw_schema *s = must_compile_schema(schema, NULL);
    cw_schema_report report = {0};
    cw_code rc =
        cw_schema_explain(s, read_deep_json(&a, cw_str_from(instance)), opts, &a, &report, NULL);
    assert_true(rc == CW_OK || rc == CW_PARAMS);
    assert_int_equal(report.valid, rc == CW_OK);
    cw_buf b;
    cw_buf_init(&b, n - 1);
    for (size_t i = 0; i < report.n; i++) {
        cw_schema_problem_text(&report.problems[i], &b);
        cw_buf_add_char(&b, '\n');
    }
    snprintf(out, n, "%.*s", CW_STR_ARG(cw_buf_str(&b)));
    cw_buf_done(&b);
    cw_schema_unref(s);
    cw_arena_done(&a);
}

static void says(const char *schema, const char *instance, const char *expected)
{
    char text[4096];
    explain(schema, instance, NULL, text, sizeof text);
    assert_string_equal(text, expected);
}

TEST(wrong_types_and_values_are_named)
{
    says("{\"type\":[\"string\",\"array\",\"null\"]}", "1",
         "expected string, array or null, got integer\n");
    says("{\"const\":{\"a\":1}}", "[2]", "expected {\"a\":1}, got [2]\n");
    says("{\"enum\":[\"red\",\"green\",5]}", "\"gren\"",
         "expected one of \"red\", \"green\", 5, got \"gren\"; did you mean 'green'?\n");
    says("{\"minimum\":1}", "0", "expected a number of at least 1, got 0\n");
    says("{\"maximum\":1}", "2.5", "expected a number of at most 1, got 2.5\n");
    says("{\"exclusiveMinimum\":1}", "1", "expected a number greater than 1, got 1\n");
    says("{\"exclusiveMaximum\":1}", "1e5", "expected a number less than 1, got 1e5\n");
    says("{\"multipleOf\":0.1}", "0.25", "expected a multiple of 0.1, got 0.25\n");
    says("{\"minLength\":3}", "\"\xC3\xA4\"", "expected at least 3 characters, got 1\n");
    says("{\"maxLength\":1}", "\"ab\"", "expected at most 1 characters, got 2\n");
    says("{\"pattern\":\"^a\"}", "\"b\"", "expected text that matches '^a', got \"b\"\n");
    says("{\"format\":\"date\"}", "\"b\"", "expected the format 'date', got \"b\"\n");
    says("false", "1", "no value is allowed here\n");
}

TEST(wrong_arrays_and_objects_are_named)
{
    says("{\"minItems\":1}", "[]", "expected at least 1 items, got 0\n");
    says("{\"uniqueItems\":true}", "[1,2,1.0]", "expected different items, got 2 equal to 0\n");
    says("{\"contains\":{\"const\":1}}", "[2]", "expected at least 1 matching items, got 0\n");
    says("{\"items\":{\"type\":\"string\"}}", "[\"a\",1]", "/1: expected string, got integer\n");
    says("{\"maxProperties\":0}", "{\"a\":1}", "expected at most 0 properties, got 1\n");
    says("{\"required\":[\"a\",\"b\"]}", "{\"b\":1}", "missing required property 'a'\n");
    says("{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}",
         "missing property 'b', which 'a' requires\n");
    says("{\"properties\":{\"title\":{},\"nid\":{}},\"additionalProperties\":false}",
         "{\"nids\":1,\"zzzz\":2}",
         "/nids: unknown property 'nids'; did you mean 'nid'?\n"
         "/zzzz: unknown property 'zzzz'\n");
    says("{\"propertyNames\":{\"maxLength\":2}}", "{\"abc\":1}",
         "/abc: expected at most 2 characters, got 3\n");
    says("{\"properties\":{\"a/b\":{\"type\":\"null\"}}}", "{\"a/b\":1}",
         "/a~1b: expected null, got integer\n");
}

TEST(logic_is_named)
{
    says("{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "1",
         "expected one of 2 alternatives to match, got integer\n");
    says("{\"oneOf\":[true,{\"type\":\"integer\"}]}", "1",
         "expected exactly one alternative to match, got 2\n");
    says("{\"not\":{}}", "1", "must not match the schema of 'not'\n");
    says("{\"if\":true,\"then\":{\"type\":\"null\"}}", "1", "expected null, got integer\n");
    const cw_schema_explain_opts nested = {.nested = true};
    char text[1024];
    explain("{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":3}]}", "1", &nested, text, sizeof text);
    assert_string_equal(text, "expected string, got integer\n"
                              "expected a number of at least 3, got 1\n"
                              "expected one of 2 alternatives to match, got integer\n");
    explain("{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":0}]}", "1", &nested, text, sizeof text);
    assert_string_equal(text, "");
}

TEST(the_first_problems_in_the_order_of_the_instance_are_kept)
{
    const char *schema = "{\"properties\":{\"b\":{\"type\":\"null\"},\"a\":{\"type\":\"null\"},"
                         "\"c\":{\"type\":\"null\"}},\"required\":[\"x\"]}";
    const cw_schema_explain_opts two = {.max_problems = 2};
    char text[1024];
    explain(schema, "{\"c\":1,\"a\":2,\"b\":3}", NULL, text, sizeof text);
    assert_string_equal(text, "missing required property 'x'\n/c: expected null, got integer\n"
                              "/a: expected null, got integer\n/b: expected null, got integer\n");
    explain(schema, "{\"c\":1,\"a\":2,\"b\":3}", &two, text, sizeof text);
    assert_string_equal(text, "missing required property 'x'\n/c: expected null, got integer\n");
}

TEST(a_problem_knows_where_it_comes_from)
{
    cw_arena a;
    cw_arena_init(&a, 1 << 20);
    cw_schema *s =
        must_compile_schema("{\"$id\":\"http://example.com/s\",\"properties\":{\"list\":{"
                            "\"items\":{\"$ref\":\"#/$defs/n\"}}},"
                            "\"$defs\":{\"n\":{\"minimum\":5}}}",
                            NULL);
    const cw_json *v = read_deep_json(&a, CW_STR("{\"list\":[7,3]}"));
    cw_schema_report report;
    cw_err err = {0};
    assert_int_equal(cw_schema_explain(s, v, NULL, &a, &report, &err), CW_PARAMS);
    assert_int_equal(report.n, 1);
    assert_int_equal(report.total, 1);
    const cw_schema_problem *p = &report.problems[0];
    assert_true(cw_str_is(p->instance_pointer, "/list/1"));
    assert_true(cw_str_is(p->keyword_path, "/properties/list/items/$ref/minimum"));
    assert_true(cw_str_is(p->schema_pointer, "/$defs/n/minimum"));
    assert_true(cw_str_is(p->schema_uri, "http://example.com/s"));
    assert_true(cw_str_is(p->keyword, "minimum"));
    assert_true(cw_str_is(p->expected, "a number of at least 5"));
    assert_true(cw_str_is(p->found, "3"));
    cw_schema_unref(s);
    cw_arena_done(&a);
}

TEST(long_values_are_shortened)
{
    char instance[512];
    memset(instance, 'x', sizeof instance);
    instance[0] = '"';
    memcpy(instance + sizeof instance - 2, "\"", 2);
    char text[1024];
    explain("{\"pattern\":\"y\"}", instance, NULL, text, sizeof text);
    assert_true(strlen(text) < 120);
    assert_non_null(strstr(text, "..."));
}

static void output(const char *schema, const char *instance, cw_schema_output format,
                   const char *expected)
{
    cw_arena a;
    cw_arena_init(&a, 1 << 20);
    cw_schema *s = must_compile_schema(schema, NULL);
    cw_schema_report report = {0};
    const cw_schema_explain_opts opts = {.nested = true};
    (void)!cw_schema_explain(s, read_deep_json(&a, cw_str_from(instance)), &opts, &a, &report,
                             NULL);
    cw_buf b;
    cw_buf_init(&b, 1 << 16);
    cw_schema_write_output(&report, format, &b);
    cw_buf_add_char(&b, '\0');
    assert_string_equal(b.p, expected);
    cw_buf_done(&b);
    cw_schema_unref(s);
    cw_arena_done(&a);
}

TEST(output_has_the_standard_formats)
{
    const char *schema = "{\"$id\":\"http://example.com/s\",\"properties\":{\"a\":{\"anyOf\":[{"
                         "\"type\":\"null\"},{\"type\":\"string\"}]}}}";
    output(schema, "{}", CW_SCHEMA_BASIC, "{\"valid\":true}");
    output(schema, "{\"a\":1}", CW_SCHEMA_FLAG, "{\"valid\":false}");
#define UNIT(path, error)                                                                          \
    "{\"valid\":false,\"keywordLocation\":\"" path "\",\"absoluteKeywordLocation\":"               \
    "\"http://example.com/s#" path "\",\"instanceLocation\":\"/a\",\"error\":\"" error "\""
#define NONE "expected one of 2 alternatives to match, got integer"
    output(schema, "{\"a\":1}", CW_SCHEMA_BASIC,
           "{\"valid\":false,\"errors\":[" UNIT(
               "/properties/a/anyOf/0/type",
               "expected null, got "
               "integer") "}," UNIT("/properties/a/anyOf/1/type",
                                    "expected string, got integer") "}," UNIT("/properties/a/anyOf",
                                                                              NONE) "}]}");
    output(schema, "{\"a\":1}", CW_SCHEMA_DETAILED,
           "{\"valid\":false,\"errors\":[" UNIT("/properties/a/anyOf", NONE) ",\"errors\":[" UNIT(
               "/properties/a/anyOf/0/type",
               "expected null, got integer") "}," UNIT("/properties/a/anyOf/1/type",
                                                       "expected string, got integer") "}]}]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_types_and_values_are_named),
        cmocka_unit_test(wrong_arrays_and_objects_are_named),
        cmocka_unit_test(logic_is_named),
        cmocka_unit_test(the_first_problems_in_the_order_of_the_instance_are_kept),
        cmocka_unit_test(a_problem_knows_where_it_comes_from),
        cmocka_unit_test(long_values_are_shortened),
        cmocka_unit_test(output_has_the_standard_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
