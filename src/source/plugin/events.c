/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events.c - what the workers of a part report: ready, answers, death. */
#include <stdlib.h>

#include "source/plugin/scheduler_int.h"

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
    cw_plugin_scheduler_pump(part);
    if (w->n_sent == 0)
        start_idle_timer(part, w);
    cw_plugin_scheduler_report_end(part);
}

/* ---- answers ---- */

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

/* Take an answered call out of the worker's line; the next one runs from now on. */
static void pop(cw_plugin_scheduler *part, cw_worker *w, cw_plugin_op *op)
{
    bool was_first = w->sent.next == op;
    uint64_t now = cw_clock_ns();
    if (op->call && was_first)
        record_time(part, op, now);
    cw_plugin_op_unlink(op);
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
    cw_plugin_scheduler_pump(part);
    if (!op->call) {
        cw_plugin_op_free(part, op);
    } else {
        if (rc) {
            outcome = (cw_outcome){.kind = CW_OUTCOME_FAILED, .detail = part->plugin->base.name};
            outcome.fault = rc == CW_NOMEM ? CW_FAULT_NOMEM : CW_FAULT_PROTOCOL;
            outcome.message = rc == CW_NOMEM ? CW_STR("The server is out of memory.")
                                             : CW_STR("The answer of the plugin is too large.");
        }
        cw_plugin_scheduler_finish(part, op, &outcome);
    }
    cw_plugin_scheduler_report_end(part);
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
    if (!w->refused)
        cw_worker_breaker_on_death(&part->plugin->breaker, method, cw_clock_ms());
    if (!in_call)
        cw_plugin_scheduler_back_off(part);
}

/* The calls behind the one that ran go to the front of the queue, in order. */
static void take_back(cw_plugin_scheduler *part, cw_worker *w)
{
    while (!op_ring_is_empty(&w->sent)) {
        cw_plugin_op *op = w->sent.prev;
        cw_plugin_op_unlink(op);
        op->worker = NULL;
        if (!op->call) {
            cw_plugin_op_free(part, op);
            continue;
        }
        cw_source_call_wait(op->call);
        op_insert(part->again.next, op);
    }
    w->n_sent = w->n_slow = 0;
}

static void on_dead(cw_worker *w)
{
    cw_plugin_scheduler *part = w->owner;
    cw_plugin_op *ran = op_ring_is_empty(&w->sent) ? NULL : w->sent.next;
    part->n_live--;
    part->n_starting -= !w->was_ready;
    cw_deadline_clear(&w->grace);
    cw_deadline_clear(&w->idle);
    if (ran)
        cw_plugin_op_unlink(ran);
    take_back(part, w);
    blame(part, w, ran ? ran->method : CW_WORKER_BREAKER_PLUGIN);
    if (part->n_live == 0 && cw_worker_breaker_is_open(&part->plugin->breaker))
        cw_plugin_scheduler_fail_waiting(part, "The plugin has crashed repeatedly and is paused.");
    cw_plugin_scheduler_pump(part);
    if (ran && ran->call) {
        cw_outcome outcome = {
            .kind = CW_OUTCOME_FAILED,
            .fault = CW_FAULT_DIED,
            .message = CW_STR("The plugin ended unexpectedly while it ran this call."),
            .detail = cw_str_from(w->detail),
        };
        cw_plugin_scheduler_finish(part, ran, &outcome);
    } else if (ran) {
        cw_plugin_op_free(part, ran);
    }
    cw_plugin_scheduler_report_end(part);
}

static void on_closed(cw_worker *w)
{
    cw_plugin_scheduler *part = w->owner;
    w->prev->next = w->next;
    w->next->prev = w->prev;
    free(w);
    cw_plugin_scheduler_check_gone(part);
}

const cw_worker_ops cw_plugin_scheduler_worker_ops = {
    .on_ready = on_ready,
    .on_frame = on_frame,
    .on_dead = on_dead,
    .on_closed = on_closed,
};
