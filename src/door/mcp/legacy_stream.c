/* SPDX-License-Identifier: GPL-2.0-or-later */
/* legacy_stream.c - what a session of the handshake has beside its requests: a stream for what
 * nobody asked for (GET), an end (DELETE), and resources that it has subscribed to.
 */
#include "door/mcp/mcp_int.h"

/* ---- GET and DELETE ---- */

/* Whether the request may be for a session: the version of its header has them, and they are on. */
static bool has_sessions(const cw_http_req *req, const cw_runtime_loop *rl)
{
    cw_str version = cw_http_req_header(req, CW_STR("MCP-Protocol-Version"));
    return cw_runtime_settings_of(rl)->legacy_sessions && !(version.p && cw_mcp_is_modern(version));
}

static const char *methods_of(cw_http_req *req, void *self)
{
    const cw_mcp *door = self;
    const cw_runtime_loop *rl = cw_runtime_at(door->runtime, cw_http_req_loop(req));
    return has_sessions(req, rl) ? "GET, POST, DELETE, OPTIONS" : "POST, OPTIONS";
}

static void write_error(cw_buf *out, unsigned status, cw_str message)
{
    cw_rpc_error(out, status < 500 ? CW_MCP_TRANSPORT : CW_RPC_INTERNAL, message, CW_STR(""),
                 (cw_str){NULL, 0});
}

const cw_route_protocol cw_mcp_protocol = {write_error, methods_of};

/* The session of a request without a message, in the arena. NULL: the request is answered. */
static cw_mcp_session *open_session(cw_mcp *door, cw_http_req *req, cw_responder *responder,
                                    cw_runtime_loop *rl, const cw_view *view)
{
    cw_str version = cw_responder_header(responder, CW_STR("MCP-Protocol-Version"));
    cw_mcp_session *session = cw_arena_alloc(responder->arena, sizeof *session);
    if (!session)
        cw_responder_reply_http(req, &(cw_response){.status = 500, .body = cw_door_mcp.failure});
    else if (!has_sessions(req, rl))
        cw_http_reply_not_allowed(req);
    else if (version.p && !cw_mcp_is_legacy(version))
        cw_door_fail_to(responder, &cw_door_mcp, 400, CW_MCP_TRANSPORT,
                        "Unsupported protocol version");
    else if (!cw_responder_header(responder, CW_STR("Mcp-Session-Id")).p)
        cw_door_fail_to(responder, &cw_door_mcp, 400, CW_MCP_TRANSPORT,
                        "Mcp-Session-Id is missing");
    else if (!cw_mcp_session_open(door, responder, rl, view, session))
        cw_door_fail_to(responder, &cw_door_mcp, 404, CW_MCP_SESSION, "Session not found");
    else if (cw_mcp_contradicts(responder, session))
        cw_door_fail_to(responder, &cw_door_mcp, 400, CW_MCP_TRANSPORT, CW_MCP_CONTRADICTS);
    else
        return session;
    return NULL;
}

/* Who may list nothing has no stream. Not 401: clients open one by themselves, give up silently
 * where it is refused so, and would never hear of the challenge that their next request gets. */
static void decline(cw_http_req *req)
{
    static const cw_http_header headers[] = {
        {CW_STR_INIT("Allow"), CW_STR_INIT("POST, DELETE, OPTIONS")},
        {CW_STR_INIT("Cache-Control"), CW_STR_INIT("no-store")},
    };
    cw_http_reply(req,
                  &(cw_http_response){.status = 405,
                                      .body = CW_STR("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":"
                                                     "-32000,\"message\":\"There is no stream "
                                                     "for this caller\"}}"),
                                      .headers = headers,
                                      .n_headers = CW_COUNT(headers)});
}

static void open_stream(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    cw_responder *responder = cw_responder_of(req);
    cw_mcp_session *session = NULL;
    cw_call_found found;
    if (!responder)
        cw_responder_reply_http(req, &(cw_response){.status = 500, .body = cw_door_mcp.failure});
    else
        session = open_session(self, req, responder, rl, view);
    if (!session)
        return;
    cw_call_lookup lookup = {.view = view,
                             .door = cw_mcp_door_name(responder),
                             .peer = cw_responder_peer_of,
                             .ctx = responder,
                             .discovers = true};
    if (cw_call_find(rl, &lookup, &found)) {
        decline(req);
        return;
    }
    if (!responder->can_stream) {
        cw_door_fail_to(responder, &cw_door_mcp, 406, CW_MCP_TRANSPORT,
                        "Accept must allow text/event-stream");
        return;
    }
    cw_code rc = cw_mcp_subscribe_session(self, responder, rl, view, session);
    if (rc)
        cw_door_fail_to(responder, &cw_door_mcp, rc == CW_LIMIT ? 503 : 500, CW_RPC_INTERNAL,
                        rc == CW_LIMIT ? "Too many streams are open" : "out of memory");
    else
        cw_responder_open(responder);
}

static void end_session(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    cw_responder *responder = cw_responder_of(req);
    const cw_mcp_session *session = NULL;
    if (!responder)
        cw_responder_reply_http(req, &(cw_response){.status = 500, .body = cw_door_mcp.failure});
    else
        session = open_session(self, req, responder, rl, view);
    if (!session)
        return;
    cw_mcp *door = self;
    cw_mcp_session_owner owner;
    cw_mcp_session_owner_init(&owner, view, responder);
    cw_code rc = cw_mcp_session_store_end(&door->memory, &owner, session);
    if (rc) {
        cw_door_fail_to(responder, &cw_door_mcp, rc == CW_LIMIT ? 503 : 500, CW_RPC_INTERNAL,
                        rc == CW_LIMIT ? "Too many sessions of this caller were ended: this one "
                                         "ends when its time is over"
                                       : "out of memory");
        return;
    }
    cw_mcp_close_streams(self, rl, session, NULL);
    cw_responder_reply_http(req, &(cw_response){.status = 204, .body = CW_STR("")});
}

void cw_mcp_on_get(cw_http_req *req, void *self)
{
    cw_mcp *door = self;
    cw_authenticate(req, door->runtime, &cw_mcp_auth_error_bodies, open_stream, door);
}

void cw_mcp_on_delete(cw_http_req *req, void *self)
{
    cw_mcp *door = self;
    cw_authenticate(req, door->runtime, &cw_mcp_auth_error_bodies, end_session, door);
}

/* ---- resources/subscribe ---- */

/* The address that is meant; .p is NULL when the message is answered. */
static cw_str read_uri(const cw_mcp_request *r)
{
    const cw_json *uri = cw_json_get(r->params, CW_STR("uri"));
    if (!cw_mcp_may(r, /* discovers= */ true))
        return (cw_str){NULL, 0};
    if (!cw_json_is(uri, CW_JSON_STRING) || cw_json_text(uri).n == 0)
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, "uri must be a string");
    else if (!r->session->is_named)
        cw_door_fail(r->item, 200, CW_RPC_INVALID, "Subscriptions need a session");
    else
        return cw_json_text(uri);
    return (cw_str){NULL, 0};
}

void cw_mcp_resources_subscribe(const cw_mcp_request *r)
{
    cw_call_found found;
    cw_mcp_session_owner owner;
    cw_str uri = read_uri(r);
    if (!uri.p)
        return;
    cw_code rc = cw_mcp_find(
        r, (cw_call_lookup){.discovers = true, .in = CW_FIND_RESOURCE, .name = uri}, &found);
    cw_mcp_session_owner_init(&owner, r->view, r->responder);
    if (!rc)
        rc = cw_mcp_session_store_subscribe(&r->door->memory, &owner, r->session, uri);
    if (rc == CW_OK)
        cw_mcp_reply_empty(r);
    else if (rc == CW_NOTFOUND)
        cw_mcp_fail_resource(r, uri);
    else
        cw_mcp_fail_session_store(r->item, rc);
}

void cw_mcp_resources_unsubscribe(const cw_mcp_request *r)
{
    cw_str uri = read_uri(r);
    if (!uri.p)
        return;
    cw_mcp_session_store_unsubscribe(&r->door->memory, r->session, uri);
    cw_mcp_reply_empty(r);
}
