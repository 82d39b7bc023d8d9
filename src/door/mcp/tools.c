/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "door/mcp/list.h"

/* ---- tools/list ---- */

void cw_mcp_list_tools(const cw_mcp_request *r)
{
    static const cw_mcp_list tools = {CW_VIEW_TOOLS, CW_STR_INIT("tools"), cw_tool_write_mcp};
    cw_mcp_reply_list(r, &tools);
}

/* ---- tools/call ---- */

static void answer_problem(cw_rpc_item *item, const cw_mcp_era *era, cw_code rc, const char *text)
{
    cw_buf b;
    (void)rc;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_mcp_write_problem(&b, era, cw_str_from(text), item->id);
    cw_rpc_item_reply(item, 200, &b, CW_STR(""));
}

static const cw_entry *find_again(const cw_view *view, const cw_mcp_target *job)
{
    return cw_view_find_tool(view, job->entry->tool_name);
}

static void refuse_unknown(const cw_mcp_request *r, cw_str name)
{
    cw_mcp_refuse_unknown(r, "tool", name);
}

/* By its name, or by the alias that some clients know it by. One text can be both, of two tools:
 * the client means what its list has. */
static const cw_entry *find_tool(const cw_mcp_request *r, cw_str name)
{
    const cw_rpc_batch_opts *opts = &r->item->batch->opts;
    bool is_alias = (r->session->profile & CW_MCP_STRICT_NAMES) != 0;
    const cw_entry *entry = is_alias ? cw_view_find_alias(opts->view, name) : NULL;
    if (!entry)
        entry = cw_view_find_tool(opts->view, name);
    if (entry || is_alias || !cw_mcp_has_aliases(cw_mcp_config(opts->rl)))
        return entry;
    return cw_view_find_alias(opts->view, name);
}

typedef struct parked {
    cw_mcp_request r;
    cw_mcp_session session;
} parked;

static void call_again(cw_rpc_item *item, void *ctx)
{
    const parked *p = ctx;
    (void)item;
    cw_mcp_call_tool(&p->r);
}

/* Its source may still be being loaded. */
static bool wait_for_tool(const cw_mcp_request *r)
{
    bool is_loading = cw_runtime_settings_of(r->item->batch->opts.rl)->is_loading;
    parked *p = is_loading ? cw_arena_alloc(r->responder->arena, sizeof *p) : NULL;
    if (!p)
        return false;
    *p = (parked){.r = *r, .session = *r->session};
    p->r.session = &p->session;
    return cw_rpc_item_wait_catalogue(r->item, call_again, p);
}

void cw_mcp_call_tool(const cw_mcp_request *r)
{
    static const cw_mcp_target_ops kind = {.write = cw_mcp_write_outcome,
                                           .refuse = answer_problem,
                                           .find = find_again,
                                           .refuse_unknown = refuse_unknown};
    const cw_rpc_batch_opts *opts = &r->item->batch->opts;
    const cw_json *name = cw_json_get(r->params, CW_STR("name"));
    const cw_json *arguments = cw_json_get(r->params, CW_STR("arguments"));
    cw_verdict verdict = cw_view_call_verdict(opts->view);
    if (verdict != CW_VERDICT_ALLOW) {
        cw_mcp_refuse(r->item, verdict, NULL);
        return;
    }
    const char *problem = NULL;
    if (!cw_json_is(name, CW_JSON_STRING))
        problem = "name must be a string";
    else if (arguments && !cw_json_is(arguments, CW_JSON_OBJECT))
        problem = "arguments must be an object";
    if (problem) {
        cw_mcp_fail(r->item, 200, CW_RPC_PARAMS, problem);
        return;
    }
    const cw_entry *entry = find_tool(r, cw_json_text(name));
    if (!entry && wait_for_tool(r))
        return;
    if (!entry) {
        refuse_unknown(r, cw_json_text(name));
        return;
    }
    /* Whom the gate refuses hears that first. */
    if (entry->is_mirrored && r->era->has_mirrors &&
        cw_view_verdict(opts->view, entry) == CW_VERDICT_ALLOW &&
        !cw_mcp_check_param_headers(r, entry->method, arguments))
        return;
    cw_mcp_start(
        r, &(cw_mcp_target){
               .kind = &kind, .entry = entry, .params = arguments, .name = cw_json_text(name)});
}
