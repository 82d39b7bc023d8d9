/* SPDX-License-Identifier: GPL-2.0-or-later */
/* validator.c - the module of host/validator.h: the checks of the server, without a server. */
#include "host/validator.h"

#include <stdio.h>
#include <stdlib.h>

#include "call/arguments.h"
#include "catalogue/method_schemas.h"
#include "source/openrpc/openrpc.h"

#define ARENA_MAX ((size_t)1 << 30)
#define SHOWN 3u

typedef struct validator {
    cw_arena arena;
    cw_method *methods;
    size_t n_methods;
    const cw_method *method;
    cw_method_schemas *schemas;
} validator;

/* Text for people, as much as there is room for. */
static void set_problem(char *problem, size_t n, cw_str text)
{
    snprintf(problem, n, "%.*s", CW_STR_ARG(text));
}

static void close_validator(void *ctx)
{
    validator *v = ctx;
    if (!v)
        return;
    cw_method_schemas_unref(v->schemas);
    cw_arena_done(&v->arena);
    free(v);
}

static cw_code read_text(validator *v, cw_str text, const cw_json **ret, cw_err *err)
{
    const cw_json_opts opts = {.max_bytes = ARENA_MAX, .max_depth = CW_JSON_DEPTH_CEILING};
    return cw_json_read(text, &opts, &v->arena, ret, NULL, err);
}

static cw_code fill(validator *v, const char *description, const char *method, cw_err *err)
{
    const cw_openrpc_opts opts = {.trust_marks = true, .callable = true};
    const cw_schema_policy policy = {0};
    const cw_json *doc;
    cw_code rc = read_text(v, cw_str_from(description), &doc, err);
    if (!rc)
        rc = cw_openrpc_read(doc, &opts, &v->arena, &v->methods, &v->n_methods, err);
    if (!rc)
        rc = cw_method_schemas_new(v->methods, v->n_methods, &policy, &v->schemas, err);
    for (size_t i = 0; !rc && i < v->n_methods; i++) {
        if (cw_str_is(v->methods[i].id, method))
            v->method = &v->methods[i];
    }
    return rc || v->method ? rc : cw_fail(err, CW_NOTFOUND, "no method '%s'", method);
}

static void *open_validator(const char *description, const char *method, char *problem, size_t n)
{
    cw_err err = {0};
    validator *v = calloc(1, sizeof *v);
    if (!v) {
        set_problem(problem, n, CW_STR("out of memory"));
        return NULL;
    }
    cw_arena_init(&v->arena, ARENA_MAX);
    if (fill(v, description, method, &err) == CW_OK)
        return v;
    set_problem(problem, n, cw_str_from(err.msg));
    close_validator(v);
    return NULL;
}

/* Append the problems of a value in the words of the server. CW_OK: it is valid. */
static cw_code explain(validator *v, const cw_schema *schema, const cw_json *value, cw_str name,
                       cw_buf *out)
{
    cw_schema_report report;
    const cw_schema_explain_opts opts = {.max_problems = SHOWN};
    cw_code rc = cw_schema_explain(schema, value, &opts, &v->arena, &report, NULL);
    for (size_t i = 0; rc == CW_PARAMS && i < report.n; i++)
        cw_arguments_add_problem(out, name, &report.problems[i]);
    if (rc == CW_PARAMS && report.total > report.n)
        cw_buf_printf(out, " (and %llu more)", (unsigned long long)(report.total - report.n));
    else if (rc && rc != CW_PARAMS)
        cw_buf_add(out, CW_STR("too much work to validate"));
    return rc;
}

static cw_code check_arguments(validator *v, const cw_arguments *bound, cw_buf *out, cw_err *err)
{
    const cw_schema *schema;
    const cw_json *all;
    cw_code rc = CW_OK;
    for (size_t i = 0; i < v->method->n_params && !rc; i++) {
        schema = NULL;
        if (bound->values[i])
            rc = cw_method_schemas_param(v->schemas, v->method, i, &schema, err);
        if (!rc && schema)
            (void)!explain(v, schema, bound->values[i], v->method->params[i].name, out);
    }
    if (rc || out->n)
        return rc;
    rc = cw_method_schemas_input(v->schemas, v->method, &schema, err);
    if (!rc && schema)
        rc = read_text(v, bound->text, &all, err);
    if (!rc && schema)
        (void)!explain(v, schema, all, CW_STR(""), out);
    return rc;
}

static const char *bind_arguments(void *ctx, const char *params, char *problem, size_t n)
{
    validator *v = ctx;
    cw_err err = {0};
    cw_arguments bound = {0};
    const cw_json *given;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, ARENA_MAX);
    cw_code rc = read_text(v, cw_str_from(params), &given, &err);
    if (!rc)
        rc = cw_arguments_bind(v->method, given, /* ignore_unknown= */ false, &v->arena, &bound,
                               &err);
    if (!rc)
        rc = check_arguments(v, &bound, &text, &err);
    /* Bound arguments end without a NUL. */
    const char *copy = NULL;
    if (!rc && !text.n) {
        copy = cw_arena_dup(&v->arena, bound.text.p, bound.text.n);
        rc = copy ? CW_OK : cw_arena_fail(&v->arena, &err);
    }
    if (!copy)
        set_problem(problem, n, rc ? cw_str_from(err.msg) : cw_buf_str(&text));
    return copy;
}

static bool check_result(void *ctx, const char *result, char *problem, size_t n)
{
    validator *v = ctx;
    const cw_schema *schema = NULL;
    const cw_json *value;
    cw_err err = {0};
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, ARENA_MAX);
    cw_code rc = cw_method_schemas_result(v->schemas, v->method, &schema, &err);
    if (!rc && schema)
        rc = read_text(v, cw_str_from(result), &value, &err);
    if (!rc && schema)
        (void)!explain(v, schema, value, CW_STR(""), &text);
    if (!rc && !text.n)
        return true;
    set_problem(problem, n, rc ? cw_str_from(err.msg) : cw_buf_str(&text));
    return false;
}

__attribute__((visibility("default"))) extern const cw_validator_api causeway_validator;
const cw_validator_api causeway_validator = {
    .open = open_validator,
    .bind = bind_arguments,
    .check_result = check_result,
    .close = close_validator,
};
