/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client_entry.h - the result of `causeway init`: the entry for an MCP client, and the next commands.
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

/* Append the command that gives the account a password. */
void cw_init_add_password_command(cw_buf *out, const cw_init_made *made);
/* Append the commands to run next, to copy into a shell. `start` is the one that starts the server or
 * shows its state: serve, status; NULL: systemd starts it. */
void cw_init_add_next(cw_buf *out, const cw_init_made *made, const char *start);
/* Print the result as JSON, with the entry as its member `client`. Returns the exit code. */
int cw_init_print_json(const cw_init_made *made);

#endif
