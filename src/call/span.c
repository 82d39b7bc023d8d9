/* SPDX-License-Identifier: GPL-2.0-or-later */
/* span.c - the span of a call, for sources that have such. */
#include "base/clock.h"
#include "call/call_int.h"

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
    call->traceparent = cw_str_make(ex->traceparent, CW_TRACE_PARENT_LEN);
}

static CW_NOINLINE void record(const cw_exchange *ex, const cw_outcome *outcome)
{
    const cw_source *source = ex->active->source;
    bool has_failed = outcome && outcome->kind == CW_OUTCOME_FAILED;
    bool is_error = has_failed || (outcome && outcome->kind == CW_OUTCOME_ERROR);
    cw_str type =
        has_failed ? cw_str_from(cw_call_fault_name(outcome->fault)) : CW_STR("tool_error");
    cw_otlp_writer *w = cw_span_open(
        ex->call.tracer, &ex->span,
        &(cw_span_report){.name = cw_str_from(source->ops->span),
                          .target = source->name,
                          .kind = CW_SPAN_INTERNAL,
                          .end_ns = ex->call.ended_ns ? ex->call.ended_ns : cw_clock_ns(),
                          .is_error = is_error});
    if (!w)
        return;
    cw_otlp_add_text(w, CW_STR("causeway.source"), source->name);
    cw_otlp_add_text(w, CW_STR("causeway.method"), ex->call.method->id);
    if (ex->call.pid)
        cw_otlp_add_number(w, CW_STR("process.pid"), ex->call.pid);
    if (ex->ids.queue_us)
        cw_otlp_add_number(w, CW_STR("causeway.queue_us"), ex->ids.queue_us);
    if (is_error)
        cw_otlp_add_text(w, CW_STR("error.type"), type);
    cw_span_close(ex->call.tracer);
}

void cw_call_span_end(const cw_exchange *ex, const cw_outcome *outcome)
{
    if (CW_LIKELY(!ex->span.is_on))
        return;
    bool has_failed = outcome && outcome->kind == CW_OUTCOME_FAILED;
    if (cw_span_is_kept(ex->call.tracer, &ex->span, has_failed))
        record(ex, outcome);
}
