/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts.h - from credentials to a caller.
 *
 * A loop remembers for a minute whose credentials it has verified; everybody else is
 * looked up by the store's thread and, with a password, verified by a small pool.
 *
 *     loop: header ─► seen before? ──yes──► caller, at once
 *               │no
 *               ▼
 *     store: the account, or the token ──► pool: Argon2id ──► store: its permissions
 *                                                                   │
 *     loop: remember, tell whoever waits ◄───────────────────────────┘
 *
 * A loop remembers a keyed digest of the parsed credentials. When the database has changed
 * (cw_store_generation) or the minute is over, the account is read again; only when its
 * password is no longer the same, is it hashed again, on whatever loop (recent_logins.h). Equal
 * credentials that come while they are being verified wait for the same answer.
 *
 * A bearer token that is not of our own form is one of an issuer (access/issuer/issuer.h): a
 * thread checks its signature. The main loop asks the issuer for keys, or about an opaque token.
 * Then it acts for an account, or by its claims alone; a loop remembers both outcomes
 * (access/issuer/token_cache.h).
 *
 * Both pools of threads serve networks in turn (hash_pool.h), so that a login waits at most for
 * those of its own network and one of each other.
 *
 * Passwords that fail are counted by account and by network (throttle.h). An account has a
 * counter of its own in each network that it logged in from. Unknown accounts, blocked ones and
 * wrong passwords take as long and end the same.
 *
 * Ownership: a waiter belongs to its request and is cancelled when that goes.
 * Threads:   new, set_roles and free on the main thread; login and cancel on the loop.
 * Limits:    CW_ACCOUNTS_REMEMBERED credentials per loop; CW_ACCOUNTS_MAX_HASHES and
 *            CW_ACCOUNTS_MAX_SIGNATURES waiting for the threads.
 */
#ifndef CW_ACCESS_LOGIN_ACCOUNTS_H
#define CW_ACCESS_LOGIN_ACCOUNTS_H

#include "access/caller.h"
#include "access/issuer/issuer.h"
#include "access/roles.h"
#include "net/loop/loop.h"
#include "store/store.h"

#define CW_ACCOUNTS_REMEMBERED 1024u
#define CW_ACCOUNTS_REMEMBER_MS 60000u
#define CW_ACCOUNTS_MAX_HASHES 64u
#define CW_ACCOUNTS_MAX_SIGNATURES 64u
#define CW_ACCOUNTS_HASH_THREADS 2u
#define CW_ACCOUNTS_FREE_FAILURES 5u /* of one account */
#define CW_ACCOUNTS_FREE_GUESSES 20u /* of one network, over all accounts */
#define CW_ACCOUNTS_FREE_TOKENS                                                                    \
    100u /* made up in one network: unknown, or with a wrong signature */

typedef struct cw_accounts cw_accounts;

typedef struct cw_accounts_opts {
    const char *path; /* of the database; NULL or empty: none, only issuers count */
    unsigned n_loops;
    uint32_t tokens; /* of issuers that a loop remembers; 0: CW_TOKENS_REMEMBERED */
    /* As in store.h, on the store's thread. */
    void (*on_status)(void *ctx, const cw_err *err);
    void (*on_change)(void *ctx);
    void *ctx;
} cw_accounts_opts;

CW_MUST_USE cw_code cw_accounts_new(const cw_accounts_opts *opts, cw_accounts **ret, cw_err *err);
/* After the loops have ended. NULL is fine. */
void cw_accounts_free(cw_accounts *a);
/* The roles of the configuration, from now on. A reference is taken. */
void cw_accounts_set_roles(cw_accounts *a, cw_roles *roles);
/* Whose tokens are taken, before the loops start; borrowed. */
void cw_accounts_set_issuers(cw_accounts *a, cw_issuers *issuers);
/* Whether any issuer's tokens are taken now. */
bool cw_accounts_has_issuers(const cw_accounts *a);
/* How long sessions last and how many an account may have, from now on (session.h). Without this,
 * and without a database, there are none. */
void cw_accounts_set_sessions(cw_accounts *a, const cw_session_rules *rules);
/* The store behind it, for other jobs; lives as long. NULL: there is none. */
cw_store *cw_accounts_store(cw_accounts *a);

typedef enum cw_login_status {
    CW_LOGIN_OK,
    CW_LOGIN_WRONG,
    CW_LOGIN_TOO_MANY,    /* failures, or logins at once */
    CW_LOGIN_UNAVAILABLE, /* no database, no memory */
    CW_LOGIN_PENDING,     /* the waiter will be told */
} cw_login_status;

typedef struct cw_login {
    cw_login_status status;
    uint32_t retry_s;  /* TOO_MANY: for how many seconds nothing is tried */
    cw_caller *caller; /* OK: borrowed, until the callback returns */
    /* OK: somebody else was told when these credentials were verified. So each verification is told
     * once without it, and what nobody was told of is not remembered. */
    bool is_remembered;
    const char *session; /* OK of cw_session_open: its secret, borrowed likewise */
} cw_login;

typedef struct cw_login_waiter {
    struct cw_login_waiter *prev, *next;       /* NULL: does not wait */
    cw_str (*peer)(struct cw_login_waiter *w); /* the address; asked for only when it is needed */
    void (*fn)(struct cw_login_waiter *w, const cw_login *login);
} cw_login_waiter;

/* Who shows this Authorization header. `w` waits only when this returns PENDING. */
cw_login cw_accounts_login(cw_accounts *a, cw_loop *loop, cw_str header, cw_login_waiter *w);
/* Wait no longer. Fine for one that does not wait. */
void cw_login_cancel(cw_login_waiter *w);

/* The anonymous caller with what its role may do by configuration and database. `fn` is called once
 * on the store's thread; without a database it gets NULL. CW_LIMIT, CW_NOMEM: it is not called. */
typedef void (*cw_anonymous_fn)(cw_caller *caller, void *ctx);
CW_MUST_USE cw_code cw_accounts_read_anonymous(cw_accounts *a, cw_anonymous_fn fn, void *ctx);
/* The same for an account, without its password: for whoever may read the database. NULL also when
 * there is no such account or it is blocked. `name` must live until then. */
CW_MUST_USE cw_code cw_accounts_read_account(cw_accounts *a, cw_str name, cw_anonymous_fn fn,
                                             void *ctx);

#endif
