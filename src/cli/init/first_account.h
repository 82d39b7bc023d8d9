/* SPDX-License-Identifier: GPL-2.0-or-later */
/* first_account.h - the account that `causeway init` makes, and its token.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_INIT_FIRST_ACCOUNT_H
#define CW_CLI_INIT_FIRST_ACCOUNT_H

#include "access/credentials.h"
#include "cli/lib/admin.h"

/* Add an account without a password, with `roles` up to a NULL, and a token for it, by the methods that
 * "causeway account add" and "token create" use. The errors are those of cw_cli_admin_try. */
CW_MUST_USE cw_code cw_init_add_account(cw_cli_admin *a, const char *account,
                                        const char *const *roles, char token[CW_TOKEN_LEN + 1],
                                        cw_err *err);
/* Record both changes in the audit, unless a server made and recorded them. */
void cw_init_record_account(const cw_cli_admin *a, const char *account);

#endif
