/* SPDX-License-Identifier: GPL-2.0-or-later */
/* static_resource.c - resources/read of bytes that the server has, and the views of tools. */
#include "door/mcp/feature/static_resource.h"

#include "base/base64.h"
#include "catalogue/ui.h"
#include "door/mcp/feature/list.h"

bool cw_mcp_may_read(const cw_mcp_request *r)
{
    cw_call_error refusal = {0};
    if (!cw_mcp_may(r, /* discovers= */ true))
        return false;
    if (!cw_call_may_list(r->rl, r->view, cw_responder_peer(r->responder), &refusal))
        return true;
    cw_door_fail_rate_limited(r->item, &refusal);
    return false;
}

void cw_mcp_add_lifetime(cw_buf *out, const cw_mcp_request *r)
{
    if (!r->era->is_modern)
        return;
    cw_buf_add(out, CW_STR(",\"ttlMs\":"));
    cw_buf_add_i64(out, cw_runtime_settings_of(r->rl)->list_ttl_ms);
    cw_buf_add(out, CW_STR(",\"cacheScope\":\""));
    cw_buf_add(out, cw_mcp_scope(r, /* reads_same= */ true));
    cw_buf_add_char(out, '"');
}

static void add_base64(cw_buf *out, cw_str bytes)
{
    cw_buf_add_char(out, '"');
    char *to = cw_buf_reserve(out, CW_BASE64_TEXT(bytes.n));
    if (to)
        cw_buf_commit(out, cw_base64_encode(bytes, to));
    cw_buf_add_char(out, '"');
}

static void add_contents(cw_buf *out, const cw_mcp_static_resource *resource)
{
    cw_buf_add(out, CW_STR("\"contents\":[{\"uri\":"));
    cw_json_escape(out, resource->uri);
    cw_buf_add(out, CW_STR(",\"mimeType\":"));
    cw_json_escape(out, resource->mime_type);
    cw_buf_add(out, resource->is_text ? CW_STR(",\"text\":") : CW_STR(",\"blob\":"));
    if (resource->is_text)
        cw_json_escape(out, resource->bytes);
    else
        add_base64(out, resource->bytes);
    if (resource->ui.n) {
        cw_buf_add(out, CW_STR(",\"_meta\":{\"ui\":"));
        cw_buf_add(out, resource->ui);
        cw_buf_add_char(out, '}');
    }
    cw_buf_add(out, CW_STR("}]"));
}

void cw_mcp_reply_static(const cw_mcp_request *r, const cw_mcp_static_resource *resource)
{
    cw_buf out;
    if (!cw_mcp_may_read(r))
        return;
    cw_call_audit_read(r->rl, r->view, cw_mcp_door_name(r->responder),
                       cw_responder_peer(r->responder), r->method, resource->uri);
    cw_buf_init(&out, CW_BUF_MAX);
    cw_rpc_open_result(&out);
    cw_buf_add_char(&out, '{');
    add_contents(&out, resource);
    cw_mcp_add_lifetime(&out, r);
    cw_buf_add(&out, r->era->is_modern ? CW_STR("," CW_MCP_RESULT_META "}") : CW_STR("}"));
    cw_rpc_close(&out, r->item->id);
    cw_rpc_item_reply(r->item, 200, &out, CW_STR(""));
}

/* ---- views ---- */

bool cw_mcp_read_ui(const cw_mcp_request *r, cw_str uri)
{
    const cw_entry *entry =
        cw_str_starts(uri, CW_STR(CW_UI_SCHEME)) ? cw_view_find_ui(r->view, uri) : NULL;
    if (!entry)
        return false;
    const cw_ui *ui = entry->method->mark->ui;
    cw_str html = cw_str_is(uri, CW_UI_BUILTIN) ? cw_mcp_data_view : ui->html;
    if (!html.n)
        return false;
    /* Without domains a host allows no connection at all. */
    cw_str meta = cw_str_is(uri, CW_UI_BUILTIN) ? CW_STR("{\"prefersBorder\":true}") : ui->meta;
    cw_mcp_reply_static(r, &(cw_mcp_static_resource){.uri = uri,
                                                     .mime_type = CW_STR(CW_UI_TYPE),
                                                     .bytes = html,
                                                     .is_text = true,
                                                     .ui = meta});
    return true;
}

cw_str cw_mcp_ui_meta(const cw_view *view, cw_str uri)
{
    const cw_entry *entry =
        cw_str_starts(uri, CW_STR(CW_UI_SCHEME)) ? cw_view_find_ui(view, uri) : NULL;
    return entry ? entry->method->mark->ui->meta : CW_STR("");
}
