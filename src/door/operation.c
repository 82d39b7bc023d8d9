/* SPDX-License-Identifier: GPL-2.0-or-later */
/* operation.c - the course of an operation: contexts of messages, outcomes, the end. */
#include "door/operation.h"

#include "base/clock.h"
#include "base/digits.h"
#include "call/redact.h"
#include "door/operation_int.h"
#include "door/rpc_batch.h"
#include "json/json.h"
#include "metrics/metrics.h"

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

cw_str cw_operation_read_state(cw_http_req *req)
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
bool cw_operation_read_parent(const cw_http_req *req, cw_trace_parent *ret)
{
    bool repeats = false;
    if (CW_LIKELY(!cw_http_req_has_traceparent(req)))
        return false;
    cw_str value = cw_http_req_header_once(req, CW_STR("traceparent"), &repeats);
    return value.p && !repeats && cw_trace_parent_parse(value, ret);
}

/* Whether a message comes with a context at all. Most do not. */
static bool has_contexts(const cw_operation_start *start, const cw_http_req *req)
{
    return start->traceparent || (req && cw_http_req_has_traceparent(req));
}

/* The context of params._meta counts before that of the headers. */
static contexts read_contexts(const cw_operation_start *start, const cw_responder *responder,
                              cw_http_req *req)
{
    contexts c = {.state = CW_STR("")};
    cw_str parent = text_of(start->traceparent), state = text_of(start->tracestate);
    c.has_meta = parent.p && cw_trace_parent_parse(parent, &c.meta);
    c.has_header = req && cw_operation_read_parent(req, &c.header);
    if (c.has_meta && state.p)
        c.state = cw_trace_state_read(&state, 1, responder->arena);
    else if (!c.has_meta && c.has_header)
        c.state = cw_operation_read_state(req);
    return c;
}

static bool is_same(const cw_trace_parent *a, const cw_trace_parent *b)
{
    return memcmp(a->trace_id, b->trace_id, CW_IDS_TRACE) == 0 &&
           memcmp(a->span_id, b->span_id, CW_IDS_SPAN) == 0;
}

/* Whether traces of this caller are continued. A client of standard input or of the local socket is
 * the operator. */
bool cw_operation_is_trusted(const cw_runtime_loop *rl, const cw_view *view, const cw_http_req *req)
{
    uid_t uid;
    cw_config_trace_trust trust = cw_runtime_config(rl)->traces.trust;
    if (trust != CW_CONFIG_TRUST_CALLERS)
        return trust == CW_CONFIG_TRUST_ALL;
    if (!req || cw_http_req_local_uid(req, &uid))
        return true;
    return view && !cw_caller_is_anonymous(cw_view_caller(view));
}

/* The span of the HTTP request of a message (traces.http). It begins with the first message of the
 * request. NULL: none is wanted, or memory is missing. */
static const cw_span *http_span(cw_trace_loop *l, cw_http_req *req, const contexts *c,
                                bool is_trusted)
{
    cw_span *span = cw_http_req_data(req);
    if (span)
        return span;
    span = cw_arena_calloc(cw_http_req_arena(req), 1, sizeof *span);
    if (!span)
        return NULL;
    span->ids = *cw_http_req_ids(req);
    cw_span_begin(l,
                  &(cw_trace_incoming){.parent = c->has_header ? &c->header : NULL,
                                       .tracestate = c->has_header ? cw_operation_read_state(req)
                                                                   : CW_STR(""),
                                       .is_trusted = is_trusted},
                  0, span);
    cw_http_req_set_data(req, span);
    return span;
}

/* With a span of the HTTP request: a context of _meta that is trusted goes on and has a link to the
 * request. Every other message is a child of the request. */
static void begin_below_http(cw_trace_loop *l, const cw_span *http, const contexts *c,
                             bool is_trusted, cw_span *ret)
{
    cw_trace_parent outer = {.flags = http->ids.flags};
    memcpy(outer.trace_id, http->ids.trace_id, CW_IDS_TRACE);
    memcpy(outer.span_id, http->ids.span_id, CW_IDS_SPAN);
    if (c->has_meta && is_trusted) {
        cw_span_begin(
            l,
            &(cw_trace_incoming){
                .parent = &c->meta, .tracestate = c->state, .other = &outer, .is_trusted = true},
            ret->begun_ns, ret);
        return;
    }
    cw_ids below = ret->ids;
    below.has_trace = true;
    below.flags = http->ids.flags;
    below.tracestate = http->ids.tracestate;
    memcpy(below.trace_id, outer.trace_id, CW_IDS_TRACE);
    memcpy(below.span_id, outer.span_id, CW_IDS_SPAN);
    cw_span_begin_child(l, &below, ret->begun_ns, ret);
    ret->has_link = c->has_meta;
    ret->link = c->meta;
}

static CW_NOINLINE void begin_in_context(cw_rpc_item *item, const cw_operation_start *start,
                                         cw_trace_loop *l, cw_http_req *req)
{
    const cw_rpc_batch_opts *opts = &item->batch->opts;
    contexts c = read_contexts(start, item->batch->responder, req);
    bool is_trusted = cw_operation_is_trusted(opts->rl, opts->view, req);
    bool has_http = req && cw_runtime_config(opts->rl)->traces.http;
    const cw_span *http = has_http ? http_span(l, req, &c, is_trusted) : NULL;
    if (http && http->is_on) {
        item->op.span.begun_ns = item->op.begun_ns;
        begin_below_http(l, http, &c, is_trusted, &item->op.span);
        return;
    }
    bool differ = c.has_meta && c.has_header && !is_same(&c.meta, &c.header);
    cw_trace_incoming in = {.parent = c.has_meta     ? &c.meta
                                      : c.has_header ? &c.header
                                                     : NULL,
                            .tracestate = c.state,
                            .other = differ ? &c.header : NULL,
                            .is_trusted = is_trusted};
    cw_span_begin(l, &in, item->op.begun_ns, &item->op.span);
}

static void begin_span(cw_rpc_item *item, const cw_operation_start *start, cw_trace_loop *l)
{
    const cw_responder *responder = item->batch->responder;
    cw_http_req *req = responder->session ? NULL : cw_responder_req(responder);
    const cw_config_traces *config = &cw_runtime_config(item->batch->opts.rl)->traces;
    item->op.wants_values = config->arguments;
    if (config->caller)
        cw_operation_set_caller(item);
    if (CW_UNLIKELY(config->http || has_contexts(start, req)))
        begin_in_context(item, start, l, req);
    else
        cw_span_begin(l, NULL, item->op.begun_ns, &item->op.span);
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
    op->is_prompt = is_prompt;
    /* The catalogue may be replaced before the answer, but slots keep their names. */
    if (CW_LIKELY(op->is_call && op->tool))
        op->source_slot = cw_source_slot(entry->method->source);
    if (CW_LIKELY(op->source_slot))
        return;
    bool is_rpc = op->kind == CW_OPERATION_JSONRPC;
    cw_str name = is_rpc || !entry->tool_name.n ? entry->method->id : entry->tool_name;
    cw_str source = entry->method->source->name;
    /* Without memory it has no name. */
    char *copy = cw_arena_alloc(arena, name.n + source.n);
    if (!copy)
        return;
    memcpy(copy, name.p, name.n);
    memcpy(copy + name.n, source.p, source.n);
    op->name = cw_str_make(copy, name.n);
    op->source = cw_str_make(copy + name.n, source.n);
}

void cw_operation_set_arguments(cw_rpc_item *item, const cw_entry *entry, const cw_json *arguments)
{
    cw_operation *op = &item->op;
    if (CW_UNLIKELY(op->wants_values) && !entry->method->is_secret) {
        op->shows_values = true;
        op->arguments = arguments;
    }
}

void cw_operation_set_session(cw_rpc_item *item, cw_str id)
{
    cw_operation *op = &item->op;
    if (CW_UNLIKELY(op->span.is_on))
        cw_operation_digest(id, op->session);
}

/* The result lives as long as the outcome. Failures have none. */
static void keep_result(cw_rpc_item *item, const cw_outcome *outcome)
{
    cw_operation *op = &item->op;
    const cw_runtime_loop *rl = item->batch->opts.rl;
    const cw_json *value = outcome->result;
    if (outcome->content && cw_json_is(value, CW_JSON_NULL))
        value = outcome->content;
    if (outcome->kind == CW_OUTCOME_RESULT && value)
        op->result = cw_call_redact(rl, value, CW_OPERATION_VALUE, item->batch->responder->arena);
}

void cw_operation_set_outcome(cw_rpc_item *item, const cw_outcome *outcome)
{
    static const struct {
        cw_str name;
        cw_operation_failure failure;
    } ends[] = {
        [CW_OUTCOME_RESULT] = {CW_STR_INIT("ok"), CW_OPERATION_FINE},
        [CW_OUTCOME_ERROR] = {CW_STR_INIT("error"), CW_OPERATION_REPORTED},
        [CW_OUTCOME_FAILED] = {CW_STR_INIT("failed"), CW_OPERATION_FAILED},
        [CW_OUTCOME_INPUT_REQUIRED] = {CW_STR_INIT("asks"), CW_OPERATION_FINE},
    };
    item->op.outcome = ends[outcome->kind].name;
    item->op.failure = ends[outcome->kind].failure;
    item->op.fault = outcome->kind == CW_OUTCOME_FAILED ? cw_call_fault_name(outcome->fault) : NULL;
    if (CW_LIKELY(!cw_span_is_kept(cw_runtime_tracer(item->batch->opts.rl), &item->op.span,
                                   item->op.failure == CW_OPERATION_FAILED)))
        return;
    const cw_ids *ids = cw_ids_current();
    item->op.queue_us = ids ? ids->queue_us : 0;
    if (item->op.shows_values)
        keep_result(item, outcome);
}

void cw_operation_set_hidden(cw_rpc_item *item)
{
    item->op.outcome = CW_STR("hidden");
}

void cw_operation_set_refused(cw_rpc_item *item, cw_code rc, cw_verdict verdict)
{
    cw_operation *op = &item->op;
    op->failure = CW_OPERATION_FINE;
    if (rc == CW_DECLINED) {
        op->outcome = cw_str_from(cw_call_verdict_name(verdict));
    } else if (rc == CW_LIMIT) {
        op->outcome = CW_STR("too_many");
    } else if (rc == CW_PARAMS) {
        op->outcome = CW_STR("invalid");
        op->failure = CW_OPERATION_REPORTED;
    } else {
        op->outcome = CW_STR("unavailable");
        op->failure = CW_OPERATION_FAILED;
    }
}

void cw_operation_set_error(cw_rpc_item *item, int64_t code, cw_str message)
{
    item->op.code = code;
    item->op.message = message;
}

/* ---- the end ---- */

static uint32_t error_label(const cw_operation *op)
{
    char digits[CW_DIGITS_SIZE];
    if (op->is_tool_error)
        return cw_metrics_value(CW_METRIC_MCP_METHOD, 1, CW_STR("tool_error"));
    if (CW_LIKELY(op->code == 0 || cw_operation_is_mistake(op->code)))
        return 0;
    return cw_metrics_value(CW_METRIC_MCP_METHOD, 1, cw_digits_i64(op->code, digits));
}

/* The end of a call has read the clock a moment ago. Returns the time. */
static uint64_t observe(const cw_operation *op, const cw_loop *loop)
{
    uint64_t now = op->is_call ? cw_loop_recent_ns(loop) : cw_clock_ns();
    uint64_t ns = now > op->begun_ns ? now - op->begun_ns : 0;
    cw_metrics_exemplar exemplar;
    cw_metrics_observe(op->is_call ? CW_METRIC_MCP_TOOL : CW_METRIC_MCP_METHOD,
                       op->is_call ? op->tool : op->method, error_label(op), 0, ns,
                       cw_metrics_exemplar_of(&op->span.ids, now, &exemplar));
    return now;
}

static void end_span(cw_rpc_item *item, bool is_gone, uint64_t ended_ns)
{
    cw_operation *op = &item->op;
    cw_trace_loop *l = item->batch->opts.rl ? cw_runtime_tracer(item->batch->opts.rl) : NULL;
    if (CW_UNLIKELY(is_gone)) {
        op->outcome = CW_STR("cancelled");
        op->failure = CW_OPERATION_FINE;
    }
    bool has_failed = !is_gone && (op->failure == CW_OPERATION_FAILED ||
                                   (CW_UNLIKELY(op->code) && !cw_operation_is_mistake(op->code)));
    if (cw_span_is_kept(l, &op->span, has_failed))
        cw_operation_record(item, l, ended_ns ? ended_ns : cw_clock_ns());
}

void cw_operation_end(cw_rpc_item *item, cw_operation_last last)
{
    cw_operation *op = &item->op;
    if (!op->is_open)
        return;
    op->is_open = false;
    uint64_t ended_ns = 0;
    if (op->is_measured && last == CW_OPERATION_ANSWERED)
        ended_ns = observe(op, item->batch->responder->loop);
    if (CW_UNLIKELY(op->span.is_on))
        end_span(item, last == CW_OPERATION_GONE, ended_ns);
}
