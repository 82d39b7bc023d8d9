/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_legacy.c - the era of the handshake, served without sessions: each request stands alone. */
#include "door/mcp_int.h"

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
    if (r->item->turn->opts.is_batch) {
        cw_mcp_fail(r->item, 400, CW_RPC_INVALID, "initialize must not be part of a batch");
        return;
    }
    if (!cw_json_is(asked, CW_JSON_STRING)) {
        cw_mcp_fail(r->item, 200, CW_RPC_PARAMS, "protocolVersion must be a string");
        return;
    }
    cw_str version = cw_json_text(asked);
    if (!cw_mcp_is_legacy(version))
        version = cw_mcp_newest_legacy();
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_message_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"protocolVersion\":\""));
    cw_buf_add(&b, version);
    cw_buf_add(&b, CW_STR("\",\"capabilities\":{\"tools\":{}},\"serverInfo\":" CW_MCP_SERVER "}"));
    cw_message_close(&b, r->item->id);
    cw_turn_answer(r->item, 200, &b, CW_STR(""));
}

static void ping(const cw_mcp_request *r)
{
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_message_open_result(&b);
    cw_buf_add(&b, CW_STR("{}"));
    cw_message_close(&b, r->item->id);
    cw_turn_answer(r->item, 200, &b, CW_STR(""));
}

static const cw_mcp_method methods[] = {
    {CW_STR_INIT("tools/call"), cw_mcp_call_tool},
    {CW_STR_INIT("tools/list"), cw_mcp_list_tools},
    {CW_STR_INIT("ping"), ping},
    {CW_STR_INIT("initialize"), initialize},
};

const cw_mcp_era cw_mcp_legacy = {
    .methods = methods,
    .n_methods = CW_COUNT(methods),
    .unknown_status = 200,
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

void cw_mcp_run_legacy(const cw_mcp_request *r)
{
    cw_str header = cw_http_req_header(r->req, CW_STR("MCP-Protocol-Version"));
    /* The handshake comes before any version is agreed upon. */
    bool is_free = cw_str_is(r->method, "initialize");
    if (cw_http_req_repeats(r->req, CW_STR("MCP-Protocol-Version")))
        cw_mcp_error(r->item, 400, CW_MCP_HEADER,
                     CW_STR("Header mismatch: MCP-Protocol-Version stands more than once"),
                     CW_STR(""));
    else if (header.p && !is_free && !cw_mcp_is_legacy(header))
        cw_mcp_error(r->item, 400, CW_MCP_TRANSPORT,
                     CW_STR("Bad Request: unsupported protocol version (supported: 2025-11-25, "
                            "2025-06-18, 2025-03-26, 2024-11-05)"),
                     CW_STR(""));
    else
        cw_mcp_dispatch(r);
}
