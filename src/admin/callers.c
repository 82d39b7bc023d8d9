/* SPDX-License-Identifier: GPL-2.0-or-later */
/* callers.c - callers with the permissions of a role or an account. */
#include "admin/callers.h"

#include <stdlib.h>

#include "access/rights.h"
#include "base/digits.h"

#define COLLECT_MAX_BYTES ((size_t)64 << 20)

cw_code cw_admin_roles_new(const cw_config *config, cw_roles **ret, cw_err *err)
{
    cw_role *items = calloc(config->roles.n + 1, sizeof *items);
    if (!items)
        return cw_fail_nomem(err);
    for (size_t i = 0; i < config->roles.n; i++) {
        const cw_config_role *role = &config->roles.items[i];
        items[i] = (cw_role){role->name, role->permissions.items, role->permissions.n};
    }
    cw_code rc =
        cw_roles_new(items, config->roles.n, config->access.authenticated_only_own, ret, err);
    free(items);
    return rc;
}

cw_code cw_admin_callers_init(cw_admin_callers *of, const cw_admin_call *c, cw_err *err)
{
    *of = (cw_admin_callers){.c = c};
    return cw_admin_roles_new(c->config, &of->roles, err);
}

void cw_admin_callers_done(cw_admin_callers *of)
{
    cw_roles_unref(of->roles);
    of->roles = NULL;
}

static cw_code new_anonymous(const cw_admin_callers *of, const cw_rights *rights, cw_caller **ret,
                             cw_err *err)
{
    return of->c->has_no_logins ? cw_caller_new_confined(rights->items, rights->n, ret, err)
                                : cw_caller_new_anonymous(rights->items, rights->n, ret, err);
}

cw_code cw_admin_caller_of_role(const cw_admin_callers *of, cw_str role, cw_caller **ret,
                                cw_err *err)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_arena_init(&arena, COLLECT_MAX_BYTES);
    cw_rights rights = {.arena = &arena, .db = of->c->db, .roles = of->roles};
    cw_code rc = cw_rights_add_role(&rights, role, err);
    if (rc)
        return rc;
    if (cw_str_is(role, CW_ROLE_ANONYMOUS))
        return new_anonymous(of, &rights, ret, err);
    rc = cw_rights_add_authenticated(&rights, err);
    cw_caller_opts opts = {
        .id = CW_STR("role"), .name = role, .permissions = rights.items, .n_permissions = rights.n};
    return rc ? rc : cw_caller_new(&opts, ret, err);
}

cw_code cw_admin_caller_of_account(const cw_admin_callers *of, const cw_account *account,
                                   const cw_token *token, cw_caller **ret, cw_err *err)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    char id[CW_DIGITS_SIZE];
    cw_arena_init(&arena, COLLECT_MAX_BYTES);
    cw_rights rights = {.arena = &arena, .db = of->c->db, .roles = of->roles};
    cw_rights scopes = {.arena = &arena, .db = of->c->db};
    cw_code rc = cw_rights_add_account(&rights, account, err);
    if (!rc && token)
        rc = cw_rights_add_scopes(&scopes, token, err);
    cw_caller_opts opts = {.id = cw_digits_i64(account->id, id),
                           .name = account->name,
                           .language = account->language,
                           .permissions = rights.items,
                           .n_permissions = rights.n,
                           .has_token = token != NULL,
                           .scopes = scopes.items,
                           .n_scopes = scopes.n};
    return rc ? rc : cw_caller_new(&opts, ret, err);
}
