/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exec.h - runs the program of a source as foreign code.
 *
 *     server ─► causeway-plugin-host --exec ─► program ─► what it starts
 *
 * The process stays as the parent of the program. Orphans below it become its children, so nothing
 * that the program starts can leave it. When the program exits, or the server does, all of it is
 * killed. The program has the standard descriptors; this process keeps none of them.
 *
 * Signals: SIGUSR1 kills everything at once. SIGTERM is sent to the whole group by the server, so the
 * program has it too.
 *
 * Threads: one thread.
 */
#ifndef CW_HOST_EXEC_H
#define CW_HOST_EXEC_H

#include <stdint.h>

#include "host/landlock.h"

typedef struct cw_host_program {
    char *const *argv;  /* the program and its arguments; PATH is searched */
    uint64_t parent;    /* process number of the server */
    uint64_t memory;    /* bytes of data; 0: no limit */
    uint64_t files;     /* open descriptors; 0: as they are */
    uint64_t processes; /* of the user; 0: as they are */
    cw_landlock landlock;
} cw_host_program;

/* Returns the exit status of the program, or does not return: a program that was killed ends this
 * process by the same signal. 127: it cannot be started; 126: it cannot be confined. */
int cw_host_exec(const cw_host_program *p);

#endif
