/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Empty lists of PHP that become objects: which schemas apply to a value, and the ceilings. */
#include "source/remote/remote_int.h"
#include "support/oom.h"
#include "support/openrpc_fixture.h"
#include "support/test.h"

typedef struct result_case {
    const char *schema, *written, *read;
} result_case;

/* The result as callers get it; "" without memory. */
static cw_str decode(const char *schema, const char *written, cw_arena *arena)
{
    const cw_remote_php_schema *s = NULL;
    const cw_json *result = NULL;
    cw_err err = {0};
    cw_code rc = cw_remote_read_php_schema(cw_str_from(schema), arena, &s, &err);
    if (!rc)
        rc = cw_json_read(cw_str_from(written), NULL, arena, &result, NULL, &err);
    if (!rc)
        rc = cw_remote_decode_php_result(s, arena, &result);
    if (rc && (rc != CW_NOMEM || !oom_was_hit()))
        fail_msg("%s: %s: %s", schema, cw_code_text(rc), err.msg);
    return rc ? CW_STR("") : cw_json_span(result);
}

static void check(const char *schema, const char *written, const char *read)
{
    cw_arena arena;
    cw_arena_init(&arena, 64u << 20);
    cw_str got = decode(schema, written, &arena);
    if (!cw_str_is(got, read))
        fail_msg("%.200s\n%.200s\n%.*s instead of %s", schema, written, (int)(got.n % 300), got.p,
                 read);
    cw_arena_done(&arena);
}

static void check_all(const result_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check(cases[i].schema, cases[i].written, cases[i].read);
}

#define OBJECT "{\"type\":\"object\"}"
#define LIST "{\"type\":\"array\"}"

TEST(members_have_the_schemas_of_their_names_and_patterns)
{
    static const result_case cases[] = {
        {"{\"properties\":{\"a\":" OBJECT "}}", "{\"a\":[],\"b\":[]}", "{\"a\":{},\"b\":[]}"},
        {"{\"patternProperties\":{\"^x_\":" OBJECT "}}", "{\"x_1\":[],\"y\":[]}",
         "{\"x_1\":{},\"y\":[]}"},
        {"{\"patternProperties\":{\"^x\":" LIST "},\"additionalProperties\":" OBJECT "}",
         "{\"x\":[],\"y\":[]}", "{\"x\":[],\"y\":{}}"},
        {"{\"properties\":{\"a\":{}},\"additionalProperties\":" OBJECT "}", "{\"a\":[]}",
         "{\"a\":[]}"},
        /* All that match count. */
        {"{\"properties\":{\"a\":{}},\"patternProperties\":{\"a\":" OBJECT "}}", "{\"a\":[]}",
         "{\"a\":{}}"},
        {"{\"patternProperties\":{\"a\":" OBJECT ",\"b\":" LIST "}}",
         "{\"a\":[],\"b\":[],\"ab\":[]}", "{\"a\":{},\"b\":[],\"ab\":[]}"},
        /* Patterns within the schema of a pattern, and one that cannot be read. */
        {"{\"patternProperties\":{\"a\":{\"patternProperties\":{\"x\":" OBJECT "}},\"b\":" OBJECT
         "}}",
         "{\"a\":{\"x\":[]},\"b\":[]}", "{\"a\":{\"x\":{}},\"b\":{}}"},
        {"{\"patternProperties\":{\"(\":" LIST "},\"additionalProperties\":" OBJECT "}",
         "{\"a\":[]}", "{\"a\":[]}"},
    };
    check_all(cases, CW_COUNT(cases));
}

TEST(elements_have_the_schemas_of_their_places)
{
    static const result_case cases[] = {
        {"{\"items\":" OBJECT "}", "[[],[1],[]]", "[{},[1],{}]"},
        {"{\"prefixItems\":[" LIST "," OBJECT "]}", "[[],[],[]]", "[[],{},[]]"},
        {"{\"prefixItems\":[" LIST "],\"items\":" OBJECT "}", "[[],[],[]]", "[[],{},{}]"},
        {"{\"items\":[" LIST "," OBJECT "]}", "[[],[],[]]", "[[],{},[]]"},
        {"{\"items\":[" LIST "],\"additionalItems\":" OBJECT "}", "[[],[],[]]", "[[],{},{}]"},
    };
    check_all(cases, CW_COUNT(cases));
}

TEST(alternatives_and_references_apply_too)
{
    static const result_case cases[] = {
        {"{\"anyOf\":[{\"type\":\"null\"}," OBJECT "]}", "[]", "{}"},
        {"{\"anyOf\":[" OBJECT "," LIST "]}", "[]", "[]"},
        {"{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":" OBJECT "}}", "[]", "{}"},
        {"{\"$ref\":\"#/$defs/a\",\"properties\":{\"b\":" OBJECT "},\"$defs\":{\"a\":{}}}",
         "{\"b\":[]}", "{\"b\":{}}"},
        {"{\"$ref\":\"#\"}", "[]", "[]"},
        {"{\"allOf\":[{\"$ref\":\"#\"},{\"properties\":{\"a\":" OBJECT "}}]}", "{\"a\":[]}",
         "{\"a\":{}}"},
        {"{\"allOf\":[{\"properties\":{\"a\":{}}},{\"properties\":{\"a\":" OBJECT "}}]}",
         "{\"a\":[]}", "{\"a\":{}}"},
        {"{\"dependentSchemas\":{\"b\":{\"properties\":{\"a\":" OBJECT "}}}}",
         "[{\"a\":[]},{\"a\":[],\"b\":1}]", "[{\"a\":[]},{\"a\":[],\"b\":1}]"},
        {"{\"items\":{\"dependentSchemas\":{\"b\":{\"properties\":{\"a\":" OBJECT "}}}}}",
         "[{\"a\":[]},{\"a\":[],\"b\":1}]", "[{\"a\":[]},{\"a\":{},\"b\":1}]"},
        {"{\"dependencies\":{\"b\":{\"properties\":{\"a\":" OBJECT "}},\"c\":[\"a\"]}}",
         "{\"a\":[],\"b\":1,\"c\":2}", "{\"a\":{},\"b\":1,\"c\":2}"},
        /* No schemas. */
        {"true", "[]", "[]"},
        {"{\"items\":true,\"properties\":[],\"anyOf\":{},\"patternProperties\":[],\"type\":[1]}",
         "[[]]", "[[]]"},
        {"{\"$ref\":\"other.json\"}", "[]", "[]"},
    };
    check_all(cases, CW_COUNT(cases));
}

#define WITH_DATA(kind, schema)                                                                    \
    "{\"properties\":{\"kind\":" kind ",\"data\":" schema "},\"required\":[\"kind\"]}"

TEST(a_const_or_enum_decides_between_schemas)
{
    static const char alternatives[] = "{\"items\":{\"oneOf\":[" WITH_DATA(
        "{\"const\":\"a\"}", OBJECT) "," WITH_DATA("{\"enum\":[\"b\",\"c\"]}", LIST) "]}}";
    check(alternatives, "[{\"kind\":\"a\",\"data\":[]},{\"kind\":\"c\",\"data\":[]},{\"data\":[]}]",
          "[{\"kind\":\"a\",\"data\":{}},{\"kind\":\"c\",\"data\":[]},{\"data\":[]}]");
    static const char conditional[] =
        "{\"items\":{\"if\":{\"type\":\"object\",\"properties\":{\"kind\":{\"const\":1}},"
        "\"required\":[\"kind\"]},\"then\":{\"properties\":{\"data\":" OBJECT "}},"
        "\"else\":{\"properties\":{\"data\":" LIST "}}}}";
    check(conditional, "[{\"kind\":1.0,\"data\":[]},{\"kind\":2,\"data\":[]},{\"data\":[]}]",
          "[{\"kind\":1.0,\"data\":{}},{\"kind\":2,\"data\":[]},{\"data\":[]}]");
    check("{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"object\",\"const\":{}}}}]}", "{\"a\":[]}",
          "{\"a\":{}}");
}

/* Both may hold, and one of them declares a list. */
TEST(a_condition_with_other_keywords_decides_nothing)
{
    static const char schema[] =
        "{\"if\":{\"properties\":{\"n\":{\"minimum\":5}}},\"then\":{\"properties\":{"
        "\"data\":" OBJECT ",\"more\":" OBJECT "}},\"else\":{\"properties\":{\"data\":" LIST "}}}";
    check(schema, "{\"n\":9,\"data\":[],\"more\":[]}", "{\"n\":9,\"data\":[],\"more\":{}}");
    static const char by_reference[] = "{\"if\":{\"$ref\":\"#/$defs/one\"},\"then\":" WITH_DATA(
        "true", OBJECT) ",\"else\":" WITH_DATA("true", LIST) ",\"$defs\":{\"one\":{\"properties\":{"
                                                             "\"kind\":{\"const\":1}}}}}";
    check(by_reference, "{\"kind\":1,\"data\":[]}", "{\"kind\":1,\"data\":{}}");
    check("{\"if\":{\"$ref\":\"#/if\"},\"then\":{\"properties\":{\"a\":" OBJECT "}}}", "{\"a\":[]}",
          "{\"a\":{}}");
}

TEST(a_value_has_a_number_of_schemas)
{
    static const char item[] = "{\"title\":\"%\",\"type\":\"object\"}";
    char *most = repeat_item("{\"anyOf\":[", item, 127, "]}");
    char *more = repeat_item("{\"anyOf\":[", item, 128, "]}");
    check(most, "[]", "{}");
    check(more, "[]", "[]");
    free(most);
    free(more);
}

/* A step for the list, then two for each element. Numbers cost nothing. */
TEST(a_result_has_a_number_of_steps)
{
    char *lists = repeat_item("[", "{\"%\":[]}", 100000, "]");
    char *numbers = repeat_item("[", "%", 200001, ",[]]");
    cw_arena arena;
    cw_arena_init(&arena, 64u << 20);
    cw_str got = decode("{\"items\":{\"additionalProperties\":" OBJECT "}}", lists, &arena);
    assert_true(cw_str_ends(got, CW_STR(",{\"99998\":{}},{\"99999\":[]}]")));
    got = decode("{\"items\":" OBJECT "}", numbers, &arena);
    assert_true(cw_str_ends(got, CW_STR(",200000,{}]")));
    cw_arena_done(&arena);
    free(lists);
    free(numbers);
}

/* An object with an empty list behind n other members, and the schema of objects like it. */
static void check_after(const char *schema, size_t n, bool is_read)
{
    char *members = repeat_item("{", "\"q%\":0", n, ",\"d\":[]}");
    cw_arena arena;
    cw_arena_init(&arena, 64u << 20);
    cw_str got = decode(schema, members, &arena);
    if (!cw_str_ends(got, is_read ? CW_STR("\"d\":{}}") : CW_STR("\"d\":[]}")))
        fail_msg("%.200s with %zu members", schema, n);
    cw_arena_done(&arena);
    free(members);
}

/* Names are compared one by one, and each of them counts. */
TEST(a_result_has_a_number_of_entries_that_are_compared)
{
    char *named = repeat_item("{\"properties\":{\"d\":" OBJECT ",", "\"p%\":{}", 9900, "}}");
    char *few = repeat_item("{", "\"q%\":[]", 500, ",\"d\":[]}");
    char *many = repeat_item("{", "\"q%\":[]", 2000, ",\"d\":[]}");
    char *referred = repeat_item("{\"items\":{\"$ref\":\"#/$defs/d\"},\"$defs\":{\"d\":" OBJECT ",",
                                 "\"p%\":{}", 9900, "}}");
    char *elements = repeat_item("[[],", "[%]", 2000, ",[]]");
    cw_arena arena;
    cw_arena_init(&arena, 64u << 20);
    assert_true(cw_str_ends(decode(named, few, &arena), CW_STR("\"d\":{}}")));
    assert_true(cw_str_ends(decode(named, many, &arena), CW_STR("\"d\":[]}")));
    cw_str got = decode(referred, elements, &arena);
    assert_true(cw_str_starts(got, CW_STR("[{},[0],")));
    assert_true(cw_str_ends(got, CW_STR(",[]]")));
    cw_arena_done(&arena);
    free(named);
    free(few);
    free(many);
    free(referred);
    free(elements);
}

TEST(entries_that_a_condition_compares_count_too)
{
    char *names = repeat_item("{\"if\":{\"required\":[", "\"q%\"", 2000,
                              "]},\"then\":{\"properties\":{\"d\":" OBJECT "}}}");
    char *members = repeat_item("{\"if\":{\"properties\":{", "\"p%\":{}", 2000,
                                "}},\"then\":{\"properties\":{\"d\":" OBJECT "}}}");
    check_after(names, 3200, /* is_read= */ true);
    check_after(names, 9900, /* is_read= */ false);
    check_after(members, 3200, /* is_read= */ true);
    check_after(members, 9900, /* is_read= */ false);
    free(names);
    free(members);
}

/* Whether all empty lists of a result become objects. Each '@' is replaced by that many letters. */
static void check_long(const char *schema, const char *written, size_t n_letters, bool is_read)
{
    char *texts[2];
    for (size_t i = 0; i < CW_COUNT(texts); i++) {
        cw_buf text;
        cw_buf_init(&text, 64u << 20);
        for (const char *p = i ? written : schema; *p; p++) {
            for (size_t k = 0; k < (*p == '@' ? n_letters : 1); k++)
                cw_buf_add_char(&text, *p == '@' ? 'a' : *p);
        }
        texts[i] = cw_buf_take(&text, NULL);
        assert_non_null(texts[i]);
    }
    cw_arena arena;
    cw_arena_init(&arena, 256u << 20);
    cw_str got = decode(texts[0], texts[1], &arena);
    if (!memmem(got.p, got.n, "[]", 2) != is_read)
        fail_msg("%.200s with %zu letters", schema, n_letters);
    cw_arena_done(&arena);
    free(texts[0]);
    free(texts[1]);
}

/* A long pointer is read again for each element. */
TEST(bytes_of_a_reference_count_too)
{
    char *elements = repeat_item("[[],", "[%]", 1000, ",[]]");
    check_long("{\"items\":{\"$ref\":\"#/$defs/@\"},\"$defs\":{\"@\":" OBJECT "}}", elements,
               450000,
               /* is_read= */ false);
    check_long("{\"items\":{\"$ref\":\"#/$defs/d\"},\"$defs\":{\"d\":{\"type\":\"object\","
               "\"title\":\"@@\"}}}",
               elements, 450000, /* is_read= */ true);
    char *alike = repeat_item("{\"items\":{\"$ref\":\"#/$defs/@~0\"},\"$defs\":{\"@~\":" OBJECT ",",
                              "\"@%\":{}", 40, "}}");
    check_long(alike, elements, 10000, /* is_read= */ false);
    check_long(alike, elements, 20, /* is_read= */ true);
    free(alike);
    free(elements);
}

TEST(bytes_of_names_and_texts_that_are_compared_count_too)
{
    char *names = repeat_item("{\"if\":{\"required\":[", "\"@%\"", 600,
                              "]},\"then\":{\"properties\":{\"d\":{\"items\":" OBJECT "}}}}");
    char *members = repeat_item("{", "\"@%\":0", 600, ",\"d\":[[]]}");
    check_long(names, members, 2000, /* is_read= */ false);
    check_long(names, members, 20, /* is_read= */ true);
    char *texts =
        repeat_item("{\"items\":{\"if\":{\"properties\":{\"k\":{\"enum\":[", "\"@%\"", 250,
                    "]}}},\"else\":{\"properties\":{\"d\":{\"items\":" OBJECT "}}}}}");
    char *objects = repeat_item("[", "{\"k\":\"@x%\",\"d\":[[]]}", 1000, "]");
    check_long(texts, objects, 1600, /* is_read= */ false);
    check_long(texts, objects, 16, /* is_read= */ true);
    free(objects);
    free(names);
    free(members);
    free(texts);
}

TEST(alternatives_that_are_no_schemas_count_too)
{
    char *many = repeat_item("{\"items\":{\"type\":\"object\",\"anyOf\":[", "%", 20000, "]}}");
    char *few = repeat_item("{\"items\":{\"type\":\"object\",\"anyOf\":[", "%", 2000, "]}}");
    char *elements = repeat_item("[[],", "[%]", 1000, ",[]]");
    check_long(many, elements, 0, /* is_read= */ false);
    check_long(few, elements, 0, /* is_read= */ true);
    free(many);
    free(few);
    free(elements);
}

TEST(a_schema_has_a_number_of_patterns)
{
    char *most = repeat_item("{\"patternProperties\":{", "\"^p%$\":" OBJECT, 1000, "}}");
    char *more = repeat_item("{\"patternProperties\":{", "\"^p%$\":" OBJECT, 1001, "}}");
    check(most, "{\"p999\":[],\"q\":[]}", "{\"p999\":{},\"q\":[]}");
    check(more, "{\"p999\":[]}", "{\"p999\":[]}");
    free(most);
    free(more);
}

TEST(patterns_of_a_schema_have_a_size_together)
{
    static const char item[] = "\"^(?=p%)p(ab|[0-9]){1,600}$\":" OBJECT;
    char *few = repeat_item("{\"patternProperties\":{", item, 1, "}}");
    char *many = repeat_item("{\"patternProperties\":{", item, 1000, "}}");
    check(few, "{\"p0\":[]}", "{\"p0\":{}}");
    check(many, "{\"p999\":[]}", "{\"p999\":[]}");
    free(few);
    free(many);
}

/* Its schema may declare a list. */
TEST(a_member_whose_pattern_is_too_hard_stays_as_it_is)
{
    check("{\"patternProperties\":{\"^(?=a)(a+)+$\":" LIST "},\"additionalProperties\":" OBJECT "}",
          "{\"b\":[],\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\":[]}",
          "{\"b\":{},\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\":[]}");
}

static void decode_once(void *ctx)
{
    (void)ctx;
    cw_arena arena;
    cw_arena_init(&arena, 1u << 20);
    (void)decode("{\"patternProperties\":{\"^x_\":" OBJECT ",\"(a|b)c+d?$\":" OBJECT "}}",
                 "{\"x_1\":[],\"acd\":[]}", &arena);
    cw_arena_done(&arena);
}

TEST(every_failed_allocation_is_reported)
{
    assert_true(oom_each(decode_once, NULL) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_have_the_schemas_of_their_names_and_patterns),
        cmocka_unit_test(elements_have_the_schemas_of_their_places),
        cmocka_unit_test(alternatives_and_references_apply_too),
        cmocka_unit_test(a_const_or_enum_decides_between_schemas),
        cmocka_unit_test(a_condition_with_other_keywords_decides_nothing),
        cmocka_unit_test(a_value_has_a_number_of_schemas),
        cmocka_unit_test(a_result_has_a_number_of_steps),
        cmocka_unit_test(a_result_has_a_number_of_entries_that_are_compared),
        cmocka_unit_test(entries_that_a_condition_compares_count_too),
        cmocka_unit_test(bytes_of_a_reference_count_too),
        cmocka_unit_test(bytes_of_names_and_texts_that_are_compared_count_too),
        cmocka_unit_test(alternatives_that_are_no_schemas_count_too),
        cmocka_unit_test(a_schema_has_a_number_of_patterns),
        cmocka_unit_test(patterns_of_a_schema_have_a_size_together),
        cmocka_unit_test(a_member_whose_pattern_is_too_hard_stays_as_it_is),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests_name("php_result", tests, NULL, NULL);
}
