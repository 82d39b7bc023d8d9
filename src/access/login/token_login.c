/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token_login.c - logging in with a token of an issuer.
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
#include <stdlib.h>

#include "access/login/login_int.h"
#include "base/log.h"

/* Parsed three times at most: on the loop, and before and after the issuer was asked. */
#define ISSUED_MAX_BYTES (3 * CW_JWT_MEMORY + 65536u)
/* A caller in memory beside its texts, for the ceiling of the cache. */
#define CALLER_BYTES 1024u

static cw_login_op *of_job(cw_store_job *job)
{
    return CW_CONTAINER(job, cw_login_op, job);
}

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

/* ---- whose it is ---- */

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

/* ---- the signature ---- */

static cw_code check(cw_login_op *t);

static void finish(cw_login_op *t, cw_code rc, const cw_err *err)
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

static void reject(cw_login_op *t)
{
    t->retry_s = 1;
    cw_login_op_finish(t, CW_LOGIN_TOO_MANY);
}

static void verify(cw_hash_job *work, cw_hash_job_outcome fate)
{
    cw_login_op *t = CW_CONTAINER(work, cw_login_op, work);
    cw_err err = {0};
    if (fate == CW_HASH_JOB_REJECTED) {
        reject(t);
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
        if (check(t))
            cw_login_op_finish(t, CW_LOGIN_UNAVAILABLE);
        return;
    }
    if (!rc)
        rc = find_caller(t, &err);
    if (rc != CW_AGAIN)
        finish(t, rc, &err);
}

/* CW_LIMIT: too many wait. */
static cw_code queue_verify(cw_login_op *t)
{
    t->work.run = verify;
    return cw_hash_pool_ask(t->accounts->verifiers, &t->work);
}

/* ---- the issuer is asked ---- */

static void on_checked(cw_token_check *check, cw_code rc)
{
    cw_login_op *t = CW_CONTAINER(check, cw_login_op, check);
    cw_err err = {.msg = "its issuer does not recognize it"};
    t->issued = check->issued;
    check->issued = (cw_verified_token){0};
    if (rc == CW_AGAIN) {
        if (queue_verify(t))
            reject(t);
        return;
    }
    /* Each one that was made up costs its issuer a request. */
    if (rc == CW_INVALID && t->is_opaque)
        record_invalid(t);
    if (!rc)
        rc = find_caller(t, &err);
    if (rc != CW_AGAIN)
        finish(t, rc, &err);
}

static cw_code check(cw_login_op *t)
{
    t->is_opaque = !t->issued.issuer;
    cw_verified_token_done(&t->issued);
    t->check = (cw_token_check){.token = t->check.token,
                                .network = t->work.network,
                                .arena = &t->arena,
                                .done = on_checked};
    return cw_issuers_start_check(t->accounts->issuers, &t->check);
}

/* ---- on the loop ---- */

static cw_cache_time now_of(const cw_accounts_loop *al, uint64_t generation)
{
    return (cw_cache_time){generation, cw_loop_now(al->loop), cw_clock_wall_ms()};
}

static void unref_caller(void *caller)
{
    cw_caller_unref(caller);
}

static bool has_cache(cw_accounts_loop *al)
{
    cw_token_cache_opts opts = {.max_entries = al->accounts->tokens, .unref = unref_caller};
    return al->tokens || !cw_token_cache_new(&opts, &al->tokens, NULL);
}

void cw_token_login_finish(cw_accounts_loop *al, cw_login_op *t, bool is_notified)
{
    /* The loop ends, and the attempt comes after its memory has gone. */
    if (!al->tokens)
        return;
    static const unsigned char no_hash[CW_DIGEST];
    cw_cache_time now = now_of(al, t->generation);
    if (t->status == CW_LOGIN_OK)
        cw_recent_logins_add(&al->accounts->verified, t->key, no_hash);
    void *before = cw_token_cache_peek(al->tokens, t->key);
    if (t->status == CW_LOGIN_OK && before)
        cw_login_op_keep_caller(t, before);
    if (t->status == CW_LOGIN_OK && is_notified)
        cw_token_cache_add(al->tokens, t->key, &now, cw_caller_ref(t->caller),
                           CALLER_BYTES + cw_caller_json(t->caller).n * 2,
                           t->issued.jwt.expires_ms);
    else if (t->status == CW_LOGIN_WRONG)
        cw_token_cache_refuse(al->tokens, t->key, &now);
}

static cw_login_op *new_attempt(cw_accounts_loop *al, cw_str token,
                                const unsigned char key[CW_DIGEST], const cw_network *network)
{
    cw_login_op *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->accounts = al->accounts;
    t->al = al;
    t->is_issued = true;
    t->waiters.prev = t->waiters.next = &t->waiters;
    t->generation = cw_accounts_generation(al->accounts, /* with_issuers= */ true);
    memcpy(t->key, key, CW_DIGEST);
    t->work.network = *network;
    cw_arena_init(&t->arena, ISSUED_MAX_BYTES);
    t->check.token = cw_arena_dup_str(&t->arena, token);
    if (t->check.token.p)
        return t;
    cw_login_op_free(t);
    return NULL;
}

/* A refusal that needs no signature check. */
static cw_login refuse_now(cw_accounts_loop *al, cw_login_op *t, cw_code rc)
{
    t->status = status_of(rc);
    cw_token_login_finish(al, t, /* is_notified= */ true);
    cw_login login = {.status = t->status};
    cw_login_op_free(t);
    return login;
}

/* Ask the issuer, or have the signature checked. */
static cw_login begin(cw_accounts_loop *al, cw_login_op *t, cw_login_waiter *w)
{
    cw_err err = {0};
    cw_code rc =
        cw_issuers_find(al->accounts->issuers, t->check.token, &t->arena, &t->issued, &err);
    if (rc == CW_INVALID)
        log_reason(&err);
    if (rc && rc != CW_AGAIN)
        return refuse_now(al, t, rc);
    /* From here on others may end it before we are back. */
    cw_login_op_link(t, w);
    bool is_checking = rc == CW_AGAIN;
    rc = is_checking ? check(t) : queue_verify(t);
    if (!rc)
        return (cw_login){.status = CW_LOGIN_PENDING};
    cw_login_op_unlink(t, w);
    if (is_checking)
        return refuse_now(al, t, rc);
    cw_login_op_free(t);
    return cw_login_after(1);
}

cw_login cw_token_login_start(cw_accounts_loop *al, cw_str token, cw_login_waiter *w)
{
    const cw_login unavailable = {.status = CW_LOGIN_UNAVAILABLE};
    unsigned char key[CW_DIGEST];
    void *caller = NULL;
    if (!has_cache(al))
        return unavailable;
    cw_secret_tag(token, key);
    cw_cache_time now = now_of(al, cw_accounts_generation(al->accounts, /* with_issuers= */ true));
    switch (cw_token_cache_find(al->tokens, key, &now, &caller)) {
    case CW_TOKEN_GOOD:
        return (cw_login){.status = CW_LOGIN_OK, .caller = caller, .is_remembered = true};
    case CW_TOKEN_BAD:
        return (cw_login){.status = CW_LOGIN_WRONG};
    case CW_TOKEN_UNKNOWN:
        break;
    }
    /* Not before: looking at every character of one that is known costs as much as its digest. */
    if (!cw_issuer_may_be_token(token))
        return (cw_login){.status = CW_LOGIN_WRONG};
    cw_login_op *same = cw_login_op_find(al, key);
    if (same) {
        cw_login_op_wait(same, w);
        return (cw_login){.status = CW_LOGIN_PENDING};
    }
    cw_network network;
    unsigned char unused[CW_DIGEST];
    cw_login_waiter_networks(w, &network);
    /* A token that was good before does not wait because others make some up. */
    bool was_good = cw_recent_logins_find(&al->accounts->verified, key, unused);
    uint64_t wait = was_good ? 0
                             : cw_network_throttle_wait(&al->accounts->tokens_made_up, &network,
                                                        /* only_narrowest= */ false, cw_clock_ms());
    if (wait)
        return cw_login_after(wait);
    cw_login_op *t = new_attempt(al, token, key, &network);
    return t ? begin(al, t, w) : unavailable;
}
