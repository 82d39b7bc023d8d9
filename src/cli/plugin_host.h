/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_host.h - where causeway-plugin-host is, and running it as a child.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_PLUGIN_HOST_H
#define CW_CLI_PLUGIN_HOST_H

#include "base/buf.h"
#include "config/config.h"

/* The folder of this program, without a slash at its end. CW_IO. */
CW_MUST_USE cw_code cw_cli_own_folder(char *out, size_t n, cw_err *err);
/* The path of causeway-plugin-host: plugins.host of the configuration, else the one beside this
 * program, in its build tree, or where it is installed. The caller frees it. CW_NOTFOUND when there
 * is none and it is needed. */
CW_MUST_USE cw_code cw_cli_find_host(const cw_config *config, bool is_needed, char **ret,
                                     cw_err *err);

/* What a child printed, and how it ended. */
typedef struct cw_cli_child {
    cw_buf out, err;
    int status; /* as waitpid */
    bool is_late;
} cw_cli_child;

/* Run a program with a bare environment and nothing to read, until it ends or `ms` are over (it is
 * killed then). Release with cw_cli_child_done, also after a failure. */
CW_MUST_USE cw_code cw_cli_run_child(const char *const *argv, unsigned ms, cw_cli_child *ret,
                                     cw_err *err);
void cw_cli_child_done(cw_cli_child *child);

#endif
