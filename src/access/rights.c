/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rights.c - the permissions of roles and accounts, in a list that grows in an arena. */
#include "access/rights.h"

#include "access/caller.h"

cw_code cw_rights_add(cw_rights *r, cw_str text, cw_err *err)
{
    if (r->n == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : 64;
        cw_str *items =
            cw_arena_resize(r->arena, r->items, r->cap * sizeof *items, cap * sizeof *items);
        if (!items)
            return cw_arena_fail(r->arena, err);
        r->items = items;
        r->cap = cap;
    }
    cw_str copy = cw_arena_dup_str(r->arena, text);
    if (!copy.p)
        return cw_arena_fail(r->arena, err);
    r->items[r->n++] = copy;
    return CW_OK;
}

cw_code cw_rights_add_text(cw_str text, void *rights, cw_err *err)
{
    return cw_rights_add(rights, text, err);
}

/* Add the permissions that the configuration gives a role. */
static cw_code add_configured(cw_str name, void *ctx, cw_err *err)
{
    cw_rights *r = ctx;
    const cw_role *role = cw_roles_find(r->roles, name);
    cw_code rc = CW_OK;
    for (size_t i = 0; role && i < role->n_permissions && !rc; i++)
        rc = cw_rights_add(r, role->permissions[i], err);
    return rc;
}

cw_code cw_rights_add_role(cw_rights *r, cw_str name, cw_err *err)
{
    cw_code rc = r->db ? cw_db_each_permission(r->db, name, cw_rights_add_text, r, err) : CW_OK;
    return rc ? rc : add_configured(name, r, err);
}

cw_code cw_rights_add_authenticated(cw_rights *r, cw_err *err)
{
    cw_code rc = cw_rights_add_role(r, cw_str_from(CW_ROLE_AUTHENTICATED), err);
    if (rc || !cw_roles_inherit_anonymous(r->roles))
        return rc;
    return cw_rights_add_role(r, cw_str_from(CW_ROLE_ANONYMOUS), err);
}

/* Call fn with each item of a list (store/db.h). */
static cw_code each_of(cw_str list, cw_db_text_fn fn, cw_rights *r, cw_err *err)
{
    cw_code rc = CW_OK;
    while (list.n && !rc) {
        cw_str item = cw_str_cut(list, CW_DB_SEPARATOR, &list);
        rc = fn(item, r, err);
    }
    return rc;
}

/* The database was read with the account. */
static cw_code add_read(cw_rights *r, const cw_db_rights *rights, cw_err *err)
{
    cw_code rc = each_of(rights->permissions, cw_rights_add_text, r, err);
    if (!rc)
        rc = each_of(rights->roles, add_configured, r, err);
    if (!rc)
        rc = add_configured(cw_str_from(CW_ROLE_AUTHENTICATED), r, err);
    if (rc || !cw_roles_inherit_anonymous(r->roles))
        return rc;
    rc = each_of(rights->anonymous, cw_rights_add_text, r, err);
    return rc ? rc : add_configured(cw_str_from(CW_ROLE_ANONYMOUS), r, err);
}

cw_code cw_rights_add_account(cw_rights *r, const cw_account *account, cw_err *err)
{
    if (account->rights)
        return add_read(r, account->rights, err);
    cw_code rc = cw_db_each_permission_of(r->db, account->id, cw_rights_add_text, r, err);
    if (!rc)
        rc = cw_db_each_role_of(r->db, account->id, add_configured, r, err);
    return rc ? rc : cw_rights_add_authenticated(r, err);
}

cw_code cw_rights_add_scopes(cw_rights *r, const cw_token *token, cw_err *err)
{
    return token->scopes.p ? each_of(token->scopes, cw_rights_add_text, r, err)
                           : cw_db_each_scope_of(r->db, token->id, cw_rights_add_text, r, err);
}
