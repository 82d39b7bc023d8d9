/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call_log.c - the lines of a call in the log, and the choice of calls that are logged in full.
 *
 * log.calls writes one line at the end of each call. log.focus marks the ids of a call (base/ids.h);
 * then every line about it is written, at any level.
 */
#include "base/log.h"

#include "base/clock.h"
#include "call/call_int.h"
#include "json/json.h"
#include "metrics/metrics.h"

/* ---- focus ---- */

static bool has(const cw_config_strings *names, cw_str name)
{
    for (size_t i = 0; i < names->n; i++) {
        if (cw_str_eq(names->items[i], name))
            return true;
    }
    return false;
}

static bool is_named(const cw_config_focus *f, const cw_call_request *request)
{
    const cw_entry *entry = request->entry;
    const cw_caller *caller = cw_view_caller(request->view);
    cw_str name = cw_caller_is_anonymous(caller) ? CW_STR("anonymous") : cw_caller_name(caller);
    return has(&f->tools, entry->method->id) || has(&f->tools, entry->tool_name) ||
           has(&f->sources, entry->method->source->name) || has(&f->callers, name);
}

void cw_call_set_focus(const cw_runtime_loop *rl, const cw_call_request *request)
{
    const cw_config_focus *f = &cw_runtime_config(rl)->log.focus;
    cw_ids *ids = cw_ids_current();
    if (CW_LIKELY(!f->tools.n && !f->sources.n && !f->callers.n) || !ids)
        return;
    ids->is_focused = is_named(f, request);
}

/* ---- problems ---- */

/* A source that fails causes a line for each call, so each source has its share of them. */
static cw_log_kind failed_kind = CW_LOG_KIND(CW_LOG_WARN, "call", "call failed", "source");
static cw_log_kind broken_kind = CW_LOG_KIND(CW_LOG_ERROR, "call", "call failed", "source");
static cw_log_kind withheld_kind =
    CW_LOG_KIND(CW_LOG_WARN, "call", "error details withheld from the caller", "source");
static cw_log_kind unstarted_kind = CW_LOG_KIND(CW_LOG_WARN, "call", "call not started", "source");

static void log_failure(const cw_exchange *ex, const cw_outcome *outcome)
{
    bool is_grave = outcome->fault == CW_FAULT_DIED || outcome->fault == CW_FAULT_PROTOCOL ||
                    outcome->fault == CW_FAULT_NOMEM || outcome->fault == CW_FAULT_SCHEMA;
    cw_str source = ex->active->source->name;
    cw_log_limited(is_grave ? &broken_kind : &failed_kind, source, CW_KV("source", source),
                   CW_KV("method", ex->call.method->id),
                   CW_KV("fault", cw_str_from(cw_call_fault_name(outcome->fault))),
                   CW_KV("error", outcome->message),
                   CW_KV("detail", outcome->detail.p ? outcome->detail : CW_STR("")));
}

/* Logs the part of a method's error that the caller does not see. */
static void log_scrubbed(const cw_exchange *ex, const cw_outcome *outcome)
{
    cw_str source = ex->active->source->name;
    cw_log_limited(&withheld_kind, source, CW_KV("source", source),
                   CW_KV("method", ex->call.method->id), CW_KV("detail", outcome->detail));
}

void cw_call_log_unstarted(const cw_method *method, const char *why)
{
    cw_str source = method->source->name;
    cw_log_limited(&unstarted_kind, source, CW_KV("source", source), CW_KV("method", method->id),
                   CW_KV("error", cw_str_from(why)));
}

void cw_call_log_problem(const cw_exchange *ex, const cw_outcome *outcome)
{
    if (outcome->kind == CW_OUTCOME_FAILED)
        log_failure(ex, outcome);
    else if (outcome->detail.n)
        log_scrubbed(ex, outcome);
}

/* ---- the line of a call ---- */

static cw_log_level level_of(const cw_runtime_loop *rl)
{
    return cw_runtime_config(rl)->log.calls ? CW_LOG_INFO : CW_LOG_DEBUG;
}

/* Fields that the first and the last line of a call share; the caller may be left out. */
#define COMMON(ex)                                                                                 \
    CW_KV("door", cw_str_from((ex)->door_name)), CW_KV("method", (ex)->call.method->id),           \
        tool_field(ex), CW_KV("source", (ex)->active->source->name)

static cw_log_field left_out(void)
{
    return (cw_log_field){.key = ""};
}

static cw_log_field tool_field(const cw_exchange *ex)
{
    cw_str name = ex->entry->tool_name;
    return name.n ? CW_KV("tool", name) : left_out();
}

static cw_log_field caller_field(const cw_exchange *ex)
{
    bool is_shown = cw_runtime_config(ex->rl)->log.callers;
    const cw_caller *caller = cw_view_caller(ex->view);
    return is_shown ? CW_KV("caller", cw_caller_name(caller)) : left_out();
}

/* A name of a list of our own, by its label and one. */
static cw_log_field label_field(const char *key, cw_metric metric, uint8_t label)
{
    return label ? CW_KV(key, cw_metrics_value_text(metric, 0, label - 1u)) : left_out();
}

void cw_call_log_begin(cw_exchange *ex, const cw_call_request *request)
{
    ex->door_name = request->door;
    ex->is_logged = cw_log_on(level_of(ex->rl), "call");
    if (CW_LIKELY(!ex->is_logged))
        return;
    cw_log(CW_LOG_DEBUG, "call", "call begins", COMMON(ex), caller_field(ex),
           CW_KN("bytes_in", ex->call.params.n));
}

static size_t size_of(const cw_outcome *outcome)
{
    const cw_json *value = outcome && outcome->kind == CW_OUTCOME_RESULT ? outcome->result : NULL;
    if (value && outcome->content && cw_json_is(value, CW_JSON_NULL))
        value = outcome->content;
    return value ? cw_json_span(value).n : 0;
}

void cw_call_log_end(const cw_exchange *ex, const cw_outcome *outcome)
{
    static const char *const names[] = {"ok", "error", "failed", "asks"};
    const cw_source_call *call = &ex->call;
    if (CW_LIKELY(!ex->is_logged))
        return;
    bool is_error = outcome && outcome->kind == CW_OUTCOME_ERROR;
    bool has_failed = outcome && outcome->kind == CW_OUTCOME_FAILED;
    cw_log(level_of(ex->rl), "call", "call", COMMON(ex), caller_field(ex),
           CW_KV("outcome", cw_str_from(outcome ? names[outcome->kind] : "cancelled")),
           is_error ? CW_KN("code", outcome->code) : left_out(),
           has_failed ? CW_KV("fault", cw_str_from(cw_call_fault_name(outcome->fault)))
                      : left_out(),
           CW_KN("us", (cw_clock_ns() - ex->entered_ns) / 1000),
           CW_KN("source_us", (call->ended_ns - call->begun_ns) / 1000),
           CW_KN("queue_us", call->queue_ns / 1000), CW_KN("bytes_in", call->params.n),
           CW_KN("bytes_out", size_of(outcome)),
           label_field("protocol", CW_METRIC_MCP_MESSAGES, ex->ids.protocol),
           label_field("client", CW_METRIC_MCP_CLIENTS, ex->ids.client));
}
