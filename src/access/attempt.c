/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attempt.c - one login: store, pool, store. Nothing here runs on a loop but new, start and free.
 */
#include <stdlib.h>

#include "access/accounts_int.h"
#include "base/clock.h"

#define ATTEMPT_MAX_BYTES 65536u

static cw_attempt *of_job(cw_store_job *job)
{
    return CW_CONTAINER(job, cw_attempt, job);
}

static cw_str name_of(const cw_attempt *t)
{
    return cw_str_make(t->credentials.name, t->credentials.n_name);
}

/* How long whoever tries must wait, in seconds; 0: not at all. */
static uint32_t wait_of(cw_attempt *t)
{
    uint64_t now = cw_clock_ms();
    uint64_t account = cw_throttle_wait(&t->accounts->by_account, name_of(t), now);
    uint64_t address = cw_throttle_wait(&t->accounts->by_address, cw_str_from(t->peer), now);
    return (uint32_t)(((account > address ? account : address) + 999) / 1000);
}

/* ---- passwords ---- */

static void look(cw_attempt *t);

static void fail_login(cw_attempt *t)
{
    uint64_t now = cw_clock_ms();
    cw_throttle_fail(&t->accounts->by_account, name_of(t), now);
    cw_throttle_fail(&t->accounts->by_address, cw_str_from(t->peer), now);
    cw_attempt_finish(t, CW_LOGIN_WRONG);
}

static void verify(cw_work *work, bool is_ending)
{
    cw_attempt *t = CW_CONTAINER(work, cw_attempt, work);
    bool is_right = false;
    /* Failures of others that waited in front of this one count. */
    t->retry_s = is_ending ? 0 : wait_of(t);
    if (is_ending || t->retry_s) {
        cw_attempt_finish(t, is_ending ? CW_LOGIN_UNAVAILABLE : CW_LOGIN_TOO_MANY);
        return;
    }
    cw_str password = cw_str_make(t->credentials.password, t->credentials.n_password);
    if (cw_password_verify(t->hash, password, &is_right)) {
        cw_attempt_finish(t, CW_LOGIN_UNAVAILABLE);
        return;
    }
    if (!is_right || !t->account) {
        fail_login(t);
        return;
    }
    cw_throttle_forget(&t->accounts->by_account, name_of(t));
    t->has_proof = true;
    look(t);
}

/* The account as it is now and, when it is proved that the password satisfies its hash, what it may
 * do. The way through the pool can be long: what was read before it does not count. */
static cw_code find_account(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_attempt *t = of_job(job);
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
    rc = cw_gather_caller(t->accounts, db, t->account, /* token= */ NULL, /* session= */ NULL,
                          &t->caller, err);
    return rc || t->kind != CW_ATTEMPT_OPEN ? rc : cw_session_make(t, db, err);
}

static void on_account(cw_store_job *job, cw_code rc)
{
    cw_attempt *t = of_job(job);
    if (rc || t->caller) {
        cw_attempt_finish(t, rc ? CW_LOGIN_UNAVAILABLE : CW_LOGIN_OK);
        return;
    }
    t->work.run = verify;
    if (cw_workers_ask(t->accounts->workers, &t->work)) {
        t->retry_s = 1;
        cw_attempt_finish(t, CW_LOGIN_TOO_MANY);
    }
}

/* Read it again. */
static void look(cw_attempt *t)
{
    t->job.run = find_account;
    t->job.done = on_account;
    if (cw_store_ask(t->accounts->store, &t->job))
        cw_attempt_finish(t, CW_LOGIN_UNAVAILABLE);
}

/* ---- tokens ---- */

static cw_code find_token(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_attempt *t = of_job(job);
    const unsigned char *digest = t->credentials.token;
    cw_code rc = cw_db_find_token(db, digest, &t->arena, &t->token, &t->account, err);
    if (rc || !t->token)
        return rc;
    const cw_token *token = t->token;
    bool is_good = cw_secret_equal(token->hash, digest) && !token->revoked &&
                   (token->expires == 0 || cw_clock_wall_ms() < token->expires) &&
                   !t->account->is_blocked;
    if (is_good)
        return cw_gather_caller(t->accounts, db, t->account, token, /* session= */ NULL, &t->caller,
                                err);
    return CW_OK;
}

static void on_token(cw_store_job *job, cw_code rc)
{
    cw_attempt *t = of_job(job);
    cw_login_status found = t->caller ? CW_LOGIN_OK : CW_LOGIN_WRONG;
    cw_attempt_finish(t, rc ? CW_LOGIN_UNAVAILABLE : found);
}

/* ---- on the loop ---- */

cw_attempt *cw_attempt_new(cw_accounts_loop *al, cw_credentials *credentials, cw_str peer)
{
    cw_attempt *t = calloc(1, sizeof *t);
    if (t) {
        t->accounts = al->accounts;
        t->al = al;
        t->waiters.prev = t->waiters.next = &t->waiters;
        t->credentials = *credentials;
        size_t n = peer.n < sizeof t->peer ? peer.n : sizeof t->peer - 1;
        memcpy(t->peer, peer.p, n);
        cw_arena_init(&t->arena, ATTEMPT_MAX_BYTES);
    }
    cw_credentials_wipe(credentials);
    return t;
}

void cw_attempt_free(cw_attempt *t)
{
    cw_credentials_wipe(&t->credentials);
    memset(t->session, 0, sizeof t->session);
    cw_caller_unref(t->caller);
    cw_issued_done(&t->issued);
    cw_arena_done(&t->arena);
    free(t);
}

cw_code cw_attempt_start(cw_attempt *t)
{
    bool is_token = t->credentials.kind == CW_CREDENTIALS_TOKEN;
    t->job.run = is_token ? find_token : find_account;
    t->job.done = is_token ? on_token : on_account;
    if (t->kind == CW_ATTEMPT_RESUME) {
        t->job.run = cw_session_find;
        t->job.done = cw_session_on_found;
    } else if (t->kind == CW_ATTEMPT_END) {
        t->job.run = cw_session_remove;
        t->job.done = cw_session_on_removed;
    } else if (t->kind == CW_ATTEMPT_CHECK) {
        t->job.run = cw_session_check;
        t->job.done = cw_session_on_checked;
    }
    return cw_store_ask(t->accounts->store, &t->job);
}
