/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit_calls.c - what the audit is told of calls: each once, when it is refused or when it
 * ends. */
#include "base/clock.h"
#include "base/utf8.h"
#include "call/call_int.h"

static cw_str name_of(const cw_entry *entry)
{
    bool is_other = entry->tool_name.n && !cw_str_eq(entry->tool_name, entry->method->id);
    return is_other ? entry->tool_name : CW_STR("");
}

/* What is the same for a call that runs and for one that is refused. */
static cw_audit_record begin_record(const cw_view *view, const cw_entry *entry)
{
    const cw_caller *caller = cw_view_caller(view);
    return (cw_audit_record){.kind = CW_AUDIT_CALL,
                             .caller = cw_caller_name(caller),
                             .caller_id = cw_caller_id(caller),
                             .method = entry->method->id,
                             .tool = name_of(entry)};
}

void cw_call_audit_begin(cw_exchange *ex, const cw_call_request *request)
{
    cw_call_audit *record = &ex->record;
    record->is_on = cw_audit_is_on(cw_runtime_audit(ex->rl));
    if (!record->is_on)
        return;
    record->begun = cw_clock_ns();
    record->door = request->door;
    record->has_hash = request->params != NULL;
    if (record->has_hash)
        cw_audit_hash(cw_json_span(request->params), record->hash);
    /* The request may be gone before the call is over. Without memory it has no address. */
    record->address = CW_STR("");
    if (request->peer.n)
        record->address = cw_arena_dup_str(&ex->arena, request->peer);
    if (!record->address.p)
        record->address = CW_STR("");
    record->is_completion = request->is_completion;
}

void cw_call_audit_end(const cw_exchange *ex, const cw_outcome *outcome)
{
    static const char *const names[] = {"ok", "error", "failed", "asks"};
    const cw_call_audit *record = &ex->record;
    cw_audit *audit = cw_runtime_audit(ex->rl);
    if (!record->is_on)
        return;
    cw_audit_record r = begin_record(ex->view, ex->entry);
    r.door = record->door;
    r.address = record->address;
    r.outcome = outcome ? names[outcome->kind] : "cancelled";
    r.us = (cw_clock_ns() - record->begun) / 1000;
    r.has_us = true;
    r.arguments_hash = record->has_hash ? record->hash : NULL;
    if (record->has_hash && cw_audit_arguments(audit))
        r.arguments = ex->call.params;
    if (record->is_completion)
        r.detail = CW_STR("completion");
    if (outcome && outcome->kind == CW_OUTCOME_ERROR) {
        r.has_code = true;
        r.code = outcome->code;
    }
    if (outcome && outcome->kind == CW_OUTCOME_FAILED)
        r.detail = cw_str_from(cw_exchange_fault_name(outcome->fault));
    cw_audit_add(audit, &r);
}

const char *cw_call_audit_verdict(cw_verdict verdict)
{
    static const char *const names[] = {"allow", "hidden", "login", "forbidden", "scopes"};
    return names[verdict];
}

void cw_call_audit_refusal(cw_runtime_loop *rl, const cw_call_request *request, cw_code rc,
                           const cw_call_error *refusal)
{
    cw_audit *audit = cw_runtime_audit(rl);
    unsigned char hash[CW_AUDIT_HASH];
    if (!cw_audit_is_on(audit))
        return;
    cw_audit_record r = begin_record(request->view, request->entry);
    r.door = request->door;
    r.address = request->peer;
    if (rc == CW_DECLINED) {
        r.kind = CW_AUDIT_REFUSAL;
        r.outcome = cw_call_audit_verdict(refusal->verdict);
    } else if (rc == CW_LIMIT) {
        r.kind = CW_AUDIT_REFUSAL;
        r.outcome = "too_many";
        r.detail = cw_str_from(refusal->err.msg);
    } else {
        r.outcome = rc == CW_PARAMS ? "invalid" : "unavailable";
    }
    if (request->params) {
        cw_audit_hash(cw_json_span(request->params), hash);
        r.arguments_hash = hash;
        if (cw_audit_arguments(audit))
            r.arguments = cw_json_span(request->params);
    }
    cw_audit_add(audit, &r);
}

void cw_call_audit_refused(cw_runtime_loop *rl, const cw_refusal_record *refused)
{
    cw_audit *audit = cw_runtime_audit(rl);
    const cw_caller *caller = cw_view_caller(refused->view);
    cw_str name = cw_str_make(refused->name.p, cw_utf8_cut(refused->name, CW_TOOL_NAME_MAX));
    cw_log(CW_LOG_INFO, "call", "call refused", CW_KV("method", name),
           CW_KV("caller", cw_caller_name(caller)),
           CW_KV("verdict", cw_str_from(cw_call_audit_verdict(refused->verdict))),
           CW_KV("door", cw_str_from(refused->door)));
    if (!cw_audit_is_on(audit))
        return;
    cw_audit_add(audit, &(cw_audit_record){.kind = CW_AUDIT_REFUSAL,
                                           .door = refused->door,
                                           .outcome = cw_call_audit_verdict(refused->verdict),
                                           .caller = cw_caller_name(caller),
                                           .caller_id = cw_caller_id(caller),
                                           .method = refused->name,
                                           .detail = refused->detail,
                                           .address = refused->peer});
}
