/* SPDX-License-Identifier: GPL-2.0-or-later */
/* legacy.c - the versions of the protocol with a handshake: sessions, their streams (GET), their end
 * (DELETE), subscriptions to resources, and the table of methods.
 */
#include "access/fair_key.h"
#include "base/random.h"
#include "door/mcp/instructions.h"
#include "door/mcp/letter.h"
#include "door/mcp/task/task_legacy.h"

#define PURPOSE CW_STR("mcp session")
#define PROFILE_SHIFT 24u
#define FIXED (8u + 4u + CW_MCP_NUMBER + 1u)

/* ---- versions ---- */

/* Newest first. */
static const struct {
    cw_str name;
    bool has_batches;
} versions[] = {
    {CW_STR_INIT("2025-11-25"), false},
    {CW_STR_INIT("2025-06-18"), false},
    {CW_STR_INIT("2025-03-26"), true},
    {CW_STR_INIT("2024-11-05"), false},
};

static bool is_legacy(cw_str version)
{
    for (size_t i = 0; i < CW_COUNT(versions); i++) {
        if (cw_str_eq(versions[i].name, version))
            return true;
    }
    return false;
}

bool cw_mcp_contradicts(const cw_responder *responder, const cw_mcp_session *session)
{
    cw_str header = cw_responder_header(responder, CW_STR("MCP-Protocol-Version"));
    return header.p && session->version.n && !cw_str_eq(header, session->version);
}

/* ---- sessions: their state is in their id ----
 *
 * The id of a session is sealed: version, capabilities of the client, owner and expiry. Any replica with
 * the same key can read it, and nothing is stored. It records an agreement and never authenticates. A
 * session that was opened with credentials belongs to their caller; for all others its id is unknown.
 * A session that was opened anonymously is open to callers with credentials too: clients log in later.
 *
 *     expiry u64 | capabilities u24, profile u8 | number 16 | n u8, version | caller
 *
 * State belongs to a session and a caller: a caller that has joined has a number of its own, derived
 * from the session's and its id. So neither it nor the anonymous caller finds the other's state. Later
 * changes (log level, end of the session) are stored by the process (session_store.h).
 */

cw_str cw_mcp_number(const cw_mcp_session *session)
{
    return cw_str_make((const char *)session->number, CW_MCP_NUMBER);
}

void cw_mcp_session_owner_init(cw_mcp_session_owner *owner, const cw_view *view,
                               const cw_responder *responder)
{
    const cw_caller *caller = cw_view_caller(view);
    owner->now = cw_clock_wall_ms();
    owner->is_anonymous = cw_caller_is_anonymous(caller);
    owner->owner = owner->is_anonymous
                       ? cw_network_text(cw_responder_peer(responder), 0, owner->network)
                       : cw_caller_id(caller);
}

/* Answer that the state cannot be stored: the caller's share is used up (CW_LIMIT), or memory. */
static void fail_session_store(cw_rpc_item *item, cw_code rc)
{
    const cw_str text =
        CW_STR("Too much is remembered of this caller's sessions: end some of them");
    if (rc == CW_LIMIT)
        cw_door_reply_error(
            item, &(cw_door_error){.status = 200, .code = CW_CHALLENGE_CODE, .message = text});
    else
        cw_door_fail_nomem(item);
}

bool cw_mcp_keeps_state(const cw_mcp_request *r)
{
    return r->responder->session || cw_runtime_config(r->rl)->mcp.legacy_sessions;
}

/* The id of a new session, in the arena; empty when sessions are off, .p NULL without memory. */
static cw_str make_session(const cw_mcp_request *r, cw_str version, unsigned client_capabilities,
                           unsigned profile)
{
    const cw_config *config = cw_runtime_config(r->rl);
    cw_str caller = cw_caller_id(cw_view_caller(r->view)), name = {NULL, 0};
    if (!config->mcp.legacy_sessions)
        return CW_STR("");
    uint64_t expiry = (uint64_t)cw_clock_wall_ms() + config->mcp.session_ms;
    uint32_t bits = client_capabilities | profile << PROFILE_SHIFT;
    char *p = cw_arena_alloc(r->responder->arena, FIXED + version.n + caller.n);
    cw_err err;
    if (!p || cw_random_bytes(p + 12, CW_MCP_NUMBER, &err))
        return name;
    memcpy(p, &expiry, 8);
    memcpy(p + 8, &bits, 4);
    p[FIXED - 1] = (char)version.n;
    memcpy(p + FIXED, version.p, version.n);
    memcpy(p + FIXED + version.n, caller.p, caller.n);
    cw_str plain = cw_str_make(p, FIXED + version.n + caller.n);
    if (cw_seal_close(r->door->seal, PURPOSE, plain, r->responder->arena, &name, &err))
        return (cw_str){NULL, 0};
    return name;
}

/* The number of a caller with credentials in a session that was opened without. */
static void join(cw_mcp_session *session, const cw_caller *caller)
{
    unsigned char bytes[CW_MCP_NUMBER + CW_SEAL_DIGEST], digest[CW_SEAL_DIGEST];
    session->has_joined = true;
    memcpy(session->opened, session->number, CW_MCP_NUMBER);
    memcpy(bytes, session->number, CW_MCP_NUMBER);
    cw_seal_digest(cw_caller_id(caller), bytes + CW_MCP_NUMBER);
    cw_seal_digest(cw_str_make((const char *)bytes, sizeof bytes), digest);
    memcpy(session->number, digest, CW_MCP_NUMBER);
}

/* Whether the caller may use a session that `owner` opened. */
static bool may_enter(const cw_caller *caller, cw_str owner)
{
    return cw_str_is(owner, CW_CALLER_ANONYMOUS_ID) || cw_str_eq(owner, cw_caller_id(caller));
}

bool cw_mcp_session_open(cw_mcp *door, cw_responder *responder, cw_runtime_loop *rl,
                         const cw_view *view, cw_mcp_session *ret)
{
    cw_str name = cw_responder_header(responder, CW_STR("Mcp-Session-Id")), plain;
    *ret = (cw_mcp_session){.level = CW_LOG_OFF};
    cw_log_level level = cw_runtime_config(rl)->mcp.log_level;
    if (responder->session)
        *ret = *responder->session;
    if (responder->session && !ret->has_level)
        ret->level = level;
    if (!ret->version.n) /* before the handshake */
        ret->profile = cw_mcp_profile(cw_runtime_config(rl), NULL);
    if (responder->session)
        return true;
    if (!name.p || !cw_runtime_config(rl)->mcp.legacy_sessions)
        return true;
    uint64_t expiry;
    uint32_t bits;
    if (cw_seal_open(door->seal, PURPOSE, cw_str_trim(name), responder->arena, &plain) ||
        plain.n < FIXED || plain.n - FIXED < (unsigned char)plain.p[FIXED - 1])
        return false;
    size_t n_version = (unsigned char)plain.p[FIXED - 1];
    cw_str owner = cw_str_make(plain.p + FIXED + n_version, plain.n - FIXED - n_version);
    const cw_caller *caller = cw_view_caller(view);
    memcpy(&expiry, plain.p, 8);
    memcpy(&bits, plain.p + 8, 4);
    int64_t now = cw_clock_wall_ms();
    if (expiry <= (uint64_t)now || expiry > INT64_MAX || !may_enter(caller, owner))
        return false;
    ret->is_named = true;
    ret->level = level;
    ret->expires = (int64_t)expiry;
    ret->client_capabilities = bits & ((1u << PROFILE_SHIFT) - 1);
    ret->profile = cw_mcp_profile_renew(cw_runtime_config(rl), bits >> PROFILE_SHIFT);
    ret->version = cw_str_make(plain.p + FIXED, n_version);
    memcpy(ret->number, plain.p + 12, CW_MCP_NUMBER);
    if (!cw_str_eq(owner, cw_caller_id(caller)))
        join(ret, caller);
    return cw_mcp_session_store_recall(&door->sessions, ret, now);
}

static void reply_empty(const cw_mcp_request *r)
{
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    cw_buf_add(&b, CW_STR("{}"));
    cw_rpc_close(&b, r->item->id);
    cw_rpc_item_reply(r->item, 200, &b, CW_STR(""));
}

/* ---- GET and DELETE ---- */

static const cw_str no_id = {NULL, 0};

/* Whether the request may be for a session: it names one, or the version of its header has them, and
 * they are on. */
static bool has_sessions(const cw_http_req *req, const cw_runtime_loop *rl)
{
    cw_str version = cw_http_req_header(req, CW_STR("MCP-Protocol-Version"));
    return cw_runtime_config(rl)->mcp.legacy_sessions &&
           (!version.p || !cw_mcp_is_modern(version) ||
            cw_http_req_header(req, CW_STR("Mcp-Session-Id")).p);
}

static const char *methods_of(cw_http_req *req, void *self)
{
    const cw_mcp *door = self;
    const cw_runtime_loop *rl = cw_runtime_at(door->runtime, cw_http_req_loop(req));
    return has_sessions(req, rl) ? "GET, POST, DELETE, OPTIONS" : "POST, OPTIONS";
}

/* An error of HTTP: with the id of the request, else a sentence. */
static cw_str write_error(cw_buf *out, unsigned status, cw_str message, cw_str id)
{
    int64_t code = status < 500 ? CW_MCP_TRANSPORT : CW_RPC_INTERNAL;
    if (status == 413) {
        code = CW_RPC_INVALID;
        message = CW_STR(CW_MCP_TOO_LARGE);
    }
    if (!id.p) {
        cw_door_add_sentence(out, message);
        return CW_RESPONDER_PLAIN;
    }
    if (code == CW_RPC_INTERNAL)
        cw_rpc_explain(out, code, message, id);
    else
        cw_rpc_error(out, code, message, CW_STR(""), id);
    return CW_STR("");
}

const cw_route_protocol cw_mcp_protocol = {write_error, methods_of};

/* A GET that gets no stream. */
static void decline(cw_http_req *req, cw_str sentence)
{
    static const cw_http_header headers[] = {
        {CW_STR_INIT("Allow"), CW_STR_INIT("POST, DELETE, OPTIONS")},
        {CW_STR_INIT("Cache-Control"), CW_STR_INIT("no-store")},
    };
    cw_http_reply(req, &(cw_http_response){.status = 405,
                                           .type = CW_RESPONDER_PLAIN,
                                           .body = sentence,
                                           .headers = headers,
                                           .n_headers = CW_COUNT(headers)});
}

/* The session of a request without a message, in the arena. NULL: the request is answered. */
static cw_mcp_session *open_session(cw_mcp *door, cw_http_req *req, cw_responder *responder,
                                    cw_runtime_loop *rl, const cw_view *view)
{
    cw_str version = cw_responder_header(responder, CW_STR("MCP-Protocol-Version"));
    cw_mcp_session *session = cw_arena_alloc(responder->arena, sizeof *session);
    if (!session)
        cw_door_fail_static_all(req, &cw_door_mcp);
    else if (!has_sessions(req, rl))
        cw_http_reply_not_allowed(req);
    /* Some clients send their newest version here, and not the one that was agreed upon. */
    else if (version.p && !is_legacy(version) && !cw_mcp_is_modern(version))
        cw_door_fail_to(responder, &cw_door_mcp, no_id, 400, CW_MCP_TRANSPORT,
                        "Unsupported protocol version");
    else if (!cw_responder_header(responder, CW_STR("Mcp-Session-Id")).p &&
             cw_http_req_method(req) == CW_HTTP_GET)
        decline(req, CW_STR("A stream needs a session: send initialize first."));
    else if (!cw_responder_header(responder, CW_STR("Mcp-Session-Id")).p)
        cw_door_fail_to(responder, &cw_door_mcp, no_id, 400, CW_MCP_TRANSPORT,
                        "Mcp-Session-Id is missing");
    else if (!cw_mcp_session_open(door, responder, rl, view, session))
        cw_door_fail_to(responder, &cw_door_mcp, no_id, 404, CW_MCP_SESSION, "Session not found");
    else
        return session;
    return NULL;
}

static void open_stream(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    cw_responder *responder = cw_responder_of(req);
    cw_mcp_session *session = NULL;
    cw_call_found found;
    if (!responder)
        cw_door_fail_static_all(req, &cw_door_mcp);
    else if ((view = cw_mcp_view_at(self, req, rl, view)))
        session = open_session(self, req, responder, rl, view);
    if (!session)
        return;
    cw_call_lookup lookup = {.view = view,
                             .door = cw_mcp_door_name(responder),
                             .peer = cw_responder_peer_of,
                             .ctx = responder,
                             .discovers = true};
    if (cw_call_find(rl, &lookup, &found)) {
        /* Not 401: clients open the stream by themselves, give up silently on 401, and would miss
         * the challenge of their next request. */
        decline(req, CW_STR("This caller has no stream."));
        return;
    }
    if (!responder->can_stream) {
        cw_door_fail_to(responder, &cw_door_mcp, no_id, 406, CW_MCP_TRANSPORT,
                        "Accept must allow text/event-stream");
        return;
    }
    cw_code rc = cw_mcp_subscribe_session(self, responder, rl, view, session);
    if (rc)
        cw_door_fail_to(responder, &cw_door_mcp, no_id, rc == CW_LIMIT ? 503 : 500, CW_RPC_INTERNAL,
                        rc == CW_LIMIT ? "Too many streams are open" : "out of memory");
    else {
        responder->is_lasting = responder->is_get = true;
        cw_responder_open(responder);
    }
}

/* The message to other replicas; the name of the owner follows. */
typedef struct session_end {
    cw_mcp *door;
    unsigned char number[CW_MCP_NUMBER];
    int64_t expires;
    bool is_anonymous;
} session_end;

static void send_end(cw_mcp *door, cw_runtime_loop *rl, const cw_fair_key *by,
                     const cw_mcp_session_owner *owner, const cw_mcp_session *session,
                     const unsigned char number[CW_MCP_NUMBER])
{
    CW_CLEANUP(cw_buf_done) cw_buf b;
    session_end e;
    memset(&e, 0, sizeof e); /* also what lies between the members: it is copied as bytes */
    e.door = door;
    memcpy(e.number, number, CW_MCP_NUMBER);
    e.expires = session->expires;
    e.is_anonymous = owner->is_anonymous;
    cw_buf_init(&b, CW_LETTER_MAX);
    cw_buf_add_bytes(&b, &e, sizeof e);
    cw_buf_add(&b, owner->owner);
    const cw_letter letter = {.to = CW_LETTER_ALL,
                              .loop = 0,
                              .kind = CW_MCP_LETTER_END,
                              .bytes = cw_buf_str(&b),
                              .by = *by,
                              .owner = owner->owner,
                              .is_anonymous = owner->is_anonymous};
    if (!b.code)
        cw_mcp_send_lasting(rl, &letter, session->expires);
}

/* A session was ended at another replica. */
void cw_mcp_on_end(cw_runtime_loop *rl, cw_str bytes)
{
    session_end e;
    if (bytes.n < sizeof e)
        return;
    memcpy(&e, bytes.p, sizeof e);
    cw_mcp_session session = {.expires = e.expires};
    cw_mcp_session_owner owner = {.owner = cw_str_make(bytes.p + sizeof e, bytes.n - sizeof e),
                                  .is_anonymous = e.is_anonymous,
                                  .now = cw_clock_wall_ms()};
    memcpy(session.number, e.number, CW_MCP_NUMBER);
    if (e.expires <= owner.now)
        return;
    if (cw_mcp_session_store_end(&e.door->sessions, &owner, &session))
        cw_log(CW_LOG_WARN, "mcp", "out of memory: a session that was ended elsewhere goes on");
    cw_mcp_close_all(e.door, rl, e.number);
}

static void end_session(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    cw_responder *responder = cw_responder_of(req);
    const cw_mcp_session *session = NULL;
    if (!responder)
        cw_door_fail_static_all(req, &cw_door_mcp);
    else
        session = open_session(self, req, responder, rl, view);
    if (!session)
        return;
    cw_mcp *door = self;
    cw_mcp_session_owner owner;
    cw_mcp_session_owner_init(&owner, view, responder);
    cw_code rc = cw_mcp_session_store_end(&door->sessions, &owner, session);
    if (!rc && session->has_joined) {
        cw_mcp_session anonymous = *session;
        memcpy(anonymous.number, session->opened, CW_MCP_NUMBER);
        rc = cw_mcp_session_store_end(&door->sessions, &owner, &anonymous);
    }
    if (rc) {
        cw_door_fail_to(responder, &cw_door_mcp, no_id, 500, CW_RPC_INTERNAL, "out of memory");
        return;
    }
    cw_fair_key by = cw_caller_fair_key(cw_view_caller(view), cw_responder_peer(responder));
    cw_mcp_close_all(door, rl, session->number);
    send_end(door, rl, &by, &owner, session, session->number);
    if (session->has_joined) {
        cw_mcp_close_all(door, rl, session->opened);
        send_end(door, rl, &by, &owner, session, session->opened);
    }
    cw_responder_reply_http(req, &(cw_response){.status = 204, .body = CW_STR("")});
}

void cw_mcp_on_get(cw_http_req *req, void *self)
{
    cw_mcp *door = self;
    if (cw_mcp_is_address(door, req))
        cw_authenticate(req, door->runtime, &cw_mcp_auth_error_bodies, open_stream, door);
}

void cw_mcp_on_delete(cw_http_req *req, void *self)
{
    cw_mcp *door = self;
    if (cw_mcp_is_address(door, req))
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

static void subscribe_resource(const cw_mcp_request *r)
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
        rc = cw_mcp_session_store_subscribe(&r->door->sessions, &owner, r->session, uri);
    if (rc == CW_OK)
        reply_empty(r);
    else if (rc == CW_NOTFOUND)
        cw_mcp_fail_resource(r, uri);
    else
        fail_session_store(r->item, rc);
}

static void unsubscribe_resource(const cw_mcp_request *r)
{
    cw_str uri = read_uri(r);
    if (!uri.p)
        return;
    cw_mcp_session_store_unsubscribe(&r->door->sessions, r->session, uri);
    reply_empty(r);
}

/* ---- methods ---- */

static void initialize(const cw_mcp_request *r)
{
    const cw_json *asked = cw_json_get(r->params, CW_STR("protocolVersion"));
    if (r->item->batch->opts.is_batch) {
        cw_door_fail(r->item, 400, CW_RPC_INVALID, "initialize must not be part of a batch");
        return;
    }
    if (!cw_json_is(asked, CW_JSON_STRING)) {
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, "protocolVersion must be a string");
        return;
    }
    const char *problem = cw_mcp_client_problem(cw_json_get(r->params, CW_STR("clientInfo")));
    if (problem) {
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, problem);
        return;
    }
    if (cw_mcp_challenge_stranger(r))
        return;
    cw_str version = cw_json_text(asked);
    if (!is_legacy(version))
        version = versions[0].name;
    unsigned client_capabilities =
        cw_mcp_client_capabilities(cw_json_get(r->params, CW_STR("capabilities"))) &
        ~(unsigned)CW_MCP_CAN_TASKS;
    unsigned profile =
        cw_mcp_profile(cw_runtime_config(r->rl), cw_json_get(r->params, CW_STR("clientInfo")));
    if (r->responder->session) {
        r->responder->session->version = cw_mcp_static_version(version);
        r->responder->session->client_capabilities = client_capabilities;
        r->responder->session->profile = profile;
    } else {
        cw_str session = make_session(r, version, client_capabilities, profile);
        if (!session.p) {
            cw_door_fail_nomem(r->item);
            return;
        }
        r->item->batch->opts.session = session;
    }
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"protocolVersion\":\""));
    cw_buf_add(&b, version);
    cw_buf_add(&b, CW_STR("\",\"capabilities\":"));
    cw_mcp_session client = {.profile = profile, .version = version};
    cw_mcp_request with = *r;
    with.session = &client;
    cw_mcp_add_capabilities(&b, &with);
    cw_buf_add(&b, CW_STR(",\"serverInfo\":" CW_MCP_SERVER));
    cw_mcp_add_instructions(&b, &with);
    cw_buf_add_char(&b, '}');
    cw_rpc_close(&b, r->item->id);
    cw_rpc_item_reply(r->item, 200, &b, CW_STR(""));
}

static void ping(const cw_mcp_request *r)
{
    reply_empty(r);
}

static void set_level(const cw_mcp_request *r)
{
    const cw_json *name = cw_json_get(r->params, CW_STR("level"));
    cw_log_level level;
    if (!cw_mcp_keeps_state(r)) {
        cw_mcp_fail_method(r);
        return;
    }
    if (!cw_json_is(name, CW_JSON_STRING) || !cw_mcp_level_parse(cw_json_text(name), &level)) {
        cw_door_fail(r->item, 200, CW_RPC_PARAMS,
                     "level must be one of debug, info, notice, warning, error, critical, alert, "
                     "emergency");
        return;
    }
    cw_code rc = CW_OK;
    cw_mcp_session_owner owner;
    if (r->responder->session) {
        r->responder->session->level = level;
        r->responder->session->has_level = true;
    } else if (r->session->is_named) {
        cw_mcp_session_owner_init(&owner, r->view, r->responder);
        rc = cw_mcp_session_store_set_level(&r->door->sessions, &owner, r->session, level);
    }
    if (rc)
        fail_session_store(r->item, rc);
    else
        reply_empty(r);
}

static const cw_mcp_method methods[] = {
    {CW_STR_INIT("tools/call"), cw_mcp_call_tool},
    {CW_STR_INIT("tools/list"), cw_mcp_list_tools},
    {CW_STR_INIT("resources/read"), cw_mcp_read_resource},
    {CW_STR_INIT("prompts/get"), cw_mcp_get_prompt},
    {CW_STR_INIT("completion/complete"), cw_mcp_complete},
    {CW_STR_INIT("resources/list"), cw_mcp_list_resources},
    {CW_STR_INIT("resources/templates/list"), cw_mcp_list_templates},
    {CW_STR_INIT("prompts/list"), cw_mcp_list_prompts},
    {CW_STR_INIT("tasks/get"), cw_mcp_get_legacy_task},
    {CW_STR_INIT("tasks/result"), cw_mcp_await_legacy_task},
    {CW_STR_INIT("tasks/cancel"), cw_mcp_cancel_legacy_task},
    {CW_STR_INIT("ping"), ping},
    {CW_STR_INIT("resources/subscribe"), subscribe_resource},
    {CW_STR_INIT("resources/unsubscribe"), unsubscribe_resource},
    {CW_STR_INIT("logging/setLevel"), set_level},
    {CW_STR_INIT("initialize"), initialize},
};

const cw_mcp_era cw_mcp_legacy = {
    .methods = methods,
    .n_methods = CW_COUNT(methods),
    .unknown_status = 200,
    .no_resource = -32002,
    .form = CW_TOOL_OBJECT_OUTPUT,
    .wants_objects = true,
    .detaches = true,
};

cw_str cw_mcp_legacy_version(size_t i)
{
    return i < CW_COUNT(versions) ? versions[i].name : (cw_str){NULL, 0};
}

cw_str cw_mcp_static_version(cw_str version)
{
    for (size_t i = 0; i < CW_COUNT(versions); i++) {
        if (cw_str_eq(versions[i].name, version))
            return versions[i].name;
    }
    return CW_STR("");
}

bool cw_mcp_allows_batch(cw_str version_header)
{
    for (size_t i = 0; i < CW_COUNT(versions); i++) {
        if (cw_str_eq(versions[i].name, version_header))
            return versions[i].has_batches;
    }
    return !version_header.p; /* the version that is assumed then has them */
}

/* The handshake comes before any version is agreed upon. */
static bool check_version(const cw_mcp_request *r, bool is_handshake)
{
    cw_str header = cw_responder_header(r->responder, CW_STR("MCP-Protocol-Version"));
    if (cw_responder_repeats(r->responder, CW_STR("MCP-Protocol-Version"))) {
        cw_door_reply_error(
            r->item,
            &(cw_door_error){
                .status = 400,
                .code = CW_MCP_HEADER,
                .message = CW_STR("Header mismatch: MCP-Protocol-Version stands more than once")});
        return false;
    }
    if (!header.p || is_handshake || is_legacy(header))
        return true;
    cw_door_reply_error(
        r->item,
        &(cw_door_error){
            .status = 400,
            .code = CW_MCP_TRANSPORT,
            .message = CW_STR("Bad Request: unsupported protocol version (supported: 2025-11-25, "
                              "2025-06-18, 2025-03-26, 2024-11-05)")});
    return false;
}

bool cw_mcp_enter_session(const cw_mcp_request *r, cw_mcp_session *ret)
{
    if (!check_version(r, /* is_handshake= */ false))
        return false;
    if (r->item->batch->opts.is_batch) {
        *ret = *r->session; /* read once for all of it */
        return true;
    }
    if (!cw_mcp_session_open(r->door, r->responder, r->rl, r->view, ret))
        cw_door_reply_error(r->item, &(cw_door_error){.status = 404,
                                                      .code = CW_MCP_SESSION,
                                                      .message = CW_STR("Session not found")});
    else if (cw_mcp_contradicts(r->responder, ret))
        cw_door_reply_error(
            r->item, &(cw_door_error){.status = 400,
                                      .code = CW_MCP_TRANSPORT,
                                      .message = CW_STR("Bad Request: " CW_MCP_CONTRADICTS)});
    else
        return true;
    return false;
}

/* The attributes of a span that the session has. */
static void observe(const cw_mcp_request *r)
{
    const cw_mcp_session *session = r->session;
    r->item->op.version = session->version;
    if (session->is_named)
        cw_operation_set_session(
            r->item, cw_str_make((const char *)session->number, sizeof session->number));
}

void cw_mcp_run_legacy(const cw_mcp_request *r)
{
    cw_mcp_session session = {.level = CW_LOG_OFF};
    cw_mcp_request with = *r;
    bool is_handshake = cw_str_is(r->method, "initialize");
    if (is_handshake ? !check_version(r, true) : !cw_mcp_enter_session(r, &session))
        return;
    with.session = &session;
    observe(&with);
    cw_mcp_dispatch(&with);
}
