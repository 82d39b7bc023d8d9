/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts.c - begin, settings and end of the accounts, and callers without credentials. */
#include "access/login/accounts.h"

#include <stdlib.h>

#include "access/login/login_int.h"

#define READING_MAX_BYTES ((size_t)1 << 20)

/* ---- callers without credentials ---- */

typedef struct reading {
    cw_store_job job;
    cw_accounts *accounts;
    cw_str name; /* of an account */
    cw_caller *caller;
    cw_anonymous_fn fn;
    void *ctx;
} reading;

static cw_code read_anonymous(cw_store_job *job, cw_db *db, cw_err *err)
{
    reading *r = CW_CONTAINER(job, reading, job);
    return cw_permissions_of_anonymous(r->accounts, db, &r->caller, err);
}

static cw_code read_account(cw_store_job *job, cw_db *db, cw_err *err)
{
    reading *r = CW_CONTAINER(job, reading, job);
    cw_account *account;
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_arena_init(&arena, READING_MAX_BYTES);
    cw_code rc = cw_db_find_account(db, r->name, &arena, &account, err);
    if (rc || !account || account->is_blocked)
        return rc;
    cw_account_login login = {.account = account};
    return cw_permissions_of_account(r->accounts, db, &login, &r->caller, err);
}

static void on_read(cw_store_job *job, cw_code rc)
{
    reading *r = CW_CONTAINER(job, reading, job);
    (void)rc; /* without a caller the function knows */
    r->fn(r->caller, r->ctx);
    cw_caller_unref(r->caller);
    free(r);
}

static cw_code request_reading(const reading *what)
{
    reading *r = malloc(sizeof *r);
    if (!r)
        return CW_NOMEM;
    *r = *what;
    cw_code rc = cw_store_ask(r->accounts->store, &r->job);
    if (rc)
        free(r);
    return rc;
}

cw_code cw_accounts_read_anonymous(cw_accounts *a, cw_anonymous_fn fn, void *ctx)
{
    return request_reading(&(reading){
        .job = {.run = read_anonymous, .done = on_read}, .accounts = a, .fn = fn, .ctx = ctx});
}

cw_code cw_accounts_read_account(cw_accounts *a, cw_str name, cw_anonymous_fn fn, void *ctx)
{
    return request_reading(&(reading){.job = {.run = read_account, .done = on_read},
                                      .accounts = a,
                                      .name = name,
                                      .fn = fn,
                                      .ctx = ctx});
}

/* ---- begin and end ---- */

static void init_loop(cw_accounts *a, cw_accounts_loop *al)
{
    al->accounts = a;
    cw_list_init(&al->running);
    pthread_mutex_init(&al->lock, NULL);
}

cw_code cw_accounts_new(const cw_accounts_opts *opts, cw_accounts **ret, cw_err *err)
{
    cw_code rc = cw_secret_init(err);
    if (rc)
        return rc;
    cw_accounts *a = calloc(1, sizeof *a + opts->n_loops * sizeof *a->loops);
    if (!a)
        return cw_fail_nomem(err);
    pthread_mutex_init(&a->lock, NULL);
    atomic_init(&a->roles_generation, 0);
    atomic_init(&a->has_sessions, false);
    atomic_init(&a->n_ended, 0);
    a->n_loops = opts->n_loops;
    a->tokens = opts->tokens;
    for (unsigned i = 0; i < a->n_loops; i++)
        init_loop(a, &a->loops[i]);
    rc = cw_throttle_init(&a->by_account, CW_ACCOUNTS_FREE_FAILURES, err);
    if (!rc)
        rc = cw_network_throttle_init(&a->guesses, CW_ACCOUNTS_FREE_GUESSES, err);
    if (!rc)
        rc = cw_network_throttle_init(&a->tokens_made_up, CW_ACCOUNTS_FREE_TOKENS, err);
    if (!rc)
        rc = cw_recent_logins_init(&a->verified, err);
    bool has_store = opts->path && opts->path[0];
    if (!rc && has_store)
        rc = cw_hash_pool_new(CW_ACCOUNTS_HASH_THREADS, CW_ACCOUNTS_MAX_HASHES, &a->workers, err);
    if (!rc)
        rc = cw_hash_pool_new(1, CW_ACCOUNTS_MAX_SIGNATURES, &a->verifiers, err);
    cw_store_opts store = {.path = opts->path,
                           .on_status = opts->on_status,
                           .on_change = opts->on_change,
                           .ctx = opts->ctx};
    if (!rc && has_store)
        rc = cw_store_new(&store, &a->store, err);
    if (rc) {
        cw_accounts_free(a);
        return rc;
    }
    *ret = a;
    return CW_OK;
}

static void free_loop(cw_accounts_loop *al)
{
    cw_login_loop_done(al);
    cw_login_watches_done(al);
    pthread_mutex_destroy(&al->lock);
}

void cw_accounts_free(cw_accounts *a)
{
    if (!a)
        return;
    /* Each hands attempts on to the other. After the pool has stopped, the store ends the rest. */
    cw_hash_pool_stop(a->workers);
    cw_hash_pool_stop(a->verifiers);
    cw_store_free(a->store);
    cw_hash_pool_free(a->workers);
    cw_hash_pool_free(a->verifiers);
    for (unsigned i = 0; i < a->n_loops; i++)
        free_loop(&a->loops[i]);
    cw_throttle_done(&a->by_account);
    cw_network_throttle_done(&a->guesses);
    cw_network_throttle_done(&a->tokens_made_up);
    cw_recent_logins_done(&a->verified);
    cw_roles_unref(a->roles);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* Equal roles change nothing. */
void cw_accounts_set_roles(cw_accounts *a, cw_roles *roles)
{
    pthread_mutex_lock(&a->lock);
    cw_roles *old = a->roles;
    a->roles = cw_roles_ref(roles);
    pthread_mutex_unlock(&a->lock);
    bool is_new = !cw_roles_equal(old, roles);
    cw_roles_unref(old);
    if (is_new)
        atomic_fetch_add(&a->roles_generation, 1);
}

static bool same_rules(const cw_session_rules *a, const cw_session_rules *b)
{
    return a->idle_ms == b->idle_ms && a->lifetime_ms == b->lifetime_ms &&
           a->per_account == b->per_account;
}

void cw_accounts_set_sessions(cw_accounts *a, const cw_session_rules *rules)
{
    pthread_mutex_lock(&a->lock);
    bool is_new = !same_rules(&a->sessions, rules);
    a->sessions = *rules;
    pthread_mutex_unlock(&a->lock);
    atomic_store(&a->has_sessions, a->store && rules->per_account);
    /* Sessions in the cache may be too old now. */
    if (is_new)
        atomic_fetch_add(&a->n_ended, 1);
}

void cw_accounts_set_issuers(cw_accounts *a, cw_issuers *issuers)
{
    a->issuers = issuers;
}

bool cw_accounts_has_issuers(const cw_accounts *a)
{
    return cw_issuers_any(a->issuers);
}

cw_store *cw_accounts_store(cw_accounts *a)
{
    return a->store;
}

uint64_t cw_accounts_generation(const cw_accounts *a, bool with_issuers)
{
    uint64_t generation = atomic_load(&a->roles_generation);
    if (a->store)
        generation += cw_store_generation(a->store);
    if (a->issuers && with_issuers)
        generation += cw_issuers_generation(a->issuers);
    return generation;
}
