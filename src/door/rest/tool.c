/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tool.c - /mcp/tools/{name}: JSON-RPC with one method.
 *
 * Whether the caller may use the tool is asked before its message is read, so that
 * a client learns that it must log in however it asks. What a message names is
 * checked against the address (door/jsonrpc/jsonrpc.c): nothing else can be run through it.
 */
#include "door/jsonrpc/jsonrpc.h"
#include "door/rest/reply.h"

/* cw_call_find records what it refuses; the requirements of the method itself are checked here. */
static void audit_refusal(const cw_http_req *req, cw_runtime_loop *rl, const cw_view *view,
                          cw_verdict verdict)
{
    cw_call_audit_refused(rl, &(cw_refusal_record){.view = view,
                                                   .door = "rest",
                                                   .peer = cw_http_req_peer(req),
                                                   .name = cw_http_req_param(req),
                                                   .verdict = verdict});
}

static void run(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    (void)self;
    cw_call_lookup lookup = {
        .view = view, .may_wait = true, .in = CW_FIND_TOOL, .name = cw_http_req_param(req)};
    cw_call_found found;
    cw_code rc = cw_rest_find(req, rl, lookup, &found);
    if (rc == CW_AGAIN) {
        if (cw_rest_wait_catalogue(req, rl, view, run))
            return;
        lookup.may_wait = false;
        rc = cw_rest_find(req, rl, lookup, &found);
    }
    if (rc == CW_DECLINED) {
        cw_door_refuse_all(req, &cw_door_jsonrpc, rl, view, found.verdict, NULL);
        return;
    }
    if (rc) {
        cw_door_reply_error_all(req, &cw_door_jsonrpc,
                                &(cw_door_error){.status = 404, .code = CW_RPC_METHOD});
        return;
    }
    const cw_entry *entry = found.entry;
    cw_verdict verdict = cw_view_verdict(view, entry);
    if (verdict != CW_VERDICT_ALLOW) {
        audit_refusal(req, rl, view, verdict);
        cw_door_refuse_all(req, &cw_door_jsonrpc, rl, view, verdict, &entry->method->needs);
        return;
    }
    cw_jsonrpc_receive(req, &(cw_jsonrpc_in){.rl = rl,
                                             .view = view,
                                             .only = entry,
                                             .is_get = cw_http_req_method(req) != CW_HTTP_POST});
}

void cw_rest_on_tool(cw_http_req *req, void *runtime)
{
    cw_authenticate(req, runtime, &cw_authenticate_jsonrpc, run, runtime);
}
