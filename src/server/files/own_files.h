/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own_files.h - the files of this server, which foreign programs must not use.
 *
 *     configuration, overlays, database, keys, secrets, lock file, state, audit, local socket
 *
 * The launcher hides them from the programs of sources and from plugins (host/landlock.h).
 *
 * Threads: main thread only.
 */
#ifndef CW_SERVER_FILES_OWN_FILES_H
#define CW_SERVER_FILES_OWN_FILES_H

#include "config/config.h"
#include "net/process/child.h"

/* Whether this kernel can hide files. */
bool cw_own_files_can_hide(void);
/* Tell a spawner where the launcher is, and which files it hides. Without a launcher confined jobs
 * fail; that is no error here. CW_NOMEM. */
CW_MUST_USE cw_code cw_own_files_hide(cw_spawner *spawner, const cw_config *config, cw_err *err);

#endif
