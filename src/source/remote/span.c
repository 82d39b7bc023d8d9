/* SPDX-License-Identifier: GPL-2.0-or-later */
/* span.c - the span of one attempt to call a service. */
#include "base/clock.h"
#include "base/digits.h"
#include "source/remote/remote_int.h"

#define ATTRS_MAX 10u

void cw_remote_span_init(cw_remote_span *s, const cw_source_call *call, cw_str tracestate)
{
    s->tracer = call->tracer;
    s->parent = call->ids ? *call->ids : (cw_ids){0};
    s->parent.tracestate = tracestate;
    s->span.is_on = false;
}

void cw_remote_span_begin(cw_remote_span *s, cw_upstream_req *req)
{
    if (CW_LIKELY(!s->parent.has_trace || !cw_trace_is_on(s->tracer)))
        return;
    cw_span_begin_child(s->tracer, &s->parent, cw_clock_ns(), &s->span);
    cw_trace_parent_format(&s->span.ids, s->traceparent);
    req->traceparent = cw_str_from(s->traceparent);
    req->tracestate = s->parent.tracestate;
}

/* error.type: empty where there was no error. */
static cw_str error_type(const cw_upstream_reply *reply, const cw_outcome *outcome,
                         char digits[CW_DIGITS_SIZE])
{
    static const cw_str ends[] = {
        [CW_CLIENT_CONNECT] = CW_STR_INIT("connect"),
        [CW_CLIENT_LOST] = CW_STR_INIT("lost"),
        [CW_CLIENT_GARBAGE] = CW_STR_INIT("protocol"),
        [CW_CLIENT_TOO_LARGE] = CW_STR_INIT("too_large"),
        [CW_CLIENT_SLOW] = CW_STR_INIT("timeout"),
        [CW_CLIENT_NOMEM] = CW_STR_INIT("out_of_memory"),
        [CW_CLIENT_REFUSED] = CW_STR_INIT("login"),
    };
    if (reply->end != CW_CLIENT_OK)
        return ends[reply->end];
    if (outcome && outcome->kind == CW_OUTCOME_ERROR)
        return cw_digits_i64(outcome->code, digits);
    if (reply->answer && reply->answer->status >= 400)
        return cw_digits_u64(reply->answer->status, digits);
    return outcome && outcome->kind == CW_OUTCOME_FAILED ? CW_STR("protocol") : CW_STR("");
}

static void record(const cw_remote_span *s, const cw_remote *r, cw_str method, uint32_t n_tries,
                   const cw_upstream_reply *reply, cw_str type, const cw_outcome *outcome)
{
    const cw_client_url *url = &r->service->url;
    char code[CW_DIGITS_SIZE];
    cw_span_attr attrs[ATTRS_MAX];
    size_t n = 0;
    attrs[n++] = CW_SPAN_TEXT("rpc.system.name", CW_STR("jsonrpc"));
    attrs[n++] = CW_SPAN_TEXT("rpc.method", method);
    attrs[n++] = CW_SPAN_TEXT("causeway.source", r->base.name);
    if (url->host.n || url->unix_path.n)
        attrs[n++] = CW_SPAN_TEXT("server.address", url->host.n ? url->host : url->unix_path);
    if (url->port)
        attrs[n++] = CW_SPAN_NUMBER("server.port", url->port);
    if (n_tries > 1)
        attrs[n++] = CW_SPAN_NUMBER("http.request.resend_count", n_tries - 1);
    if (outcome && outcome->kind == CW_OUTCOME_ERROR)
        attrs[n++] = CW_SPAN_TEXT("rpc.response.status_code", cw_digits_i64(outcome->code, code));
    if (reply && reply->answer && reply->answer->status)
        attrs[n++] = CW_SPAN_NUMBER("http.response.status_code", reply->answer->status);
    if (type.n)
        attrs[n++] = CW_SPAN_TEXT("error.type", type);
    if (!reply)
        attrs[n++] = CW_SPAN_TEXT("causeway.outcome", CW_STR("cancelled"));
    cw_span_end(s->tracer, &s->span,
                &(cw_span_report){.name = method,
                                  .kind = CW_SPAN_CLIENT,
                                  .end_ns = cw_clock_ns(),
                                  .attrs = attrs,
                                  .n_attrs = n,
                                  .is_error = type.n > 0});
}

void cw_remote_span_end(cw_remote_span *s, const cw_remote *r, cw_str method, uint32_t n_tries,
                        const cw_upstream_reply *reply, const cw_outcome *outcome)
{
    char digits[CW_DIGITS_SIZE];
    if (CW_LIKELY(!s->span.is_on))
        return;
    cw_str type = reply ? error_type(reply, outcome, digits) : CW_STR("");
    if (cw_span_is_kept(s->tracer, &s->span, type.n > 0))
        record(s, r, method, n_tries, reply, type, outcome);
    s->span.is_on = false;
}
