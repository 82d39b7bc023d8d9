/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oom.h"
#include "schema/differ.h"
#include "schema_test.h"

#define OLD "\"$schema\":\"http://json-schema.org/draft-07/schema#\","

static void join(const cw_schema_difference *d, void *ctx)
{
    char *out = ctx;
    assert_true(cw_str_ends(d->pointer, d->keyword));
    assert_true(strlen(d->text) > 10);
    snprintf(out + strlen(out), 500 - strlen(out), "%.*s ", CW_STR_ARG(d->pointer));
}

static void differs(const char *schema, const char *expected)
{
    char found[500] = "";
    cw_schema *s = must_compile(schema, NULL);
    assert_int_equal(cw_schema_differences(s, join, found), CW_OK);
    assert_string_equal(found, expected);
    if (expected[0])
        assert_true(cw_schema_may_differ(cw_schema_root(s)));
    cw_schema_unref(s);
}

static void keywords_that_2020_12_reads_otherwise_are_found(void **state)
{
    (void)state;
    differs("{" OLD "\"items\":[true],\"additionalItems\":false}", "/items /additionalItems ");
    differs("{" OLD "\"dependencies\":{\"a\":[\"b\"]}}", "/dependencies ");
    differs("{" OLD "\"anyOf\":[{\"$id\":\"#x\"}]}", "/anyOf/0/$id ");
    differs("{" OLD "\"prefixItems\":[],\"minContains\":1,\"contains\":true}",
            "/prefixItems /minContains ");
    differs("{" OLD "\"properties\":{\"a/b\":{\"dependentRequired\":{}}}}",
            "/properties/a~1b/dependentRequired ");
}

static void next_to_a_reference_only_what_would_count_is_found(void **state)
{
    (void)state;
    differs("{" OLD "\"not\":{\"$ref\":\"#\",\"type\":\"null\",\"title\":\"t\",\"x\":1,"
            "\"items\":[true]}}",
            "/not/type /not/items ");
    differs("{" OLD "\"not\":{\"$ref\":\"#/definitions/a\",\"description\":\"d\"},"
            "\"definitions\":{\"a\":{}}}",
            "");
    /* A property of that name is no reference. */
    differs("{" OLD "\"properties\":{\"$ref\":{\"items\":[true]}}}", "/properties/$ref/items ");
}

static void what_both_read_alike_is_not_found(void **state)
{
    (void)state;
    differs("{" OLD "\"items\":{},\"additionalItems\":false,\"maxContains\":1}", "");
    differs("{" OLD "\"enum\":[{\"items\":[]}],\"default\":{\"dependencies\":{}},"
            "\"$id\":\"http://example.org/a#\"}",
            "");
    differs("{\"dependentRequired\":{},\"prefixItems\":[true],\"unevaluatedItems\":false}", "");
    differs("true", "");
}

/* A resource inside may have a dialect of its own. */
static void each_part_counts_by_its_own_dialect(void **state)
{
    (void)state;
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

static void the_quick_look_passes_over_plain_schemas(void **state)
{
    (void)state;
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

static void a_failed_allocation_is_reported(void **state)
{
    (void)state;
    find_all(NULL); /* meta-schemas are compiled once */
    assert_true(oom_each(find_all, NULL) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keywords_that_2020_12_reads_otherwise_are_found),
        cmocka_unit_test(next_to_a_reference_only_what_would_count_is_found),
        cmocka_unit_test(what_both_read_alike_is_not_found),
        cmocka_unit_test(each_part_counts_by_its_own_dialect),
        cmocka_unit_test(the_quick_look_passes_over_plain_schemas),
        cmocka_unit_test(a_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
