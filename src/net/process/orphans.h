/* SPDX-License-Identifier: GPL-2.0-or-later */
/* orphans.h - processes that a child program has started and left behind.
 *
 * Those of its process group are killed when the child exits (child.h). One that has left the group
 * (setsid) is found by a mark in its environment, which programs hand on without knowing it:
 *
 *     CAUSEWAY_CHILD=PID-N     our process, and a number for each child program
 *
 * One that has removed or overwritten its environment is not found.
 *
 * Threads: no state.
 * Limits:  CW_ORPHANS_ENVIRONMENT bytes of a process's environment are searched.
 */
#ifndef CW_NET_PROCESS_ORPHANS_H
#define CW_NET_PROCESS_ORPHANS_H

#include <stddef.h>
#include <stdint.h>

#define CW_ORPHANS_MARK 48u /* bytes of a mark, NUL included */
#define CW_ORPHANS_ENVIRONMENT (64u * 1024u)

/* Memory for one search at a time, so that it never asks for any. */
typedef struct cw_orphans_space {
    _Alignas(8) char entries[16384]; /* of /proc */
    char environment[CW_ORPHANS_ENVIRONMENT];
} cw_orphans_space;

/* The mark of child program `n` of this process, for its environment. Returns `out`. */
const char *cw_orphans_mark(uint64_t n, char out[CW_ORPHANS_MARK]);
/* Kill every process with the mark of one of these programs. Reads /proc: takes milliseconds, so
 * loops leave it to the spawner (cw_spawner_sweep). */
void cw_orphans_kill(const uint64_t *marks, size_t n, cw_orphans_space *space);

#endif
