/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stats.h - samples of the metrics, for causeway.stats.
 *
 * A timer of the main loop reads the sums of all calls every CW_STATS_STEP_MS, and keeps the samples
 * of 15 minutes. Every 60th of them is kept for a day.
 *
 * Ownership: heap object; freed by stop.
 * Threads:   the main one.
 */
#ifndef CW_ADMIN_STATS_H
#define CW_ADMIN_STATS_H

#include "base/err.h"
#include "net/loop/loop.h"

#define CW_STATS_STEP_MS 5000u
#define CW_STATS_SAMPLES 181u /* of each range: 180 steps */

typedef struct cw_admin_stats cw_admin_stats;

/* NULL without memory: the methods then have no history. */
cw_admin_stats *cw_admin_stats_start(cw_loop *loop);
/* The timer closes on the loop. NULL is fine. */
void cw_admin_stats_stop(cw_admin_stats *stats);

#endif
