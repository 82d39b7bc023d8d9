/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/fair_key.h"
#include "base/clock.h"
#include "call/arguments.h"
#include "call/call_int.h"

static cw_code decline(cw_verdict verdict, const cw_call_request *request, cw_call_error *refusal)
{
    cw_log(CW_LOG_INFO, "call", "call refused", CW_KV("method", request->entry->method->id),
           CW_KV("caller", cw_caller_name(cw_view_caller(request->view))),
           CW_KV("verdict", cw_str_from(cw_call_audit_verdict(verdict))));
    refusal->verdict = verdict == CW_VERDICT_HIDDEN ? CW_VERDICT_FORBIDDEN : verdict;
    return CW_DECLINED;
}

static cw_code fail_source(cw_code rc, const cw_call_request *request, cw_call_error *refusal)
{
    const cw_method *method = request->entry->method;
    cw_log(CW_LOG_WARN, "call", "call not started", CW_KV("source", method->source->name),
           CW_KV("method", method->id), CW_KV("message", cw_str_from(refusal->err.msg)));
    return rc == CW_NOMEM ? CW_NOMEM : CW_IO;
}

static cw_code keep_extras(cw_exchange *ex, cw_str extras, cw_err *err)
{
    ex->call.extras = CW_STR("");
    if (extras.n == 0)
        return CW_OK;
    ex->call.extras = cw_arena_dup_str(&ex->arena, extras);
    return ex->call.extras.p ? CW_OK : cw_arena_fail(&ex->arena, err);
}

static cw_code validate(cw_exchange *ex, const cw_call_request *request, const cw_arguments *bound,
                        cw_err *err)
{
    int64_t most = cw_wasted_work_ceiling(ex->rl, request->peer);
    if (request->steps && *request->steps < most)
        most = *request->steps;
    int64_t left = most;
    cw_code rc = cw_validate_arguments(ex, request->entry, bound, &left, err);
    if (request->steps)
        *request->steps -= most - left;
    if (CW_UNLIKELY(rc == CW_PARAMS))
        cw_wasted_work_add(ex->rl, request->peer, most - left);
    return rc;
}

/* Fill the exchange; what it has then is given back by cw_exchange_put. */
static cw_code prepare(cw_exchange *ex, const cw_call_request *request, cw_call_error *refusal)
{
    cw_runtime_loop *rl = ex->rl;
    const cw_method *method = request->entry->method;
    cw_arguments bound = {0};
    ex->entry = request->entry;
    if (CW_UNLIKELY(request->problem))
        return cw_fail(&refusal->err, CW_PARAMS, "%s", request->problem);
    bool ignore_unknown = cw_runtime_settings_of(rl)->ignore_unknown_arguments;
    cw_code rc = CW_OK;
    if (request->is_completion)
        bound = (cw_arguments){.text = CW_STR("{}")};
    else
        rc = cw_arguments_bind(method, request->params, ignore_unknown, &ex->arena, &bound,
                               &refusal->err);
    refusal->lacks_required = bound.lacks_required;
    if (!rc && !request->is_completion)
        rc = validate(ex, request, &bound, &refusal->err);
    /* Now rather than later, so that nothing is run whose result could not be checked. */
    if (!rc && !request->is_completion)
        rc = cw_method_schemas_result(request->entry->schemas, method, &ex->output, &refusal->err);
    if (!rc)
        rc = keep_extras(ex, request->extras, &refusal->err);
    if (rc)
        return rc == CW_PARAMS ? CW_PARAMS : CW_NOMEM;
    ex->source_entry = cw_active_source_enter(rl, method->source);
    if (!ex->source_entry)
        return cw_fail_nomem(&refusal->err);
    ex->view = cw_view_ref(request->view);
    ex->waiter = request->sink;
    ex->can_elicit = request->can_elicit;
    ex->call.method = method;
    ex->call.params = bound.text;
    ex->call.arguments = bound.values;
    ex->call.caller = cw_view_caller(request->view);
    ex->call.peer = request->peer;
    ex->call.wants_progress = request->wants_progress;
    return CW_OK;
}

static cw_code detach(cw_exchange *ex, const cw_caller *caller, cw_str peer, uint32_t *retry_s,
                      cw_err *err)
{
    cw_fair_key key = cw_caller_fair_key(caller, peer);
    return cw_limiter_detach(cw_runtime_limiter(ex->rl), &cw_runtime_settings_of(ex->rl)->limits,
                             &key, &ex->place, retry_s, err);
}

/* One that comes too often, or of which too many run, is refused before anything is done for it. */
static cw_code enter(cw_exchange *ex, const cw_call_request *request, cw_call_error *refusal)
{
    const cw_rate_limits *limits = &cw_runtime_settings_of(ex->rl)->limits;
    if (CW_LIKELY(!limits->is_any && request->sink))
        return CW_OK;
    cw_code rc = CW_OK;
    if (limits->is_any)
        rc = cw_limiter_enter(cw_runtime_limiter(ex->rl), limits, request, cw_clock_ns(),
                              &ex->place, &refusal->retry_s, &refusal->err);
    if (!rc && !request->sink)
        rc = detach(ex, cw_view_caller(request->view), request->peer, &refusal->retry_s,
                    &refusal->err);
    if (rc)
        cw_log(CW_LOG_INFO, "call", "call refused", CW_KV("method", request->entry->method->id),
               CW_KV("caller", cw_caller_name(cw_view_caller(request->view))),
               CW_KV("verdict", CW_STR("too many")));
    return rc;
}

/* Whether one more call may run: one caller must not have all places. The call is counted. */
static bool is_room(cw_exchange *ex, const cw_call_request *request)
{
    cw_runtime_loop *rl = ex->rl;
    uint32_t max = cw_runtime_settings_of(rl)->calls;
    if (CW_LIKELY(rl->n_running <= max / 2))
        return true;
    if (rl->n_running > max)
        return false;
    cw_fair_key key = cw_caller_fair_key(cw_view_caller(request->view), request->peer);
    uint32_t left = max - rl->n_running + 1;
    return cw_limiter_enter_crowded(&rl->crowd, &key, left, &ex->place) == CW_OK;
}

static cw_code start(cw_runtime_loop *rl, const cw_call_request *request, cw_call_handle *ret,
                     cw_call_error *refusal)
{
    cw_verdict verdict = cw_view_call_verdict(request->view);
    if (verdict == CW_VERDICT_ALLOW)
        verdict = cw_view_verdict(request->view, request->entry);
    if (verdict != CW_VERDICT_ALLOW)
        return decline(verdict, request, refusal);
    refusal->fault = CW_FAULT_UNAVAILABLE;
    cw_exchange *ex = cw_exchange_take(rl);
    if (!ex)
        return cw_fail_nomem(&refusal->err);
    if (!is_room(ex, request)) {
        cw_exchange_put(ex);
        cw_fail(&refusal->err, CW_IO, "Too many calls are running.");
        return fail_source(CW_IO, request, refusal);
    }
    cw_code rc = enter(ex, request, refusal);
    if (!rc)
        rc = prepare(ex, request, refusal);
    if (rc) {
        cw_exchange_put(ex);
        return rc;
    }
    cw_call_audit_begin(ex, request);
    rc = cw_exchange_start(ex, ret, &refusal->fault, &refusal->err);
    return rc ? fail_source(rc, request, refusal) : CW_OK;
}

cw_code cw_call_start(cw_runtime_loop *rl, const cw_call_request *request, cw_call_handle *ret,
                      cw_call_error *refusal)
{
    cw_code rc = start(rl, request, ret, refusal);
    if (rc)
        cw_call_audit_refusal(rl, request, rc, refusal);
    return rc;
}

void cw_call_cancel(cw_runtime_loop *rl, cw_call_handle handle)
{
    cw_exchange *ex = cw_exchange_find(rl, handle);
    if (!ex || ex->state == CW_EXCHANGE_FINISHING)
        return;
    ex->waiter = NULL;
    if (ex->state == CW_EXCHANGE_STARTING)
        ex->was_cancelled = true;
    else
        cw_exchange_cancel(ex);
}

void cw_call_detach(cw_runtime_loop *rl, cw_call_handle handle, cw_str peer)
{
    uint32_t retry_s;
    cw_exchange *ex = cw_exchange_find(rl, handle);
    if (!ex || ex->state == CW_EXCHANGE_FINISHING)
        return;
    if (detach(ex, ex->call.caller, peer, &retry_s, NULL) == CW_OK) {
        ex->waiter = NULL;
        return;
    }
    cw_log(CW_LOG_INFO, "call", "call cancelled: too many run whose client left",
           CW_KV("method", ex->call.method->id), CW_KV("caller", cw_caller_name(ex->call.caller)));
    cw_call_cancel(rl, handle);
}

cw_code cw_call_may_list(cw_runtime_loop *rl, const cw_view *view, cw_str peer,
                         cw_call_error *refusal)
{
    const cw_rate_limits *limits = &cw_runtime_settings_of(rl)->limits;
    const cw_caller *caller = cw_view_caller(view);
    if (CW_LIKELY(!limits->lists.interval_ns))
        return CW_OK;
    cw_code rc = cw_limiter_may_list(cw_runtime_limiter(rl), limits, caller, peer, cw_clock_ns(),
                                     &refusal->retry_s, &refusal->err);
    if (rc)
        cw_log(CW_LOG_INFO, "call", "list refused", CW_KV("caller", cw_caller_name(caller)),
               CW_KV("address", peer), CW_KV("verdict", CW_STR("too many")));
    return rc;
}
