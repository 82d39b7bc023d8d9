/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "door/mcp_int.h"
#include "json/write.h"

/* A running tools/call; in the request's arena. */
typedef struct tool_call {
    cw_sink sink;
    cw_turn_item *item;
    const cw_mcp_era *era;
    const cw_entry *entry; /* lives as long as the call runs */
    cw_str token;          /* progressToken as it was sent; empty: no progress wanted */
    double reached;
    cw_mcp_stream stream;
} tool_call;

/* ---- tools/list ---- */

void cw_mcp_list_tools(const cw_mcp_request *r)
{
    const cw_turn_opts *opts = &r->item->turn->opts;
    cw_verdict verdict = cw_gate_permission(cw_view_caller(opts->view), CW_PERMISSION_DISCOVER);
    if (verdict != CW_VERDICT_ALLOW) {
        cw_mcp_refuse(r->item, verdict, NULL);
        return;
    }
    if (cw_json_get(r->params, CW_STR("cursor"))) {
        cw_mcp_fail(r->item, 200, CW_RPC_PARAMS, "Unknown cursor");
        return;
    }
    cw_str tools = cw_view_tools(opts->view, r->era->form);
    if (!tools.p) {
        cw_mcp_fail(r->item, 500, CW_RPC_INTERNAL, "out of memory");
        return;
    }
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_buf_reserve(&b, tools.n + r->item->id.n + 320);
    cw_message_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"tools\":"));
    cw_buf_add(&b, tools);
    if (r->era->is_stamped) {
        cw_buf_add(&b, CW_STR(",\"ttlMs\":"));
        cw_message_add_i64(&b, cw_bridge_settings_of(opts->bl)->list_ttl_ms);
        cw_buf_add(&b, CW_STR(",\"cacheScope\":\"private\"," CW_MCP_STAMP));
    }
    cw_buf_add_char(&b, '}');
    cw_message_close(&b, r->item->id);
    cw_turn_answer(r->item, 200, &b, CW_STR(""));
}

/* ---- tools/call: what comes back ---- */

static void on_progress(cw_sink *sink, const cw_progress *progress)
{
    tool_call *call = CW_CONTAINER(sink, tool_call, sink);
    cw_buf b;
    cw_json_writer w;
    if (!isfinite(progress->progress) || progress->progress <= call->reached)
        return;
    call->reached = progress->progress;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("jsonrpc"), CW_STR("2.0"));
    cw_json_add_string_member(&w, CW_STR("method"), CW_STR("notifications/progress"));
    cw_json_add_key(&w, CW_STR("params"));
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR("progressToken"));
    cw_json_add_span(&w, call->token);
    cw_json_add_key(&w, CW_STR("progress"));
    cw_json_add_double(&w, progress->progress);
    if (isfinite(progress->total)) {
        cw_json_add_key(&w, CW_STR("total"));
        cw_json_add_double(&w, progress->total);
    }
    if (progress->message.n)
        cw_json_add_string_member(&w, CW_STR("message"), progress->message);
    cw_json_close(&w);
    cw_json_close(&w);
    if (!cw_json_writer_end(&w, NULL)) {
        cw_mcp_stream_open(&call->stream, call->item->turn->req);
        cw_mcp_stream_send(&call->stream, cw_buf_str(&b));
    }
    cw_buf_done(&b);
}

static void on_log(cw_sink *sink, cw_log_level level, cw_str message)
{
    (void)sink;
    (void)level;
    (void)message;
}

static void on_done(cw_sink *sink, const cw_outcome *outcome)
{
    tool_call *call = CW_CONTAINER(sink, tool_call, sink);
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_mcp_write_outcome(&b, call->era, call->entry, outcome, call->item->id);
    if (!call->stream.is_open) {
        cw_turn_answer(call->item, 200, &b, CW_STR(""));
        return;
    }
    call->item->call = (cw_call_handle){0};
    cw_mcp_stream_end(&call->stream, &b);
}

static void on_drained(cw_turn_item *item)
{
    cw_mcp_stream_drained(&((tool_call *)item->self)->stream);
}

/* ---- tools/call: the way in ---- */

static void fail_unknown(const cw_mcp_request *r, cw_str name)
{
    cw_buf text;
    cw_buf_init(&text, SIZE_MAX / 2);
    cw_buf_add(&text, CW_STR("Unknown tool: "));
    cw_buf_add(&text, name);
    cw_mcp_error(r->item, 200, CW_RPC_PARAMS, cw_buf_str(&text), CW_STR(""));
    cw_buf_done(&text);
}

static void answer_problem(const cw_mcp_request *r, const char *text)
{
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_mcp_write_problem(&b, r->era, cw_str_from(text), r->item->id);
    cw_turn_answer(r->item, 200, &b, CW_STR(""));
}

static void start(const cw_mcp_request *r, const cw_entry *entry, const cw_json *arguments,
                  cw_str token)
{
    static const cw_sink_ops ops = {on_progress, on_log, on_done};
    cw_turn_item *item = r->item;
    const cw_turn_opts *opts = &item->turn->opts;
    tool_call *call = cw_arena_alloc(cw_http_req_arena(r->req), sizeof *call);
    if (!call) {
        cw_mcp_fail(item, 500, CW_RPC_INTERNAL, "out of memory");
        return;
    }
    *call = (tool_call){.sink = {&ops},
                        .item = item,
                        .era = r->era,
                        .entry = entry,
                        .token = token,
                        .reached = -HUGE_VAL};
    item->self = call;
    item->on_drained = on_drained;
    cw_call_request request = {.view = opts->view,
                               .entry = entry,
                               .params = arguments,
                               .wants_progress = token.n > 0,
                               .sink = &call->sink};
    cw_call_refusal refusal;
    cw_code rc = cw_call_start(opts->bl, &request, &item->call, &refusal);
    if (rc == CW_DECLINED)
        cw_mcp_refuse(item, refusal.verdict, &entry->method->needs);
    else if (rc == CW_PARAMS || rc == CW_IO)
        answer_problem(r, refusal.err.msg);
    else if (rc)
        cw_mcp_fail(item, 500, CW_RPC_INTERNAL, refusal.err.msg);
}

void cw_mcp_call_tool(const cw_mcp_request *r)
{
    const cw_turn_opts *opts = &r->item->turn->opts;
    const cw_json *name = cw_json_get(r->params, CW_STR("name"));
    const cw_json *arguments = cw_json_get(r->params, CW_STR("arguments"));
    const cw_json *token = cw_mcp_meta(r->params, CW_STR("progressToken"));
    cw_verdict verdict = cw_call_gate(opts->view);
    if (verdict != CW_VERDICT_ALLOW) {
        cw_mcp_refuse(r->item, verdict, NULL);
        return;
    }
    const char *problem = NULL;
    if (!cw_json_is(name, CW_JSON_STRING))
        problem = "name must be a string";
    else if (arguments && !cw_json_is(arguments, CW_JSON_OBJECT))
        problem = "arguments must be an object";
    else if (token && !cw_json_is(token, CW_JSON_STRING) && !cw_json_is_integer(token))
        problem = "progressToken must be a string or an integer";
    if (problem) {
        cw_mcp_fail(r->item, 200, CW_RPC_PARAMS, problem);
        return;
    }
    const cw_entry *entry = cw_view_find_tool(opts->view, cw_json_text(name));
    if (!entry) {
        fail_unknown(r, cw_json_text(name));
        return;
    }
    /* A batch is answered as one JSON text. */
    bool wants_progress = token && !opts->is_batch && cw_message_takes_events(r->req);
    start(r, entry, arguments, wants_progress ? cw_json_span(token) : CW_STR(""));
}
