/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gather.c - the permissions of an account: its roles in the database and in the configuration. */
#include "access/accounts_int.h"
#include "base/digits.h"

#define GATHER_MAX_BYTES ((size_t)64 << 20)

/* A list that grows in an arena. */
typedef struct list {
    cw_arena *arena;
    cw_str *items;
    size_t n, cap;
    const cw_roles *roles;
} list;

static cw_code add(list *l, cw_str text, cw_err *err)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 64;
        cw_str *items =
            cw_arena_resize(l->arena, l->items, l->cap * sizeof *items, cap * sizeof *items);
        if (!items)
            return cw_arena_fail(l->arena, err);
        l->items = items;
        l->cap = cap;
    }
    cw_str copy = cw_arena_dup_str(l->arena, text);
    if (!copy.p)
        return cw_arena_fail(l->arena, err);
    l->items[l->n++] = copy;
    return CW_OK;
}

static cw_code on_text(cw_str text, void *ctx, cw_err *err)
{
    return add(ctx, text, err);
}

/* What the configuration lets a role do. */
static cw_code on_role(cw_str name, void *ctx, cw_err *err)
{
    list *l = ctx;
    const cw_role *role = cw_roles_find(l->roles, name);
    cw_code rc = CW_OK;
    for (size_t i = 0; role && i < role->n_permissions && !rc; i++)
        rc = add(l, role->permissions[i], err);
    return rc;
}

static cw_roles *take_roles(cw_accounts *a)
{
    pthread_mutex_lock(&a->lock);
    cw_roles *roles = a->roles ? cw_roles_ref(a->roles) : NULL;
    pthread_mutex_unlock(&a->lock);
    return roles;
}

static cw_code gather(list *permissions, list *scopes, cw_db *db, const cw_account *account,
                      const cw_token *token, cw_err *err)
{
    cw_code rc = cw_db_each_permission_of(db, account->id, on_text, permissions, err);
    if (!rc)
        rc = cw_db_each_role_of(db, account->id, on_role, permissions, err);
    if (!rc)
        rc = on_role(cw_str_from(CW_ROLE_AUTHENTICATED), permissions, err);
    if (!rc && token)
        rc = cw_db_each_scope_of(db, token->id, on_text, scopes, err);
    return rc;
}

cw_code cw_gather_caller(cw_accounts *a, cw_db *db, const cw_account *account,
                         const cw_token *token, cw_caller **ret, cw_err *err)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_roles *roles = take_roles(a);
    cw_arena_init(&arena, GATHER_MAX_BYTES);
    list permissions = {.arena = &arena, .roles = roles}, scopes = {.arena = &arena};
    cw_code rc = gather(&permissions, &scopes, db, account, token, err);
    cw_roles_unref(roles);
    if (rc)
        return rc;
    char id[CW_DIGITS_SIZE];
    cw_caller_opts opts = {
        .id = cw_digits_i64(account->id, id),
        .name = account->name,
        .language = account->language,
        .permissions = permissions.items,
        .n_permissions = permissions.n,
        .has_token = token != NULL,
        .scopes = scopes.items,
        .n_scopes = scopes.n,
    };
    return cw_caller_new(&opts, ret, err);
}

cw_code cw_gather_anonymous(cw_accounts *a, cw_db *db, cw_caller **ret, cw_err *err)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_roles *roles = take_roles(a);
    cw_arena_init(&arena, GATHER_MAX_BYTES);
    list permissions = {.arena = &arena, .roles = roles};
    cw_str name = cw_str_from(CW_ROLE_ANONYMOUS);
    cw_code rc = cw_db_each_permission(db, name, on_text, &permissions, err);
    if (!rc)
        rc = on_role(name, &permissions, err);
    cw_roles_unref(roles);
    return rc ? rc : cw_caller_new_anonymous(permissions.items, permissions.n, ret, err);
}
