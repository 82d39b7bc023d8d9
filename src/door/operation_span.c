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
#include "metrics/names.h"

#define ID_MAX 64u
#define URI_MAX 256u
#define MESSAGE_MAX 256u

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
    if (CW_UNLIKELY(op->code))
        return cw_operation_is_mistake(op->code) ? CW_STR("") : code;
    return op->failure == CW_OPERATION_FINE ? CW_STR("") : CW_STR("tool_error");
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
    cw_seal_derive(cw_seal_get_current(seal), CW_STR("traces.caller"), cw_caller_id(caller),
                   digest);
    cw_hex_write(item->op.caller, digest, CW_OPERATION_DIGEST / 2);
}

static void add_transport(cw_otlp_writer *w, const cw_responder *responder)
{
    if (responder->session) {
        cw_otlp_add_text(w, CW_STR("network.transport"), CW_STR("pipe"));
        return;
    }
    cw_str peer = cw_responder_peer(responder);
    if (CW_LIKELY(peer.n))
        cw_otlp_add_text(w, CW_STR("network.transport"), CW_STR("tcp"));
    else
        cw_otlp_add_text(w, CW_STR("network.transport"), CW_STR("unix"));
    cw_otlp_add_text(w, CW_STR("network.protocol.name"), CW_STR("http"));
    cw_otlp_add_text(w, CW_STR("network.protocol.version"), CW_STR("1.1"));
    cw_otlp_add_text(w, CW_STR("client.address"), peer);
    uint16_t port = cw_http_req_peer_port(cw_responder_req(responder));
    if (port)
        cw_otlp_add_number(w, CW_STR("client.port"), port);
}

static cw_str name_of(const cw_operation *op)
{
    return op->source_slot ? cw_metrics_slot_name(CW_METRICS_TOOL, op->tool) : op->name;
}

static cw_str source_of(const cw_operation *op)
{
    return op->source_slot ? cw_metrics_slot_name(CW_METRICS_SOURCE, op->source_slot) : op->source;
}

/* A name of a known list, or "_OTHER": no text of a client. */
static cw_str method_of(const cw_operation *op)
{
    if (op->kind == CW_OPERATION_MCP)
        return cw_metrics_value_text(CW_METRIC_MCP_METHOD, 0, op->method);
    return op->name.n ? op->name : CW_STR("_OTHER");
}

static void add_mcp(cw_otlp_writer *w, const cw_operation *op, cw_str method, cw_str name)
{
    cw_otlp_add_text(w, CW_STR("mcp.method.name"), method);
    if (CW_UNLIKELY(op->is_prompt))
        cw_otlp_add_text(w, CW_STR("gen_ai.prompt.name"), name);
    else
        cw_otlp_add_text(w, CW_STR("gen_ai.tool.name"), name);
    if (cw_str_eq(method, CW_STR("tools/call")))
        cw_otlp_add_text(w, CW_STR("gen_ai.operation.name"), CW_STR("execute_tool"));
    cw_otlp_add_text(w, CW_STR("mcp.protocol.version"), op->version);
    if (op->session[0])
        cw_otlp_add_text(w, CW_STR("mcp.session.id"), cw_str_from(op->session));
    if (op->uri.n)
        cw_otlp_add_text(w, CW_STR("mcp.resource.uri"), cut(op->uri, URI_MAX));
}

static void add_jsonrpc(cw_otlp_writer *w, cw_str method)
{
    cw_otlp_add_text(w, CW_STR("rpc.system.name"), CW_STR("jsonrpc"));
    cw_otlp_add_text(w, CW_STR("rpc.method"), method);
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
static void add_values(cw_otlp_writer *w, const cw_rpc_item *item)
{
    const cw_operation *op = &item->op;
    if (op->caller[0])
        cw_otlp_add_text(w, CW_STR("enduser.pseudo.id"), cw_str_from(op->caller));
    if (op->arguments)
        cw_otlp_add_text(w, CW_STR("gen_ai.tool.call.arguments"),
                         cw_call_redact(item->batch->opts.rl, op->arguments, CW_OPERATION_VALUE,
                                        item->batch->responder->arena));
    cw_otlp_add_text(w, CW_STR("gen_ai.tool.call.result"), op->result);
}

/* The call: its way in, and its end. */
static void add_call(cw_otlp_writer *w, const cw_operation *op)
{
    cw_otlp_add_text(w, CW_STR("causeway.door"), cw_str_from(op->door));
    cw_otlp_add_text(w, CW_STR("causeway.source"), source_of(op));
    cw_otlp_add_text(w, CW_STR("causeway.outcome"), op->outcome);
    if (op->fault)
        cw_otlp_add_text(w, CW_STR("causeway.fault"), cw_str_from(op->fault));
    if (op->queue_us)
        cw_otlp_add_number(w, CW_STR("causeway.queue_us"), op->queue_us);
    if (op->span.ids.login_us)
        cw_otlp_add_number(w, CW_STR("causeway.login_us"), op->span.ids.login_us);
}

void cw_operation_record(const cw_rpc_item *item, cw_trace_loop *l, uint64_t now)
{
    const cw_operation *op = &item->op;
    bool is_mcp = op->kind == CW_OPERATION_MCP;
    cw_str method = method_of(op), name = name_of(op);
    char digits[CW_DIGITS_SIZE];
    cw_str code = op->code ? cw_digits_i64(op->code, digits) : CW_STR("");
    cw_str type = error_type(op, code);
    cw_otlp_writer *w = cw_span_open(
        l, &op->span,
        &(cw_span_report){.name = is_mcp || name.n ? method : CW_STR("jsonrpc"),
                          .target = is_mcp ? name : CW_STR(""),
                          .kind = CW_SPAN_SERVER,
                          .end_ns = now,
                          .is_error = type.n > 0,
                          .message = type.n ? cut(op->message, MESSAGE_MAX) : CW_STR("")});
    if (!w)
        return;
    if (is_mcp)
        add_mcp(w, op, method, name);
    else
        add_jsonrpc(w, method);
    cw_otlp_add_text(w, CW_STR("jsonrpc.request.id"), id_of(item));
    add_transport(w, item->batch->responder);
    cw_otlp_add_text(w, CW_STR("rpc.response.status_code"), code);
    cw_otlp_add_text(w, CW_STR("error.type"), type);
    add_call(w, op);
    add_values(w, item);
    cw_span_close(l);
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
    cw_otlp_writer *w = cw_span_open(l, span,
                                     &(cw_span_report){.name = method,
                                                       .target = route,
                                                       .kind = CW_SPAN_SERVER,
                                                       .end_ns = cw_clock_ns(),
                                                       .is_error = is_error});
    if (!w)
        return;
    cw_otlp_add_text(w, CW_STR("http.request.method"), method);
    cw_otlp_add_text(w, CW_STR("http.route"), route);
    cw_otlp_add_text(w, CW_STR("url.path"), cut(cw_http_req_path(req), URI_MAX));
    cw_otlp_add_text(w, CW_STR("url.scheme"),
                     cw_http_req_is_tls(req) ? CW_STR("https") : CW_STR("http"));
    cw_otlp_add_number(w, CW_STR("http.response.status_code"), status);
    cw_otlp_add_text(w, CW_STR("client.address"), cw_http_req_peer(req));
    if (is_error)
        cw_otlp_add_text(w, CW_STR("error.type"), cw_digits_u64(status, digits));
    cw_span_close(l);
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
