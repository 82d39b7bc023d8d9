/* SPDX-License-Identifier: GPL-2.0-or-later */
/* operation.c - contexts of messages, and the attributes of their spans.
 *
 * Names of attributes are those of OpenTelemetry's conventions for MCP, JSON-RPC and HTTP. Our own
 * begin with "causeway.".
 */
#include "door/operation.h"

#include "base/clock.h"
#include "base/digits.h"
#include "base/utf8.h"
#include "door/rpc_batch.h"
#include "door/rpc_message.h"
#include "json/json.h"
#include "metrics/metrics.h"

#define ID_MAX 64u
#define URI_MAX 256u
#define MESSAGE_MAX 256u
#define STATE_HEADERS 8u /* tracestate headers of one request that are read */

/* ---- contexts ---- */

/* What a request brings along. */
typedef struct contexts {
    cw_trace_parent meta, header;
    bool has_meta, has_header;
    cw_str state; /* of the one that counts */
} contexts;

static cw_str text_of(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : (cw_str){NULL, 0};
}

static cw_str read_state_headers(cw_http_req *req)
{
    cw_str all[STATE_HEADERS];
    size_t n = 0, at = 0;
    cw_str value;
    while ((value = cw_http_req_header_next(req, CW_STR("tracestate"), &at)).p) {
        if (n == STATE_HEADERS)
            return CW_STR("");
        all[n++] = value;
    }
    return cw_trace_state_read(all, n, cw_http_req_arena(req));
}

/* A header that is repeated counts as absent. */
static bool read_header(const cw_http_req *req, cw_trace_parent *ret)
{
    bool repeats = false;
    cw_str value = cw_http_req_header_once(req, CW_STR("traceparent"), &repeats);
    return value.p && !repeats && cw_trace_parent_parse(value, ret);
}

/* The context of params._meta counts before that of the headers. */
static contexts read_contexts(const cw_operation_start *start, const cw_responder *responder)
{
    contexts c = {.state = CW_STR("")};
    cw_http_req *req = responder->session ? NULL : cw_responder_req(responder);
    cw_str parent = text_of(start->traceparent), state = text_of(start->tracestate);
    c.has_meta = parent.p && cw_trace_parent_parse(parent, &c.meta);
    c.has_header = req && read_header(req, &c.header);
    if (c.has_meta && state.p)
        c.state = cw_trace_state_read(&state, 1, responder->arena);
    else if (!c.has_meta && c.has_header)
        c.state = read_state_headers(req);
    return c;
}

static bool is_same(const cw_trace_parent *a, const cw_trace_parent *b)
{
    return memcmp(a->trace_id, b->trace_id, CW_IDS_TRACE) == 0 &&
           memcmp(a->span_id, b->span_id, CW_IDS_SPAN) == 0;
}

/* Whether traces of this caller are continued. A client of standard input or of the local socket is
 * the operator. */
static bool is_trusted(cw_runtime_loop *rl, const cw_view *view, const cw_http_req *req)
{
    uid_t uid;
    cw_config_trace_trust trust = cw_runtime_config(rl)->traces.trust;
    if (trust != CW_CONFIG_TRUST_CALLERS)
        return trust == CW_CONFIG_TRUST_ALL;
    if (!req || cw_http_req_local_uid(req, &uid))
        return true;
    return view && !cw_caller_is_anonymous(cw_view_caller(view));
}

static void begin_span(cw_rpc_item *item, const cw_operation_start *start, cw_trace_loop *l)
{
    const cw_responder *responder = item->batch->responder;
    const cw_rpc_batch_opts *opts = &item->batch->opts;
    contexts c = read_contexts(start, responder);
    const cw_http_req *req = responder->session ? NULL : cw_responder_req(responder);
    bool differ = c.has_meta && c.has_header && !is_same(&c.meta, &c.header);
    cw_trace_incoming in = {.parent = c.has_meta     ? &c.meta
                                      : c.has_header ? &c.header
                                                     : NULL,
                            .tracestate = c.state,
                            .other = differ ? &c.header : NULL,
                            .is_trusted = is_trusted(opts->rl, opts->view, req)};
    cw_span_begin(l, &in, item->op.begun_ns, &item->op.span);
}

/* ---- the operation ---- */

void cw_operation_begin(cw_rpc_item *item, const cw_operation_start *start)
{
    cw_operation *op = &item->op;
    cw_runtime_loop *rl = item->batch->opts.rl;
    cw_trace_loop *l = rl ? cw_runtime_tracer(rl) : NULL;
    op->kind = start->kind;
    op->door = start->door;
    op->begun_ns = cw_loop_recent_ns(item->batch->responder->loop);
    op->is_open = true;
    if (start->kind == CW_OPERATION_MCP)
        op->method = cw_metrics_value(CW_METRIC_MCP_METHOD, 0, start->method);
    if (CW_LIKELY(!cw_trace_is_on(l)))
        return;
    cw_ids *current = cw_ids_current();
    op->span.ids = current ? *current : (cw_ids){0};
    begin_span(item, start, l);
    if (current)
        *current = op->span.ids;
}

void cw_operation_set_entry(cw_rpc_item *item, const cw_entry *entry, bool is_prompt)
{
    cw_operation *op = &item->op;
    cw_arena *arena = item->batch->responder->arena;
    if (CW_LIKELY(!op->span.is_on))
        return;
    bool is_rpc = op->kind == CW_OPERATION_JSONRPC;
    cw_str name = is_rpc || !entry->tool_name.n ? entry->method->id : entry->tool_name;
    cw_str source = entry->method->source->name;
    op->is_prompt = is_prompt;
    /* The catalogue may be replaced before the answer. Without memory it has no name. */
    char *copy = cw_arena_alloc(arena, name.n + source.n);
    if (!copy)
        return;
    memcpy(copy, name.p, name.n);
    memcpy(copy + name.n, source.p, source.n);
    op->name = cw_str_make(copy, name.n);
    op->source = cw_str_make(copy + name.n, source.n);
}

void cw_operation_set_outcome(cw_rpc_item *item, const cw_outcome *outcome)
{
    static const char *const names[] = {"ok", "error", "failed", "asks"};
    item->op.outcome = names[outcome->kind];
    item->op.fault = outcome->kind == CW_OUTCOME_FAILED ? cw_call_fault_name(outcome->fault) : NULL;
}

void cw_operation_set_refused(cw_rpc_item *item, cw_code rc, cw_verdict verdict)
{
    if (rc == CW_DECLINED)
        item->op.outcome = cw_call_verdict_name(verdict);
    else if (rc == CW_LIMIT)
        item->op.outcome = "too_many";
    else
        item->op.outcome = rc == CW_PARAMS ? "invalid" : "unavailable";
}

void cw_operation_set_error(cw_rpc_item *item, int64_t code, cw_str message)
{
    item->op.code = code;
    item->op.message = message;
}

/* ---- the end ---- */

#define ATTRS_MAX 24u

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
static bool is_callers_mistake(int64_t code)
{
    return code == CW_RPC_PARSE || code == CW_RPC_INVALID || code == CW_RPC_METHOD ||
           code == CW_RPC_PARAMS || code == -32002;
}

/* error.type: empty where the operation has not failed. */
static cw_str error_type(const cw_operation *op, cw_str code)
{
    static const char *const failures[] = {"error", "invalid", "failed", "unavailable"};
    if (op->code)
        return is_callers_mistake(op->code) ? CW_STR("") : code;
    for (size_t i = 0; op->outcome && i < CW_COUNT(failures); i++) {
        if (strcmp(op->outcome, failures[i]) == 0)
            return CW_STR("tool_error");
    }
    return CW_STR("");
}

static void add_transport(attributes *a, const cw_responder *responder)
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

static void record(const cw_rpc_item *item, cw_trace_loop *l, uint64_t now)
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
    add_transport(&a, item->batch->responder);
    add(&a, "rpc.response.status_code", code);
    add(&a, "error.type", type);
    add(&a, "causeway.door", cw_str_from(op->door));
    add(&a, "causeway.source", op->source);
    add(&a, "causeway.outcome", cw_str_from(op->outcome ? op->outcome : ""));
    add(&a, "causeway.fault", cw_str_from(op->fault ? op->fault : ""));
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

static uint32_t error_label(const cw_operation *op)
{
    char digits[CW_DIGITS_SIZE];
    if (op->is_tool_error)
        return cw_metrics_value(CW_METRIC_MCP_METHOD, 1, CW_STR("tool_error"));
    if (CW_LIKELY(op->code == 0 || is_callers_mistake(op->code)))
        return 0;
    return cw_metrics_value(CW_METRIC_MCP_METHOD, 1, cw_digits_i64(op->code, digits));
}

/* The end of a call has read the clock a moment ago. */
static void observe(const cw_operation *op, const cw_loop *loop)
{
    uint64_t now = op->is_call ? cw_loop_recent_ns(loop) : cw_clock_ns();
    uint64_t ns = now > op->begun_ns ? now - op->begun_ns : 0;
    cw_metrics_exemplar exemplar;
    cw_metrics_observe(op->is_call ? CW_METRIC_MCP_TOOL : CW_METRIC_MCP_METHOD,
                       op->is_call ? op->tool : op->method, error_label(op), 0, ns,
                       cw_metrics_exemplar_of(&op->span.ids, &exemplar));
}

static void end_span(cw_rpc_item *item, bool is_gone)
{
    cw_operation *op = &item->op;
    cw_trace_loop *l = item->batch->opts.rl ? cw_runtime_tracer(item->batch->opts.rl) : NULL;
    bool has_failed = (op->code && !is_callers_mistake(op->code)) ||
                      (op->outcome && strcmp(op->outcome, "failed") == 0) ||
                      (op->outcome && strcmp(op->outcome, "unavailable") == 0);
    if (is_gone)
        op->outcome = "cancelled";
    if (cw_span_is_kept(l, &op->span, has_failed && !is_gone))
        record(item, l, cw_clock_ns());
}

void cw_operation_end(cw_rpc_item *item, cw_operation_last last)
{
    cw_operation *op = &item->op;
    if (!op->is_open)
        return;
    op->is_open = false;
    if (op->is_measured && last == CW_OPERATION_ANSWERED)
        observe(op, item->batch->responder->loop);
    if (CW_UNLIKELY(op->span.is_on))
        end_span(item, last == CW_OPERATION_GONE);
}

/* ---- other requests ---- */

void cw_operation_on_response(cw_http_req *req, unsigned status, uint64_t begun_ns, void *runtime)
{
    cw_runtime_loop *rl = cw_runtime_at(runtime, cw_http_req_loop(req));
    cw_trace_loop *l = cw_runtime_tracer(rl);
    cw_ids *ids = cw_http_req_ids(req);
    if (CW_LIKELY(!cw_trace_is_on(l)) || ids->has_trace)
        return;
    cw_str route = cw_http_req_route(req);
    if (!route.n)
        return;
    cw_trace_parent header;
    bool has_header = read_header(req, &header);
    cw_span span = {.ids = *ids};
    cw_span_begin(
        l,
        &(cw_trace_incoming){.parent = has_header ? &header : NULL,
                             .tracestate = has_header ? read_state_headers(req) : CW_STR(""),
                             .is_trusted = is_trusted(rl, NULL, req)},
        begun_ns, &span);
    *ids = span.ids;
    bool is_error = status >= 500;
    if (!cw_span_is_kept(l, &span, is_error))
        return;
    cw_str method = cw_str_from(cw_http_method_name(cw_http_req_method(req)));
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
    cw_span_end(l, &span,
                &(cw_span_report){.name = method,
                                  .target = route,
                                  .kind = CW_SPAN_SERVER,
                                  .end_ns = cw_clock_ns(),
                                  .attrs = a.items,
                                  .n_attrs = a.n,
                                  .is_error = is_error});
}
