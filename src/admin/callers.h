/* SPDX-License-Identifier: GPL-2.0-or-later */
/* callers.h - callers for questions about access: as a login makes them, without credentials.
 *
 *     cw_admin_callers of;
 *     cw_code rc = cw_admin_callers_init(&of, c, err);
 *     if (!rc)
 *         rc = cw_admin_caller_of_role(&of, CW_STR("editor"), &caller, err);
 *     cw_admin_callers_done(&of);
 *
 * Ownership: each caller is a reference that the user releases.
 * Threads:   that of the call's database.
 */
#ifndef CW_ADMIN_CALLERS_H
#define CW_ADMIN_CALLERS_H

#include "access/roles.h"
#include "admin/admin.h"

typedef struct cw_admin_callers {
    const cw_admin_call *c;
    cw_roles *roles; /* of the configuration */
} cw_admin_callers;

/* The roles of a configuration. */
CW_MUST_USE cw_code cw_admin_roles_new(const cw_config *config, cw_roles **ret, cw_err *err);

CW_MUST_USE cw_code cw_admin_callers_init(cw_admin_callers *of, const cw_admin_call *c,
                                          cw_err *err);
void cw_admin_callers_done(cw_admin_callers *of);

/* A caller who has this role alone: the anonymous one, or one who logged in with a password. A role
 * that does not exist has no permissions. */
CW_MUST_USE cw_code cw_admin_caller_of_role(const cw_admin_callers *of, cw_str role,
                                            cw_caller **ret, cw_err *err);
/* The caller of an account: with a token, if it is not NULL, else with its password. */
CW_MUST_USE cw_code cw_admin_caller_of_account(const cw_admin_callers *of,
                                               const cw_account *account, const cw_token *token,
                                               cw_caller **ret, cw_err *err);

#endif
