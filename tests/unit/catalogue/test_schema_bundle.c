/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/snapshot.h"
#include "support/json_fixture.h"

#include "catalogue/schema_bundle.h"
#include "support/oom.h"

static cw_str place = CW_STR_INIT("/x");

static void assert_copied(const cw_bundle *refs, const char *schema, const char *expected)
{
    cw_arena arena;
    cw_buf out;
    cw_arena_init(&arena, 1 << 20);
    cw_buf_init(&out, 1 << 20);
    assert_int_equal(cw_bundle_copy(refs, json_of(&arena, schema), &out), CW_OK);
    assert_str(cw_buf_str(&out), expected);
    cw_buf_done(&out);
    cw_arena_done(&arena);
}

static void assert_moved(const char *schema, const char *expected)
{
    assert_copied(&(cw_bundle){.on_ref = cw_bundle_move, .ctx = &place}, schema, expected);
}

TEST(tokens_are_kept_and_space_goes)
{
    assert_moved("{}", "{}");
    assert_moved("true", "true");
    assert_moved(
        " { \"a\" : [ 1.0 , 1E2, -0 ] ,\n\t\"\\u0062\":\"\\/\\u00e9\", \"c\":{ } , \"d\":[ ]}",
        "{\"a\":[1.0,1E2,-0],\"\\u0062\":\"\\/\\u00e9\",\"c\":{},\"d\":[]}");
}

TEST(references_are_said_anew_wherever_schemas_stand)
{
    static const struct {
        const char *before, *after;
    } cases[] = {
        {"{\"$ref\":\"#\"}", "{\"$ref\":\"#/x\"}"},
        {"{\"$ref\":\"#/a/b\"}", "{\"$ref\":\"#/x/a/b\"}"},
        {"{\"$ref\":\"#/a\\\"b\"}", "{\"$ref\":\"#/x/a\\\"b\"}"},
        {"{\"\\u0024ref\":\"\\u0023/a\"}", "{\"\\u0024ref\":\"#/x/a\"}"},
        {"{\"$dynamicRef\":\"#/a\"}", "{\"$dynamicRef\":\"#/x/a\"}"},
        {"{\"items\":{\"$ref\":\"#/a\"}}", "{\"items\":{\"$ref\":\"#/x/a\"}}"},
        {"{\"allOf\":[{\"$ref\":\"#/a\"},true]}", "{\"allOf\":[{\"$ref\":\"#/x/a\"},true]}"},
        {"{\"properties\":{\"$ref\":{\"$ref\":\"#/a\"},\"enum\":{\"$ref\":\"#/b\"}}}",
         "{\"properties\":{\"$ref\":{\"$ref\":\"#/x/a\"},\"enum\":{\"$ref\":\"#/x/b\"}}}"},
        {"{\"$defs\":{\"default\":{\"not\":{\"$ref\":\"#\"}}}}",
         "{\"$defs\":{\"default\":{\"not\":{\"$ref\":\"#/x\"}}}}"},
        {"{\"definitions\":{\"a\":{\"$ref\":\"#/b\"}},\"patternProperties\":{\"^c\":{\"$ref\":\"#/"
         "d\"}},\"dependentSchemas\":{\"e\":{\"$ref\":\"#/f\"}},\"dependencies\":{\"g\":[\"h\"]}}",
         "{\"definitions\":{\"a\":{\"$ref\":\"#/x/b\"}},\"patternProperties\":{\"^c\":{\"$ref\":"
         "\"#/x/d\"}},\"dependentSchemas\":{\"e\":{\"$ref\":\"#/x/f\"}},\"dependencies\":{\"g\":["
         "\"h\"]}}"},
        {"{\"x-mine\":{\"$ref\":\"#/a\"}}", "{\"x-mine\":{\"$ref\":\"#/x/a\"}}"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++)
        assert_moved(cases[i].before, cases[i].after);
}

TEST(what_is_no_pointer_into_the_schema_stays)
{
    static const char *const same[] = {
        "{\"$ref\":\"#anchor\"}",
        "{\"$ref\":\"\"}",
        "{\"$ref\":\"other.json#/a\"}",
        "{\"$ref\":\"https://example.org/s\"}",
        "{\"$ref\":5}",
        "{\"enum\":[{\"$ref\":\"#/a\"}]}",
        "{\"const\":{\"$ref\":\"#/a\"}}",
        "{\"default\":{\"a\":{\"$ref\":\"#/a\"}}}",
        "{\"examples\":[{\"$ref\":\"#/a\"}],\"example\":{\"$ref\":\"#/a\"}}",
        "{\"$id\":\"urn:x\",\"items\":{\"$ref\":\"#/a\"},\"$ref\":\"#/b\"}",
        "{\"items\":{\"$id\":\"urn:x\",\"items\":{\"$ref\":\"#/a\"}}}",
    };
    for (size_t i = 0; i < CW_COUNT(same); i++)
        assert_moved(same[i], same[i]);
    /* An anchor in the old spelling is no base, and neither is a property of that name. */
    assert_moved("{\"$id\":\"#a\",\"$ref\":\"#/b\"}", "{\"$id\":\"#a\",\"$ref\":\"#/x/b\"}");
    assert_moved("{\"$id\":\"\",\"$ref\":\"#/b\"}", "{\"$id\":\"\",\"$ref\":\"#/x/b\"}");
    assert_moved("{\"properties\":{\"$id\":{\"$ref\":\"#/b\"}}}",
                 "{\"properties\":{\"$id\":{\"$ref\":\"#/x/b\"}}}");
}

TEST(a_description_replaces_the_old_one_in_its_place)
{
    const cw_str text = CW_STR("new \"one\"");
    const cw_bundle refs = {.on_ref = cw_bundle_move, .ctx = &place, .description = &text};
    assert_copied(&refs, "{}", "{\"description\":\"new \\\"one\\\"\"}");
    assert_copied(&refs, "true", "{\"description\":\"new \\\"one\\\"\"}");
    assert_copied(&refs, "false", "{\"not\":{},\"description\":\"new \\\"one\\\"\"}");
    assert_copied(&refs, "{\"type\":\"string\"}",
                  "{\"type\":\"string\",\"description\":\"new \\\"one\\\"\"}");
    assert_copied(
        &refs, "{\"a\":1,\"description\":\"old\",\"b\":{\"description\":\"stays\"}}",
        "{\"a\":1,\"description\":\"new \\\"one\\\"\",\"b\":{\"description\":\"stays\"}}");
    assert_copied(&refs, "{\"description\":5,\"$ref\":\"#/a\"}",
                  "{\"description\":\"new \\\"one\\\"\",\"$ref\":\"#/x/a\"}");
}

TEST(the_dialect_of_the_root_can_be_left_out)
{
    const cw_bundle refs = {.on_ref = cw_bundle_move, .ctx = &place, .drop_dialect = true};
    assert_copied(&refs, "{\"$schema\":\"s\"}", "{}");
    assert_copied(&refs, "{\"$schema\":\"s\",\"items\":{\"$schema\":\"t\"}}",
                  "{\"items\":{\"$schema\":\"t\"}}");
    /* What has a base of its own may have a dialect of its own. */
    assert_copied(&refs, "{\"$schema\":\"s\",\"$id\":\"urn:x\"}",
                  "{\"$schema\":\"s\",\"$id\":\"urn:x\"}");
}

TEST(tokens_of_a_place_are_escaped)
{
    cw_buf out;
    cw_buf_init(&out, 100);
    cw_bundle_add_token(&out, CW_STR("a-b_c.$0~/ \"%\xc3\xa9"));
    assert_str(cw_buf_str(&out), "/a-b_c.$0~0~1%20%22%25%C3%A9");
    cw_buf_clear(&out);
    cw_bundle_add_token(&out, CW_STR(""));
    assert_str(cw_buf_str(&out), "/");
    cw_buf_done(&out);
}

static cw_code refuse(void *ctx, cw_str ref, cw_buf *out)
{
    (void)ctx;
    (void)ref;
    (void)out;
    return CW_PARAMS;
}

TEST(what_the_callback_says_ends_the_copy)
{
    static const char *const schemas[] = {
        "{\"$ref\":\"#/a\",\"b\":1}", "{\"allOf\":[{\"$ref\":\"#/a\"},{}]}",
        "{\"properties\":{\"a\":{\"items\":{\"$ref\":\"#/a\"}}}}"};
    for (size_t i = 0; i < CW_COUNT(schemas); i++) {
        cw_arena arena;
        cw_buf out;
        cw_arena_init(&arena, 1 << 20);
        cw_buf_init(&out, 1 << 20);
        const cw_bundle refs = {.on_ref = refuse};
        assert_int_equal(cw_bundle_copy(&refs, json_of(&arena, schemas[i]), &out), CW_PARAMS);
        cw_buf_done(&out);
        cw_arena_done(&arena);
    }
}

/* Every ceiling from nothing to just too little. */
TEST(a_full_buffer_is_reported)
{
    static const char *const schemas[] = {
        "{\"$ref\":\"#/a\",\"b\":[{\"$ref\":\"#/c\"},1],\"description\":\"d\"}", "true", "false"};
    const cw_str text = CW_STR("e");
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < CW_COUNT(schemas); i++) {
        const cw_json *schema = json_of(&arena, schemas[i]);
        for (int described = 0; described < 2; described++) {
            const cw_bundle refs = {
                .on_ref = cw_bundle_move, .ctx = &place, .description = described ? &text : NULL};
            cw_code rc = CW_LIMIT;
            for (size_t max = 0; rc; max++) {
                cw_buf out;
                cw_buf_init(&out, max);
                rc = cw_bundle_copy(&refs, schema, &out);
                assert_int_equal(rc, out.code);
                assert_true(rc == CW_OK || rc == CW_LIMIT);
                cw_buf_done(&out);
            }
        }
    }
    cw_arena_done(&arena);
}

static void copy_once(void *ctx)
{
    cw_buf out;
    cw_buf_init(&out, 1 << 20);
    const cw_bundle refs = {.on_ref = cw_bundle_move, .ctx = &place};
    cw_code rc = cw_bundle_copy(&refs, ctx, &out);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_buf_done(&out);
}

TEST(every_failed_allocation_is_reported)
{
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    char text[3000];
    size_t n = (size_t)snprintf(text, sizeof text, "{\"a\":[1");
    for (int i = 0; i < 80; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, ",{\"$ref\":\"#/abcdefgh\"}");
    snprintf(text + n, sizeof text - n, "]}");
    const cw_json *schema = json_of(&arena, text);
    assert_true(oom_each(copy_once, (void *)(uintptr_t)schema) >= 3);
    cw_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_kept_and_space_goes),
        cmocka_unit_test(references_are_said_anew_wherever_schemas_stand),
        cmocka_unit_test(what_is_no_pointer_into_the_schema_stays),
        cmocka_unit_test(a_description_replaces_the_old_one_in_its_place),
        cmocka_unit_test(the_dialect_of_the_root_can_be_left_out),
        cmocka_unit_test(tokens_of_a_place_are_escaped),
        cmocka_unit_test(what_the_callback_says_ends_the_copy),
        cmocka_unit_test(a_full_buffer_is_reported),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
