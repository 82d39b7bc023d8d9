/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scheduler_int.h - between the calls of a part (scheduler.c), its workers' reports
 * (events.c) and its life (plugin.c).
 */
#ifndef CW_SOURCE_PLUGIN_SCHEDULER_INT_H
#define CW_SOURCE_PLUGIN_SCHEDULER_INT_H

#include "source/plugin/plugin_int.h"

extern const cw_worker_ops cw_plugin_scheduler_worker_ops;

CW_INLINE void op_insert(cw_plugin_op *before, cw_plugin_op *op)
{
    op->next = before;
    op->prev = before->prev;
    op->prev->next = op;
    before->prev = op;
}

CW_INLINE bool op_ring_is_empty(const cw_plugin_op *ring)
{
    return ring->next == ring;
}

CW_INLINE bool nothing_waits(const cw_plugin_scheduler *part)
{
    return cw_fair_count(&part->waiting) == 0 && op_ring_is_empty(&part->again);
}

void cw_plugin_op_unlink(cw_plugin_op *op);
/* Back to the pool. */
void cw_plugin_op_free(cw_plugin_scheduler *part, cw_plugin_op *op);
/* Close a part of a retired plugin that has no calls. */
void cw_plugin_scheduler_settle(cw_plugin_scheduler *part);
/* Tell one call how it ended: the last thing to do with it. */
void cw_plugin_scheduler_finish(cw_plugin_scheduler *part, cw_plugin_op *op,
                                const cw_outcome *outcome);
/* Tell the calls that have failed meanwhile, then settle. */
void cw_plugin_scheduler_report_end(cw_plugin_scheduler *part);
/* No worker will come: calls that wait have failed. The message is a constant. */
void cw_plugin_scheduler_fail_waiting(cw_plugin_scheduler *part, const char *message);
/* Call cw_plugin_scheduler_report_end at the end of this turn. */
void cw_plugin_scheduler_on_end(cw_deferred *later);
/* Send what waits, as far as there are workers for it, and have more of them. */
void cw_plugin_scheduler_pump(cw_plugin_scheduler *part);
/* The next worker is not started at once. */
void cw_plugin_scheduler_back_off(cw_plugin_scheduler *part);
/* A worker has nothing to do. */
void cw_plugin_scheduler_on_start_deadline(cw_deadline *d);
/* Free a closing part whose last worker is gone. */
void cw_plugin_scheduler_check_gone(cw_plugin_scheduler *part);

#endif
