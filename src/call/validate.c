/* SPDX-License-Identifier: GPL-2.0-or-later */
/* validate.c - validates arguments and results against their schemas.
 *
 * A valid value costs one run of a compiled program. Only an invalid one is examined again, to describe
 * the problem.
 */
#include "call/call_int.h"
#include "json/write.h"
#include "net/loop/run_queue.h"

#define SHOWN 3u                    /* problems in one message */
#define ROOM (CW_ERR_MSG_MAX - 32u) /* bytes for them when there is more than one */
#define TOO_HARD "too much work to validate (limits.validation_steps)"

/* The problems of one call's values, as one text. */
typedef struct complaint {
    cw_buf text;
    uint64_t total;
    size_t exposed;
    bool is_limit; /* there were not enough steps to find out */
    int64_t *steps;
} complaint;

int64_t cw_call_steps(const cw_runtime_loop *rl)
{
    return cw_runtime_config(rl)->limits.validation_steps;
}

void cw_call_add_waste(cw_runtime_loop *rl, cw_str who, int64_t spent)
{
    cw_wasted_work_add(&rl->waste, who, cw_call_steps(rl), spent);
    if (rl->loop->run_queue)
        cw_run_queue_set_wasted(rl->loop->run_queue);
}

/* `name` is the parameter's, or empty for a result. The first problem is always there; a further
 * one only as a whole. */
static void add_problem(complaint *c, cw_str name, const cw_schema_problem *problem)
{
    size_t before = c->text.n;
    if (c->exposed == SHOWN)
        return;
    cw_arguments_add_problem(&c->text, name, problem);
    if (c->exposed && c->text.n > ROOM)
        c->text.n = before;
    else
        c->exposed++;
}

/* A value that takes too many steps is not valid. */
static void add_limit(complaint *c, const cw_exchange *ex, cw_str name)
{
    const cw_method *method = ex->entry->method;
    cw_log(CW_LOG_WARN, "call", TOO_HARD, CW_KV("source", method->source->name),
           CW_KV("method", method->id), CW_KV("value", name.n ? name : CW_STR("result")));
    add_problem(c, name, &(cw_schema_problem){.message = CW_STR(TOO_HARD)});
    c->total++;
    c->is_limit = true;
}

/* CW_OK when the value is valid or its problems are in the complaint. */
static cw_code check_value(cw_exchange *ex, const cw_schema *schema, const cw_json *v, cw_str name,
                           complaint *c)
{
    cw_code rc = cw_schema_validate_within(schema, v, &ex->rl->scratch, c->steps);
    if (CW_LIKELY(rc == CW_OK))
        return CW_OK;
    cw_schema_report report;
    const cw_schema_explain_opts opts = {.max_problems = SHOWN, .steps = c->steps};
    if (rc == CW_PARAMS)
        rc = cw_schema_explain(schema, v, &opts, &ex->arena, &report, NULL);
    if (rc == CW_NOMEM)
        return rc;
    if (rc != CW_PARAMS) {
        add_limit(c, ex, name);
        return CW_OK;
    }
    for (size_t i = 0; i < report.n; i++)
        add_problem(c, name, &report.problems[i]);
    c->total += report.total;
    return CW_OK;
}

/* The complaint as an error, or CW_OK when there is none. */
static cw_code conclude(complaint *c, cw_code rc, cw_err *err)
{
    if (rc == CW_OK && c->text.code)
        rc = c->text.code;
    if (rc)
        rc = cw_fail_nomem(err);
    else if (c->total > c->exposed)
        rc = cw_fail(err, CW_PARAMS, "%.*s (and more)", CW_STR_ARG(cw_buf_str(&c->text)));
    else if (c->total)
        rc = cw_fail(err, CW_PARAMS, "%.*s", CW_STR_ARG(cw_buf_str(&c->text)));
    cw_buf_done(&c->text);
    return rc;
}

/* The arguments as a whole, where the method has a schema for that. */
static cw_code check_together(cw_exchange *ex, const cw_entry *entry, cw_str arguments,
                              complaint *c, cw_err *err)
{
    const cw_schema *schema;
    const cw_json *v;
    cw_json_opts deep = {.max_depth = CW_JSON_DEPTH_CEILING};
    cw_code rc = cw_method_schemas_input(entry->schemas, entry->method, &schema, err);
    if (!rc && schema)
        rc = cw_json_read(arguments, &deep, &ex->arena, &v, NULL, err);
    return rc || !schema ? rc : check_value(ex, schema, v, CW_STR(""), c);
}

cw_code cw_validate_arguments(cw_exchange *ex, const cw_entry *entry, const cw_arguments *bound,
                              int64_t *steps, cw_err *err)
{
    const cw_method *method = entry->method;
    complaint c = {0};
    cw_code rc = CW_OK;
    c.steps = steps;
    cw_buf_init(&c.text, CW_BUF_MAX);
    for (size_t i = 0; i < method->n_params && !rc && c.total <= SHOWN; i++) {
        const cw_schema *schema;
        if (!bound->values[i])
            continue;
        rc = cw_method_schemas_param(entry->schemas, method, i, &schema, err);
        if (!rc && schema)
            rc = check_value(ex, schema, bound->values[i], method->params[i].name, &c);
    }
    if (!rc && method->input.n && !c.total && !c.text.n)
        rc = check_together(ex, entry, bound->text, &c, err);
    return conclude(&c, rc, err);
}

cw_code cw_validate_result(cw_exchange *ex, const cw_json *result, cw_err *err)
{
    /* A caller that causes expensive results to fail must not take large ones from others. */
    const uint64_t ids[] = {(uint64_t)(uintptr_t)ex->active->source, ex->owner};
    cw_str who = cw_str_make((const char *)ids, sizeof ids);
    int64_t most = cw_wasted_work_ceiling(&ex->rl->waste, who, cw_call_steps(ex->rl));
    int64_t steps = most;
    complaint c = {.steps = &steps};
    cw_buf_init(&c.text, CW_BUF_MAX);
    cw_code rc = conclude(&c, check_value(ex, ex->output, result, CW_STR(""), &c), err);
    ex->rl->result_steps = steps;
    if (CW_UNLIKELY(rc == CW_PARAMS))
        cw_call_add_waste(ex->rl, who, most - steps);
    return rc == CW_PARAMS && c.is_limit ? CW_LIMIT : rc;
}

bool cw_call_is_result(cw_runtime_loop *rl, const cw_entry *entry, const cw_json *value)
{
    const cw_schema *schema;
    if (cw_method_schemas_result(entry->schemas, entry->method, &schema, NULL))
        return false;
    return !schema || !cw_schema_validate_within(schema, value, &rl->scratch, &rl->result_steps);
}
