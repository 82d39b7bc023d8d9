/* SPDX-License-Identifier: GPL-2.0-or-later */
/* name_checks.h - warnings about the names of tools in a catalogue.
 *
 * Threads: main thread only.
 */
#ifndef CW_SERVER_OPTIONS_NAME_CHECKS_H
#define CW_SERVER_OPTIONS_NAME_CHECKS_H

#include "catalogue/snapshot.h"
#include "config/config.h"

/* Log tools that MCP clients do not see because two have one portable name, and limits that apply
 * to no tool because they name a portable one. */
void cw_name_checks_log(const cw_config *config, const cw_snapshot *snapshot);

#endif
