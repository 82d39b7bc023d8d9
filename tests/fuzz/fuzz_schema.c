/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_schema.c - the input is a schema, a line feed, and an instance. Whatever they are:
 *
 *   - compiling ends with a schema or an error with a message, under both drafts
 *   - the program and the exhaustive evaluator never give different verdicts; a limit that only one
 *     of them meets is no verdict
 *   - a refusal has problems, each with a message and a pointer that leads to something
 *   - compiling the schema's own copy of its document gives the same verdict again
 */
#include "fuzz.h"

#include "schema/schema.h"

#define ARENA_MAX ((size_t)64 << 20)

static cw_schema *compile(cw_str text, const cw_schema_opts *opts)
{
    cw_schema *s = NULL;
    cw_err err = {0};
    cw_code rc = cw_schema_compile_text(text, opts, &s, &err);
    if (rc) {
        CHECK(rc == CW_PARAMS || rc == CW_LIMIT || rc == CW_PARSE);
        CHECK(err.code == rc && err.msg[0]);
        return NULL;
    }
    return s;
}

static void check_report(const cw_schema_report *report, const cw_json *instance)
{
    CHECK(report->total > 0 && report->n > 0);
    cw_buf out;
    cw_buf_init(&out, SIZE_MAX / 4);
    for (size_t i = 0; i < report->n; i++) {
        const cw_schema_problem *p = &report->problems[i];
        CHECK(p->message.n > 0 && p->keyword.n > 0);
        CHECK(cw_json_pointer(instance, p->instance_pointer));
        CHECK(i == 0 || report->problems[i - 1].instance <= p->instance);
        cw_schema_problem_text(p, &out);
    }
    cw_schema_write_output(report, CW_SCHEMA_BASIC, &out);
    cw_schema_write_output(report, CW_SCHEMA_DETAILED, &out);
    CHECK(!out.code);
    cw_buf_done(&out);
}

static cw_code verdict(const cw_schema *s, const cw_json *instance)
{
    cw_code fast = cw_schema_validate(s, instance, NULL);
    CHECK(fast == CW_OK || fast == CW_PARAMS || fast == CW_LIMIT);
    cw_arena arena;
    cw_arena_init(&arena, ARENA_MAX);
    cw_schema_report report = {0};
    const cw_schema_explain_opts opts = {.max_problems = 5, .nested = instance->n % 2};
    cw_code slow = cw_schema_explain(s, instance, &opts, &arena, &report, NULL);
    CHECK(slow == CW_OK || slow == CW_PARAMS || slow == CW_LIMIT);
    CHECK(fast == slow || fast == CW_LIMIT || slow == CW_LIMIT);
    if (slow == CW_PARAMS)
        check_report(&report, instance);
    cw_arena_done(&arena);
    return fast;
}

static void run(cw_str schema, const cw_json *instance, cw_schema_draft draft)
{
    const cw_schema_opts opts = {.draft = draft, .max_steps = 20000, .max_recursion = 300};
    cw_schema *s = compile(schema, &opts);
    if (!s)
        return;
    cw_code first = verdict(s, instance);
    cw_schema *again = compile(cw_json_span(cw_schema_root(s)), &opts);
    CHECK(again && cw_schema_validate(again, instance, NULL) == first);
    cw_schema_unref(again);
    cw_schema_unref(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_str rest;
    cw_str schema = cw_str_cut(cw_str_make((const char *)data, size), '\n', &rest);
    if (!rest.p)
        rest = CW_STR("{}");
    cw_arena arena;
    cw_arena_init(&arena, ARENA_MAX);
    const cw_json *instance = NULL;
    if (cw_json_read(rest, NULL, &arena, &instance, NULL, NULL) == CW_OK) {
        run(schema, instance, CW_SCHEMA_2020_12);
        run(schema, instance, CW_SCHEMA_DRAFT_07);
    }
    cw_arena_done(&arena);
    return 0;
}
