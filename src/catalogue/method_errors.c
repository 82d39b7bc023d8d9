/* SPDX-License-Identifier: GPL-2.0-or-later */
/* method_errors.c - compile every schema, try every default, and go on after a mistake. */
#include "catalogue/method_errors.h"

#define TREES_MAX ((size_t)256 << 20)

typedef struct error_list {
    cw_schema_opts opts;
    cw_arena trees; /* of one schema */
    cw_str method;
    cw_buf *out;
} error_list;

/* "method 'a.b': param 'x': ". Returns where the line begins. */
static size_t begin_line(const error_list *l, const cw_param *param, const char *part)
{
    size_t from = l->out->n;
    cw_buf_printf(l->out, "method '%.*s': ", CW_STR_ARG(l->method));
    if (param)
        cw_buf_printf(l->out, "param '%.*s': ", CW_STR_ARG(param->name));
    cw_buf_printf(l->out, "%s: ", part);
    return from;
}

/* Names and values in a line may have line breaks. */
static void end_line(const error_list *l, size_t from)
{
    cw_buf_escape_controls(l->out, from);
    cw_buf_add_char(l->out, '\n');
}

/* *ret stays NULL where there is none, or it is not valid and `part` says where it stands. */
static cw_code compile(error_list *l, cw_str text, cw_schema **ret, cw_err *err)
{
    const cw_json_opts deep = {.max_depth = CW_JSON_DEPTH_CEILING};
    const cw_json *tree;
    cw_arena_reset(&l->trees);
    if (text.n == 0)
        return CW_OK;
    cw_code rc = cw_json_read(text, &deep, &l->trees, &tree, NULL, err);
    return rc ? rc : cw_schema_compile(tree, &l->opts, ret, err);
}

/* CW_PARAMS with the first reason in `out` if the schema rejects the default. */
static cw_code check_default(error_list *l, const cw_schema *schema, const cw_param *param,
                             int64_t *steps, cw_buf *out)
{
    cw_schema_report report;
    cw_schema_explain_opts opts = {.max_problems = 1};
    opts.steps = steps;
    cw_code rc = cw_schema_explain(schema, param->default_value, &opts, &l->trees, &report, NULL);
    if (rc == CW_PARAMS && report.n)
        cw_schema_problem_text(&report.problems[0], out);
    return rc == CW_PARAMS || rc == CW_NOMEM ? rc : CW_OK;
}

static cw_code add_default(error_list *l, const cw_schema *schema, const cw_param *param)
{
    CW_CLEANUP(cw_buf_done) cw_buf why;
    cw_buf_init(&why, CW_BUF_MAX);
    cw_code rc = check_default(l, schema, param, NULL, &why);
    if (rc != CW_PARAMS)
        return rc;
    size_t from = begin_line(l, param, "default");
    cw_buf_add(l->out, cw_buf_str(&why));
    end_line(l, from);
    return why.code;
}

/* `param` NULL: a schema of the method itself. */
static cw_code check_schema(error_list *l, cw_str text, const cw_param *param, const char *part,
                            cw_method_errors_of which)
{
    cw_schema *schema = NULL;
    cw_err err = {0};
    cw_code rc = compile(l, text, &schema, &err);
    if (rc == CW_NOMEM)
        return rc;
    if (rc && which == CW_METHOD_ERRORS_ALL) {
        size_t from = begin_line(l, param, part);
        cw_buf_add(l->out, cw_str_from(err.msg));
        end_line(l, from);
    }
    rc = CW_OK;
    if (schema && param && param->default_value)
        rc = add_default(l, schema, param);
    cw_schema_unref(schema);
    return rc;
}

static cw_code check_method(error_list *l, const cw_method *m, cw_method_errors_of which)
{
    cw_code rc = CW_OK;
    l->method = m->id;
    for (size_t i = 0; i < m->n_params && !rc; i++) {
        const cw_param *param = &m->params[i];
        if (which == CW_METHOD_ERRORS_ALL || param->default_value)
            rc = check_schema(l, param->schema, param, "schema", which);
    }
    if (which == CW_METHOD_ERRORS_DEFAULTS)
        return rc;
    if (!rc)
        rc = check_schema(l, m->output, NULL, "result: schema", which);
    return rc ? rc : check_schema(l, m->input, NULL, "input: schema", which);
}

static void list_init(error_list *l, const cw_schema_policy *policy, cw_buf *out)
{
    *l = (error_list){
        .out = out, .opts = {.draft = policy->draft, .annotate_formats = policy->annotate_formats}};
    cw_arena_init(&l->trees, TREES_MAX);
}

cw_code cw_method_errors_list(const cw_method *methods, size_t n, const cw_schema_policy *policy,
                              cw_method_errors_of which, cw_buf *out)
{
    error_list l;
    cw_code rc = CW_OK;
    list_init(&l, policy, out);
    for (size_t i = 0; i < n && !rc; i++)
        rc = check_method(&l, &methods[i], which);
    cw_arena_done(&l.trees);
    return rc;
}

cw_code cw_method_check_default(const cw_param *param, const cw_schema_policy *policy,
                                int64_t *steps, cw_err *err)
{
    if (steps && *steps < 0)
        return CW_OK;
    error_list l;
    cw_schema *schema = NULL;
    CW_CLEANUP(cw_buf_done) cw_buf why;
    cw_buf_init(&why, CW_BUF_MAX);
    list_init(&l, policy, &why);
    cw_code rc = compile(&l, param->schema, &schema, NULL);
    if (rc != CW_NOMEM)
        rc = schema ? check_default(&l, schema, param, steps, &why) : CW_OK;
    cw_schema_unref(schema);
    cw_arena_done(&l.trees);
    if (rc == CW_NOMEM || why.code == CW_NOMEM)
        return cw_fail_nomem(err);
    return rc ? cw_fail(err, rc, "%.*s", CW_STR_ARG(cw_buf_str(&why))) : CW_OK;
}
