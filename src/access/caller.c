/* SPDX-License-Identifier: GPL-2.0-or-later */
/* caller.c - identities with sorted lists of permissions and scopes. */
#include "access/caller.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "access/gate.h"
#include "base/arena.h"
#include "json/write.h"

/* Permissions come from a configuration file or a store. Both have lower limits of their own. */
#define CALLER_MAX_BYTES ((size_t)64 << 20)

typedef struct list {
    cw_str *items; /* sorted */
    size_t n;
} list;

struct cw_caller {
    atomic_uint refs;
    cw_arena arena;
    cw_str id;
    int64_t account;
    cw_str name;
    cw_str language;
    list permissions;
    list scopes;
    bool has_language;
    bool has_token;
    bool cannot_log_in;
    int64_t expires;
    int64_t logged_in;
    cw_caller_credential credential;
    cw_str json;
};

static cw_code copy_list(cw_caller *caller, const cw_str *items, size_t n, list *ret, cw_err *err)
{
    cw_str *copy = cw_arena_calloc(&caller->arena, n ? n : 1, sizeof *copy);
    if (!copy)
        return cw_arena_fail(&caller->arena, err);
    for (size_t i = 0; i < n; i++) {
        copy[i] = cw_arena_dup_str(&caller->arena, items[i]);
        if (!copy[i].p)
            return cw_arena_fail(&caller->arena, err);
    }
    ret->items = copy;
    ret->n = cw_requirements_sort(copy, n);
    return CW_OK;
}

static bool has(const list *l, cw_str text)
{
    size_t low = 0;
    size_t high = l->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = cw_str_cmp(l->items[middle], text);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static cw_code copy_text(cw_caller *caller, cw_str text, cw_str *ret, cw_err *err)
{
    *ret = cw_arena_dup_str(&caller->arena, text);
    return ret->p ? CW_OK : cw_arena_fail(&caller->arena, err);
}

static void write_json(const cw_caller *caller, cw_json_writer *w)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("id"), caller->id);
    cw_json_add_string_member(w, CW_STR("name"), caller->name);
    cw_json_add_key(w, CW_STR("permissions"));
    cw_json_open_array(w);
    for (size_t i = 0; i < caller->permissions.n; i++)
        cw_json_add_string(w, caller->permissions.items[i]);
    cw_json_close(w);
    cw_json_add_string_member(w, CW_STR("language"), caller->language);
    cw_json_close(w);
}

static cw_code serialise(cw_caller *caller, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf buf;
    cw_buf_init(&buf, CALLER_MAX_BYTES);
    cw_json_writer w;
    cw_json_writer_init(&w, &buf, CW_JSON_COMPACT);
    write_json(caller, &w);
    cw_code rc = cw_json_writer_end(&w, err);
    if (rc)
        return rc;
    caller->json = cw_arena_dup_str(&caller->arena, cw_buf_str(&buf));
    return caller->json.p ? CW_OK : cw_arena_fail(&caller->arena, err);
}

static cw_code copy_credential(cw_caller *caller, const cw_caller_credential *from, cw_err *err)
{
    cw_caller_credential *to = &caller->credential;
    list roles, granted;
    to->kind = from->kind;
    to->issuer = cw_trust_ref(from->issuer);
    to->key = cw_trust_ref(from->key);
    cw_code rc = copy_text(caller, from->hash.p ? from->hash : CW_STR(""), &to->hash, err);
    if (!rc)
        rc = copy_text(caller, from->resource.p ? from->resource : CW_STR(""), &to->resource, err);
    if (!rc)
        rc = copy_list(caller, from->roles, from->n_roles, &roles, err);
    if (!rc)
        rc = copy_list(caller, from->granted, from->n_granted, &granted, err);
    if (rc)
        return rc;
    to->roles = roles.items;
    to->n_roles = roles.n;
    to->granted = granted.items;
    to->n_granted = granted.n;
    return CW_OK;
}

static cw_code fill(cw_caller *caller, const cw_caller_opts *opts, cw_err *err)
{
    cw_str language = opts->language.n ? opts->language : cw_str_from(CW_CALLER_DEFAULT_LANGUAGE);
    caller->has_language = opts->language.n > 0;
    caller->has_token = opts->has_token;
    caller->cannot_log_in = opts->cannot_log_in;
    caller->expires = opts->expires;
    caller->logged_in = opts->logged_in;
    cw_code rc = copy_text(caller, opts->id, &caller->id, err);
    if (!rc)
        rc = copy_text(caller, opts->name, &caller->name, err);
    if (!rc)
        rc = copy_text(caller, language, &caller->language, err);
    if (!rc && opts->credential.kind != CW_CREDENTIAL_NONE)
        rc = copy_credential(caller, &opts->credential, err);
    if (!rc)
        rc = copy_list(caller, opts->permissions, opts->n_permissions, &caller->permissions, err);
    if (!rc)
        rc = copy_list(caller, opts->scopes, opts->n_scopes, &caller->scopes, err);
    uint64_t account;
    /* Ids of other callers are no numbers. */
    if (cw_str_to_u64(opts->id, &account) && account <= INT64_MAX)
        caller->account = (int64_t)account;
    return rc ? rc : serialise(caller, err);
}

cw_code cw_caller_new(const cw_caller_opts *opts, cw_caller **ret, cw_err *err)
{
    if (opts->n_permissions > CW_CALLER_MAX_PERMISSIONS)
        return cw_fail(err, CW_LIMIT, "a caller has %zu permissions, the limit is %u",
                       opts->n_permissions, CW_CALLER_MAX_PERMISSIONS);
    if (opts->n_scopes > CW_CALLER_MAX_PERMISSIONS)
        return cw_fail(err, CW_LIMIT, "a token has %zu scopes, the limit is %u", opts->n_scopes,
                       CW_CALLER_MAX_PERMISSIONS);
    cw_caller *caller = calloc(1, sizeof *caller);
    if (!caller)
        return cw_fail_nomem(err);
    atomic_init(&caller->refs, 1);
    cw_arena_init(&caller->arena, CALLER_MAX_BYTES);
    cw_code rc = fill(caller, opts, err);
    if (rc) {
        cw_caller_unref(caller);
        return rc;
    }
    *ret = caller;
    return CW_OK;
}

static cw_code new_anonymous(const cw_str *permissions, size_t n, bool cannot_log_in,
                             cw_caller **ret, cw_err *err)
{
    cw_caller_opts opts = {.id = CW_STR(CW_CALLER_ANONYMOUS_ID),
                           .name = cw_str_from(CW_ROLE_ANONYMOUS),
                           .permissions = permissions,
                           .n_permissions = n,
                           .cannot_log_in = cannot_log_in};
    return cw_caller_new(&opts, ret, err);
}

cw_code cw_caller_new_anonymous(const cw_str *permissions, size_t n, cw_caller **ret, cw_err *err)
{
    return new_anonymous(permissions, n, /* cannot_log_in= */ false, ret, err);
}

cw_code cw_caller_new_confined(const cw_str *permissions, size_t n, cw_caller **ret, cw_err *err)
{
    return new_anonymous(permissions, n, /* cannot_log_in= */ true, ret, err);
}

cw_caller *cw_caller_ref(cw_caller *caller)
{
    atomic_fetch_add_explicit(&caller->refs, 1, memory_order_relaxed);
    return caller;
}

void cw_caller_unref(cw_caller *caller)
{
    if (!caller || atomic_fetch_sub_explicit(&caller->refs, 1, memory_order_acq_rel) != 1)
        return;
    cw_trust_unref(caller->credential.issuer);
    cw_trust_unref(caller->credential.key);
    cw_arena_done(&caller->arena);
    free(caller);
}

int64_t cw_caller_account(const cw_caller *caller)
{
    return caller->account;
}

cw_str cw_caller_id(const cw_caller *caller)
{
    return caller->id;
}

cw_str cw_caller_name(const cw_caller *caller)
{
    return caller->name;
}

cw_str cw_caller_language(const cw_caller *caller)
{
    return caller->language;
}

bool cw_caller_is_anonymous(const cw_caller *caller)
{
    return cw_str_is(caller->id, CW_CALLER_ANONYMOUS_ID);
}

size_t cw_caller_n_permissions(const cw_caller *caller)
{
    return caller->permissions.n;
}

bool cw_caller_cannot_log_in(const cw_caller *caller)
{
    return caller->cannot_log_in;
}

bool cw_caller_has_language(const cw_caller *caller)
{
    return caller->has_language;
}

bool cw_caller_has_token(const cw_caller *caller)
{
    return caller->has_token;
}

int64_t cw_caller_expires(const cw_caller *caller)
{
    return caller->expires;
}

int64_t cw_caller_logged_in(const cw_caller *caller)
{
    return caller->logged_in;
}

const cw_caller_credential *cw_caller_credential_of(const cw_caller *caller)
{
    return &caller->credential;
}

bool cw_caller_is_trusted(const cw_caller *caller)
{
    return !cw_trust_is_withdrawn(caller->credential.issuer) &&
           !cw_trust_is_withdrawn(caller->credential.key);
}

static bool same_texts(const cw_str *a, size_t n_a, const cw_str *b, size_t n_b)
{
    bool is_same = n_a == n_b;
    for (size_t i = 0; i < n_a && is_same; i++)
        is_same = cw_str_eq(a[i], b[i]);
    return is_same;
}

static bool same_credential(const cw_caller_credential *a, const cw_caller_credential *b)
{
    return a->kind == b->kind && a->issuer == b->issuer && a->key == b->key &&
           cw_str_eq(a->hash, b->hash) && cw_str_eq(a->resource, b->resource) &&
           same_texts(a->roles, a->n_roles, b->roles, b->n_roles) &&
           same_texts(a->granted, a->n_granted, b->granted, b->n_granted);
}

/* The JSON text holds id, name, language and permissions. */
bool cw_caller_equal(const cw_caller *a, const cw_caller *b)
{
    if (!a || !b)
        return a == b;
    return a == b || (cw_str_eq(a->json, b->json) && a->has_language == b->has_language &&
                      a->has_token == b->has_token && a->cannot_log_in == b->cannot_log_in &&
                      a->expires == b->expires && same_credential(&a->credential, &b->credential) &&
                      same_texts(a->scopes.items, a->scopes.n, b->scopes.items, b->scopes.n));
}

bool cw_caller_may(const cw_caller *caller, cw_str permission)
{
    return has(&caller->permissions, permission);
}

bool cw_caller_has_scope(const cw_caller *caller, cw_str scope)
{
    return has(&caller->scopes, scope);
}

const cw_str *cw_caller_scopes(const cw_caller *caller, size_t *ret_n)
{
    *ret_n = caller->scopes.n;
    return caller->scopes.items;
}

cw_str cw_caller_json(const cw_caller *caller)
{
    return caller->json;
}
