/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin.c - the plugin as a source, and the life of its parts.
 *
 * A part is made by the first call on its loop and closed when the plugin is
 * retired and its last call is over, or when the loop ends. Closing takes a while:
 * workers have to exit. Meanwhile a late call of an old snapshot gets a new part.
 */
#include <stdlib.h>
#include <unistd.h>

#include "source/plugin/scheduler_int.h"

static void on_grace_expired(cw_deadline *d)
{
    cw_worker *w = CW_CONTAINER(d, cw_worker, grace);
    const cw_plugin_op *stuck = w->sent.next;
    uint64_t id = stuck->id;
    /* It may have ended a moment ago, and the calls behind it may be running. */
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
    part->n_live--;
    cw_worker_close(w, /* now= */ false);
}

/* ---- parts ---- */

static void on_loop_end(cw_loop_hook *hook)
{
    cw_plugin_scheduler_close(CW_CONTAINER(hook, cw_plugin_scheduler, hook), /* now= */ true);
}

static void watch(cw_plugin_scheduler *part, cw_deadline_list *list, uint64_t ms,
                  void (*on_expired)(cw_deadline *))
{
    cw_deadline_list_init(list, ms, on_expired);
    cw_loop_watch(part->loop, list);
}

/* The part of this loop, made when there is none. NULL: out of memory. */
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
    part->over_later.fn = cw_plugin_scheduler_on_end;
    cw_fair_init(&part->waiting);
    part->over.prev = part->over.next = &part->over;
    cw_arena_init(&part->arena, 16u * p->opts.frame_size);
    const cw_plugin_opts *opts = &p->opts;
    cw_worker_timers_init(&part->timers, loop, opts);
    watch(part, &part->grace, opts->grace_ms, on_grace_expired);
    watch(part, &part->idle, opts->idle_ms, on_idle_expired);
    watch(part, &part->hunger, opts->load_ms, cw_plugin_scheduler_on_start_deadline);
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

void cw_plugin_scheduler_check_gone(cw_plugin_scheduler *part)
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
    cw_plugin_op_free(part, op);
}

/* Forget the calls of a ring without a word to their sinks. */
static void drop(cw_plugin_scheduler *part, cw_plugin_op *ring)
{
    while (ring->next != ring) {
        cw_plugin_op *op = ring->next;
        cw_plugin_op_unlink(op);
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

void cw_plugin_scheduler_close(cw_plugin_scheduler *part, bool now)
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
        cw_worker_close(w, now);
    }
    cw_plugin_scheduler_check_gone(part);
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
    return cw_plugin_scheduler_start(part, call, fault, err);
}

static void cancel(cw_source *s, cw_source_call *call)
{
    cw_plugin *p = CW_CONTAINER(s, cw_plugin, base);
    /* Without op the loop has ended and dropped the call. */
    if (call->op)
        cw_plugin_scheduler_cancel(p->parts[call->loop->index], call->op);
}

static void sweep(cw_source *s, cw_loop *loop, bool now)
{
    cw_plugin *p = CW_CONTAINER(s, cw_plugin, base);
    cw_plugin_scheduler *part = loop->index < p->opts.n_loops ? p->parts[loop->index] : NULL;
    if (part && now)
        cw_plugin_scheduler_close(part, /* now= */ true);
    else if (part)
        cw_plugin_scheduler_settle(part);
}

static void free_plugin(cw_source *s)
{
    cw_plugin *p = CW_CONTAINER(s, cw_plugin, base);
    cw_worker_breaker_done(&p->breaker);
    cw_child_output_log_done(&p->output);
    if (p->file >= 0)
        close(p->file);
    free(p->parts);
    cw_arena_done(&p->arena);
    free(p);
}

const cw_source_ops cw_plugin_source_ops = {
    .name = "plugin",
    .start = start,
    .cancel = cancel,
    .sweep = sweep,
    .free = free_plugin,
};
