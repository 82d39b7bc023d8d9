/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process.h - which process started which, and which one lives, as /proc shows it.
 *
 * Threads: any.
 */
#ifndef CW_BASE_PROCESS_H
#define CW_BASE_PROCESS_H

#include <sys/types.h>

#include "base/str.h"

#define CW_PROCESS_ID 128u

/* The parent of a process; 0: it has none here; -1: the process is gone, or cannot be seen. */
pid_t cw_process_parent(pid_t pid);
/* Whether `pid` is `ancestor`, which is this process, or was started below it. A process that cannot be
 * checked is not trusted: one that is gone is below every other one. In the sandbox of a service
 * manager, processes outside may be invisible. Then a process is below unless it is outside the control
 * group of ours, which a process without rights cannot leave. */
bool cw_process_is_below(pid_t pid, pid_t ancestor);

/* The name of this process, which no other process on any machine ever has: machine and boot, namespace,
 * number, start. Empty when /proc cannot be read. */
void cw_process_name(char out[CW_PROCESS_ID]);

typedef enum cw_process_state {
    CW_PROCESS_ENDED,
    CW_PROCESS_ALIVE,
    CW_PROCESS_UNKNOWN, /* it belongs to another machine or container */
} cw_process_state;

/* The state of the process of this name. After a restart of the machine its processes are UNKNOWN. */
cw_process_state cw_process_state_of(cw_str name);

#endif
