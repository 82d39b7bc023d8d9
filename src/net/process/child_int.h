/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child_int.h - what child.c and spawn.c share. */
#ifndef CW_NET_PROCESS_CHILD_INT_H
#define CW_NET_PROCESS_CHILD_INT_H

#include <stdbool.h>
#include <sys/types.h>

/* Kill a child without a watcher, with its group, wait for its end (a moment) and close its pidfd
 * (-1: none). */
void cw_child_end(pid_t pid, int pidfd, bool has_group);

#endif
