/* SPDX-License-Identifier: GPL-2.0-or-later */
/* launch.h - the command line that starts a job: its own, or that of the launcher.
 *
 *     npx -y server  ─►  causeway-plugin-host --exec --parent=PID --hide=FILE … -- npx -y server
 *
 * Threads: the spawner's thread; a launcher is counted under the spawner's lock.
 */
#ifndef CW_NET_PROCESS_LAUNCH_H
#define CW_NET_PROCESS_LAUNCH_H

#include "base/arena.h"
#include "net/process/child.h"

/* The launcher and the files that it hides. */
typedef struct cw_launcher cw_launcher;

CW_MUST_USE cw_code cw_launcher_new(const char *path, const char *const *hidden, cw_launcher **ret,
                                    cw_err *err);
/* NULL is fine for both. */
cw_launcher *cw_launcher_ref(cw_launcher *l);
void cw_launcher_unref(cw_launcher *l);

typedef struct cw_launch {
    cw_arena arena; /* of the list and its texts */
    const char *path;
    const char *const *argv;
    bool searches_path;
} cw_launch;

/* The command line of a job. `launcher` may be NULL: then a confined job fails. CW_NOTFOUND: there is
 * no such program; CW_PARAMS: no launcher; CW_NOMEM. */
CW_MUST_USE cw_code cw_launch_init(cw_launch *how, const cw_launcher *launcher, const cw_spawn *job,
                                   cw_err *err);
void cw_launch_done(cw_launch *how);
/* The error of a job that did not start. */
cw_code cw_launch_fail(const cw_spawn *job, int errnum, cw_err *err);

#endif
