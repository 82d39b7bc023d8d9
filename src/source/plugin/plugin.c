/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin.c - the plugin as a source: one scheduler per loop, which worker runs which call, the
 * reports of workers, and the effects of their deaths.
 *
 * A scheduler is made by the first call on its loop. It is closed when the plugin is retired and its
 * last call is over, or when the loop ends. Closing takes a while: workers have to exit. Meanwhile a
 * late call of an old snapshot gets a new scheduler.
 */
#include "base/log.h"
#include "metrics/metrics.h"
#include "source/plugin/plugin_int.h"
#include <stdlib.h>
#include <unistd.h>

static const cw_worker_ops worker_ops;
static void report_end(cw_plugin_scheduler *part);
static void pump(cw_plugin_scheduler *part);
static void check_gone(cw_plugin_scheduler *part);
static void close_scheduler(cw_plugin_scheduler *part, bool now);

static void op_insert(cw_plugin_op *before, cw_plugin_op *op)
{
    op->next = before;
    op->prev = before->prev;
    op->prev->next = op;
    before->prev = op;
}

static bool op_ring_is_empty(const cw_plugin_op *ring)
{
    return ring->next == ring;
}

static bool nothing_waits(const cw_plugin_scheduler *part)
{
    return cw_fair_count(&part->waiting) == 0 && op_ring_is_empty(&part->again);
}

#define NS_PER_MS UINT64_C(1000000)

/* ---- rings of calls ---- */

static void op_unlink(cw_plugin_op *op)
{
    op->prev->next = op->next;
    op->next->prev = op->prev;
}

static cw_plugin_op *new_op(cw_plugin_scheduler *part)
{
    cw_plugin_op *op = part->pool;
    if (!op)
        return calloc(1, sizeof *op);
    part->pool = op->next;
    *op = (cw_plugin_op){0};
    return op;
}

static void op_free(cw_plugin_scheduler *part, cw_plugin_op *op)
{
    op->next = part->pool;
    part->pool = op;
}

/* ---- reporting ---- */

static void settle(cw_plugin_scheduler *part)
{
    if (!part->closing && part->n_calls == 0 && atomic_load(&part->plugin->base.retired))
        close_scheduler(part, /* now= */ false);
}

/* Report the outcome of a call, which the sink may free. */
static void finish(cw_plugin_scheduler *part, cw_plugin_op *op, const cw_outcome *outcome)
{
    cw_sink *sink = op->call->sink;
    op->call->op = NULL;
    op_free(part, op);
    part->n_calls--;
    sink->ops->done(sink, outcome);
}

static void set_over(cw_plugin_scheduler *part, cw_plugin_op *op, cw_fault fault,
                     const char *message)
{
    op->is_over = true;
    op->fault = fault;
    op->message = message;
    op_insert(&part->over, op);
}

static void on_end(cw_deferred *later)
{
    report_end(CW_CONTAINER(later, cw_plugin_scheduler, over_later));
}

static void report_end(cw_plugin_scheduler *part)
{
    while (!op_ring_is_empty(&part->over)) {
        cw_plugin_op *op = part->over.next;
        op_unlink(op);
        cw_outcome outcome = {
            .kind = CW_OUTCOME_FAILED,
            .fault = op->fault,
            .message = cw_str_from(op->message),
            .detail = part->plugin->base.name,
        };
        finish(part, op, &outcome);
    }
    settle(part);
}

static void fail_waiting(cw_plugin_scheduler *part, const char *message)
{
    cw_fair_item *item;
    while (!op_ring_is_empty(&part->again)) {
        cw_plugin_op *op = part->again.next;
        op_unlink(op);
        set_over(part, op, CW_FAULT_UNAVAILABLE, message);
    }
    while ((item = cw_fair_first(&part->waiting))) {
        cw_fair_remove(&part->waiting, item);
        set_over(part, CW_CONTAINER(item, cw_plugin_op, place), CW_FAULT_UNAVAILABLE, message);
    }
}

/* ---- choosing a worker ---- */

/* How many calls a worker may have together with this one; 0: it is not quick. */
static uint32_t depth_of(const cw_plugin_scheduler *part, const cw_plugin_op *op)
{
    const cw_plugin_stat *stat = &part->stats[op->method];
    if (stat->calls < CW_PLUGIN_QUICK_CALLS || stat->slowest_ns >= CW_PLUGIN_QUICK_NS)
        return 0;
    uint32_t depth = CW_PLUGIN_AHEAD_NS / (stat->slowest_ns + 1);
    return depth < CW_PLUGIN_DEPTH ? depth : CW_PLUGIN_DEPTH;
}

/* Whether the call that runs takes much longer than quick ones do. */
static bool is_stuck(const cw_worker *w)
{
    return cw_loop_now(w->loop) * NS_PER_MS > w->sent.next->began_ns + CW_PLUGIN_AHEAD_NS;
}

/* Whether a quick call may be sent behind those that the worker has. */
static bool takes_more(const cw_worker *w, uint32_t depth)
{
    return w->n_slow == 0 && w->n_sent < depth && !w->grace.list && !is_stuck(w);
}

/* Whether calls of more than one caller came lately. */
static bool has_others(const cw_plugin_scheduler *part)
{
    return cw_loop_now(part->loop) < part->others_until;
}

/* Whether the only free worker is withheld from this caller: its calls run already, and other
 * callers have come lately. */
static bool is_withheld_from(const cw_plugin_scheduler *part, uint64_t owner)
{
    uint32_t n_busy = 0, n_own = 0;
    if (CW_LIKELY(!has_others(part)))
        return false;
    for (const cw_worker *w = part->workers.next; w != &part->workers; w = w->next) {
        if (op_ring_is_empty(&w->sent))
            continue;
        n_busy++;
        n_own += w->sent.next->owner == owner;
    }
    return n_own > 0 && n_busy + 1 >= part->plugin->opts.workers;
}

/* The worker for a call, or NULL. A quick call joins a batch that leaves at the end of this turn,
 * because that costs no system call and no wake-up; else the first idle worker takes it (always
 * the same ones, so that the others can end); else a quick one goes behind the fewest. */
static cw_worker *pick(cw_plugin_scheduler *part, uint32_t depth, uint64_t owner)
{
    cw_worker *idle = NULL;
    cw_worker *least = NULL;
    for (cw_worker *w = part->workers.next; w != &part->workers; w = w->next) {
        if (w->state != CW_WORKER_READY)
            continue;
        if (w->n_sent == 0) {
            idle = idle ? idle : w;
            continue;
        }
        if (!takes_more(w, depth))
            continue;
        if (cw_frames_gathers(&w->frames))
            return w;
        if (!least || w->n_sent < least->n_sent)
            least = w;
    }
    return idle && !is_withheld_from(part, owner) ? idle : least;
}

/* The clock was read a moment ago for a call that has not waited. */
static uint64_t began_ns(const cw_source_call *call)
{
    bool is_new = call->begun_ns && !call->is_waiting && !call->left_queue;
    return is_new ? call->begun_ns : cw_clock_ns();
}

/* The thread may work on another call now, so the line gets the ids of this one. */
static void log_sent(const cw_worker *w, const cw_source_call *call)
{
    cw_ids *outer = cw_ids_enter(call->ids);
    cw_log(CW_LOG_DEBUG, "plugin", "call sent to a process", CW_KV("plugin", w->plugin->base.name),
           CW_KN("pid", w->child.pid));
    cw_ids_leave(outer);
}

static cw_code send_to(cw_worker *w, cw_plugin_op *op, bool quick)
{
    cw_code rc = cw_plugin_send_call(w, w->last_id + 1, op->call);
    if (rc)
        return rc;
    op->id = ++w->last_id;
    op->worker = w;
    op->call->pid = w->child.pid;
    log_sent(w, op->call);
    op->is_quick = quick;
    if (w->n_sent == 0)
        op->began_ns = began_ns(op->call);
    op_insert(&w->sent, op);
    w->n_sent++;
    w->n_slow += !quick;
    cw_deadline_clear(&w->idle);
    return CW_OK;
}

/* Why no worker can take a call: CW_LIMIT on an idle worker is the size of the call itself. */
static cw_fault fault_of(cw_code rc, const char **ret_message)
{
    *ret_message = rc == CW_LIMIT ? "The arguments are larger than the plugin takes."
                                  : "The server is out of memory.";
    return rc == CW_LIMIT ? CW_FAULT_PROTOCOL : CW_FAULT_NOMEM;
}

static void on_retry(uv_timer_t *timer);

/* ---- workers come ---- */

static void back_off(cw_plugin_scheduler *part)
{
    uint32_t ms = part->backoff_ms;
    if (ms == 0)
        ms = CW_PLUGIN_BACKOFF_MIN_MS;
    else
        ms = ms > CW_PLUGIN_BACKOFF_MAX_MS / 2 ? CW_PLUGIN_BACKOFF_MAX_MS : 2 * ms;
    part->backoff_ms = ms;
    uv_timer_start(&part->retry, on_retry, ms, 0);
}

static void start_worker(cw_plugin_scheduler *part)
{
    cw_worker *w = calloc(1, sizeof *w);
    if (!w) {
        back_off(part);
        return;
    }
    w->owner = part;
    if (cw_worker_start(w, part->plugin, part->loop, &part->timers, &worker_ops, NULL) != CW_OK) {
        free(w);
        back_off(part);
        return;
    }
    w->next = &part->workers;
    w->prev = part->workers.prev;
    w->prev->next = w;
    part->workers.prev = w;
    part->n_live++;
    part->n_starting++;
    uint32_t slot = cw_source_slot(&part->plugin->base);
    cw_metrics_count(CW_METRIC_PLUGIN_WORKERS, slot, 0, 0);
    /* Series that alerts use exist before the first exit. */
    cw_metrics_add(CW_METRIC_PLUGIN_EXITS, slot, 0, 0, 0);
    cw_metrics_add(CW_METRIC_PLUGIN_QUEUE, slot, 0, 0, 0);
}

/* Calls wait: start one more worker, unless one starts already. */
static void want_worker(cw_plugin_scheduler *part)
{
    if (part->n_live == part->n_starting && !part->start_deadline.list)
        cw_loop_set_deadline(part->loop, &part->start_deadline, &part->hunger);
    if (part->n_starting > 0 || part->n_live >= part->plugin->opts.workers ||
        uv_is_active((uv_handle_t *)&part->retry))
        return;
    start_worker(part);
}

/* ---- the next call ---- */

/* A call that waits, and the worker that can take it. */
typedef struct choice {
    cw_plugin_op *op; /* NULL: none can be sent now */
    cw_worker *worker;
    bool is_quick;
} choice;

static bool choose(cw_plugin_scheduler *part, cw_plugin_op *op, choice *ret)
{
    uint32_t depth = depth_of(part, op);
    *ret = (choice){op, pick(part, depth, op->owner), depth > 0};
    if (!ret->worker)
        want_worker(part);
    return ret->worker != NULL;
}

/* The next call that is tried after one that cannot be sent. If a worker is withheld from its network,
 * that goes for all of it, however many addresses it has. */
static cw_fair_item *next_item(const cw_plugin_scheduler *part, cw_fair_item *item)
{
    uint64_t owner = CW_CONTAINER(item, cw_plugin_op, place)->owner;
    return is_withheld_from(part, owner) ? cw_fair_next_network(&part->waiting, item)
                                         : cw_fair_next_caller(&part->waiting, item);
}

/* Calls that were sent before come first. If a worker is withheld from one caller, the calls of the
 * others are tried. */
static choice next_choice(cw_plugin_scheduler *part)
{
    choice found = {.op = NULL};
    const uint32_t most = part->plugin->opts.workers + CW_PLUGIN_MAX_CALLERS_TRIED;
    cw_plugin_op *op = part->again.next;
    for (uint32_t n = most; op != &part->again && n; n--, op = op->next) {
        if (choose(part, op, &found))
            return found;
    }
    cw_fair_item *item = cw_fair_first(&part->waiting);
    for (uint32_t n = most; item && n; n--) {
        if (choose(part, CW_CONTAINER(item, cw_plugin_op, place), &found))
            return found;
        item = next_item(part, item);
    }
    return (choice){.op = NULL};
}

/* Send a call that waits. CW_AGAIN: the worker cannot take it now, and it waits on. */
static cw_code send_waiting(cw_plugin_scheduler *part, const choice *c)
{
    cw_plugin_op *op = c->op;
    cw_plugin_op *behind = op->next; /* in `again` */
    bool is_placed = op->place.group != NULL;
    if (!is_placed)
        op_unlink(op);
    cw_code rc = send_to(c->worker, op, c->is_quick);
    if (rc == CW_LIMIT && c->worker->n_sent > 0) {
        if (!is_placed)
            op_insert(behind, op);
        return CW_AGAIN;
    }
    if (is_placed)
        cw_fair_take(&part->waiting, &op->place);
    cw_source_call_begin(op->call);
    if (rc) {
        const char *message;
        cw_fault fault = fault_of(rc, &message);
        set_over(part, op, fault, message);
    }
    return CW_OK;
}

/* Send waiting calls while workers can take them. */
static void pump(cw_plugin_scheduler *part)
{
    for (;;) {
        choice c = next_choice(part);
        if (!c.op || send_waiting(part, &c) == CW_AGAIN)
            break;
    }
    if (nothing_waits(part))
        cw_deadline_clear(&part->start_deadline);
}

static void on_retry(uv_timer_t *timer)
{
    cw_plugin_scheduler *part = timer->data;
    pump(part);
    report_end(part);
}

static void on_start_deadline(cw_deadline *d)
{
    cw_plugin_scheduler *part = CW_CONTAINER(d, cw_plugin_scheduler, start_deadline);
    if (part->n_live > part->n_starting)
        return;
    fail_waiting(part, "The plugin could not be started.");
    report_end(part);
}

/* ---- calls come and go ---- */

/* Note a change of callers: only for several callers a worker is kept free. */
static void record_caller(cw_plugin_scheduler *part, const cw_source_call *call)
{
    cw_str name = cw_caller_fair_name(call->caller, call->peer);
    uint32_t n = name.n < CW_PLUGIN_CALLER_MAX ? (uint32_t)name.n : CW_PLUGIN_CALLER_MAX;
    if (CW_LIKELY(n == part->n_last && (n == 0 || memcmp(name.p, part->last, n) == 0)))
        return;
    if (part->n_last)
        part->others_until = cw_loop_now(part->loop) + CW_PLUGIN_RESERVE_MS;
    part->n_last = n;
    if (n)
        memcpy(part->last, name.p, n);
}

static void lose(cw_plugin_scheduler *part, cw_fair_item *item)
{
    set_over(part, CW_CONTAINER(item, cw_plugin_op, place), CW_FAULT_FULL,
             "Too many calls of this caller wait for the plugin.");
}

/* CW_LIMIT: the queue is full; CW_NOMEM. */
static cw_code enqueue(cw_plugin_scheduler *part, cw_plugin_op *op)
{
    cw_fair_item *lost;
    cw_fair_key key = cw_caller_fair_key(op->call->caller, op->call->peer);
    cw_code rc = cw_fair_push(&part->waiting, &op->place, &key, part->plugin->opts.queue, &lost);
    if (rc)
        return rc;
    op->owner = key.at[0];
    cw_source_call_wait(op->call);
    if (lost)
        lose(part, lost);
    pump(part);
    if (!op_ring_is_empty(&part->over))
        cw_loop_defer(part->loop, &part->over_later);
    return CW_OK;
}

/* Send a call immediately, if none waits. CW_LIMIT: it has to wait; CW_INVALID: it is too large. */
static cw_code send_at_once(cw_plugin_scheduler *part, cw_plugin_op *op)
{
    uint32_t depth = depth_of(part, op);
    if (!nothing_waits(part))
        return CW_LIMIT;
    if (depth == 0 || has_others(part))
        op->owner = cw_caller_fair_key(op->call->caller, op->call->peer).at[0];
    cw_worker *w = pick(part, depth, op->owner);
    cw_code rc = w ? send_to(w, op, depth > 0) : CW_LIMIT;
    return rc == CW_LIMIT && w && w->n_sent == 0 ? CW_INVALID : rc;
}

static cw_code start_call(cw_plugin_scheduler *part, cw_source_call *call, cw_fault *fault,
                          cw_err *err)
{
    cw_plugin_op *op = new_op(part);
    if (!op) {
        *fault = CW_FAULT_NOMEM;
        return cw_fail_nomem(err);
    }
    op->call = call;
    op->method = call->method->index;
    record_caller(part, call);
    cw_code rc = send_at_once(part, op);
    if (rc == CW_LIMIT)
        rc = enqueue(part, op);
    if (rc == CW_OK) {
        call->op = op;
        part->n_calls++;
        return CW_OK;
    }
    op_free(part, op);
    if (rc == CW_LIMIT) {
        *fault = CW_FAULT_FULL;
        return cw_fail(err, CW_IO, "Too many calls wait for the plugin '%.*s'.",
                       CW_STR_ARG(part->plugin->base.name));
    }
    const char *message;
    *fault = fault_of(rc == CW_INVALID ? CW_LIMIT : rc, &message);
    return cw_fail(err, rc == CW_INVALID ? CW_IO : rc, "%s", message);
}

static void cancel_call(cw_plugin_scheduler *part, cw_plugin_op *op)
{
    cw_worker *w = op->worker;
    op->call->op = NULL;
    op->call = NULL;
    part->n_calls--;
    if (!w) {
        if (op->place.group)
            cw_fair_remove(&part->waiting, &op->place);
        else
            op_unlink(op);
        op_free(part, op);
        if (nothing_waits(part))
            cw_deadline_clear(&part->start_deadline);
    } else {
        cw_plugin_send_cancel(w, op->id);
        if (w->sent.next == op)
            cw_loop_set_deadline(part->loop, &w->grace, &part->grace);
    }
    settle(part);
}

/* ---- reports of workers ---- */

static void start_idle_timer(cw_plugin_scheduler *part, cw_worker *w)
{
    if (part->idle.ms)
        cw_loop_set_deadline(part->loop, &w->idle, &part->idle);
}

static void on_ready(cw_worker *w)
{
    cw_plugin_scheduler *part = w->owner;
    part->n_starting--;
    cw_deadline_clear(&part->start_deadline);
    pump(part);
    if (w->n_sent == 0)
        start_idle_timer(part, w);
    report_end(part);
}

/* ---- responses ---- */

static cw_plugin_op *find_sent(cw_worker *w, uint64_t id)
{
    for (cw_plugin_op *op = w->sent.next; op != &w->sent; op = op->next) {
        if (op->id == id)
            return op;
    }
    return NULL;
}

static void record_time(cw_plugin_scheduler *part, const cw_plugin_op *op, uint64_t now)
{
    cw_plugin_stat *stat = &part->stats[op->method];
    uint64_t took = now - op->began_ns;
    uint32_t ns = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
    stat->slowest_ns -= stat->slowest_ns / 16;
    if (ns > stat->slowest_ns)
        stat->slowest_ns = ns;
    if (stat->calls < CW_PLUGIN_QUICK_CALLS)
        stat->calls++;
}

/* Take a call that has ended from the worker's ring. The next one runs from now on. */
static void pop(cw_plugin_scheduler *part, cw_worker *w, cw_plugin_op *op)
{
    bool was_first = w->sent.next == op;
    uint64_t now = cw_clock_ns();
    if (op->call)
        op->call->ended_ns = now;
    if (op->call && was_first)
        record_time(part, op, now);
    op_unlink(op);
    w->n_sent--;
    w->n_slow -= !op->is_quick;
    if (!was_first)
        return;
    cw_deadline_clear(&w->grace);
    cw_plugin_op *first = w->sent.next;
    if (first == &w->sent) {
        start_idle_timer(part, w);
        return;
    }
    first->began_ns = now;
    if (!first->call)
        cw_loop_set_deadline(part->loop, &w->grace, &part->grace);
}

static void on_answer(cw_worker *w, cw_plugin_op *op, cw_str body)
{
    cw_plugin_scheduler *part = w->owner;
    cw_outcome outcome = {0};
    cw_code rc = CW_OK;
    if (op->call) {
        op->call->pid = w->child.pid; /* the spawner may have reported it meanwhile */
        rc = op == w->sent.next ? cw_plugin_read_response(body, op->call->arena, &outcome)
                                : CW_PARSE;
        if (rc == CW_PARSE) {
            cw_worker_fail(w, "sent an answer that means nothing");
            return;
        }
    }
    pop(part, w, op);
    if (part->backoff_ms)
        part->backoff_ms = 0;
    if (op->call)
        cw_worker_breaker_on_success(&part->plugin->breaker, op->method);
    pump(part);
    if (!op->call) {
        op_free(part, op);
    } else {
        if (rc) {
            outcome = (cw_outcome){.kind = CW_OUTCOME_FAILED, .detail = part->plugin->base.name};
            outcome.fault = rc == CW_NOMEM ? CW_FAULT_NOMEM : CW_FAULT_PROTOCOL;
            outcome.message = rc == CW_NOMEM ? CW_STR("The server is out of memory.")
                                             : CW_STR("The answer of the plugin is too large.");
        }
        finish(part, op, &outcome);
    }
    report_end(part);
}

static void on_frame(cw_worker *w, uint64_t id, cw_str body)
{
    cw_plugin_scheduler *part = w->owner;
    cw_plugin_op *op = w->sent.next;
    if (CW_UNLIKELY(op_ring_is_empty(&w->sent) || op->id != id))
        op = find_sent(w, id);
    if (!op) {
        cw_worker_fail(w, "sent a frame for a call that it does not have");
        return;
    }
    if (!cw_plugin_is_notification(body)) {
        on_answer(w, op, body);
        return;
    }
    const cw_source_call *call = op == w->sent.next ? op->call : NULL;
    cw_str method = part->plugin->base.methods[op->method].id;
    if (cw_plugin_read_notification(part->plugin, body, call, method, &part->arena) != CW_OK)
        cw_worker_fail(w, "sent a notification that means nothing");
}

/* ---- workers go ---- */

static void blame(cw_plugin_scheduler *part, const cw_worker *w, uint32_t method)
{
    if (w->killed)
        return;
    bool in_call = method != CW_WORKER_BREAKER_PLUGIN;
    uint32_t n_open = atomic_load(&part->plugin->breaker.open);
    if (!w->refused)
        cw_worker_breaker_on_death(&part->plugin->breaker, method, cw_clock_ms());
    if (atomic_load(&part->plugin->breaker.open) > n_open)
        cw_metrics_count(CW_METRIC_SOURCE_BREAKER_OPENS, cw_source_slot(&part->plugin->base), 0, 0);
    if (!in_call)
        back_off(part);
}

/* The calls behind the one that ran go to the front of the queue, in order. */
static void take_back(cw_plugin_scheduler *part, cw_worker *w)
{
    while (!op_ring_is_empty(&w->sent)) {
        cw_plugin_op *op = w->sent.prev;
        op_unlink(op);
        op->worker = NULL;
        if (!op->call) {
            op_free(part, op);
            continue;
        }
        cw_source_call_wait(op->call);
        op_insert(part->again.next, op);
    }
    w->n_sent = w->n_slow = 0;
}

/* One worker less in the gauge. */
static void uncount_worker(const cw_plugin_scheduler *part)
{
    cw_metrics_add(CW_METRIC_PLUGIN_WORKERS, cw_source_slot(&part->plugin->base), 0, 0, -1);
}

static void count_exit(const cw_plugin_scheduler *part, cw_metrics_exit reason)
{
    cw_metrics_count(CW_METRIC_PLUGIN_EXITS, cw_source_slot(&part->plugin->base), reason, 0);
    uncount_worker(part);
}

static void on_dead(cw_worker *w)
{
    cw_plugin_scheduler *part = w->owner;
    cw_plugin_op *ran = op_ring_is_empty(&w->sent) ? NULL : w->sent.next;
    cw_metrics_exit reason = w->ran_out ? CW_EXIT_MEMORY : CW_EXIT_CRASH;
    count_exit(part, w->killed ? CW_EXIT_KILLED : reason);
    part->n_live--;
    part->n_starting -= !w->was_ready;
    cw_deadline_clear(&w->grace);
    cw_deadline_clear(&w->idle);
    if (ran)
        op_unlink(ran);
    take_back(part, w);
    blame(part, w, ran ? ran->method : CW_WORKER_BREAKER_PLUGIN);
    if (part->n_live == 0 && cw_worker_breaker_is_open(&part->plugin->breaker))
        fail_waiting(part, "The plugin has crashed repeatedly and is paused.");
    pump(part);
    if (ran && ran->call) {
        cw_outcome outcome = {
            .kind = CW_OUTCOME_FAILED,
            .fault = CW_FAULT_DIED,
            .message = CW_STR("The plugin ended unexpectedly while it ran this call."),
            .detail = cw_str_from(w->detail),
        };
        finish(part, ran, &outcome);
    } else if (ran) {
        op_free(part, ran);
    }
    report_end(part);
}

static void on_closed(cw_worker *w)
{
    cw_plugin_scheduler *part = w->owner;
    w->prev->next = w->next;
    w->next->prev = w->prev;
    free(w);
    check_gone(part);
}

static const cw_worker_ops worker_ops = {
    .on_ready = on_ready,
    .on_frame = on_frame,
    .on_dead = on_dead,
    .on_closed = on_closed,
};

/* ---- the source, and the life of its schedulers ---- */

static void on_grace_expired(cw_deadline *d)
{
    cw_worker *w = CW_CONTAINER(d, cw_worker, grace);
    const cw_plugin_op *stuck = w->sent.next;
    uint64_t id = stuck->id;
    /* The call may have ended a moment ago, and a later one may be running. */
    cw_frames_drain(&w->frames);
    if (w->state != CW_WORKER_READY || w->sent.next != stuck || stuck->id != id)
        return;
    w->killed = true;
    cw_worker_fail(w, "was killed: a cancelled call did not end");
}

static void on_idle_expired(cw_deadline *d)
{
    cw_worker *w = CW_CONTAINER(d, cw_worker, idle);
    cw_plugin_scheduler *part = w->owner;
    if (part->n_live - part->n_starting <= 1)
        return;
    count_exit(part, CW_EXIT_IDLE);
    part->n_live--;
    cw_worker_close(w, /* now= */ false);
}

/* ---- parts ---- */

static void on_loop_end(cw_loop_hook *hook)
{
    close_scheduler(CW_CONTAINER(hook, cw_plugin_scheduler, hook), /* now= */ true);
}

static void watch(cw_plugin_scheduler *part, cw_deadline_list *list, uint64_t ms,
                  void (*on_expired)(cw_deadline *))
{
    cw_deadline_list_init(list, ms, on_expired);
    cw_loop_watch(part->loop, list);
}

/* The scheduler of this loop, made if it has none. NULL: out of memory. */
static cw_plugin_scheduler *part_get(cw_plugin *p, cw_loop *loop)
{
    cw_plugin_scheduler *part = p->parts[loop->index];
    if (CW_LIKELY(part != NULL))
        return part;
    part = calloc(1, sizeof *part + p->base.n_methods * sizeof part->stats[0]);
    if (!part)
        return NULL;
    part->loop = loop;
    part->workers.prev = part->workers.next = &part->workers;
    part->again.prev = part->again.next = &part->again;
    part->over_later.fn = on_end;
    cw_fair_init(&part->waiting);
    part->over.prev = part->over.next = &part->over;
    cw_arena_init(&part->arena, 16u * p->opts.frame_size);
    const cw_plugin_opts *opts = &p->opts;
    cw_worker_timers_init(&part->timers, loop, opts);
    watch(part, &part->grace, opts->grace_ms, on_grace_expired);
    watch(part, &part->idle, opts->idle_ms, on_idle_expired);
    watch(part, &part->hunger, opts->load_ms, on_start_deadline);
    uv_timer_init(&loop->uv, &part->retry);
    part->retry.data = part;
    part->hook.on_end = on_loop_end;
    cw_loop_add_hook(loop, &part->hook);
    cw_source_ref(&p->base);
    part->plugin = p;
    p->parts[loop->index] = part;
    return part;
}

static void on_part_closed(uv_handle_t *handle)
{
    cw_plugin_scheduler *part = handle->data;
    while (part->pool) {
        cw_plugin_op *op = part->pool;
        part->pool = op->next;
        free(op);
    }
    cw_arena_done(&part->arena);
    cw_fair_done(&part->waiting);
    cw_plugin *p = part->plugin;
    free(part);
    cw_source_unref(&p->base);
}

static void check_gone(cw_plugin_scheduler *part)
{
    if (!part->closing || part->gone || part->workers.next != &part->workers)
        return;
    part->gone = true;
    cw_loop_remove_hook(&part->hook);
    cw_worker_timers_done(&part->timers, part->loop);
    cw_loop_unwatch(part->loop, &part->grace);
    cw_loop_unwatch(part->loop, &part->idle);
    cw_loop_unwatch(part->loop, &part->hunger);
    uv_close((uv_handle_t *)&part->retry, on_part_closed);
}

static void drop_op(cw_plugin_scheduler *part, cw_plugin_op *op)
{
    if (op->call)
        op->call->op = NULL;
    op_free(part, op);
}

/* Drop the calls of a ring without calling their sinks. */
static void drop(cw_plugin_scheduler *part, cw_plugin_op *ring)
{
    while (ring->next != ring) {
        cw_plugin_op *op = ring->next;
        op_unlink(op);
        drop_op(part, op);
    }
}

static void drop_waiting(cw_plugin_scheduler *part)
{
    cw_fair_item *item;
    while ((item = cw_fair_first(&part->waiting))) {
        cw_fair_remove(&part->waiting, item);
        drop_op(part, CW_CONTAINER(item, cw_plugin_op, place));
    }
}

static void close_scheduler(cw_plugin_scheduler *part, bool now)
{
    if (!part->closing) {
        part->closing = true;
        part->plugin->parts[part->loop->index] = NULL;
        part->n_calls = 0;
        uv_timer_stop(&part->retry);
        cw_deadline_clear(&part->start_deadline);
        cw_loop_cancel_deferred(&part->over_later);
        drop_waiting(part);
        drop(part, &part->again);
        drop(part, &part->over);
    }
    cw_worker *next;
    for (cw_worker *w = part->workers.next; w != &part->workers; w = next) {
        next = w->next;
        cw_deadline_clear(&w->grace);
        cw_deadline_clear(&w->idle);
        drop(part, &w->sent);
        w->n_sent = 0;
        /* A worker that is dead or closed has left the gauge already. */
        if (w->state < CW_WORKER_DEAD)
            uncount_worker(part);
        cw_worker_close(w, now);
    }
    check_gone(part);
}

/* ---- the source ---- */

static cw_code start(cw_source *s, cw_source_call *call, cw_fault *fault, cw_err *err)
{
    cw_plugin *p = CW_CONTAINER(s, cw_plugin, base);
    const char *paused = cw_worker_breaker_refuses(&p->breaker, call->method->index, cw_clock_ms());
    if (paused) {
        *fault = CW_FAULT_UNAVAILABLE;
        cw_str name = *paused == 'p' ? s->name : call->method->id;
        return cw_fail(err, CW_IO, "The %s '%.*s' has crashed repeatedly and is paused.", paused,
                       CW_STR_ARG(name));
    }
    if (call->loop->index >= p->opts.n_loops) {
        *fault = CW_FAULT_UNAVAILABLE;
        return cw_fail(err, CW_INTERNAL, "The plugin '%.*s' does not run here.",
                       CW_STR_ARG(s->name));
    }
    cw_plugin_scheduler *part = part_get(p, call->loop);
    if (!part) {
        *fault = CW_FAULT_NOMEM;
        return cw_fail_nomem(err);
    }
    return start_call(part, call, fault, err);
}

static void cancel(cw_source *s, cw_source_call *call)
{
    cw_plugin *p = CW_CONTAINER(s, cw_plugin, base);
    /* Without op the loop has ended and dropped the call. */
    if (call->op)
        cancel_call(p->parts[call->loop->index], call->op);
}

static void sweep(cw_source *s, cw_loop *loop, bool now)
{
    cw_plugin *p = CW_CONTAINER(s, cw_plugin, base);
    cw_plugin_scheduler *part = loop->index < p->opts.n_loops ? p->parts[loop->index] : NULL;
    if (part && now)
        close_scheduler(part, /* now= */ true);
    else if (part)
        settle(part);
}

static void free_plugin(cw_source *s)
{
    cw_plugin *p = CW_CONTAINER(s, cw_plugin, base);
    cw_worker_breaker_done(&p->breaker);
    cw_child_output_log_done(&p->output);
    for (size_t i = 0; i < p->n_events; i++)
        cw_event_source_close_rule(&p->events[i]);
    cw_source_unref(p->base.companion);
    cw_config_unref(p->config);
    if (p->file >= 0)
        close(p->file);
    free(p->parts);
    cw_arena_done(&p->arena);
    free(p);
}

const cw_source_ops cw_plugin_source_ops = {
    .name = "plugin",
    .span = "plugin",
    .start = start,
    .cancel = cancel,
    .sweep = sweep,
    .free = free_plugin,
};
