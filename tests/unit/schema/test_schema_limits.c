/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hostile schemas and instances: each ends at its ceiling, with an error and in time. */
#include <time.h>

#include "base/limits.h"
#include "support/schema_fixture.h"

/* Processor time: other programs do not count. */
static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* `n` times `open`, then `middle`, then `n` times `close`. */
static char *nested(const char *open, const char *middle, const char *close, size_t n)
{
    cw_buf b;
    cw_buf_init(&b, 64u << 20);
    for (size_t i = 0; i < n; i++)
        cw_buf_add(&b, cw_str_from(open));
    cw_buf_add(&b, cw_str_from(middle));
    for (size_t i = 0; i < n; i++)
        cw_buf_add(&b, cw_str_from(close));
    char *text = cw_buf_take(&b, NULL);
    assert_non_null(text);
    return text;
}

TEST(threat_B6_schemas_nest_only_so_deep)
{
    cw_err err;
    char *fits = nested("{\"not\":", "{}", "}", CW_SCHEMA_MAX_DEPTH);
    char *deep = nested("{\"not\":", "{}", "}", CW_SCHEMA_MAX_DEPTH + 1);
    char *deeper = nested("{\"not\":", "{}", "}", 500);
    assert_int_equal(schema_compile_error(fits, NULL, &err), CW_OK);
    assert_int_equal(schema_compile_error(deep, NULL, &err), CW_LIMIT);
    assert_non_null(strstr(err.msg, "nested deeper than 64"));
    assert_int_equal(schema_compile_error(deeper, NULL, &err), CW_LIMIT);
    const cw_schema_opts more = {.max_depth = 100};
    assert_int_equal(schema_compile_error(deep, &more, &err), CW_OK);
    free(fits);
    free(deep);
    free(deeper);
}

static char *many_properties(size_t n, const char *value)
{
    cw_buf b;
    cw_buf_init(&b, 64u << 20);
    cw_buf_add(&b, CW_STR("{\"properties\":{"));
    for (size_t i = 0; i < n; i++)
        cw_buf_printf(&b, "%s\"p%zu\":%s", i ? "," : "", i, value);
    cw_buf_add(&b, CW_STR("}}"));
    char *text = cw_buf_take(&b, NULL);
    assert_non_null(text);
    return text;
}

TEST(threat_B6_subschemas_are_counted)
{
    cw_err err;
    char *fits = many_properties(CW_SCHEMA_MAX_SUBSCHEMAS - 1, "{\"type\":\"null\"}");
    char *more = many_properties(CW_SCHEMA_MAX_SUBSCHEMAS, "{\"type\":\"null\"}");
    double start = now_ms();
    assert_int_equal(schema_compile_error(fits, NULL, &err), CW_OK);
    assert_int_equal(schema_compile_error(more, NULL, &err), CW_LIMIT);
    assert_non_null(strstr(err.msg, "more than 10000 subschemas"));
    assert_true(now_ms() - start < 2000);
    const cw_schema_opts few = {.max_subschemas = 3};
    assert_int_equal(schema_compile_error("{\"anyOf\":[{},{}]}", &few, &err), CW_OK);
    assert_int_equal(schema_compile_error("{\"anyOf\":[{},{},{}]}", &few, &err), CW_LIMIT);
    free(fits);
    free(more);
}

TEST(threat_B6_patterns_of_a_schema_have_a_size_together)
{
    cw_err err;
    char *fits = many_properties(100, "{\"pattern\":\"(?=a)(abc|def){1,900}$\"}");
    char *more = many_properties(3000, "{\"pattern\":\"(?=a)(abc|def){1,900}$\"}");
    assert_int_equal(schema_compile_error(fits, NULL, &err), CW_OK);
    assert_int_equal(schema_compile_error(more, NULL, &err), CW_LIMIT);
    assert_non_null(strstr(err.msg, "/pattern: the patterns of the schema take more than 16 MiB"));
    free(fits);
    free(more);
}

TEST(documents_have_a_size)
{
    cw_err err;
    const cw_schema_opts small = {.max_bytes = 20};
    assert_int_equal(schema_compile_error("{\"type\":\"string\"}", &small, &err), CW_OK);
    assert_int_equal(schema_compile_error("{\"type\":\"string\"    }", &small, &err), CW_LIMIT);
}

TEST(references_in_a_row_are_counted)
{
    cw_buf b;
    cw_buf_init(&b, 1 << 20);
    cw_buf_add(&b, CW_STR("{\"$ref\":\"#/$defs/0\",\"$defs\":{"));
    for (int i = 0; i < 70; i++)
        cw_buf_printf(&b, "\"%d\":{\"$ref\":\"#/$defs/%d\"},", i, i + 1);
    cw_buf_add(&b, CW_STR("\"70\":{\"type\":\"null\"}}}"));
    char *text = cw_buf_take(&b, NULL);
    cw_err err;
    assert_int_equal(schema_compile_error(text, NULL, &err), CW_LIMIT);
    assert_non_null(strstr(err.msg, "more than 64 references in a row"));
    const cw_schema_opts more = {.max_refs = 100};
    assert_int_equal(schema_check_text(text, "null", &more), CW_OK);
    assert_int_equal(schema_check_text(text, "1", &more), CW_PARAMS);
    free(text);
}

TEST(threat_B6_endless_recursion_is_neither_valid_nor_invalid)
{
    const char *loops[] = {
        "{\"allOf\":[{\"$ref\":\"#\"}]}",
        "{\"not\":{\"$ref\":\"#\"}}",
        "{\"anyOf\":[{\"$ref\":\"#\"},{\"type\":\"null\"}]}",
        "{\"oneOf\":[{\"$ref\":\"#\"}]}",
        "{\"if\":{\"$ref\":\"#\"},\"then\":true,\"else\":true}",
        "{\"$ref\":\"#/$defs/a\",\"title\":\"x\",\"$defs\":{\"a\":{\"$ref\":\"#\",\"minimum\":0}}}",
        "{\"$dynamicRef\":\"#x\",\"$dynamicAnchor\":\"x\",\"unevaluatedItems\":false}",
        "{\"dependentSchemas\":{\"a\":{\"$ref\":\"#\"}},\"unevaluatedProperties\":false}",
    };
    for (size_t i = 0; i < CW_COUNT(loops); i++) {
        cw_code rc =
            schema_check_text(loops[i], i == CW_COUNT(loops) - 1 ? "{\"a\":1}" : "5", NULL);
        if (rc != CW_LIMIT)
            fail_msg("%s: %s", loops[i], cw_code_text(rc));
    }
}

TEST(a_limit_under_not_is_not_valid)
{
    const cw_schema_opts few = {.max_steps = 30};
    const char *instance = "[1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1]";
    const char *schemas[] = {
        "{\"not\":{\"items\":{\"type\":\"string\",\"minLength\":1}}}",
        "{\"items\":{\"type\":\"integer\"}}",
        "{\"contains\":{\"minimum\":100}}",
        "{\"uniqueItems\":true}",
    };
    for (size_t i = 0; i < CW_COUNT(schemas); i++) {
        cw_arena a;
        cw_arena_init(&a, 1 << 20);
        cw_schema *s = must_compile_schema(schemas[i], &few);
        cw_code rc = cw_schema_validate(s, read_deep_json(&a, cw_str_from(instance)), NULL);
        if (rc != CW_LIMIT)
            fail_msg("%s: %s", schemas[i], cw_code_text(rc));
        cw_schema_unref(s);
        cw_arena_done(&a);
    }
}

/* Each level refers to the next one twice: 2^40 evaluations without a budget. */
TEST(threat_B6_a_bomb_of_references_ends_in_time)
{
    cw_buf b;
    cw_buf_init(&b, 1 << 20);
    cw_buf_add(&b, CW_STR("{\"$ref\":\"#/$defs/0\",\"$defs\":{"));
    for (int i = 0; i < 40; i++)
        cw_buf_printf(&b,
                      "\"%d\":{\"allOf\":[{\"$ref\":\"#/$defs/%d\"},{\"$ref\":\"#/$defs/%d\"}]},",
                      i, i + 1, i + 1);
    cw_buf_add(&b, CW_STR("\"40\":{\"minimum\":0}}}"));
    char *text = cw_buf_take(&b, NULL);
    double start = now_ms();
    assert_int_equal(schema_check_text(text, "5", NULL), CW_LIMIT);
    assert_true(now_ms() - start < 10000);
    free(text);
}

TEST(threat_B5_hostile_patterns_end_in_time_and_are_not_valid)
{
    const char *text = "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"";
    double start = now_ms();
    cw_code rc = schema_check_text("{\"pattern\":\"^(?=x*)((a+)\\\\2?)+$\"}", text, NULL);
    assert_true(rc == CW_LIMIT || rc == CW_PARAMS);
    cw_code under =
        schema_check_text("{\"not\":{\"pattern\":\"^(?=x*)((a+)\\\\2?)+$\"}}", text, NULL);
    if (rc == CW_LIMIT)
        assert_int_equal(under, CW_LIMIT);
    assert_true(now_ms() - start < 1000);
}

TEST(ten_thousand_properties_and_required_names_are_fine)
{
    cw_buf schema;
    cw_buf instance;
    cw_buf_init(&schema, 8u << 20);
    cw_buf_init(&instance, 8u << 20);
    cw_buf_add(&schema, CW_STR("{\"additionalProperties\":false,\"properties\":{"));
    for (int i = 0; i < 9000; i++) {
        cw_buf_printf(&schema, "%s\"name%d\":{\"type\":\"integer\"}", i ? "," : "", i);
        cw_buf_printf(&instance, "%s\"name%d\":%d", i ? "," : "{", i, i);
    }
    cw_buf_add(&schema, CW_STR("},\"required\":["));
    for (int i = 0; i < 9000; i++)
        cw_buf_printf(&schema, "%s\"name%d\"", i ? "," : "", i);
    cw_buf_add(&schema, CW_STR("]}"));
    cw_buf_add_char(&instance, '}');
    char *schema_text = cw_buf_take(&schema, NULL);
    char *text = cw_buf_take(&instance, NULL);
    cw_schema *s = must_compile_schema(schema_text, NULL);
    cw_arena a;
    cw_arena_init(&a, 64u << 20);
    const cw_json *v = read_deep_json(&a, cw_str_from(text));
    double start = now_ms();
    assert_int_equal(cw_schema_validate(s, v, NULL), CW_OK);
    assert_true(now_ms() - start < 200);
    /* One is missing, another is there instead of it. */
    memcpy(strstr(text, "name77\""), "nama77", 6);
    assert_int_equal(cw_schema_validate(s, read_deep_json(&a, cw_str_from(text)), NULL), CW_PARAMS);
    cw_arena_done(&a);
    cw_schema_unref(s);
    free(schema_text);
    free(text);
}

TEST(long_arrays_are_unique_in_time)
{
    cw_buf b;
    cw_buf_init(&b, 16u << 20);
    for (int i = 0; i < 100000; i++)
        cw_buf_printf(&b, "%s{\"id\":%d}", i ? "," : "[", i);
    cw_buf_add_char(&b, ']');
    char *text = cw_buf_take(&b, NULL);
    cw_arena a;
    cw_arena_init(&a, 256u << 20);
    cw_schema *s = must_compile_schema("{\"uniqueItems\":true}", NULL);
    const cw_json *v = read_deep_json(&a, cw_str_from(text));
    double start = now_ms();
    assert_int_equal(cw_schema_validate(s, v, NULL), CW_OK);
    assert_true(now_ms() - start < 2000);
    cw_schema_unref(s);
    cw_arena_done(&a);
    free(text);
}

TEST(deep_instances_are_followed_to_the_limit)
{
    const char *tree = "{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"type\":\"object\"}";
    char *deep = nested("{\"a\":", "{}", "}", 900);
    char *wrong = nested("{\"a\":", "5", "}", 900);
    assert_int_equal(schema_check_text(tree, deep, NULL), CW_OK);
    assert_int_equal(schema_check_text(tree, wrong, NULL), CW_PARAMS);
    const cw_schema_opts few = {.max_recursion = 800};
    assert_int_equal(schema_check_text(tree, deep, &few), CW_LIMIT);
    free(deep);
    free(wrong);
}

TEST(divisors_have_a_size)
{
    char text[600];
    memset(text, '7', sizeof text);
    memcpy(text, "{\"multipleOf\":", 14);
    memcpy(text + sizeof text - 2, "}", 2);
    cw_err err;
    assert_int_equal(schema_compile_error(text, NULL, &err), CW_LIMIT);
    memcpy(text + 300, "}", 2);
    assert_int_equal(schema_check_text(text, "1e600", NULL), CW_PARAMS);
    assert_int_equal(schema_check_text(text, "0", NULL), CW_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threat_B6_schemas_nest_only_so_deep),
        cmocka_unit_test(threat_B6_subschemas_are_counted),
        cmocka_unit_test(threat_B6_patterns_of_a_schema_have_a_size_together),
        cmocka_unit_test(documents_have_a_size),
        cmocka_unit_test(references_in_a_row_are_counted),
        cmocka_unit_test(threat_B6_endless_recursion_is_neither_valid_nor_invalid),
        cmocka_unit_test(a_limit_under_not_is_not_valid),
        cmocka_unit_test(threat_B6_a_bomb_of_references_ends_in_time),
        cmocka_unit_test(threat_B5_hostile_patterns_end_in_time_and_are_not_valid),
        cmocka_unit_test(ten_thousand_properties_and_required_names_are_fine),
        cmocka_unit_test(long_arrays_are_unique_in_time),
        cmocka_unit_test(deep_instances_are_followed_to_the_limit),
        cmocka_unit_test(divisors_have_a_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
