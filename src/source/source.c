/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source.c - the references of a source, and calls that wait. */
#include "source/source.h"

#include <string.h>

#include "base/clock.h"
#include "metrics/metrics.h"

cw_source *cw_source_ref(cw_source *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void cw_source_unref(cw_source *s)
{
    if (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1)
        s->ops->free(s);
}

void cw_source_retire(cw_source *s)
{
    atomic_store(&s->retired, true);
    if (s->companion)
        cw_source_retire(s->companion);
}

static void count_waiting(const cw_source_call *call, int64_t n)
{
    cw_source *source = call->method->source;
    bool is_plugin = strcmp(source->ops->name, "plugin") == 0;
    cw_metrics_add(is_plugin ? CW_METRIC_PLUGIN_QUEUE : CW_METRIC_SOURCE_QUEUE,
                   cw_source_slot(source), 0, 0, n);
}

void cw_source_call_wait(cw_source_call *call)
{
    if (!call->is_waiting)
        count_waiting(call, 1);
    if (!call->is_waiting)
        call->queued_ns = cw_clock_ns();
    call->is_waiting = true;
}

void cw_source_call_begin(cw_source_call *call)
{
    if (!call->is_waiting)
        return;
    count_waiting(call, -1);
    call->queue_ns += cw_clock_ns() - call->queued_ns;
    call->left_queue = cw_loop_now(call->loop);
    call->is_waiting = false;
}
