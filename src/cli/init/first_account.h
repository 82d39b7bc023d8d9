/* SPDX-License-Identifier: GPL-2.0-or-later */
/* first_account.h - the account that `causeway init` makes, and its token.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_INIT_FIRST_ACCOUNT_H
#define CW_CLI_INIT_FIRST_ACCOUNT_H

#include "access/credentials.h"
#include "cli/lib/admin.h"

/* An account without a password, and its token. Lists end with a NULL. */
typedef struct cw_init_account {
    const char *name;
    const char *const *roles;
    const char *const *scopes; /* of the token */
} cw_init_account;

/* Add both, by the methods that "causeway account add" and "token create" use. The errors are those of
 * cw_cli_admin_try. */
CW_MUST_USE cw_code cw_init_add_account(cw_cli_admin *a, const cw_init_account *account,
                                        char token[CW_TOKEN_LEN + 1], cw_err *err);
/* Record both changes in the audit, unless a server made and recorded them. */
void cw_init_record_account(const cw_cli_admin *a, const char *account);

#endif
