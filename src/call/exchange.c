/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exchange.c - a running call from start to its one finish.
 *
 *     FREE ─take─► STARTING ─► RUNNING ─► FINISHING ─► FREE
 *                     │           │ done, deadline, end of the loop: the waiter is told
 *                     └─ refused  └ left: nobody is told
 *
 * Exchanges are pooled: a warm call allocates nothing here. A handle names slot and
 * generation; the generation changes before the waiter is told, so that nothing a
 * waiter does can reach a call that is over.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"
#include "call/call_int.h"

/* Sources cap their results (limits.answer_size); as a document one takes up to ten times that. */
#define ARENA_MAX ((size_t)16 * CW_JSON_MAX_BYTES)

#define CANNOT_ELICIT (-32021) /* a capability of the client is missing */
#define HARD_RESULT "The method returned a result that is too much work to validate."
#define BAD_RESULT "The method returned a result that does not match its declared schema."

/* ---- slots ---- */

static cw_exchange *grow_pool(cw_runtime_loop *rl)
{
    if (rl->n_slots == rl->cap_slots) {
        uint32_t cap = rl->cap_slots ? rl->cap_slots * 2 : 16;
        cw_exchange **slots = realloc(rl->slots, cap * sizeof *slots);
        if (!slots)
            return NULL;
        rl->slots = slots;
        rl->cap_slots = cap;
    }
    cw_exchange *ex = calloc(1, sizeof *ex);
    if (!ex)
        return NULL;
    cw_arena_init(&ex->arena, ARENA_MAX);
    ex->rl = rl;
    ex->generation = 1;
    ex->slot = rl->n_slots;
    rl->slots[rl->n_slots++] = ex;
    return ex;
}

cw_exchange *cw_exchange_take(cw_runtime_loop *rl)
{
    cw_exchange *ex = rl->free_exchanges;
    if (ex)
        rl->free_exchanges = ex->next_free;
    else
        ex = grow_pool(rl);
    if (!ex)
        return NULL;
    ex->state = CW_EXCHANGE_STARTING;
    ex->was_cancelled = false;
    rl->n_running++;
    return ex;
}

/* It runs no longer: its handle is nobody's, and another call may run in its place. */
static void give_up_place(cw_exchange *ex)
{
    if (++ex->generation == 0)
        ex->generation = 1;
    cw_limiter_leave(&ex->place);
    ex->rl->n_running--;
}

void cw_exchange_put(cw_exchange *ex)
{
    cw_runtime_loop *rl = ex->rl;
    cw_deadline_clear(&ex->deadline);
    cw_arena_reset(&ex->arena);
    if (ex->limit)
        cw_call_timeout_leave(rl, ex->limit);
    if (ex->source_entry)
        cw_active_source_leave(rl, ex->source_entry);
    ex->limit = NULL;
    cw_view_unref(ex->view);
    ex->source_entry = NULL;
    ex->view = NULL;
    ex->output = NULL;
    ex->waiter = NULL;
    if (ex->state != CW_EXCHANGE_FINISHING)
        give_up_place(ex);
    ex->state = CW_EXCHANGE_FREE;
    ex->next_free = rl->free_exchanges;
    rl->free_exchanges = ex;
}

cw_exchange *cw_exchange_find(const cw_runtime_loop *rl, cw_call_handle handle)
{
    if (handle.generation == 0 || handle.slot >= rl->n_slots)
        return NULL;
    cw_exchange *ex = rl->slots[handle.slot];
    return ex->generation == handle.generation && ex->state != CW_EXCHANGE_FREE ? ex : NULL;
}

/* ---- the end ---- */

const char *cw_exchange_fault_name(cw_fault fault)
{
    static const char *const names[] = {"none",     "unavailable",   "died",  "timeout",
                                        "protocol", "out of memory", "schema"};
    return names[fault];
}

static void log_failure(const cw_exchange *ex, const cw_outcome *outcome)
{
    bool is_grave = outcome->fault == CW_FAULT_DIED || outcome->fault == CW_FAULT_PROTOCOL ||
                    outcome->fault == CW_FAULT_NOMEM || outcome->fault == CW_FAULT_SCHEMA;
    cw_log(is_grave ? CW_LOG_ERROR : CW_LOG_WARN, "call", "call failed",
           CW_KV("source", ex->source_entry->source->name), CW_KV("method", ex->call.method->id),
           CW_KV("fault", cw_str_from(cw_exchange_fault_name(outcome->fault))),
           CW_KV("message", outcome->message),
           CW_KV("detail", outcome->detail.p ? outcome->detail : CW_STR("")));
}

/* What the caller does not see of the method's own error. */
static void log_scrubbed(const cw_exchange *ex, const cw_outcome *outcome)
{
    cw_log(CW_LOG_WARN, "call", "error passed on without its details",
           CW_KV("source", ex->source_entry->source->name), CW_KV("method", ex->call.method->id),
           CW_KV("detail", outcome->detail));
}

static void finish(cw_exchange *ex, const cw_outcome *outcome)
{
    cw_sink *waiter = ex->waiter;
    ex->state = CW_EXCHANGE_FINISHING;
    give_up_place(ex); /* before the waiter is told: it may call again */
    cw_deadline_clear(&ex->deadline);
    if (outcome->kind == CW_OUTCOME_FAILED)
        log_failure(ex, outcome);
    else if (outcome->detail.n)
        log_scrubbed(ex, outcome);
    cw_call_audit_end(ex, outcome);
    if (waiter)
        waiter->ops->done(waiter, outcome);
    cw_exchange_put(ex);
}

void cw_exchange_cancel(cw_exchange *ex)
{
    cw_source *source = ex->source_entry->source;
    source->ops->cancel(source, &ex->call);
    cw_call_audit_end(ex, NULL);
    cw_exchange_put(ex);
}

/* Its own where the method has one, else that of its source. */
static cw_call_timeout *limit_of(const cw_exchange *ex)
{
    return ex->limit ? ex->limit : ex->source_entry->limit;
}

/* Whether it was the call that took so long, or those before it. */
static void describe_timeout(const cw_exchange *ex, cw_err *ret)
{
    const cw_source_call *call = &ex->call;
    cw_str source = ex->source_entry->source->name;
    double seconds = limit_of(ex)->ms / 1000.0;
    uint64_t begun = cw_loop_now(ex->rl->loop) - limit_of(ex)->ms;
    if (call->is_waiting)
        cw_fail(ret, CW_TIMEOUT,
                "The call waited in the queue of '%.*s' for %g s and was not started.",
                CW_STR_ARG(source), seconds);
    else if (call->left_queue > begun)
        cw_fail(ret, CW_TIMEOUT,
                "The call took longer than %g s, of which it waited %g s in the queue of '%.*s'.",
                seconds, (double)(call->left_queue - begun) / 1000.0, CW_STR_ARG(source));
    else
        cw_fail(ret, CW_TIMEOUT, "The call took longer than %g s.", seconds);
}

void cw_exchange_on_deadline(cw_deadline *d)
{
    cw_exchange *ex = CW_CONTAINER(d, cw_exchange, deadline);
    cw_source *source = ex->source_entry->source;
    cw_err text;
    describe_timeout(ex, &text);
    source->ops->cancel(source, &ex->call);
    finish(ex, &(cw_outcome){.kind = CW_OUTCOME_FAILED,
                             .fault = CW_FAULT_TIMEOUT,
                             .message = cw_str_from(text.msg)});
}

void cw_exchange_end_all(cw_runtime_loop *rl)
{
    static const cw_outcome ended = {.kind = CW_OUTCOME_FAILED,
                                     .fault = CW_FAULT_UNAVAILABLE,
                                     .message = CW_STR_INIT("The server is stopping.")};
    for (uint32_t i = 0; i < rl->n_slots; i++) {
        if (rl->slots[i]->state == CW_EXCHANGE_RUNNING)
            finish(rl->slots[i], &ended);
    }
}

void cw_exchange_pool_done(cw_runtime_loop *rl)
{
    for (uint32_t i = 0; i < rl->n_slots; i++) {
        cw_arena_done(&rl->slots[i]->arena);
        free(rl->slots[i]);
    }
    free(rl->slots);
    rl->slots = NULL;
    rl->free_exchanges = NULL;
    rl->n_slots = rl->cap_slots = 0;
}

/* ---- what the source reports ---- */

static void on_progress(cw_sink *sink, const cw_progress *progress)
{
    cw_exchange *ex = CW_CONTAINER(sink, cw_exchange, sink);
    if (ex->state == CW_EXCHANGE_RUNNING && ex->waiter && ex->call.wants_progress)
        ex->waiter->ops->progress(ex->waiter, progress);
}

static void on_log(cw_sink *sink, cw_log_level level, cw_str message)
{
    cw_exchange *ex = CW_CONTAINER(sink, cw_exchange, sink);
    if (ex->state != CW_EXCHANGE_RUNNING)
        return;
    cw_log(level, "source", "logged", CW_KV("source", ex->source_entry->source->name),
           CW_KV("method", ex->call.method->id), CW_KV("text", message));
    if (ex->waiter)
        ex->waiter->ops->log(ex->waiter, level, message);
}

static void on_done(cw_sink *sink, const cw_outcome *outcome)
{
    cw_exchange *ex = CW_CONTAINER(sink, cw_exchange, sink);
    assert(ex->state == CW_EXCHANGE_RUNNING);
    static const cw_outcome cannot_elicit = {
        .kind = CW_OUTCOME_ERROR,
        .code = CANNOT_ELICIT,
        .message = CW_STR_INIT("This method asks its caller something, which cannot be answered "
                               "here. Call it as a tool through MCP.")};
    CW_UNINIT cw_err why;
    cw_code rc = CW_OK;
    if (outcome->kind == CW_OUTCOME_INPUT_REQUIRED && !ex->can_elicit) {
        finish(ex, &cannot_elicit);
        return;
    }
    /* A method that only made content has no result to check. */
    bool has_result = outcome->kind == CW_OUTCOME_RESULT &&
                      !(outcome->content && cw_json_is(outcome->result, CW_JSON_NULL));
    if (has_result && ex->output)
        rc = cw_validate_result(ex, outcome->result, &why);
    if (!rc) {
        finish(ex, outcome);
        return;
    }
    /* What it is and what is wrong with it stay here, in the log. */
    cw_outcome refused = {.kind = CW_OUTCOME_FAILED,
                          .fault = CW_FAULT_SCHEMA,
                          .message = CW_STR(BAD_RESULT),
                          .detail = cw_str_from(why.msg)};
    if (rc == CW_LIMIT)
        refused.message = CW_STR(HARD_RESULT);
    if (rc == CW_NOMEM) {
        refused.fault = CW_FAULT_NOMEM;
        refused.message = CW_STR("There is not enough memory to check the result.");
    }
    finish(ex, &refused);
}

static cw_code enter_limit(cw_exchange *ex, cw_fault *fault, cw_err *err)
{
    uint32_t ms = ex->call.method->call_ms;
    if (ms == 0 || ms == ex->source_entry->source->call_ms)
        return CW_OK;
    ex->limit = cw_call_timeout_enter(ex->rl, ms);
    *fault = CW_FAULT_NOMEM;
    return ex->limit ? CW_OK : cw_fail_nomem(err);
}

cw_code cw_exchange_start(cw_exchange *ex, cw_call_handle *ret, cw_fault *fault, cw_err *err)
{
    static const cw_sink_ops ops = {on_progress, on_log, on_done};
    cw_runtime_loop *rl = ex->rl;
    cw_source *source = ex->source_entry->source;
    ex->sink.ops = &ops;
    ex->call.sink = &ex->sink;
    ex->call.arena = &ex->arena;
    ex->call.loop = rl->loop;
    ex->call.op = NULL;
    ex->call.is_waiting = false;
    ex->call.left_queue = 0;
    *ret = (cw_call_handle){ex->slot, ex->generation};
    cw_code rc = enter_limit(ex, fault, err);
    if (!rc)
        rc = source->ops->start(source, &ex->call, fault, err);
    if (rc) {
        cw_exchange_put(ex);
        *ret = (cw_call_handle){0};
        return rc;
    }
    ex->state = CW_EXCHANGE_RUNNING;
    if (ex->was_cancelled)
        cw_exchange_cancel(ex);
    else if (limit_of(ex)->ms)
        cw_loop_set_deadline(rl->loop, &ex->deadline, &limit_of(ex)->list);
    return CW_OK;
}
