/* SPDX-License-Identifier: GPL-2.0-or-later */
/* login.c - logins with a password or a token: cache, store, pool, store. */
#include <stdlib.h>

#include "access/login/login_int.h"
#include "base/assoc.h"
#include "base/clock.h"
#include "base/log.h"

#define ATTEMPT_MAX_BYTES ((size_t)64 << 20) /* all rights of an account */
/* Parsed three times at most: on the loop, and before and after the issuer was asked. */
#define ISSUED_MAX_BYTES (3 * CW_JWT_MEMORY + 65536u)
/* A caller in memory beside its texts, for the ceiling of the cache. */
#define CALLER_BYTES 1024u

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
    return cw_accounts_is_current(al->accounts, r->account, r->generation) &&
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
    r->account = cw_caller_account(t->caller);
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

/* On the loop: cache the result; a success only if a waiter gets it. */
static void cache_token_login(cw_accounts_loop *al, cw_login_op *t, bool is_notified);

/* TOO_MANY with this delay in ms; PENDING for 0. */
static cw_login login_after(uint64_t wait)
{
    return (cw_login){.status = wait ? CW_LOGIN_TOO_MANY : CW_LOGIN_PENDING,
                      .retry_s = (uint32_t)((wait + 999) / 1000)};
}

/* The networks of the client that waits. */
static void networks_of(cw_login_waiter *w, cw_network *ret)
{
    cw_network_of(w->peer(w), ret);
}

static void free_op(cw_login_op *t)
{
    cw_credentials_wipe(&t->credentials);
    memset(t->session, 0, sizeof t->session);
    cw_caller_unref(t->caller);
    cw_verified_token_done(&t->issued);
    cw_arena_done(&t->arena);
    free(t);
}

cw_login_op *cw_login_op_new(cw_accounts_loop *al, cw_credentials *credentials, cw_login_waiter *w)
{
    cw_login_op *t = calloc(1, sizeof *t);
    if (t) {
        t->accounts = al->accounts;
        t->al = al;
        cw_list_init(&t->waiters);
        t->credentials = *credentials;
        cw_arena_init(&t->arena, ATTEMPT_MAX_BYTES);
        if (w) {
            networks_of(w, &t->work.network);
            t->job.by = cw_network_key(&t->work.network);
            t->peer = cw_arena_dup_str(&t->arena, w->peer(w));
        }
    }
    cw_credentials_wipe(credentials);
    if (t && t->arena.failed) {
        free_op(t);
        return NULL;
    }
    return t;
}

void cw_login_op_wait(cw_login_op *t, cw_login_waiter *w)
{
    cw_list_add(&t->waiters, &w->node);
}

/* Replace the caller by an equal one that was there before: views are cached by its address. */
static void keep_caller(cw_login_op *t, cw_caller *before)
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
        keep_caller(t, before->caller);
    if (t->status == CW_LOGIN_OK && is_notified)
        cache_add(al, t);
    else if (t->status == CW_LOGIN_WRONG && before)
        cache_drop(before);
}

/* On the loop: the attempt has ended. */
static void settle(cw_accounts_loop *al, cw_login_op *t)
{
    cw_list_remove(&t->node);
    bool is_notified = !cw_list_is_empty(&t->waiters);
    if (t->is_issued)
        cache_token_login(al, t, is_notified);
    else if (t->kind == CW_LOGIN_OP_LOGIN || t->kind == CW_LOGIN_OP_RESUME)
        remember(al, t, is_notified);
    cw_login login = {.status = t->status,
                      .retry_s = t->retry_s,
                      .caller = t->caller,
                      .session = t->session[0] ? t->session : NULL};
    for (cw_list *node; (node = cw_list_take_first(&t->waiters));) {
        cw_login_waiter *w = CW_CONTAINER(node, cw_login_waiter, node);
        w->fn(w, &login);
        login.is_remembered = true;
    }
    free_op(t);
}

static void on_done(cw_message *message)
{
    cw_login_op *t = CW_CONTAINER(message, cw_login_op, message);
    settle(t->al, t);
}

void cw_accounts_post(cw_accounts_loop *to, cw_message *message)
{
    /* Under the lock: a loop that has ended may be gone. */
    pthread_mutex_lock(&to->lock);
    bool is_ended = to->is_ended;
    if (!is_ended)
        cw_loop_post(to->loop, message);
    pthread_mutex_unlock(&to->lock);
    if (is_ended && message->drop)
        message->drop(message);
}

void cw_login_op_finish(cw_login_op *t, cw_login_status status)
{
    cw_accounts_loop *al = t->al;
    t->status = status;
    t->message.fn = on_done;
    cw_accounts_post(al, &t->message);
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
        al->hook.on_end = on_loop_end;
        cw_loop_add_hook(loop, &al->hook);
        cw_login_watches_init(al);
    }
    return al;
}

void cw_login_loop_done(cw_accounts_loop *al)
{
    for (cw_list *node; (node = cw_list_take_first(&al->running));)
        free_op(CW_CONTAINER(node, cw_login_op, node));
    for (size_t i = 0; al->remembered && i < CW_ACCOUNTS_REMEMBERED; i++)
        cache_drop(&al->remembered[i]);
    free(al->remembered);
    cw_token_cache_free(al->tokens);
}

static cw_login_op *of_job(cw_store_job *job)
{
    return CW_CONTAINER(job, cw_login_op, job);
}

static cw_str name_of(const cw_login_op *t)
{
    return cw_str_make(t->credentials.name, t->credentials.n_name);
}

/* ---- passwords ---- */

static void reread_account(cw_login_op *t);

static cw_code write_failure(cw_store_job *job, cw_db *db, cw_err *err)
{
    (void)err;
    cw_failures_write_shared(of_job(job), db);
    return CW_OK;
}

static void on_failure_written(cw_store_job *job, cw_code rc)
{
    (void)rc; /* without the database it counts here */
    cw_login_op_finish(of_job(job), CW_LOGIN_WRONG);
}

/* The answer waits until all servers know. */
static void fail_login(cw_login_op *t)
{
    cw_failures_add(t);
    t->job.run = write_failure;
    t->job.done = on_failure_written;
    if (cw_store_ask(t->accounts->store, &t->job))
        cw_login_op_finish(t, CW_LOGIN_WRONG);
}

static void pass_login(cw_login_op *t)
{
    cw_failures_clear(t);
    t->has_proof = true;
    t->is_passed = true;
    reread_account(t);
}

static void delay_login(cw_login_op *t, uint64_t wait)
{
    t->retry_s = login_after(wait).retry_s;
    cw_login_op_finish(t, CW_LOGIN_TOO_MANY);
}

/* Another loop has verified the same credentials meanwhile. */
static bool is_verified(cw_login_op *t)
{
    unsigned char proof[CW_DIGEST];
    return t->kind == CW_LOGIN_OP_LOGIN && t->account &&
           cw_recent_logins_find(&t->accounts->verified, t->key, proof) &&
           cw_secret_equal(proof, t->proof);
}

static void verify_password(cw_hash_job *work, cw_hash_job_outcome fate)
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
    /* Failures of jobs before this one count, also on other servers. */
    uint64_t wait = fate == CW_HASH_JOB_REJECTED
                        ? 1
                        : cw_failures_wait(t->accounts, name_of(t), &t->work.network);
    if (wait) {
        delay_login(t, wait);
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
static void record_success(cw_login_op *t, cw_db *db)
{
    cw_recent_logins *v = &t->accounts->verified;
    if (t->kind == CW_LOGIN_OP_LOGIN)
        cw_recent_logins_add(v, t->key, t->proof);
    if (t->is_passed)
        cw_failures_clear_shared(t, db);
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
    cw_password_id(cw_str_from(t->hash), proof);
    bool is_proved = t->has_proof && t->account && cw_secret_equal(proof, t->proof);
    memcpy(t->proof, proof, sizeof proof);
    if (!is_proved)
        return cw_failures_read_shared(t, db, err);
    record_success(t, db);
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
    t->work.run = verify_password;
    if (cw_hash_pool_ask(t->accounts->workers, &t->work))
        delay_login(t, 1);
}

/* Read it again. */
static void reread_account(cw_login_op *t)
{
    t->job.run = find_account;
    t->job.done = on_account;
    if (cw_store_ask(t->accounts->store, &t->job))
        cw_login_op_finish(t, CW_LOGIN_UNAVAILABLE);
}

/* ---- tokens of this server ---- */

cw_code cw_login_read_token(cw_accounts *a, cw_db *db, const unsigned char digest[CW_DIGEST],
                            cw_arena *arena, cw_token **ret_token, cw_caller **ret, cw_err *err)
{
    cw_token *token;
    cw_account *account;
    cw_code rc = cw_db_find_token(db, digest, arena, &token, &account, err);
    if (rc || !token)
        return rc;
    if (ret_token)
        *ret_token = token;
    bool is_good = cw_secret_equal(token->hash, digest) && !token->revoked &&
                   (token->expires == 0 || cw_clock_wall_ms() < token->expires) &&
                   !account->is_blocked;
    if (!is_good)
        return CW_OK;
    cw_account_login login = {.account = account, .token = token};
    return cw_permissions_of_account(a, db, &login, ret, err);
}

cw_code cw_login_read_access_token(cw_accounts *a, cw_db *db, const unsigned char digest[CW_DIGEST],
                                   cw_arena *arena, cw_caller **ret, cw_err *err)
{
    cw_db_oauth_token *token;
    cw_account *account;
    cw_oauth_client client = {.kind = CW_OAUTH_DOCUMENT};
    cw_oauth_settings *settings = cw_accounts_take_oauth(a);
    if (!settings)
        return CW_OK;
    cw_code rc = cw_db_find_oauth_token(db, digest, arena, &token, &account, err);
    bool is_good = !rc && token && cw_secret_equal(token->hash, digest) &&
                   cw_clock_wall_ms() < token->expires && !account->is_blocked;
    /* A client that the operator has removed or denied has no valid tokens. */
    if (is_good)
        rc = cw_oauth_client_find(db, settings, token->client, arena, &client, err);
    if (is_good && (!rc || rc == CW_DECLINED)) {
        cw_granted_login granted = {.token = token, .settings = settings, .client = &client};
        cw_account_login login = {.account = account, .granted = &granted};
        rc = cw_permissions_of_account(a, db, &login, ret, err);
    }
    cw_oauth_settings_unref(settings);
    return rc == CW_NOTFOUND ? CW_OK : rc;
}

static cw_code find_token(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_login_op *t = of_job(job);
    const unsigned char *digest = t->credentials.token;
    cw_token *token = NULL;
    cw_code rc =
        t->credentials.kind == CW_CREDENTIALS_ACCESS_TOKEN
            ? cw_login_read_access_token(t->accounts, db, digest, &t->arena, &t->caller, err)
            : cw_login_read_token(t->accounts, db, digest, &t->arena, &token, &t->caller, err);
    if (token && t->caller)
        cw_token_uses_note(&t->accounts->uses, db, token, t->peer);
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
    bool is_token = t->credentials.kind != CW_CREDENTIALS_PASSWORD;
    t->job.run = is_token ? find_token : find_account;
    t->job.done = is_token ? on_token : on_account;
}

/* ---- login ---- */

cw_login_op *cw_login_op_find(cw_accounts_loop *al, const unsigned char key[CW_DIGEST])
{
    CW_LIST_EACH (node, &al->running) {
        cw_login_op *t = CW_CONTAINER(node, cw_login_op, node);
        if (cw_secret_equal(t->key, key))
            return t;
    }
    return NULL;
}

/* Add it to the running operations, with a waiter; and undo both. */
static void link_op(cw_login_op *t, cw_login_waiter *w)
{
    cw_list_add(&t->al->running, &t->node);
    cw_login_op_wait(t, w);
}

static void unlink_op(cw_login_op *t, cw_login_waiter *w)
{
    cw_list_remove(&w->node);
    cw_list_remove(&t->node);
}

cw_login cw_login_op_throttled(cw_accounts *a, const cw_credentials *c, cw_login_waiter *w)
{
    cw_network network;
    if (c->kind != CW_CREDENTIALS_PASSWORD)
        return login_after(0);
    networks_of(w, &network);
    return login_after(cw_failures_wait_or_read(a, cw_str_make(c->name, c->n_name), &network));
}

cw_login cw_login_op_begin(cw_login_op *t, cw_login_waiter *w)
{
    t->generation = cw_accounts_generation(t->accounts);
    t->ended = atomic_load(&t->accounts->n_ended);
    link_op(t, w);
    if (!cw_store_ask(t->accounts->store, &t->job))
        return (cw_login){.status = CW_LOGIN_PENDING};
    unlink_op(t, w);
    free_op(t);
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

/* ---- tokens of issuers ----
 *
 *     loop:      remembered? ─► issuer and key known? ─────┐
 *                                  │ no                    │
 *     main:      keys are fetched, or the token ───────────┤
 *                is introspected ──────────────┐           │
 *     verifiers:                               │   signature and claims ─► no database: done
 *     store:                                   └──► permissions of its account, or of its roles
 *
 * Signatures are checked by a thread of their own, in turns by network (hash_pool.h).
 */

static void log_reason(const cw_err *err)
{
    cw_log(CW_LOG_DEBUG, "access", "a token was rejected", CW_KV("why", cw_str_from(err->msg)));
}

static cw_login_status status_of(cw_code rc)
{
    if (rc == CW_OK)
        return CW_LOGIN_OK;
    return rc == CW_INVALID ? CW_LOGIN_WRONG : CW_LOGIN_UNAVAILABLE;
}

/* ---- permissions of a token ---- */

cw_str cw_issuer_account_name(const cw_jwt *jwt, const cw_issuer_opts *issuer)
{
    const cw_json *v = cw_json_pointer(jwt->claims, issuer->account);
    bool is_name = cw_json_is(v, CW_JSON_STRING) && cw_account_name_is_valid(cw_json_text(v));
    return is_name ? cw_json_text(v) : (cw_str){NULL, 0};
}

/* Each token has the role "authenticated", and the database may give that role permissions. */
static bool needs_store(const cw_login_op *t)
{
    return t->accounts->store || cw_issuer_opts_of(t->issued.issuer)->account.n;
}

/* On the store's thread. */
static cw_code find_rights(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_login_op *t = of_job(job);
    cw_account *account = NULL;
    bool is_claimed = cw_issuer_opts_of(t->issued.issuer)->account.n > 0;
    cw_str name = is_claimed
                      ? cw_issuer_account_name(&t->issued.jwt, cw_issuer_opts_of(t->issued.issuer))
                      : CW_STR("");
    if (is_claimed && !name.p)
        return CW_OK;
    cw_code rc = is_claimed ? cw_db_find_account(db, name, &t->arena, &account, err) : CW_OK;
    if (rc || (is_claimed && (!account || account->is_blocked)))
        return rc;
    return cw_permissions_of_token(t->accounts, db, account, &t->issued, &t->caller, err);
}

static void on_rights(cw_store_job *job, cw_code rc)
{
    cw_login_op *t = of_job(job);
    if (rc)
        cw_login_op_finish(t, status_of(rc));
    else
        cw_login_op_finish(t, t->caller ? CW_LOGIN_OK : CW_LOGIN_WRONG);
}

/* The token is good. CW_AGAIN: the store will say; else t->caller, or why not. */
static cw_code find_caller(cw_login_op *t, cw_err *err)
{
    if (!needs_store(t))
        return cw_permissions_of_token(t->accounts, NULL, NULL, &t->issued, &t->caller, err);
    t->job.run = find_rights;
    t->job.done = on_rights;
    if (!t->accounts->store)
        return cw_fail(err, CW_INVALID, "there is no database with its account");
    return cw_store_ask(t->accounts->store, &t->job) ? CW_LIMIT : CW_AGAIN;
}

/* ---- the signature of a token ---- */

static cw_code ask_issuer(cw_login_op *t);

static void finish_token(cw_login_op *t, cw_code rc, const cw_err *err)
{
    if (rc == CW_INVALID)
        log_reason(err);
    cw_login_op_finish(t, status_of(rc));
}

static bool is_made_up(const cw_jwt *jwt)
{
    return jwt->reason == CW_TOKEN_SIGNATURE || jwt->reason == CW_TOKEN_SIGNATURE_NO_KID;
}

/* A network that makes up tokens must wait; expired and foreign ones of an issuer do not count. */
static void record_invalid(cw_login_op *t)
{
    cw_network_throttle_fail(&t->accounts->tokens_made_up, &t->work.network, cw_clock_ms());
}

static void reject_token(cw_login_op *t)
{
    t->retry_s = 1;
    cw_login_op_finish(t, CW_LOGIN_TOO_MANY);
}

static void verify_signature(cw_hash_job *work, cw_hash_job_outcome fate)
{
    cw_login_op *t = CW_CONTAINER(work, cw_login_op, work);
    cw_err err = {0};
    if (fate == CW_HASH_JOB_REJECTED) {
        reject_token(t);
        return;
    }
    if (fate == CW_HASH_JOB_ENDING) {
        cw_login_op_finish(t, CW_LOGIN_UNAVAILABLE);
        return;
    }
    cw_code rc = cw_verified_token_check(&t->issued, &t->arena, &err);
    if (rc == CW_INVALID && is_made_up(&t->issued.jwt))
        record_invalid(t);
    /* The keys have changed since its key was found. */
    if (rc == CW_AGAIN) {
        if (ask_issuer(t))
            cw_login_op_finish(t, CW_LOGIN_UNAVAILABLE);
        return;
    }
    if (!rc)
        rc = find_caller(t, &err);
    if (rc != CW_AGAIN)
        finish_token(t, rc, &err);
}

/* CW_LIMIT: too many wait. */
static cw_code queue_verify(cw_login_op *t)
{
    t->work.run = verify_signature;
    return cw_hash_pool_ask(t->accounts->verifiers, &t->work);
}

/* ---- requests to the issuer ---- */

static void on_checked(cw_token_check *check, cw_code rc)
{
    cw_login_op *t = CW_CONTAINER(check, cw_login_op, check);
    cw_err err = {.msg = "its issuer does not recognize it"};
    t->issued = check->issued;
    check->issued = (cw_verified_token){0};
    if (rc == CW_AGAIN) {
        if (queue_verify(t))
            reject_token(t);
        return;
    }
    /* Each one that was made up costs its issuer a request. */
    if (rc == CW_INVALID && t->is_opaque)
        record_invalid(t);
    if (!rc)
        rc = find_caller(t, &err);
    if (rc != CW_AGAIN)
        finish_token(t, rc, &err);
}

static cw_code ask_issuer(cw_login_op *t)
{
    t->is_opaque = !t->issued.issuer;
    cw_verified_token_done(&t->issued);
    t->check = (cw_token_check){.token = t->check.token,
                                .network = t->work.network,
                                .arena = &t->arena,
                                .done = on_checked};
    return cw_issuers_start_check(t->accounts->issuers, &t->check);
}

/* ---- token logins on the loop ---- */

static cw_cache_time now_of(const cw_accounts_loop *al, uint64_t rights, uint64_t keys)
{
    return (cw_cache_time){rights, keys, cw_loop_now(al->loop), cw_clock_wall_ms()};
}

static void unref_caller(void *caller)
{
    cw_caller_unref(caller);
}

static bool is_caller_current(const void *caller, uint64_t rights, void *ctx)
{
    return cw_accounts_is_current(ctx, cw_caller_account(caller), rights);
}

static bool has_token_cache(cw_accounts_loop *al)
{
    cw_token_cache_opts opts = {.max_entries = al->accounts->tokens,
                                .unref = unref_caller,
                                .is_current = is_caller_current,
                                .ctx = al->accounts};
    return al->tokens || !cw_token_cache_new(&opts, &al->tokens, NULL);
}

static void cache_token_login(cw_accounts_loop *al, cw_login_op *t, bool is_notified)
{
    /* The loop ends, and the attempt comes after its memory has gone. */
    if (!al->tokens)
        return;
    static const unsigned char no_hash[CW_DIGEST];
    cw_cache_time now = now_of(al, t->generation, t->keys);
    if (t->status == CW_LOGIN_OK)
        cw_recent_logins_add(&al->accounts->verified, t->key, no_hash);
    void *before = cw_token_cache_peek(al->tokens, t->key);
    if (t->status == CW_LOGIN_OK && before)
        keep_caller(t, before);
    if (t->status == CW_LOGIN_OK && is_notified)
        cw_token_cache_add(al->tokens, t->key, &now, cw_caller_ref(t->caller),
                           CALLER_BYTES + cw_caller_json(t->caller).n * 2,
                           t->issued.jwt.expires_ms);
    else if (t->status == CW_LOGIN_WRONG)
        cw_token_cache_refuse(al->tokens, t->key, &now);
}

static cw_login_op *new_token_op(cw_accounts_loop *al, cw_str token,
                                 const unsigned char key[CW_DIGEST], const cw_network *network)
{
    cw_login_op *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->accounts = al->accounts;
    t->al = al;
    t->is_issued = true;
    cw_list_init(&t->waiters);
    t->generation = cw_accounts_generation(al->accounts);
    t->keys = cw_issuers_generation(al->accounts->issuers);
    memcpy(t->key, key, CW_DIGEST);
    t->work.network = *network;
    t->job.by = cw_network_key(network);
    cw_arena_init(&t->arena, ISSUED_MAX_BYTES);
    t->check.token = cw_arena_dup_str(&t->arena, token);
    if (t->check.token.p)
        return t;
    free_op(t);
    return NULL;
}

/* A refusal that needs no signature check. */
static cw_login refuse_now(cw_accounts_loop *al, cw_login_op *t, cw_code rc)
{
    t->status = status_of(rc);
    cache_token_login(al, t, /* is_notified= */ true);
    cw_login login = {.status = t->status};
    free_op(t);
    return login;
}

/* Ask the issuer, or have the signature checked. */
static cw_login begin_token(cw_accounts_loop *al, cw_login_op *t, cw_login_waiter *w)
{
    cw_err err = {0};
    cw_code rc =
        cw_issuers_find(al->accounts->issuers, t->check.token, &t->arena, &t->issued, &err);
    if (rc == CW_INVALID)
        log_reason(&err);
    if (rc && rc != CW_AGAIN)
        return refuse_now(al, t, rc);
    /* From here on others may end it before we are back. */
    link_op(t, w);
    bool is_checking = rc == CW_AGAIN;
    rc = is_checking ? ask_issuer(t) : queue_verify(t);
    if (!rc)
        return (cw_login){.status = CW_LOGIN_PENDING};
    unlink_op(t, w);
    if (is_checking)
        return refuse_now(al, t, rc);
    free_op(t);
    return login_after(1);
}

/* A JWT of no issuer in the configuration may be one of the built-in authorization server: it is looked
 * up. */
static bool is_own_jwt(const cw_accounts *a, cw_str token)
{
    unsigned char unused[CW_DIGEST];
    return cw_accounts_has_oauth(a) && cw_access_token_digest_any(token, unused) &&
           !cw_issuers_name(a->issuers, token);
}

static cw_login login_with_jwt(cw_accounts_loop *al, cw_str token, cw_login_waiter *w)
{
    cw_credentials credentials = {.kind = CW_CREDENTIALS_ACCESS_TOKEN};
    if (!cw_access_token_digest_any(token, credentials.token))
        return (cw_login){.status = CW_LOGIN_WRONG};
    cw_login login = login_with(al, &credentials, w);
    cw_credentials_wipe(&credentials);
    return login;
}

static cw_login start_token_login(cw_accounts_loop *al, cw_str token, cw_login_waiter *w)
{
    const cw_login unavailable = {.status = CW_LOGIN_UNAVAILABLE};
    unsigned char key[CW_DIGEST];
    void *caller = NULL;
    if (!has_token_cache(al))
        return unavailable;
    cw_secret_tag(token, key);
    cw_cache_time now = now_of(al, cw_accounts_generation(al->accounts),
                               cw_issuers_generation(al->accounts->issuers));
    cw_token_found found = cw_token_cache_find(al->tokens, key, &now, &caller);
    if (found == CW_TOKEN_BAD)
        return (cw_login){.status = CW_LOGIN_WRONG};
    if (found == CW_TOKEN_GOOD && cw_caller_is_trusted(caller))
        return (cw_login){.status = CW_LOGIN_OK, .caller = caller, .is_remembered = true};
    /* Not before: looking at every character of one that is known costs as much as its digest. */
    if (!cw_issuer_may_be_token(token))
        return (cw_login){.status = CW_LOGIN_WRONG};
    if (is_own_jwt(al->accounts, token))
        return login_with_jwt(al, token, w);
    cw_login_op *same = cw_login_op_find(al, key);
    if (same) {
        cw_login_op_wait(same, w);
        return (cw_login){.status = CW_LOGIN_PENDING};
    }
    cw_network network;
    unsigned char unused[CW_DIGEST];
    networks_of(w, &network);
    /* A token that was good before does not wait because others make some up. */
    bool was_good = cw_recent_logins_find(&al->accounts->verified, key, unused);
    uint64_t wait = was_good ? 0
                             : cw_network_throttle_wait(&al->accounts->tokens_made_up, &network,
                                                        /* only_narrowest= */ false, cw_clock_ms());
    if (wait)
        return login_after(wait);
    cw_login_op *t = new_token_op(al, token, key, &network);
    return t ? begin_token(al, t, w) : unavailable;
}

/* ---- any login ---- */

cw_login cw_accounts_login(cw_accounts *a, cw_loop *loop, cw_str header, cw_login_waiter *w)
{
    cw_credentials credentials;
    cw_accounts_loop *al = cw_accounts_at(a, loop);
    if (!al)
        return (cw_login){.status = CW_LOGIN_UNAVAILABLE};
    cw_str token = a->issuers ? cw_credentials_bearer(header) : (cw_str){NULL, 0};
    bool is_own =
        cw_str_starts(token, CW_STR(CW_TOKEN_PREFIX)) ||
        (cw_accounts_has_oauth(a) && cw_str_starts(token, CW_STR(CW_ACCESS_TOKEN_PREFIX)));
    if (token.p && !is_own)
        return start_token_login(al, token, w);
    cw_login login = {.status = CW_LOGIN_WRONG};
    if (a->store && cw_credentials_parse(header, &credentials))
        login = login_with(al, &credentials, w);
    cw_credentials_wipe(&credentials);
    return login;
}

void cw_login_cancel(cw_login_waiter *w)
{
    cw_list_remove(&w->node);
}
