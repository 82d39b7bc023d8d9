/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step.h - the newest step of the statistics as JSON, for the streams of operators.
 *
 * The main thread posts a step while streams watch (admin/stats.h), and each loop sends it to its
 * streams (door/mcp/notify.c).
 *
 * Ownership: everything is copied; the last step is freed when no stream watches.
 * Threads:   any.
 * Limits:    CW_METRICS_STEP_MAX bytes; a larger step is not posted.
 */
#ifndef CW_METRICS_STEP_H
#define CW_METRICS_STEP_H

#include "base/buf.h"

#define CW_METRICS_STEP_MAX ((size_t)1 << 20)

/* A stream begins or ends to watch. */
void cw_metrics_step_watch(void);
void cw_metrics_step_unwatch(void);
bool cw_metrics_step_is_watched(void);
/* Copy the step, a JSON object. Without memory the one before stays. */
void cw_metrics_step_post(cw_str object);
/* The number of the newest step, the first is 1; 0: none. */
uint64_t cw_metrics_step_last(void);
/* Append the newest step. Returns its number; 0: none is there, and nothing was appended. */
uint64_t cw_metrics_step_add(cw_buf *out);

#endif
