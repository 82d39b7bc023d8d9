/* SPDX-License-Identifier: GPL-2.0-or-later */
/* operation_span.c - the attributes of the spans of messages and of HTTP requests.
 *
 * Names of attributes are those of OpenTelemetry's conventions for MCP, JSON-RPC and HTTP. Our own
 * begin with "causeway.".
 */
#include "access/seal.h"
#include "base/clock.h"
#include "base/digits.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "call/redact.h"
#include "door/operation_int.h"
#include "door/rpc_batch.h"
#include "door/rpc_message.h"
#include "metrics/metrics.h"

#define ID_MAX 64u
#define URI_MAX 256u
#define MESSAGE_MAX 256u

#define ATTRS_MAX 32u

typedef struct attributes {
    cw_span_attr items[ATTRS_MAX];
    size_t n;
} attributes;

CW_INLINE void add(attributes *a, const char *key, cw_str text)
{
    if (text.n && a->n < ATTRS_MAX)
        a->items[a->n++] = CW_SPAN_TEXT(key, text);
}

static void add_number(attributes *a, const char *key, int64_t number)
{
    if (a->n < ATTRS_MAX)
        a->items[a->n++] = CW_SPAN_NUMBER(key, number);
}

static cw_str cut(cw_str text, size_t max)
{
    return cw_str_make(text.p, cw_utf8_cut(text, max));
}

/* A caller's mistake is not an error of this server. */
bool cw_operation_is_mistake(int64_t code)
{
    return code == CW_RPC_PARSE || code == CW_RPC_INVALID || code == CW_RPC_METHOD ||
           code == CW_RPC_PARAMS || code == -32002;
}

/* error.type: empty where the operation has not failed. */
static cw_str error_type(const cw_operation *op, cw_str code)
{
    static const char *const failures[] = {"error", "invalid", "failed", "unavailable"};
    if (op->code)
        return cw_operation_is_mistake(op->code) ? CW_STR("") : code;
    for (size_t i = 0; op->outcome && i < CW_COUNT(failures); i++) {
        if (strcmp(op->outcome, failures[i]) == 0)
            return CW_STR("tool_error");
    }
    return CW_STR("");
}

void cw_operation_digest(cw_str text, char out[CW_OPERATION_DIGEST])
{
    unsigned char digest[CW_SEAL_DIGEST];
    cw_seal_digest(text, digest);
    cw_hex_write(out, digest, CW_OPERATION_DIGEST / 2);
}

void cw_operation_set_caller(cw_rpc_item *item)
{
    const cw_rpc_batch_opts *opts = &item->batch->opts;
    const cw_seal *seal = cw_runtime_seal(opts->rl);
    const cw_caller *caller = opts->view ? cw_view_caller(opts->view) : NULL;
    unsigned char digest[CW_SEAL_DIGEST];
    if (!seal || !caller || cw_caller_is_anonymous(caller))
        return;
    cw_seal_derive(seal, CW_STR("traces.caller"), cw_caller_id(caller), digest);
    cw_hex_write(item->op.caller, digest, CW_OPERATION_DIGEST / 2);
}

static void add_transport(attributes *a, const cw_operation *op, const cw_responder *responder)
{
    if (responder->session) {
        add(a, "network.transport", CW_STR("pipe"));
        return;
    }
    cw_str peer = cw_responder_peer(responder);
    add(a, "network.transport", peer.n ? CW_STR("tcp") : CW_STR("unix"));
    add(a, "network.protocol.name", CW_STR("http"));
    add(a, "network.protocol.version", CW_STR("1.1"));
    add(a, "client.address", peer);
    if (op->port)
        add_number(a, "client.port", op->port);
}

/* A name of a known list, or "_OTHER": no text of a client. */
static cw_str method_of(const cw_operation *op)
{
    if (op->kind == CW_OPERATION_MCP)
        return cw_metrics_value_text(CW_METRIC_MCP_METHOD, 0, op->method);
    return op->name.n ? op->name : CW_STR("_OTHER");
}

static void add_mcp(attributes *a, const cw_operation *op, cw_str method)
{
    add(a, "mcp.method.name", method);
    add(a, op->is_prompt ? "gen_ai.prompt.name" : "gen_ai.tool.name", op->name);
    if (cw_str_is(method, "tools/call"))
        add(a, "gen_ai.operation.name", CW_STR("execute_tool"));
    add(a, "mcp.protocol.version", op->version);
    add(a, "mcp.session.id", cw_str_from(op->session));
    add(a, "mcp.resource.uri", cut(op->uri, URI_MAX));
}

static void add_jsonrpc(attributes *a, cw_str method)
{
    add(a, "rpc.system.name", CW_STR("jsonrpc"));
    add(a, "rpc.method", method);
}

/* An id that is a string stands without its quotes. */
static cw_str id_of(const cw_rpc_item *item)
{
    cw_str id = item->id;
    if (!id.p || cw_str_is(id, "null"))
        return CW_STR("");
    if (id.n >= 2 && id.p[0] == '"')
        id = cw_str_make(id.p + 1, id.n - 2);
    return cut(id, ID_MAX);
}

/* Values that an operator asked for (traces.caller, traces.arguments). */
static void add_values(attributes *a, const cw_rpc_item *item)
{
    const cw_operation *op = &item->op;
    add(a, "enduser.pseudo.id", cw_str_from(op->caller));
    if (op->arguments)
        add(a, "gen_ai.tool.call.arguments",
            cw_call_redact(item->batch->opts.rl, op->arguments, CW_OPERATION_VALUE,
                           item->batch->responder->arena));
    add(a, "gen_ai.tool.call.result", op->result);
}

void cw_operation_record(const cw_rpc_item *item, cw_trace_loop *l, uint64_t now)
{
    const cw_operation *op = &item->op;
    bool is_mcp = op->kind == CW_OPERATION_MCP;
    cw_str method = method_of(op);
    char digits[CW_DIGITS_SIZE];
    cw_str code = op->code ? cw_digits_i64(op->code, digits) : CW_STR("");
    cw_str type = error_type(op, code);
    attributes a;
    a.n = 0;
    if (is_mcp)
        add_mcp(&a, op, method);
    else
        add_jsonrpc(&a, method);
    add(&a, "jsonrpc.request.id", id_of(item));
    add_transport(&a, op, item->batch->responder);
    add(&a, "rpc.response.status_code", code);
    add(&a, "error.type", type);
    add(&a, "causeway.door", cw_str_from(op->door));
    add(&a, "causeway.source", op->source);
    add(&a, "causeway.outcome", cw_str_from(op->outcome ? op->outcome : ""));
    add(&a, "causeway.fault", cw_str_from(op->fault ? op->fault : ""));
    if (op->queue_us)
        add_number(&a, "causeway.queue_us", op->queue_us);
    if (op->span.ids.login_us)
        add_number(&a, "causeway.login_us", op->span.ids.login_us);
    add_values(&a, item);
    cw_span_end(l, &op->span,
                &(cw_span_report){.name = is_mcp || op->name.n ? method : CW_STR("jsonrpc"),
                                  .target = is_mcp ? op->name : CW_STR(""),
                                  .kind = CW_SPAN_SERVER,
                                  .end_ns = now,
                                  .attrs = a.items,
                                  .n_attrs = a.n,
                                  .is_error = type.n > 0,
                                  .message = type.n ? cut(op->message, MESSAGE_MAX) : CW_STR("")});
}

/* ---- HTTP requests ---- */

static void record_http(const cw_http_req *req, cw_trace_loop *l, const cw_span *span,
                        unsigned status)
{
    bool is_error = status >= 500;
    if (!cw_span_is_kept(l, span, is_error))
        return;
    cw_str method = cw_str_from(cw_http_method_name(cw_http_req_method(req)));
    cw_str route = cw_http_req_pattern(req);
    char digits[CW_DIGITS_SIZE];
    attributes a;
    a.n = 0;
    add(&a, "http.request.method", method);
    add(&a, "http.route", route);
    add(&a, "url.path", cut(cw_http_req_path(req), URI_MAX));
    add(&a, "url.scheme", cw_http_req_is_tls(req) ? CW_STR("https") : CW_STR("http"));
    add_number(&a, "http.response.status_code", status);
    add(&a, "client.address", cw_http_req_peer(req));
    if (is_error)
        add(&a, "error.type", cw_digits_u64(status, digits));
    cw_span_end(l, span,
                &(cw_span_report){.name = method,
                                  .target = route,
                                  .kind = CW_SPAN_SERVER,
                                  .end_ns = cw_clock_ns(),
                                  .attrs = a.items,
                                  .n_attrs = a.n,
                                  .is_error = is_error});
}

void cw_operation_on_response(cw_http_req *req, unsigned status, uint64_t begun_ns, void *runtime)
{
    cw_runtime_loop *rl = cw_runtime_at(runtime, cw_http_req_loop(req));
    cw_trace_loop *l = cw_runtime_tracer(rl);
    cw_ids *ids = cw_http_req_ids(req);
    if (CW_LIKELY(!cw_trace_is_on(l)))
        return;
    cw_span *http = cw_http_req_data(req);
    if (http) {
        http->begun_ns = begun_ns;
        record_http(req, l, http, status);
        return;
    }
    if (ids->has_trace || !cw_http_req_route(req).n)
        return;
    cw_trace_parent header;
    bool has_header = cw_operation_read_parent(req, &header);
    cw_span span = {.ids = *ids};
    cw_span_begin(
        l,
        &(cw_trace_incoming){.parent = has_header ? &header : NULL,
                             .tracestate = has_header ? cw_operation_read_state(req) : CW_STR(""),
                             .is_trusted = cw_operation_is_trusted(rl, NULL, req)},
        begun_ns, &span);
    *ids = span.ids;
    record_http(req, l, &span, status);
}
