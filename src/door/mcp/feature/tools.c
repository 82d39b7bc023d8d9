/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tools.c - tools/list and tools/call, and the outcome of a call as the result of a tool.
 *
 * Spans are copied once, into the answer. A result that is a string is its own text; anything else
 * is sent as its JSON. Clients prefer structured content to text, and show a string there in quotes:
 * a text has none, unless mcp.structured_text is set.
 */
#include "call/arguments.h"
#include "door/mcp/feature/list.h"
#include "door/mcp/feature/relayed_result.h"
#include "door/mcp/feature/search.h"
#include "door/mcp/mcp_int.h"
#include "door/mcp/task/task.h"
#include "json/write.h"

/* Everything but id, text and structured content. */
#define FRAME 320u
#define NO_RESULT "The method made content only, although it declares the schema of a result."

static void close_result(cw_buf *out, const cw_mcp_era *era, cw_str id)
{
    cw_buf_add(out, era->is_modern ? CW_STR("," CW_MCP_RESULT_META "}") : CW_STR("}"));
    cw_rpc_close(out, id);
}

/* Plain text by declaration; without one, by the result. */
static bool is_text(const cw_mcp_target *target, const cw_json *result)
{
    if (target->has_structured_text)
        return false;
    return target->entry->method->output.n ? target->entry->returns_text
                                           : cw_json_is(result, CW_JSON_STRING);
}

static void add_structured(cw_buf *out, const cw_mcp_era *era, const cw_mcp_target *target,
                           const cw_json *result)
{
    const cw_entry *entry = target->entry;
    if (is_text(target, result))
        return;
    bool wraps = era->wants_objects && (entry->wraps_output || !cw_json_is(result, CW_JSON_OBJECT));
    cw_buf_add(out, wraps ? CW_STR(",\"structuredContent\":{\"result\":")
                          : CW_STR(",\"structuredContent\":"));
    cw_buf_add(out, cw_json_span(result));
    if (wraps)
        cw_buf_add_char(out, '}');
}

static void write_result(cw_buf *out, const cw_mcp_era *era, const cw_mcp_target *target,
                         const cw_json *result, cw_str id)
{
    size_t n = cw_json_span(result).n;
    cw_buf_reserve(out, 2 * n + n / 8 + id.n + FRAME);
    cw_rpc_open_result(out);
    cw_buf_add(out, CW_STR("{\"content\":[{\"type\":\"text\",\"text\":"));
    cw_mcp_add_text(out, result);
    cw_buf_add(out, CW_STR("}]"));
    add_structured(out, era, target, result);
    close_result(out, era, id);
}

/* For so long a full queue is not tried again. */
#define FULL_RETRY_S 1u

typedef struct tool_problem {
    cw_str text;
    uint32_t retry_s; /* the call may be tried again after so long; 0: not known */
    bool adds_retry;  /* the text does not name the time yet */
} tool_problem;

/* _meta of a refusal that ends by itself. */
static void add_retry(cw_buf *out, const cw_mcp_era *era, uint32_t retry_s)
{
    cw_buf_add(out, CW_STR(",\"_meta\":{\"causeway/retryAfterMs\":"));
    cw_buf_add_i64(out, (int64_t)retry_s * 1000);
    if (era->is_modern)
        cw_buf_add(out, CW_STR("," CW_MCP_SERVER_META));
    cw_buf_add_char(out, '}');
    if (era->is_modern)
        cw_buf_add(out, CW_STR(",\"resultType\":\"complete\""));
}

static void add_problem_text(cw_buf *out, const tool_problem *p)
{
    cw_buf text;
    if (!p->adds_retry) {
        cw_json_escape(out, p->text);
        return;
    }
    cw_buf_init(&text, CW_BUF_MAX);
    cw_buf_add(&text, p->text);
    cw_buf_printf(&text, " Try again in %u s.", p->retry_s);
    cw_json_escape(out, cw_buf_str(&text));
    if (text.code && !out->code)
        out->code = text.code;
    cw_buf_done(&text);
}

static void write_problem(cw_buf *out, const cw_mcp_era *era, tool_problem p, cw_str id)
{
    cw_rpc_open_result(out);
    cw_buf_add(out, CW_STR("{\"content\":[{\"type\":\"text\",\"text\":"));
    add_problem_text(out, &p);
    cw_buf_add(out, CW_STR("}],\"isError\":true"));
    if (!p.retry_s) {
        close_result(out, era, id);
        return;
    }
    add_retry(out, era, p.retry_s);
    cw_buf_add_char(out, '}');
    cw_rpc_close(out, id);
}

/* A call that was not started, or failed. */
static tool_problem problem_of(cw_fault fault, cw_str text)
{
    bool is_full = fault == CW_FAULT_FULL;
    return (tool_problem){
        .text = text, .retry_s = is_full ? FULL_RETRY_S : 0, .adds_retry = is_full};
}

/* Blocks replace the text; a result is added beside them. */
static void write_content(cw_buf *out, const cw_mcp_era *era, const cw_mcp_target *target,
                          const cw_outcome *outcome, cw_str id)
{
    const cw_entry *entry = target->entry;
    bool has_result = outcome->result && !cw_json_is(outcome->result, CW_JSON_NULL);
    char separator = '[';
    /* Clients refuse a result without the part that the tool has promised. */
    if (!has_result && entry->method->output.n) {
        write_problem(out, era, (tool_problem){.text = CW_STR(NO_RESULT)}, id);
        return;
    }
    cw_buf_reserve(out, cw_json_span(outcome->content).n + id.n + FRAME);
    cw_rpc_open_result(out);
    cw_buf_add(out, CW_STR("{\"content\":"));
    for (const cw_json *b = cw_json_first(outcome->content); b; b = cw_json_next(b)) {
        cw_buf_add_char(out, separator);
        cw_mcp_add_block(out, target, b);
        separator = ',';
    }
    cw_buf_add(out, separator == '[' ? CW_STR("[]") : CW_STR("]"));
    if (has_result)
        add_structured(out, era, target, outcome->result);
    close_result(out, era, id);
}

/* "Node 5 not found (error -32602): details" */
static void write_error(cw_buf *out, const cw_mcp_era *era, const cw_outcome *outcome, cw_str id)
{
    cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_buf_add(&text, outcome->message);
    cw_buf_add(&text, CW_STR(" (error "));
    cw_buf_add_i64(&text, outcome->code);
    cw_buf_add_char(&text, ')');
    bool is_text = outcome->data && cw_json_is(outcome->data, CW_JSON_STRING);
    bool has_data = outcome->data && !cw_json_is(outcome->data, CW_JSON_NULL);
    cw_str more = cw_rpc_error_detail(outcome);
    if (more.n || (has_data && !is_text))
        cw_buf_add(&text, CW_STR(": "));
    if (is_text)
        cw_buf_add(&text, more);
    else if (has_data)
        cw_json_add_compact(&text, outcome->data);
    write_problem(out, era, (tool_problem){.text = cw_buf_str(&text)}, id);
    if (text.code && !out->code)
        out->code = text.code;
    cw_buf_done(&text);
}

/* The result of a tool of an MCP server, as it came. */
static void write_relayed(cw_buf *out, const cw_mcp_era *era, const cw_mcp_target *target,
                          const cw_json *result, cw_str id)
{
    cw_buf_reserve(out, cw_json_span(result).n + id.n + FRAME);
    cw_rpc_open_result(out);
    const cw_json *content = cw_json_get(result, CW_STR("content"));
    cw_buf_add(out, CW_STR("{\"content\":"));
    cw_buf_add(out, content ? cw_json_span(content) : CW_STR("[]"));
    for (const cw_json *k = cw_json_first(result); k; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        const cw_json *value = cw_json_value(k);
        if (cw_str_is(name, "content") || cw_str_is(name, "_meta") || cw_str_is(name, "resultType"))
            continue;
        cw_buf_add_char(out, ',');
        cw_json_escape(out, name);
        bool wraps = cw_str_is(name, "structuredContent") && era->wants_objects &&
                     (target->entry->wraps_output || !cw_json_is(value, CW_JSON_OBJECT));
        cw_buf_add(out, wraps ? CW_STR(":{\"result\":") : CW_STR(":"));
        cw_buf_add(out, cw_json_span(value));
        if (wraps)
            cw_buf_add_char(out, '}');
    }
    cw_mcp_add_relayed_meta(out, era, cw_json_get(result, CW_STR("_meta")));
    cw_buf_add(out, era->is_modern ? CW_STR(",\"resultType\":\"complete\"}") : CW_STR("}"));
    cw_rpc_close(out, id);
}

static void write_outcome(cw_buf *out, const cw_mcp_era *era, const cw_mcp_target *target,
                          const cw_outcome *outcome, cw_str id)
{
    if (outcome->relay) {
        write_relayed(out, era, target, outcome->relay, id);
        return;
    }
    switch (outcome->kind) {
    case CW_OUTCOME_RESULT:
        if (outcome->content)
            write_content(out, era, target, outcome, id);
        else
            write_result(out, era, target, outcome->result, id);
        break;
    case CW_OUTCOME_ERROR:
        write_error(out, era, outcome, id);
        break;
    case CW_OUTCOME_FAILED:
    case CW_OUTCOME_INPUT_REQUIRED:
        write_problem(out, era, problem_of(outcome->fault, outcome->message), id);
        break;
    }
}

/* ---- tools/list ---- */

void cw_mcp_list_tools(const cw_mcp_request *r)
{
    static const cw_mcp_list tools = {CW_VIEW_TOOLS, CW_STR_INIT("tools"), cw_tool_write_mcp};
    cw_mcp_reply_list(r, &tools);
}

/* ---- tools/call ---- */

/* Clients give up a connection on 429, and models do not see it: every refusal is a result. */
static void answer_problem(cw_rpc_item *item, const cw_mcp_era *era, cw_code rc,
                           const cw_call_error *refusal)
{
    cw_buf b;
    cw_str text = cw_str_from(refusal->err.msg);
    tool_problem p = {.text = text};
    if (rc == CW_LIMIT)
        p.retry_s = refusal->retry_s;
    else if (rc == CW_IO)
        p = problem_of(refusal->fault, text);
    cw_buf_init(&b, CW_BUF_MAX);
    item->op.is_tool_error = true;
    write_problem(&b, era, p, item->id);
    cw_rpc_item_reply(item, 200, &b, CW_STR(""));
}

static void fail_unknown(const cw_mcp_request *r, cw_str name)
{
    cw_mcp_fail_unknown(r, "tool", name);
}

/* One text can be the name of one tool and the portable name of another: the client means the one
 * that its list shows. */
static cw_find_in names_of(const cw_mcp_request *r)
{
    if (r->session->profile & CW_MCP_PORTABLE_NAMES)
        return CW_FIND_PORTABLE_OR_TOOL;
    return cw_mcp_has_portable_names(cw_runtime_config(r->rl)) ? CW_FIND_TOOL_OR_PORTABLE
                                                               : CW_FIND_TOOL;
}

typedef struct parked {
    cw_mcp_request r;
    cw_mcp_session session;
} parked;

static void call_again(cw_rpc_item *item, void *ctx)
{
    parked *p = ctx;
    p->r.view = item->batch->opts.view;
    cw_mcp_call_tool(&p->r);
}

/* Its source may still be being loaded. */
static bool wait_for_tool(const cw_mcp_request *r)
{
    parked *p = cw_arena_alloc(r->responder->arena, sizeof *p);
    if (!p)
        return false;
    *p = (parked){.r = *r, .session = *r->session};
    p->r.session = &p->session;
    return cw_rpc_item_wait_catalogue(r->item, call_again, p);
}

/* Arguments under the names that the client's list shows get their own. False: it is answered. */
static bool take_shown_names(const cw_mcp_request *r, cw_mcp_target *target)
{
    const cw_schema_portable *shown = target->entry->portable;
    if (!(r->session->profile & CW_MCP_PORTABLE_SCHEMAS))
        return true;
    cw_code rc =
        cw_arguments_own_names(shown, target->params, r->responder->arena, &target->params);
    if (rc == CW_PARAMS)
        target->problem = "An argument is given under two names, its own and the one in the list";
    else if (rc)
        cw_door_fail_nomem(r->item);
    target->shown = shown;
    return !rc || rc == CW_PARAMS;
}

/* Whether the caller may call anything; else the message is answered. */
static bool may_call(const cw_mcp_request *r)
{
    cw_call_found found;
    cw_call_error refusal = {0};
    if (CW_LIKELY(!cw_mcp_find(r, (cw_call_lookup){0}, &found)))
        return true;
    const char *no_login = found.verdict == CW_VERDICT_NEEDS_LOGIN
                               ? cw_mcp_explain_no_login(r->rl, r->responder)
                               : NULL;
    if (no_login)
        answer_problem(r->item, r->era, cw_fail(&refusal.err, CW_PARAMS, "%s", no_login), &refusal);
    else
        cw_mcp_refuse(r->item, found.verdict, NULL);
    return false;
}

/* The tool that a request names, and its arguments. */
typedef struct named_call {
    const cw_json *name, *arguments;
    bool is_indirect; /* by call_tool: the headers of the request are about that */
} named_call;

/* False: the message is answered. */
static bool check_call(const cw_mcp_request *r, const named_call *call)
{
    const char *problem = NULL;
    if (!cw_json_is(call->name, CW_JSON_STRING))
        problem = "name must be a string";
    else if (call->arguments && !cw_json_is(call->arguments, CW_JSON_OBJECT))
        problem = "arguments must be an object";
    if (problem)
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, problem);
    return !problem;
}

/* In a toolset that is searched: find_tools is answered, and call_tool stands for another tool.
 * False: the message is answered. */
static bool take_search(const cw_mcp_request *r, named_call *call)
{
    if (cw_str_is(cw_json_text(call->name), "find_tools")) {
        cw_mcp_search_find(r, call->arguments);
        return false;
    }
    if (!cw_str_is(cw_json_text(call->name), "call_tool"))
        return true;
    const cw_json *params = call->arguments;
    *call = (named_call){.name = cw_json_get(params, CW_STR("name")),
                         .arguments = cw_json_get(params, CW_STR("arguments")),
                         .is_indirect = true};
    return check_call(r, call);
}

void cw_mcp_call_tool(const cw_mcp_request *r)
{
    static const cw_mcp_target_ops ops = {.write = write_outcome,
                                          .refuse = answer_problem,
                                          .same = CW_FIND_SAME_TOOL,
                                          .fail_unknown = fail_unknown};
    named_call call = {.name = r->members.name, .arguments = r->members.arguments};
    if (!may_call(r) || !check_call(r, &call))
        return;
    if (CW_UNLIKELY(cw_mcp_is_search(r->view)) && !take_search(r, &call))
        return;
    const cw_json *name = call.name, *arguments = call.arguments;
    cw_call_found found;
    cw_call_lookup lookup = {.in = names_of(r), .name = cw_json_text(name), .may_wait = true};
    cw_code rc = cw_mcp_find(r, lookup, &found);
    if (rc == CW_AGAIN) {
        if (wait_for_tool(r))
            return;
        lookup.may_wait = false;
        rc = cw_mcp_find(r, lookup, &found);
    }
    if (rc) {
        fail_unknown(r, cw_json_text(name));
        return;
    }
    const cw_entry *entry = found.entry;
    if (!cw_mcp_task_check_required(r, entry))
        return;
    r->item->op.is_call = true;
    r->item->op.tool = cw_call_tool_slot(entry);
    cw_mcp_target target = {.ops = &ops,
                            .entry = entry,
                            .params = arguments,
                            .name = cw_json_text(name),
                            .has_structured_text = cw_runtime_config(r->rl)->mcp.structured_text};
    if (CW_UNLIKELY(entry->has_renames) && !take_shown_names(r, &target))
        return;
    /* A refusal of the gate comes before one of the headers. */
    if (entry->is_mirrored && r->era->has_mirrors && !call.is_indirect &&
        cw_view_verdict(r->view, entry) == CW_VERDICT_ALLOW && !target.problem &&
        !cw_mcp_check_param_headers(r, entry->method, target.params))
        return;
    cw_mcp_start(r, &target);
}
