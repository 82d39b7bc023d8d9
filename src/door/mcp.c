/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp.c - one address for both eras of the protocol.
 *
 * The body decides: a request whose params._meta claims a protocol version is a
 * modern one, everything else is legacy. A header never changes the era (proxies
 * strip headers), but one that contradicts the body is an error.
 */
#include "door/mcp.h"

#include <stdio.h>

#include "door/browser.h"
#include "door/identify.h"
#include "door/mcp_ask.h"
#include "door/mcp_int.h"
#include "door/negotiate.h"

#define REFUSED(text)                                                                              \
    CW_STR_INIT("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32000,\"message\":\"" text "\"}}")

const cw_identify_texts cw_mcp_identify_texts = {
    .is_endpoint = true,
    .door = "mcp",
    .wrong = REFUSED("Invalid credentials"),
    .clear_text = REFUSED("Passwords and sessions are only taken over encrypted connections"),
    .too_many = REFUSED("Too many attempts to log in"),
    .unavailable = REFUSED("Logging in is not possible at the moment"),
    .forged = REFUSED(CW_BROWSER_FORGED),
};

/* ---- errors ---- */

void cw_mcp_error(cw_turn_item *item, unsigned status, int64_t code, cw_str message, cw_str data)
{
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_message_error(&b, code, message, data, item->id);
    cw_turn_answer(item, status, &b, CW_STR(""));
}

void cw_mcp_fail(cw_turn_item *item, unsigned status, int64_t code, const char *text)
{
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_message_fail(&b, code, cw_str_from(text), item->id);
    cw_turn_answer(item, status, &b, CW_STR(""));
}

void cw_mcp_error_of(cw_turn_item *item, unsigned status, int64_t code, cw_buf *message,
                     cw_buf *data)
{
    if (message->code || data->code)
        cw_mcp_fail(item, 500, CW_RPC_INTERNAL, "out of memory");
    else
        cw_mcp_error(item, status, code, cw_buf_str(message), cw_buf_str(data));
    cw_buf_done(message);
    cw_buf_done(data);
}

void cw_mcp_fail_unknown(const cw_mcp_request *r, const char *what, cw_str name)
{
    cw_buf text, data;
    cw_buf_init(&text, SIZE_MAX / 2);
    cw_buf_init(&data, SIZE_MAX / 2);
    cw_buf_printf(&text, "Unknown %s: ", what);
    cw_buf_add(&text, name);
    cw_mcp_error_of(r->item, 200, CW_RPC_PARAMS, &text, &data);
}

const char *cw_mcp_door_name(const cw_port *port)
{
    return port->session ? "stdio" : "mcp";
}

void cw_mcp_note(const cw_turn_item *item, cw_str name, cw_str detail, cw_verdict verdict)
{
    const cw_turn *turn = item->turn;
    cw_call_note(turn->opts.bl, &(cw_call_refused){.view = turn->opts.view,
                                                   .door = cw_mcp_door_name(turn->port),
                                                   .peer = cw_port_peer(turn->port),
                                                   .name = name,
                                                   .detail = detail,
                                                   .verdict = verdict});
}

void cw_mcp_refuse_unknown(const cw_mcp_request *r, const char *what, cw_str name)
{
    cw_mcp_note(r->item, name, CW_STR(""), CW_VERDICT_HIDDEN);
    cw_mcp_fail_unknown(r, what, name);
}

void cw_mcp_fail_often(cw_turn_item *item, const cw_call_refusal *refusal)
{
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_message_often(&b, refusal->err.msg, refusal->retry_s, item->id);
    item->retry_s = refusal->retry_s;
    cw_turn_answer(item, 429, &b, CW_STR(""));
}

void cw_mcp_refuse(cw_turn_item *item, cw_verdict verdict, const cw_needs *needs)
{
    const cw_turn_opts *opts = &item->turn->opts;
    /* Of a method's own needs the call has told. */
    if (!needs)
        cw_mcp_note(item, CW_STR(""), CW_STR(""), verdict);
    cw_port *port = item->turn->port;
    cw_refused refused = {.bl = opts->bl,
                          .req = port->session ? NULL : cw_port_req(port),
                          .view = opts->view,
                          .verdict = verdict,
                          .needs = needs,
                          .names_all = true};
    cw_refusal refusal;
    cw_buf b;
    if (cw_refusal_make(&refused, item->turn->port->arena, &refusal)) {
        cw_mcp_fail(item, 500, CW_RPC_INTERNAL, "out of memory");
        return;
    }
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_message_error(&b, CW_REFUSAL_CODE, cw_str_from(refusal.message), refusal.data, item->id);
    cw_turn_answer(item, refusal.status, &b, refusal.challenge);
}

void cw_mcp_fail_all(cw_port *port, unsigned status, int64_t code, const char *text)
{
    cw_buf b;
    cw_buf_init(&b, 4096);
    cw_message_fail(&b, code, cw_str_from(text), (cw_str){NULL, 0});
    cw_str body = b.code ? (cw_str){NULL, 0} : cw_arena_dup_str(port->arena, cw_buf_str(&b));
    cw_buf_done(&b);
    cw_port_reply(port, &(cw_port_answer){.status = body.p ? status : 500,
                                          .body = body.p ? body : CW_STR(CW_MCP_FAILURE)});
}

/* ---- one message ---- */

const cw_language *cw_mcp_language(const cw_port *port, const cw_turn_opts *opts)
{
    return cw_negotiate_language(cw_port_header(port, CW_STR("Accept-Language")),
                                 cw_bridge_settings_of(opts->bl)->translations,
                                 cw_view_caller(opts->view));
}

const cw_json *cw_mcp_meta(const cw_json *params, cw_str name)
{
    return cw_json_get(cw_json_get(params, CW_STR("_meta")), name);
}

const cw_json *cw_mcp_string(const cw_json *object, cw_str name)
{
    const cw_json *v = cw_json_get(object, name);
    return cw_json_is(v, CW_JSON_STRING) ? v : NULL;
}

void cw_mcp_dispatch(const cw_mcp_request *r)
{
    for (size_t i = 0; i < r->era->n_methods; i++) {
        if (cw_str_eq(r->era->methods[i].name, r->method)) {
            r->era->methods[i].run(r);
            return;
        }
    }
    cw_mcp_fail(r->item, r->era->unknown_status, CW_RPC_METHOD, NULL);
}

typedef enum kind { INVALID, REQUEST, NOTIFICATION, RESPONSE } kind;

static bool is_id(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_STRING) || cw_json_is_integer(v);
}

/* Each object of a request is walked once: most of what a list costs is finding names. */
static cw_mcp_envelope read_envelope(const cw_json *params)
{
    enum { CLAIM, CAPABILITIES, CLIENT, LEVEL, TOKEN, COUNT };
    static const cw_str names[COUNT] = {
        [CLAIM] = CW_STR_INIT(CW_MCP_CLAIM),
        [CAPABILITIES] = CW_STR_INIT(CW_MCP_META("clientCapabilities")),
        [CLIENT] = CW_STR_INIT(CW_MCP_META("clientInfo")),
        [LEVEL] = CW_STR_INIT(CW_MCP_META("logLevel")),
        [TOKEN] = CW_STR_INIT("progressToken"),
    };
    const cw_json *found[COUNT];
    cw_json_get_all(cw_json_get(params, CW_STR("_meta")), names, COUNT, found);
    return (cw_mcp_envelope){.claim = found[CLAIM],
                             .capabilities = found[CAPABILITIES],
                             .client = found[CLIENT],
                             .level = found[LEVEL],
                             .token = found[TOKEN]};
}

/* What a message is; *ret_problem says what is wrong with it. */
static kind classify(const cw_json *v, cw_mcp_request *r, const char **ret_problem)
{
    enum { VERSION, METHOD, ID, PARAMS, RESULT, ERROR, COUNT };
    static const cw_str names[COUNT] = {
        [VERSION] = CW_STR_INIT("jsonrpc"), [METHOD] = CW_STR_INIT("method"),
        [ID] = CW_STR_INIT("id"),           [PARAMS] = CW_STR_INIT("params"),
        [RESULT] = CW_STR_INIT("result"),   [ERROR] = CW_STR_INIT("error"),
    };
    const cw_json *found[COUNT];
    cw_json_get_all(v, names, COUNT, found);
    const cw_json *version = found[VERSION], *method = found[METHOD], *id = found[ID];
    bool is_answer = found[RESULT] || found[ERROR];
    r->params = found[PARAMS];
    r->id = id && is_id(id) ? id : NULL;
    r->meta = read_envelope(r->params);
    *ret_problem = "A message must be an object with jsonrpc \"2.0\" and a method";
    if (!cw_json_is(v, CW_JSON_OBJECT))
        return INVALID;
    if (r->id)
        r->item->id = cw_json_span(id);
    if (!cw_json_is(version, CW_JSON_STRING) || !cw_str_is(cw_json_text(version), "2.0"))
        return INVALID;
    if (!method && is_answer)
        return RESPONSE;
    if (!cw_json_is(method, CW_JSON_STRING))
        return INVALID;
    *ret_problem = "id must be a string or an integer";
    if (id && !r->id)
        return INVALID;
    *ret_problem = "params must be an object";
    if (r->params && !cw_json_is(r->params, CW_JSON_OBJECT))
        return INVALID;
    r->method = cw_json_text(method);
    return id ? REQUEST : NOTIFICATION;
}

/* A header of a modern version on a request without the modern envelope: never a silent fallback.
 */
static void fail_envelope(const cw_mcp_request *r)
{
    bool has_meta = cw_json_is(cw_json_get(r->params, CW_STR("_meta")), CW_JSON_OBJECT);
    cw_str missing = has_meta ? CW_STR("{\"envelope\":{\"missing\":[\"" CW_MCP_CLAIM "\"]}}")
                              : CW_STR("{\"envelope\":{\"missing\":[\"_meta\"]}}");
    cw_mcp_error(r->item, 400, CW_RPC_PARAMS,
                 CW_STR("Invalid params: the request lacks what its protocol version needs in "
                        "_meta"),
                 missing);
}

static bool has_modern_header(const cw_port *port)
{
    cw_str header = cw_port_header(port, CW_STR("MCP-Protocol-Version"));
    return header.p && cw_mcp_looks_modern(header);
}

static void route(cw_mcp_request *r)
{
    bool is_handshake = cw_str_is(r->method, "initialize") && !cw_mcp_has_envelope(r->params);
    if (is_handshake && has_modern_header(r->port)) {
        cw_mcp_error(r->item, 400, CW_MCP_HEADER,
                     CW_STR("MCP-Protocol-Version names a version without initialize"), CW_STR(""));
    } else if (r->meta.claim && !is_handshake) {
        r->era = &cw_mcp_modern;
        if (!r->era->detaches)
            cw_turn_attach(r->item->turn);
        cw_mcp_run_modern(r);
    } else if (has_modern_header(r->port)) {
        fail_envelope(r);
    } else {
        cw_mcp_run_legacy(r);
    }
}

static void take_legacy_news(cw_mcp_request *r, const cw_json *v)
{
    const cw_json *id = cw_json_get(r->params, CW_STR("requestId"));
    cw_mcp_session session;
    if (!cw_mcp_enter_session(r, &session))
        return;
    r->session = &session;
    if (!r->method.p)
        cw_mcp_ask_answer(r, v);
    else if (cw_str_is(r->method, "notifications/cancelled") && id && is_id(id) && session.is_named)
        cw_mcp_cancel(r, id);
    cw_turn_skip(r->item);
}

/* A message that is not answered. Modern ones say nothing to us over HTTP, whatever session
 * header they carry: clients of that era cancel by leaving, and have no answers to send. */
static void take_quietly(cw_mcp_request *r, const cw_json *v)
{
    bool is_modern = r->meta.claim || has_modern_header(r->port);
    r->item->id = (cw_str){NULL, 0};
    if (is_modern && !r->port->session)
        cw_turn_skip(r->item);
    else
        take_legacy_news(r, v);
}

static void take(cw_mcp_request *r, const cw_json *v)
{
    const char *problem;
    switch (classify(v, r, &problem)) {
    case INVALID:
        cw_mcp_fail(r->item, 400, CW_RPC_INVALID, problem);
        return;
    case NOTIFICATION:
    case RESPONSE:
        take_quietly(r, v);
        return;
    case REQUEST:
        break;
    }
    if (r->item->turn->opts.is_batch)
        cw_mcp_run_legacy(r);
    else
        route(r);
}

/* A client of which nothing is known. */
static const cw_mcp_session nobody = {.level = CW_LOG_OFF};

/* ---- the request ---- */

/* The header says which version it is, else what the session has agreed upon. */
static const char *check_batch(const cw_port *port, const cw_mcp_session *session,
                               const cw_json *list, uint32_t most, char text[64])
{
    cw_str version = cw_port_header(port, CW_STR("MCP-Protocol-Version"));
    if (!version.p && (session->version.n || port->session))
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
        if (cw_mcp_meta(cw_json_get(v, CW_STR("params")), CW_STR(CW_MCP_CLAIM)))
            return "This protocol version has no batches";
    }
    return NULL;
}

static void take_batch(cw_mcp *door, cw_port *port, cw_turn_opts *opts, const cw_json *list)
{
    cw_mcp_session session;
    opts->is_batch = true;
    opts->n = cw_json_count(list);
    if (!cw_mcp_session_open(door, port, opts->bl, opts->view, &session)) {
        cw_mcp_fail_all(port, 404, CW_MCP_SESSION, "Session not found");
        return;
    }
    if (cw_mcp_contradicts(port, &session)) {
        cw_mcp_fail_all(port, 400, CW_MCP_TRANSPORT, CW_MCP_CONTRADICTS);
        return;
    }
    char text[64];
    const char *problem =
        check_batch(port, &session, list, cw_bridge_settings_of(opts->bl)->batch, text);
    if (problem) {
        cw_mcp_fail_all(port, 400, CW_RPC_INVALID, problem);
        return;
    }
    cw_turn *turn = cw_turn_new(port, opts);
    if (!turn)
        return;
    cw_mcp_request r = {.door = door, .port = port, .era = &cw_mcp_legacy, .item = turn->items};
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v), r.item++) {
        r.session = &session;
        r.method = (cw_str){NULL, 0};
        take(&r, v);
    }
    cw_turn_settle(turn);
}

static void take_one(cw_mcp *door, cw_port *port, cw_turn_opts *opts, const cw_json *message)
{
    opts->n = 1;
    cw_turn *turn = cw_turn_new(port, opts);
    if (!turn)
        return;
    cw_mcp_request r = {
        .door = door, .port = port, .session = &nobody, .era = &cw_mcp_legacy, .item = turn->items};
    take(&r, message);
}

void cw_mcp_take(cw_mcp *door, cw_port *port, cw_bridge_loop *bl, cw_view *view, cw_str body)
{
    const cw_json *root;
    CW_UNINIT cw_err err;
    cw_code rc = cw_json_read(body, NULL, port->arena, &root, NULL, &err);
    if (rc == CW_NOMEM) {
        cw_port_reply(port, &(cw_port_answer){.status = 500, .body = CW_STR(CW_MCP_FAILURE)});
        return;
    }
    if (rc) {
        cw_mcp_fail_all(port, 400, CW_RPC_PARSE, err.msg);
        return;
    }
    cw_turn_opts opts = {.bl = bl,
                         .view = view,
                         .none_status = 202,
                         .detaches = cw_mcp_legacy.detaches, /* until it claims to be modern */
                         .failure = CW_STR(CW_MCP_FAILURE)};
    if (cw_json_is(root, CW_JSON_ARRAY))
        take_batch(door, port, &opts, root);
    else
        take_one(door, port, &opts, root);
}

static void on_identified(cw_http_req *req, cw_bridge_loop *bl, cw_view *view, void *self)
{
    cw_port *port = cw_port_of(req);
    if (!port)
        cw_turn_reply(req, 500, CW_STR(CW_MCP_FAILURE), CW_STR(""));
    else if (!cw_message_is_json(req))
        cw_mcp_fail_all(port, 415, CW_MCP_TRANSPORT, "Content-Type must be application/json");
    else
        cw_mcp_take(self, port, bl, view, cw_http_req_body(req));
}

static void on_post(cw_http_req *req, void *self)
{
    cw_mcp *door = self;
    cw_identify(req, door->bridge, &cw_mcp_identify_texts, on_identified, door);
}

cw_code cw_mcp_add_routes(cw_router *router, cw_mcp *door, cw_str path)
{
    if (path.n > CW_MCP_PATH_MAX)
        return CW_LIMIT;
    snprintf(door->path, sizeof door->path, "%.*s", CW_STR_ARG(path));
    snprintf(door->card_path, sizeof door->card_path, "%s/server-card", door->path);
    const struct {
        cw_http_method method;
        const char *path;
        cw_http_handler handler;
    } routes[] = {
        {CW_HTTP_POST, door->path, on_post},
        {CW_HTTP_GET, door->path, cw_mcp_on_get},
        {CW_HTTP_DELETE, door->path, cw_mcp_on_delete},
        /* Clients that were given the address of the list. */
        {CW_HTTP_POST, "/mcp/tools/list", on_post},
        {CW_HTTP_GET, door->card_path, cw_mcp_on_card},
        {CW_HTTP_GET, "/.well-known/mcp.json", cw_mcp_on_wellknown},
    };
    for (size_t i = 0; i < CW_COUNT(routes); i++) {
        cw_code rc =
            cw_router_add(router, routes[i].method, routes[i].path, routes[i].handler, door);
        if (rc)
            return rc;
    }
    cw_router_open(router, door->card_path);
    cw_router_set_ways(router, door->path, &cw_mcp_ways, door);
    return CW_OK;
}
