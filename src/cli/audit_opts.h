/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit_opts.h - the audit as a configuration wants it.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_AUDIT_OPTS_H
#define CW_CLI_AUDIT_OPTS_H

#include "access/audit.h"
#include "config/config.h"

/* Borrows from the configuration. */
cw_audit_opts cw_cli_audit_opts(const cw_config *config);
/* Record what an administrator has done with a command: what ("account add"), to whom or what, and
 * the details. Whoever runs the command is the caller. A record that cannot be written is told on
 * standard error. */
void cw_cli_record(const cw_config *config, const char *what, cw_str target, bool is_done);

#endif
