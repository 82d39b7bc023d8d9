/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process.h - which process started which, as /proc shows it.
 *
 * Threads: any.
 */
#ifndef CW_BASE_PROCESS_H
#define CW_BASE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* The parent of a process; 0: it has none here; -1: the process is gone, or cannot be seen. */
pid_t cw_process_parent(pid_t pid);
/* Whether `pid` is `ancestor`, which is this process, or was started below it. A process that cannot be
 * checked is not trusted: one that is gone is below every other one. In the sandbox of a service
 * manager, processes outside may be invisible. Then a process is below unless it is outside the control
 * group of ours, which a process without rights cannot leave. */
bool cw_process_is_below(pid_t pid, pid_t ancestor);

#endif
