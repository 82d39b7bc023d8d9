/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client_entry.h - the entry of a server in the configuration of an MCP client.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_INIT_CLIENT_ENTRY_H
#define CW_CLI_INIT_CLIENT_ENTRY_H

#include "base/buf.h"

/* Append the entry as JSON. `url` is that of the MCP endpoint. */
void cw_init_add_client_entry(cw_buf *out, cw_str url, cw_str token);

/* The result of `causeway init`. */
typedef struct cw_init_made {
    const char *config; /* path of the configuration */
    const char *account;
    cw_str url, token;
} cw_init_made;

/* Print the result as JSON, with the entry as its member `client`. Returns the exit code. */
int cw_init_print_json(const cw_init_made *made);

#endif
