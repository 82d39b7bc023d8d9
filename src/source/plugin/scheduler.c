/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scheduler.c - one loop's calls: which worker runs what, and when there is one more.
 *
 *     waiting ──► worker.sent: [runs][behind][behind]  ──► answered
 *     again ─────►                │      └────┴── the worker dies: sent again, in front
 *        ▲                        │           │
 *        └────────────────────────│───────────┘
 *                                 └── the worker dies: fails
 *
 * Callers that wait take turns. The last free worker is kept from a caller whose calls run already,
 * as long as there are other callers.
 *
 * A sink may start and cancel other calls from its `done`. So every function here
 * first brings the part into order and then, last, tells the sinks.
 */
#include <stdlib.h>

#include "source/plugin/scheduler_int.h"

#define NS_PER_MS UINT64_C(1000000)

/* ---- rings of calls ---- */

void cw_plugin_op_unlink(cw_plugin_op *op)
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

void cw_plugin_op_free(cw_plugin_scheduler *part, cw_plugin_op *op)
{
    op->next = part->pool;
    part->pool = op;
}

/* ---- telling ---- */

void cw_plugin_scheduler_settle(cw_plugin_scheduler *part)
{
    if (!part->closing && part->n_calls == 0 && atomic_load(&part->plugin->base.retired))
        cw_plugin_scheduler_close(part, /* now= */ false);
}

/* The last thing to do with a call. */
void cw_plugin_scheduler_finish(cw_plugin_scheduler *part, cw_plugin_op *op,
                                const cw_outcome *outcome)
{
    cw_sink *sink = op->call->sink;
    op->call->op = NULL;
    cw_plugin_op_free(part, op);
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

void cw_plugin_scheduler_on_end(cw_deferred *later)
{
    cw_plugin_scheduler_report_end(CW_CONTAINER(later, cw_plugin_scheduler, over_later));
}

void cw_plugin_scheduler_report_end(cw_plugin_scheduler *part)
{
    while (!op_ring_is_empty(&part->over)) {
        cw_plugin_op *op = part->over.next;
        cw_plugin_op_unlink(op);
        cw_outcome outcome = {
            .kind = CW_OUTCOME_FAILED,
            .fault = op->fault,
            .message = cw_str_from(op->message),
            .detail = part->plugin->base.name,
        };
        cw_plugin_scheduler_finish(part, op, &outcome);
    }
    cw_plugin_scheduler_settle(part);
}

void cw_plugin_scheduler_fail_waiting(cw_plugin_scheduler *part, const char *message)
{
    cw_fair_item *item;
    while (!op_ring_is_empty(&part->again)) {
        cw_plugin_op *op = part->again.next;
        cw_plugin_op_unlink(op);
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

/* Whether the only worker that is free is kept from this caller: its calls run already, and there
 * are other callers. */
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

static cw_code send_to(cw_worker *w, cw_plugin_op *op, bool quick)
{
    cw_code rc = cw_plugin_send_call(w, w->last_id + 1, op->call);
    if (rc)
        return rc;
    op->id = ++w->last_id;
    op->worker = w;
    op->is_quick = quick;
    if (w->n_sent == 0)
        op->began_ns = cw_clock_ns();
    op_insert(&w->sent, op);
    w->n_sent++;
    w->n_slow += !quick;
    cw_deadline_clear(&w->idle);
    return CW_OK;
}

/* Why a call cannot be sent to anybody: CW_LIMIT on an idle worker is the call's own size. */
static cw_fault fault_of(cw_code rc, const char **ret_message)
{
    *ret_message = rc == CW_LIMIT ? "The arguments are larger than the plugin takes."
                                  : "The server is out of memory.";
    return rc == CW_LIMIT ? CW_FAULT_PROTOCOL : CW_FAULT_NOMEM;
}

static void on_retry(uv_timer_t *timer);

/* ---- workers come ---- */

void cw_plugin_scheduler_back_off(cw_plugin_scheduler *part)
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
        cw_plugin_scheduler_back_off(part);
        return;
    }
    w->owner = part;
    if (cw_worker_start(w, part->plugin, part->loop, &part->timers, &cw_plugin_scheduler_worker_ops,
                        NULL) != CW_OK) {
        free(w);
        cw_plugin_scheduler_back_off(part);
        return;
    }
    w->next = &part->workers;
    w->prev = part->workers.prev;
    w->prev->next = w;
    part->workers.prev = w;
    part->n_live++;
    part->n_starting++;
}

/* Calls wait: have one more worker, one at a time. */
static void want_worker(cw_plugin_scheduler *part)
{
    if (part->n_live == part->n_starting && !part->start_deadline.list)
        cw_loop_set_deadline(part->loop, &part->start_deadline, &part->hunger);
    if (part->n_starting > 0 || part->n_live >= part->plugin->opts.workers ||
        uv_is_active((uv_handle_t *)&part->retry))
        return;
    start_worker(part);
}

/* ---- whose turn it is ---- */

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

static choice next_choice(cw_plugin_scheduler *part)
{
    choice found = {.op = NULL};
    if (!op_ring_is_empty(&part->again))
        return choose(part, part->again.next, &found) ? found : (choice){.op = NULL};
    cw_fair_item *item = cw_fair_first(&part->waiting);
    for (uint32_t n = part->plugin->opts.workers + CW_PLUGIN_MAX_CALLERS_TRIED; item && n; n--) {
        if (choose(part, CW_CONTAINER(item, cw_plugin_op, place), &found))
            return found;
        item = cw_fair_next_caller(&part->waiting, item);
    }
    return (choice){.op = NULL};
}

/* Send a call that waits. CW_AGAIN: the worker cannot take it now, and it waits on. */
static cw_code send_waiting(cw_plugin_scheduler *part, const choice *c)
{
    cw_plugin_op *op = c->op;
    bool is_placed = op->place.group != NULL;
    if (!is_placed)
        cw_plugin_op_unlink(op);
    cw_code rc = send_to(c->worker, op, c->is_quick);
    if (rc == CW_LIMIT && c->worker->n_sent > 0) {
        if (!is_placed)
            op_insert(part->again.next, op);
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

/* Send what waits, as far as there are workers for it. */
void cw_plugin_scheduler_pump(cw_plugin_scheduler *part)
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
    cw_plugin_scheduler_pump(part);
    cw_plugin_scheduler_report_end(part);
}

void cw_plugin_scheduler_on_start_deadline(cw_deadline *d)
{
    cw_plugin_scheduler *part = CW_CONTAINER(d, cw_plugin_scheduler, start_deadline);
    if (part->n_live > part->n_starting)
        return;
    cw_plugin_scheduler_fail_waiting(part, "The plugin could not be started.");
    cw_plugin_scheduler_report_end(part);
}

/* ---- calls come and go ---- */

/* Whether there are other callers than one; without that nothing has to be kept for them. */
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
    set_over(part, CW_CONTAINER(item, cw_plugin_op, place), CW_FAULT_UNAVAILABLE,
             "Too many calls of this caller wait for the plugin.");
}

/* CW_LIMIT: there is no place; CW_NOMEM. */
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
    cw_plugin_scheduler_pump(part);
    if (!op_ring_is_empty(&part->over))
        cw_loop_defer(part->loop, &part->over_later);
    return CW_OK;
}

/* Send it at once, where no call waits. CW_LIMIT: it has to wait; CW_INVALID: it is too large for a
 * worker. */
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

cw_code cw_plugin_scheduler_start(cw_plugin_scheduler *part, cw_source_call *call, cw_fault *fault,
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
    cw_plugin_op_free(part, op);
    if (rc == CW_LIMIT) {
        *fault = CW_FAULT_UNAVAILABLE;
        return cw_fail(err, CW_IO, "Too many calls wait for the plugin '%.*s'.",
                       CW_STR_ARG(part->plugin->base.name));
    }
    const char *message;
    *fault = fault_of(rc == CW_INVALID ? CW_LIMIT : rc, &message);
    return cw_fail(err, rc == CW_INVALID ? CW_IO : rc, "%s", message);
}

void cw_plugin_scheduler_cancel(cw_plugin_scheduler *part, cw_plugin_op *op)
{
    cw_worker *w = op->worker;
    op->call->op = NULL;
    op->call = NULL;
    part->n_calls--;
    if (!w) {
        if (op->place.group)
            cw_fair_remove(&part->waiting, &op->place);
        else
            cw_plugin_op_unlink(op);
        cw_plugin_op_free(part, op);
        if (nothing_waits(part))
            cw_deadline_clear(&part->start_deadline);
    } else {
        cw_plugin_send_cancel(w, op->id);
        if (w->sent.next == op)
            cw_loop_set_deadline(part->loop, &w->grace, &part->grace);
    }
    cw_plugin_scheduler_settle(part);
}
