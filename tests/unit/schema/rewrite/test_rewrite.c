/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Schemas without references. */
#include "schema/rewrite/rewrite.h"
#include "support/oom.h"
#include "support/schema_fixture.h"

typedef cw_code (*writer)(const cw_schema *s, cw_buf *out, cw_err *err);

static void writes(writer fn, const char *schema, const char *expected)
{
    cw_schema *s = must_compile_schema(schema, NULL);
    cw_buf b;
    cw_err err = {0};
    cw_buf_init(&b, 1 << 20);
    if (fn(s, &b, &err))
        fail_msg("%s", err.msg);
    cw_buf_add_char(&b, '\0');
    assert_string_equal(b.p, expected);
    /* It is a schema itself. */
    cw_schema_unref(must_compile_schema(b.p, NULL));
    cw_buf_done(&b);
    cw_schema_unref(s);
}

TEST(references_are_replaced)
{
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
    cw_schema *s = must_compile_schema(schema, NULL);
    cw_buf b;
    cw_buf_init(&b, max);
    *err = (cw_err){0};
    cw_code rc = cw_schema_write_inlined(s, &b, err);
    cw_buf_done(&b);
    cw_schema_unref(s);
    return rc;
}

TEST(what_contains_itself_cannot_be_inlined)
{
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

static void inline_once(void *ctx)
{
    const cw_schema *s = ctx;
    cw_buf b;
    cw_buf_init(&b, 1 << 20);
    cw_code rc = cw_schema_write_inlined(s, &b, NULL);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    cw_buf_done(&b);
}

TEST(inlining_survives_every_failed_allocation)
{
    cw_schema *s =
        must_compile_schema("{\"properties\":{\"a\":{\"$ref\":\"#/$defs/x\"},"
                            "\"b\":{\"default\":1}},\"$defs\":{\"x\":{\"type\":\"integer\"}}}",
                            NULL);
    assert_true(oom_each(inline_once, s) >= 1);
    cw_schema_unref(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_are_replaced),
        cmocka_unit_test(what_contains_itself_cannot_be_inlined),
        cmocka_unit_test(inlining_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
