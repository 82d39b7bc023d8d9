/* SPDX-License-Identifier: GPL-2.0-or-later */
/* span.c - the span of one attempt to call a service. */
#include <netinet/in.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/digits.h"
#include "base/log.h"
#include "source/remote/remote_int.h"

#define META "{\"_meta\":{\"traceparent\":\""
#define STATE "\",\"tracestate\":\""

/* Whether params may have `_meta`, which is a param of the method then. */
static bool has_meta(cw_str params)
{
    static const char name[] = "\"_meta\"";
    return params.n && memmem(params.p, params.n, name, sizeof name - 1);
}

size_t cw_remote_span_room(const cw_remote *r, const cw_source_call *call, cw_str params,
                           cw_str tracestate)
{
    bool is_wanted = r->service->words.trace == CW_TRACE_PLACE_META && call->ids &&
                     call->ids->has_trace && cw_trace_is_on(call->tracer);
    bool is_object = params.n == 0 || params.p[0] == '{';
    if (CW_LIKELY(!is_wanted) || cw_dialect_is_mcp(r->service->protocol.dialect) || !is_object ||
        has_meta(params))
        return 0;
    return sizeof META + sizeof STATE + sizeof "\"},}" + CW_TRACE_PARENT_LEN + 2 * tracestate.n +
           params.n;
}

static char *put(char *to, cw_str text)
{
    memcpy(to, text.p, text.n);
    return to + text.n;
}

/* tracestate is printable ASCII. */
static char *put_escaped(char *to, cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '"' || text.p[i] == '\\')
            *to++ = '\\';
        *to++ = text.p[i];
    }
    return to;
}

cw_str cw_remote_span_params(const cw_remote_span *s, cw_str params)
{
    if (CW_LIKELY(!s->room) || !s->span.is_on)
        return params;
    cw_str state = s->parent.tracestate;
    cw_str members = params.n ? cw_str_trim(cw_str_make(params.p + 1, params.n - 1)) : CW_STR("}");
    char *to = put(s->room, CW_STR(META));
    to = put(to, cw_str_from(s->traceparent));
    if (state.n)
        to = put_escaped(put(to, CW_STR(STATE)), state);
    to = put(to, members.p[0] == '}' ? CW_STR("\"}") : CW_STR("\"},"));
    to = put(to, members);
    return cw_str_make(s->room, (size_t)(to - s->room));
}

void cw_remote_span_init(cw_remote_span *s, const cw_remote *r, const cw_source_call *call,
                         cw_str tracestate, char *room)
{
    s->tracer = call->tracer;
    s->place = r->service->words.trace;
    s->room = room;
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
    if (s->place != CW_TRACE_PLACE_AUTO)
        return;
    req->traceparent = cw_str_make(s->traceparent, CW_TRACE_PARENT_LEN);
    req->tracestate = s->parent.tracestate;
}

/* error.type: empty without an error. */
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

/* Add the address of the service, from the connection of the response. */
static void add_peer(cw_otlp_writer *w, const cw_client_response *answer)
{
    cw_address peer = {.len = 0};
    char host[INET6_ADDRSTRLEN];
    if (!answer || !cw_client_peer(answer, &peer))
        return;
    if (peer.sa.ss_family == AF_UNIX) {
        const char *path = ((const struct sockaddr_un *)&peer.sa)->sun_path;
        cw_otlp_add_text(w, CW_STR("network.peer.address"), cw_str_from(path));
        return;
    }
    cw_address_format_host(&peer, host, sizeof host);
    cw_otlp_add_text(w, CW_STR("network.peer.address"), cw_str_from(host));
    cw_otlp_add_number(w, CW_STR("network.peer.port"), cw_address_port(&peer));
}

static void record(const cw_remote_span *s, const cw_remote *r, cw_str method, uint32_t n_tries,
                   const cw_upstream_reply *reply, cw_str type, const cw_outcome *outcome)
{
    const cw_client_url *url = &r->service->url;
    char code[CW_DIGITS_SIZE];
    cw_otlp_writer *w = cw_span_open(s->tracer, &s->span,
                                     &(cw_span_report){.name = method,
                                                       .kind = CW_SPAN_CLIENT,
                                                       .end_ns = cw_clock_ns(),
                                                       .is_error = type.n > 0});
    if (!w)
        return;
    cw_otlp_add_text(w, CW_STR("rpc.system.name"), CW_STR("jsonrpc"));
    cw_otlp_add_text(w, CW_STR("rpc.method"), method);
    cw_otlp_add_text(w, CW_STR("causeway.source"), r->base.name);
    if (cw_str_is(r->service->config.dialect, "1.0"))
        cw_otlp_add_text(w, CW_STR("jsonrpc.protocol.version"), CW_STR("1.0"));
    cw_otlp_add_text(w, CW_STR("server.address"), url->host.n ? url->host : url->unix_path);
    if (url->port)
        cw_otlp_add_number(w, CW_STR("server.port"), url->port);
    add_peer(w, reply ? reply->answer : NULL);
    if (n_tries > 1)
        cw_otlp_add_number(w, CW_STR("http.request.resend_count"), n_tries - 1);
    if (outcome && outcome->kind == CW_OUTCOME_ERROR)
        cw_otlp_add_text(w, CW_STR("rpc.response.status_code"), cw_digits_i64(outcome->code, code));
    if (reply && reply->answer && reply->answer->status)
        cw_otlp_add_number(w, CW_STR("http.response.status_code"), reply->answer->status);
    cw_otlp_add_text(w, CW_STR("error.type"), type);
    if (!reply)
        cw_otlp_add_text(w, CW_STR("causeway.outcome"), CW_STR("cancelled"));
    cw_span_close(s->tracer);
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

void cw_remote_span_log(cw_remote_span *s, const cw_remote *r, cw_str method, uint32_t n_tries,
                        const cw_upstream_reply *reply)
{
    cw_ids *outer = cw_ids_enter(&s->parent);
    const cw_client_response *answer = reply ? reply->answer : NULL;
    if (!reply)
        cw_log(CW_LOG_DEBUG, "source", "request to the service", CW_KV("source", r->base.name),
               CW_KV("method", method), CW_KN("try", n_tries));
    else if (reply->end == CW_CLIENT_OK)
        cw_log(CW_LOG_DEBUG, "source", "response of the service", CW_KV("source", r->base.name),
               CW_KV("method", method), CW_KN("status", answer->status),
               CW_KN("bytes", answer->body.n));
    else
        cw_log(CW_LOG_DEBUG, "source", "no response of the service", CW_KV("source", r->base.name),
               CW_KV("method", method), CW_KV("why", cw_str_from(reply->why ? reply->why : "")));
    cw_ids_leave(outer);
}
