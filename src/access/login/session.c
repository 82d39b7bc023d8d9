/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session.c - browser sessions: secrets, rows of the database, operations of a loop. */
#include "access/login/session.h"

#include <sodium.h>

#include "access/login/login_int.h"
#include "base/clock.h"
#include "base/random.h"

#define SECRET_BYTES 32u
#define PROOF_PREFIX CW_STR("causeway session proof\n")

static cw_login_op *of_job(cw_store_job *job)
{
    return CW_CONTAINER(job, cw_login_op, job);
}

cw_session_rules cw_session_rules_of(cw_accounts *a)
{
    pthread_mutex_lock(&a->lock);
    cw_session_rules rules = a->sessions;
    pthread_mutex_unlock(&a->lock);
    return rules;
}

/* ---- secrets ---- */

static void digest_secret(cw_str secret, unsigned char out[CW_DIGEST])
{
    crypto_hash_sha256(out, (const unsigned char *)secret.p, secret.n);
}

static void encode(const unsigned char bytes[SECRET_BYTES], char out[CW_SESSION_LEN + 1])
{
    sodium_bin2base64(out, CW_SESSION_LEN + 1, bytes, SECRET_BYTES,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

cw_code cw_session_secret(char out[CW_SESSION_LEN + 1], cw_err *err)
{
    unsigned char bytes[SECRET_BYTES];
    cw_code rc = cw_random_bytes(bytes, sizeof bytes, err);
    if (rc)
        return rc;
    encode(bytes, out);
    sodium_memzero(bytes, sizeof bytes);
    return CW_OK;
}

bool cw_session_is_secret(cw_str text)
{
    unsigned char bytes[SECRET_BYTES];
    size_t n = 0;
    bool is_good = text.n == CW_SESSION_LEN &&
                   !sodium_base642bin(bytes, sizeof bytes, text.p, text.n, NULL, &n, NULL,
                                      sodium_base64_VARIANT_URLSAFE_NO_PADDING) &&
                   n == sizeof bytes;
    sodium_memzero(bytes, sizeof bytes);
    return is_good;
}

void cw_session_csrf_token(cw_str secret, char out[CW_SESSION_LEN + 1])
{
    _Static_assert(CW_DIGEST == SECRET_BYTES, "proofs are as long as secrets");
    unsigned char digest[CW_DIGEST];
    crypto_hash_sha256_state state;
    cw_str prefix = PROOF_PREFIX;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const unsigned char *)prefix.p, prefix.n);
    crypto_hash_sha256_update(&state, (const unsigned char *)secret.p, secret.n);
    crypto_hash_sha256_final(&state, digest);
    encode(digest, out);
}

bool cw_session_csrf_matches(cw_str secret, cw_str proof)
{
    char own[CW_SESSION_LEN + 1];
    cw_session_csrf_token(secret, own);
    return proof.n == CW_SESSION_LEN && sodium_memcmp(own, proof.p, CW_SESSION_LEN) == 0;
}

/* ---- on the store's thread ---- */

/* A database that can be read but not written is of use for all else: that is no failure of it. */
static cw_code as_failure(cw_code rc)
{
    return rc == CW_IO || rc == CW_TIMEOUT ? CW_LIMIT : rc;
}

cw_code cw_session_make(cw_login_op *t, cw_db *db, cw_err *err)
{
    cw_session_rules rules = cw_session_rules_of(t->accounts);
    cw_session row = {.account = t->account->id, .created = cw_clock_wall_ms()};
    char secret[CW_SESSION_LEN + 1] = "";
    cw_code rc = cw_session_secret(secret, err);
    digest_secret(cw_str_make(secret, CW_SESSION_LEN), row.hash);
    if (!rc)
        rc = cw_db_add_session(db, &row, cw_str_from(t->hash), &rules,
                               t->has_replaced ? t->replaced : NULL, err);
    if (!rc) {
        memcpy(t->session, secret, sizeof secret);
        atomic_fetch_add(&t->accounts->n_ended, 1);
    } else {
        cw_caller_unref(t->caller);
        t->caller = NULL;
    }
    sodium_memzero(secret, sizeof secret);
    /* The password was changed a moment ago: it is read again. */
    return rc == CW_NOTFOUND ? CW_OK : as_failure(rc);
}

static int64_t end_of(const cw_session *session, const cw_session_rules *rules)
{
    int64_t end = session->created + (int64_t)rules->lifetime_ms;
    int64_t unused = session->used + (int64_t)rules->idle_ms;
    return end < unused ? end : unused;
}

cw_code cw_session_read(cw_accounts *a, cw_db *db, const unsigned char digest[CW_DIGEST],
                        cw_arena *arena, cw_session_state *ret_session, cw_caller **ret,
                        cw_err *err)
{
    cw_session_rules rules = cw_session_rules_of(a);
    cw_session *session;
    cw_account *account;
    cw_code rc = cw_db_find_session(db, digest, arena, &session, &account, err);
    if (rc || !session)
        return rc;
    int64_t end = end_of(session, &rules);
    bool is_good = cw_session_is_on(a) && cw_secret_equal(session->hash, digest) &&
                   cw_clock_wall_ms() < end && !account->is_blocked;
    if (!is_good)
        return CW_OK;
    *ret_session = (cw_session_state){session->id, session->created, session->used, end};
    cw_account_login login = {.account = account, .session = session};
    return cw_permissions_of_account(a, db, &login, ret, err);
}

static cw_code find_session(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_login_op *t = of_job(job);
    cw_session_rules rules = cw_session_rules_of(t->accounts);
    cw_session_state session = {0};
    cw_code rc = cw_session_read(t->accounts, db, t->credentials.token, &t->arena, &session,
                                 &t->caller, err);
    if (rc || !t->caller)
        return rc;
    int64_t now = cw_clock_wall_ms(), idle = (int64_t)rules.idle_ms;
    bool is_due = now - session.used >= idle / CW_SESSION_TOUCHES || now < session.used;
    if (is_due && !t->is_peek) {
        /* Without it the session ends early, which is better than an error. */
        (void)!cw_db_touch_session(db, session.id, now, NULL);
        session.used = now;
    }
    /* Read again when its use has to be recorded the next time. */
    int64_t next = session.used + idle / CW_SESSION_TOUCHES;
    int64_t end = session.created + (int64_t)rules.lifetime_ms;
    t->expires = next < end ? next : end;
    return CW_OK;
}

static void on_found(cw_store_job *job, cw_code rc)
{
    cw_login_op *t = of_job(job);
    cw_login_status found = t->caller ? CW_LOGIN_OK : CW_LOGIN_WRONG;
    cw_login_op_finish(t, rc ? CW_LOGIN_UNAVAILABLE : found);
}

static cw_code remove_session(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_login_op *t = of_job(job);
    cw_code rc = cw_db_end_session(db, t->credentials.token, err);
    t->is_absent = rc == CW_DONE;
    return t->is_absent ? CW_OK : as_failure(rc);
}

/* A session that does not exist ends no other: with made-up ones, a client could otherwise keep all sessions
 * from being cached and all their streams from being confirmed. */
static void on_removed(cw_store_job *job, cw_code rc)
{
    cw_login_op *t = of_job(job);
    if (!t->is_absent)
        atomic_fetch_add(&t->accounts->n_ended, 1);
    cw_login_op_finish(t, rc ? CW_LOGIN_UNAVAILABLE : CW_LOGIN_OK);
}

/* ---- on the loop ---- */

bool cw_session_is_on(const cw_accounts *a)
{
    return atomic_load(&a->has_sessions);
}

static cw_login_op *new_op(cw_accounts_loop *al, cw_credentials *credentials, cw_login_op_kind kind,
                           cw_login_waiter *w)
{
    cw_login_op *t = cw_login_op_new(al, credentials, w);
    if (!t)
        return NULL;
    t->kind = kind;
    if (kind == CW_LOGIN_OP_OPEN) {
        cw_login_op_set_job(t);
        return t;
    }
    bool is_end = kind == CW_LOGIN_OP_END;
    t->job.run = is_end ? remove_session : find_session;
    t->job.done = is_end ? on_removed : on_found;
    return t;
}

static cw_login begin(cw_login_op *t, cw_login_waiter *w)
{
    return t ? cw_login_op_begin(t, w) : (cw_login){.status = CW_LOGIN_UNAVAILABLE};
}

/* False: no account can have this name or this password. */
static bool fill(cw_credentials *c, cw_str name, cw_str password)
{
    if (!cw_account_name_is_valid(name) || password.n > sizeof c->password)
        return false;
    *c = (cw_credentials){.kind = CW_CREDENTIALS_PASSWORD};
    memcpy(c->name, name.p, name.n);
    if (password.n)
        memcpy(c->password, password.p, password.n);
    c->n_name = name.n;
    c->n_password = password.n;
    return true;
}

cw_login cw_session_forged(cw_accounts *a, cw_login_waiter *w)
{
    cw_network network;
    uint64_t now = cw_clock_ms();
    cw_network_of(w->peer(w), &network);
    uint64_t wait =
        cw_network_throttle_wait(&a->guesses, &network, /* only_narrowest= */ false, now);
    if (wait)
        return (cw_login){.status = CW_LOGIN_TOO_MANY, .retry_s = (uint32_t)((wait + 999) / 1000)};
    cw_network_throttle_fail(&a->guesses, &network, now);
    return (cw_login){.status = CW_LOGIN_WRONG};
}

cw_login cw_session_open(cw_accounts *a, cw_loop *loop, cw_str name, cw_str password,
                         cw_str replaced, cw_login_waiter *w)
{
    cw_credentials credentials;
    cw_accounts_loop *al = cw_accounts_at(a, loop);
    if (!al)
        return (cw_login){.status = CW_LOGIN_UNAVAILABLE};
    if (!cw_session_is_on(a) || !fill(&credentials, name, password))
        return (cw_login){.status = CW_LOGIN_WRONG};
    cw_login login = cw_login_op_throttled(a, &credentials, w);
    if (login.status != CW_LOGIN_PENDING) {
        cw_credentials_wipe(&credentials);
        return login;
    }
    cw_login_op *t = new_op(al, &credentials, CW_LOGIN_OP_OPEN, w);
    if (t && cw_session_is_secret(replaced)) {
        t->has_replaced = true;
        digest_secret(replaced, t->replaced);
    }
    return begin(t, w);
}

/* A line break keeps it apart from the digests of credentials, which begin with their kind. */
static void make_key(cw_str session, unsigned char key[CW_DIGEST])
{
    char text[1 + CW_SESSION_LEN] = "\n";
    memcpy(text + 1, session.p, CW_SESSION_LEN);
    cw_secret_digest(cw_str_make(text, sizeof text), key);
    sodium_memzero(text, sizeof text);
}

static void set_token(cw_credentials *c, cw_str session)
{
    *c = (cw_credentials){.kind = CW_CREDENTIALS_TOKEN};
    digest_secret(session, c->token);
}

static cw_login resume(cw_accounts *a, cw_loop *loop, cw_str session, bool is_peek,
                       cw_login_waiter *w)
{
    unsigned char key[CW_DIGEST];
    cw_credentials credentials;
    cw_accounts_loop *al = cw_accounts_at(a, loop);
    if (!al)
        return (cw_login){.status = CW_LOGIN_UNAVAILABLE};
    if (!cw_session_is_on(a) || !cw_session_is_secret(session))
        return (cw_login){.status = CW_LOGIN_WRONG};
    make_key(session, key);
    cw_caller *cached = cw_login_cache_caller(al, key);
    if (cached)
        return (cw_login){.status = CW_LOGIN_OK, .caller = cached, .is_remembered = true};
    cw_login_op *same = cw_login_op_find(al, key);
    /* One that began before a session was ended may have found it still there. */
    if (same && same->ended == atomic_load(&a->n_ended) && (is_peek || !same->is_peek)) {
        cw_login_op_wait(same, w);
        return (cw_login){.status = CW_LOGIN_PENDING};
    }
    set_token(&credentials, session);
    cw_login_op *t = new_op(al, &credentials, CW_LOGIN_OP_RESUME, w);
    if (t) {
        memcpy(t->key, key, sizeof key);
        t->is_peek = is_peek;
    }
    return begin(t, w);
}

cw_login cw_session_resume(cw_accounts *a, cw_loop *loop, cw_str session, cw_login_waiter *w)
{
    return resume(a, loop, session, /* is_peek= */ false, w);
}

cw_login cw_session_peek(cw_accounts *a, cw_loop *loop, cw_str session, cw_login_waiter *w)
{
    return resume(a, loop, session, /* is_peek= */ true, w);
}

cw_login cw_session_end(cw_accounts *a, cw_loop *loop, cw_str session, cw_login_waiter *w)
{
    cw_credentials credentials;
    cw_accounts_loop *al = cw_accounts_at(a, loop);
    if (!al)
        return (cw_login){.status = CW_LOGIN_UNAVAILABLE};
    if (!cw_session_is_on(a) || !cw_session_is_secret(session))
        return (cw_login){.status = CW_LOGIN_OK};
    set_token(&credentials, session);
    return begin(new_op(al, &credentials, CW_LOGIN_OP_END, w), w);
}
