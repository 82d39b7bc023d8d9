/* SPDX-License-Identifier: GPL-2.0-or-later */
/* issuer.c - the configured issuers, and the checks of their tokens. */
#include "access/issuer/issuer.h"

#include <stdlib.h>

#include "access/issuer/issuer_int.h"
#include "base/clock.h"

#define ISSUER_MAX_BYTES ((size_t)4 << 20)

/* ---- one issuer ---- */

cw_issuer *cw_issuer_ref(cw_issuer *issuer)
{
    atomic_fetch_add_explicit(&issuer->refs, 1, memory_order_relaxed);
    return issuer;
}

void cw_issuer_unref(cw_issuer *issuer)
{
    if (!issuer || atomic_fetch_sub_explicit(&issuer->refs, 1, memory_order_acq_rel) != 1)
        return;
    cw_jwks_unref(issuer->keys);
    pthread_mutex_destroy(&issuer->lock);
    cw_arena_done(&issuer->arena);
    free(issuer);
}

const cw_issuer_opts *cw_issuer_opts_of(const cw_issuer *issuer)
{
    return &issuer->opts;
}

static bool copy_text(cw_issuer *issuer, cw_str *text)
{
    *text = cw_arena_dup_str(&issuer->arena, text->p ? *text : CW_STR(""));
    return text->p != NULL;
}

static bool copy_texts(cw_issuer *issuer, const cw_str **texts, size_t n)
{
    cw_str *copy = cw_arena_calloc(&issuer->arena, n ? n : 1, sizeof *copy);
    bool is_good = copy != NULL;
    for (size_t i = 0; i < n && is_good; i++) {
        copy[i] = (*texts)[i];
        is_good = copy_text(issuer, &copy[i]);
    }
    *texts = copy;
    return is_good;
}

static bool copy_grants(cw_issuer *issuer)
{
    cw_issuer_opts *o = &issuer->opts;
    cw_issuer_grant *copy =
        cw_arena_calloc(&issuer->arena, o->n_grants ? o->n_grants : 1, sizeof *copy);
    bool is_good = copy != NULL;
    for (size_t i = 0; i < o->n_grants && is_good; i++) {
        copy[i] = o->grants[i];
        is_good = copy_text(issuer, &copy[i].scope) &&
                  copy_texts(issuer, &copy[i].permissions, copy[i].n_permissions);
    }
    o->grants = copy;
    return is_good;
}

static bool copy_opts(cw_issuer *issuer, const cw_issuer_opts *opts)
{
    cw_issuer_opts *o = &issuer->opts;
    *o = *opts;
    cw_str *const texts[] = {&o->rules.issuer,  &o->jwks_uri,  &o->account,
                             &o->introspection, &o->client_id, &o->client_secret,
                             &o->token_prefix,  &o->ca_file};
    for (size_t i = 0; i < CW_COUNT(texts); i++) {
        if (!copy_text(issuer, texts[i]))
            return false;
    }
    return copy_texts(issuer, &o->rules.audiences, o->rules.n_audiences) &&
           copy_texts(issuer, &o->rules.roles, o->rules.n_roles) && copy_grants(issuer);
}

static cw_issuer *new_issuer(cw_issuers *is, const cw_issuer_opts *opts)
{
    cw_issuer *issuer = calloc(1, sizeof *issuer);
    if (!issuer)
        return NULL;
    atomic_init(&issuer->refs, 1);
    atomic_init(&issuer->next_forced, 0);
    atomic_init(&issuer->is_fetching, false);
    pthread_mutex_init(&issuer->lock, NULL);
    cw_arena_init(&issuer->arena, ISSUER_MAX_BYTES);
    issuer->all = is;
    if (copy_opts(issuer, opts))
        return issuer;
    cw_issuer_unref(issuer);
    return NULL;
}

/* ---- all of them ---- */

void cw_issuer_set_unref(cw_issuer_set *set)
{
    if (!set || atomic_fetch_sub_explicit(&set->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < set->n; i++)
        cw_issuer_unref(set->items[i]);
    free(set);
}

cw_issuer_set *cw_issuer_set_of(cw_issuers *is)
{
    pthread_mutex_lock(&is->lock);
    cw_issuer_set *set = is->set;
    if (set)
        atomic_fetch_add_explicit(&set->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&is->lock);
    return set;
}

static cw_code new_set(cw_issuers *is, const cw_issuer_opts *items, size_t n, cw_issuer_set **ret,
                       cw_err *err)
{
    cw_issuer_set *set = calloc(1, sizeof *set + n * sizeof(cw_issuer *));
    if (!set)
        return cw_fail_nomem(err);
    atomic_init(&set->refs, 1);
    for (; set->n < n; set->n++) {
        set->items[set->n] = new_issuer(is, &items[set->n]);
        if (!set->items[set->n]) {
            cw_issuer_set_unref(set);
            return cw_fail_nomem(err);
        }
    }
    *ret = set;
    return CW_OK;
}

/* Keys that are there already are used until new ones come. */
static void take_keys(cw_issuer *issuer, const cw_issuer_set *old)
{
    for (size_t i = 0; old && i < old->n; i++) {
        cw_issuer *o = old->items[i];
        if (!cw_str_eq(o->opts.rules.issuer, issuer->opts.rules.issuer) ||
            !cw_str_eq(o->opts.jwks_uri, issuer->opts.jwks_uri) ||
            o->opts.rules.algs != issuer->opts.rules.algs || !o->keys)
            continue;
        issuer->keys = cw_jwks_ref(o->keys);
        issuer->keys_at = o->keys_at;
        memcpy(issuer->keys_digest, o->keys_digest, CW_DIGEST);
    }
}

static void begin(cw_issuers *is, cw_issuer *issuer)
{
    uv_timer_init(&is->loop->uv, &issuer->timer);
    issuer->timer.data = cw_issuer_ref(issuer);
    cw_issuer_refresh(issuer);
}

static bool same_texts(const cw_str *a, size_t n_a, const cw_str *b, size_t n_b)
{
    bool is_same = n_a == n_b;
    for (size_t i = 0; i < n_a && is_same; i++)
        is_same = cw_str_eq(a[i], b[i]);
    return is_same;
}

static bool same_rules(const cw_jwt_rules *a, const cw_jwt_rules *b)
{
    return cw_str_eq(a->issuer, b->issuer) && a->names_account == b->names_account &&
           same_texts(a->audiences, a->n_audiences, b->audiences, b->n_audiences) &&
           same_texts(a->roles, a->n_roles, b->roles, b->n_roles) && a->algs == b->algs &&
           a->leeway_s == b->leeway_s && a->accept_untyped == b->accept_untyped;
}

static bool same_grants(const cw_issuer_opts *a, const cw_issuer_opts *b)
{
    bool is_same = a->n_grants == b->n_grants;
    for (size_t i = 0; i < a->n_grants && is_same; i++) {
        const cw_issuer_grant *x = &a->grants[i], *y = &b->grants[i];
        is_same = cw_str_eq(x->scope, y->scope) &&
                  same_texts(x->permissions, x->n_permissions, y->permissions, y->n_permissions);
    }
    return is_same;
}

static bool same_issuer(const cw_issuer_opts *a, const cw_issuer_opts *b)
{
    return same_rules(&a->rules, &b->rules) && same_grants(a, b) &&
           cw_str_eq(a->jwks_uri, b->jwks_uri) && cw_str_eq(a->account, b->account) &&
           cw_str_eq(a->introspection, b->introspection) && cw_str_eq(a->client_id, b->client_id) &&
           cw_str_eq(a->client_secret, b->client_secret) &&
           cw_str_eq(a->token_prefix, b->token_prefix) && cw_str_eq(a->ca_file, b->ca_file) &&
           a->allow_private == b->allow_private;
}

static bool same_set(const cw_issuer_set *a, const cw_issuer_set *b)
{
    if (!a || !b)
        return a == b;
    bool is_same = a->n == b->n;
    for (size_t i = 0; i < a->n && is_same; i++)
        is_same = same_issuer(&a->items[i]->opts, &b->items[i]->opts);
    return is_same;
}

cw_code cw_issuers_prepare(cw_issuers *is, const cw_issuer_opts *items, size_t n,
                           cw_issuer_set **ret, cw_err *err)
{
    *ret = NULL;
    if (n > CW_ISSUERS_MAX)
        return cw_fail(err, CW_LIMIT, "more than %u issuers", CW_ISSUERS_MAX);
    cw_code rc = n && !is->fetcher ? cw_fetcher_new(is->loop, &is->fetcher, err) : CW_OK;
    return rc || !n ? rc : new_set(is, items, n, ret, err);
}

void cw_issuers_drop(cw_issuer_set *set)
{
    cw_issuer_set_unref(set);
}

void cw_issuers_use(cw_issuers *is, cw_issuer_set *fresh)
{
    cw_issuer_set *old = is->set;
    size_t n = fresh ? fresh->n : 0;
    /* The same issuers stay, and what their tokens opened with them; only the keys are fetched. */
    if (same_set(old, fresh)) {
        cw_issuer_set_unref(fresh);
        for (size_t i = 0; i < n; i++)
            cw_issuer_refresh(old->items[i]);
        return;
    }
    for (size_t i = 0; i < n; i++)
        take_keys(fresh->items[i], old);
    pthread_mutex_lock(&is->lock);
    is->set = fresh;
    pthread_mutex_unlock(&is->lock);
    atomic_store(&is->has_any, n > 0);
    atomic_fetch_add(&is->generation, 1);
    for (size_t i = 0; old && i < old->n; i++)
        cw_issuer_retire(old->items[i]);
    cw_issuer_set_unref(old);
    for (size_t i = 0; i < n; i++)
        begin(is, fresh->items[i]);
}

cw_code cw_issuers_configure(cw_issuers *is, const cw_issuer_opts *items, size_t n, cw_err *err)
{
    cw_issuer_set *fresh;
    cw_code rc = cw_issuers_prepare(is, items, n, &fresh, err);
    if (!rc)
        cw_issuers_use(is, fresh);
    return rc;
}

cw_code cw_issuers_new(cw_loop *main_loop, cw_issuers **ret, cw_err *err)
{
    cw_issuers *is = calloc(1, sizeof *is);
    if (!is)
        return cw_fail_nomem(err);
    is->loop = main_loop;
    is->on_checks.fn = cw_issuers_on_checks;
    is->checks_end = &is->checks;
    atomic_init(&is->generation, 0);
    atomic_init(&is->has_any, false);
    pthread_mutex_init(&is->lock, NULL);
    *ret = is;
    return CW_OK;
}

void cw_issuers_close(cw_issuers *is)
{
    if (!is || is->is_closed)
        return;
    cw_issuers_end_checks(is);
    for (size_t i = 0; is->set && i < is->set->n; i++)
        cw_issuer_retire(is->set->items[i]);
    cw_issuers_end_introspections(is);
    cw_fetcher_close(is->fetcher);
    is->fetcher = NULL;
}

void cw_issuers_free(cw_issuers *is)
{
    if (!is)
        return;
    cw_issuer_set_unref(is->set);
    pthread_mutex_destroy(&is->lock);
    free(is);
}

bool cw_issuers_any(const cw_issuers *is)
{
    return is && atomic_load(&is->has_any);
}

uint64_t cw_issuers_generation(const cw_issuers *is)
{
    return atomic_load(&is->generation);
}

/* ---- tokens ---- */

/* RFC 6750: b64token. */
bool cw_issuer_may_be_token(cw_str token)
{
    size_t i = 0;
    for (; i < token.n && token.p[i] != '='; i++) {
        char c = token.p[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_alnum && (!c || !strchr("-._~+/", c)))
            return false;
    }
    if (i == 0)
        return false;
    while (i < token.n && token.p[i] == '=')
        i++;
    return i == token.n && token.n <= CW_JWS_MAX_BYTES;
}

static bool is_jwt(cw_str token)
{
    cw_str rest;
    cw_str_cut(token, '.', &rest);
    return rest.p && memchr(rest.p, '.', rest.n);
}

bool cw_issuer_introspects(const cw_issuer *issuer, cw_str token)
{
    return issuer->opts.client_id.n && cw_str_starts(token, issuer->opts.token_prefix);
}

static bool any_introspects(const cw_issuer_set *set, cw_str token)
{
    for (size_t i = 0; i < set->n; i++) {
        if (cw_issuer_introspects(set->items[i], token))
            return true;
    }
    return false;
}

static cw_issuer *find_issuer(const cw_issuer_set *set, cw_str name)
{
    for (size_t i = 0; name.p && i < set->n; i++) {
        if (cw_str_eq(set->items[i]->opts.rules.issuer, name))
            return set->items[i];
    }
    return NULL;
}

static cw_jwks *keys_of(cw_issuer *issuer)
{
    pthread_mutex_lock(&issuer->lock);
    cw_jwks *keys = issuer->keys ? cw_jwks_ref(issuer->keys) : NULL;
    pthread_mutex_unlock(&issuer->lock);
    return keys;
}

cw_jwks *cw_issuers_keys(cw_issuers *is, cw_str name)
{
    cw_issuer_set *set = cw_issuer_set_of(is);
    cw_issuer *issuer = set ? find_issuer(set, name) : NULL;
    cw_jwks *keys = issuer ? keys_of(issuer) : NULL;
    cw_issuer_set_unref(set);
    return keys;
}

/* Find its key; and with `verifies`, check everything. */
static cw_code check_jwt(cw_issuer *issuer, cw_jwt *jwt, bool verifies, cw_arena *arena,
                         cw_err *err)
{
    /* Before the keys are taken, and in this order: a thread that sees that a refresh was caused
     * sees that it runs, and one that sees that it has ended takes what it brought. */
    bool may_query = cw_clock_ms() >= atomic_load(&issuer->next_forced);
    may_query = atomic_load(&issuer->is_fetching) || may_query;
    cw_jwks *keys = keys_of(issuer);
    if (!keys)
        return CW_AGAIN;
    cw_code rc = verifies
                     ? cw_jwt_check(jwt, &issuer->opts.rules, keys, cw_clock_wall_ms(), arena, err)
                     : cw_jwt_find_key(jwt, keys, err);
    cw_jwks_unref(keys);
    /* Perhaps there are new keys; but made-up key ids may not make us ask at will. */
    bool is_new = rc == CW_INVALID && jwt->reason == CW_TOKEN_NO_KEY;
    return is_new && may_query ? CW_AGAIN : rc;
}

static cw_code find_in(const cw_issuer_set *set, cw_str token, cw_arena *arena,
                       cw_verified_token *ret, cw_err *err)
{
    cw_code rc = cw_jwt_parse(token, arena, &ret->jwt, err);
    if (rc)
        return rc;
    cw_issuer *issuer = find_issuer(set, ret->jwt.issuer);
    if (!issuer)
        return cw_fail(err, CW_INVALID, "it comes from another issuer");
    ret->issuer = cw_issuer_ref(issuer);
    return check_jwt(issuer, &ret->jwt, /* verifies= */ false, arena, err);
}

cw_code cw_issuers_find(cw_issuers *is, cw_str token, cw_arena *arena, cw_verified_token *ret,
                        cw_err *err)
{
    *ret = (cw_verified_token){0};
    cw_issuer_set *set = cw_issuer_set_of(is);
    if (!set)
        return cw_fail(err, CW_INVALID, "there is no issuer");
    cw_code rc = CW_OK;
    if (!is_jwt(token))
        rc = any_introspects(set, token) ? CW_AGAIN : cw_fail(err, CW_INVALID, "it is no JWT");
    else
        rc = find_in(set, token, arena, ret, err);
    cw_issuer_set_unref(set);
    return rc;
}

cw_code cw_verified_token_check(cw_verified_token *issued, cw_arena *arena, cw_err *err)
{
    return check_jwt(issued->issuer, &issued->jwt, /* verifies= */ true, arena, err);
}

cw_code cw_issuers_check(cw_issuers *is, cw_str token, cw_arena *arena, cw_verified_token *ret,
                         cw_err *err)
{
    cw_code rc = cw_issuers_find(is, token, arena, ret, err);
    return rc ? rc : cw_verified_token_check(ret, arena, err);
}

void cw_verified_token_done(cw_verified_token *issued)
{
    cw_issuer_unref(issued->issuer);
    issued->issuer = NULL;
}
