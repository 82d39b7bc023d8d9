/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resources.c - resources and prompts: lists of them, and the one that is wanted. */
#include "catalogue/exposed.h"
#include "door/mcp/list.h"

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

/* ---- errors ---- */

void cw_mcp_fail_resource(const cw_mcp_request *r, cw_str uri)
{
    cw_buf text, data;
    cw_buf_init(&text, SIZE_MAX / 2);
    cw_buf_init(&data, SIZE_MAX / 2);
    cw_buf_add(&text, CW_STR("Resource not found: "));
    cw_buf_add(&text, uri);
    cw_mcp_add_address(&data, uri);
    cw_door_fail_with(r->item, 200, r->era->no_resource, &text, &data);
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
            cw_door_fail_nomem(r->item);
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
    if (!cw_mcp_may(r, /* discovers= */ false))
        return (cw_str){NULL, 0};
    if (cw_json_is(v, CW_JSON_STRING))
        return cw_json_text(v);
    cw_door_fail(r->item, 200, CW_RPC_PARAMS, problem);
    return (cw_str){NULL, 0};
}

static void fail_prompt(const cw_mcp_request *r, cw_str name)
{
    cw_mcp_fail_unknown(r, "prompt", name);
}

void cw_mcp_get_prompt(const cw_mcp_request *r)
{
    static const cw_mcp_target_ops kind = {.write = cw_mcp_write_prompt,
                                           .refuse = cw_mcp_refuse_as_error,
                                           .same = CW_FIND_SAME_EXPOSED,
                                           .fail_unknown = fail_prompt};
    const cw_json *arguments = cw_json_get(r->params, CW_STR("arguments"));
    cw_str name = wanted(r, CW_STR("name"), "name must be a string");
    if (!name.p)
        return;
    if (arguments && !cw_json_is(arguments, CW_JSON_OBJECT)) {
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, "arguments must be an object");
        return;
    }
    cw_call_found found;
    if (cw_mcp_find(r, (cw_call_lookup){.in = CW_FIND_PROMPT, .name = name}, &found)) {
        fail_prompt(r, name);
        return;
    }
    start(r, &(cw_mcp_target){.kind = &kind, .entry = found.entry, .name = name}, arguments);
}

void cw_mcp_read_resource(const cw_mcp_request *r)
{
    static const cw_mcp_target_ops kind = {.write = cw_mcp_write_resource,
                                           .refuse = cw_mcp_refuse_as_error,
                                           .same = CW_FIND_SAME_EXPOSED,
                                           .fail_unknown = cw_mcp_fail_resource};
    const cw_json *given = NULL;
    cw_call_found found;
    cw_str uri = wanted(r, CW_STR("uri"), "uri must be a string");
    if (!uri.p)
        return;
    cw_code rc = cw_mcp_find(r, (cw_call_lookup){.in = CW_FIND_RESOURCE, .name = uri}, &found);
    if (rc == CW_NOTFOUND) {
        cw_mcp_fail_resource(r, uri);
        return;
    }
    if (!rc && found.variables.n)
        rc = cw_json_read(found.variables, NULL, r->responder->arena, &given, NULL, NULL);
    if (rc) {
        cw_door_fail_nomem(r->item);
        return;
    }
    start(r, &(cw_mcp_target){.kind = &kind, .entry = found.entry, .name = uri, .address = uri},
          given);
}
