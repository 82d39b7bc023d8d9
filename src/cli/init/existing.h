/* SPDX-License-Identifier: GPL-2.0-or-later */
/* existing.h - `causeway init` for a configuration that exists, such as that of a Debian package.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_INIT_EXISTING_H
#define CW_CLI_INIT_EXISTING_H

#include "cli/init/answers.h"

/* The configuration that was installed with this program, if this user is root and it exists; else NULL. */
const char *cw_init_installed_config(void);
/* Add the first account and a token for it to the server of the configuration at `path`, and print the entry
 * for an MCP client. Asks for the account only. Returns the exit code. */
int cw_init_existing(cw_init_answers *a, const char *path);

#endif
