/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tool.c - /mcp/tools/{name}: JSON-RPC with one method.
 *
 * Whether the caller may use the tool is asked before its message is read, so that
 * a client learns that it must log in however it asks. What a message names is
 * checked against the address (door/jsonrpc/jsonrpc.c): nothing else can be run through it.
 */
#include "door/jsonrpc/jsonrpc.h"
#include "door/rest/reply.h"
#include "door/rpc_batch.h"
#include "door/rpc_message.h"

#define NULL_ID CW_STR("null")

static void reply(cw_http_req *req, unsigned status, cw_buf *body, cw_str challenge)
{
    cw_str kept = cw_rpc_batch_keep(req, body);
    cw_rpc_batch_reply(req, kept.p ? status : 500, kept.p ? kept : CW_STR(CW_MESSAGE_FAILURE),
                       kept.p ? challenge : CW_STR(""));
}

static void refuse(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, cw_verdict verdict,
                   const cw_requirements *needs)
{
    cw_challenge_input refused = {
        .rl = rl, .req = req, .view = view, .verdict = verdict, .needs = needs};
    cw_challenge refusal;
    cw_buf b;
    if (cw_challenge_make(&refused, cw_http_req_arena(req), &refusal)) {
        cw_rpc_batch_reply(req, 500, CW_STR(CW_MESSAGE_FAILURE), CW_STR(""));
        return;
    }
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_rpc_error(&b, CW_CHALLENGE_CODE, cw_str_from(refusal.message), refusal.data, NULL_ID);
    reply(req, refusal.status, &b, refusal.challenge);
}

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
        refuse(req, rl, view, found.verdict, NULL);
        return;
    }
    if (rc) {
        cw_buf b;
        cw_buf_init(&b, SIZE_MAX / 2);
        cw_rpc_fail(&b, CW_RPC_METHOD, CW_STR(""), NULL_ID);
        reply(req, 404, &b, CW_STR(""));
        return;
    }
    const cw_entry *entry = found.entry;
    cw_verdict verdict = cw_view_verdict(view, entry);
    if (verdict != CW_VERDICT_ALLOW) {
        audit_refusal(req, rl, view, verdict);
        refuse(req, rl, view, verdict, &entry->method->needs);
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
