/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schema_fixture.c - compile schemas and compare both evaluators. */
#include "support/schema_fixture.h"

cw_str load_file(cw_arena *a, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("cannot open %s", path);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    size_t n = (size_t)ftell(f);
    rewind(f);
    char *p = cw_arena_alloc(a, n + 1);
    assert_non_null(p);
    assert_int_equal(fread(p, 1, n, f), n);
    fclose(f);
    return cw_str_make(p, n);
}

const cw_json *read_deep_json(cw_arena *a, cw_str text)
{
    const cw_json *root = NULL;
    cw_err err = {0};
    const cw_json_opts opts = {.max_depth = CW_JSON_DEPTH_CEILING};
    if (cw_json_read(text, &opts, a, &root, NULL, &err))
        fail_msg("%s", err.msg);
    return root;
}

cw_schema *must_compile_schema(const char *text, const cw_schema_opts *opts)
{
    cw_schema *s = NULL;
    cw_err err = {0};
    if (cw_schema_compile_text(cw_str_from(text), opts, &s, &err))
        fail_msg("%.200s: %s", text, err.msg);
    return s;
}

cw_code schema_verdict(const cw_schema *s, const cw_json *v, cw_schema_scratch *scratch)
{
    cw_code fast = cw_schema_validate(s, v, scratch);
    cw_arena a;
    cw_arena_init(&a, 64u << 20);
    cw_schema_report report = {0};
    const cw_schema_explain_opts opts = {.max_problems = 3, .nested = true};
    cw_code slow = cw_schema_explain(s, v, &opts, &a, &report, NULL);
    if (slow == CW_PARAMS && report.total > 0)
        assert_true(report.n > 0);
    if (slow == CW_OK)
        assert_int_equal(report.n, 0);
    cw_arena_done(&a);
    if (fast != slow) {
        cw_str schema = cw_json_span(cw_schema_root(s));
        cw_str value = cw_json_span(v);
        fail_msg("fast says %s, exhaustive says %s: %.*s on %.*s", cw_code_text(fast),
                 cw_code_text(slow), CW_STR_ARG(schema), CW_STR_ARG(value));
    }
    return fast;
}

cw_code schema_check_text(const char *schema, const char *instance, const cw_schema_opts *opts)
{
    cw_arena a;
    cw_arena_init(&a, 64u << 20);
    cw_schema *s = must_compile_schema(schema, opts);
    cw_code rc = schema_verdict(s, read_deep_json(&a, cw_str_from(instance)), NULL);
    cw_schema_unref(s);
    cw_arena_done(&a);
    return rc;
}

cw_code schema_compile_error(const char *schema, const cw_schema_opts *opts, cw_err *err)
{
    cw_schema *s = NULL;
    *err = (cw_err){0};
    cw_code rc = cw_schema_compile_text(cw_str_from(schema), opts, &s, err);
    if (!rc)
        cw_schema_unref(s);
    return rc;
}
