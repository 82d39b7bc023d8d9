/* SPDX-License-Identifier: GPL-2.0-or-later */
/* landlock.h - takes files away from this process, with Linux's Landlock, which needs no privilege.
 *
 * Landlock grants access to directories with everything below them; it cannot take a file out of a
 * granted directory. So a directory with a hidden file somewhere below it gets no grant of its own:
 * each of its present entries does, apart from the hidden ones.
 *
 *     hidden: /etc/causeway/causeway.yaml
 *     granted: /usr, /home, …, /etc/hosts, …, /etc/causeway/README     not: /, /etc, /etc/causeway
 *
 * Files that are created later in such a directory (here /, /etc, /etc/causeway) cannot be used.
 *
 * A process with Landlock cannot trace or inspect processes outside (/proc/PID/mem, environ, fd), and
 * with Linux 6.12 it cannot signal them. All of it is inherited and cannot be undone.
 *
 * Not here: connecting to unix sockets, which Landlock does not check.
 *
 * Threads: one thread.
 * Limits:  CW_LANDLOCK_ENTRIES entries of one directory; others cannot be used.
 */
#ifndef CW_HOST_LANDLOCK_H
#define CW_HOST_LANDLOCK_H

#include <stddef.h>

#define CW_LANDLOCK_PATHS 512u
#define CW_LANDLOCK_ENTRIES 8192u

typedef struct cw_landlock_list {
    const char *items[CW_LANDLOCK_PATHS];
    size_t n;
} cw_landlock_list;

typedef struct cw_landlock {
    cw_landlock_list hidden; /* files and directories, existing or not */
    /* Both empty: everything but the hidden files can be used. Otherwise these, the directories of
     * the system for reading, and TMPDIR. */
    cw_landlock_list readable, writable;
} cw_landlock;

/* Restrict this process. Returns 0, and 0 without doing anything if the kernel has no Landlock, or a
 * version below 2, which breaks programs that move files. Otherwise 1, with errno. */
int cw_landlock_apply(const cw_landlock *l);

#endif
