/* SPDX-License-Identifier: GPL-2.0-or-later */
/* roles.c - the roles of a configuration, copied. */
#include "access/roles.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"

/* A configuration file has a ceiling of its own, far below this. */
#define ROLES_MAX_BYTES ((size_t)64 << 20)

struct cw_roles {
    atomic_uint refs;
    cw_arena arena;
    cw_role *items;
    size_t n;
    bool authenticated_only_own;
};

static bool copy_role(cw_arena *arena, const cw_role *from, cw_role *to)
{
    cw_str *permissions =
        cw_arena_calloc(arena, from->n_permissions ? from->n_permissions : 1, sizeof *permissions);
    to->name = cw_arena_dup_str(arena, from->name);
    if (!permissions || !to->name.p)
        return false;
    for (size_t i = 0; i < from->n_permissions; i++) {
        permissions[i] = cw_arena_dup_str(arena, from->permissions[i]);
        if (!permissions[i].p)
            return false;
    }
    to->permissions = permissions;
    to->n_permissions = from->n_permissions;
    return true;
}

cw_code cw_roles_new(const cw_role *items, size_t n, bool authenticated_only_own, cw_roles **ret,
                     cw_err *err)
{
    cw_roles *roles = calloc(1, sizeof *roles);
    if (!roles)
        return cw_fail_nomem(err);
    atomic_init(&roles->refs, 1);
    cw_arena_init(&roles->arena, ROLES_MAX_BYTES);
    roles->items = cw_arena_calloc(&roles->arena, n ? n : 1, sizeof *roles->items);
    bool is_good = roles->items != NULL;
    for (size_t i = 0; i < n && is_good; i++)
        is_good = copy_role(&roles->arena, &items[i], &roles->items[i]);
    if (!is_good) {
        cw_code rc = cw_arena_fail(&roles->arena, err);
        cw_roles_unref(roles);
        return rc;
    }
    roles->n = n;
    roles->authenticated_only_own = authenticated_only_own;
    *ret = roles;
    return CW_OK;
}

cw_roles *cw_roles_ref(cw_roles *roles)
{
    atomic_fetch_add_explicit(&roles->refs, 1, memory_order_relaxed);
    return roles;
}

void cw_roles_unref(cw_roles *roles)
{
    if (!roles || atomic_fetch_sub_explicit(&roles->refs, 1, memory_order_acq_rel) != 1)
        return;
    cw_arena_done(&roles->arena);
    free(roles);
}

const cw_role *cw_roles_find(const cw_roles *roles, cw_str name)
{
    for (size_t i = 0; roles && i < roles->n; i++) {
        if (cw_str_eq(roles->items[i].name, name))
            return &roles->items[i];
    }
    return NULL;
}

static bool same_role(const cw_role *a, const cw_role *b)
{
    bool is_same = cw_str_eq(a->name, b->name) && a->n_permissions == b->n_permissions;
    for (size_t i = 0; is_same && i < a->n_permissions; i++)
        is_same = cw_str_eq(a->permissions[i], b->permissions[i]);
    return is_same;
}

bool cw_roles_equal(const cw_roles *a, const cw_roles *b)
{
    if (!a || !b)
        return a == b;
    bool is_same = a->n == b->n && a->authenticated_only_own == b->authenticated_only_own;
    for (size_t i = 0; is_same && i < a->n; i++)
        is_same = same_role(&a->items[i], &b->items[i]);
    return is_same;
}

bool cw_roles_inherit_anonymous(const cw_roles *roles)
{
    return !roles || !roles->authenticated_only_own;
}
