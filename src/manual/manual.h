/* SPDX-License-Identifier: GPL-2.0-or-later */
/* manual.h - the manual pages that are made from the tables of the program.
 *
 *     causeway.1           cw_manual_program
 *     causeway-COMMAND.1   cw_manual_command, for each command at the top
 *     causeway.yaml.5      cw_manual_configuration
 *
 * Ownership: a page is appended to the caller's buffer, whose failure is sticky.
 * Threads:   main thread only.
 */
#ifndef CW_MANUAL_MANUAL_H
#define CW_MANUAL_MANUAL_H

#include "base/buf.h"

void cw_manual_program(cw_buf *out);
/* Returns false if no command has this name. */
bool cw_manual_command(cw_str name, cw_buf *out);
/* Call `fn` with the name of each command that has a page. */
void cw_manual_each_command(void (*fn)(const char *name, void *ctx), void *ctx);

void cw_manual_configuration(cw_buf *out);

#endif
