/* SPDX-License-Identifier: GPL-2.0-or-later */
/* system.c - system.listMethods, and methodHelp and methodSignature of each method.
 *
 *     listMethods ─► names ─► methodHelp, methodSignature of each, where they are among them
 *
 * A method without a signature accepts any params.
 */
#include "source/describe/describe_ctx.h"

#include <stdio.h>

#define LIST "system.listMethods"

/* Tags: 0 is the list; of method i 1 + 2 * i is its help and 2 + 2 * i its signature. */
typedef struct method_list {
    const cw_json **names;
    const cw_json **helps;      /* strings, or NULL */
    const cw_json **signatures; /* [["result", "param", …], …], or NULL */
    size_t n, n_open;
    bool has_help, has_signatures;
} method_list;

/* The type that a signature's word stands for, as a schema. */
static cw_str schema_of(cw_str word)
{
    static const struct {
        const char *word, *schema;
    } types[] = {
        {"int", "{\"type\":\"integer\"}"},     {"i4", "{\"type\":\"integer\"}"},
        {"integer", "{\"type\":\"integer\"}"}, {"double", "{\"type\":\"number\"}"},
        {"number", "{\"type\":\"number\"}"},   {"float", "{\"type\":\"number\"}"},
        {"boolean", "{\"type\":\"boolean\"}"}, {"bool", "{\"type\":\"boolean\"}"},
        {"string", "{\"type\":\"string\"}"},   {"str", "{\"type\":\"string\"}"},
        {"array", "{\"type\":\"array\"}"},     {"list", "{\"type\":\"array\"}"},
        {"struct", "{\"type\":\"object\"}"},   {"object", "{\"type\":\"object\"}"},
        {"dict", "{\"type\":\"object\"}"},     {"nil", "{\"type\":\"null\"}"},
    };
    for (size_t i = 0; i < CW_COUNT(types); i++) {
        if (cw_str_ieq(word, cw_str_from(types[i].word)))
            return cw_str_from(types[i].schema);
    }
    return CW_STR("");
}

/* The signature, if it is the only one: params cannot describe several. */
static const cw_json *only_signature(const cw_json *signatures)
{
    bool is_one = cw_json_is(signatures, CW_JSON_ARRAY) && cw_json_count(signatures) == 1;
    const cw_json *s = is_one ? cw_json_first(signatures) : NULL;
    return cw_json_is(s, CW_JSON_ARRAY) && cw_json_count(s) > 0 ? s : NULL;
}

static cw_str text_of(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
}

static void write_method(cw_openrpc_writer *doc, const method_list *l, size_t i)
{
    const cw_json *signature = only_signature(l->signatures[i]);
    cw_openrpc_writer_method(doc, cw_json_text(l->names[i]), text_of(l->helps[i]));
    if (!signature) {
        cw_openrpc_writer_any_params(doc);
        cw_openrpc_writer_close_method(doc);
        return;
    }
    cw_str result = CW_STR("");
    unsigned n = 0;
    for (const cw_json *p = cw_json_first(signature); p; p = cw_json_next(p), n++) {
        char name[16];
        if (n == 0) { /* the type of the result comes first */
            result = schema_of(text_of(p));
            continue;
        }
        snprintf(name, sizeof name, "p%u", n - 1);
        cw_openrpc_writer_param(
            doc, &(cw_openrpc_writer_param_opts){
                     .name = cw_str_from(name), .schema = schema_of(text_of(p)), .required = true});
    }
    cw_openrpc_writer_result(doc, result);
    cw_openrpc_writer_close_method(doc);
}

static void finish(cw_describe_ctx *d, const method_list *l)
{
    cw_openrpc_writer doc;
    cw_openrpc_writer_open(&doc, d->service, CW_STR(""));
    for (size_t i = 0; i < l->n; i++)
        write_method(&doc, l, i);
    cw_openrpc_writer_finish(&doc, d);
}

static cw_code question_of(cw_describe_ctx *d, const method_list *l, size_t i, bool is_help,
                           cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf params;
    cw_buf_init(&params, 65536);
    cw_buf_add_char(&params, '[');
    cw_buf_add(&params, cw_json_span(l->names[i]));
    cw_buf_add_char(&params, ']');
    if (params.code)
        return cw_fail_nomem(err);
    return d->ops->query(d,
                         is_help ? CW_STR("system.methodHelp") : CW_STR("system.methodSignature"),
                         cw_buf_str(&params), (unsigned)(2 * i + (is_help ? 1 : 2)), err);
}

static cw_code read_names(cw_describe_ctx *d, method_list *l, const cw_json *list, cw_err *err)
{
    size_t n = cw_json_is(list, CW_JSON_ARRAY) ? cw_json_count(list) : 0;
    if (n == 0)
        return cw_fail(err, CW_PARAMS, "expected a list of names");
    l->names = cw_arena_calloc(d->arena, n, sizeof *l->names);
    l->helps = cw_arena_calloc(d->arena, n, sizeof *l->helps);
    l->signatures = cw_arena_calloc(d->arena, n, sizeof *l->signatures);
    if (!l->names || !l->helps || !l->signatures)
        return cw_arena_fail(d->arena, err);
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) {
        if (!cw_json_is(v, CW_JSON_STRING) || v->n == 0)
            return cw_fail(err, CW_PARAMS, "expected a list of names");
        l->names[l->n++] = v;
        l->has_help = l->has_help || cw_str_is(cw_json_text(v), "system.methodHelp");
        l->has_signatures =
            l->has_signatures || cw_str_is(cw_json_text(v), "system.methodSignature");
    }
    return CW_OK;
}

static void on_list(cw_describe_ctx *d, method_list *l, const cw_outcome *outcome)
{
    cw_err err = {0};
    if (outcome->kind != CW_OUTCOME_RESULT) {
        cw_describe_refused(d, LIST, outcome);
        return;
    }
    cw_code rc = read_names(d, l, outcome->result, &err);
    for (size_t i = 0; i < l->n && !rc; i++) {
        if (l->has_help)
            rc = question_of(d, l, i, true, &err);
        if (!rc && l->has_signatures)
            rc = question_of(d, l, i, false, &err);
        l->n_open += (size_t)l->has_help + l->has_signatures;
    }
    if (rc)
        d->ops->fail(d, rc, err.msg);
    else if (l->n_open == 0)
        finish(d, l);
}

static cw_code begin(cw_describe_ctx *d, cw_err *err)
{
    d->state = cw_arena_calloc(d->arena, 1, sizeof(method_list));
    if (!d->state)
        return cw_arena_fail(d->arena, err);
    return d->ops->query(d, CW_STR(LIST), CW_STR(""), 0, err);
}

static void incoming(cw_describe_ctx *d, unsigned tag, const cw_outcome *outcome)
{
    method_list *l = d->state;
    if (tag == 0) {
        on_list(d, l, outcome);
        return;
    }
    size_t i = (tag - 1) / 2;
    if (outcome->kind == CW_OUTCOME_RESULT)
        ((tag & 1) ? l->helps : l->signatures)[i] = outcome->result;
    if (--l->n_open == 0)
        finish(d, l);
}

const cw_describer cw_describe_system = {
    .name = "system", .is_quick = true, .begin = begin, .incoming = incoming};
