/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Schemas that every model API accepts. */
#include "schema/rewrite/portable.h"
#include "support/json_fixture.h"
#include "support/oom.h"
#include "support/schema_fixture.h"

#define OLD "\"$schema\":\"http://json-schema.org/draft-07/schema#\","
#define MORE "The server checks more rules than this schema shows."
#define ANY "{\"description\":\"Any value: the schema repeats itself here.\"}"

/* An object schema with these members before its properties. */
#define OBJECT(members, properties)                                                                \
    "{" members "\"type\":\"object\",\"properties\":{" properties "}}"

static void shows(const char *schema, const char *text, const char *note)
{
    cw_arena arena;
    cw_schema_portable found;
    cw_arena_init(&arena, 1 << 24);
    const cw_json *doc = read_deep_json(&arena, cw_str_from(schema));
    assert_false(cw_schema_is_portable(doc, CW_SCHEMA_2020_12));
    assert_int_equal(cw_schema_make_portable(doc, CW_SCHEMA_2020_12, &arena, &found), CW_OK);
    assert_str(found.text, text);
    assert_str(found.note, note);
    /* It is a schema itself, and needs no rewriting. */
    const cw_json *again = read_deep_json(&arena, found.text);
    if (!strstr(text, "$ref"))
        assert_true(cw_schema_is_portable(again, CW_SCHEMA_2020_12));
    char *copy = cw_arena_dup(&arena, found.text.p, found.text.n);
    cw_schema_unref(must_compile_schema(copy, NULL));
    cw_arena_done(&arena);
}

/* The schema of one property. */
static void shows_property(const char *schema, const char *text, const char *note)
{
    char before[4096], after[4096];
    snprintf(before, sizeof before, OBJECT("", "\"a\":%s"), schema);
    snprintf(after, sizeof after, OBJECT("", "\"a\":%s"), text);
    shows(before, after, note);
}

static void stays(const char *schema)
{
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    const cw_json *doc = read_deep_json(&arena, cw_str_from(schema));
    if (!cw_schema_is_portable(doc, CW_SCHEMA_2020_12))
        fail_msg("not portable: %s", schema);
    cw_arena_done(&arena);
}

TEST(a_portable_schema_stays)
{
    stays(OBJECT("", ""));
    stays(OBJECT("", "\"a\":{\"type\":\"array\",\"items\":{}},\"b-c.d_1\":{\"enum\":[1,\"x\"]}"));
    stays(OBJECT("", "\"a\":{\"anyOf\":[{\"type\":\"null\"},{\"oneOf\":[{\"minimum\":1}]}]}"));
    stays(OBJECT(OLD, "\"a\":{\"type\":\"string\"}"));
    stays(OBJECT("\"dependentRequired\":{\"a\":[\"b\"]},", "\"a\":{\"default\":{\"$ref\":\"#\"}}"));
    stays(OBJECT(
        "",
        "\"a\":{\"prefixItems\":[{}],\"items\":{}},\"ref\":{\"const\":1,\"type\":\"integer\"}"));
}

TEST(branches_of_any_of_are_described)
{
    shows("{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},"
          "\"anyOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}",
          OBJECT("", "\"a\":{},\"b\":{}"), "Give `a` or `b`.");
    shows("{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{},\"c\":{}},\"required\":[\"c\"],"
          "\"oneOf\":[{\"required\":[\"a\",\"c\"]},{\"required\":[\"b\",\"a\"]}]}",
          "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{},\"c\":{}},"
          "\"required\":[\"a\",\"c\"]}",
          MORE);
    shows("{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{},\"c\":{}},"
          "\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\",\"c\"]}]}",
          OBJECT("", "\"a\":{},\"b\":{},\"c\":{}"), "Give exactly one: `a` or `b` and `c`.");
}

TEST(properties_of_branches_join_and_stay_open)
{
    shows("{\"type\":\"object\",\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"string\"}},"
          "\"additionalProperties\":false},{\"properties\":{\"a\":{\"type\":\"null\"}},"
          "\"additionalProperties\":false}]}",
          OBJECT("", "\"a\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}"), MORE);
    /* The second branch accepts any `a`. */
    shows("{\"type\":\"object\",\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"string\"}}},"
          "{\"required\":[\"b\"]}]}",
          OBJECT("", "\"a\":{\"anyOf\":[{\"type\":\"string\"},{}]}"), MORE);
    /* A false branch does not count. */
    shows("{\"type\":\"object\",\"anyOf\":[false,{\"properties\":{\"a\":{\"type\":\"string\"}},"
          "\"required\":[\"a\"]}]}",
          "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]}",
          MORE);
}

TEST(certain_parts_are_joined)
{
    shows("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"allOf\":["
          "{\"properties\":{\"a\":{\"maxLength\":3},\"b\":{}},\"required\":[\"b\"]},"
          "{\"required\":[\"a\"]}]}",
          "{\"type\":\"object\",\"properties\":{\"a\":{\"allOf\":[{\"type\":\"string\"},"
          "{\"maxLength\":3}]},\"b\":{}},\"required\":[\"a\",\"b\"]}",
          "");
    shows("{\"$ref\":\"#/$defs/in\",\"$defs\":{\"in\":{\"type\":\"object\",\"properties\":{\"a\":"
          "{\"$ref\":\"#/$defs/n\"}},\"required\":[\"a\"],\"additionalProperties\":false},"
          "\"n\":{\"type\":\"integer\"}}}",
          "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"],"
          "\"additionalProperties\":false}",
          "");
}

TEST(closing_keywords_that_rely_on_a_branch_go)
{
    shows("{\"type\":\"object\",\"unevaluatedProperties\":false,"
          "\"anyOf\":[{\"properties\":{\"a\":{}}},{\"properties\":{\"b\":{}}}]}",
          OBJECT("", "\"a\":{\"anyOf\":[{},{}]},\"b\":{\"anyOf\":[{},{}]}"), MORE);
    shows("{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"a\":{}},"
          "\"not\":{\"required\":[\"a\"]}}",
          "{\"type\":\"object\",\"properties\":{\"a\":{}},\"additionalProperties\":false}",
          "Do not give `a`.");
}

TEST(conditions_are_described)
{
    shows("{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"string\"},\"r\":{}},"
          "\"if\":{\"properties\":{\"k\":{\"const\":\"circle\"}}},\"then\":{\"required\":[\"r\"]}}",
          OBJECT("", "\"k\":{\"type\":\"string\"},\"r\":{}"),
          "If `k` is \"circle\", give `r`. " MORE);
    shows("{\"type\":\"object\",\"oneOf\":[{\"properties\":{\"k\":{\"const\":1},\"r\":{}},"
          "\"required\":[\"k\",\"r\"]},{\"properties\":{\"k\":{\"const\":2},\"w\":{}},"
          "\"required\":[\"k\",\"w\"]}]}",
          "{\"type\":\"object\",\"properties\":{\"k\":{\"anyOf\":[{\"const\":1,\"type\":"
          "\"integer\"},{\"const\":2,\"type\":\"integer\"}]},\"r\":{\"anyOf\":[{},{}]},"
          "\"w\":{\"anyOf\":[{},{}]}},\"required\":[\"k\"]}",
          "If `k` is 1, give `r`. If `k` is 2, give `w`. " MORE);
    shows("{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},"
          "\"dependentSchemas\":{\"a\":{\"required\":[\"b\"]}}}",
          OBJECT("", "\"a\":{},\"b\":{}"), "With `a`, give `b`.");
    shows("{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},"
          "\"not\":{\"required\":[\"a\",\"b\"]}}",
          OBJECT("", "\"a\":{},\"b\":{}"), "Do not give `a` and `b` together.");
    shows("{\"type\":\"object\",\"enum\":[{},{\"a\":1}]}", OBJECT("", ""), MORE);
}

TEST(references_are_replaced_by_their_targets)
{
    shows("{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/n\",\"title\":\"t\"},"
          "\"b\":{\"$ref\":\"#/$defs/n\",\"minimum\":1}},"
          "\"$defs\":{\"n\":{\"type\":\"integer\",\"title\":\"n\",\"enum\":[{\"$ref\":\"#\"},1]}}}",
          OBJECT("", "\"a\":{\"title\":\"t\",\"type\":\"integer\",\"enum\":[{\"$ref\":\"#\"},1]},"
                     "\"b\":{\"minimum\":1,\"allOf\":[{\"type\":\"integer\",\"title\":\"n\","
                     "\"enum\":[{\"$ref\":\"#\"},1]}]}"),
          "");
}

TEST(a_schema_inside_itself_is_written_twice)
{
    shows("{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/n\"}},\"$defs\":{\"n\":"
          "{\"type\":\"object\",\"properties\":{\"next\":{\"$ref\":\"#/$defs/n\"}}}}}",
          OBJECT("", "\"a\":" OBJECT("", "\"next\":" OBJECT("", "\"next\":" ANY))), "");
}

TEST(draft_07_is_translated)
{
    shows("{" OLD "\"type\":\"object\",\"properties\":{\"a\":{\"items\":[{\"type\":\"string\"},{}],"
          "\"additionalItems\":false,\"maxItems\":5},\"b\":{\"$ref\":\"#/definitions/x\","
          "\"minimum\":5},\"c\":{\"prefixItems\":[false],\"dependencies\":{\"x\":[\"y\"],"
          "\"z\":{\"minProperties\":2}}}},\"definitions\":{\"x\":true}}",
          OBJECT("", "\"a\":{\"prefixItems\":[{\"type\":\"string\"},{}],\"maxItems\":2,"
                     "\"items\":{}},\"b\":true,\"c\":{\"dependentRequired\":{\"x\":[\"y\"]},"
                     "\"dependentSchemas\":{\"z\":{\"minProperties\":2}}}"),
          "");
}

TEST(arrays_have_items_that_accept_each_position)
{
    shows_property("{\"type\":\"array\"}", "{\"type\":\"array\",\"items\":{}}", "");
    shows_property(
        "{\"type\":[\"null\",\"array\"],\"maxItems\":2}",
        "{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"array\",\"maxItems\":2,\"items\":{}}],"
        "\"items\":{}}",
        "");
    shows_property("{\"prefixItems\":[true],\"items\":false}",
                   "{\"prefixItems\":[true],\"maxItems\":1,\"items\":{}}", "");
    shows_property("{\"prefixItems\":[true],\"items\":{\"type\":\"null\"}}",
                   "{\"prefixItems\":[true],\"items\":{}}", MORE);
    shows_property("{\"type\":\"array\",\"unevaluatedItems\":{\"type\":\"null\"}}",
                   "{\"type\":\"array\",\"items\":{\"type\":\"null\"}}", "");
    shows_property("{\"contains\":{\"type\":\"null\"},\"minContains\":0}", "{}", "");
}

TEST(types_follow_from_values)
{
    shows_property("{\"enum\":[\"a\",\"b\"]}", "{\"enum\":[\"a\",\"b\"],\"type\":\"string\"}", "");
    shows_property("{\"enum\":[1,2.5]}", "{\"enum\":[1,2.5],\"type\":\"number\"}", "");
    shows_property("{\"const\":[1]}", "{\"const\":[1],\"type\":\"array\",\"items\":{}}", "");
    shows_property("{\"const\":null}", "{\"const\":null,\"type\":\"null\"}", "");
}

/* Keywords of one type are in its branch, and those that no type needs go. */
TEST(lists_of_types_become_branches)
{
    shows_property("{\"type\":[\"string\"]}", "{\"type\":\"string\"}", "");
    shows_property("{\"type\":[\"integer\",\"number\"],\"minimum\":1}",
                   "{\"minimum\":1,\"type\":\"number\"}", "");
    shows_property(
        "{\"description\":\"d\",\"type\":[\"string\",\"integer\",\"null\"],\"minLength\":1,"
        "\"maximum\":5,\"format\":\"date\",\"required\":[\"x\"],\"default\":2}",
        "{\"description\":\"d\",\"default\":2,\"anyOf\":[{\"type\":\"string\",\"minLength\":1,"
        "\"format\":\"date\"},{\"type\":\"integer\",\"maximum\":5},{\"type\":\"null\"}]}",
        "");
    shows_property(
        "{\"type\":[\"array\",\"object\"],\"items\":{\"type\":\"null\"},"
        "\"properties\":{\"b\":{}},\"additionalProperties\":false}",
        "{\"anyOf\":[{\"type\":\"array\",\"items\":{\"type\":\"null\"}},"
        "{\"type\":\"object\",\"properties\":{\"b\":{}},\"additionalProperties\":false}],"
        "\"items\":{}}", /* for clients that join the types of the branches */
        "");
    shows_property("{\"type\":[\"number\",\"null\"],\"format\":\"double\",\"enum\":[1,null]}",
                   "{\"format\":\"double\",\"enum\":[1,null],\"anyOf\":[{\"type\":\"number\"},"
                   "{\"type\":\"null\"}]}",
                   "");
    shows_property(
        "{\"not\":{\"type\":[\"string\",\"null\"],\"minLength\":2}}",
        "{\"not\":{\"anyOf\":[{\"type\":\"string\",\"minLength\":2},{\"type\":\"null\"}]}}", "");
}

#define TWO "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}"

/* The name anyOf may be taken. */
TEST(lists_of_types_beside_branches_join_all_of)
{
    shows_property(
        "{\"type\":[\"string\",\"null\"],\"anyOf\":[{\"const\":null},{\"minLength\":1}]}",
        "{\"anyOf\":[{\"const\":null,\"type\":\"null\"},{\"minLength\":1}],\"allOf\":[" TWO "]}",
        "");
    shows_property(
        "{\"type\":[\"string\",\"null\"],\"oneOf\":[true],\"allOf\":[{\"minLength\":1}]}",
        "{\"oneOf\":[true],\"allOf\":[{\"minLength\":1}," TWO "]}", "");
    shows("{\"$defs\":{\"x\":{\"title\":\"x\"}},\"type\":\"object\",\"properties\":{\"a\":{"
          "\"$ref\":\"#/$defs/x\",\"type\":[\"string\",\"null\"],\"anyOf\":[true]}}}",
          OBJECT("", "\"a\":{\"anyOf\":[true],\"allOf\":[" TWO ",{\"title\":\"x\"}]}"), "");
}

/* What is wider inside them would make them narrower. */
TEST(negations_are_exact_or_go)
{
    shows_property("{\"not\":{\"enum\":[1]}}", "{\"not\":{\"enum\":[1],\"type\":\"integer\"}}", "");
    shows_property("{\"not\":{\"dependentRequired\":{\"x\":[\"y\"]}}}", "{}", MORE);
    shows_property("{\"oneOf\":[{\"prefixItems\":[true]},{\"type\":\"null\"}]}",
                   "{\"anyOf\":[{\"prefixItems\":[true],\"items\":{}},{\"type\":\"null\"}]}", MORE);
    shows_property("{\"if\":{\"minContains\":2,\"contains\":true},\"then\":false}", "{}", MORE);
    shows_property("{\"if\":{\"type\":\"array\"},\"then\":false}",
                   "{\"if\":{\"type\":\"array\",\"items\":{}},\"then\":false}", "");
    shows_property("{\"anyOf\":[{\"enum\":[1]}],\"unevaluatedProperties\":false}",
                   "{\"anyOf\":[{\"enum\":[1],\"type\":\"integer\"}]}", MORE);
}

TEST(unusual_names_are_replaced)
{
    shows("{\"type\":\"object\",\"properties\":{\"$x\":{\"type\":\"null\"},\"b\":{}},"
          "\"required\":[\"$x\"],\"dependentRequired\":{\"b\":[\"$x\"]},"
          "\"patternProperties\":{\"^_\":false}}",
          "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"null\"},\"b\":{}},"
          "\"required\":[\"x\"],\"dependentRequired\":{\"b\":[\"x\"]}}",
          MORE);
    /* `x` is taken, and two names would be `y`. */
    shows(OBJECT("", "\"$x\":{},\"x\":{},\"$y\":{},\"#y\":{},\"\":{}"),
          OBJECT("", "\"x_07b48166e8\":{},\"x\":{},\"y_07b481689b\":{},\"y_07b4945514\":{},"
                     "\"p_e484222324\":{}"),
          "");
    /* A name that is spelled after two equal ones does not hide them. */
    shows(OBJECT("", "\"$y\":{},\"#y\":{},\"$z\":{}"),
          OBJECT("", "\"y_07b481689b\":{},\"y_07b4945514\":{},\"z\":{}"), "");
}

static void portable_once(void *ctx)
{
    const cw_json *doc = ctx;
    cw_arena arena;
    cw_schema_portable found;
    cw_arena_init(&arena, 1 << 20);
    cw_code rc = cw_schema_make_portable(doc, CW_SCHEMA_2020_12, &arena, &found);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_arena_done(&arena);
}

TEST(every_failed_allocation_is_reported)
{
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    const cw_json *doc = read_deep_json(
        &arena, CW_STR("{\"type\":\"object\",\"properties\":{\"$a\":{\"$ref\":\"#/$defs/x\"}},"
                       "\"oneOf\":[{\"required\":[\"$a\"]},{\"required\":[\"b\"]}],"
                       "\"$defs\":{\"x\":{\"type\":\"array\"}}}"));
    assert_true(oom_each(portable_once, (void *)(uintptr_t)doc) >= 5);
    cw_arena_done(&arena);
}

/* `n` definitions, each of which holds the next one twice. */
static char *make_bomb(int n)
{
    cw_buf b;
    cw_buf_init(&b, 1 << 24);
    cw_buf_add(&b, CW_STR("{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/d0\"}},"
                          "\"$defs\":{"));
    for (int i = 0; i < n; i++)
        cw_buf_printf(
            &b, "\"d%d\":{\"allOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]},", i,
            i + 1, i + 1);
    cw_buf_printf(&b, "\"d%d\":{\"type\":\"null\"}}}", n);
    return cw_buf_take(&b, NULL);
}

TEST(beyond_the_limits_references_lead_to_the_root)
{
    cw_arena arena;
    cw_schema_portable found;
    char *bomb = make_bomb(15);
    cw_arena_init(&arena, 1 << 24);
    const cw_json *doc = read_deep_json(&arena, cw_str_from(bomb));
    assert_int_equal(cw_schema_make_portable(doc, CW_SCHEMA_2020_12, &arena, &found), CW_OK);
    assert_true(found.text.n < 2 * strlen(bomb));
    const cw_json *again = read_deep_json(&arena, found.text);
    assert_str(cw_json_span(cw_json_pointer(again, CW_STR("/properties/a"))),
               "{\"$ref\":\"#/$defs/d0\"}");
    assert_str(cw_json_span(cw_json_pointer(again, CW_STR("/$defs/d15"))), "{\"type\":\"null\"}");
    assert_str(found.note, "");
    free(bomb);
    cw_arena_done(&arena);
}

TEST(beyond_all_limits_only_names_are_shown)
{
    cw_arena arena;
    cw_schema_portable found;
    cw_buf b;
    cw_buf_init(&b, 1 << 24);
    cw_arena_init(&arena, 1 << 28);
    /* More groups than are read. */
    cw_buf_add(&b, CW_STR("{\"type\":\"object\",\"properties\":{\"a\":{\"description\":\"d\","
                          "\"type\":\"null\"},\"$b\":{}},\"required\":[\"a\"],\"allOf\":[true"));
    for (int i = 0; i < 100; i++)
        cw_buf_add(&b, CW_STR(",{\"anyOf\":[true]}"));
    cw_buf_add(&b, CW_STR("]}"));
    const cw_json *doc = read_deep_json(&arena, cw_buf_str(&b));
    assert_int_equal(cw_schema_make_portable(doc, CW_SCHEMA_2020_12, &arena, &found), CW_OK);
    assert_str(found.text, "{\"type\":\"object\",\"properties\":{\"a\":{\"description\":\"d\"}},"
                           "\"required\":[\"a\"]}");
    assert_true(found.note.n > 0);
    assert_int_equal(found.n_renames, 0);
    cw_buf_done(&b);
    cw_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_portable_schema_stays),
        cmocka_unit_test(branches_of_any_of_are_described),
        cmocka_unit_test(properties_of_branches_join_and_stay_open),
        cmocka_unit_test(certain_parts_are_joined),
        cmocka_unit_test(closing_keywords_that_rely_on_a_branch_go),
        cmocka_unit_test(conditions_are_described),
        cmocka_unit_test(references_are_replaced_by_their_targets),
        cmocka_unit_test(a_schema_inside_itself_is_written_twice),
        cmocka_unit_test(draft_07_is_translated),
        cmocka_unit_test(arrays_have_items_that_accept_each_position),
        cmocka_unit_test(types_follow_from_values),
        cmocka_unit_test(lists_of_types_become_branches),
        cmocka_unit_test(lists_of_types_beside_branches_join_all_of),
        cmocka_unit_test(negations_are_exact_or_go),
        cmocka_unit_test(unusual_names_are_replaced),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(beyond_the_limits_references_lead_to_the_root),
        cmocka_unit_test(beyond_all_limits_only_names_are_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
