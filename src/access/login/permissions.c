/* SPDX-License-Identifier: GPL-2.0-or-later */
/* permissions.c - the permissions of an account: its roles in the database and in the
 * configuration. */
#include "access/login/login_int.h"
#include "base/digits.h"

#define COLLECT_MAX_BYTES ((size_t)64 << 20)

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

/* Add the permissions that the configuration gives a role. */
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

/* The permissions of a role in the database (which may be NULL) and in the configuration. */
static cw_code add_role(list *permissions, cw_db *db, cw_str name, cw_err *err)
{
    cw_code rc = db ? cw_db_each_permission(db, name, on_text, permissions, err) : CW_OK;
    return rc ? rc : on_role(name, permissions, err);
}

/* A login takes no permission away, unless access.authenticated_only_own is set. */
static cw_code add_authenticated(list *permissions, cw_db *db, cw_err *err)
{
    cw_code rc = add_role(permissions, db, cw_str_from(CW_ROLE_AUTHENTICATED), err);
    if (rc || !cw_roles_inherit_anonymous(permissions->roles))
        return rc;
    return add_role(permissions, db, cw_str_from(CW_ROLE_ANONYMOUS), err);
}

static cw_code collect_account(list *permissions, cw_db *db, const cw_account *account, cw_err *err)
{
    cw_code rc = cw_db_each_permission_of(db, account->id, on_text, permissions, err);
    if (!rc)
        rc = cw_db_each_role_of(db, account->id, on_role, permissions, err);
    return rc ? rc : add_authenticated(permissions, db, err);
}

/* Digest and expiry of the credentials. */
static void add_credential(cw_accounts *a, const cw_account_login *login, cw_caller_opts *opts)
{
    const cw_token *token = login->token;
    const cw_session *session = login->session;
    const unsigned char *hash = NULL;
    if (token) {
        opts->credential.kind = CW_CREDENTIAL_TOKEN;
        opts->expires = token->expires;
        hash = token->hash;
    } else if (session) {
        opts->credential.kind = CW_CREDENTIAL_SESSION;
        opts->expires = session->created + (int64_t)cw_session_rules_of(a).lifetime_ms;
        hash = session->hash;
    } else if (login->verified_hash) {
        opts->credential.kind = CW_CREDENTIAL_PASSWORD;
        hash = login->verified_hash;
    }
    if (hash)
        opts->credential.hash = cw_str_make((const char *)hash, CW_DIGEST);
}

cw_code cw_permissions_of_account(cw_accounts *a, cw_db *db, const cw_account_login *login,
                                  cw_caller **ret, cw_err *err)
{
    _Static_assert(CW_DIGEST == CW_DB_HASH, "one length for all digests");
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    const cw_account *account = login->account;
    cw_roles *roles = take_roles(a);
    cw_arena_init(&arena, COLLECT_MAX_BYTES);
    list permissions = {.arena = &arena, .roles = roles}, scopes = {.arena = &arena};
    cw_code rc = collect_account(&permissions, db, account, err);
    if (!rc && login->token)
        rc = cw_db_each_scope_of(db, login->token->id, on_text, &scopes, err);
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
        .has_token = login->token != NULL,
        .scopes = scopes.items,
        .n_scopes = scopes.n,
    };
    add_credential(a, login, &opts);
    return cw_caller_new(&opts, ret, err);
}

/* ---- tokens of issuers ---- */

static bool has_scope(const cw_jwt *jwt, cw_str scope)
{
    for (size_t i = 0; i < jwt->n_scopes; i++) {
        if (cw_str_eq(jwt->scopes[i], scope))
            return true;
    }
    return false;
}

/* The permissions that the scopes of a token give. */
static cw_code collect_granted(list *granted, const cw_verified_token *issued, cw_err *err)
{
    const cw_issuer_opts *o = cw_issuer_opts_of(issued->issuer);
    cw_code rc = CW_OK;
    for (size_t i = 0; i < o->n_grants && !rc; i++) {
        const cw_issuer_grant *grant = &o->grants[i];
        bool is_given = has_scope(&issued->jwt, grant->scope);
        for (size_t j = 0; is_given && j < grant->n_permissions && !rc; j++)
            rc = add(granted, grant->permissions[j], err);
    }
    return rc;
}

/* The permissions of a caller without an account: of its roles, and of its scopes. */
static cw_code collect_claims(list *permissions, cw_db *db, const cw_caller_credential *credential,
                              cw_err *err)
{
    cw_code rc = add_authenticated(permissions, db, err);
    for (size_t i = 0; i < credential->n_roles && !rc; i++)
        rc = add_role(permissions, db, credential->roles[i], err);
    for (size_t i = 0; i < credential->n_granted && !rc; i++)
        rc = add(permissions, credential->granted[i], err);
    return rc;
}

/* An issuer's name has a colon before anything else that an id of ours could be. */
static cw_str id_of(const cw_account *account, const cw_verified_token *issued, cw_str name,
                    cw_arena *arena, char digits[CW_DIGITS_SIZE])
{
    if (account)
        return cw_digits_i64(account->id, digits);
    char *id = cw_arena_printf(arena, "%.*s#%.*s",
                               CW_STR_ARG(cw_issuer_opts_of(issued->issuer)->rules.issuer),
                               CW_STR_ARG(name));
    return id ? cw_str_from(id) : (cw_str){NULL, 0};
}

/* Complete `opts` with the permissions of an account, or (NULL) of the credential. */
static cw_code new_issued(cw_accounts *a, cw_db *db, const cw_account *account,
                          cw_caller_opts *opts, cw_caller **ret, cw_err *err)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_roles *roles = take_roles(a);
    cw_arena_init(&arena, COLLECT_MAX_BYTES);
    list permissions = {.arena = &arena, .roles = roles};
    cw_code rc = account ? collect_account(&permissions, db, account, err)
                         : collect_claims(&permissions, db, &opts->credential, err);
    cw_roles_unref(roles);
    opts->has_token = true;
    opts->permissions = permissions.items;
    opts->n_permissions = permissions.n;
    return rc ? rc : cw_caller_new(opts, ret, err);
}

cw_code cw_permissions_of_token(cw_accounts *a, cw_db *db, const cw_account *account,
                                const cw_verified_token *issued, cw_caller **ret, cw_err *err)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    char digits[CW_DIGITS_SIZE];
    const cw_jwt *jwt = &issued->jwt;
    const cw_jwt_rules *rules = &cw_issuer_opts_of(issued->issuer)->rules;
    cw_arena_init(&arena, COLLECT_MAX_BYTES);
    list granted = {.arena = &arena};
    cw_code rc = account ? CW_OK : collect_granted(&granted, issued, err);
    if (rc)
        return rc;
    cw_str subject = jwt->subject.p ? jwt->subject : jwt->client;
    cw_caller_opts opts = {
        .id = id_of(account, issued, subject, &arena, digits),
        .name = account ? account->name : subject,
        .language = account ? account->language : CW_STR(""),
        .scopes = jwt->scopes,
        .n_scopes = jwt->n_scopes,
        .expires = jwt->expires_ms + INT64_C(1000) * rules->leeway_s,
        .credential = {.kind = CW_CREDENTIAL_ISSUED_ACCOUNT},
    };
    if (!account)
        opts.credential = (cw_caller_credential){.kind = CW_CREDENTIAL_ISSUED_CLAIMS,
                                                 .roles = jwt->roles,
                                                 .n_roles = jwt->n_roles,
                                                 .granted = granted.items,
                                                 .n_granted = granted.n};
    return opts.id.p ? new_issued(a, db, account, &opts, ret, err) : cw_arena_fail(&arena, err);
}

cw_code cw_permissions_of_issued(cw_accounts *a, cw_db *db, const cw_account *account,
                                 const cw_caller *before, cw_caller **ret, cw_err *err)
{
    size_t n_scopes;
    const cw_str *scopes = cw_caller_scopes(before, &n_scopes);
    char digits[CW_DIGITS_SIZE];
    cw_caller_opts opts = {
        .id = account ? cw_digits_i64(account->id, digits) : cw_caller_id(before),
        .name = account ? account->name : cw_caller_name(before),
        .language = account ? account->language : CW_STR(""),
        .scopes = scopes,
        .n_scopes = n_scopes,
        .expires = cw_caller_expires(before),
        .credential = *cw_caller_credential_of(before),
    };
    return new_issued(a, db, account, &opts, ret, err);
}

cw_code cw_permissions_of_anonymous(cw_accounts *a, cw_db *db, cw_caller **ret, cw_err *err)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_roles *roles = take_roles(a);
    cw_arena_init(&arena, COLLECT_MAX_BYTES);
    list permissions = {.arena = &arena, .roles = roles};
    cw_str name = cw_str_from(CW_ROLE_ANONYMOUS);
    cw_code rc = add_role(&permissions, db, name, err);
    cw_roles_unref(roles);
    return rc ? rc : cw_caller_new_anonymous(permissions.items, permissions.n, ret, err);
}
