/* SPDX-License-Identifier: GPL-2.0-or-later */
/* invoke.c - POST /mcp/tools/invoke: {"name":…,"arguments":{…}} to {"result":…}. */
#include "door/rest/reply.h"
#include "json/write.h"

typedef struct invocation {
    cw_sink sink;
    cw_rpc_item *item;
} invocation;

/* ---- what comes back ---- */

static void fail(cw_rpc_item *item, unsigned status, const char *code, cw_str message)
{
    cw_door_reply_error(item, &(cw_door_error){.status = status, .name = code, .text = message});
}

/* The method's message with its data: text for people, and as it is for programs. */
static void fail_method(cw_rpc_item *item, const cw_outcome *outcome)
{
    cw_buf text;
    cw_str more = cw_rpc_error_detail(outcome);
    bool has_data = outcome->data && !cw_json_is(outcome->data, CW_JSON_NULL);
    cw_buf_init(&text, SIZE_MAX / 2);
    cw_buf_add(&text, outcome->message);
    if (more.n) {
        cw_buf_add(&text, CW_STR(": "));
        cw_buf_add(&text, more);
    }
    cw_door_reply_error(
        item, &(cw_door_error){.status = 500,
                               .name = "execution_error",
                               .text = text.code ? outcome->message : cw_buf_str(&text),
                               .data = has_data ? cw_json_span(outcome->data) : CW_STR("")});
    cw_buf_done(&text);
}

static void fail_call(cw_rpc_item *item, cw_fault fault, cw_str message)
{
    switch (fault) {
    case CW_FAULT_UNAVAILABLE:
        fail(item, 503, "unavailable", message);
        return;
    case CW_FAULT_DIED:
    case CW_FAULT_TIMEOUT:
        fail(item, 500, "execution_error", message);
        return;
    case CW_FAULT_NONE:
    case CW_FAULT_PROTOCOL:
    case CW_FAULT_NOMEM:
    case CW_FAULT_SCHEMA:
        fail(item, 500, "internal_error", message);
        return;
    }
}

static void on_done(cw_sink *sink, const cw_outcome *outcome)
{
    cw_rpc_item *item = CW_CONTAINER(sink, invocation, sink)->item;
    cw_buf b;
    switch (outcome->kind) {
    case CW_OUTCOME_RESULT: {
        cw_str span = cw_json_span(outcome->result);
        cw_buf_init(&b, SIZE_MAX / 2);
        cw_buf_reserve(&b, span.n + 16);
        cw_buf_add(&b, CW_STR("{\"result\":"));
        cw_rpc_add_returned(&b, outcome);
        cw_buf_add_char(&b, '}');
        cw_rpc_item_reply(item, 200, &b, CW_STR(""));
        return;
    }
    case CW_OUTCOME_ERROR:
        fail_method(item, outcome);
        return;
    case CW_OUTCOME_FAILED:
    case CW_OUTCOME_INPUT_REQUIRED: /* never: request.can_ask is not set */
        fail_call(item, outcome->fault, outcome->message);
        return;
    }
}

/* ---- the way in ---- */

static void start(cw_rpc_item *item, const cw_entry *entry, const cw_json *arguments)
{
    static const cw_sink_ops ops = {cw_sink_no_progress, cw_sink_no_log, on_done};
    const cw_rpc_batch_opts *opts = &item->batch->opts;
    invocation *call = cw_arena_alloc(item->batch->responder->arena, sizeof *call);
    if (!call) {
        cw_door_fail_nomem(item);
        return;
    }
    *call = (invocation){.sink = {&ops}, .item = item};
    cw_call_request request = {.view = opts->view,
                               .entry = entry,
                               .params = arguments,
                               .steps = &item->batch->steps,
                               .sink = &call->sink,
                               .door = "rest",
                               .peer = cw_responder_peer(item->batch->responder)};
    cw_call_error refusal;
    cw_code rc = cw_call_start(opts->rl, &request, &item->call, &refusal);
    if (rc == CW_DECLINED)
        cw_door_refuse(item, refusal.verdict, &entry->method->needs);
    else if (rc == CW_PARAMS)
        fail(item, 400, refusal.lacks_required ? "missing_parameter" : "invalid_arguments",
             cw_str_from(refusal.err.msg));
    else if (rc == CW_LIMIT)
        cw_door_fail_rate_limited(item, &refusal);
    else if (rc)
        fail(item, 503, "unavailable", cw_str_from(refusal.err.msg));
}

static bool is_container(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_OBJECT) || cw_json_is(v, CW_JSON_ARRAY);
}

/* The body as a document; NULL: the request is answered. */
static const cw_json *read_body(cw_http_req *req)
{
    const cw_json *root;
    cw_err err;
    if (!cw_rpc_is_json(req)) {
        cw_rest_fail(req, 415, "unsupported_media_type", "Content-Type must be application/json");
        return NULL;
    }
    cw_code rc =
        cw_json_read(cw_http_req_body(req), NULL, cw_http_req_arena(req), &root, NULL, &err);
    if (rc == CW_NOMEM) {
        cw_door_fail_nomem_all(req, &cw_door_rest);
        return NULL;
    }
    if (rc || !is_container(root)) {
        cw_rest_fail(req, 400, "invalid_json", rc ? err.msg : "The body must be an object");
        return NULL;
    }
    return root;
}

static void invoke(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    (void)self;
    cw_call_found found;
    if (cw_rest_find(req, rl, (cw_call_lookup){.view = view}, &found)) {
        cw_rest_fail(req, 403, "access_denied", "This needs the permission 'use jsonrpc services'");
        return;
    }
    const cw_json *root = read_body(req);
    if (!root)
        return;
    const cw_json *name = cw_json_get(root, CW_STR("name"));
    const cw_json *arguments = cw_json_get(root, CW_STR("arguments"));
    const char *missing = cw_json_is(name, CW_JSON_STRING) ? NULL : "name";
    if (!missing && !is_container(arguments))
        missing = "arguments";
    if (missing) {
        cw_rest_fail(req, 400, "missing_parameter",
                     missing[0] == 'n'
                         ? "Required parameter \"name\" is missing or no string"
                         : "Required parameter \"arguments\" is missing or no object");
        return;
    }
    cw_call_lookup lookup = {
        .view = view, .may_wait = true, .in = CW_FIND_TOOL, .name = cw_json_text(name)};
    cw_code rc = cw_rest_find(req, rl, lookup, &found);
    if (rc == CW_AGAIN) {
        if (cw_rest_wait_catalogue(req, rl, view, invoke))
            return;
        lookup.may_wait = false;
        rc = cw_rest_find(req, rl, lookup, &found);
    }
    if (rc) {
        cw_rest_fail_unknown(req, cw_json_text(name));
        return;
    }
    cw_rpc_batch_opts opts = {
        .rl = rl, .view = view, .n = 1, .none_status = 204, .form = &cw_door_rest};
    cw_rpc_batch *batch = cw_rpc_batch_of(req, &opts);
    if (batch)
        start(&batch->items[0], found.entry, arguments);
}

void cw_rest_on_invoke(cw_http_req *req, void *runtime)
{
    cw_authenticate(req, runtime, &cw_authenticate_rest, invoke, runtime);
}
