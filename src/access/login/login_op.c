/* SPDX-License-Identifier: GPL-2.0-or-later */
/* login_op.c - one login: store, pool, store. Nothing here runs on a loop but new, start and free.
 */
#include <stdlib.h>

#include "access/login/login_int.h"
#include "base/clock.h"

#define ATTEMPT_MAX_BYTES 65536u

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

uint64_t cw_login_op_wait_ms(cw_accounts *a, cw_str account, const cw_network *network)
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
    uint64_t wait = fate == CW_HASH_JOB_REJECTED
                        ? 1
                        : cw_login_op_wait_ms(t->accounts, name_of(t), &t->work.network);
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

/* ---- on the loop ---- */

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

cw_code cw_login_op_start(cw_login_op *t)
{
    bool is_token = t->credentials.kind == CW_CREDENTIALS_TOKEN;
    t->job.run = is_token ? find_token : find_account;
    t->job.done = is_token ? on_token : on_account;
    if (t->kind == CW_LOGIN_OP_RESUME) {
        t->job.run = cw_session_find;
        t->job.done = cw_session_on_found;
    } else if (t->kind == CW_LOGIN_OP_END) {
        t->job.run = cw_session_remove;
        t->job.done = cw_session_on_removed;
    } else if (t->kind == CW_LOGIN_OP_CHECK) {
        t->job.run = cw_login_watches_check;
        t->job.done = cw_login_watches_on_checked;
    }
    return cw_store_ask(t->accounts->store, &t->job);
}
