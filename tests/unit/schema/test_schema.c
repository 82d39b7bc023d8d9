/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of a compiled schema: options, documents, defaults, memory. */
#include "support/oom.h"
#include "support/schema_fixture.h"

TEST(the_default_dialect_is_2020_12_and_can_be_changed)
{
    const char *schema = "{\"prefixItems\":[{\"type\":\"string\"}]}";
    const cw_schema_opts old = {.draft = CW_SCHEMA_DRAFT_07};
    assert_int_equal(schema_check_text(schema, "[1]", NULL), CW_PARAMS);
    assert_int_equal(schema_check_text(schema, "[1]", &old), CW_OK);
    cw_schema *s =
        must_compile_schema("{\"$schema\":\"http://json-schema.org/draft-07/schema#\"}", NULL);
    assert_int_equal(cw_schema_draft_of(s), CW_SCHEMA_DRAFT_07);
    cw_schema_unref(s);
    s = must_compile_schema("{\"$schema\":\"http://json-schema.org/draft-06/schema#\"}", NULL);
    assert_int_equal(cw_schema_draft_of(s), CW_SCHEMA_DRAFT_07);
    cw_schema_unref(s);
    s = must_compile_schema("{\"$schema\":\"https://json-schema.org/draft/2020-12/schema#\"}",
                            &old);
    assert_int_equal(cw_schema_draft_of(s), CW_SCHEMA_2020_12);
    cw_schema_unref(s);
}

TEST(formats_assert_unless_told_otherwise)
{
    const cw_schema_opts quiet = {.annotate_formats = true};
    assert_int_equal(schema_check_text("{\"format\":\"uuid\"}", "\"x\"", NULL), CW_PARAMS);
    assert_int_equal(schema_check_text("{\"format\":\"uuid\"}", "\"x\"", &quiet), CW_OK);
}

TEST(a_schema_keeps_nothing_of_its_text)
{
    char *text = malloc(64);
    assert_non_null(text);
    snprintf(text, 64, "{\"properties\":{\"name\":{\"enum\":[\"a\\u0062c\",1]}}}");
    cw_schema *s = must_compile_schema(text, NULL);
    memset(text, 'x', 64);
    free(text);
    cw_arena a;
    cw_arena_init(&a, 1 << 20);
    assert_int_equal(schema_verdict(s, read_deep_json(&a, CW_STR("{\"name\":\"abc\"}")), NULL),
                     CW_OK);
    assert_int_equal(schema_verdict(s, read_deep_json(&a, CW_STR("{\"name\":\"abd\"}")), NULL),
                     CW_PARAMS);
    cw_arena_done(&a);
    cw_schema_unref(s);
    cw_schema_unref(NULL);
}

TEST(registered_documents_can_be_referred_to)
{
    const cw_schema_document documents[] = {
        {CW_STR("http://example.com/int.json"), CW_STR("{\"type\":\"integer\"}")},
        {CW_STR("http://example.com/moved.json"),
         CW_STR("{\"$id\":\"http://example.com/there/x.json\",\"$ref\":\"y.json\","
                "\"$defs\":{\"y\":{\"$id\":\"y.json\",\"const\":1}}}")},
        {CW_STR("http://example.com/bad.json"), CW_STR("{\"type\":7}")},
        {CW_STR("http://example.com/no.json"), CW_STR("{")},
    };
    const cw_schema_opts opts = {.documents = documents, .n_documents = CW_COUNT(documents)};
    const char *first = "{\"$ref\":\"http://example.com/int.json\"}";
    assert_int_equal(schema_check_text(first, "1", &opts), CW_OK);
    assert_int_equal(schema_check_text(first, "\"x\"", &opts), CW_PARAMS);
    assert_int_equal(schema_check_text("{\"$ref\":\"http://example.com/moved.json\"}", "2", &opts),
                     CW_PARAMS);
    const cw_schema_opts based = {.documents = documents,
                                  .n_documents = CW_COUNT(documents),
                                  .base_uri = CW_STR("http://example.com/here.json")};
    assert_int_equal(schema_check_text("{\"$ref\":\"int.json\"}", "\"x\"", &based), CW_PARAMS);
    cw_err err;
    assert_int_equal(
        schema_compile_error("{\"$ref\":\"http://example.com/bad.json\"}", &opts, &err), CW_PARAMS);
    assert_non_null(strstr(err.msg, "http://example.com/bad.json/type: "));
    assert_int_equal(schema_compile_error("{\"$ref\":\"http://example.com/no.json\"}", &opts, &err),
                     CW_PARSE);
}

TEST(vocabularies_of_a_registered_meta_schema_count)
{
#define VOCAB "https://json-schema.org/draft/2020-12/vocab/"
    const cw_schema_document documents[] = {
        {CW_STR("http://example.com/loose"),
         CW_STR("{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
                "\"$vocabulary\":{\"" VOCAB "core\":true,\"" VOCAB "applicator\":true,"
                "\"http://example.com/optional\":false}}")},
        {CW_STR("http://example.com/strange"),
         CW_STR("{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
                "\"$vocabulary\":{\"http://example.com/mine\":true}}")},
        {CW_STR("http://example.com/loop"), CW_STR("{\"$schema\":\"http://example.com/loop\"}")},
    };
    const cw_schema_opts opts = {.documents = documents, .n_documents = CW_COUNT(documents)};
    const char *loose = "{\"$schema\":\"http://example.com/loose\",\"minimum\":5,"
                        "\"properties\":{\"a\":false}}";
    assert_int_equal(schema_check_text(loose, "1", &opts), CW_OK);
    assert_int_equal(schema_check_text(loose, "{\"a\":1}", &opts), CW_PARAMS);
    cw_err err;
    assert_int_equal(
        schema_compile_error("{\"$schema\":\"http://example.com/strange\"}", &opts, &err),
        CW_PARAMS);
    assert_non_null(strstr(err.msg, "unknown vocabulary 'http://example.com/mine'"));
    assert_int_equal(schema_compile_error("{\"$schema\":\"http://example.com/loop\"}", &opts, &err),
                     CW_PARAMS);
}

TEST(the_meta_check_can_be_skipped_but_shapes_are_always_checked)
{
    const cw_schema_opts trust = {.skip_meta = true};
    cw_err err;
    assert_int_equal(schema_compile_error("{\"title\":5}", NULL, &err), CW_PARAMS);
    assert_int_equal(schema_compile_error("{\"title\":5}", &trust, &err), CW_OK);
    static const char *const wrong[] = {
        "{\"minimum\":\"5\"}",
        "{\"type\":\"x\"}",
        "{\"type\":{}}",
        "{\"required\":[1]}",
        "{\"properties\":[]}",
        "{\"allOf\":{}}",
        "{\"minLength\":0.5}",
        "{\"multipleOf\":-1}",
        "{\"uniqueItems\":0}",
        "{\"enum\":{}}",
        "{\"pattern\":5}",
        "{\"items\":5}",
        "{\"dependentRequired\":5}",
        "{\"$ref\":5}",
        "{\"$id\":5}",
        "{\"$anchor\":5}",
        "{\"$dynamicAnchor\":\"\"}",
        "{\"format\":5}",
        "5",
    };
    for (size_t i = 0; i < CW_COUNT(wrong); i++) {
        if (schema_compile_error(wrong[i], &trust, &err) != CW_PARAMS)
            fail_msg("accepted: %s", wrong[i]);
        assert_true(err.msg[0]);
    }
}

static const char big_schema[] =
    "{\"$id\":\"http://example.com/r\",\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
    "\"array\",\"items\":{\"$ref\":\"#x\"},\"uniqueItems\":true},\"b\":{\"pattern\":\"^a+$\"},"
    "\"c\":{\"enum\":[\"x\",1,null]},\"d\":{\"oneOf\":[{\"type\":\"null\"},{\"minimum\":3}]},"
    "\"e\":{\"format\":\"date\"}},\"patternProperties\":{\"^p\":{\"multipleOf\":2}},"
    "\"allOf\":[{\"properties\":{\"z\":{\"const\":\"zz\"}}}],\"unevaluatedProperties\":false,"
    "\"$defs\":{\"x\":{\"$anchor\":\"x\",\"type\":\"integer\"},\"y\":{\"$id\":\"y\","
    "\"$dynamicAnchor\":\"n\"}},\"required\":[\"a\"]}";

static void compile_once(void *ctx)
{
    (void)ctx;
    cw_schema *s = NULL;
    cw_err err = {0};
    cw_code rc = cw_schema_compile_text(cw_str_from(big_schema), NULL, &s, &err);
    if (oom_was_hit())
        assert_int_equal(rc, CW_NOMEM);
    else
        assert_int_equal(rc, CW_OK);
    if (rc == CW_OK)
        cw_schema_unref(s);
}

/* Whether the n-th allocation was reached, and failed. */
static bool compile_failing_at(size_t n)
{
    cw_schema *s = NULL;
    cw_err err = {0};
    oom_fail_at(n);
    cw_code rc = cw_schema_compile_text(CW_STR("{\"type\":\"string\"}"), NULL, &s, &err);
    bool is_hit = oom_was_hit();
    oom_reset();
    assert_int_equal(rc, is_hit ? CW_NOMEM : CW_OK);
    cw_schema_unref(s);
    return is_hit;
}

/* It must run first: the meta-schema is compiled once for the process. */
TEST(a_meta_schema_that_found_no_memory_is_compiled_again)
{
    size_t n = 1;
    while (compile_failing_at(n))
        n++;
    assert_true(n >= 20);
    assert_int_equal(schema_check_text("{\"type\":\"string\"}", "1", NULL), CW_PARAMS);
}

TEST(compiling_survives_every_failed_allocation)
{
    /* The meta-schema is made once for the process. */
    cw_schema_unref(must_compile_schema("{}", NULL));
    assert_true(oom_each(compile_once, NULL) >= 20);
}

typedef struct prepared {
    cw_schema *s;
    const cw_json *good;
    const cw_json *bad;
} prepared;

static void validate_once(void *ctx)
{
    prepared *p = ctx;
    cw_schema_scratch scratch;
    cw_schema_scratch_init(&scratch);
    cw_code rc = cw_schema_validate(p->s, p->good, &scratch);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_schema_scratch_done(&scratch);
}

static void explain_once(void *ctx)
{
    prepared *p = ctx;
    cw_arena a;
    cw_arena_init(&a, 1 << 20);
    cw_schema_report report = {0};
    cw_code rc = cw_schema_explain(p->s, p->bad, NULL, &a, &report, NULL);
    /* Text that finds no memory is left out; the verdict is not. */
    assert_true(rc == CW_PARAMS || (oom_was_hit() && rc == CW_NOMEM));
    cw_arena_done(&a);
}

TEST(validating_survives_every_failed_allocation)
{
    cw_arena a;
    cw_arena_init(&a, 1 << 20);
    prepared p = {.s = must_compile_schema(big_schema, NULL)};
    p.good = read_deep_json(&a, CW_STR("{\"a\":[1,2,3,4,5,6,7,8,9],\"b\":\"aa\"}"));
    p.bad =
        read_deep_json(&a, CW_STR("{\"a\":[1,\"x\",3,4,5,6,7,8,1],\"b\":\"b\",\"d\":2,\"q\":1}"));
    assert_true(oom_each(validate_once, &p) >= 2);
    assert_true(oom_each(explain_once, &p) >= 2);
    cw_schema_unref(p.s);
    cw_arena_done(&a);
}

TEST(a_warm_validation_allocates_nothing)
{
    cw_arena a;
    cw_arena_init(&a, 1 << 20);
    cw_schema *s = must_compile_schema(big_schema, NULL);
    const cw_json *v = read_deep_json(
        &a, CW_STR("{\"a\":[1,2,3,4,5,6,7,8,9],\"b\":\"aa\",\"c\":1,\"d\":5,\"p1\":2.0}"));
    cw_schema_scratch scratch;
    cw_schema_scratch_init(&scratch);
    assert_int_equal(cw_schema_validate(s, v, &scratch), CW_OK);
    oom_reset();
    for (int i = 0; i < 10; i++)
        assert_int_equal(cw_schema_validate(s, v, &scratch), CW_OK);
    assert_int_equal(oom_count(), 0);
    cw_schema_scratch_done(&scratch);
    cw_schema_unref(s);
    cw_arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_meta_schema_that_found_no_memory_is_compiled_again),
        cmocka_unit_test(the_default_dialect_is_2020_12_and_can_be_changed),
        cmocka_unit_test(formats_assert_unless_told_otherwise),
        cmocka_unit_test(a_schema_keeps_nothing_of_its_text),
        cmocka_unit_test(registered_documents_can_be_referred_to),
        cmocka_unit_test(vocabularies_of_a_registered_meta_schema_count),
        cmocka_unit_test(the_meta_check_can_be_skipped_but_shapes_are_always_checked),
        cmocka_unit_test(compiling_survives_every_failed_allocation),
        cmocka_unit_test(validating_survives_every_failed_allocation),
        cmocka_unit_test(a_warm_validation_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
