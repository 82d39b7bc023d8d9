/* SPDX-License-Identifier: GPL-2.0-or-later */
/* span.c - the span of a call, for sources that have such. */
#include "base/clock.h"
#include "call/call_int.h"

#define ATTRS_MAX 5u

void cw_call_span_begin(cw_exchange *ex, const cw_source *source)
{
    cw_source_call *call = &ex->call;
    call->tracer = ex->rl->tracer;
    call->ids = &ex->ids;
    call->traceparent = CW_STR("");
    ex->span.is_on = false;
    if (CW_LIKELY(!source->ops->span || !ex->ids.has_trace || !cw_trace_is_on(call->tracer)))
        return;
    cw_span_begin_child(call->tracer, &ex->ids, call->begun_ns ? call->begun_ns : cw_clock_ns(),
                        &ex->span);
    cw_trace_parent_format(&ex->span.ids, ex->traceparent);
    call->traceparent = cw_str_from(ex->traceparent);
}

void cw_call_span_end(const cw_exchange *ex, const cw_outcome *outcome)
{
    if (CW_LIKELY(!ex->span.is_on))
        return;
    const cw_source *source = ex->active->source;
    bool has_failed = outcome && outcome->kind == CW_OUTCOME_FAILED;
    bool is_error = has_failed || (outcome && outcome->kind == CW_OUTCOME_ERROR);
    if (!cw_span_is_kept(ex->call.tracer, &ex->span, has_failed))
        return;
    cw_str type =
        has_failed ? cw_str_from(cw_call_fault_name(outcome->fault)) : CW_STR("tool_error");
    cw_span_attr attrs[ATTRS_MAX];
    size_t n = 0;
    attrs[n++] = CW_SPAN_TEXT("causeway.source", source->name);
    attrs[n++] = CW_SPAN_TEXT("causeway.method", ex->call.method->id);
    if (ex->call.pid)
        attrs[n++] = CW_SPAN_NUMBER("process.pid", ex->call.pid);
    if (ex->ids.queue_us)
        attrs[n++] = CW_SPAN_NUMBER("causeway.queue_us", ex->ids.queue_us);
    if (is_error)
        attrs[n++] = CW_SPAN_TEXT("error.type", type);
    cw_span_end(ex->call.tracer, &ex->span,
                &(cw_span_report){.name = cw_str_from(source->ops->span),
                                  .target = source->name,
                                  .kind = CW_SPAN_INTERNAL,
                                  .end_ns = ex->call.ended_ns ? ex->call.ended_ns : cw_clock_ns(),
                                  .attrs = attrs,
                                  .n_attrs = n,
                                  .is_error = is_error});
}
