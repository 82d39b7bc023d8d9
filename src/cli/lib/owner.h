/* SPDX-License-Identifier: GPL-2.0-or-later */
/* owner.h - commands of root that change the files of a server run as the server's user.
 *
 * Otherwise new files would belong to root, and the server could not use them. The user of the server
 * could also put a link where root writes.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_LIB_OWNER_H
#define CW_CLI_LIB_OWNER_H

#include "base/err.h"

/* If this is root, continue as the owner of the directory of `database`, an absolute path. The real user
 * stays root, whom the audit names. CW_IO: the directory does not exist, or the user cannot be
 * changed. */
CW_MUST_USE cw_code cw_cli_become_owner(const char *database, cw_err *err);

#endif
