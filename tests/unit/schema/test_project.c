/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Schemas without references, in the words of draft-07; instances with defaults and coercions. */
#include "oom.h"
#include "schema/project.h"
#include "schema_test.h"

typedef cw_code (*writer)(const cw_schema *s, cw_buf *out, cw_err *err);

static void writes(writer fn, const char *schema, const char *expected)
{
    cw_schema *s = must_compile(schema, NULL);
    cw_buf b;
    cw_err err = {0};
    cw_buf_init(&b, 1 << 20);
    if (fn(s, &b, &err))
        fail_msg("%s", err.msg);
    cw_buf_add_char(&b, '\0');
    assert_string_equal(b.p, expected);
    /* It is a schema itself. */
    cw_schema_unref(must_compile(b.p, NULL));
    cw_buf_done(&b);
    cw_schema_unref(s);
}

static void references_are_replaced(void **state)
{
    (void)state;
    writer fn = cw_schema_write_inlined;
    writes(
        fn,
        "{\"properties\":{\"a\":{\"$ref\":\"#/$defs/n\"},\"b\":true},"
        "\"$defs\":{\"n\":{\"type\":\"integer\",\"enum\":[{\"$ref\":\"#\"},1]}}}",
        "{\"properties\":{\"a\":{\"type\":\"integer\",\"enum\":[{\"$ref\":\"#\"},1]},\"b\":true}}");
    writes(fn,
           "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"$ref\":\"#x\"},\"b\":{\"$anchor\":\"x\","
           "\"type\":\"null\"}}}",
           "{\"type\":\"null\"}");
    writes(fn,
           "{\"items\":{\"$ref\":\"#/$defs/a\",\"title\":\"t\",\"allOf\":[true]},"
           "\"$defs\":{\"a\":{\"minimum\":1}}}",
           "{\"items\":{\"title\":\"t\",\"allOf\":[true,{\"minimum\":1}]}}");
    writes(fn,
           "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"properties\":{\"a\":{"
           "\"$ref\":\"#/definitions/x\",\"minimum\":5}},\"definitions\":{\"x\":true}}",
           "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"properties\":{\"a\":true}}");
}

static cw_code inline_error(const char *schema, size_t max, cw_err *err)
{
    cw_schema *s = must_compile(schema, NULL);
    cw_buf b;
    cw_buf_init(&b, max);
    *err = (cw_err){0};
    cw_code rc = cw_schema_write_inlined(s, &b, err);
    cw_buf_done(&b);
    cw_schema_unref(s);
    return rc;
}

static void what_contains_itself_cannot_be_inlined(void **state)
{
    (void)state;
    cw_err err;
    assert_int_equal(inline_error("{\"properties\":{\"a\":{\"$ref\":\"#\"}}}", 1 << 20, &err),
                     CW_PARAMS);
    assert_non_null(strstr(err.msg, "contains itself"));
    /* Twice as much on every level. */
    cw_buf b;
    cw_buf_init(&b, 1 << 20);
    cw_buf_add(&b, CW_STR("{\"$ref\":\"#/$defs/0\",\"$defs\":{"));
    for (int i = 0; i < 40; i++)
        cw_buf_printf(&b,
                      "\"%d\":{\"allOf\":[{\"$ref\":\"#/$defs/%d\"},{\"$ref\":\"#/$defs/%d\"}]},",
                      i, i + 1, i + 1);
    cw_buf_add(&b, CW_STR("\"40\":{}}}"));
    char *bomb = cw_buf_take(&b, NULL);
    assert_int_equal(inline_error(bomb, 1 << 16, &err), CW_LIMIT);
    free(bomb);
}

#define SEVEN "{\"$schema\":\"http://json-schema.org/draft-07/schema#\","

static void schemas_are_put_in_the_words_of_draft_07(void **state)
{
    (void)state;
    writer fn = cw_schema_write_draft07;
    writes(fn,
           "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
           "\"properties\":{\"$defs\":{\"$ref\":\"#/$defs/a%20b\"}},"
           "\"$defs\":{\"a b\":{\"type\":\"null\"}}}",
           SEVEN
           "\"type\":\"object\",\"properties\":{\"$defs\":{\"$ref\":\"#/definitions/a%20b\"}},"
           "\"definitions\":{\"a b\":{\"type\":\"null\"}}}");
    writes(fn,
           "{\"prefixItems\":[{\"const\":{\"$defs\":1}}],\"items\":false,\"contains\":true,"
           "\"minContains\":0}",
           SEVEN "\"items\":[{\"const\":{\"$defs\":1}}],\"additionalItems\":false}");
    writes(fn,
           "{\"dependentRequired\":{\"a\":[\"b\"],\"c\":[\"d\"]},"
           "\"dependentSchemas\":{\"a\":{\"minProperties\":2}}}",
           SEVEN "\"dependencies\":{\"a\":{\"required\":[\"b\"],\"allOf\":[{\"minProperties\":2}]},"
                 "\"c\":[\"d\"]}}");
    writes(fn,
           "{\"$ref\":\"#x\",\"minimum\":1,\"allOf\":[true],\"$defs\":{\"q\":{\"$anchor\":\"x\"}}}",
           SEVEN "\"minimum\":1,\"allOf\":[true,{\"$ref\":\"#/definitions/q\"}],"
                 "\"definitions\":{\"q\":{}}}");
    writes(fn, "{\"properties\":{\"a\":true},\"unevaluatedProperties\":false}",
           SEVEN "\"properties\":{\"a\":true},\"additionalProperties\":false}");
    writes(fn, "{\"anyOf\":[true],\"unevaluatedProperties\":false}", SEVEN "\"anyOf\":[true]}");
    writes(fn, SEVEN "\"items\":[true]}", SEVEN "\"items\":[true]}");
    writes(fn, "true", "true");
}

static void prepares(const char *schema, const char *instance, cw_schema_prepare_opts opts,
                     const char *expected, size_t changes)
{
    cw_arena a;
    cw_arena_init(&a, 1 << 20);
    cw_schema *s = must_compile(schema, NULL);
    cw_buf b;
    cw_err err = {0};
    cw_schema_changes done = {0};
    cw_buf_init(&b, 1 << 20);
    const cw_json *v = must_read(&a, cw_str_from(instance));
    if (cw_schema_prepare(s, v, &opts, &a, &b, &done, &err))
        fail_msg("%s", err.msg);
    cw_buf_add_char(&b, '\0');
    assert_string_equal(b.p, expected);
    assert_int_equal(done.n, changes);
    cw_buf_done(&b);
    cw_schema_unref(s);
    cw_arena_done(&a);
}

static void defaults_are_added_where_members_are_missing(void **state)
{
    (void)state;
    const cw_schema_prepare_opts on = {.defaults = true};
    const char *schema = "{\"properties\":{\"a\":{\"default\":1},\"b\":{\"$ref\":\"#/$defs/b\"},"
                         "\"c\":{\"properties\":{\"d\":{\"default\":[2]}}},\"e\":{\"items\":{"
                         "\"properties\":{\"f\":{\"default\":null}}}}},\"allOf\":[{\"properties\":{"
                         "\"g\":{\"default\":\"x\"}}}],\"anyOf\":[{\"properties\":{\"h\":{"
                         "\"default\":0}}}],\"$defs\":{\"b\":{\"default\":\"b\"}}}";
    prepares(schema, "{}", on, "{\"a\":1,\"b\":\"b\",\"g\":\"x\"}", 3);
    prepares(schema, "{\"g\":0,\"c\":{},\"b\":null,\"e\":[{},{\"f\":1}],\"a\":2}", on,
             "{\"g\":0,\"c\":{\"d\":[2]},\"b\":null,\"e\":[{\"f\":null},{\"f\":1}],\"a\":2}", 2);
    prepares(schema, "[1]", on, "[1]", 0);
    prepares(schema, "{}", (cw_schema_prepare_opts){0}, "{}", 0);
}

static void strings_are_read_only_where_nothing_else_is_allowed(void **state)
{
    (void)state;
    const cw_schema_prepare_opts on = {.coerce = true};
    const char *schema =
        "{\"properties\":{\"i\":{\"type\":\"integer\"},\"n\":{\"type\":\"number\"},"
        "\"b\":{\"type\":\"boolean\"},\"z\":{\"type\":\"null\"},\"s\":{\"type\":["
        "\"string\",\"integer\"]},\"m\":{\"type\":[\"integer\",\"null\"]},"
        "\"u\":{}}}";
    prepares(schema, "{\"i\":\"5\",\"n\":\"-1.5e3\",\"b\":\"true\",\"z\":\"null\"}", on,
             "{\"i\":5,\"n\":-1.5e3,\"b\":true,\"z\":null}", 4);
    prepares(schema, "{\"i\":\"5.5\",\"n\":\" 1\",\"b\":\"yes\",\"z\":\"\"}", on,
             "{\"i\":\"5.5\",\"n\":\" 1\",\"b\":\"yes\",\"z\":\"\"}", 0);
    prepares(schema, "{\"s\":\"5\",\"m\":\"5\",\"u\":\"5\",\"x\":\"5\",\"i\":\"05\"}", on,
             "{\"s\":\"5\",\"m\":\"5\",\"u\":\"5\",\"x\":\"5\",\"i\":\"05\"}", 0);
    prepares(schema, "{\"i\":\"5\"}", (cw_schema_prepare_opts){0}, "{\"i\":\"5\"}", 0);
}

static void changes_say_what_was_done(void **state)
{
    (void)state;
    cw_arena a;
    cw_arena_init(&a, 1 << 20);
    cw_schema *s = must_compile("{\"properties\":{\"a\":{\"items\":{\"type\":\"integer\"}},"
                                "\"b\":{\"default\":{}}}}",
                                NULL);
    cw_buf b;
    cw_buf_init(&b, 1 << 20);
    cw_schema_changes done = {0};
    const cw_schema_prepare_opts opts = {.defaults = true, .coerce = true};
    const cw_json *v = must_read(&a, CW_STR("{\"a\":[1,\"2\"]}"));
    assert_int_equal(cw_schema_prepare(s, v, &opts, &a, &b, &done, NULL), CW_OK);
    assert_int_equal(done.n, 2);
    assert_true(cw_str_is(done.items[0].pointer, "/a/1"));
    assert_true(cw_str_is(done.items[0].from, "\"2\""));
    assert_true(cw_str_is(done.items[0].to, "2"));
    assert_true(cw_str_is(done.items[1].pointer, "/b"));
    assert_true(cw_str_is(done.items[1].from, ""));
    assert_true(cw_str_is(done.items[1].to, "{}"));
    cw_buf_done(&b);
    cw_schema_unref(s);
    cw_arena_done(&a);
}

typedef struct prepared {
    cw_schema *s;
    const cw_json *v;
} prepared;

static void project_once(void *ctx)
{
    prepared *p = ctx;
    cw_arena a;
    cw_arena_init(&a, 1 << 20);
    cw_buf b;
    cw_buf_init(&b, 1 << 20);
    cw_schema_changes done = {0};
    const cw_schema_prepare_opts opts = {.defaults = true, .coerce = true};
    cw_code first = cw_schema_prepare(p->s, p->v, &opts, &a, &b, &done, NULL);
    assert_true(first == CW_OK || first == CW_NOMEM);
    cw_buf_clear(&b);
    cw_code second = cw_schema_write_inlined(p->s, &b, NULL);
    cw_buf_clear(&b);
    cw_code third = cw_schema_write_draft07(p->s, &b, NULL);
    assert_true(second == CW_OK || second == CW_NOMEM);
    assert_true(third == CW_OK || third == CW_NOMEM);
    cw_buf_done(&b);
    cw_arena_done(&a);
}

static void projecting_survives_every_failed_allocation(void **state)
{
    (void)state;
    cw_arena a;
    cw_arena_init(&a, 1 << 20);
    prepared p = {
        .s = must_compile("{\"properties\":{\"a\":{\"$ref\":\"#/$defs/x\"},"
                          "\"b\":{\"default\":1}},\"$defs\":{\"x\":{\"type\":\"integer\"}}}",
                          NULL),
        .v = must_read(&a, CW_STR("{\"a\":\"5\"}"))};
    assert_true(oom_each(project_once, &p) >= 3);
    cw_schema_unref(p.s);
    cw_arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_are_replaced),
        cmocka_unit_test(what_contains_itself_cannot_be_inlined),
        cmocka_unit_test(schemas_are_put_in_the_words_of_draft_07),
        cmocka_unit_test(defaults_are_added_where_members_are_missing),
        cmocka_unit_test(strings_are_read_only_where_nothing_else_is_allowed),
        cmocka_unit_test(changes_say_what_was_done),
        cmocka_unit_test(projecting_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
