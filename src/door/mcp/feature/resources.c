/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resources.c - resources and prompts: their lists, resources/read, prompts/get and
 * completion/complete, and the outcome of a method as messages or contents.
 *
 * Blocks of content are sent as they are; a plain result becomes a text: a string as itself, anything
 * else as its JSON. Unlike a tool, a prompt or resource whose method failed is a protocol error.
 */
#include "catalogue/exposed.h"
#include "door/mcp/feature/fit.h"
#include "door/mcp/feature/list.h"
#include "door/mcp/feature/relayed_result.h"
#include "door/mcp/feature/skills.h"
#include "door/mcp/feature/static_resource.h"
#include "door/mcp/mcp_int.h"

/* Codes that the protocol reserves: a method's error must not use them. */
#define RESERVED_LOW (-32099)
#define RESERVED_HIGH (-32020)
#define NO_RESOURCE_BEFORE (-32002)
#define NO_LONGER_USED (-32042)

/* Values in one answer to completion/complete. */
#define VALUES_MAX 100u

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
    cw_buf_init(&text, CW_BUF_MAX);
    cw_json_add_compact(&text, result);
    cw_json_escape(out, cw_buf_str(&text));
    if (text.code && !out->code)
        out->code = text.code;
    cw_buf_done(&text);
}

static void close_result(cw_buf *out, const cw_mcp_era *era, cw_str id)
{
    cw_buf_add(out, era->is_modern ? CW_STR("," CW_MCP_RESULT_META "}") : CW_STR("}"));
    cw_rpc_close(out, id);
}

/* ---- errors ---- */

static int64_t code_of(const cw_mcp_era *era, int64_t code)
{
    bool is_reserved = code >= RESERVED_LOW && code <= RESERVED_HIGH;
    if (code == NO_RESOURCE_BEFORE)
        return era->no_resource;
    return era->is_modern && (is_reserved || code == NO_LONGER_USED) ? CW_RPC_INTERNAL : code;
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
    cw_str detail = cw_rpc_error_detail(outcome);
    cw_buf data, message;
    cw_buf_init(&data, CW_BUF_MAX);
    cw_buf_init(&message, CW_BUF_MAX);
    if (outcome->data)
        cw_buf_add(&data, cw_json_span(outcome->data));
    else if (target->address.n && (code == era->no_resource || code == CW_RPC_PARAMS))
        add_address(&data, target->address);
    cw_buf_add(&message, outcome->message);
    if (detail.n) {
        cw_buf_add(&message, CW_STR(": "));
        cw_rpc_add_reason(&message, detail);
    }
    cw_rpc_error(out, code, cw_buf_str(&message), cw_buf_str(&data), id);
    if (!out->code)
        out->code = data.code ? data.code : message.code;
    cw_buf_done(&data);
    cw_buf_done(&message);
}

/* Write the error of an outcome; false when it is a result. */
static bool write_failure(cw_buf *out, const cw_mcp_era *era, const cw_mcp_target *target,
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
        cw_rpc_explain(out, CW_RPC_INTERNAL, outcome->message, id);
        break;
    }
    return true;
}

/* cw_mcp_target_ops.refuse of all but tools: an error of the protocol. */
static void refuse_as_error(cw_rpc_item *item, const cw_mcp_era *era, cw_code rc,
                            const cw_call_error *refusal)
{
    (void)era;
    if (rc == CW_LIMIT)
        cw_door_fail_rate_limited(item, refusal);
    else
        cw_door_fail(item, 200, rc == CW_PARAMS ? CW_RPC_PARAMS : CW_RPC_INTERNAL,
                     refusal->err.msg);
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
    if (write_failure(out, era, target, outcome, id))
        return;
    if (outcome->relay) {
        cw_mcp_write_relayed(out, era, outcome->relay, /* is_cacheable= */ false, id);
        return;
    }
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
static void add_content(cw_buf *out, const cw_mcp_target *target, cw_str mime_type, bool is_blob,
                        const cw_json *value)
{
    cw_buf_add(out, CW_STR("{\"uri\":"));
    cw_json_escape(out, target->address);
    cw_buf_add(out, CW_STR(",\"mimeType\":"));
    cw_json_escape(out, mime_type);
    cw_buf_add(out, is_blob ? CW_STR(",\"blob\":") : CW_STR(",\"text\":"));
    cw_mcp_add_text(out, value);
    if (target->ui_meta.n) {
        cw_buf_add(out, CW_STR(",\"_meta\":{\"ui\":"));
        cw_buf_add(out, target->ui_meta);
        cw_buf_add_char(out, '}');
    }
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
        add_content(out, target, own ? cw_json_text(own) : mime_type, true, data);
    else if (text)
        add_content(out, target, mime_type, false, text);
    else if (link)
        add_content(out, target, CW_STR("text/uri-list"), false, link);
    else /* of a kind that is not known here: as it is */
        add_content(out, target, CW_STR("application/json"), false, block);
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
        add_content(out, target, mime_type, false, outcome->result);
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
    if (write_failure(out, era, target, outcome, id))
        return;
    if (outcome->relay) {
        cw_mcp_write_relayed(out, era, outcome->relay, /* is_cacheable= */ true, id);
        return;
    }
    cw_rpc_open_result(out);
    cw_buf_add(out, CW_STR("{\"contents\":"));
    add_contents(out, target, outcome);
    /* The next result may differ, also for other callers. */
    if (era->is_modern)
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
    cw_buf_init(&text, CW_BUF_MAX);
    cw_buf_init(&data, CW_BUF_MAX);
    cw_buf_add(&text, CW_STR("Resource not found: "));
    cw_buf_add(&text, cw_door_excerpt(uri));
    add_address(&data, cw_door_excerpt(uri));
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
    cw_buf_init(&b, CW_BUF_MAX);
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
                                          .refuse = refuse_as_error,
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
                                          .refuse = refuse_as_error,
                                          .same = CW_FIND_SAME_EXPOSED,
                                          .fail_unknown = cw_mcp_fail_resource};
    const cw_json *given = NULL;
    cw_call_found found;
    cw_str uri = wanted(r, CW_STR("uri"), "uri must be a string");
    if (!uri.p || cw_mcp_read_kept(r, uri) || cw_mcp_read_skill_file(r, uri) ||
        cw_mcp_read_ui(r, uri))
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
    start(r,
          &(cw_mcp_target){.ops = &ops,
                           .entry = found.entry,
                           .name = uri,
                           .address = uri,
                           .ui_meta = cw_mcp_ui_meta(r->view, uri)},
          given);
}

/* ---- completion/complete: values for an argument of a prompt or a variable of a template ----
 *
 * Values that the schema lists are answered here, and count as a list. Other values come from the source,
 * if it declared that it completes the argument, which is a call.
 */

/* The argument to complete. */
typedef struct question {
    const cw_entry *entry;
    const cw_param *param; /* NULL: of a resource without variables */
    cw_str name;           /* of the argument */
    cw_str value;          /* what there is of it by now */
    const cw_json *others; /* arguments that are known already; an object, or NULL */
} question;

/* Values, one after the other. */
typedef struct values {
    cw_buf *out;
    uint64_t n; /* of all, whether written or not */
} values;

static void open_values(values *v, cw_buf *out)
{
    *v = (values){.out = out};
    cw_rpc_open_result(out);
    cw_buf_add(out, CW_STR("{\"completion\":{\"values\":["));
}

static void add_value(values *v, cw_str text)
{
    if (v->n++ >= VALUES_MAX)
        return;
    if (v->n > 1)
        cw_buf_add_char(v->out, ',');
    cw_json_escape(v->out, text);
}

static void close_values(values *v, const cw_mcp_era *era, uint64_t total, bool has_more, cw_str id)
{
    cw_buf_add(v->out, CW_STR("],\"total\":"));
    cw_buf_add_u64(v->out, total);
    cw_buf_add(v->out, has_more ? CW_STR(",\"hasMore\":true}") : CW_STR(",\"hasMore\":false}"));
    cw_buf_add(v->out, era->is_modern ? CW_STR("," CW_MCP_RESULT_META "}") : CW_STR("}"));
    cw_rpc_close(v->out, id);
}

/* The source's proposals: {"values":[…],"total":n,"hasMore":…}. */
static void write_proposals(cw_buf *out, const cw_mcp_era *era, const cw_mcp_target *target,
                            const cw_outcome *outcome, cw_str id)
{
    values v;
    uint64_t total;
    if (write_failure(out, era, target, outcome, id))
        return;
    const cw_json *list = cw_json_get(outcome->result, CW_STR("values"));
    const cw_json *all = cw_json_get(outcome->result, CW_STR("total"));
    bool has_more = cw_json_is(cw_json_get(outcome->result, CW_STR("hasMore")), CW_JSON_TRUE);
    open_values(&v, out);
    for (const cw_json *x = cw_json_is(list, CW_JSON_ARRAY) ? cw_json_first(list) : NULL; x;
         x = cw_json_next(x)) {
        if (cw_json_is(x, CW_JSON_STRING))
            add_value(&v, cw_json_text(x));
    }
    if (!all || !cw_json_to_u64(all, &total) || total < v.n)
        total = v.n;
    close_values(&v, era, total, has_more || v.n > VALUES_MAX, id);
}

static void add_matching(values *v, const cw_json *choice, cw_str typed)
{
    if (choice && cw_str_starts(cw_json_text(choice), typed))
        add_value(v, cw_json_text(choice));
}

/* {"enum":[…]}, or alternatives that are constants: {"oneOf":[{"const":…,"title":…},…]}. */
static bool has_choices(const cw_json *schema)
{
    const cw_json *either = cw_json_get(schema, CW_STR("oneOf"));
    return cw_json_is(cw_json_get(schema, CW_STR("enum")), CW_JSON_ARRAY) ||
           (cw_json_is(either, CW_JSON_ARRAY) && cw_json_first(either) &&
            cw_json_get(cw_json_first(either), CW_STR("const")));
}

static void answer_choices(const cw_mcp_request *r, const question *q, const cw_json *schema)
{
    const cw_json *list = cw_json_get(schema, CW_STR("enum"));
    bool is_enum = cw_json_is(list, CW_JSON_ARRAY);
    values v;
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    open_values(&v, &b);
    if (!is_enum)
        list = cw_json_get(schema, CW_STR("oneOf"));
    for (const cw_json *x = cw_json_first(list); x; x = cw_json_next(x))
        add_matching(&v, is_enum ? x : cw_json_get(x, CW_STR("const")), q->value);
    close_values(&v, r->era, v.n, v.n > VALUES_MAX, r->item->id);
    cw_rpc_item_reply(r->item, 200, &b, CW_STR(""));
}

static void answer_nothing(const cw_mcp_request *r)
{
    values v;
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    open_values(&v, &b);
    close_values(&v, r->era, 0, false, r->item->id);
    cw_rpc_item_reply(r->item, 200, &b, CW_STR(""));
}

static bool source_completes(const question *q)
{
    const cw_exposed *exposed = q->entry->method->exposed;
    const cw_json *names = exposed->completes;
    if (exposed->is_relayed)
        return true;
    for (const cw_json *x = names ? cw_json_first(names) : NULL; x; x = cw_json_next(x)) {
        if (cw_json_is(x, CW_JSON_STRING) && cw_str_eq(cw_json_text(x), q->name))
            return true;
    }
    return false;
}

/* ,"complete":{"argument":…,"value":…,"arguments":{…}} */
static cw_str write_extras(const question *q, cw_arena *arena)
{
    cw_str ret = {NULL, 0};
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_buf_add(&b, CW_STR(",\"complete\":{\"argument\":"));
    cw_json_escape(&b, q->name);
    cw_buf_add(&b, CW_STR(",\"value\":"));
    cw_json_escape(&b, q->value);
    cw_buf_add(&b, CW_STR(",\"arguments\":"));
    cw_buf_add(&b, q->others ? cw_json_span(q->others) : CW_STR("{}"));
    cw_buf_add_char(&b, '}');
    if (!b.code)
        ret = cw_arena_dup_str(arena, cw_buf_str(&b));
    cw_buf_done(&b);
    return ret;
}

static void ask_source(const cw_mcp_request *r, const question *q)
{
    static const cw_mcp_target_ops ops = {.write = write_proposals, .refuse = refuse_as_error};
    cw_str extras = write_extras(q, r->responder->arena);
    if (!extras.p) {
        cw_door_fail_nomem(r->item);
        return;
    }
    cw_mcp_start(r, &(cw_mcp_target){
                        .ops = &ops, .entry = q->entry, .extras = extras, .is_completion = true});
}

/* The entry of the reference. NULL: the message is answered. */
static const cw_entry *find(const cw_mcp_request *r)
{
    const cw_json *ref = cw_json_get(r->params, CW_STR("ref"));
    const cw_json *type = cw_mcp_string(ref, CW_STR("type"));
    const cw_json *name = cw_mcp_string(ref, CW_STR("name"));
    const cw_json *uri = cw_mcp_string(ref, CW_STR("uri"));
    cw_call_found found = {0};
    if (type && name && cw_str_is(cw_json_text(type), "ref/prompt")) {
        if (cw_mcp_find(r, (cw_call_lookup){.in = CW_FIND_PROMPT, .name = cw_json_text(name)},
                        &found))
            cw_mcp_fail_unknown(r, "prompt", cw_json_text(name));
    } else if (type && uri && cw_str_is(cw_json_text(type), "ref/resource")) {
        if (cw_mcp_find(
                r, (cw_call_lookup){.in = CW_FIND_TEMPLATE_OR_RESOURCE, .name = cw_json_text(uri)},
                &found))
            cw_mcp_fail_resource(r, cw_json_text(uri));
    } else {
        cw_door_fail(r->item, 200, CW_RPC_PARAMS,
                     "ref must be {\"type\":\"ref/prompt\",\"name\":…} or "
                     "{\"type\":\"ref/resource\",\"uri\":…}");
    }
    return found.entry;
}

/* False: the message is answered. */
static bool read_question(const cw_mcp_request *r, question *q)
{
    const cw_json *argument = cw_json_get(r->params, CW_STR("argument"));
    const cw_json *name = cw_mcp_string(argument, CW_STR("name"));
    const cw_json *value = cw_mcp_string(argument, CW_STR("value"));
    const cw_json *others =
        cw_json_get(cw_json_get(r->params, CW_STR("context")), CW_STR("arguments"));
    *q = (question){.entry = find(r)};
    if (!q->entry)
        return false;
    const cw_method *method = q->entry->method;
    q->others = cw_json_is(others, CW_JSON_OBJECT) ? others : NULL;
    if (name)
        q->name = cw_json_text(name);
    if (value)
        q->value = cw_json_text(value);
    q->param = name ? cw_method_param(method, q->name) : NULL;
    if (!name || !value)
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, "argument must have a name and a value");
    else if (!q->param && method->exposed->kind != CW_EXPOSED_RESOURCE)
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, "There is no argument of this name");
    else
        return true;
    return false;
}

/* False: the message is answered. */
static bool may_answer(const cw_mcp_request *r)
{
    cw_call_error refusal = {0};
    if (!cw_call_may_list(r->rl, r->view, cw_responder_peer(r->responder), &refusal))
        return true;
    cw_door_fail_rate_limited(r->item, &refusal);
    return false;
}

void cw_mcp_complete(const cw_mcp_request *r)
{
    const cw_json *schema = NULL;
    question q;
    if (!cw_mcp_may(r, /* discovers= */ false) || !read_question(r, &q))
        return;
    cw_verdict verdict = cw_view_verdict(r->view, q.entry);
    if (verdict != CW_VERDICT_ALLOW) {
        cw_mcp_audit_refusal(r, q.entry->method->id, CW_STR(""), verdict);
        cw_mcp_refuse(r->item, verdict, &q.entry->method->needs);
        return;
    }
    bool may_ask = q.param && source_completes(&q);
    if (!may_ask && !may_answer(r))
        return;
    if (q.param && q.param->schema.n &&
        cw_json_read(q.param->schema, NULL, r->responder->arena, &schema, NULL, NULL))
        schema = NULL; /* the source may still complete it */
    if (may_ask && !has_choices(schema)) {
        ask_source(r, &q);
        return;
    }
    if (may_ask && !may_answer(r))
        return;
    if (has_choices(schema))
        answer_choices(r, &q, schema);
    else
        answer_nothing(r);
}
