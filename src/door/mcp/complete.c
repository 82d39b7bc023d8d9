/* SPDX-License-Identifier: GPL-2.0-or-later */
/* complete.c - completion/complete: values for an argument of a prompt or a variable of a template.
 *
 * Values that the schema lists are answered here. Other values come from the source, if it declared that
 * it completes the argument.
 */
#include "door/mcp/mcp_int.h"

#define VALUES_MAX 100u

/* The argument to complete. */
typedef struct question {
    const cw_entry *entry;
    const cw_param *param; /* NULL: of a resource without variables */
    cw_str name;           /* of the argument */
    cw_str value;          /* what there is of it by now */
    const cw_json *others; /* arguments that are known already; an object, or NULL */
} question;

/* ---- the answer ---- */

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
    cw_buf_add(v->out, era->is_stamped ? CW_STR("," CW_MCP_RESULT_META "}") : CW_STR("}"));
    cw_rpc_close(v->out, id);
}

/* The source's proposals: {"values":[…],"total":n,"hasMore":…}. */
static void write_proposals(cw_buf *out, const cw_mcp_era *era, const cw_mcp_target *target,
                            const cw_outcome *outcome, cw_str id)
{
    values v;
    uint64_t total;
    if (cw_mcp_write_failure(out, era, target, outcome, id))
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

/* ---- values of the schema ---- */

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
    cw_buf_init(&b, SIZE_MAX / 2);
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
    cw_buf_init(&b, SIZE_MAX / 2);
    open_values(&v, &b);
    close_values(&v, r->era, 0, false, r->item->id);
    cw_rpc_item_reply(r->item, 200, &b, CW_STR(""));
}

/* ---- values of the source ---- */

static bool source_completes(const question *q)
{
    const cw_json *names = q->entry->method->exposed->completes;
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
    cw_buf_init(&b, SIZE_MAX / 2);
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
    static const cw_mcp_target_ops ops = {.write = write_proposals,
                                          .refuse = cw_mcp_refuse_as_error};
    cw_str extras = write_extras(q, r->responder->arena);
    if (!extras.p) {
        cw_door_fail_nomem(r->item);
        return;
    }
    cw_mcp_start(r, &(cw_mcp_target){
                        .ops = &ops, .entry = q->entry, .extras = extras, .is_completion = true});
}

/* ---- the way in ---- */

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

void cw_mcp_complete(const cw_mcp_request *r)
{
    const cw_json *schema = NULL;
    question q;
    if (!cw_mcp_may(r, /* discovers= */ false) || !read_question(r, &q))
        return;
    cw_verdict verdict = cw_view_verdict(r->view, q.entry);
    if (verdict != CW_VERDICT_ALLOW) {
        cw_mcp_audit_refusal(r, q.entry->method->id, CW_STR(""), verdict);
        cw_door_refuse(r->item, verdict, &q.entry->method->needs);
        return;
    }
    if (q.param && q.param->schema.n &&
        cw_json_read(q.param->schema, NULL, r->responder->arena, &schema, NULL, NULL))
        schema = NULL; /* the source may still complete it */
    if (has_choices(schema))
        answer_choices(r, &q, schema);
    else if (q.param && source_completes(&q))
        ask_source(r, &q);
    else
        answer_nothing(r);
}
