/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts.c - begin, settings and end of the accounts, and the permissions of their callers. */
#include "access/login/accounts.h"

#include <stdlib.h>

#include "access/login/login_int.h"
#include "access/oauth/ceiling.h"
#include "access/rights.h"
#include "base/digits.h"

#define COLLECT_MAX_BYTES ((size_t)64 << 20)

/* ---- permissions: roles in the database and in the configuration ---- */

static cw_roles *take_roles(cw_accounts *a)
{
    pthread_mutex_lock(&a->lock);
    cw_roles *roles = a->roles ? cw_roles_ref(a->roles) : NULL;
    pthread_mutex_unlock(&a->lock);
    return roles;
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
    } else if (login->granted) {
        opts->credential.kind = CW_CREDENTIAL_ACCESS_TOKEN;
        opts->credential.resource = login->granted->token->resource;
        opts->expires = login->granted->token->expires;
        hash = login->granted->token->hash;
    } else if (session) {
        opts->credential.kind = CW_CREDENTIAL_SESSION;
        opts->expires = session->created + (int64_t)cw_session_rules_of(a).lifetime_ms;
        opts->logged_in = session->created;
        hash = session->hash;
    } else if (login->verified_hash) {
        opts->credential.kind = CW_CREDENTIAL_PASSWORD;
        hash = login->verified_hash;
    }
    if (hash)
        opts->credential.hash = cw_str_make((const char *)hash, CW_DIGEST);
}

/* The scopes of the token, and no permission above the ceiling of its grant. */
static cw_code bound_by_grant(const cw_granted_login *granted, cw_rights *permissions,
                              cw_rights *scopes, cw_err *err)
{
    cw_code rc = CW_OK;
    for (cw_str rest = granted->token->scopes; rest.n && !rc;) {
        cw_str scope = cw_str_cut(rest, ' ', &rest);
        rc = scope.n ? cw_rights_add(scopes, scope, err) : CW_OK;
    }
    return rc ? rc : cw_oauth_ceiling_apply(permissions, granted->settings, granted->client, err);
}

cw_code cw_permissions_of_account(cw_accounts *a, cw_db *db, const cw_account_login *login,
                                  cw_caller **ret, cw_err *err)
{
    _Static_assert(CW_DIGEST == CW_DB_HASH, "one length for all digests");
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    const cw_account *account = login->account;
    cw_roles *roles = take_roles(a);
    cw_arena_init(&arena, COLLECT_MAX_BYTES);
    cw_rights permissions = {.arena = &arena, .db = db, .roles = roles};
    cw_rights scopes = {.arena = &arena, .db = db};
    cw_code rc = cw_rights_add_account(&permissions, account, err);
    if (!rc && login->token)
        rc = cw_rights_add_scopes(&scopes, login->token, err);
    if (!rc && login->granted)
        rc = bound_by_grant(login->granted, &permissions, &scopes, err);
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
        .has_token = login->token || login->granted,
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
static cw_code collect_granted(cw_rights *granted, const cw_verified_token *issued, cw_err *err)
{
    const cw_issuer_opts *o = cw_issuer_opts_of(issued->issuer);
    cw_code rc = CW_OK;
    for (size_t i = 0; i < o->n_grants && !rc; i++) {
        const cw_issuer_grant *grant = &o->grants[i];
        bool is_given = has_scope(&issued->jwt, grant->scope);
        for (size_t j = 0; is_given && j < grant->n_permissions && !rc; j++)
            rc = cw_rights_add(granted, grant->permissions[j], err);
    }
    return rc;
}

/* The permissions of a caller without an account: of its roles, and of its scopes. */
static cw_code collect_claims(cw_rights *permissions, const cw_caller_credential *credential,
                              cw_err *err)
{
    cw_code rc = cw_rights_add_authenticated(permissions, err);
    for (size_t i = 0; i < credential->n_roles && !rc; i++)
        rc = cw_rights_add_role(permissions, credential->roles[i], err);
    for (size_t i = 0; i < credential->n_granted && !rc; i++)
        rc = cw_rights_add(permissions, credential->granted[i], err);
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
    cw_rights permissions = {.arena = &arena, .db = db, .roles = roles};
    cw_code rc = account ? cw_rights_add_account(&permissions, account, err)
                         : collect_claims(&permissions, &opts->credential, err);
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
    cw_rights granted = {.arena = &arena};
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
    opts.credential.issuer = issued->by_issuer;
    opts.credential.key = issued->by_key;
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

static cw_code permissions_of_anonymous(cw_accounts *a, cw_db *db, cw_caller **ret, cw_err *err)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_roles *roles = take_roles(a);
    cw_arena_init(&arena, COLLECT_MAX_BYTES);
    cw_rights permissions = {.arena = &arena, .db = db, .roles = roles};
    cw_code rc = cw_rights_add_role(&permissions, cw_str_from(CW_ROLE_ANONYMOUS), err);
    cw_roles_unref(roles);
    return rc ? rc : cw_caller_new_anonymous(permissions.items, permissions.n, ret, err);
}

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
    return permissions_of_anonymous(r->accounts, db, &r->caller, err);
}

static cw_code read_account(cw_store_job *job, cw_db *db, cw_err *err)
{
    reading *r = CW_CONTAINER(job, reading, job);
    cw_account *account;
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_arena_init(&arena, COLLECT_MAX_BYTES);
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
    cw_list_init(&al->grant_ops);
    pthread_mutex_init(&al->lock, NULL);
}

static void write_uses(void *ctx, cw_db *db, bool is_end)
{
    cw_accounts *a = ctx;
    cw_token_uses_write(&a->uses, db, is_end);
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
    cw_per_minute_init(&a->devices, CW_ACCOUNTS_DEVICES_PER_MINUTE);
    cw_per_minute_init(&a->devices_around, CW_ACCOUNTS_DEVICES_AROUND);
    cw_per_minute_init(&a->keys, CW_ACCOUNTS_KEYS_PER_MINUTE);
    atomic_init(&a->roles_generation, 0);
    atomic_init(&a->has_sessions, false);
    atomic_init(&a->has_oauth, false);
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
        rc = cw_throttle_init(&a->token_requests, CW_ACCOUNTS_FREE_TOKEN_REQUESTS, err);
    if (!rc)
        rc = cw_throttle_init(&a->strangers, CW_ACCOUNTS_FREE_TOKEN_REQUESTS, err);
    if (!rc)
        rc = cw_throttle_init(&a->user_codes, CW_ACCOUNTS_FREE_USER_CODES, err);
    if (!rc)
        rc = cw_network_throttle_init(&a->user_codes_made_up, CW_ACCOUNTS_FREE_USER_CODES, err);
    if (!rc)
        rc = cw_recent_logins_init(&a->verified, err);
    bool has_store = opts->db.where && opts->db.where[0];
    if (!rc && has_store)
        rc = cw_hash_pool_new(CW_ACCOUNTS_HASH_THREADS, CW_ACCOUNTS_MAX_HASHES, &a->workers, err);
    if (!rc)
        rc = cw_hash_pool_new(1, CW_ACCOUNTS_MAX_SIGNATURES, &a->verifiers, err);
    cw_store_opts store = {.db = opts->db,
                           .on_status = opts->on_status,
                           .on_change = opts->on_change,
                           .on_news = opts->on_news,
                           .ctx = opts->ctx,
                           .on_poll = write_uses,
                           .poll_ctx = a,
                           .listen_url = opts->listen_url};
    if (!rc && has_store)
        rc = cw_store_new(&store, &a->store, err);
    if (rc) {
        cw_accounts_free(a);
        return rc;
    }
    *ret = a;
    return CW_OK;
}

void cw_accounts_write_failures(cw_accounts *a, cw_json_writer *w)
{
    uint64_t now = cw_clock_ms();
    cw_json_open_object(w);
    cw_json_add_key(w, CW_STR("accounts"));
    cw_throttle_write(&a->by_account, w, now);
    cw_json_add_key(w, CW_STR("guesses"));
    cw_network_throttle_write(&a->guesses, w, now);
    cw_json_add_key(w, CW_STR("tokens"));
    cw_network_throttle_write(&a->tokens_made_up, w, now);
    cw_json_close(w);
}

void cw_accounts_read_failures(cw_accounts *a, const cw_json *failures)
{
    cw_throttle_read(&a->by_account, cw_json_get(failures, CW_STR("accounts")));
    cw_network_throttle_read(&a->guesses, cw_json_get(failures, CW_STR("guesses")));
    cw_network_throttle_read(&a->tokens_made_up, cw_json_get(failures, CW_STR("tokens")));
}

static void free_loop(cw_accounts_loop *al)
{
    cw_login_loop_done(al);
    cw_grant_ops_done(al);
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
    cw_throttle_done(&a->token_requests);
    cw_throttle_done(&a->strangers);
    cw_throttle_done(&a->user_codes);
    cw_network_throttle_done(&a->user_codes_made_up);
    cw_per_minute_done(&a->devices);
    cw_per_minute_done(&a->devices_around);
    cw_per_minute_done(&a->keys);
    cw_recent_logins_done(&a->verified);
    cw_roles_unref(a->roles);
    cw_oauth_settings_unref(a->oauth);
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

void cw_accounts_set_oauth(cw_accounts *a, cw_oauth_settings *settings)
{
    bool is_on = settings && a->store;
    pthread_mutex_lock(&a->lock);
    cw_oauth_settings *old = a->oauth;
    a->oauth = is_on ? cw_oauth_settings_ref(settings) : NULL;
    pthread_mutex_unlock(&a->lock);
    atomic_store(&a->has_oauth, is_on);
    /* Callers with its tokens are read again: clients and ceilings may have changed. */
    if (old || is_on)
        atomic_fetch_add(&a->roles_generation, 1);
    cw_oauth_settings_unref(old);
}

cw_oauth_settings *cw_accounts_take_oauth(cw_accounts *a)
{
    pthread_mutex_lock(&a->lock);
    cw_oauth_settings *settings = a->oauth ? cw_oauth_settings_ref(a->oauth) : NULL;
    pthread_mutex_unlock(&a->lock);
    return settings;
}

bool cw_accounts_has_oauth(const cw_accounts *a)
{
    return atomic_load(&a->has_oauth);
}

void cw_accounts_set_issuers(cw_accounts *a, cw_issuers *issuers)
{
    a->issuers = issuers;
}

bool cw_accounts_has_issuers(const cw_accounts *a)
{
    return cw_issuers_any(a->issuers);
}

cw_code cw_accounts_find_trust(cw_accounts *a, const unsigned char issuer[CW_TRUST_ID],
                               const unsigned char *key, cw_trust **ret_issuer, cw_trust **ret_key)
{
    return a->issuers ? cw_issuers_find_trust(a->issuers, issuer, key, ret_issuer, ret_key)
                      : CW_NOTFOUND;
}

uint64_t cw_accounts_issuer_generation(const cw_accounts *a)
{
    return a->issuers ? cw_issuers_generation(a->issuers) : 0;
}

bool cw_accounts_has_logins(const cw_accounts *a)
{
    return a && (a->store || cw_accounts_has_issuers(a));
}

bool cw_accounts_is_away(const cw_accounts *a)
{
    return a->store && cw_store_is_away(a->store, CW_ACCOUNTS_REMEMBER_MS);
}

cw_store *cw_accounts_store(cw_accounts *a)
{
    return a->store;
}

cw_code cw_accounts_hash(cw_accounts *a, cw_hash_job *job)
{
    cw_network_of(CW_STR("new password"), &job->network);
    return cw_hash_pool_ask(a->workers, job);
}

/* Roles of the configuration in the upper bits, the database in the lower ones. */
#define STORE_BITS 40u

uint64_t cw_accounts_generation(const cw_accounts *a)
{
    uint64_t generation = atomic_load(&a->roles_generation) << STORE_BITS;
    if (a->store)
        generation |= cw_store_generation(a->store);
    return generation;
}

bool cw_accounts_is_current(const cw_accounts *a, int64_t account, uint64_t generation)
{
    return generation >> STORE_BITS == atomic_load(&a->roles_generation) &&
           (!a->store ||
            cw_store_is_current(a->store, account, generation & ((UINT64_C(1) << STORE_BITS) - 1)));
}
