/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rights.h - collects the permissions that roles and accounts have, by configuration and database.
 *
 * Logins (login/accounts.h) and the access matrix (admin/access.c) use the same functions, so both
 * give a caller the same permissions.
 *
 *     cw_rights rights = {.arena = &arena, .db = db, .roles = roles};
 *     cw_code rc = cw_rights_add_account(&rights, account, err);
 *     ... rights.items, rights.n ...
 *
 * Ownership: texts are copied into the arena. Duplicates stay: cw_caller_new drops them.
 * Threads:   that of the database.
 */
#ifndef CW_ACCESS_RIGHTS_H
#define CW_ACCESS_RIGHTS_H

#include "access/roles.h"
#include "store/db.h"

typedef struct cw_rights {
    cw_arena *arena;
    cw_db *db;             /* NULL: the configuration alone */
    const cw_roles *roles; /* of the configuration; NULL: none */
    cw_str *items;
    size_t n, cap;
} cw_rights;

/* Add a text. */
CW_MUST_USE cw_code cw_rights_add(cw_rights *r, cw_str text, cw_err *err);
/* The same as a function of type cw_db_text_fn; `rights` is a cw_rights. */
CW_MUST_USE cw_code cw_rights_add_text(cw_str text, void *rights, cw_err *err);
/* Add the permissions of a role. */
CW_MUST_USE cw_code cw_rights_add_role(cw_rights *r, cw_str name, cw_err *err);
/* Add the permissions of every caller who has logged in. A login takes no permission away, unless
 * access.authenticated_only_own is set. */
CW_MUST_USE cw_code cw_rights_add_authenticated(cw_rights *r, cw_err *err);
/* Add the permissions of an account: of its roles, and of every caller who has logged in.
 * Rights that were read with the account are not read again. */
CW_MUST_USE cw_code cw_rights_add_account(cw_rights *r, const cw_account *account, cw_err *err);
/* Add the scopes of a token. */
CW_MUST_USE cw_code cw_rights_add_scopes(cw_rights *r, const cw_token *token, cw_err *err);

#endif
