/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stats.h - samples of the metrics, for causeway.stats.
 *
 * A timer of the main loop reads the sums of all calls every CW_STATS_STEP_MS, and keeps the samples
 * of 15 minutes. Every 60th of them is kept for a day. While operators watch, each step is posted to their
 * streams (metrics/step.h).
 *
 * Ownership: heap object; freed by stop.
 * Threads:   the main one.
 */
#ifndef CW_ADMIN_STATS_H
#define CW_ADMIN_STATS_H

#include "admin/admin.h"
#include "net/loop/loop.h"

#define CW_STATS_STEP_MS 5000u
/* Of 15 minutes, and of a day: one more than the steps between them. */
#define CW_STATS_SHORT 181u
#define CW_STATS_LONG 289u

typedef struct cw_admin_stats cw_admin_stats;

/* On the loop of the server, which is borrowed. NULL without memory: the methods then have no history. */
cw_admin_stats *cw_admin_stats_start(const cw_admin_server *server);
/* The timer closes on the loop. NULL is fine. */
void cw_admin_stats_stop(cw_admin_stats *stats);

#endif
