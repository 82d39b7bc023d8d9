/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_part_int.h - between the calls of a part (plugin_part.c), its workers' reports
 * (plugin_events.c) and its life (plugin.c).
 */
#ifndef CW_SOURCE_PLUGIN_PART_INT_H
#define CW_SOURCE_PLUGIN_PART_INT_H

#include "source/plugin_int.h"

extern const cw_worker_ops cw_plugin_part_worker_ops;

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

CW_INLINE bool nothing_waits(const cw_plugin_part *part)
{
    return cw_fair_count(&part->waiting) == 0 && op_ring_is_empty(&part->again);
}

void cw_plugin_op_unlink(cw_plugin_op *op);
/* Back to the pool. */
void cw_plugin_op_free(cw_plugin_part *part, cw_plugin_op *op);
/* Close a part of a retired plugin that has no calls. */
void cw_plugin_part_settle(cw_plugin_part *part);
/* Tell one call how it ended: the last thing to do with it. */
void cw_plugin_part_tell(cw_plugin_part *part, cw_plugin_op *op, const cw_outcome *outcome);
/* Tell the calls that have failed meanwhile, then settle. */
void cw_plugin_part_tell_over(cw_plugin_part *part);
/* No worker will come: calls that wait have failed. The message is a constant. */
void cw_plugin_part_fail_waiting(cw_plugin_part *part, const char *message);
/* Call cw_plugin_part_tell_over at the end of this turn. */
void cw_plugin_part_on_over(cw_later *later);
/* Send what waits, as far as there are workers for it, and have more of them. */
void cw_plugin_part_pump(cw_plugin_part *part);
/* The next worker is not started at once. */
void cw_plugin_part_back_off(cw_plugin_part *part);
/* A worker has nothing to do. */
void cw_plugin_part_rest(cw_plugin_part *part, cw_worker *w);
void cw_plugin_part_on_retry(uv_timer_t *timer);
void cw_plugin_part_on_hungry(cw_deadline *d);
/* Free a closing part whose last worker is gone. */
void cw_plugin_part_check_gone(cw_plugin_part *part);

#endif
