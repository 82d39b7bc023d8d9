/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts.c - logins with a password or a token of this server: cache, store, pool, store. */
#include "access/login/accounts.h"

#include <stdlib.h>

#include "access/login/login_int.h"
#include "base/assoc.h"
#include "base/clock.h"

#define ATTEMPT_MAX_BYTES 65536u
#define READING_MAX_BYTES ((size_t)1 << 20)

/* ---- the cache of verified credentials: the least recently used is replaced ---- */

static bool is_of_key(const void *entry, const void *key)
{
    const cw_login_cache_entry *r = entry;
    return r->caller && cw_secret_equal(r->key, key);
}

static uint64_t last_use(const void *entry)
{
    const cw_login_cache_entry *r = entry;
    return r->caller ? r->used : 0;
}

static const cw_assoc cache = {sizeof(cw_login_cache_entry), CW_ACCOUNTS_REMEMBERED, 4, is_of_key,
                               last_use};

static uint64_t hash_of(const unsigned char key[CW_DIGEST])
{
    uint32_t hash;
    memcpy(&hash, key, sizeof hash);
    return hash;
}

static cw_login_cache_entry *cache_find(cw_accounts_loop *al, const unsigned char key[CW_DIGEST])
{
    cw_login_cache_entry *r = cw_assoc_find(&cache, al->remembered, hash_of(key), key);
    if (r)
        r->used = ++al->tick;
    return r;
}

static bool cache_is_good(const cw_accounts_loop *al, const cw_login_cache_entry *r)
{
    return r->generation == cw_accounts_generation(al->accounts, /* with_issuers= */ false) &&
           cw_loop_now(al->loop) < r->until && (r->expires == 0 || cw_clock_wall_ms() < r->expires);
}

static void cache_drop(cw_login_cache_entry *r)
{
    cw_caller_unref(r->caller);
    *r = (cw_login_cache_entry){0};
}

static void cache_add(cw_accounts_loop *al, const cw_login_op *t)
{
    cw_login_cache_entry *r = cache_find(al, t->key);
    if (!r)
        r = cw_assoc_victim(&cache, al->remembered, hash_of(t->key));
    cache_drop(r);
    memcpy(r->key, t->key, sizeof r->key);
    memcpy(r->proof, t->proof, sizeof r->proof);
    r->caller = cw_caller_ref(t->caller);
    r->generation = t->generation;
    r->until = cw_loop_now(al->loop) + CW_ACCOUNTS_REMEMBER_MS;
    r->expires = t->expires;
    r->ended = t->ended;
    r->used = ++al->tick;
}

cw_caller *cw_login_cache_caller(cw_accounts_loop *al, const unsigned char key[CW_DIGEST])
{
    const cw_login_cache_entry *r = cache_find(al, key);
    bool is_good = r && cache_is_good(al, r) && r->ended == atomic_load(&al->accounts->n_ended);
    return is_good ? r->caller : NULL;
}

/* ---- operations ---- */

cw_login_op *cw_login_op_new(cw_accounts_loop *al, cw_credentials *credentials, cw_login_waiter *w)
{
    cw_login_op *t = calloc(1, sizeof *t);
    if (t) {
        t->accounts = al->accounts;
        t->al = al;
        t->waiters.prev = t->waiters.next = &t->waiters;
        t->credentials = *credentials;
        if (w)
            cw_login_waiter_networks(w, &t->work.network);
        cw_arena_init(&t->arena, ATTEMPT_MAX_BYTES);
    }
    cw_credentials_wipe(credentials);
    return t;
}

void cw_login_op_free(cw_login_op *t)
{
    cw_credentials_wipe(&t->credentials);
    memset(t->session, 0, sizeof t->session);
    cw_caller_unref(t->caller);
    cw_verified_token_done(&t->issued);
    cw_arena_done(&t->arena);
    free(t);
}

static void unlink_waiter(cw_login_waiter *w)
{
    w->prev->next = w->next;
    w->next->prev = w->prev;
    w->prev = w->next = NULL;
}

void cw_login_op_wait(cw_login_op *t, cw_login_waiter *w)
{
    w->next = &t->waiters;
    w->prev = t->waiters.prev;
    w->prev->next = w;
    t->waiters.prev = w;
}

void cw_login_op_keep_caller(cw_login_op *t, cw_caller *before)
{
    if (!t->caller || t->caller == before || !cw_caller_equal(t->caller, before))
        return;
    cw_caller_unref(t->caller);
    t->caller = cw_caller_ref(before);
}

static void remember(cw_accounts_loop *al, cw_login_op *t, bool is_notified)
{
    cw_login_cache_entry *before = cache_find(al, t->key);
    if (before)
        cw_login_op_keep_caller(t, before->caller);
    if (t->status == CW_LOGIN_OK && is_notified)
        cache_add(al, t);
    else if (t->status == CW_LOGIN_WRONG && before)
        cache_drop(before);
}

/* On the loop: the attempt has ended. */
static void settle(cw_accounts_loop *al, cw_login_op *t)
{
    t->prev->next = t->next;
    t->next->prev = t->prev;
    bool is_notified = t->waiters.next != &t->waiters;
    if (t->is_issued)
        cw_token_login_finish(al, t, is_notified);
    else if (t->kind == CW_LOGIN_OP_LOGIN || t->kind == CW_LOGIN_OP_RESUME)
        remember(al, t, is_notified);
    cw_login login = {.status = t->status,
                      .retry_s = t->retry_s,
                      .caller = t->caller,
                      .session = t->session[0] ? t->session : NULL};
    while (t->waiters.next != &t->waiters) {
        cw_login_waiter *w = t->waiters.next;
        unlink_waiter(w);
        w->fn(w, &login);
        login.is_remembered = true;
    }
    cw_login_op_free(t);
}

static void on_done(cw_message *message)
{
    cw_login_op *t = CW_CONTAINER(message, cw_login_op, message);
    settle(t->al, t);
}

void cw_login_op_finish(cw_login_op *t, cw_login_status status)
{
    cw_accounts_loop *al = t->al;
    t->status = status;
    t->message.fn = on_done;
    /* Under the lock: a loop that has ended may be gone. */
    pthread_mutex_lock(&al->lock);
    if (!al->is_ended)
        cw_loop_post(al->loop, &t->message);
    pthread_mutex_unlock(&al->lock);
}

/* The connections have cancelled their waiters. Running operations end in cw_accounts_free. */
static void on_loop_end(cw_loop_hook *hook)
{
    cw_accounts_loop *al = CW_CONTAINER(hook, cw_accounts_loop, hook);
    pthread_mutex_lock(&al->lock);
    al->is_ended = true;
    pthread_mutex_unlock(&al->lock);
    for (size_t i = 0; i < CW_ACCOUNTS_REMEMBERED; i++)
        cache_drop(&al->remembered[i]);
    cw_token_cache_free(al->tokens);
    al->tokens = NULL;
}

cw_accounts_loop *cw_accounts_at(cw_accounts *a, cw_loop *loop)
{
    cw_accounts_loop *al = &a->loops[loop->index];
    if (CW_UNLIKELY(!al->loop)) {
        al->remembered = calloc(CW_ACCOUNTS_REMEMBERED, sizeof *al->remembered);
        if (!al->remembered)
            return NULL;
        al->loop = loop;
        cw_loop_add_hook(loop, &al->hook);
        cw_login_watches_init(al);
    }
    return al;
}

static cw_login_op *of_job(cw_store_job *job)
{
    return CW_CONTAINER(job, cw_login_op, job);
}

static cw_str name_of(const cw_login_op *t)
{
    return cw_str_make(t->credentials.name, t->credentials.n_name);
}

/* ---- waiting after failures ---- */

/* An account with a network that it logged in from has a counter of its own, so that others'
 * wrong guesses do not lock it out there. */
#define PAIR_MAX (CW_DB_MAX_NAME + 1 + sizeof(uint64_t))

static cw_str counter_of(cw_accounts *a, cw_str account, const cw_network *network, bool *is_known,
                         char pair[PAIR_MAX])
{
    *is_known = cw_recent_logins_has_network(&a->verified, account, network, cw_clock_ms());
    if (!*is_known)
        return account;
    size_t n = account.n;
    memcpy(pair, account.p, n);
    pair[n++] = ':'; /* no name of an account has one */
    memcpy(pair + n, &network->keys[0], sizeof(uint64_t));
    return cw_str_make(pair, n + sizeof(uint64_t));
}

static uint64_t wait_ms(cw_accounts *a, cw_str account, const cw_network *network)
{
    bool is_known;
    char pair[PAIR_MAX];
    uint64_t now = cw_clock_ms();
    cw_str counter = counter_of(a, account, network, &is_known, pair);
    uint64_t of_account = cw_throttle_wait(&a->by_account, counter, now);
    uint64_t of_network = cw_network_throttle_wait(&a->guesses, network, is_known, now);
    return of_account > of_network ? of_account : of_network;
}

/* ---- passwords ---- */

static void reread_account(cw_login_op *t);

static void fail_login(cw_login_op *t)
{
    cw_accounts *a = t->accounts;
    bool is_known;
    char pair[PAIR_MAX];
    uint64_t now = cw_clock_ms();
    cw_throttle_fail(&a->by_account, counter_of(a, name_of(t), &t->work.network, &is_known, pair),
                     now);
    cw_network_throttle_fail(&a->guesses, &t->work.network, now);
    cw_login_op_finish(t, CW_LOGIN_WRONG);
}

static void pass_login(cw_login_op *t)
{
    cw_accounts *a = t->accounts;
    bool is_known;
    char pair[PAIR_MAX];
    cw_throttle_forget(&a->by_account,
                       counter_of(a, name_of(t), &t->work.network, &is_known, pair));
    t->has_proof = true;
    reread_account(t);
}

/* Another loop has verified the same credentials meanwhile. */
static bool is_verified(cw_login_op *t)
{
    unsigned char proof[CW_DIGEST];
    return t->kind == CW_LOGIN_OP_LOGIN && t->account &&
           cw_recent_logins_find(&t->accounts->verified, t->key, proof) &&
           cw_secret_equal(proof, t->proof);
}

static void verify(cw_hash_job *work, cw_hash_job_outcome fate)
{
    cw_login_op *t = CW_CONTAINER(work, cw_login_op, work);
    bool is_right = false;
    if (fate == CW_HASH_JOB_ENDING) {
        cw_login_op_finish(t, CW_LOGIN_UNAVAILABLE);
        return;
    }
    if (fate == CW_HASH_JOB_RUN && is_verified(t)) {
        pass_login(t);
        return;
    }
    /* Failures of jobs before this one count. */
    uint64_t wait =
        fate == CW_HASH_JOB_REJECTED ? 1 : wait_ms(t->accounts, name_of(t), &t->work.network);
    if (wait) {
        t->retry_s = cw_login_after(wait).retry_s;
        cw_login_op_finish(t, CW_LOGIN_TOO_MANY);
        return;
    }
    cw_str password = cw_str_make(t->credentials.password, t->credentials.n_password);
    if (cw_password_verify(t->hash, password, &is_right)) {
        cw_login_op_finish(t, CW_LOGIN_UNAVAILABLE);
        return;
    }
    if (!is_right || !t->account) {
        fail_login(t);
        return;
    }
    pass_login(t);
}

/* From now on these credentials are known on all loops, and this account in this network. */
static void record_success(cw_login_op *t)
{
    cw_recent_logins *v = &t->accounts->verified;
    if (t->kind == CW_LOGIN_OP_LOGIN)
        cw_recent_logins_add(v, t->key, t->proof);
    cw_recent_logins_add_network(v, name_of(t), &t->work.network, cw_clock_ms());
}

/* The account as it is now and, when it is proved that the password satisfies its hash, what it may
 * do. The way through the pool can be long: what was read before it does not count. */
static cw_code find_account(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_login_op *t = of_job(job);
    unsigned char proof[CW_DIGEST];
    cw_code rc = cw_db_find_account(db, name_of(t), &t->arena, &t->account, err);
    if (rc)
        return rc;
    memset(t->hash, 0, sizeof t->hash);
    if (t->account && t->account->password.n < sizeof t->hash)
        memcpy(t->hash, t->account->password.p, t->account->password.n);
    if (t->account && t->account->is_blocked)
        t->account = NULL;
    cw_secret_digest(cw_str_from(t->hash), proof);
    bool is_proved = t->has_proof && t->account && cw_secret_equal(proof, t->proof);
    memcpy(t->proof, proof, sizeof proof);
    if (!is_proved)
        return CW_OK;
    record_success(t);
    cw_account_login login = {.account = t->account, .verified_hash = proof};
    rc = cw_permissions_of_account(t->accounts, db, &login, &t->caller, err);
    return rc || t->kind != CW_LOGIN_OP_OPEN ? rc : cw_session_make(t, db, err);
}

static void on_account(cw_store_job *job, cw_code rc)
{
    cw_login_op *t = of_job(job);
    if (rc || t->caller) {
        cw_login_op_finish(t, rc ? CW_LOGIN_UNAVAILABLE : CW_LOGIN_OK);
        return;
    }
    t->work.run = verify;
    if (cw_hash_pool_ask(t->accounts->workers, &t->work)) {
        t->retry_s = 1;
        cw_login_op_finish(t, CW_LOGIN_TOO_MANY);
    }
}

/* Read it again. */
static void reread_account(cw_login_op *t)
{
    t->job.run = find_account;
    t->job.done = on_account;
    if (cw_store_ask(t->accounts->store, &t->job))
        cw_login_op_finish(t, CW_LOGIN_UNAVAILABLE);
}

/* ---- tokens ---- */

cw_code cw_login_read_token(cw_accounts *a, cw_db *db, const unsigned char digest[CW_DIGEST],
                            cw_arena *arena, cw_caller **ret, cw_err *err)
{
    cw_token *token;
    cw_account *account;
    cw_code rc = cw_db_find_token(db, digest, arena, &token, &account, err);
    if (rc || !token)
        return rc;
    bool is_good = cw_secret_equal(token->hash, digest) && !token->revoked &&
                   (token->expires == 0 || cw_clock_wall_ms() < token->expires) &&
                   !account->is_blocked;
    if (!is_good)
        return CW_OK;
    cw_account_login login = {.account = account, .token = token};
    return cw_permissions_of_account(a, db, &login, ret, err);
}

static cw_code find_token(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_login_op *t = of_job(job);
    cw_code rc =
        cw_login_read_token(t->accounts, db, t->credentials.token, &t->arena, &t->caller, err);
    t->expires = t->caller ? cw_caller_expires(t->caller) : 0;
    return rc;
}

static void on_token(cw_store_job *job, cw_code rc)
{
    cw_login_op *t = of_job(job);
    cw_login_status found = t->caller ? CW_LOGIN_OK : CW_LOGIN_WRONG;
    cw_login_op_finish(t, rc ? CW_LOGIN_UNAVAILABLE : found);
}

void cw_login_op_set_job(cw_login_op *t)
{
    bool is_token = t->credentials.kind == CW_CREDENTIALS_TOKEN;
    t->job.run = is_token ? find_token : find_account;
    t->job.done = is_token ? on_token : on_account;
}

/* ---- login ---- */

cw_login_op *cw_login_op_find(cw_accounts_loop *al, const unsigned char key[CW_DIGEST])
{
    for (cw_login_op *t = al->running.next; t != &al->running; t = t->next) {
        if (cw_secret_equal(t->key, key))
            return t;
    }
    return NULL;
}

void cw_login_op_link(cw_login_op *t, cw_login_waiter *w)
{
    cw_login_op *ring = &t->al->running;
    t->next = ring;
    t->prev = ring->prev;
    t->prev->next = t;
    ring->prev = t;
    cw_login_op_wait(t, w);
}

void cw_login_op_unlink(cw_login_op *t, cw_login_waiter *w)
{
    unlink_waiter(w);
    t->prev->next = t->next;
    t->next->prev = t->prev;
}

cw_login cw_login_after(uint64_t wait)
{
    return (cw_login){.status = wait ? CW_LOGIN_TOO_MANY : CW_LOGIN_PENDING,
                      .retry_s = (uint32_t)((wait + 999) / 1000)};
}

void cw_login_waiter_networks(cw_login_waiter *w, cw_network *ret)
{
    cw_network_of(w->peer(w), ret);
}

cw_login cw_login_op_throttled(cw_accounts *a, const cw_credentials *c, cw_login_waiter *w)
{
    cw_network network;
    if (c->kind != CW_CREDENTIALS_PASSWORD)
        return cw_login_after(0);
    cw_login_waiter_networks(w, &network);
    return cw_login_after(wait_ms(a, cw_str_make(c->name, c->n_name), &network));
}

cw_login cw_login_op_begin(cw_login_op *t, cw_login_waiter *w)
{
    t->generation = cw_accounts_generation(t->accounts, /* with_issuers= */ false);
    t->ended = atomic_load(&t->accounts->n_ended);
    cw_login_op_link(t, w);
    if (!cw_store_ask(t->accounts->store, &t->job))
        return (cw_login){.status = CW_LOGIN_PENDING};
    cw_login_op_unlink(t, w);
    cw_login_op_free(t);
    return (cw_login){.status = CW_LOGIN_UNAVAILABLE};
}

/* An earlier verification of the same credentials, on this loop or another. */
typedef struct proof {
    bool is_known;
    unsigned char digest[CW_DIGEST]; /* of the hash that the credentials satisfied */
} proof;

static proof find_proof(cw_accounts_loop *al, const unsigned char key[CW_DIGEST],
                        const cw_login_cache_entry *before)
{
    proof p = {.is_known = before != NULL};
    if (before)
        memcpy(p.digest, before->proof, CW_DIGEST);
    else
        p.is_known = cw_recent_logins_find(&al->accounts->verified, key, p.digest);
    return p;
}

static cw_login begin(cw_accounts_loop *al, cw_credentials *credentials,
                      const unsigned char key[CW_DIGEST], const proof *known, cw_login_waiter *w)
{
    cw_login_op *t = cw_login_op_new(al, credentials, w);
    if (!t)
        return (cw_login){.status = CW_LOGIN_UNAVAILABLE};
    memcpy(t->key, key, CW_DIGEST);
    memcpy(t->proof, known->digest, CW_DIGEST);
    t->has_proof = known->is_known;
    cw_login_op_set_job(t);
    return cw_login_op_begin(t, w);
}

static cw_login login_again(cw_accounts_loop *al, cw_credentials *credentials,
                            const unsigned char key[CW_DIGEST], const cw_login_cache_entry *before,
                            cw_login_waiter *w)
{
    cw_login_op *same = cw_login_op_find(al, key);
    if (same) {
        cw_login_op_wait(same, w);
        return (cw_login){.status = CW_LOGIN_PENDING};
    }
    /* Credentials that were right before do not wait because of wrong guesses. */
    proof known = find_proof(al, key, before);
    cw_login login = known.is_known ? (cw_login){.status = CW_LOGIN_PENDING}
                                    : cw_login_op_throttled(al->accounts, credentials, w);
    return login.status == CW_LOGIN_PENDING ? begin(al, credentials, key, &known, w) : login;
}

static cw_login login_with(cw_accounts_loop *al, cw_credentials *credentials, cw_login_waiter *w)
{
    unsigned char key[CW_DIGEST];
    cw_credentials_key(credentials, key);
    cw_login_cache_entry *r = cache_find(al, key);
    if (r && cache_is_good(al, r))
        return (cw_login){.status = CW_LOGIN_OK, .caller = r->caller, .is_remembered = true};
    return login_again(al, credentials, key, r, w);
}

cw_login cw_accounts_login(cw_accounts *a, cw_loop *loop, cw_str header, cw_login_waiter *w)
{
    cw_credentials credentials;
    cw_accounts_loop *al = cw_accounts_at(a, loop);
    if (!al)
        return (cw_login){.status = CW_LOGIN_UNAVAILABLE};
    cw_str token = a->issuers ? cw_credentials_bearer(header) : (cw_str){NULL, 0};
    if (token.p && !cw_str_starts(token, cw_str_from(CW_TOKEN_PREFIX)))
        return cw_token_login_start(al, token, w);
    cw_login login = {.status = CW_LOGIN_WRONG};
    if (a->store && cw_credentials_parse(header, &credentials))
        login = login_with(al, &credentials, w);
    cw_credentials_wipe(&credentials);
    return login;
}

void cw_login_cancel(cw_login_waiter *w)
{
    if (w->next)
        unlink_waiter(w);
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
    al->hook.on_end = on_loop_end;
    al->running.prev = al->running.next = &al->running;
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
    while (al->running.next != &al->running) {
        cw_login_op *t = al->running.next;
        al->running.next = t->next;
        cw_login_op_free(t);
    }
    for (size_t i = 0; al->remembered && i < CW_ACCOUNTS_REMEMBERED; i++)
        cache_drop(&al->remembered[i]);
    free(al->remembered);
    cw_token_cache_free(al->tokens);
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
