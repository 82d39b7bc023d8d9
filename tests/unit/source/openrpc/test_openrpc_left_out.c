/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is left out of a service's document, and that nothing else is. */
#include "support/openrpc_fixture.h"

typedef struct tolerant {
    cw_buf warnings;
    cw_openrpc_opts opts;
} tolerant;

static void tolerant_init(tolerant *t)
{
    cw_buf_init(&t->warnings, 65536);
    t->opts = (cw_openrpc_opts){.warnings = &t->warnings};
}

static openrpc_result read_tolerant(tolerant *t, const char *text)
{
    cw_buf_clear(&t->warnings);
    openrpc_result r = openrpc_read_text(&t->opts, text);
    if (r.rc)
        fail_msg("%s: %s", text, r.err.msg);
    return r;
}

TEST(schemas_that_cannot_be_used_are_left_out_with_a_warning)
{
    static const struct {
        const char *schema, *message;
    } cases[] = {
        {"{\"$ref\":\"#/nope\"}", "$ref '#/nope' leads nowhere"},
        {"{\"items\":{\"$ref\":\"#/nope\"}}", "$ref '#/nope' leads nowhere"},
        {"{\"$ref\":\"other.json#/x\"}", "$ref 'other.json#/x': only \"#/...\" is followed"},
        {"{\"$ref\":\"#/components/schemas/Loop\"}", "$ref leads to more than 16 others"},
        {"\"string\"", "expected an object, got string"},
        {"[]", "expected an object, got array"},
        {"7", "expected an object, got number"},
        {"{\"$ref\":\"#/no\\npe\"}", "$ref '#/no\\u000ape' leads nowhere"},
    };
    tolerant t;
    tolerant_init(&t);
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char text[3000], warnings[600];
        snprintf(text, sizeof text,
                 "{" OPENRPC_COMPONENTS "\"methods\":[{\"name\":\"a\",\"params\":[{\"name\":\"x\","
                 "\"required\":true,\"schema\":%s},{\"name\":\"y\",\"schema\":{\"type\":\"null\"}}]"
                 ",\"result\":{\"schema\":%s}},{\"name\":\"b\"}]}",
                 cases[i].schema, cases[i].schema);
        snprintf(warnings, sizeof warnings,
                 "a schema that cannot be used is left out: method 'a': param 'x': schema: %s\n"
                 "a schema that cannot be used is left out: method 'a': result: schema: %s",
                 cases[i].message, cases[i].message);
        openrpc_result r = read_tolerant(&t, text);
        assert_str(cw_buf_str(&t.warnings), warnings);
        assert_int_equal(r.n, 2);
        assert_int_equal(r.methods[0].n_params, 2);
        assert_int_equal(r.methods[0].params[0].schema.n, 0);
        assert_true(r.methods[0].params[0].is_required);
        assert_str(r.methods[0].params[1].schema, "{\"type\":\"null\"}");
        assert_int_equal(r.methods[0].output.n, 0);
        openrpc_result_done(&r);
    }
    cw_buf_done(&t.warnings);
}

TEST(a_schema_that_grows_beyond_all_bounds_is_left_out_alone)
{
    /* More definitions than one schema may have. */
    char *many =
        repeat_item("{\"c\":{", "\"d%\":{}", 1100, "},\"methods\":[{\"name\":\"a\",\"params\":[");
    char *refs = repeat_item("{\"name\":\"x\",\"schema\":{\"anyOf\":[", "{\"$ref\":\"#/c/d%\"}",
                             1100, "]}},{\"name\":\"y\",\"schema\":{\"type\":\"string\"}}]}]}");
    cw_buf text;
    cw_buf_init(&text, 1 << 20);
    cw_buf_printf(&text, "%s%s", many, refs);
    cw_buf_add_char(&text, 0);
    tolerant t;
    tolerant_init(&t);
    openrpc_result r = read_tolerant(&t, text.p);
    assert_str(cw_buf_str(&t.warnings), "a schema that cannot be used is left out: method 'a': "
                                        "param 'x': schema: more than 999 references");
    assert_str(r.methods[0].params[1].schema, "{\"type\":\"string\"}");
    openrpc_result_done(&r);
    r = openrpc_read_text(&openrpc_remote_opts, text.p);
    assert_int_equal(r.rc, CW_LIMIT);
    openrpc_result_done(&r);
    free(many);
    free(refs);
    cw_buf_done(&text);
    cw_buf_done(&t.warnings);
}

/* A text of half a megabyte in `large`, then `front`, n times `item` with its number in the place
 * of '%', and `back`. */
static openrpc_result read_large(tolerant *t, const char *front, const char *item, size_t n,
                                 const char *back)
{
    enum { LARGE = 1 << 19 };
    cw_buf text;
    cw_buf_init(&text, 4 << 20);
    cw_buf_add(&text, CW_STR("{\"c\":{\"large\":{\"enum\":[\""));
    for (size_t i = 0; i < LARGE; i++)
        cw_buf_add_char(&text, 'e');
    char *items = repeat_item(front, item, n, back);
    cw_buf_printf(&text, "\"]}},%s", items);
    cw_buf_add_char(&text, 0);
    free(items);
    cw_buf_clear(&t->warnings);
    openrpc_result r = openrpc_read_text(&t->opts, text.p);
    cw_buf_done(&text);
    return r;
}

static size_t count_open(const openrpc_result *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        for (size_t k = 0; k < r->methods[i].n_params; k++)
            n += r->methods[i].params[k].schema.n == 0;
    }
    return n;
}

/* Each copy is bounded, and so are all of them: half a megabyte in 200 places is 100 of them. */
TEST(threat_D8_what_many_refer_to_is_not_copied_without_end)
{
    static const struct {
        const char *front, *item, *back;
    } cases[] = {
        /* below a schema, as a schema, as a param, as a result */
        {"\"methods\":[{\"name\":\"a\",\"params\":[",
         "{\"name\":\"p%\",\"schema\":{\"allOf\":[{\"$ref\":\"#/c/large\"}]}}",
         "]},{\"name\":\"b\",\"params\":[{\"name\":\"y\",\"schema\":{\"type\":\"string\"}}]}]}"},
        {"\"methods\":[{\"name\":\"a\",\"params\":[",
         "{\"name\":\"p%\",\"schema\":{\"$ref\":\"#/c/large\"}}",
         "]},{\"name\":\"b\",\"params\":[{\"name\":\"y\",\"schema\":{\"type\":\"string\"}}]}]}"},
        {"\"d\":{\"name\":\"x\",\"schema\":{\"allOf\":[{\"$ref\":\"#/c/large\"}]}},\"methods\":[",
         "{\"name\":\"m%\",\"params\":[{\"$ref\":\"#/d\"}]}",
         ",{\"name\":\"b\",\"params\":[{\"name\":\"y\",\"schema\":{\"type\":\"string\"}}]}]}"},
    };
    tolerant t;
    tolerant_init(&t);
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        openrpc_result r = read_large(&t, cases[i].front, cases[i].item, 200, cases[i].back);
        if (r.rc)
            fail_msg("%zu: %s", i, r.err.msg);
        size_t n_open = count_open(&r);
        assert_true(n_open >= 150 && n_open <= 170); /* 16 MB and four times the document fit */
        assert_true(r.arena.used < (size_t)32 << 20);
        const cw_method *last = &r.methods[r.n - 1];
        assert_str(last->params[0].schema, "{\"type\":\"string\"}");
        assert_non_null(memmem(t.warnings.p, t.warnings.n, "is too much for one document", 28));
        openrpc_result_done(&r);
        /* Of whoever must know better it is refused. */
        cw_buf *warnings = t.opts.warnings;
        t.opts.warnings = NULL;
        r = read_large(&t, cases[i].front, cases[i].item, 200, cases[i].back);
        assert_int_equal(r.rc, CW_LIMIT);
        t.opts.warnings = warnings;
        openrpc_result_done(&r);
    }
    cw_buf_done(&t.warnings);
}

/* The same with schemas and texts that stand in params which many methods share. */
TEST(threat_D8_shared_params_have_the_same_ceiling)
{
    enum { LARGE = 1 << 19 };
    tolerant t;
    tolerant_init(&t);
    char *methods = repeat_item("", "{\"name\":\"m%\",\"params\":[{\"$ref\":\"#/p\"}]}", 200, "]}");
    char *large = calloc(1, LARGE + 1);
    memset(large, 'e', LARGE);
    static const char *const shared[] = {
        "{\"name\":\"x\",\"schema\":{\"title\":\"%s\"}}",
        "{\"name\":\"x\",\"schema\":{},\"description\":\"%s\"}",
    };
    for (size_t i = 0; i < CW_COUNT(shared); i++) {
        CW_CLEANUP(cw_buf_done) cw_buf text;
        cw_buf_init(&text, 4 << 20);
        cw_buf_add(&text, CW_STR("{\"p\":"));
        const char *gap = strstr(shared[i], "%s");
        cw_buf_printf(&text, "%.*s%s%s,\"methods\":[%s", (int)(gap - shared[i]), shared[i], large,
                      gap + 2, methods);
        cw_buf_add_char(&text, 0);
        openrpc_result r = read_tolerant(&t, text.p);
        assert_int_equal(r.n, 200);
        assert_true(r.arena.used < (size_t)32 << 20);
        assert_int_equal(r.methods[199].params[0].description.n, 0);
        assert_true(r.methods[0].params[0].schema.n > LARGE ||
                    r.methods[0].params[0].description.n == LARGE);
        openrpc_result_done(&r);
    }
    free(methods);
    free(large);
    cw_buf_done(&t.warnings);
}

TEST(parts_that_cannot_be_read_are_left_out_with_a_warning)
{
    static const struct {
        const char *methods, *left, *warnings;
    } cases[] = {
        {"{\"$ref\":\"#/x\"},{\"name\":\"b\"}", "b",
         "a method that cannot be used is left out: methods[0]: $ref '#/x' leads nowhere"},
        {"{\"name\":\"b\",\"params\":[{\"name\":\"p\"},{\"$ref\":\"#/x\"}]}", "b(p)",
         "a param that cannot be used is left out: method 'b': params[1]: $ref '#/x' leads "
         "nowhere"},
        {"{\"name\":\"b\",\"paramStructure\":\"by-name\",\"params\":[{\"$ref\":\"x.json\"},"
         "{\"name\":\"p\"}]}",
         "b(p)",
         "a param that cannot be used is left out: method 'b': params[0]: $ref 'x.json': only "
         "\"#/...\" is followed"},
        /* Behind it others would be sent in its place. */
        {"{\"name\":\"a\",\"params\":[{\"$ref\":\"#/x\"},{\"name\":\"p\"}]},{\"name\":\"b\"}", "b",
         "a param that cannot be used is left out: method 'a': params[0]: $ref '#/x' leads "
         "nowhere\n"
         "a method that cannot be used is left out: method 'a': a param before 'p' cannot be "
         "used"},
        {"{\"name\":\"b\",\"result\":{\"$ref\":\"#/x\"}}", "b",
         "a result that cannot be used is left out: method 'b': result: $ref '#/x' leads "
         "nowhere"},
        {"{\"name\":\"b\"},{\"name\":\"c\",\"params\":7},{\"name\":\"b\"}", "b",
         "a method that cannot be used is left out: method 'c': params: expected an array, got "
         "number\n"
         "a method that cannot be used is left out: method 'b': declared twice"},
    };
    tolerant t;
    tolerant_init(&t);
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char text[3000], left[64];
        snprintf(text, sizeof text, "{\"methods\":[%s]}", cases[i].methods);
        openrpc_result r = read_tolerant(&t, text);
        assert_str(cw_buf_str(&t.warnings), cases[i].warnings);
        assert_int_equal(r.n, 1);
        assert_int_equal(r.methods[0].index, 0);
        snprintf(left, sizeof left, r.methods[0].n_params ? "%.*s(%.*s)" : "%.*s",
                 CW_STR_ARG(r.methods[0].id),
                 CW_STR_ARG(r.methods[0].n_params ? r.methods[0].params[0].name : CW_STR("")));
        assert_string_equal(left, cases[i].left);
        assert_true(r.methods[0].n_params <= 1);
        openrpc_result_done(&r);
    }
    cw_buf_done(&t.warnings);
}

TEST(a_document_of_which_nothing_is_left_is_refused)
{
    tolerant t;
    tolerant_init(&t);
    openrpc_result r =
        openrpc_read_text(&t.opts, "{\"methods\":[{\"$ref\":\"#/x\"},{\"name\":7}]}");
    assert_int_equal(r.rc, CW_PARAMS);
    assert_string_equal(r.err.msg,
                        "none of its methods can be used: methods[0]: $ref '#/x' leads nowhere");
    openrpc_result_done(&r);
    r = read_tolerant(&t, "{\"methods\":[]}");
    assert_int_equal(r.n, 0);
    openrpc_result_done(&r);
    cw_buf_done(&t.warnings);
}

/* ---- no memory ---- */

/* A line that there is no memory for is lost; nothing else is. */
static void read_tolerant_once(void *ctx)
{
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    tolerant t;
    tolerant_init(&t);
    cw_method *methods = NULL;
    size_t n = 0;
    cw_err err = {0};
    cw_code rc = cw_openrpc_read(ctx, &t.opts, &arena, &methods, &n, &err);
    assert_true(rc == CW_OK || (rc == CW_NOMEM && oom_was_hit()));
    assert_true(rc || n == 10);
    assert_true(rc || t.warnings.code == CW_NOMEM || t.warnings.n > 0);
    cw_buf_done(&t.warnings);
    cw_arena_done(&arena);
}

TEST(every_failed_allocation_is_reported_when_parts_are_left_out)
{
    cw_arena docs;
    cw_arena_init(&docs, 1 << 20);
    char *text = repeat_item("{" OPENRPC_COMPONENTS "\"methods\":[{\"$ref\":\"#/x\"},",
                             "{\"name\":\"m%\",\"params\":[{\"name\":\"x\",\"schema\":{\"anyOf\":[{"
                             "\"$ref\":\"#/components/schemas/Tree\"},{\"$ref\":\"#/nope\"}]}}]}",
                             10, "]}");
    const cw_json *doc = NULL;
    assert_int_equal(cw_json_read(cw_str_from(text), NULL, &docs, &doc, NULL, NULL), CW_OK);
    assert_true(oom_each(read_tolerant_once, (void *)(uintptr_t)doc) >= 20);
    free(text);
    cw_arena_done(&docs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemas_that_cannot_be_used_are_left_out_with_a_warning),
        cmocka_unit_test(a_schema_that_grows_beyond_all_bounds_is_left_out_alone),
        cmocka_unit_test(threat_D8_what_many_refer_to_is_not_copied_without_end),
        cmocka_unit_test(threat_D8_shared_params_have_the_same_ceiling),
        cmocka_unit_test(parts_that_cannot_be_read_are_left_out_with_a_warning),
        cmocka_unit_test(a_document_of_which_nothing_is_left_is_refused),
        cmocka_unit_test(every_failed_allocation_is_reported_when_parts_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
