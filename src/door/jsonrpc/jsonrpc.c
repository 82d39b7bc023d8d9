/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jsonrpc.c - the JSON-RPC 2.0 door.
 *
 * Statuses of a single message: 400 when the message is wrong, 200 when the method
 * was run (its own errors too), 500 when it could not be, 401 or 403 when the gate
 * refuses, 429 when it is called too often, 204 for a notification. A batch is 200, or 204 without
 * answers.
 */
#include "door/jsonrpc/jsonrpc.h"

#include <stdio.h>

#include "call/find.h"
#include "door/browser.h"
#include "door/error.h"
#include "door/query.h"

#define REFUSED(text)                                                                              \
    CW_STR_INIT("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32000,\"message\":\"" text "\"},"       \
                "\"id\":null}")

const cw_auth_error_bodies cw_authenticate_jsonrpc = {
    .door = "jsonrpc",
    .wrong = REFUSED("Invalid credentials"),
    .clear_text = REFUSED("Passwords and sessions are only taken over encrypted connections"),
    .too_many = REFUSED("Too many attempts to log in"),
    .unavailable = REFUSED("Logging in is not possible at the moment"),
    .forged = REFUSED(CW_BROWSER_FORGED),
    .calls_by_get = true,
};

typedef struct rpc_call {
    cw_sink sink;
    cw_rpc_item *item;
} rpc_call;

/* ---- answers ---- */

static void on_done(cw_sink *sink, const cw_outcome *outcome)
{
    cw_rpc_item *item = CW_CONTAINER(sink, rpc_call, sink)->item;
    cw_buf b;
    unsigned status = 200;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_operation_set_outcome(item, outcome);
    switch (outcome->kind) {
    case CW_OUTCOME_RESULT: {
        size_t content = outcome->content ? cw_json_span(outcome->content).n : 0;
        cw_buf_reserve(&b, cw_json_span(outcome->result).n + content + item->id.n + 64);
        cw_rpc_open_result(&b);
        cw_rpc_add_returned(&b, outcome);
        cw_rpc_close(&b, item->id);
        break;
    }
    case CW_OUTCOME_ERROR:
        cw_operation_set_error(item, outcome->code, outcome->message);
        cw_rpc_error(&b, outcome->code, outcome->message,
                     outcome->data ? cw_json_span(outcome->data) : CW_STR(""), item->id);
        break;
    case CW_OUTCOME_FAILED:
    case CW_OUTCOME_INPUT_REQUIRED: /* never: request.can_ask is not set */
        cw_operation_set_error(item, CW_RPC_INTERNAL, outcome->message);
        cw_rpc_fail(&b, CW_RPC_INTERNAL, outcome->message, item->id);
        status = 500;
        break;
    }
    cw_rpc_item_reply(item, status, &b, CW_STR(""));
}

/* ---- one message ---- */

typedef struct message {
    const cw_jsonrpc_in *in;
    cw_rpc_item *item;
    cw_str method;
    const cw_json *params;
    bool is_notification;
} message;

static const cw_sink_ops sink_ops = {.done = on_done};

static const char *door_of(const cw_jsonrpc_in *in)
{
    return in->only ? "rest" : "jsonrpc";
}

static cw_call_request request_of(const message *m, const cw_entry *entry, cw_sink *sink)
{
    cw_rpc_batch *batch = m->item->batch;
    return (cw_call_request){.view = batch->opts.view,
                             .entry = entry,
                             .params = m->params,
                             .steps = &batch->steps,
                             .sink = sink,
                             .door = door_of(m->in),
                             .peer = cw_responder_peer(batch->responder)};
}

/* A notification has no answer, not even a refusal. */
static void start_notification(const message *m, const cw_entry *entry)
{
    cw_call_request request = request_of(m, entry, /* sink= */ NULL);
    cw_call_handle call;
    cw_call_error refusal;
    cw_code rc = cw_call_start(m->item->batch->opts.rl, &request, &call, &refusal);
    (void)rc;
    cw_rpc_item_no_reply(m->item);
}

static void start_call(const message *m, const cw_entry *entry)
{
    cw_rpc_item *item = m->item;
    cw_rpc_batch *batch = item->batch;
    rpc_call *call = cw_arena_alloc(batch->responder->arena, sizeof *call);
    if (!call) {
        cw_door_fail_nomem(item);
        return;
    }
    *call = (rpc_call){.sink = {&sink_ops}, .item = item};
    cw_call_request request = request_of(m, entry, &call->sink);
    cw_call_error refusal;
    cw_code rc = cw_call_start(batch->opts.rl, &request, &item->call, &refusal);
    if (rc)
        cw_operation_set_refused(item, rc, refusal.verdict);
    if (rc == CW_DECLINED)
        cw_door_refuse(item, refusal.verdict, &entry->method->needs);
    else if (rc == CW_PARAMS)
        cw_door_fail(item, 400, CW_RPC_PARAMS, refusal.err.msg);
    else if (rc == CW_LIMIT)
        cw_door_fail_rate_limited(item, &refusal);
    else if (rc)
        cw_door_fail(item, 500, CW_RPC_INTERNAL, refusal.err.msg);
}

/* The caller may call nothing, or sees no such method. */
static void refuse_name(const message *m, cw_code rc, cw_verdict verdict)
{
    if (m->is_notification)
        cw_rpc_item_no_reply(m->item);
    else if (rc == CW_NOTFOUND)
        cw_door_fail(m->item, 400, CW_RPC_METHOD, NULL);
    else
        cw_door_refuse(m->item, verdict, NULL);
}

/* A GET can be made by a link or a picture: it runs only what changes nothing. */
static void refuse_get(cw_rpc_item *item)
{
    static const char text[] = "This method is not marked as reading only: use POST";
    static const cw_http_header headers[] = {
        {CW_STR_INIT("Cache-Control"), CW_STR_INIT("no-store")},
        {CW_STR_INIT("Allow"), CW_STR_INIT("POST, OPTIONS")},
    };
    if (item->batch->opts.is_batch) {
        cw_door_fail(item, 405, CW_RPC_INVALID, text);
        return;
    }
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_fail(&b, CW_RPC_INVALID, cw_str_from(text), item->id);
    cw_str body = cw_rpc_batch_keep(item->batch->responder->arena, &b);
    cw_operation_set_error(item, CW_RPC_INVALID, cw_str_from(text));
    cw_operation_end(item, CW_OPERATION_ANSWERED);
    cw_http_reply(cw_responder_req(item->batch->responder),
                  &(cw_http_response){.status = body.p ? 405 : 500,
                                      .body = body.p ? body : cw_door_jsonrpc.failure,
                                      .headers = headers,
                                      .n_headers = CW_COUNT(headers)});
}

/* The method that the message names; cw_call_find's codes. */
static cw_code find(const message *m, bool may_wait, cw_call_found *ret)
{
    cw_call_lookup lookup = {.view = m->in->view,
                             .door = door_of(m->in),
                             .peer = cw_responder_peer_of,
                             .ctx = m->item->batch->responder,
                             .may_wait = may_wait,
                             .in = CW_FIND_METHOD,
                             .name = m->method};
    *ret = (cw_call_found){.entry = m->in->only};
    return m->in->only ? CW_OK : cw_call_find(m->in->rl, &lookup, ret);
}

static void run(const message *m);

typedef struct parked {
    message m;
    cw_jsonrpc_in in;
} parked;

static void run_again(cw_rpc_item *item, void *ctx)
{
    parked *p = ctx;
    p->in.view = item->batch->opts.view;
    run(&p->m);
}

/* Its source may still be being loaded. */
static bool wait_for(const message *m)
{
    parked *p = cw_arena_alloc(m->item->batch->responder->arena, sizeof *p);
    if (!p)
        return false;
    *p = (parked){.m = *m, .in = *m->in};
    p->m.in = &p->in;
    return cw_rpc_item_wait_catalogue(m->item, run_again, p);
}

static bool may_run_by_get(const cw_entry *entry);

static void run(const message *m)
{
    cw_call_found found;
    cw_code rc = find(m, /* may_wait= */ true, &found);
    if (rc == CW_AGAIN) {
        if (wait_for(m))
            return;
        rc = find(m, /* may_wait= */ false, &found);
    }
    const cw_entry *entry = found.entry;
    if (entry) {
        cw_operation_set_entry(m->item, entry, /* is_prompt= */ false);
        cw_operation_set_arguments(m->item, entry, m->params);
    }
    bool is_refused = entry && m->in->is_get && !may_run_by_get(entry);
    if (is_refused && !m->is_notification)
        refuse_get(m->item);
    else if (is_refused)
        cw_rpc_item_no_reply(m->item);
    else if (entry && m->is_notification)
        start_notification(m, entry);
    else if (entry)
        start_call(m, entry);
    else
        refuse_name(m, rc, found.verdict);
}

static bool is_id(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_STRING) || cw_json_is(v, CW_JSON_NUMBER) ||
           cw_json_is(v, CW_JSON_NULL);
}

/* The address of a tool runs that tool and no other. */
static bool names(const cw_entry *entry, cw_str method)
{
    return cw_str_eq(entry->method->id, method) || cw_str_eq(entry->tool_name, method);
}

/* The problem of a message, or NULL. */
static const char *check(const cw_json *v, message *ret)
{
    const cw_json *version = cw_json_get(v, CW_STR("jsonrpc"));
    const cw_json *method = cw_json_get(v, CW_STR("method"));
    const cw_json *id = cw_json_get(v, CW_STR("id"));
    ret->params = cw_json_get(v, CW_STR("params"));
    if (!cw_json_is(v, CW_JSON_OBJECT))
        return "A request must be an object";
    if (id && !is_id(id))
        return "id must be a string, a number or null";
    if (id)
        ret->item->id = cw_json_span(id);
    if (!cw_json_is(version, CW_JSON_STRING) || !cw_str_is(cw_json_text(version), "2.0"))
        return "jsonrpc must be \"2.0\"";
    if (!cw_json_is(method, CW_JSON_STRING) && (method || !ret->in->only))
        return "method must be a string";
    if (method && ret->in->only && !names(ret->in->only, cw_json_text(method)))
        return "method is not the tool of this address";
    if (ret->params && !cw_json_is(ret->params, CW_JSON_OBJECT) &&
        !cw_json_is(ret->params, CW_JSON_ARRAY))
        return "params must be an object or an array";
    ret->method = method ? cw_json_text(method) : CW_STR("");
    ret->is_notification = !id;
    return NULL;
}

static void take(const cw_jsonrpc_in *in, cw_rpc_item *item, const cw_json *v)
{
    message m = {.in = in, .item = item};
    item->id = cw_door_jsonrpc.id;
    const char *problem = check(v, &m);
    if (problem) {
        cw_door_fail(item, 400, CW_RPC_INVALID, problem);
        return;
    }
    /* Each message of a batch has a trace of its own. */
    cw_ids *outer = cw_ids_current();
    CW_UNINIT cw_ids ids;
    if (item->batch->opts.is_batch) {
        ids = outer ? *outer : (cw_ids){0};
        cw_ids_enter(&ids);
    }
    cw_operation_begin(item, &(cw_operation_start){.kind = CW_OPERATION_JSONRPC,
                                                   .door = door_of(in),
                                                   .method = m.method});
    run(&m);
    cw_ids_leave(outer);
}

/* ---- the request ---- */

/* An error of the request as a whole. */
static void fail_all(cw_http_req *req, unsigned status, int64_t code, const char *text)
{
    cw_door_reply_error_all(
        req, &cw_door_jsonrpc,
        &(cw_door_error){.status = status, .code = code, .text = cw_str_from(text)});
}

static void take_batch(cw_http_req *req, const cw_jsonrpc_in *in, cw_rpc_batch_opts *opts,
                       const cw_json *list)
{
    uint32_t most = cw_runtime_config(opts->rl)->limits.batch;
    opts->n = cw_json_count(list);
    opts->is_batch = true;
    if (opts->n == 0 || opts->n > most) {
        char text[64];
        snprintf(text, sizeof text, "A batch has 1 to %u requests", most);
        fail_all(req, 400, CW_RPC_INVALID, text);
        return;
    }
    cw_rpc_batch *batch = cw_rpc_batch_of(req, opts);
    if (!batch)
        return;
    uint32_t i = 0;
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v))
        take(in, &batch->items[i++], v);
    cw_rpc_batch_finish(batch);
}

/* The message of a GET, percent-decoded. False: the request is answered. */
static bool read_query(cw_http_req *req, cw_str *ret)
{
    cw_param_state state = cw_query_param(req, CW_STR("query"), ret);
    if (state == CW_PARAM_ONCE)
        return true;
    if (state == CW_PARAM_NOMEM)
        cw_responder_reply_http(req,
                                &(cw_response){.status = 500, .body = cw_door_jsonrpc.failure});
    else
        fail_all(req, 400, CW_RPC_INVALID,
                 state == CW_PARAM_ABSENT ? "Missing query parameter"
                                          : "The query parameter must stand there once");
    return false;
}

/* Whether a GET may run it: annotations.readOnlyHint is true. */
static bool may_run_by_get(const cw_entry *entry)
{
    const cw_mark *mark = entry->method->mark;
    return mark && mark->is_read_only;
}

void cw_jsonrpc_receive(cw_http_req *req, const cw_jsonrpc_in *in)
{
    cw_str text = cw_http_req_body(req);
    if (in->is_get && !read_query(req, &text))
        return;
    if (!in->is_get && !cw_rpc_is_json(req)) {
        fail_all(req, 415, CW_RPC_INVALID, "Content-Type must be application/json");
        return;
    }
    const cw_json *root;
    cw_err err;
    cw_code rc = cw_json_read(text, NULL, cw_http_req_arena(req), &root, NULL, &err);
    if (rc) {
        fail_all(req, rc == CW_NOMEM ? 500 : 400, rc == CW_NOMEM ? CW_RPC_INTERNAL : CW_RPC_PARSE,
                 err.msg);
        return;
    }
    cw_rpc_batch_opts opts = {
        .rl = in->rl, .view = in->view, .n = 1, .none_status = 204, .form = &cw_door_jsonrpc};
    if (cw_json_is(root, CW_JSON_ARRAY)) {
        take_batch(req, in, &opts, root);
        return;
    }
    cw_rpc_batch *batch = cw_rpc_batch_of(req, &opts);
    if (batch)
        take(in, &batch->items[0], root);
}

static void on_identified(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    (void)self;
    cw_jsonrpc_receive(req, &(cw_jsonrpc_in){.rl = rl,
                                             .view = view,
                                             .is_get = cw_http_req_method(req) != CW_HTTP_POST});
}

static void on_request(cw_http_req *req, void *self)
{
    cw_authenticate(req, self, &cw_authenticate_jsonrpc, on_identified, self);
}

cw_code cw_jsonrpc_add_routes(cw_router *router, cw_runtime *runtime)
{
    cw_code rc = cw_router_add(router, CW_HTTP_POST, "/jsonrpc", on_request, runtime);
    return rc ? rc : cw_router_add(router, CW_HTTP_GET, "/jsonrpc", on_request, runtime);
}
