/* SPDX-License-Identifier: GPL-2.0-or-later */
/* legacy.c - the era of the handshake. */
#include "door/mcp/mcp_int.h"

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
    cw_str version = cw_json_text(asked);
    if (!cw_mcp_is_legacy(version))
        version = cw_mcp_newest_legacy();
    unsigned client_capabilities =
        cw_mcp_client_capabilities(cw_json_get(r->params, CW_STR("capabilities")));
    unsigned profile =
        cw_mcp_profile(cw_mcp_config(r->rl), cw_json_get(r->params, CW_STR("clientInfo")));
    if (r->responder->session) {
        r->responder->session->version = cw_mcp_static_version(version);
        r->responder->session->client_capabilities = client_capabilities;
        r->responder->session->profile = profile;
    } else {
        cw_str session = cw_mcp_session_make(r, version, client_capabilities, profile);
        if (!session.p) {
            cw_door_fail_nomem(r->item);
            return;
        }
        r->item->batch->opts.session = session;
    }
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_rpc_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"protocolVersion\":\""));
    cw_buf_add(&b, version);
    cw_buf_add(&b, CW_STR("\",\"capabilities\":"));
    cw_mcp_add_capabilities(&b, r);
    cw_buf_add(&b, CW_STR(",\"serverInfo\":" CW_MCP_SERVER "}"));
    cw_rpc_close(&b, r->item->id);
    cw_rpc_item_reply(r->item, 200, &b, CW_STR(""));
}

void cw_mcp_reply_empty(const cw_mcp_request *r)
{
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_rpc_open_result(&b);
    cw_buf_add(&b, CW_STR("{}"));
    cw_rpc_close(&b, r->item->id);
    cw_rpc_item_reply(r->item, 200, &b, CW_STR(""));
}

static void ping(const cw_mcp_request *r)
{
    cw_mcp_reply_empty(r);
}

static void set_level(const cw_mcp_request *r)
{
    const cw_json *name = cw_json_get(r->params, CW_STR("level"));
    cw_log_level level;
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
    } else if (r->session->is_named) {
        cw_mcp_session_owner_init(&owner, r->view, r->responder);
        rc = cw_mcp_session_store_set_level(&r->door->memory, &owner, r->session, level);
    }
    if (rc)
        cw_mcp_fail_session_store(r->item, rc);
    else
        cw_mcp_reply_empty(r);
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
    {CW_STR_INIT("ping"), ping},
    {CW_STR_INIT("resources/subscribe"), cw_mcp_resources_subscribe},
    {CW_STR_INIT("resources/unsubscribe"), cw_mcp_resources_unsubscribe},
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

bool cw_mcp_is_legacy(cw_str version)
{
    for (size_t i = 0; i < CW_COUNT(versions); i++) {
        if (cw_str_eq(versions[i].name, version))
            return true;
    }
    return false;
}

cw_str cw_mcp_static_version(cw_str version)
{
    for (size_t i = 0; i < CW_COUNT(versions); i++) {
        if (cw_str_eq(versions[i].name, version))
            return versions[i].name;
    }
    return CW_STR("");
}

cw_str cw_mcp_newest_legacy(void)
{
    return versions[0].name;
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
    if (!header.p || is_handshake || cw_mcp_is_legacy(header))
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

bool cw_mcp_contradicts(const cw_responder *responder, const cw_mcp_session *session)
{
    cw_str header = cw_responder_header(responder, CW_STR("MCP-Protocol-Version"));
    return header.p && session->version.n && !cw_str_eq(header, session->version);
}

bool cw_mcp_enter_session(const cw_mcp_request *r, cw_mcp_session *ret)
{
    if (!check_version(r, /* is_handshake= */ false))
        return false;
    if (r->item->batch->opts.is_batch) {
        *ret = *r->session; /* read once for all of it */
        return true;
    }
    if (!cw_mcp_session_read(r, ret))
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

void cw_mcp_run_legacy(const cw_mcp_request *r)
{
    cw_mcp_session session = {.level = CW_LOG_OFF};
    cw_mcp_request with = *r;
    bool is_handshake = cw_str_is(r->method, "initialize");
    if (is_handshake ? !check_version(r, true) : !cw_mcp_enter_session(r, &session))
        return;
    with.session = &session;
    cw_mcp_dispatch(&with);
}
