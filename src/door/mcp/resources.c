/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resources.c - resources and prompts: lists of them, and the one that is wanted. */
#include "catalogue/exposed.h"
#include "door/mcp/list.h"

#define CHUNK 64u /* entries that are looked up at once */

/* ---- lists ---- */

static void write_shown(cw_buf *out, const cw_entry *entry, const cw_mcp_reader *reader)
{
    (void)reader;
    cw_buf_add(out, entry->exposed_json);
}

void cw_mcp_list_prompts(const cw_mcp_request *r)
{
    static const cw_mcp_list prompts = {CW_VIEW_PROMPTS, CW_STR_INIT("prompts"), write_shown};
    cw_mcp_reply_list(r, &prompts);
}

void cw_mcp_list_resources(const cw_mcp_request *r)
{
    static const cw_mcp_list resources = {CW_VIEW_RESOURCES, CW_STR_INIT("resources"), write_shown};
    cw_mcp_reply_list(r, &resources);
}

void cw_mcp_list_templates(const cw_mcp_request *r)
{
    static const cw_mcp_list templates = {CW_VIEW_TEMPLATES, CW_STR_INIT("resourceTemplates"),
                                          write_shown};
    cw_mcp_reply_list(r, &templates);
}

/* ---- what is there ---- */

/* Templates are tried in the order of their list, those whose beginning differs not at all. */
static cw_code match_template(const cw_entry *entry, cw_str uri, cw_arena *arena, cw_str *ret)
{
    cw_str template = entry->method->exposed->address;
    const char *open = memchr(template.p, '{', template.n);
    cw_str literal = cw_str_make(template.p, open ? (size_t)(open - template.p) : template.n);
    if (!cw_str_starts(uri, literal) || !cw_exposed_match(template, uri, arena, ret))
        return CW_DECLINED;
    return ret->p ? CW_OK : CW_NOMEM;
}

cw_code cw_mcp_find_resource(cw_view *view, cw_str uri, cw_arena *arena, const cw_entry **ret,
                             cw_str *ret_variables)
{
    const cw_entry *entries[CHUNK];
    size_t n, total, at = 0;
    *ret_variables = CW_STR("");
    *ret = cw_view_find_exposed(view, CW_EXPOSED_RESOURCE, uri);
    if (*ret)
        return CW_OK;
    do {
        cw_code rc = cw_view_page(view, CW_VIEW_TEMPLATES, at, entries, CHUNK, &n, &total);
        for (size_t i = 0; !rc && i < n; i++) {
            cw_code found = match_template(entries[i], uri, arena, ret_variables);
            *ret = entries[i];
            if (found != CW_DECLINED)
                return found;
        }
        if (rc)
            return rc;
        at += n;
    } while (n && at < total);
    *ret = NULL;
    return CW_DECLINED;
}

void cw_mcp_fail_resource(const cw_mcp_request *r, cw_str uri)
{
    cw_buf text, data;
    cw_buf_init(&text, SIZE_MAX / 2);
    cw_buf_init(&data, SIZE_MAX / 2);
    cw_buf_add(&text, CW_STR("Resource not found: "));
    cw_buf_add(&text, uri);
    cw_mcp_add_address(&data, uri);
    cw_mcp_error_of(r->item, 200, r->era->no_resource, &text, &data);
}

void cw_mcp_refuse_resource(const cw_mcp_request *r, cw_str uri)
{
    cw_mcp_audit_refusal(r->item, uri, CW_STR(""), CW_VERDICT_HIDDEN);
    cw_mcp_fail_resource(r, uri);
}

/* ---- arguments ---- */

/* The text of a string, when its param wants a number or a boolean and that is what it says. */
static cw_str plain_text(const cw_param *param, const cw_json *value, cw_arena *arena)
{
    const cw_json *schema, *literal;
    cw_str none = {NULL, 0}, text;
    if (!param || !param->schema.n || !cw_json_is(value, CW_JSON_STRING) ||
        cw_json_read(param->schema, NULL, arena, &schema, NULL, NULL))
        return none;
    const cw_json *type = cw_json_get(schema, CW_STR("type"));
    text = cw_json_text(value);
    if (!cw_json_is(type, CW_JSON_STRING) || !text.n ||
        cw_json_read(text, NULL, arena, &literal, NULL, NULL))
        return none;
    bool is_number = cw_str_is(cw_json_text(type), "number") && cw_json_is(literal, CW_JSON_NUMBER);
    bool is_whole = cw_str_is(cw_json_text(type), "integer") && cw_json_is_integer(literal);
    bool is_bool = cw_str_is(cw_json_text(type), "boolean") &&
                   (cw_json_is(literal, CW_JSON_TRUE) || cw_json_is(literal, CW_JSON_FALSE));
    return is_number || is_whole || is_bool ? cw_json_span(literal) : none;
}

/* Prompts and templates know strings only; methods may want something else. NULL without memory. */
static const cw_json *type_arguments(const cw_method *method, const cw_json *given, cw_arena *arena)
{
    const cw_json *ret = NULL;
    cw_json_writer w;
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    for (const cw_json *k = cw_json_first(given); k; k = cw_json_next_key(k)) {
        const cw_json *value = cw_json_value(k);
        cw_str text = plain_text(cw_method_param(method, cw_json_text(k)), value, arena);
        cw_json_add_key(&w, cw_json_text(k));
        cw_json_add_span(&w, text.p ? text : cw_json_span(value));
    }
    cw_json_close(&w);
    if (!cw_json_writer_end(&w, NULL)) {
        cw_str copy = cw_arena_dup_str(arena, cw_buf_str(&b));
        if (!copy.p || cw_json_read(copy, NULL, arena, &ret, NULL, NULL))
            ret = NULL;
    }
    cw_buf_done(&b);
    return ret;
}

static void start(const cw_mcp_request *r, cw_mcp_target *job, const cw_json *given)
{
    if (given) {
        job->params = type_arguments(job->entry->method, given, r->responder->arena);
        if (!job->params) {
            cw_mcp_fail(r->item, 500, CW_RPC_INTERNAL, "out of memory");
            return;
        }
    }
    cw_mcp_start(r, job);
}

/* ---- prompts/get, resources/read ---- */

/* What stands under `name` in the params, a string. .p is NULL when the message is answered. */
static cw_str wanted(const cw_mcp_request *r, cw_str name, const char *problem)
{
    const cw_json *v = cw_json_get(r->params, name);
    cw_verdict verdict = cw_view_call_verdict(r->item->batch->opts.view);
    if (verdict != CW_VERDICT_ALLOW)
        cw_mcp_refuse(r->item, verdict, NULL);
    else if (!cw_json_is(v, CW_JSON_STRING))
        cw_mcp_fail(r->item, 200, CW_RPC_PARAMS, problem);
    else
        return cw_json_text(v);
    return (cw_str){NULL, 0};
}

static const cw_entry *find_again(const cw_view *view, const cw_mcp_target *job)
{
    const cw_exposed *exposed = job->entry->method->exposed;
    return cw_view_find_exposed(view, exposed->kind, exposed->address);
}

static void refuse_prompt(const cw_mcp_request *r, cw_str name)
{
    cw_mcp_refuse_unknown(r, "prompt", name);
}

void cw_mcp_get_prompt(const cw_mcp_request *r)
{
    static const cw_mcp_target_ops kind = {.write = cw_mcp_write_prompt,
                                           .refuse = cw_mcp_refuse_as_error,
                                           .find = find_again,
                                           .refuse_unknown = refuse_prompt};
    const cw_json *arguments = cw_json_get(r->params, CW_STR("arguments"));
    cw_str name = wanted(r, CW_STR("name"), "name must be a string");
    if (!name.p)
        return;
    if (arguments && !cw_json_is(arguments, CW_JSON_OBJECT)) {
        cw_mcp_fail(r->item, 200, CW_RPC_PARAMS, "arguments must be an object");
        return;
    }
    const cw_entry *entry =
        cw_view_find_exposed(r->item->batch->opts.view, CW_EXPOSED_PROMPT, name);
    if (!entry) {
        refuse_prompt(r, name);
        return;
    }
    start(r, &(cw_mcp_target){.kind = &kind, .entry = entry, .name = name}, arguments);
}

void cw_mcp_read_resource(const cw_mcp_request *r)
{
    static const cw_mcp_target_ops kind = {.write = cw_mcp_write_resource,
                                           .refuse = cw_mcp_refuse_as_error,
                                           .find = find_again,
                                           .refuse_unknown = cw_mcp_refuse_resource};
    const cw_entry *entry;
    const cw_json *given = NULL;
    cw_str variables;
    cw_str uri = wanted(r, CW_STR("uri"), "uri must be a string");
    if (!uri.p)
        return;
    cw_code rc = cw_mcp_find_resource(r->item->batch->opts.view, uri, r->responder->arena, &entry,
                                      &variables);
    if (rc == CW_DECLINED) {
        cw_mcp_refuse_resource(r, uri);
        return;
    }
    if (!rc && variables.n)
        rc = cw_json_read(variables, NULL, r->responder->arena, &given, NULL, NULL);
    if (rc) {
        cw_mcp_fail(r->item, 500, CW_RPC_INTERNAL, "out of memory");
        return;
    }
    start(r, &(cw_mcp_target){.kind = &kind, .entry = entry, .name = uri, .address = uri}, given);
}
