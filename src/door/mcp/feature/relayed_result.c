/* SPDX-License-Identifier: GPL-2.0-or-later */
/* relayed_result.c - results of MCP servers, for clients of either era. */
#include "door/mcp/feature/relayed_result.h"

/* Members of _meta that are no hop's own. */
static void add_foreign_meta(cw_buf *out, const cw_json *meta)
{
    bool is_object = cw_json_is(meta, CW_JSON_OBJECT);
    for (const cw_json *k = is_object ? cw_json_first(meta) : NULL; k; k = cw_json_next_key(k)) {
        if (cw_str_starts(cw_json_text(k), CW_STR(CW_MCP_META(""))))
            continue;
        cw_json_escape(out, cw_json_text(k));
        cw_buf_add_char(out, ':');
        cw_buf_add(out, cw_json_span(cw_json_value(k)));
        cw_buf_add_char(out, ',');
    }
}

void cw_mcp_add_relayed_meta(cw_buf *out, const cw_mcp_era *era, const cw_json *meta)
{
    size_t begin = out->n;
    cw_buf_add(out, CW_STR(",\"_meta\":{"));
    size_t empty = out->n;
    add_foreign_meta(out, meta);
    if (era->is_modern)
        cw_buf_add(out, CW_STR(CW_MCP_SERVER_META "}"));
    else if (!out->code && out->n > empty)
        out->p[out->n - 1] = '}'; /* in place of the last comma */
    else
        out->n = begin;
}

void cw_mcp_write_relayed(cw_buf *out, const cw_mcp_era *era, const cw_json *result,
                          bool is_cacheable, cw_str id)
{
    static const char *const own[] = {"_meta", "resultType", "ttlMs", "cacheScope"};
    const cw_json *ttl = cw_json_get(result, CW_STR("ttlMs"));
    uint64_t ms = 0;
    char separator = '{';
    cw_rpc_open_result(out);
    for (const cw_json *k = cw_json_first(result); k; k = cw_json_next_key(k)) {
        size_t i = 0;
        while (i < CW_COUNT(own) && !cw_str_is(cw_json_text(k), own[i]))
            i++;
        if (i < CW_COUNT(own))
            continue;
        cw_buf_add_char(out, separator);
        cw_json_escape(out, cw_json_text(k));
        cw_buf_add_char(out, ':');
        cw_buf_add(out, cw_json_span(cw_json_value(k)));
        separator = ',';
    }
    if (is_cacheable && era->is_modern) {
        (void)(ttl && cw_json_to_u64(ttl, &ms));
        cw_buf_printf(out, ",\"ttlMs\":%llu,\"cacheScope\":\"private\"", (unsigned long long)ms);
    }
    cw_mcp_add_relayed_meta(out, era, cw_json_get(result, CW_STR("_meta")));
    cw_buf_add(out, era->is_modern ? CW_STR(",\"resultType\":\"complete\"}") : CW_STR("}"));
    cw_rpc_close(out, id);
}
