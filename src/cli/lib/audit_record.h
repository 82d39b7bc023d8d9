/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit_record.h - changes that an administrator makes with a command, in the audit.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_LIB_AUDIT_RECORD_H
#define CW_CLI_LIB_AUDIT_RECORD_H

#include "config/config.h"

#define CW_CLI_USER 256u

/* The name of the user who runs the command; "uid:N" without one. */
void cw_cli_user(char ret[CW_CLI_USER]);
/* Record what an administrator has done with a command: what ("account add"), to whom or what, and
 * whether it was done. The caller is the user who runs the command. If the record cannot be
 * written, an error is printed. */
void cw_cli_record(const cw_config *config, const char *what, cw_str target, bool is_done);

#endif
