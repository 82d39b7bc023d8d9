/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client_entry.h - the entry of a server in the configuration of an MCP client.
 *
 * Threads: any.
 */
#ifndef CW_CLI_INIT_CLIENT_ENTRY_H
#define CW_CLI_INIT_CLIENT_ENTRY_H

#include "base/buf.h"

/* Append the entry as JSON. `url` is that of the MCP endpoint. */
void cw_init_add_client_entry(cw_buf *out, cw_str url, cw_str token);

#endif
