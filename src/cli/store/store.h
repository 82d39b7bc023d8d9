/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store.h - the parts of `causeway store` that its commands share.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_STORE_STORE_H
#define CW_CLI_STORE_STORE_H

#include "config/config.h"

#define CW_CLI_STORE_BUSY_MS 5000u /* that a command waits for other writers */

/* Load a configuration that names a database. Returns -1, or reports the problem and returns the exit
 * code. */
int cw_cli_store_load(const char *option, cw_config **ret);

int cw_cli_store_restored(int argc, char **argv);

#endif
