/* SPDX-License-Identifier: GPL-2.0-or-later */
/* count.c - calls in the metrics: outcomes, durations, refusals.
 *
 *     entered ─► begun ──────────► ended ─► answered
 *        overhead │  source's time   │  overhead
 *
 * The clock is read at `begun`, and at `ended` unless the source has read it. The other two are
 * readings that the loop made for other reasons.
 */
#include "base/clock.h"
#include "call/call_int.h"
#include "metrics/keep.h"
#include "metrics/metrics.h"
#include "metrics/recent.h"

/* A reading of the loop that is older than this belongs to another event. */
#define RECENT_NS UINT64_C(100000000)

static cw_str name_of(const cw_entry *entry)
{
    return entry->tool_name.n ? entry->tool_name : entry->method->id;
}

uint32_t cw_call_tool_slot(const cw_entry *entry)
{
    return entry->slot ? cw_metrics_cached(entry->slot, CW_METRICS_TOOL, name_of(entry)) : 0;
}

/* The calls of an operator who watches would displace the others. */
bool cw_call_is_watching(const cw_entry *entry)
{
    return cw_str_starts(entry->method->id, CW_STR("causeway."));
}

static void add_recent(const cw_view *view, const cw_ids *ids, cw_str name,
                       const cw_recent_call *call)
{
    const cw_caller *caller = cw_view_caller(view);
    if (cw_metrics_is_on())
        cw_recent_add(call, ids, name,
                      cw_caller_is_anonymous(caller) ? CW_STR("") : cw_caller_name(caller));
}

/* Doors are literals: the pointer of the last one is that of the same door. */
static uint32_t door_of(const char *door)
{
    CW_METRICS_THREAD_LOCAL const char *last;
    CW_METRICS_THREAD_LOCAL uint32_t label;
    if (CW_UNLIKELY(door != last)) {
        label = cw_metrics_value(CW_METRIC_OVERHEAD, 0, cw_str_from(door));
        last = door;
    }
    return label;
}

void cw_count_begin(cw_exchange *ex, const cw_call_request *request)
{
    ex->call.begun_ns = ex->call.ended_ns = 0;
    if (!cw_metrics_is_on() && !ex->record.is_on && !ex->is_logged)
        return;
    uint64_t now = cw_clock_ns(), recent = cw_loop_recent_ns(ex->rl->loop);
    ex->call.begun_ns = now;
    ex->entered_ns = now - recent < RECENT_NS ? recent : now;
    ex->door = door_of(request->door);
}

void cw_count_running(const cw_exchange *ex)
{
    if (ex->call.begun_ns)
        cw_metrics_count(CW_METRIC_RUNNING, cw_source_slot(ex->active->source), 0, 0);
}

static cw_metrics_outcome outcome_of(const cw_outcome *outcome)
{
    static const cw_metrics_outcome words[] = {
        [CW_OUTCOME_RESULT] = CW_OUTCOME_WORD_OK,
        [CW_OUTCOME_ERROR] = CW_OUTCOME_WORD_ERROR,
        [CW_OUTCOME_FAILED] = CW_OUTCOME_WORD_FAILED,
        [CW_OUTCOME_INPUT_REQUIRED] = CW_OUTCOME_WORD_ASKS,
    };
    return outcome ? words[outcome->kind] : CW_OUTCOME_WORD_CANCELLED;
}

static cw_metrics_attempt attempt_of_fault(cw_fault fault)
{
    switch (fault) {
    case CW_FAULT_TIMEOUT:
        return CW_ATTEMPT_TIMEOUT;
    case CW_FAULT_UNAVAILABLE:
        return CW_ATTEMPT_CONNECT;
    case CW_FAULT_FULL:
        return CW_ATTEMPT_QUEUE_FULL;
    case CW_FAULT_SCHEMA:
        return CW_ATTEMPT_OK; /* the source has answered */
    case CW_FAULT_NONE:
    case CW_FAULT_DIED:
    case CW_FAULT_PROTOCOL:
    case CW_FAULT_NOMEM:
        break;
    }
    return CW_ATTEMPT_BROKEN;
}

static cw_metrics_attempt attempt_of(const cw_outcome *outcome)
{
    if (!outcome)
        return CW_ATTEMPT_CANCELLED;
    if (outcome->kind == CW_OUTCOME_FAILED)
        return attempt_of_fault(outcome->fault);
    return outcome->kind == CW_OUTCOME_ERROR ? CW_ATTEMPT_ERROR : CW_ATTEMPT_OK;
}

static const char *reason_of(const cw_outcome *outcome)
{
    bool has_failed = outcome && outcome->kind == CW_OUTCOME_FAILED;
    return has_failed ? cw_call_fault_name(outcome->fault) : NULL;
}

void cw_count_end(cw_exchange *ex, const cw_outcome *outcome)
{
    if (!ex->call.begun_ns)
        return;
    if (!ex->call.ended_ns)
        ex->call.ended_ns = cw_clock_ns();
    cw_loop_set_recent(ex->rl->loop, ex->call.ended_ns);
    uint32_t source = cw_source_slot(ex->active->source), tool = cw_call_tool_slot(ex->entry);
    cw_metrics_exemplar exemplar;
    cw_metrics_end_call(&(cw_metrics_call){.source = source,
                                           .tool = tool,
                                           .door = ex->door,
                                           .attempt = attempt_of(outcome),
                                           .outcome = outcome_of(outcome),
                                           .ns = ex->call.ended_ns - ex->call.begun_ns},
                        cw_metrics_exemplar_of(ex->call.ids, ex->call.ended_ns, &exemplar));
    if (outcome && outcome->kind == CW_OUTCOME_FAILED && outcome->fault == CW_FAULT_SCHEMA)
        cw_metrics_count(CW_METRIC_SCHEMA_FAILURES, tool, CW_SIDE_RESULT, 0);
    cw_source_call_end_wait(&ex->call);
    if (!cw_call_is_watching(ex->entry))
        add_recent(ex->view, &ex->ids, name_of(ex->entry),
                   &(cw_recent_call){.at_ns = ex->call.ended_ns,
                                     .reason = reason_of(outcome),
                                     .us = (ex->call.ended_ns - ex->call.begun_ns) / 1000,
                                     .door = (uint8_t)ex->door,
                                     .outcome = (uint8_t)outcome_of(outcome)});
}

/* A door that answers at once has read the clock since the call ended. */
void cw_count_answered(const cw_exchange *ex)
{
    uint64_t recent = cw_loop_recent_ns(ex->rl->loop);
    if (ex->call.begun_ns)
        cw_metrics_observe(CW_METRIC_OVERHEAD, ex->door, 0, 0,
                           ex->call.begun_ns - ex->entered_ns + recent - ex->call.ended_ns, NULL);
}

static cw_metrics_outcome refused_word(cw_verdict verdict)
{
    static const cw_metrics_outcome words[] = {
        [CW_VERDICT_ALLOW] = CW_OUTCOME_WORD_OK,
        [CW_VERDICT_HIDDEN] = CW_OUTCOME_WORD_HIDDEN,
        [CW_VERDICT_NEEDS_LOGIN] = CW_OUTCOME_WORD_LOGIN,
        [CW_VERDICT_FORBIDDEN] = CW_OUTCOME_WORD_FORBIDDEN,
        [CW_VERDICT_NEEDS_SCOPES] = CW_OUTCOME_WORD_SCOPES,
    };
    return words[verdict];
}

void cw_count_refusal(const cw_call_request *request, cw_code rc, const cw_call_error *refusal)
{
    uint32_t door = door_of(request->door), tool = cw_call_tool_slot(request->entry);
    cw_metrics_outcome word = CW_OUTCOME_WORD_UNAVAILABLE;
    if (rc == CW_DECLINED)
        word = refused_word(refusal->verdict);
    else if (rc == CW_LIMIT)
        word = CW_OUTCOME_WORD_TOO_MANY;
    else if (rc == CW_PARAMS)
        word = CW_OUTCOME_WORD_INVALID;
    cw_metrics_count(CW_METRIC_CALLS, tool, door, word);
    cw_metrics_count(CW_METRIC_REFUSALS, door, word, 0);
    add_recent(request->view, cw_ids_current(), name_of(request->entry),
               &(cw_recent_call){.at_ns = cw_clock_ns(),
                                 .reason = rc == CW_IO ? cw_call_fault_name(refusal->fault) : NULL,
                                 .door = (uint8_t)door,
                                 .outcome = (uint8_t)word});
    if (rc == CW_PARAMS)
        cw_metrics_count(CW_METRIC_SCHEMA_FAILURES, tool, CW_SIDE_ARGUMENTS, 0);
    if (rc == CW_IO && refusal->fault == CW_FAULT_FULL)
        cw_metrics_count(CW_METRIC_RATE_LIMITED, CW_LIMITED_CALLS, 0, 0);
    if (rc == CW_IO)
        cw_metrics_count(CW_METRIC_SOURCE_ATTEMPTS, cw_source_slot(request->entry->method->source),
                         attempt_of_fault(refusal->fault), 0);
}

void cw_count_unknown(const cw_refusal_record *refused)
{
    uint32_t door = door_of(refused->door);
    cw_metrics_outcome word = refused_word(refused->verdict);
    cw_metrics_count(CW_METRIC_CALLS, 0, door, word);
    cw_metrics_count(CW_METRIC_REFUSALS, door, word, 0);
    add_recent(
        refused->view, cw_ids_current(), refused->name,
        &(cw_recent_call){.at_ns = cw_clock_ns(), .door = (uint8_t)door, .outcome = (uint8_t)word});
}
