/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp.c - one address for both eras of the protocol.
 *
 * The body decides: a request whose params._meta claims a protocol version is a
 * modern one, everything else is legacy. A header never changes the era (proxies
 * strip headers), but one that contradicts the body is an error.
 */
#include "door/mcp/mcp.h"

#include <stdio.h>

#include "config/toolset_path.h"
#include "door/authenticate.h"
#include "door/browser.h"
#include "door/mcp/elicit.h"
#include "door/mcp/mcp_int.h"
#include "json/id_scan.h"
#include "metrics/metrics.h"

/* ---- refusals before the message is read ---- */

/* The id of the request; .p is NULL: none. It lives as long as the scanner. */
static cw_str scan_id(cw_json_id_scan *scan, cw_str body)
{
    cw_json_id_scan_init(scan);
    cw_json_id_scan_add(scan, body);
    return cw_json_id_scan_end(scan);
}

/* An error with the id of the request, else a sentence. */
static void write_refusal(cw_http_req *req, cw_str text, cw_http_response *answer)
{
    cw_arena *arena = cw_http_req_arena(req);
    cw_json_id_scan scan;
    cw_str id = scan_id(&scan, cw_http_req_body(req)), body = {NULL, 0};
    if (id.p) {
        cw_buf b;
        cw_buf_init(&b, CW_BUF_MAX);
        cw_rpc_error(&b, CW_CHALLENGE_CODE, text, CW_STR(""), id);
        body = cw_rpc_batch_keep(arena, &b);
    }
    answer->body = body.p ? body : cw_door_sentence(arena, text);
    answer->type = body.p ? CW_STR("") : CW_RESPONDER_PLAIN;
}

const cw_auth_error_bodies cw_mcp_auth_error_bodies = {
    .is_endpoint = true,
    .door = "mcp",
    .wrong = CW_STR_INIT("Invalid credentials"),
    .clear_text = CW_STR_INIT("Passwords and sessions are only taken over encrypted connections"),
    .too_many = CW_STR_INIT("Too many attempts to log in"),
    .unavailable = CW_STR_INIT("Logging in is not possible at the moment"),
    .forged = CW_STR_INIT(CW_BROWSER_FORGED),
    .write = write_refusal,
};

/* ---- errors ---- */

void cw_mcp_fail_unknown(const cw_mcp_request *r, const char *what, cw_str name)
{
    cw_buf text, data;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_buf_init(&data, CW_BUF_MAX);
    cw_operation_set_hidden(r->item);
    cw_buf_printf(&text, "Unknown %s: ", what);
    cw_buf_add(&text, cw_door_excerpt(name));
    cw_door_fail_with(r->item, 200, CW_RPC_PARAMS, &text, &data);
}

const char *cw_mcp_door_name(const cw_responder *responder)
{
    return responder->session ? "stdio" : "mcp";
}

void cw_mcp_audit_refusal(const cw_mcp_request *r, cw_str name, cw_str detail, cw_verdict verdict)
{
    cw_call_audit_refused(r->rl, &(cw_refusal_record){.view = r->view,
                                                      .door = cw_mcp_door_name(r->responder),
                                                      .peer = cw_responder_peer(r->responder),
                                                      .name = name,
                                                      .detail = detail,
                                                      .verdict = verdict});
}

cw_code cw_mcp_find(const cw_mcp_request *r, cw_call_lookup lookup, cw_call_found *ret)
{
    lookup.view = r->view;
    lookup.door = cw_mcp_door_name(r->responder);
    lookup.peer = cw_responder_peer_of;
    lookup.ctx = r->responder;
    lookup.arena = r->responder->arena;
    return cw_call_find(r->rl, &lookup, ret);
}

bool cw_mcp_may(const cw_mcp_request *r, bool discovers)
{
    cw_call_found found;
    if (CW_LIKELY(!cw_mcp_find(r, (cw_call_lookup){.discovers = discovers}, &found)))
        return true;
    cw_mcp_refuse(r->item, found.verdict, NULL);
    return false;
}

#define NO_LOGINS                                                                                  \
    " requires a login, and this server has no logins: its operator must configure accounts or "   \
    "an "                                                                                          \
    "authorization server."

bool cw_mcp_leads_nowhere(const cw_runtime_loop *rl, const cw_responder *responder,
                          cw_verdict verdict)
{
    return !responder->session && !cw_runtime_has_logins(rl) &&
           (verdict == CW_VERDICT_NEEDS_LOGIN || verdict == CW_VERDICT_NEEDS_SCOPES);
}

void cw_mcp_refuse(cw_rpc_item *item, cw_verdict verdict, const cw_requirements *needs)
{
    const cw_rpc_batch *batch = item->batch;
    if (cw_mcp_leads_nowhere(batch->opts.rl, batch->responder, verdict))
        cw_door_reply_error(item, &(cw_door_error){.status = 200,
                                                   .code = CW_CHALLENGE_CODE,
                                                   .message = CW_STR("This request" NO_LOGINS)});
    else
        cw_door_refuse(item, verdict, needs);
}

bool cw_mcp_has_no_login(const cw_runtime_loop *rl, const cw_responder *responder)
{
    return responder->session || !cw_runtime_has_logins(rl);
}

const char *cw_mcp_explain_no_login(const cw_runtime_loop *rl, const cw_responder *responder)
{
    if (!cw_mcp_has_no_login(rl, responder))
        return NULL;
    return responder->session
               ? "This tool requires a login or scopes that this connection lacks: start causeway "
                 "stdio with an account or a token that has them."
               : "This tool" NO_LOGINS;
}

bool cw_mcp_challenge_stranger(const cw_mcp_request *r)
{
    bool is_stranger = cw_caller_is_anonymous(cw_view_caller(r->view)) &&
                       !cw_mcp_has_no_login(r->rl, r->responder) && !cw_mcp_sees_anything(r->view);
    /* The catalogue may still have something for this caller. */
    bool may_see = cw_runtime_settings_of(r->rl)->is_loading &&
                   cw_view_discover_verdict(r->view) == CW_VERDICT_ALLOW;
    if (!is_stranger || may_see)
        return false;
    cw_mcp_audit_refusal(r, CW_STR(""), CW_STR(""), CW_VERDICT_NEEDS_LOGIN);
    cw_door_refuse(r->item, CW_VERDICT_NEEDS_LOGIN, NULL);
    return true;
}

/* ---- one message ---- */

static const cw_json *meta_of(const cw_json *params, cw_str name)
{
    return cw_json_get(cw_json_get(params, CW_STR("_meta")), name);
}

const cw_json *cw_mcp_string(const cw_json *object, cw_str name)
{
    const cw_json *v = cw_json_get(object, name);
    return cw_json_is(v, CW_JSON_STRING) ? v : NULL;
}

void cw_mcp_fail_method(const cw_mcp_request *r)
{
    cw_buf text, data;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_buf_init(&data, CW_BUF_MAX);
    cw_buf_add(&text, CW_STR("Method not found: "));
    cw_buf_add(&text, cw_door_excerpt(r->method));
    cw_door_fail_with(r->item, r->era->unknown_status, CW_RPC_METHOD, &text, &data);
}

/* The version that the message claims, or that of its session; the client, if it is named. */
static void count_message(const cw_mcp_request *r)
{
    const cw_json *claim = r->meta.claim, *info = r->meta.client;
    if (!claim) { /* only initialize has them */
        claim = cw_json_get(r->params, CW_STR("protocolVersion"));
        info = info ? info : cw_json_get(r->params, CW_STR("clientInfo"));
    }
    const cw_json *name = cw_mcp_string(info, CW_STR("name"));
    cw_str version = cw_json_is(claim, CW_JSON_STRING) ? cw_json_text(claim) : r->session->version;
    uint32_t protocol = cw_metrics_value(CW_METRIC_MCP_MESSAGES, 0, version);
    cw_ids *ids = cw_ids_current();
    r->item->op.is_measured = true;
    cw_metrics_count(CW_METRIC_MCP_MESSAGES, protocol, r->responder->session != NULL, 0);
    uint32_t client = name ? cw_metrics_value(CW_METRIC_MCP_CLIENTS, 0, cw_json_text(name)) : 0;
    if (name)
        cw_metrics_count(CW_METRIC_MCP_CLIENTS, client, 0, 0);
    if (ids) {
        ids->protocol = (uint8_t)(protocol + 1);
        ids->client = name ? (uint8_t)(client + 1) : 0;
    }
}

void cw_mcp_dispatch(const cw_mcp_request *r)
{
    if (cw_metrics_is_on())
        count_message(r);
    for (size_t i = 0; i < r->era->n_methods; i++) {
        if (cw_str_eq(r->era->methods[i].name, r->method)) {
            r->era->methods[i].run(r);
            return;
        }
    }
    cw_mcp_fail_method(r);
}

typedef enum kind { INVALID, REQUEST, NOTIFICATION, RESPONSE } kind;

static bool is_id(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_STRING) || cw_json_is_integer(v);
}

/* Each object of a request is walked once: most of what a list costs is finding names. */
static void read_envelope(cw_mcp_envelope *ret, const cw_json *meta)
{
    *ret = (cw_mcp_envelope){0};
    if (!cw_json_is(meta, CW_JSON_OBJECT))
        return;
    for (const cw_json *k = cw_json_first(meta); k; k = cw_json_next_key(k)) {
        const cw_json *v = cw_json_value(k);
        if (cw_json_key_eq(k, CW_STR(CW_MCP_CLAIM)))
            ret->claim = v;
        else if (cw_json_key_eq(k, CW_STR(CW_MCP_META("clientCapabilities"))))
            ret->capabilities = v;
        else if (cw_json_key_eq(k, CW_STR(CW_MCP_META("clientInfo"))))
            ret->client = v;
        else if (cw_json_key_eq(k, CW_STR(CW_MCP_META("logLevel"))))
            ret->level = v;
        else if (cw_json_key_eq(k, CW_STR("progressToken")))
            ret->token = v;
        else if (cw_json_key_eq(k, CW_STR("traceparent")))
            ret->traceparent = v;
        else if (cw_json_key_eq(k, CW_STR("tracestate")))
            ret->tracestate = v;
    }
}

static void read_params(cw_mcp_request *r, const cw_json *params)
{
    cw_mcp_members *m = &r->members;
    const cw_json *meta = NULL;
    r->params = params;
    *m = (cw_mcp_members){0};
    const cw_json *first = cw_json_is(params, CW_JSON_OBJECT) ? cw_json_first(params) : NULL;
    for (const cw_json *k = first; k; k = cw_json_next_key(k)) {
        const cw_json *v = cw_json_value(k);
        if (cw_json_key_eq(k, CW_STR("_meta")))
            meta = v;
        else if (cw_json_key_eq(k, CW_STR("name")))
            m->name = v;
        else if (cw_json_key_eq(k, CW_STR("arguments")))
            m->arguments = v;
        else if (cw_json_key_eq(k, CW_STR("requestState")))
            m->state = v;
        else if (cw_json_key_eq(k, CW_STR("inputResponses")))
            m->responses = v;
        else if (cw_json_key_eq(k, CW_STR("cursor")))
            m->cursor = v;
    }
    read_envelope(&r->meta, meta);
}

/* The members of a message, each NULL when absent. */
typedef struct members {
    const cw_json *version, *method, *id, *params;
    bool is_answer; /* it has a result or an error */
} members;

static members read_message(const cw_json *v)
{
    members m = {0};
    const cw_json *first = cw_json_is(v, CW_JSON_OBJECT) ? cw_json_first(v) : NULL;
    for (const cw_json *k = first; k; k = cw_json_next_key(k)) {
        if (cw_json_key_eq(k, CW_STR("jsonrpc")))
            m.version = cw_json_value(k);
        else if (cw_json_key_eq(k, CW_STR("method")))
            m.method = cw_json_value(k);
        else if (cw_json_key_eq(k, CW_STR("params")))
            m.params = cw_json_value(k);
        else if (cw_json_key_eq(k, CW_STR("id")))
            m.id = cw_json_value(k);
        else if (cw_json_key_eq(k, CW_STR("result")) || cw_json_key_eq(k, CW_STR("error")))
            m.is_answer = true;
    }
    return m;
}

/* The kind of a message; *ret_problem describes an invalid one. */
static kind classify(const cw_json *v, cw_mcp_request *r, const char **ret_problem)
{
    members m = read_message(v);
    const cw_json *id = m.id;
    r->id = id && is_id(id) ? id : NULL;
    read_params(r, m.params);
    *ret_problem = "A message must be an object with jsonrpc \"2.0\" and a method";
    if (!cw_json_is(v, CW_JSON_OBJECT))
        return INVALID;
    if (r->id)
        r->item->id = cw_json_span(id);
    if (!cw_json_is(m.version, CW_JSON_STRING) || !cw_str_is(cw_json_text(m.version), "2.0"))
        return INVALID;
    if (!m.method && m.is_answer)
        return RESPONSE;
    if (!cw_json_is(m.method, CW_JSON_STRING))
        return INVALID;
    *ret_problem = "id must be a string or an integer";
    if (id && !r->id)
        return INVALID;
    *ret_problem = "params must be an object";
    if (r->params && !cw_json_is(r->params, CW_JSON_OBJECT))
        return INVALID;
    r->method = cw_json_text(m.method);
    return id ? REQUEST : NOTIFICATION;
}

/* A header of a modern version on a request without the modern envelope: never a silent fallback.
 */
static void fail_envelope(const cw_mcp_request *r)
{
    bool has_meta = cw_json_is(cw_json_get(r->params, CW_STR("_meta")), CW_JSON_OBJECT);
    cw_str missing = has_meta ? CW_STR("{\"envelope\":{\"missing\":[\"" CW_MCP_CLAIM "\"]}}")
                              : CW_STR("{\"envelope\":{\"missing\":[\"_meta\"]}}");
    cw_door_reply_error(
        r->item,
        &(cw_door_error){.status = 400,
                         .code = CW_RPC_PARAMS,
                         .message = CW_STR(
                             "Invalid params: the request lacks what its protocol version needs in "
                             "_meta"),
                         .data = missing});
}

/* Whether a version is unknown and newer than all legacy ones. */
static bool looks_modern(cw_str version)
{
    static const char form[] = "dddd-dd-dd";
    if (version.n != sizeof form - 1)
        return false;
    for (size_t i = 0; i < version.n; i++) {
        bool is_digit = version.p[i] >= '0' && version.p[i] <= '9';
        if (form[i] == 'd' ? !is_digit : version.p[i] != form[i])
            return false;
    }
    return cw_str_cmp(version, cw_mcp_legacy_version(0)) > 0;
}

static bool has_modern_header(const cw_responder *responder)
{
    cw_str header = cw_responder_header(responder, CW_STR("MCP-Protocol-Version"));
    return header.p && looks_modern(header);
}

/* Whether the envelope is complete and of a supported modern version. */
static bool has_envelope(const cw_mcp_envelope *meta)
{
    return cw_json_is(meta->claim, CW_JSON_STRING) && cw_mcp_is_modern(cw_json_text(meta->claim)) &&
           cw_json_is(meta->capabilities, CW_JSON_OBJECT);
}

/* A proxy may have trusted a header of a client that need not send any. */
static void run_legacy(cw_mcp_request *r)
{
    if (cw_mcp_check_sent_headers(r))
        cw_mcp_run_legacy(r);
}

static void route(cw_mcp_request *r)
{
    bool is_handshake = cw_str_is(r->method, "initialize") && !has_envelope(&r->meta);
    if (is_handshake && has_modern_header(r->responder)) {
        cw_door_reply_error(
            r->item,
            &(cw_door_error){
                .status = 400,
                .code = CW_MCP_HEADER,
                .message = CW_STR("MCP-Protocol-Version names a version without initialize")});
    } else if (r->meta.claim && !is_handshake) {
        r->era = &cw_mcp_modern;
        if (!r->era->detaches)
            cw_rpc_batch_cancel_on_disconnect(r->item->batch);
        cw_mcp_run_modern(r);
    } else if (has_modern_header(r->responder)) {
        fail_envelope(r);
    } else {
        run_legacy(r);
    }
}

static void handle_legacy_change(cw_mcp_request *r, const cw_json *v)
{
    const cw_json *id = cw_json_get(r->params, CW_STR("requestId"));
    cw_mcp_session session;
    if (!cw_mcp_enter_session(r, &session))
        return;
    r->session = &session;
    if (!r->method.p)
        cw_mcp_elicit_answer(r, v);
    else if (cw_str_is(r->method, "notifications/cancelled") && id && is_id(id) && session.is_named)
        cw_mcp_cancel(r, id);
    cw_rpc_item_no_reply(r->item);
}

/* A message without an answer. Modern clients send none over HTTP, also with a session header: they
 * cancel by disconnecting. */
static void handle_notification(cw_mcp_request *r, const cw_json *v)
{
    bool is_modern = r->meta.claim || has_modern_header(r->responder);
    r->item->id = (cw_str){NULL, 0};
    if (is_modern && !r->responder->session)
        cw_rpc_item_no_reply(r->item);
    else if (cw_mcp_check_sent_headers(r))
        handle_legacy_change(r, v);
}

static void begin_operation(const cw_mcp_request *r)
{
    cw_operation_begin(r->item, &(cw_operation_start){.kind = CW_OPERATION_MCP,
                                                      .door = cw_mcp_door_name(r->responder),
                                                      .method = r->method,
                                                      .traceparent = r->meta.traceparent,
                                                      .tracestate = r->meta.tracestate});
}

static void run(cw_mcp_request *r, const cw_json *v, kind what)
{
    if (what != RESPONSE)
        begin_operation(r);
    if (what != REQUEST)
        handle_notification(r, v);
    else if (r->item->batch->opts.is_batch)
        run_legacy(r);
    else
        route(r);
}

static void take(cw_mcp_request *r, const cw_json *v)
{
    const char *problem;
    kind what = classify(v, r, &problem);
    if (what == INVALID) {
        cw_door_fail(r->item, 400, CW_RPC_INVALID, problem);
        return;
    }
    if (CW_LIKELY(!r->item->batch->opts.is_batch)) {
        run(r, v, what);
        return;
    }
    /* Each message of a batch has a trace of its own. */
    cw_ids *outer = cw_ids_current();
    cw_ids ids = outer ? *outer : (cw_ids){0};
    cw_ids_enter(&ids);
    run(r, v, what);
    cw_ids_leave(outer);
}

/* A client of which nothing is known. */
static const cw_mcp_session unknown_client = {.level = CW_LOG_OFF};

/* ---- the request ---- */

static const cw_str no_id = {NULL, 0};

/* The version of the header, else that of the session. */
static const char *check_batch(const cw_responder *responder, const cw_mcp_session *session,
                               const cw_json *list, uint32_t most, char text[64])
{
    cw_str version = cw_responder_header(responder, CW_STR("MCP-Protocol-Version"));
    if (!version.p && (session->version.n || responder->session))
        version = session->version; /* of lines it is not assumed before the handshake */
    if (!cw_mcp_allows_batch(version))
        return "This protocol version has no batches";
    if (cw_json_count(list) == 0)
        return "A batch must not be empty";
    if (cw_json_count(list) > most) {
        snprintf(text, 64, "A batch has at most %u messages", most);
        return text;
    }
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) {
        if (meta_of(cw_json_get(v, CW_STR("params")), CW_STR(CW_MCP_CLAIM)))
            return "This protocol version has no batches";
    }
    return NULL;
}

static void take_batch(cw_mcp *door, cw_responder *responder, cw_rpc_batch_opts *opts,
                       const cw_json *list)
{
    cw_mcp_session session;
    opts->is_batch = true;
    opts->n = cw_json_count(list);
    if (!cw_mcp_session_open(door, responder, opts->rl, opts->view, &session)) {
        cw_door_fail_to(responder, &cw_door_mcp, no_id, 404, CW_MCP_SESSION, "Session not found");
        return;
    }
    if (cw_mcp_contradicts(responder, &session)) {
        cw_door_fail_to(responder, &cw_door_mcp, no_id, 400, CW_MCP_TRANSPORT, CW_MCP_CONTRADICTS);
        return;
    }
    char text[64];
    const char *problem =
        check_batch(responder, &session, list, cw_runtime_config(opts->rl)->limits.batch, text);
    if (problem) {
        cw_door_fail_to(responder, &cw_door_mcp, no_id, 400, CW_RPC_INVALID, problem);
        return;
    }
    cw_rpc_batch *batch = cw_rpc_batch_new(responder, opts);
    if (!batch)
        return;
    cw_mcp_request r = {.door = door,
                        .rl = opts->rl,
                        .view = opts->view,
                        .responder = responder,
                        .era = &cw_mcp_legacy,
                        .item = batch->items};
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v), r.item++) {
        r.session = &session;
        r.method = (cw_str){NULL, 0};
        take(&r, v);
    }
    cw_rpc_batch_finish(batch);
}

static void take_one(cw_mcp *door, cw_responder *responder, cw_rpc_batch_opts *opts,
                     const cw_json *message)
{
    opts->n = 1;
    cw_rpc_batch *batch = cw_rpc_batch_new(responder, opts);
    if (!batch)
        return;
    cw_mcp_request r = {.door = door,
                        .rl = opts->rl,
                        .view = opts->view,
                        .responder = responder,
                        .session = &unknown_client,
                        .era = &cw_mcp_legacy,
                        .item = batch->items};
    take(&r, message);
}

void cw_mcp_receive(cw_mcp *door, cw_responder *responder, cw_runtime_loop *rl, cw_view *view,
                    cw_str body)
{
    const cw_json *root;
    CW_UNINIT cw_err err;
    cw_code rc = cw_json_read(body, NULL, responder->arena, &root, NULL, &err);
    if (rc == CW_NOMEM) {
        cw_door_fail_static(responder, &cw_door_mcp);
        return;
    }
    if (rc) {
        cw_door_fail_to(responder, &cw_door_mcp, no_id, 400, CW_RPC_PARSE, err.msg);
        return;
    }
    cw_rpc_batch_opts opts = {.rl = rl,
                              .view = view,
                              .none_status = 202,
                              /* Until it claims to be modern. A client of standard input that is
                               * gone does not come back. */
                              .detaches = cw_mcp_legacy.detaches && !responder->session,
                              .form = &cw_door_mcp};
    if (cw_json_is(root, CW_JSON_ARRAY))
        take_batch(door, responder, &opts, root);
    else
        take_one(door, responder, &opts, root);
}

static void fail_media_type(cw_responder *responder, cw_str body)
{
    cw_json_id_scan scan;
    cw_door_fail_to(responder, &cw_door_mcp, scan_id(&scan, body), 415, CW_MCP_TRANSPORT,
                    "Content-Type must be application/json");
}

/* The same for every caller: the names of toolsets are no secret. */
static void fail_address(cw_http_req *req)
{
    cw_responder *responder = cw_responder_of(req);
    cw_json_id_scan scan;
    if (!responder)
        cw_door_fail_static_all(req, &cw_door_mcp);
    else
        cw_door_fail_to(responder, &cw_door_mcp, scan_id(&scan, cw_http_req_body(req)), 404,
                        CW_MCP_TRANSPORT, "There is no toolset at this address");
}

/* The name of a toolset is the variable part of the route. */
static bool has_toolset(const cw_http_req *req)
{
    return cw_http_req_param(req).n > 0;
}

cw_view *cw_mcp_view_at(const cw_mcp *door, cw_http_req *req, cw_runtime_loop *rl, cw_view *view)
{
    cw_config_toolset_path at;
    if (CW_LIKELY(!has_toolset(req)) ||
        !cw_config_toolset_path_parse(cw_http_req_path(req), cw_str_from(door->path), &at))
        return view;
    const cw_toolset *toolset =
        cw_snapshot_find_toolset(cw_view_snapshot(view), at.name, at.is_read_only);
    cw_caller *caller = cw_runtime_is_anonymous(rl, view) ? NULL : cw_view_caller(view);
    cw_view *narrow = toolset ? cw_runtime_view_in(rl, caller, toolset) : NULL;
    if (!toolset)
        fail_address(req);
    else if (!narrow)
        cw_door_fail_static_all(req, &cw_door_mcp);
    return narrow;
}

static void on_identified(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    cw_responder *responder = cw_responder_of(req);
    if (!responder)
        cw_door_fail_static_all(req, &cw_door_mcp);
    else if (!(view = cw_mcp_view_at(self, req, rl, view)))
        return;
    else if (!cw_rpc_is_json(req))
        fail_media_type(responder, cw_http_req_body(req));
    else
        cw_mcp_receive(self, responder, rl, view, cw_http_req_body(req));
}

bool cw_mcp_is_address(const cw_mcp *door, cw_http_req *req)
{
    if (CW_LIKELY(!has_toolset(req)))
        return true;
    cw_runtime_loop *rl = cw_runtime_at(door->runtime, cw_http_req_loop(req));
    return cw_mcp_view_at(door, req, rl, cw_runtime_anonymous(rl)) != NULL;
}

static void on_post(cw_http_req *req, void *self)
{
    cw_mcp *door = self;
    if (cw_mcp_is_address(door, req))
        cw_authenticate(req, door->runtime, &cw_mcp_auth_error_bodies, on_identified, door);
}

/* The same endpoint at the addresses of toolsets. */
static cw_code add_toolset_routes(cw_router *router, cw_mcp *door)
{
    static const char *const ends[CW_MCP_TOOLSET_PATHS] = {"", "/", CW_CONFIG_TOOLSET_READ_ONLY,
                                                           CW_CONFIG_TOOLSET_READ_ONLY "/"};
    cw_code rc = CW_OK;
    for (size_t i = 0; i < CW_MCP_TOOLSET_PATHS && !rc; i++) {
        char *path = door->toolset_paths[i];
        snprintf(path, sizeof door->toolset_paths[i], "%s" CW_CONFIG_TOOLSET_PATH "{name}%s",
                 door->path, ends[i]);
        rc = cw_router_add(router, CW_HTTP_POST, path, on_post, door);
        if (!rc)
            rc = cw_router_add(router, CW_HTTP_GET, path, cw_mcp_on_get, door);
        if (!rc)
            rc = cw_router_add(router, CW_HTTP_DELETE, path, cw_mcp_on_delete, door);
        cw_router_set_protocol(router, path, &cw_mcp_protocol, door);
    }
    return rc;
}

cw_code cw_mcp_add_routes(cw_router *router, cw_mcp *door, cw_str path)
{
    if (path.n > CW_MCP_PATH_MAX)
        return CW_LIMIT;
    snprintf(door->path, sizeof door->path, "%.*s", CW_STR_ARG(path));
    snprintf(door->slash_path, sizeof door->slash_path, "%s/", door->path);
    snprintf(door->card_path, sizeof door->card_path, "%s/server-card", door->path);
    cw_code rc = add_toolset_routes(router, door);
    if (rc)
        return rc;
    const struct {
        cw_http_method method;
        const char *path;
        cw_http_handler handler;
    } routes[] = {
        {CW_HTTP_POST, door->path, on_post},
        {CW_HTTP_GET, door->path, cw_mcp_on_get},
        {CW_HTTP_DELETE, door->path, cw_mcp_on_delete},
        {CW_HTTP_POST, door->slash_path, on_post},
        {CW_HTTP_GET, door->slash_path, cw_mcp_on_get},
        {CW_HTTP_DELETE, door->slash_path, cw_mcp_on_delete},
        /* Clients that were given the address of the list. */
        {CW_HTTP_POST, "/mcp/tools/list", on_post},
        {CW_HTTP_GET, door->card_path, cw_mcp_on_card},
        {CW_HTTP_GET, "/.well-known/mcp.json", cw_mcp_on_wellknown},
    };
    for (size_t i = 0; i < CW_COUNT(routes); i++) {
        rc = cw_router_add(router, routes[i].method, routes[i].path, routes[i].handler, door);
        if (rc)
            return rc;
    }
    cw_router_open(router, door->card_path);
    cw_router_set_protocol(router, door->path, &cw_mcp_protocol, door);
    cw_router_set_protocol(router, door->slash_path, &cw_mcp_protocol, door);
    return CW_OK;
}
