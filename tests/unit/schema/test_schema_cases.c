/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our own cases for every keyword, in cases/: lists of schemas with values that are valid and
 * values that are not, or with the error that compiling must give. Both evaluators run all of them.
 */
#include "support/schema_fixture.h"

static cw_schema_opts opts_of(const cw_json *entry)
{
    cw_schema_opts opts = {0};
    const cw_json *draft = cw_json_get(entry, CW_STR("draft"));
    if (draft && cw_str_is(cw_json_text(draft), "7"))
        opts.draft = CW_SCHEMA_DRAFT_07;
    return opts;
}

static unsigned run_values(const cw_schema *s, const cw_json *entry, const char *name, cw_code want)
{
    unsigned n = 0;
    cw_schema_scratch scratch;
    cw_schema_scratch_init(&scratch);
    const cw_json *v = cw_json_first(cw_json_get(entry, cw_str_from(name)));
    for (; v; v = cw_json_next(v), n++) {
        cw_code got = schema_verdict(s, v, &scratch);
        if (got != want) {
            cw_str about = cw_json_text(cw_json_get(entry, CW_STR("about")));
            cw_str text = cw_json_span(v);
            fail_msg("%.*s: %.*s should be %s, is %s", CW_STR_ARG(about), CW_STR_ARG(text), name,
                     cw_code_text(got));
        }
    }
    cw_schema_scratch_done(&scratch);
    return n;
}

static unsigned run_entry(const cw_json *entry)
{
    cw_schema_opts opts = opts_of(entry);
    const cw_json *schema = cw_json_get(entry, CW_STR("schema"));
    cw_schema *s = NULL;
    cw_err err = {0};
    if (cw_schema_compile(schema, &opts, &s, &err)) {
        cw_str text = cw_json_span(schema);
        fail_msg("%.*s: %s", CW_STR_ARG(text), err.msg);
    }
    unsigned n = run_values(s, entry, "valid", CW_OK) + run_values(s, entry, "invalid", CW_PARAMS);
    cw_schema_unref(s);
    return n;
}

static void run_broken(const cw_json *entry, const cw_json *wanted)
{
    cw_schema_opts opts = opts_of(entry);
    cw_schema *s = NULL;
    cw_err err = {0};
    cw_code rc = cw_schema_compile(cw_json_get(entry, CW_STR("schema")), &opts, &s, &err);
    char text[256];
    snprintf(text, sizeof text, "%.*s", CW_STR_ARG(cw_json_text(wanted)));
    if (rc != CW_PARAMS && rc != CW_LIMIT)
        fail_msg("'%s' was expected, got %s", text, cw_code_text(rc));
    if (!strstr(err.msg, text))
        fail_msg("'%s' was expected, got '%s'", text, err.msg);
}

TEST_WITH(run_file, const char *name)
{
    const char *folder = getenv("CAUSEWAY_SCHEMA_CASES");
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.json", folder ? folder : CASES, name);
    cw_arena a;
    cw_arena_init(&a, 64u << 20);
    const cw_json *entries = read_deep_json(&a, load_file(&a, path));
    unsigned n = 0;
    for (const cw_json *e = cw_json_first(entries); e; e = cw_json_next(e)) {
        const cw_json *error = cw_json_get(e, CW_STR("error"));
        if (error)
            run_broken(e, error);
        else
            n += run_entry(e);
    }
    print_message("[          ] %s: %u schemas, %u values\n", name, cw_json_count(entries), n);
    cw_arena_done(&a);
}

#define CASE_FILE(text)                                                                            \
    {                                                                                              \
        .name = text, .test_func = run_file, .initial_state = (char[]){text},                      \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE_FILE("values"),     CASE_FILE("numbers"),     CASE_FILE("strings"),
        CASE_FILE("arrays"),     CASE_FILE("objects"),     CASE_FILE("logic"),
        CASE_FILE("references"), CASE_FILE("unevaluated"), CASE_FILE("broken"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
