/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "schema/rewrite/draft_diff.h"
#include "support/oom.h"
#include "support/schema_fixture.h"

#define OLD "\"$schema\":\"http://json-schema.org/draft-07/schema#\","

static bool join(const cw_schema_difference *d, void *ctx)
{
    char *out = ctx;
    assert_true(cw_str_ends(d->pointer, d->keyword));
    assert_true(strlen(d->text) > 10);
    snprintf(out + strlen(out), 500 - strlen(out), "%.*s ", CW_STR_ARG(d->pointer));
    return true;
}

static void differs(const char *schema, const char *expected)
{
    char found[500] = "";
    cw_schema *s = must_compile_schema(schema, NULL);
    assert_int_equal(cw_schema_differences(s, join, found), CW_OK);
    assert_string_equal(found, expected);
    if (expected[0])
        assert_true(cw_schema_may_differ(cw_schema_root(s)));
    cw_schema_unref(s);
}

TEST(keywords_that_2020_12_reads_otherwise_are_found)
{
    differs("{" OLD "\"items\":[true],\"additionalItems\":false}", "/items /additionalItems ");
    differs("{" OLD "\"dependencies\":{\"a\":[\"b\"]}}", "/dependencies ");
    differs("{" OLD "\"anyOf\":[{\"$id\":\"#x\"}]}", "/anyOf/0/$id ");
    differs("{" OLD "\"prefixItems\":[],\"minContains\":1,\"contains\":true}",
            "/prefixItems /minContains ");
    differs("{" OLD "\"properties\":{\"a/b\":{\"dependentRequired\":{}}}}",
            "/properties/a~1b/dependentRequired ");
}

TEST(next_to_a_reference_only_what_would_count_is_found)
{
    differs("{" OLD "\"not\":{\"$ref\":\"#\",\"type\":\"null\",\"title\":\"t\",\"x\":1,"
            "\"items\":[true]}}",
            "/not/type /not/items ");
    differs("{" OLD "\"not\":{\"$ref\":\"#/definitions/a\",\"description\":\"d\"},"
            "\"definitions\":{\"a\":{}}}",
            "");
    /* A property of that name is no reference. */
    differs("{" OLD "\"properties\":{\"$ref\":{\"items\":[true]}}}", "/properties/$ref/items ");
}

TEST(what_both_read_alike_is_not_found)
{
    differs("{" OLD "\"items\":{},\"additionalItems\":false,\"maxContains\":1}", "");
    differs("{" OLD "\"enum\":[{\"items\":[]}],\"default\":{\"dependencies\":{}},"
            "\"$id\":\"http://example.org/a#\"}",
            "");
    differs("{\"dependentRequired\":{},\"prefixItems\":[true],\"unevaluatedItems\":false}", "");
    differs("true", "");
}

/* Keywords come before what stands inside them, so the way leads back and forth. */
TEST(pointers_are_right_whichever_way_they_lead)
{
    differs(
        "{" OLD "\"items\":[{\"dependencies\":{}},{\"not\":{\"prefixItems\":[]}},"
        "{\"dependencies\":{}}],\"additionalItems\":{\"dependencies\":{\"a/b\":{\"items\":[{}]},"
        "\"~\":{\"items\":[{}]}}},\"dependencies\":{}}",
        "/items /additionalItems /dependencies /items/0/dependencies "
        "/items/1/not/prefixItems /items/2/dependencies /additionalItems/dependencies "
        "/additionalItems/dependencies/a~1b/items /additionalItems/dependencies/~0/items ");
}

static bool take_two(const cw_schema_difference *d, void *ctx)
{
    int *n = ctx;
    (void)d;
    return ++*n < 2;
}

TEST(whoever_has_heard_enough_is_told_no_more)
{
    static const char *const schemas[] = {
        "{" OLD "\"prefixItems\":[],\"dependentRequired\":{},\"dependencies\":{}}",
        "{" OLD "\"not\":{\"$ref\":\"#\",\"type\":\"null\",\"enum\":[],\"minLength\":1}}",
        "{" OLD "\"anyOf\":[{\"dependencies\":{}},{\"dependencies\":{}},{\"dependencies\":{}}]}",
    };
    for (size_t i = 0; i < CW_COUNT(schemas); i++) {
        int n = 0;
        cw_schema *s = must_compile_schema(schemas[i], NULL);
        assert_int_equal(cw_schema_differences(s, take_two, &n), CW_OK);
        assert_int_equal(n, 2);
        cw_schema_unref(s);
    }
}

static bool count_one(const cw_schema_difference *d, void *ctx)
{
    char expected[64];
    int *n = ctx;
    snprintf(expected, sizeof expected, "/anyOf/%d/dependencies", (*n)++);
    assert_true(cw_str_is(d->pointer, expected));
    return true;
}

TEST(many_differences_are_found)
{
    cw_buf text;
    int n = 0;
    cw_buf_init(&text, 1 << 20);
    cw_buf_add(&text, CW_STR("{" OLD "\"anyOf\":[{\"dependencies\":{}}"));
    for (int i = 1; i < 9000; i++)
        cw_buf_add(&text, CW_STR(",{\"dependencies\":{}}"));
    cw_buf_add(&text, CW_STR("]}"));
    cw_buf_add_char(&text, '\0');
    cw_schema *s = must_compile_schema(text.p, NULL);
    assert_int_equal(cw_schema_differences(s, count_one, &n), CW_OK);
    assert_int_equal(n, 9000);
    cw_schema_unref(s);
    cw_buf_done(&text);
}

/* A resource inside may have a dialect of its own. */
TEST(each_part_counts_by_its_own_dialect)
{
    differs("{\"dependentRequired\":{},\"$defs\":{\"a\":{" OLD
            "\"$id\":\"http://example.org/a\",\"items\":[true]}}}",
            "/$defs/a/items ");
}

static bool may_differ(const char *text)
{
    cw_arena arena;
    const cw_json *doc;
    cw_arena_init(&arena, 1 << 16);
    assert_int_equal(cw_json_read(cw_str_from(text), NULL, &arena, &doc, NULL, NULL), CW_OK);
    bool may = cw_schema_may_differ(doc);
    cw_arena_done(&arena);
    return may;
}

TEST(the_quick_look_passes_over_plain_schemas)
{
    assert_false(may_differ("{\"type\":\"object\",\"properties\":{\"a\":{\"minimum\":1}}}"));
    assert_false(may_differ("true"));
    assert_true(may_differ("{\"properties\":{\"a\":{\"items\":{}}}}"));
    assert_true(may_differ("{\"not\":{\"$ref\":\"#\"}}"));
}

static void find_all(void *ctx)
{
    char found[500] = "";
    cw_schema *s = NULL;
    (void)ctx;
    cw_code rc = cw_schema_compile_text(CW_STR("{" OLD "\"items\":[{\"dependencies\":{}}]}"), NULL,
                                        &s, NULL);
    if (!rc)
        rc = cw_schema_differences(s, join, found);
    cw_schema_unref(s);
    assert_true(rc == CW_OK || (rc == CW_NOMEM && oom_was_hit()));
    if (!rc)
        assert_string_equal(found, "/items /items/0/dependencies ");
}

TEST(a_failed_allocation_is_reported)
{
    find_all(NULL); /* meta-schemas are compiled once */
    assert_true(oom_each(find_all, NULL) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keywords_that_2020_12_reads_otherwise_are_found),
        cmocka_unit_test(next_to_a_reference_only_what_would_count_is_found),
        cmocka_unit_test(what_both_read_alike_is_not_found),
        cmocka_unit_test(pointers_are_right_whichever_way_they_lead),
        cmocka_unit_test(whoever_has_heard_enough_is_told_no_more),
        cmocka_unit_test(many_differences_are_found),
        cmocka_unit_test(each_part_counts_by_its_own_dialect),
        cmocka_unit_test(the_quick_look_passes_over_plain_schemas),
        cmocka_unit_test(a_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
