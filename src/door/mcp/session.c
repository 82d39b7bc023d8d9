/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session.c - sessions of the handshake, whose state is in their id.
 *
 * The id of a session is sealed: version, capabilities of the client, owner and expiry. Any replica with
 * the same key can read it, and nothing is stored. It identifies state and never authenticates: with
 * credentials other than those of the handshake it is answered like an unknown id.
 *
 *     expiry u64 | capabilities u24, profile u8 | number 16 | n u8, version | caller
 *
 * Later changes (log level, end of the session) are stored by the process (session_store.h).
 */
#include "base/random.h"
#include "door/mcp/mcp_int.h"

#define PURPOSE CW_STR("mcp session")
#define PROFILE_SHIFT 24u
#define FIXED (8u + 4u + CW_MCP_NUMBER + 1u)

/* ---- abilities ---- */

static bool has(const cw_json *object, const char *name)
{
    return cw_json_is(cw_json_get(object, cw_str_from(name)), CW_JSON_OBJECT);
}

unsigned cw_mcp_client_capabilities(const cw_json *capabilities)
{
    const cw_json *elicit = cw_json_get(capabilities, CW_STR("elicitation"));
    const cw_json *sample = cw_json_get(capabilities, CW_STR("sampling"));
    unsigned client_capabilities = 0;
    /* Without saying which kind it means forms. */
    if (cw_json_is(elicit, CW_JSON_OBJECT) && (has(elicit, "form") || !has(elicit, "url")))
        client_capabilities |= CW_MCP_CAN_ELICIT;
    if (has(elicit, "url"))
        client_capabilities |= CW_MCP_CAN_ELICIT_URL;
    if (cw_json_is(sample, CW_JSON_OBJECT))
        client_capabilities |= CW_MCP_CAN_SAMPLE;
    if (has(sample, "tools"))
        client_capabilities |= CW_MCP_CAN_SAMPLE_TOOLS;
    if (has(capabilities, "roots"))
        client_capabilities |= CW_MCP_CAN_ROOTS;
    return client_capabilities;
}

/* ---- levels ---- */

/* Causeway has fewer levels: a level in between maps to the more severe one. */
static const struct {
    cw_str name;
    cw_log_level level;
} levels[] = {
    {CW_STR_INIT("debug"), CW_LOG_DEBUG}, {CW_STR_INIT("info"), CW_LOG_INFO},
    {CW_STR_INIT("notice"), CW_LOG_WARN}, {CW_STR_INIT("warning"), CW_LOG_WARN},
    {CW_STR_INIT("error"), CW_LOG_ERROR}, {CW_STR_INIT("critical"), CW_LOG_OFF},
    {CW_STR_INIT("alert"), CW_LOG_OFF},   {CW_STR_INIT("emergency"), CW_LOG_OFF},
};

bool cw_mcp_level_parse(cw_str name, cw_log_level *ret)
{
    for (size_t i = 0; i < CW_COUNT(levels); i++) {
        if (cw_str_eq(levels[i].name, name)) {
            *ret = levels[i].level;
            return true;
        }
    }
    return false;
}

cw_str cw_mcp_level_name(cw_log_level level)
{
    if (level == CW_LOG_WARN)
        return CW_STR("warning");
    return level == CW_LOG_ERROR ? CW_STR("error")
                                 : (level == CW_LOG_INFO ? CW_STR("info") : CW_STR("debug"));
}

/* ---- what is remembered ---- */

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

void cw_mcp_fail_session_store(cw_rpc_item *item, cw_code rc)
{
    const cw_str text =
        CW_STR("Too much is remembered of this caller's sessions: end some of them");
    if (rc == CW_LIMIT)
        cw_door_reply_error(
            item, &(cw_door_error){.status = 200, .code = CW_CHALLENGE_CODE, .message = text});
    else
        cw_door_fail_nomem(item);
}

/* ---- the name ---- */

cw_str cw_mcp_session_make(const cw_mcp_request *r, cw_str version, unsigned client_capabilities,
                           unsigned profile)
{
    const cw_runtime_settings *settings = cw_runtime_settings_of(r->rl);
    cw_str caller = cw_caller_id(cw_view_caller(r->view)), name = {NULL, 0};
    if (!settings->legacy_sessions)
        return CW_STR("");
    uint64_t expiry = (uint64_t)cw_clock_wall_ms() + UINT64_C(1000) * settings->session_s;
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
    if (cw_seal_close(&r->door->seal, PURPOSE, plain, r->responder->arena, &name, &err))
        return (cw_str){NULL, 0};
    return name;
}

bool cw_mcp_session_read(const cw_mcp_request *r, cw_mcp_session *ret)
{
    return cw_mcp_session_open(r->door, r->responder, r->rl, r->view, ret);
}

bool cw_mcp_session_open(cw_mcp *door, cw_responder *responder, cw_runtime_loop *rl,
                         const cw_view *view, cw_mcp_session *ret)
{
    cw_str name = cw_responder_header(responder, CW_STR("Mcp-Session-Id")), plain;
    *ret = (cw_mcp_session){.level = CW_LOG_OFF};
    if (responder->session)
        *ret = *responder->session;
    if (!ret->version.n) /* before the handshake */
        ret->profile = cw_mcp_profile(cw_mcp_config(rl), NULL);
    if (responder->session)
        return true;
    if (!name.p || !cw_runtime_settings_of(rl)->legacy_sessions)
        return true;
    uint64_t expiry;
    uint32_t bits;
    if (cw_seal_open(&door->seal, PURPOSE, cw_str_trim(name), responder->arena, &plain) ||
        plain.n < FIXED || plain.n - FIXED < (unsigned char)plain.p[FIXED - 1])
        return false;
    size_t n_version = (unsigned char)plain.p[FIXED - 1];
    cw_str caller = cw_str_make(plain.p + FIXED + n_version, plain.n - FIXED - n_version);
    memcpy(&expiry, plain.p, 8);
    memcpy(&bits, plain.p + 8, 4);
    int64_t now = cw_clock_wall_ms();
    if (expiry <= (uint64_t)now || expiry > INT64_MAX ||
        !cw_str_eq(caller, cw_caller_id(cw_view_caller(view))))
        return false;
    ret->is_named = true;
    ret->expires = (int64_t)expiry;
    ret->client_capabilities = bits & ((1u << PROFILE_SHIFT) - 1);
    ret->profile = bits >> PROFILE_SHIFT;
    ret->version = cw_str_make(plain.p + FIXED, n_version);
    memcpy(ret->number, plain.p + 12, CW_MCP_NUMBER);
    return cw_mcp_session_store_recall(&door->sessions, ret, now);
}
