/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process.h - the process in the metrics, and the memory of the processes of plugins.
 *
 * Threads: any.
 * Limits:  CW_METRICS_CHILDREN processes of plugins.
 */
#ifndef CW_METRICS_PROCESS_H
#define CW_METRICS_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

#define CW_METRICS_CHILDREN 1024u

/* Set the metrics of the process, and of the children that were added. Reads /proc. */
void cw_metrics_set_process(void);
/* A process of the plugin in this slot has started, or has ended. One too many is not measured. */
void cw_metrics_child_add(uint32_t plugin, pid_t pid);
void cw_metrics_child_remove(pid_t pid);

#endif
