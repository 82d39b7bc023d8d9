/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts.h - authentication: from credentials to a caller.
 *
 * Each loop caches verified credentials for a minute. The store's thread looks up all others, and a
 * small pool verifies passwords.
 *
 *     loop: header ─► in the cache? ──yes──► caller, at once
 *               │no
 *               ▼
 *     store: the account, or the token ──► pool: Argon2id ──► store: its permissions
 *                                                                   │
 *     loop: cache, call the waiters ◄───────────────────────────────┘
 *
 * The cache holds a keyed digest of the parsed credentials. After a change of the database
 * (cw_store_generation), and after the minute, the account is read again. Its password is hashed
 * again only if it has changed; all loops share that result (recent_logins.h). Equal credentials that
 * arrive during a verification wait for its result. A caller whose rights have not changed stays the
 * same object, because views are cached by its address.
 *
 * A bearer token without the prefix of this server belongs to an issuer (access/issuer/issuer.h). A
 * thread checks its signature; the main loop fetches keys, or introspects an opaque token. The token
 * acts for an account, or by its claims alone. Each loop caches the result
 * (access/issuer/token_cache.h).
 *
 * Both pools serve networks in turn (hash_pool.h). A login waits for the logins of its own network,
 * and for one of each other network.
 *
 * Failures are counted by account and by network (throttle.h). An account has a separate counter for
 * each network from which it has logged in. Unknown accounts, blocked accounts and wrong passwords
 * take the same time and get the same result.
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
#include "access/login/hash_pool.h"
#include "access/oauth/settings.h"
#include "access/roles.h"
#include "json/write.h"
#include "net/loop/loop.h"
#include "store/store.h"

#define CW_ACCOUNTS_REMEMBERED 1024u
#define CW_ACCOUNTS_REMEMBER_MS 60000u
#define CW_ACCOUNTS_MAX_HASHES 64u
#define CW_ACCOUNTS_MAX_SIGNATURES 64u
#define CW_ACCOUNTS_HASH_THREADS 2u
#define CW_ACCOUNTS_FREE_FAILURES 5u         /* of one account */
#define CW_ACCOUNTS_FREE_GUESSES 20u         /* of one network, over all accounts */
#define CW_ACCOUNTS_FREE_TOKEN_REQUESTS 100u /* failed ones of one client in one network */
#define CW_ACCOUNTS_FREE_USER_CODES 5u       /* wrong ones of devices, of an account or a network */
#define CW_ACCOUNTS_DEVICES_PER_MINUTE 60u   /* that begin a login in a network */
#define CW_ACCOUNTS_DEVICES_AROUND 240u      /* in an IPv6 /48; fewer than may wait */
#define CW_ACCOUNTS_KEYS_PER_MINUTE 120u     /* requests of a network for the public keys */
#define CW_ACCOUNTS_FREE_TOKENS                                                                    \
    100u /* invalid ones of one network: unknown, or with a wrong signature */

typedef struct cw_accounts cw_accounts;
typedef struct cw_accounts_loop cw_accounts_loop;

typedef struct cw_accounts_opts {
    cw_db_opts db; /* as in store.h; `where` is NULL or empty: none, only issuers */
    unsigned n_loops;
    uint32_t tokens; /* of issuers in the cache of a loop; 0: CW_TOKENS_REMEMBERED */
    /* As in store.h, on the store's thread. */
    void (*on_status)(void *ctx, const cw_err *err);
    void (*on_change)(void *ctx);
    bool (*on_news)(void *ctx, cw_db *db, bool is_new);
    void *ctx;
    const char *listen_url;
} cw_accounts_opts;

CW_MUST_USE cw_code cw_accounts_new(const cw_accounts_opts *opts, cw_accounts **ret, cw_err *err);
/* After the loops have ended. NULL is fine. */
void cw_accounts_free(cw_accounts *a);
/* Use these roles of the configuration from now on. Takes a reference. Equal roles change nothing. */
void cw_accounts_set_roles(cw_accounts *a, cw_roles *roles);
/* The issuers whose tokens are accepted; borrowed. Call it before the loops start. */
void cw_accounts_set_issuers(cw_accounts *a, cw_issuers *issuers);
/* Whether tokens of any issuer are accepted now. */
bool cw_accounts_has_issuers(const cw_accounts *a);
/* As of cw_issuers_find_trust and cw_issuers_generation, on any thread; without issuers CW_NOTFOUND and 0. */
CW_MUST_USE cw_code cw_accounts_find_trust(cw_accounts *a, const unsigned char issuer[CW_TRUST_ID],
                                           const unsigned char *key, cw_trust **ret_issuer,
                                           cw_trust **ret_key);
uint64_t cw_accounts_issuer_generation(const cw_accounts *a);
/* Whether callers can log in now: with an account of the database, or with a token of an issuer. NULL
 * has neither. */
bool cw_accounts_has_logins(const cw_accounts *a);
/* Lifetime and number of sessions from now on (session.h). Without this, and without a database, no
 * session can be opened. */
void cw_accounts_set_sessions(cw_accounts *a, const cw_session_rules *rules);
/* The settings of the built-in authorization server from now on; NULL: it is off, and none of its tokens
 * is valid. Takes a reference. Needs a database. */
void cw_accounts_set_oauth(cw_accounts *a, cw_oauth_settings *settings);
/* A reference to them; NULL: it is off. */
cw_oauth_settings *cw_accounts_take_oauth(cw_accounts *a);
/* Whether it is on. */
bool cw_accounts_has_oauth(const cw_accounts *a);
/* Add an object with the failures that delay logins, for a process that takes over (throttle.h). */
void cw_accounts_write_failures(cw_accounts *a, cw_json_writer *w);
/* Count them as well. `failures` may be NULL or anything. */
void cw_accounts_read_failures(cw_accounts *a, const cw_json *failures);
/* The store, for other jobs; it lives as long. NULL: no database. */
cw_store *cw_accounts_store(cw_accounts *a);
/* Whether the database has been away for so long that no verification counts any more. From any thread. */
bool cw_accounts_is_away(const cw_accounts *a);
/* The part of this loop, on the loop; NULL without memory. It lives as long as the accounts. */
cw_accounts_loop *cw_accounts_at(cw_accounts *a, cw_loop *loop);
/* On any thread, for jobs of the store: post to the loop, or drop the message if the loop has ended. */
void cw_accounts_post(cw_accounts_loop *to, cw_message *message);
/* Hash a new password where those of logins are verified. All such jobs are one more network among
 * those that take turns. CW_LIMIT: too many wait, and `run` is not called.
 * Needs a database. */
CW_MUST_USE cw_code cw_accounts_hash(cw_accounts *a, cw_hash_job *job);

typedef enum cw_login_status {
    CW_LOGIN_OK,
    CW_LOGIN_WRONG,
    CW_LOGIN_TOO_MANY,    /* failures, or logins at once */
    CW_LOGIN_UNAVAILABLE, /* no database, no memory */
    CW_LOGIN_PENDING,     /* the waiter is called later */
} cw_login_status;

typedef struct cw_login {
    cw_login_status status;
    uint32_t retry_s;  /* TOO_MANY: the delay in seconds */
    cw_caller *caller; /* OK: borrowed, until the callback returns */
    /* OK: another waiter got the result of this verification. So each verification is reported once
     * without it. A result without a waiter is not cached. */
    bool is_remembered;
    const char *session; /* OK of cw_session_open: its secret, borrowed likewise */
} cw_login;

typedef struct cw_login_waiter {
    cw_list node;                              /* in no list: does not wait */
    cw_str (*peer)(struct cw_login_waiter *w); /* the address; called only if it is needed */
    void (*fn)(struct cw_login_waiter *w, const cw_login *login);
} cw_login_waiter;

/* Authenticate the value of an Authorization header. `w` waits only if this returns PENDING. */
cw_login cw_accounts_login(cw_accounts *a, cw_loop *loop, cw_str header, cw_login_waiter *w);
/* Stop waiting. Fine for a waiter that does not wait. */
void cw_login_cancel(cw_login_waiter *w);

/* The anonymous caller, with the permissions of its role in configuration and database. `fn` is
 * called once on the store's thread, with NULL if the database cannot be read. CW_LIMIT, CW_NOMEM: it
 * is not called. */
typedef void (*cw_anonymous_fn)(cw_caller *caller, void *ctx);
CW_MUST_USE cw_code cw_accounts_read_anonymous(cw_accounts *a, cw_anonymous_fn fn, void *ctx);
/* The same for an account, without its password: for programs of the operator. The caller is NULL also
 * for an unknown or blocked account. `name` must live until then. */
CW_MUST_USE cw_code cw_accounts_read_account(cw_accounts *a, cw_str name, cw_anonymous_fn fn,
                                             void *ctx);

#endif
