/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call.c - one call: gate, rate limits, arguments, the running exchange, its audit record.
 *
 * An exchange is a running call. It lives in a slot of its loop, owns an arena and a reference to the
 * view, and ends in one finish().
 */
#include <assert.h>
#include <stdlib.h>

#include "access/fair_key.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/utf8.h"
#include "call/arguments.h"
#include "call/call_int.h"
#include "net/addr/network.h"

/* Sources cap their results (limits.max_result_size); as a document one takes up to ten times that. */
#define ARENA_MAX ((size_t)16 * CW_JSON_MAX_BYTES)

#define CANNOT_ELICIT (-32021) /* a capability of the client is missing */
#define HARD_RESULT "The method returned a result that is too much work to validate."
#define BAD_RESULT "The method returned a result that does not match its declared schema."

/* ---- audit ---- */

#define TASK_ID_SHOWN 10u /* digits: enough to tell tasks apart; the rest stays secret */

const char *cw_call_fault_name(cw_fault fault)
{
    static const char *const names[] = {"none",     "unavailable",   "died",   "timeout",
                                        "protocol", "out of memory", "schema", "unavailable"};
    return names[fault];
}

static cw_str name_of(const cw_entry *entry)
{
    bool is_other = entry->tool_name.n && !cw_str_eq(entry->tool_name, entry->method->id);
    return is_other ? entry->tool_name : CW_STR("");
}

/* The members that calls and refusals share. */
static cw_audit_record begin_record(const cw_view *view, const cw_entry *entry)
{
    const cw_caller *caller = cw_view_caller(view);
    return (cw_audit_record){.kind = entry->method->is_change ? CW_AUDIT_CHANGE : CW_AUDIT_CALL,
                             .is_anonymous = cw_caller_is_anonymous(caller),
                             .caller = cw_caller_name(caller),
                             .caller_id = cw_caller_id(caller),
                             .method = entry->method->id,
                             .tool = name_of(entry)};
}

/* The first params of an administration method, separated by spaces: the target of a change.
 * Without memory, or if one of them is no scalar, the rest is missing. */
static cw_str target_of(cw_exchange *ex)
{
    const cw_method *m = ex->entry->method;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, m->n_audited * (CW_AUDIT_MAX_NAME + 1u));
    for (size_t i = 0; i < m->n_audited && i < m->n_params; i++) {
        const cw_json *v = cw_json_is(ex->params, CW_JSON_ARRAY)
                               ? cw_json_at(ex->params, i)
                               : cw_json_get(ex->params, m->params[i].name);
        if (!cw_json_is(v, CW_JSON_STRING) && !cw_json_is(v, CW_JSON_NUMBER))
            break;
        cw_str value = cw_json_text(v);
        if (text.n)
            cw_buf_add_char(&text, ' ');
        cw_buf_add(&text, cw_str_make(value.p, cw_utf8_cut(value, CW_AUDIT_MAX_NAME)));
    }
    cw_str kept = text.n ? cw_arena_dup_str(&ex->arena, cw_buf_str(&text)) : CW_STR("");
    return kept.p ? kept : CW_STR("");
}

static void audit_begin(cw_exchange *ex, const cw_call_request *request)
{
    cw_call_audit *record = &ex->record;
    record->is_on = cw_audit_is_on(cw_runtime_audit(ex->rl));
    if (!record->is_on)
        return;
    record->door = request->door;
    record->has_hash = ex->params != NULL;
    if (record->has_hash)
        cw_audit_hash(cw_json_span(ex->params), record->hash);
    /* The request may be gone before the call is over. Without memory it has no address. */
    record->address = CW_STR("");
    if (request->peer.n)
        record->address = cw_arena_dup_str(&ex->arena, request->peer);
    if (!record->address.p)
        record->address = CW_STR("");
    record->is_completion = request->is_completion;
    record->target = ex->entry->method->n_audited ? target_of(ex) : CW_STR("");
}

static void audit_end(const cw_exchange *ex, const cw_outcome *outcome)
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
    r.us = (ex->call.ended_ns - ex->call.begun_ns) / 1000;
    r.has_us = true;
    r.arguments_hash = record->has_hash ? record->hash : NULL;
    if (ex->entry->method->is_secret)
        r.arguments_hash = NULL; /* a short secret could be found by its hash */
    else if (record->has_hash && cw_audit_arguments(audit))
        r.arguments = ex->call.params;
    r.detail = record->is_completion ? CW_STR("completion") : record->target;
    if (outcome && outcome->kind == CW_OUTCOME_ERROR) {
        r.has_code = true;
        r.code = outcome->code;
    }
    if (outcome && outcome->kind == CW_OUTCOME_FAILED)
        r.detail = cw_str_from(cw_call_fault_name(outcome->fault));
    cw_audit_add(audit, &r);
}

const char *cw_call_verdict_name(cw_verdict verdict)
{
    static const char *const names[] = {"allow", "hidden", "login", "forbidden", "scopes"};
    return names[verdict];
}

/* True: counted, as cw_audit_add. */
static bool audit_refusal(cw_runtime_loop *rl, const cw_call_request *request, cw_code rc,
                          const cw_call_error *refusal)
{
    cw_audit *audit = cw_runtime_audit(rl);
    unsigned char hash[CW_AUDIT_HASH];
    if (!cw_audit_is_on(audit))
        return false;
    cw_audit_record r = begin_record(request->view, request->entry);
    r.door = request->door;
    r.address = request->peer;
    if (rc == CW_DECLINED) {
        r.kind = CW_AUDIT_REFUSAL;
        r.outcome = cw_call_verdict_name(refusal->verdict);
    } else if (rc == CW_LIMIT) {
        r.kind = CW_AUDIT_REFUSAL;
        r.outcome = "too_many";
        r.detail = cw_str_from(refusal->err.msg);
    } else {
        r.outcome = rc == CW_PARAMS ? "invalid" : "unavailable";
    }
    if (request->params && !request->entry->method->is_secret) {
        cw_audit_hash(cw_json_span(request->params), hash);
        r.arguments_hash = hash;
        if (cw_audit_arguments(audit))
            r.arguments = cw_json_span(request->params);
    }
    return cw_audit_add(audit, &r);
}

/* A client can cause these lines as often as it sends requests, so each network has its share of
 * them. The audit limits the records of anonymous callers, with a line for each record. */
static cw_log_kind refused_kind = CW_LOG_KIND(CW_LOG_INFO, "call", "call refused", "network");
static cw_log_kind unlisted_kind = CW_LOG_KIND(CW_LOG_INFO, "call", "list refused", "network");

static void log_refused(const cw_audit *audit, const cw_caller *caller, cw_str peer,
                        const cw_log_field *fields)
{
    char network[CW_NETWORK_TEXT];
    if (cw_audit_is_on(audit) && cw_caller_is_anonymous(caller))
        cw_log_event(refused_kind.level, refused_kind.component, refused_kind.message, fields);
    else
        cw_log_limited_event(&refused_kind, cw_network_text(peer, 0, network), fields);
}

/* Calls that were not declined or too many are logged by their source. The verdict is set for
 * declined calls only. */
static void log_refusal(cw_runtime_loop *rl, const cw_call_request *request, cw_code rc,
                        const cw_call_error *refusal)
{
    if (rc != CW_DECLINED && rc != CW_LIMIT)
        return;
    const char *verdict = rc == CW_LIMIT ? "too many" : cw_call_verdict_name(refusal->verdict);
    const cw_caller *caller = cw_view_caller(request->view);
    const cw_log_field fields[] = {CW_KV("method", request->entry->method->id),
                                   CW_KV("caller", cw_caller_name(caller)),
                                   CW_KV("verdict", cw_str_from(verdict)),
                                   CW_KV("door", cw_str_from(request->door)),
                                   {0}};
    log_refused(cw_runtime_audit(rl), caller, request->peer, fields);
}

void cw_call_audit_refused(cw_runtime_loop *rl, const cw_refusal_record *refused)
{
    cw_audit *audit = cw_runtime_audit(rl);
    const cw_caller *caller = cw_view_caller(refused->view);
    cw_str name = cw_str_make(refused->name.p, cw_utf8_cut(refused->name, CW_TOOL_NAME_MAX));
    cw_audit_record r = {.kind = CW_AUDIT_REFUSAL,
                         .door = refused->door,
                         .is_anonymous = cw_caller_is_anonymous(caller),
                         .outcome = cw_call_verdict_name(refused->verdict),
                         .caller = cw_caller_name(caller),
                         .caller_id = cw_caller_id(caller),
                         .method = refused->name,
                         .detail = refused->detail,
                         .address = refused->peer};
    cw_count_unknown(refused);
    if (cw_audit_add(audit, &r))
        return;
    const cw_log_field fields[] = {
        CW_KV(name.n ? "method" : "", name), /* a list has none */
        CW_KV("caller", cw_caller_name(caller)),
        CW_KV("verdict", cw_str_from(cw_call_verdict_name(refused->verdict))),
        CW_KV("door", cw_str_from(refused->door)),
        {0}};
    log_refused(audit, caller, refused->peer, fields);
}

void cw_call_audit_read(cw_runtime_loop *rl, const cw_view *view, const char *door, cw_str peer,
                        cw_str method, cw_str uri)
{
    const cw_caller *caller = cw_view_caller(view);
    cw_audit_record r = {.kind = CW_AUDIT_CALL,
                         .door = door,
                         .is_anonymous = cw_caller_is_anonymous(caller),
                         .outcome = "ok",
                         .caller = cw_caller_name(caller),
                         .caller_id = cw_caller_id(caller),
                         .method = method,
                         .detail = uri,
                         .address = peer};
    (void)cw_audit_add(cw_runtime_audit(rl), &r);
}

void cw_call_audit_task(cw_runtime_loop *rl, const cw_task_record *record)
{
    const cw_caller *caller = cw_view_caller(record->view);
    size_t n = record->id.n < TASK_ID_SHOWN ? record->id.n : TASK_ID_SHOWN;
    bool is_other = !cw_str_eq(record->tool, record->method);
    cw_audit_record r = {.kind = CW_AUDIT_TASK,
                         .door = record->door,
                         .is_anonymous = cw_caller_is_anonymous(caller),
                         .outcome = record->outcome,
                         .caller = cw_caller_name(caller),
                         .caller_id = cw_caller_id(caller),
                         .method = record->method,
                         .tool = is_other ? record->tool : CW_STR(""),
                         .detail = cw_str_make(record->id.p, n),
                         .address = record->peer};
    (void)cw_audit_add(cw_runtime_audit(rl), &r);
}

/* ---- sources and time limits ---- */

static void on_deadline(cw_deadline *d);

static void timeout_leave(cw_runtime_loop *rl, cw_call_timeout *limit)
{
    if (--limit->refs)
        return;
    cw_call_timeout **at = &rl->limits;
    while (*at != limit)
        at = &(*at)->next;
    *at = limit->next;
    cw_loop_unwatch(rl->loop, &limit->list);
    free(limit);
}

static cw_call_timeout *timeout_enter(cw_runtime_loop *rl, uint32_t ms)
{
    cw_call_timeout *limit = rl->limits;
    while (limit && limit->ms != ms)
        limit = limit->next;
    if (!limit) {
        limit = calloc(1, sizeof *limit);
        if (!limit)
            return NULL;
        limit->ms = ms;
        cw_deadline_list_init(&limit->list, ms, on_deadline);
        cw_loop_watch(rl->loop, &limit->list);
        limit->next = rl->limits;
        rl->limits = limit;
    }
    limit->refs++;
    return limit;
}

static cw_active_source *make(cw_runtime_loop *rl, cw_source *source)
{
    cw_active_source *active = calloc(1, sizeof *active);
    cw_call_timeout *limit = active ? timeout_enter(rl, source->call_ms) : NULL;
    if (!limit) {
        free(active);
        return NULL;
    }
    active->source = cw_source_ref(source);
    active->limit = limit;
    return active;
}

static void drop(cw_runtime_loop *rl, cw_active_source **at)
{
    cw_active_source *active = *at;
    *at = active->next;
    timeout_leave(rl, active->limit);
    cw_source_unref(active->source);
    free(active);
}

static cw_active_source *source_enter(cw_runtime_loop *rl, cw_source *source)
{
    cw_active_source **at = &rl->sources;
    while (*at && (*at)->source != source)
        at = &(*at)->next;
    cw_active_source *active = *at;
    if (active)
        *at = active->next;
    else
        active = make(rl, source);
    if (!active)
        return NULL;
    /* The last one first: most calls in a row go to few sources. */
    active->next = rl->sources;
    rl->sources = active;
    active->running++;
    return active;
}

static void source_leave(cw_runtime_loop *rl, cw_active_source *active)
{
    bool is_retired = atomic_load_explicit(&active->source->retired, memory_order_relaxed);
    if (--active->running || !(is_retired || rl->has_ended))
        return;
    cw_active_source **at = &rl->sources;
    while (*at != active)
        at = &(*at)->next;
    drop(rl, at);
}

void cw_active_sources_tidy(cw_runtime_loop *rl)
{
    cw_active_source **at = &rl->sources;
    while (*at) {
        if ((*at)->running == 0 && (rl->has_ended || atomic_load(&(*at)->source->retired)))
            drop(rl, at);
        else
            at = &(*at)->next;
    }
}

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

static cw_exchange *exchange_take(cw_runtime_loop *rl)
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

/* The call has ended: its handle finds nothing, and another call may take its slot. */
static void give_up_place(cw_exchange *ex)
{
    if (++ex->generation == 0)
        ex->generation = 1;
    cw_limiter_leave(&ex->place);
    ex->rl->n_running--;
}

static void exchange_put(cw_exchange *ex)
{
    cw_runtime_loop *rl = ex->rl;
    cw_deadline_clear(&ex->deadline);
    cw_arena_recycle(&ex->arena);
    if (ex->limit)
        timeout_leave(rl, ex->limit);
    if (ex->active)
        source_leave(rl, ex->active);
    ex->limit = NULL;
    cw_view_unref(ex->view);
    ex->active = NULL;
    ex->view = NULL;
    ex->output = NULL;
    ex->waiter = NULL;
    if (ex->state != CW_EXCHANGE_FINISHING)
        give_up_place(ex);
    ex->state = CW_EXCHANGE_FREE;
    ex->next_free = rl->free_exchanges;
    rl->free_exchanges = ex;
}

static cw_exchange *exchange_find(const cw_runtime_loop *rl, cw_call_handle handle)
{
    if (handle.generation == 0 || handle.slot >= rl->n_slots)
        return NULL;
    cw_exchange *ex = rl->slots[handle.slot];
    return ex->generation == handle.generation && ex->state != CW_EXCHANGE_FREE ? ex : NULL;
}

/* ---- the end ---- */

static void finish(cw_exchange *ex, const cw_outcome *outcome)
{
    cw_sink *waiter = ex->waiter;
    ex->state = CW_EXCHANGE_FINISHING;
    give_up_place(ex); /* before done: the sink may call again */
    cw_deadline_clear(&ex->deadline);
    cw_call_log_problem(ex, outcome);
    cw_count_end(ex, outcome);
    ex->ids.queue_us = (uint32_t)(ex->call.queue_ns / 1000);
    audit_end(ex, outcome);
    cw_call_span_end(ex, outcome);
    cw_call_log_end(ex, outcome);
    if (waiter)
        waiter->ops->done(waiter, outcome);
    cw_count_answered(ex);
    exchange_put(ex);
}

static void exchange_cancel(cw_exchange *ex)
{
    cw_source *source = ex->active->source;
    cw_ids *outer = cw_ids_enter(&ex->ids);
    source->ops->cancel(source, &ex->call);
    cw_count_end(ex, NULL);
    audit_end(ex, NULL);
    cw_call_span_end(ex, NULL);
    cw_call_log_end(ex, NULL);
    cw_ids_leave(outer);
    exchange_put(ex);
}

/* Its own where the method has one, else that of its source. */
static cw_call_timeout *limit_of(const cw_exchange *ex)
{
    return ex->limit ? ex->limit : ex->active->limit;
}

/* A call whose limit was restarted ends for want of progress, or for its length in all. */
static void describe_silence(const cw_exchange *ex, cw_err *ret)
{
    uint64_t ms = limit_of(ex)->ms, now = cw_loop_now(ex->rl->loop);
    uint64_t started = ex->latest_limit - (CW_SOURCE_RESTARTS - 1) * ms;
    if (now < ex->latest_limit)
        cw_fail(ret, CW_TIMEOUT, "The call reported no progress for %g s.", (double)ms / 1000.0);
    else
        cw_fail(ret, CW_TIMEOUT, "The call took longer than %.0f s.",
                (double)(now - started) / 1000.0);
}

/* Whether it was the call that took so long, or those before it. */
static void describe_timeout(const cw_exchange *ex, cw_err *ret)
{
    const cw_source_call *call = &ex->call;
    cw_str source = ex->active->source->name;
    double seconds = limit_of(ex)->ms / 1000.0;
    uint64_t begun = cw_loop_now(ex->rl->loop) - limit_of(ex)->ms;
    if (ex->has_restarted)
        describe_silence(ex, ret);
    else if (call->is_waiting)
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

static void on_deadline(cw_deadline *d)
{
    cw_exchange *ex = CW_CONTAINER(d, cw_exchange, deadline);
    cw_source *source = ex->active->source;
    cw_err text;
    cw_ids *outer = cw_ids_enter(&ex->ids);
    describe_timeout(ex, &text);
    source->ops->cancel(source, &ex->call);
    finish(ex, &(cw_outcome){.kind = CW_OUTCOME_FAILED,
                             .fault = CW_FAULT_TIMEOUT,
                             .message = cw_str_from(text.msg)});
    cw_ids_leave(outer);
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
    rl->has_ended = true;
    cw_active_sources_tidy(rl);
}

void cw_exchange_set_anonymous(cw_runtime_loop *rl, cw_caller *anonymous)
{
    for (uint32_t i = 0; i < rl->n_slots; i++) {
        cw_exchange *ex = rl->slots[i];
        if (ex->state != CW_EXCHANGE_RUNNING || !cw_caller_is_anonymous(ex->call.caller))
            continue;
        cw_source *source = ex->call.method->source;
        if (source->ops->set_caller)
            source->ops->set_caller(source, &ex->call, anonymous);
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

static void start_limit(cw_exchange *ex)
{
    if (limit_of(ex)->ms && !ex->call.is_followed)
        cw_loop_set_deadline(ex->rl->loop, &ex->deadline, &limit_of(ex)->list);
}

static void on_progress(cw_sink *sink, const cw_progress *progress)
{
    cw_exchange *ex = CW_CONTAINER(sink, cw_exchange, sink);
    if (ex->state == CW_EXCHANGE_RUNNING && ex->active->source->restarts_ms && !ex->n_asked &&
        cw_loop_now(ex->rl->loop) < ex->latest_limit) {
        start_limit(ex);
        ex->has_restarted = true;
    }
    bool is_wanted = ex->waiter && ex->waiter->ops->progress && ex->call.wants_progress;
    if (ex->state == CW_EXCHANGE_RUNNING && is_wanted)
        ex->waiter->ops->progress(ex->waiter, progress);
}

static void on_log(cw_sink *sink, cw_log_level level, cw_str message)
{
    cw_exchange *ex = CW_CONTAINER(sink, cw_exchange, sink);
    if (ex->state != CW_EXCHANGE_RUNNING)
        return;
    cw_ids *outer = cw_ids_enter(&ex->ids);
    cw_log(level, "source", "logged", CW_KV("source", ex->active->source->name),
           CW_KV("method", ex->call.method->id), CW_KV("text", message));
    if (ex->waiter && ex->waiter->ops->log)
        ex->waiter->ops->log(ex->waiter, level, message);
    cw_ids_leave(outer);
}

/* People take their time: the limit of the call waits for them. The door has a limit of its own. */
static void on_ask(cw_sink *sink, const cw_question *question)
{
    const cw_str none = CW_STR("The caller of this method cannot be asked.");
    cw_exchange *ex = CW_CONTAINER(sink, cw_exchange, sink);
    cw_source *source = ex->active->source;
    if (ex->state != CW_EXCHANGE_RUNNING || !ex->can_elicit || !ex->waiter ||
        !ex->waiter->ops->ask) {
        source->ops->answer(source, &ex->call, question->number, CW_STR(""), none);
        return;
    }
    ex->n_asked++;
    cw_deadline_clear(&ex->deadline);
    ex->waiter->ops->ask(ex->waiter, question);
}

/* The source takes a question back: its own time runs again. */
static void on_withdraw(cw_sink *sink, uint32_t number)
{
    cw_exchange *ex = CW_CONTAINER(sink, cw_exchange, sink);
    if (ex->state != CW_EXCHANGE_RUNNING || !ex->n_asked)
        return;
    if (--ex->n_asked == 0)
        start_limit(ex);
    if (ex->waiter && ex->waiter->ops->withdraw)
        ex->waiter->ops->withdraw(ex->waiter, number);
}

/* A call that only follows a job has no time limit, once its client does not wait for it. */
static cw_code on_become_task(cw_sink *sink)
{
    cw_exchange *ex = CW_CONTAINER(sink, cw_exchange, sink);
    const cw_runtime_loop *rl = ex->rl;
    const cw_call_handle handle = {ex->slot, ex->generation};
    if (ex->state != CW_EXCHANGE_RUNNING || !ex->waiter || !ex->waiter->ops->become_task)
        return CW_DECLINED;
    cw_code rc = ex->waiter->ops->become_task(ex->waiter);
    if (exchange_find(rl, handle) != ex)
        return CW_DONE;
    if (!rc && ex->call.is_followed)
        cw_deadline_clear(&ex->deadline);
    return rc;
}

/* Check what the source returned, and finish. */
static void conclude(cw_exchange *ex, const cw_outcome *outcome)
{
    static const cw_outcome cannot_elicit = {
        .kind = CW_OUTCOME_ERROR,
        .code = CANNOT_ELICIT,
        .message = CW_STR_INIT("This method asks its caller something, which cannot be answered "
                               "here. Call it as a tool through MCP.")};
    CW_UNINIT cw_err why;
    cw_code rc = CW_OK;
    ex->rl->result_steps = cw_call_steps(ex->rl);
    if (outcome->kind == CW_OUTCOME_INPUT_REQUIRED && !ex->can_elicit) {
        finish(ex, &cannot_elicit);
        return;
    }
    /* A method that only made content has no result to check. */
    bool has_result = outcome->kind == CW_OUTCOME_RESULT && !outcome->is_unchecked &&
                      !(outcome->content && cw_json_is(outcome->result, CW_JSON_NULL));
    if (has_result && ex->output)
        rc = cw_validate_result(ex, outcome->result, &why);
    if (!rc) {
        finish(ex, outcome);
        return;
    }
    /* The result and its problem stay in the log. */
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

static void on_done(cw_sink *sink, const cw_outcome *outcome)
{
    cw_exchange *ex = CW_CONTAINER(sink, cw_exchange, sink);
    assert(ex->state == CW_EXCHANGE_RUNNING);
    cw_ids *outer = cw_ids_enter(&ex->ids);
    conclude(ex, outcome);
    cw_ids_leave(outer);
}

static cw_code enter_limit(cw_exchange *ex, cw_fault *fault, cw_err *err)
{
    uint32_t ms = ex->call.method->call_ms;
    if (ms == 0 || ms == ex->active->source->call_ms)
        return CW_OK;
    ex->limit = timeout_enter(ex->rl, ms);
    *fault = CW_FAULT_NOMEM;
    return ex->limit ? CW_OK : cw_fail_nomem(err);
}

static cw_code exchange_start(cw_exchange *ex, cw_call_handle *ret, cw_fault *fault, cw_err *err)
{
    static const cw_sink_ops ops = {on_progress, on_log,      on_done,
                                    on_ask,      on_withdraw, on_become_task};
    cw_runtime_loop *rl = ex->rl;
    cw_source *source = ex->active->source;
    ex->sink.ops = &ops;
    ex->call.sink = &ex->sink;
    ex->call.arena = &ex->arena;
    ex->call.loop = rl->loop;
    ex->call.op = NULL;
    ex->call.is_waiting = ex->call.is_followed = ex->call.keeps_job = ex->has_restarted = false;
    ex->call.left_queue = ex->call.queue_ns = 0;
    ex->call.pid = 0;
    ex->n_asked = 0;
    ex->owner = ex->output ? cw_caller_fair_key(ex->call.caller, ex->call.peer).at[0] : 0;
    *ret = (cw_call_handle){ex->slot, ex->generation};
    cw_call_span_begin(ex, source);
    cw_code rc = enter_limit(ex, fault, err);
    ex->latest_limit =
        cw_loop_now(rl->loop) + (uint64_t)(CW_SOURCE_RESTARTS - 1) * limit_of(ex)->ms;
    if (!rc)
        rc = source->ops->start(source, &ex->call, fault, err);
    if (rc) {
        exchange_put(ex);
        *ret = (cw_call_handle){0};
        return rc;
    }
    ex->state = CW_EXCHANGE_RUNNING;
    cw_count_running(ex);
    if (ex->was_cancelled)
        exchange_cancel(ex);
    else if (!ex->n_asked)
        start_limit(ex);
    return CW_OK;
}

/* ---- calls ---- */

static cw_code decline(cw_verdict verdict, cw_call_error *refusal)
{
    refusal->verdict = verdict == CW_VERDICT_HIDDEN ? CW_VERDICT_FORBIDDEN : verdict;
    return CW_DECLINED;
}

static cw_code fail_source(cw_code rc, const cw_call_request *request, cw_call_error *refusal)
{
    cw_call_log_unstarted(request->entry->method, refusal->err.msg);
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

/* Models send null for what they leave out. Arguments that are valid without such nulls replace
 * those of the request; the two attempts share one limit of steps. */
static cw_code validate_without_nulls(cw_exchange *ex, const cw_call_request *request,
                                      cw_arguments *bound, int64_t *steps, cw_err *err)
{
    const cw_json *without = NULL;
    cw_arguments again = {0};
    cw_code rc =
        cw_arguments_drop_nulls(request->entry, request->params, &ex->arena, steps, &without);
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    if (rc || !without)
        return CW_PARAMS;
    bool ignore_unknown = cw_runtime_config(ex->rl)->ignore_unknown_arguments;
    rc =
        cw_arguments_bind(request->entry->method, without, ignore_unknown, &ex->arena, &again, err);
    if (!rc)
        rc = cw_validate_arguments(ex, request->entry, &again, steps, err);
    if (rc)
        return rc;
    *bound = again;
    ex->params = without;
    return CW_OK;
}

static cw_code validate(cw_exchange *ex, const cw_call_request *request, cw_arguments *bound,
                        cw_err *err)
{
    int64_t most = cw_wasted_work_ceiling(&ex->rl->waste, request->peer, cw_call_steps(ex->rl));
    if (request->steps && *request->steps < most)
        most = *request->steps;
    int64_t left = most;
    cw_code rc = cw_validate_arguments(ex, request->entry, bound, &left, err);
    if (CW_UNLIKELY(rc == CW_PARAMS && request->null_is_absent &&
                    !request->entry->method->keeps_nulls))
        rc = validate_without_nulls(ex, request, bound, &left, err);
    if (request->steps)
        *request->steps -= most - left;
    if (CW_UNLIKELY(rc == CW_PARAMS))
        cw_call_add_waste(ex->rl, request->peer, most - left);
    return rc;
}

/* The ids of the request that makes the call. The request may be gone before the call is over, so
 * the call has a copy; without memory it has no tracestate. */
static void keep_ids(cw_exchange *ex)
{
    const cw_ids *current = cw_ids_current();
    ex->ids = current ? *current : (cw_ids){0};
    cw_str state = ex->ids.tracestate;
    if (CW_UNLIKELY(state.n))
        ex->ids.tracestate = cw_arena_dup_str(&ex->arena, state);
    if (!ex->ids.tracestate.p)
        ex->ids.tracestate = CW_STR("");
}

/* Fill the exchange; what it has then is given back by exchange_put. */
static cw_code prepare(cw_exchange *ex, const cw_call_request *request, cw_call_error *refusal)
{
    cw_runtime_loop *rl = ex->rl;
    const cw_method *method = request->entry->method;
    cw_arguments bound = {0};
    ex->entry = request->entry;
    ex->params = request->params;
    if (CW_UNLIKELY(request->problem))
        return cw_fail(&refusal->err, CW_PARAMS, "%s", request->problem);
    bool ignore_unknown = cw_runtime_config(rl)->ignore_unknown_arguments;
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
    if (CW_UNLIKELY(rc == CW_PARAMS && request->shown))
        cw_arguments_show_names(request->shown, &refusal->err);
    if (rc)
        return rc == CW_PARAMS ? CW_PARAMS : CW_NOMEM;
    ex->active = source_enter(rl, method->source);
    if (!ex->active)
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
    return cw_limiter_detach(ex->rl->limiter, &cw_runtime_settings_of(ex->rl)->limits, &key,
                             &ex->place, retry_s, err);
}

/* One that comes too often, or of which too many run, is refused before anything is done for it. */
static cw_code enter(cw_exchange *ex, const cw_call_request *request, cw_call_error *refusal)
{
    const cw_rate_limits *limits = &cw_runtime_settings_of(ex->rl)->limits;
    if (CW_LIKELY(!limits->is_any && request->sink))
        return CW_OK;
    cw_code rc = CW_OK;
    if (limits->is_any)
        rc = cw_limiter_enter(ex->rl->limiter, limits, request, cw_clock_ns(), &ex->place,
                              &refusal->retry_s, &refusal->err);
    if (!rc && !request->sink)
        rc = detach(ex, cw_view_caller(request->view), request->peer, &refusal->retry_s,
                    &refusal->err);
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
        return decline(verdict, refusal);
    refusal->fault = CW_FAULT_UNAVAILABLE;
    cw_exchange *ex = exchange_take(rl);
    if (!ex)
        return cw_fail_nomem(&refusal->err);
    if (!is_room(ex, request)) {
        exchange_put(ex);
        refusal->fault = CW_FAULT_FULL;
        cw_fail(&refusal->err, CW_IO, "Too many calls are running.");
        return fail_source(CW_IO, request, refusal);
    }
    cw_code rc = enter(ex, request, refusal);
    if (!rc)
        rc = prepare(ex, request, refusal);
    if (rc) {
        exchange_put(ex);
        return rc;
    }
    keep_ids(ex);
    audit_begin(ex, request);
    cw_call_log_begin(ex, request);
    cw_count_begin(ex, request);
    rc = exchange_start(ex, ret, &refusal->fault, &refusal->err);
    return rc ? fail_source(rc, request, refusal) : CW_OK;
}

cw_code cw_call_start(cw_runtime_loop *rl, const cw_call_request *request, cw_call_handle *ret,
                      cw_call_error *refusal)
{
    cw_call_set_focus(rl, request);
    cw_code rc = start(rl, request, ret, refusal);
    if (CW_UNLIKELY(rc))
        cw_count_refusal(request, rc, refusal);
    if (rc && !audit_refusal(rl, request, rc, refusal))
        log_refusal(rl, request, rc, refusal);
    return rc;
}

void cw_call_cancel(cw_runtime_loop *rl, cw_call_handle handle)
{
    cw_exchange *ex = exchange_find(rl, handle);
    if (!ex || ex->state == CW_EXCHANGE_FINISHING)
        return;
    ex->waiter = NULL;
    if (ex->state == CW_EXCHANGE_STARTING)
        ex->was_cancelled = true;
    else
        exchange_cancel(ex);
}

void cw_call_abandon(cw_runtime_loop *rl, cw_call_handle handle)
{
    cw_exchange *ex = exchange_find(rl, handle);
    if (ex)
        ex->call.keeps_job = true;
    cw_call_cancel(rl, handle);
}

void cw_call_answer(cw_runtime_loop *rl, cw_call_handle handle, uint32_t number, cw_str result,
                    cw_str problem)
{
    cw_exchange *ex = exchange_find(rl, handle);
    if (!ex || ex->state != CW_EXCHANGE_RUNNING || !ex->n_asked)
        return;
    cw_source *source = ex->active->source;
    if (--ex->n_asked == 0)
        start_limit(ex);
    source->ops->answer(source, &ex->call, number, result, problem);
}

bool cw_call_set_sink(cw_runtime_loop *rl, cw_call_handle handle, cw_sink *sink)
{
    cw_exchange *ex = exchange_find(rl, handle);
    if (!ex || ex->state != CW_EXCHANGE_RUNNING)
        return false;
    ex->waiter = sink;
    return true;
}

void cw_call_detach(cw_runtime_loop *rl, cw_call_handle handle, cw_str peer)
{
    uint32_t retry_s;
    cw_exchange *ex = exchange_find(rl, handle);
    if (!ex || ex->state == CW_EXCHANGE_FINISHING)
        return;
    if (detach(ex, ex->call.caller, peer, &retry_s, NULL) == CW_OK) {
        ex->waiter = NULL;
        return;
    }
    cw_log(CW_LOG_INFO, "call", "call cancelled: too many calls without a client",
           CW_KV("method", ex->call.method->id), CW_KV("caller", cw_caller_name(ex->call.caller)));
    cw_call_cancel(rl, handle);
}

cw_code cw_call_may_list(cw_runtime_loop *rl, const cw_view *view, cw_str peer,
                         cw_call_error *refusal)
{
    const cw_rate_limits *limits = &cw_runtime_settings_of(rl)->limits;
    const cw_caller *caller = cw_view_caller(view);
    char network[CW_NETWORK_TEXT];
    if (CW_LIKELY(!limits->lists.interval_ns))
        return CW_OK;
    cw_code rc = cw_limiter_may_list(rl->limiter, limits, caller, peer, cw_clock_ns(),
                                     &refusal->retry_s, &refusal->err);
    if (rc)
        cw_log_limited(&unlisted_kind, cw_network_text(peer, 0, network),
                       CW_KV("caller", cw_caller_name(caller)), CW_KV("address", peer),
                       CW_KV("verdict", CW_STR("too many")));
    return rc;
}
