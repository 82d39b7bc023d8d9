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

static void fail_unknown(const cw_mcp_request *r, cw_str name)
{
    cw_mcp_fail_unknown(r, "tool", name);
}

/* One text can be the name of one tool and the alias of another: the client means the one that its
 * list shows. */
static cw_find_in names_of(const cw_mcp_request *r)
{
    if (r->session->profile & CW_MCP_STRICT_NAMES)
        return CW_FIND_ALIAS_OR_TOOL;
    return cw_mcp_has_aliases(cw_mcp_config(r->rl)) ? CW_FIND_TOOL_OR_ALIAS : CW_FIND_TOOL;
}

typedef struct parked {
    cw_mcp_request r;
    cw_mcp_session session;
} parked;

static void call_again(cw_rpc_item *item, void *ctx)
{
    parked *p = ctx;
    p->r.view = item->batch->opts.view;
    cw_mcp_call_tool(&p->r);
}

/* Its source may still be being loaded. */
static bool wait_for_tool(const cw_mcp_request *r)
{
    parked *p = cw_arena_alloc(r->responder->arena, sizeof *p);
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
                                           .same = CW_FIND_SAME_TOOL,
                                           .fail_unknown = fail_unknown};
    const cw_json *name = cw_json_get(r->params, CW_STR("name"));
    const cw_json *arguments = cw_json_get(r->params, CW_STR("arguments"));
    if (!cw_mcp_may(r, /* discovers= */ false))
        return;
    const char *problem = NULL;
    if (!cw_json_is(name, CW_JSON_STRING))
        problem = "name must be a string";
    else if (arguments && !cw_json_is(arguments, CW_JSON_OBJECT))
        problem = "arguments must be an object";
    if (problem) {
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, problem);
        return;
    }
    cw_call_found found;
    cw_call_lookup lookup = {.in = names_of(r), .name = cw_json_text(name), .may_wait = true};
    cw_code rc = cw_mcp_find(r, lookup, &found);
    if (rc == CW_AGAIN) {
        if (wait_for_tool(r))
            return;
        lookup.may_wait = false;
        rc = cw_mcp_find(r, lookup, &found);
    }
    if (rc) {
        fail_unknown(r, cw_json_text(name));
        return;
    }
    const cw_entry *entry = found.entry;
    /* A refusal of the gate comes before one of the headers. */
    if (entry->is_mirrored && r->era->has_mirrors &&
        cw_view_verdict(r->view, entry) == CW_VERDICT_ALLOW &&
        !cw_mcp_check_param_headers(r, entry->method, arguments))
        return;
    cw_mcp_start(
        r, &(cw_mcp_target){
               .kind = &kind, .entry = entry, .params = arguments, .name = cw_json_text(name)});
}
