/* SPDX-License-Identifier: GPL-2.0-or-later */
/* roles.h - the roles of the configuration.
 *
 * Ownership: reference counted; everything is copied.
 * Threads:   immutable; references are counted atomically.
 */
#ifndef CW_ACCESS_ROLES_H
#define CW_ACCESS_ROLES_H

#include "base/err.h"
#include "base/str.h"

typedef struct cw_role {
    cw_str name;
    const cw_str *permissions;
    size_t n_permissions;
} cw_role;

typedef struct cw_roles cw_roles;

/* authenticated_only_own: the role "authenticated" does not inherit from "anonymous". */
CW_MUST_USE cw_code cw_roles_new(const cw_role *items, size_t n, bool authenticated_only_own,
                                 cw_roles **ret, cw_err *err);
cw_roles *cw_roles_ref(cw_roles *roles);
/* NULL is fine. */
void cw_roles_unref(cw_roles *roles);
/* NULL: no role has this name. `roles` may be NULL. */
const cw_role *cw_roles_find(const cw_roles *roles, cw_str name);

/* Whether both give the same permissions to the same roles. NULL is fine. */
bool cw_roles_equal(const cw_roles *a, const cw_roles *b);
/* Whether callers who have logged in also have the permissions of "anonymous". True for NULL. */
bool cw_roles_inherit_anonymous(const cw_roles *roles);

#endif
