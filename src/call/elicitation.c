/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elicitation.c - what people have filled in, against the schema of the form. */
#include "call/call_int.h"

static cw_code explain(const cw_schema *schema, const cw_json *content, int64_t *steps,
                       cw_arena *arena, cw_err *err)
{
    cw_schema_report report;
    cw_schema_explain_opts opts = {.max_problems = 1};
    opts.steps = steps;
    cw_code rc = cw_schema_explain(schema, content, &opts, arena, &report, err);
    if (rc == CW_NOMEM)
        return rc;
    if (rc != CW_PARAMS || report.n == 0)
        return cw_fail(err, CW_PARAMS, "too much work to validate");
    cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_schema_problem_text(report.problems, &text);
    rc = text.code ? cw_fail_nomem(err)
                   : cw_fail(err, CW_PARAMS, "%.*s", CW_STR_ARG(cw_buf_str(&text)));
    cw_buf_done(&text);
    return rc;
}

cw_code cw_elicitation_check(cw_runtime_loop *rl, cw_str form, const cw_json *content,
                             cw_arena *arena, cw_err *err)
{
    cw_schema *schema;
    cw_code rc = cw_schema_compile_text(form, NULL, &schema, err);
    if (rc == CW_NOMEM)
        return rc;
    if (rc) {
        /* The schema is the method's mistake, not the user's. */
        cw_log_err(CW_LOG_WARN, "call", "answers to the form of a method cannot be checked", err);
        return CW_OK;
    }
    int64_t steps = cw_call_steps(rl);
    rc = cw_schema_validate_within(schema, content, &rl->scratch, &steps);
    if (rc == CW_PARAMS || rc == CW_LIMIT)
        rc = explain(schema, content, &steps, arena, err);
    cw_schema_unref(schema);
    return rc == CW_NOMEM ? cw_fail_nomem(err) : rc;
}
