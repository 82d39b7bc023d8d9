/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resources.c - resources and prompts: their lists, resources/read and prompts/get, and the outcome
 * of a method as messages or contents.
 *
 * Blocks of content are sent as they are; a plain result becomes a text: a string as itself, anything
 * else as its JSON. Unlike a tool, a prompt or resource whose method failed is a protocol error.
 */
#include "catalogue/exposed.h"
#include "door/mcp/list.h"
#include "door/mcp/mcp_int.h"

/* Codes that the protocol reserves: a method's error must not use them. */
#define RESERVED_LOW (-32099)
#define RESERVED_HIGH (-32020)
#define NO_RESOURCE_BEFORE (-32002)
#define NO_LONGER_USED (-32042)

/* Kinds of blocks that older versions do not have: what is shown in their place. */
static const struct {
    cw_str type, since, instead;
} late_blocks[] = {
    {CW_STR_INIT("resource_link"), CW_STR_INIT("2025-06-18"), CW_STR_INIT("uri")},
    {CW_STR_INIT("audio"), CW_STR_INIT("2025-03-26"), CW_STR_INIT("mimeType")},
};

/* A text in place of a block that the client's version lacks. */
static bool add_instead(cw_buf *out, const cw_mcp_target *target, const cw_json *block)
{
    const cw_json *type = cw_mcp_string(block, CW_STR("type"));
    for (size_t i = 0; type && target->version.n && i < CW_COUNT(late_blocks); i++) {
        const cw_json *instead = cw_mcp_string(block, late_blocks[i].instead);
        if (!cw_str_eq(cw_json_text(type), late_blocks[i].type) ||
            cw_str_cmp(target->version, late_blocks[i].since) >= 0)
            continue;
        cw_buf_add(out, CW_STR("{\"type\":\"text\",\"text\":"));
        cw_buf_add(out, instead ? cw_json_span(instead) : cw_json_span(type));
        cw_buf_add_char(out, '}');
        return true;
    }
    return false;
}

void cw_mcp_add_block(cw_buf *out, const cw_mcp_target *target, const cw_json *block)
{
    char separator = '{';
    if (add_instead(out, target, block))
        return;
    if (!cw_json_get(block, CW_STR("role"))) {
        cw_buf_add(out, cw_json_span(block));
        return;
    }
    for (const cw_json *k = cw_json_first(block); k; k = cw_json_next_key(k)) {
        if (cw_str_is(cw_json_text(k), "role"))
            continue;
        cw_buf_add_char(out, separator);
        cw_buf_add(out, cw_json_span(k));
        cw_buf_add_char(out, ':');
        cw_buf_add(out, cw_json_span(cw_json_value(k)));
        separator = ',';
    }
    cw_buf_add(out, separator == '{' ? CW_STR("{}") : CW_STR("}"));
}

void cw_mcp_add_text(cw_buf *out, const cw_json *result)
{
    /* A string is its own text; anything else is shown as the JSON that it is. */
    if (cw_json_is(result, CW_JSON_STRING) || cw_json_is_compact(result)) {
        cw_json_escape(out, cw_json_text(result));
        return;
    }
    cw_buf text;
    cw_buf_init(&text, SIZE_MAX / 2);
    cw_json_add_compact(&text, result);
    cw_json_escape(out, cw_buf_str(&text));
    if (text.code && !out->code)
        out->code = text.code;
    cw_buf_done(&text);
}

static void close_result(cw_buf *out, const cw_mcp_era *era, cw_str id)
{
    cw_buf_add(out, era->is_stamped ? CW_STR("," CW_MCP_RESULT_META "}") : CW_STR("}"));
    cw_rpc_close(out, id);
}

/* ---- errors ---- */

static int64_t code_of(const cw_mcp_era *era, int64_t code)
{
    bool is_reserved = code >= RESERVED_LOW && code <= RESERVED_HIGH;
    if (code == NO_RESOURCE_BEFORE)
        return era->no_resource;
    return era->is_stamped && (is_reserved || code == NO_LONGER_USED) ? CW_RPC_INTERNAL : code;
}

static void add_address(cw_buf *out, cw_str uri)
{
    cw_buf_add(out, CW_STR("{\"uri\":"));
    cw_json_escape(out, uri);
    cw_buf_add_char(out, '}');
}

static void write_error(cw_buf *out, const cw_mcp_era *era, const cw_mcp_target *target,
                        const cw_outcome *outcome, cw_str id)
{
    int64_t code = code_of(era, outcome->code);
    cw_buf data;
    cw_buf_init(&data, SIZE_MAX / 2);
    if (outcome->data)
        cw_buf_add(&data, cw_json_span(outcome->data));
    else if (target->address.n && (code == era->no_resource || code == CW_RPC_PARAMS))
        add_address(&data, target->address);
    cw_rpc_error(out, code, outcome->message, cw_buf_str(&data), id);
    if (data.code && !out->code)
        out->code = data.code;
    cw_buf_done(&data);
}

bool cw_mcp_write_failure(cw_buf *out, const cw_mcp_era *era, const cw_mcp_target *target,
                          const cw_outcome *outcome, cw_str id)
{
    switch (outcome->kind) {
    case CW_OUTCOME_RESULT:
        return false;
    case CW_OUTCOME_ERROR:
        write_error(out, era, target, outcome, id);
        break;
    case CW_OUTCOME_FAILED:
    case CW_OUTCOME_INPUT_REQUIRED:
        cw_rpc_fail(out, CW_RPC_INTERNAL, outcome->message, id);
        break;
    }
    return true;
}

void cw_mcp_refuse_as_error(cw_rpc_item *item, const cw_mcp_era *era, cw_code rc, const char *text)
{
    (void)era;
    cw_door_fail(item, 200, rc == CW_PARAMS ? CW_RPC_PARAMS : CW_RPC_INTERNAL, text);
}

/* ---- prompts ---- */

static void open_message(cw_buf *out, const cw_json *role, char separator)
{
    cw_buf_add_char(out, separator);
    cw_buf_add(out, CW_STR("{\"role\":"));
    cw_buf_add(out, role ? cw_json_span(role) : CW_STR("\"user\""));
    cw_buf_add(out, CW_STR(",\"content\":"));
}

static void add_messages(cw_buf *out, const cw_mcp_target *target, const cw_outcome *outcome)
{
    char separator = '[';
    if (!outcome->content) {
        open_message(out, NULL, separator);
        cw_buf_add(out, CW_STR("{\"type\":\"text\",\"text\":"));
        cw_mcp_add_text(out, outcome->result);
        cw_buf_add(out, CW_STR("}}]"));
        return;
    }
    for (const cw_json *b = cw_json_first(outcome->content); b; b = cw_json_next(b)) {
        open_message(out, cw_mcp_string(b, CW_STR("role")), separator);
        cw_mcp_add_block(out, target, b);
        cw_buf_add_char(out, '}');
        separator = ',';
    }
    cw_buf_add(out, separator == '[' ? CW_STR("[]") : CW_STR("]"));
}

static void write_prompt(cw_buf *out, const cw_mcp_era *era, const cw_mcp_target *target,
                         const cw_outcome *outcome, cw_str id)
{
    const cw_method *method = target->entry->method;
    if (cw_mcp_write_failure(out, era, target, outcome, id))
        return;
    const cw_json *description = cw_mcp_string(method->exposed->json, CW_STR("description"));
    cw_rpc_open_result(out);
    cw_buf_add(out, CW_STR("{\"description\":"));
    if (description)
        cw_buf_add(out, cw_json_span(description));
    else
        cw_json_escape(out, method->usage.n ? method->usage : method->id);
    cw_buf_add(out, CW_STR(",\"messages\":"));
    add_messages(out, target, outcome);
    close_result(out, era, id);
}

/* ---- resources ---- */

/* A block that has no address of its own: text, or bytes. */
static void add_content(cw_buf *out, cw_str uri, cw_str mime_type, bool is_blob,
                        const cw_json *value)
{
    cw_buf_add(out, CW_STR("{\"uri\":"));
    cw_json_escape(out, uri);
    cw_buf_add(out, CW_STR(",\"mimeType\":"));
    cw_json_escape(out, mime_type);
    cw_buf_add(out, is_blob ? CW_STR(",\"blob\":") : CW_STR(",\"text\":"));
    cw_mcp_add_text(out, value);
    cw_buf_add_char(out, '}');
}

static void add_block(cw_buf *out, const cw_mcp_target *target, cw_str mime_type,
                      const cw_json *block)
{
    const cw_json *resource = cw_json_get(block, CW_STR("resource"));
    const cw_json *data = cw_mcp_string(block, CW_STR("data"));
    const cw_json *text = cw_mcp_string(block, CW_STR("text"));
    const cw_json *link = cw_mcp_string(block, CW_STR("uri"));
    const cw_json *own = cw_mcp_string(block, CW_STR("mimeType"));
    if (cw_json_is(resource, CW_JSON_OBJECT))
        cw_buf_add(out, cw_json_span(resource));
    else if (data)
        add_content(out, target->address, own ? cw_json_text(own) : mime_type, true, data);
    else if (text)
        add_content(out, target->address, mime_type, false, text);
    else if (link)
        add_content(out, target->address, CW_STR("text/uri-list"), false, link);
    else /* of a kind that is not known here: as it is */
        add_content(out, target->address, CW_STR("application/json"), false, block);
}

static void add_contents(cw_buf *out, const cw_mcp_target *target, const cw_outcome *outcome)
{
    const cw_json *type = cw_mcp_string(target->entry->method->exposed->json, CW_STR("mimeType"));
    bool is_text = outcome->content || cw_json_is(outcome->result, CW_JSON_STRING);
    cw_str mime_type = is_text ? CW_STR("text/plain") : CW_STR("application/json");
    char separator = '[';
    if (type)
        mime_type = cw_json_text(type);
    if (!outcome->content) {
        cw_buf_add_char(out, '[');
        add_content(out, target->address, mime_type, false, outcome->result);
        cw_buf_add_char(out, ']');
        return;
    }
    for (const cw_json *b = cw_json_first(outcome->content); b; b = cw_json_next(b)) {
        cw_buf_add_char(out, separator);
        add_block(out, target, mime_type, b);
        separator = ',';
    }
    cw_buf_add(out, separator == '[' ? CW_STR("[]") : CW_STR("]"));
}

static void write_resource(cw_buf *out, const cw_mcp_era *era, const cw_mcp_target *target,
                           const cw_outcome *outcome, cw_str id)
{
    if (cw_mcp_write_failure(out, era, target, outcome, id))
        return;
    cw_rpc_open_result(out);
    cw_buf_add(out, CW_STR("{\"contents\":"));
    add_contents(out, target, outcome);
    /* The next result may differ, also for other callers. */
    if (era->is_stamped)
        cw_buf_add(out, CW_STR(",\"ttlMs\":0,\"cacheScope\":\"private\""));
    close_result(out, era, id);
}

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
    add_address(&data, uri);
    cw_door_fail_with(r->item, 200, r->era->no_resource, &text, &data);
}

/* ---- arguments ---- */

/* The literal in a string, if the parameter is a number or boolean and the string is one. */
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

/* Arguments of prompts and templates are strings; parameters may have other types. NULL without
 * memory. */
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

static void start(const cw_mcp_request *r, cw_mcp_target *target, const cw_json *given)
{
    if (given) {
        target->params = type_arguments(target->entry->method, given, r->responder->arena);
        if (!target->params) {
            cw_door_fail_nomem(r->item);
            return;
        }
    }
    cw_mcp_start(r, target);
}

/* ---- prompts/get, resources/read ---- */

/* The string member `name` of the params. .p is NULL when the message is answered. */
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
    static const cw_mcp_target_ops ops = {.write = write_prompt,
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
    start(r, &(cw_mcp_target){.ops = &ops, .entry = found.entry, .name = name}, arguments);
}

void cw_mcp_read_resource(const cw_mcp_request *r)
{
    static const cw_mcp_target_ops ops = {.write = write_resource,
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
    start(r, &(cw_mcp_target){.ops = &ops, .entry = found.entry, .name = uri, .address = uri},
          given);
}
