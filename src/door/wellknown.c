/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wellknown.c - GET /.well-known/mcp.json: what we are and where our doors are, for everybody. */
#include "door/mcp_int.h"
#include "door/rest_int.h"
#include "json/write.h"

static void add_endpoint(cw_json_writer *w, cw_str name, cw_str base, cw_str path)
{
    cw_buf url;
    cw_buf_init(&url, SIZE_MAX / 2);
    cw_buf_add(&url, base);
    cw_buf_add(&url, path);
    if (url.code && !w->out->code)
        w->out->code = url.code;
    cw_json_add_string_member(w, name, cw_buf_str(&url));
    cw_buf_done(&url);
}

static void add_versions(cw_json_writer *w)
{
    cw_json_add_key(w, CW_STR("protocolVersions"));
    cw_json_open_array(w);
    for (size_t i = 0; cw_mcp_modern_version(i).p; i++)
        cw_json_add_string(w, cw_mcp_modern_version(i));
    for (size_t i = 0; cw_mcp_legacy_version(i).p; i++)
        cw_json_add_string(w, cw_mcp_legacy_version(i));
    cw_json_close(w);
}

static void write_document(cw_buf *out, void *ctx)
{
    const cw_str *base = ctx;
    static const struct {
        cw_str name, path;
    } endpoints[] = {
        {CW_STR_INIT("mcp"), CW_STR_INIT("/mcp")},
        {CW_STR_INIT("tools"), CW_STR_INIT("/mcp/tools/list")},
        {CW_STR_INIT("describe"), CW_STR_INIT("/mcp/tools/describe")},
        {CW_STR_INIT("invoke"), CW_STR_INIT("/mcp/tools/invoke")},
        {CW_STR_INIT("jsonrpc"), CW_STR_INIT("/jsonrpc")},
    };
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("name"), CW_STR("Causeway"));
    cw_json_add_string_member(&w, CW_STR("version"), CW_STR(CW_VERSION));
    cw_json_add_key(&w, CW_STR("capabilities"));
    cw_json_open_object(&w);
    cw_json_add_bool_member(&w, CW_STR("tools"), true);
    cw_json_close(&w);
    add_versions(&w);
    cw_json_add_key(&w, CW_STR("endpoints"));
    cw_json_open_object(&w);
    for (size_t i = 0; i < CW_COUNT(endpoints); i++)
        add_endpoint(&w, endpoints[i].name, *base, endpoints[i].path);
    cw_json_close(&w);
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, NULL);
    if (rc)
        out->code = rc;
}

void cw_rest_on_wellknown(cw_http_req *req, void *bridge)
{
    cw_bridge_loop *bl = cw_bridge_at(bridge, cw_http_req_loop(req));
    cw_str base = cw_rest_base(req, bl);
    if (!base.p) {
        cw_rest_fail(req, 503, "unavailable", "out of memory");
        return;
    }
    cw_rest_document doc = {
        .key = {.kind = CW_STR("mcp.json"), .base = base},
        .write = write_document,
        .ctx = &base,
        .contexts = "url.site",
        .is_public = true,
    };
    cw_rest_send(req, bl, &doc);
}
