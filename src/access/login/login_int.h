/* SPDX-License-Identifier: GPL-2.0-or-later */
/* login_int.h - the types and functions that the files of accounts.h share.
 *
 *     accounts.c     begin, settings and end; the permissions of callers
 *     login.c        logins on their way through cache, store and pool (recent_logins.h: all loops)
 *     failures.c     delays after failures, on all servers
 *     session.c      sessions of browsers
 *     token_uses.c   the last use of each API token
 *     grants.c       operations of the built-in authorization server
 *     login_watch.c  streams that end with the credentials of their caller
 */
#ifndef CW_ACCESS_LOGIN_LOGIN_INT_H
#define CW_ACCESS_LOGIN_LOGIN_INT_H

#include <stdatomic.h>

#include "access/credentials.h"
#include "access/issuer/token_cache.h"
#include "access/login/accounts.h"
#include "access/login/failures.h"
#include "access/login/grants.h"
#include "access/login/hash_pool.h"
#include "access/login/login_watch.h"
#include "access/login/recent_logins.h"
#include "access/login/session.h"
#include "access/login/token_uses.h"
#include "access/oauth/exchange.h"
#include "access/oauth/per_minute.h"
#include "access/throttle.h"
#include "net/addr/network.h"

typedef struct cw_login_op cw_login_op;

/* Verified credentials. */
typedef struct cw_login_cache_entry {
    unsigned char key[CW_DIGEST];   /* of the parsed credentials */
    unsigned char proof[CW_DIGEST]; /* of the password's hash, which these credentials satisfied */
    cw_caller *caller;              /* NULL: free */
    uint64_t generation;
    int64_t account; /* of the caller */
    uint64_t until;  /* of the loop's clock */
    int64_t expires; /* of the token, wall clock; 0: never */
    uint64_t ended;  /* of a session: how many had been ended */
    uint64_t used;   /* tick of the last use */
} cw_login_cache_entry;

/* The kinds of operations. */
typedef enum cw_login_op_kind {
    CW_LOGIN_OP_LOGIN,  /* with an Authorization header */
    CW_LOGIN_OP_OPEN,   /* a password, for a new session */
    CW_LOGIN_OP_RESUME, /* a session */
    CW_LOGIN_OP_END,    /* of a session */
    CW_LOGIN_OP_CHECK,  /* many callers: login_watch.h */
} cw_login_op_kind;

/* One login; on the heap, because it outlives the requests that wait for it. */
struct cw_login_op {
    cw_store_job job;
    cw_hash_job work;
    cw_accounts *accounts;
    cw_accounts_loop *al;
    cw_list node;       /* of the loop's running operations */
    cw_message message; /* to the loop, when it has ended */
    cw_list waiters;
    unsigned char key[CW_DIGEST];
    unsigned char proof[CW_DIGEST]; /* earlier, from memory; then the new one */
    bool has_proof;
    bool is_passed; /* the password was verified for this login */
    cw_credentials credentials;
    cw_failures_read shared;
    char hash[CW_PASSWORD_HASH]; /* of the account; empty: none */
    bool is_issued;              /* by an issuer: */
    bool is_opaque;              /* needs introspection */
    cw_token_check check;
    cw_verified_token issued;
    uint64_t generation; /* before the first read */
    uint64_t keys;       /* likewise: of the issuers */
    cw_login_op_kind kind;
    uint64_t ended; /* likewise: sessions */
    bool is_peek;   /* RESUME: the session is not extended */
    bool is_absent; /* END: there was no such session */
    bool has_replaced;
    unsigned char replaced[CW_DIGEST]; /* OPEN: the session that ends then */
    char session[CW_SESSION_LEN + 1];  /* OPEN: the new one, when it is there */
    /* the result */
    cw_arena arena;
    cw_account *account; /* NULL: none, or blocked */
    cw_str peer;         /* the address of the first client that waits; may be empty */
    int64_t expires;     /* of a token; of a session: when it has to be read again; wall clock */
    cw_login_status status;
    uint32_t retry_s;
    cw_caller *caller; /* a reference */
};

/* A session as it was read last. */
typedef struct cw_session_state {
    int64_t id, created, used;
    int64_t until; /* when it ends unless it is used, wall clock */
} cw_session_state;

/* A caller whose rights are read again. */
typedef struct cw_login_recheck {
    cw_caller *caller; /* a reference */
    cw_caller *now;    /* as it was read again; a reference; NULL: the credentials are gone */
    cw_session_state session;
    bool is_gone, is_changed;
} cw_login_recheck;

/* The watches of one loop. */
typedef struct cw_login_watches {
    cw_list ring;
    cw_deadline_list ticks; /* of one: */
    cw_deadline tick;
    /* One check at a time: */
    cw_login_waiter waiter;
    cw_login_recheck items[CW_LOGIN_RECHECK]; /* owned by the store's thread while n > 0 */
    size_t n;                                 /* 0: no check is running */
    uint8_t slots[256];                       /* by caller: index + 1 of its item */
} cw_login_watches;

struct cw_accounts_loop {
    cw_accounts *accounts;
    cw_loop *loop; /* NULL: not used yet */
    cw_loop_hook hook;
    cw_list running;   /* operations */
    cw_list grant_ops; /* likewise, of grants.c */
    cw_login_cache_entry *remembered;
    cw_token_cache *tokens; /* of issuers; NULL until the first */
    cw_login_watches watches;
    uint64_t tick;
    pthread_mutex_t lock; /* of what follows */
    bool is_ended;
};

struct cw_accounts {
    cw_store *store;
    cw_hash_pool *workers;
    cw_issuers *issuers;     /* NULL: none */
    cw_hash_pool *verifiers; /* of signatures */
    cw_recent_logins verified;
    cw_throttle by_account;      /* an account, or an account and a network it logged in from */
    cw_network_throttle guesses; /* wrong passwords */
    uint64_t failures_trimmed;   /* when; of the store's thread */
    /* When the database was read for a delayed login, by network. */
    atomic_uint_least64_t failures_read[CW_FAILURES_SLOTS];
    cw_network_throttle tokens_made_up; /* unknown opaque tokens, wrong signatures */
    pthread_mutex_t lock;               /* of roles and rules */
    cw_roles *roles;
    cw_session_rules sessions; /* likewise */
    cw_oauth_settings *oauth;  /* likewise; NULL: this server issues no tokens */
    atomic_bool has_oauth;
    cw_throttle token_requests; /* failed ones, by client and network */
    cw_throttle strangers;      /* likewise, of clients that the operator has not registered */
    cw_throttle user_codes;     /* wrong ones, by account */
    cw_network_throttle user_codes_made_up;
    cw_per_minute devices;        /* requests of devices, by network */
    cw_per_minute devices_around; /* by the widest network */
    cw_per_minute keys;           /* requests for the public keys, by network */
    cw_token_uses uses;           /* the store's thread's */
    atomic_bool has_sessions;
    atomic_uint_least64_t n_ended; /* sessions, by this server; others change the generation */
    atomic_uint_least64_t roles_generation;
    unsigned n_loops;
    uint32_t tokens; /* in the cache of a loop */
    cw_accounts_loop loops[];
};

/* login.c */
/* NULL without memory. Credentials are taken over and wiped. `w` gives only its address; NULL: no
 * client waits. */
cw_login_op *cw_login_op_new(cw_accounts_loop *al, cw_credentials *credentials, cw_login_waiter *w);
/* Let it verify its credentials: a password by store, pool and store; a token by the store. */
void cw_login_op_set_job(cw_login_op *t);
/* On the store's thread: the caller of a token of this server; *ret stays NULL when the token is
 * not valid. *ret_token may be set in any case; ret_token may be NULL. */
CW_MUST_USE cw_code cw_login_read_token(cw_accounts *a, cw_db *db,
                                        const unsigned char digest[CW_DIGEST], cw_arena *arena,
                                        cw_token **ret_token, cw_caller **ret, cw_err *err);
/* The same for an access token of the built-in authorization server. */
CW_MUST_USE cw_code cw_login_read_access_token(cw_accounts *a, cw_db *db,
                                               const unsigned char digest[CW_DIGEST],
                                               cw_arena *arena, cw_caller **ret, cw_err *err);
/* The operation is over; from any thread. */
void cw_login_op_finish(cw_login_op *t, cw_login_status status);
/* A running operation with this key, or NULL. */
cw_login_op *cw_login_op_find(cw_accounts_loop *al, const unsigned char key[CW_DIGEST]);
void cw_login_op_wait(cw_login_op *t, cw_login_waiter *w);

/* Start it, with a waiter. If the store is too busy, it is freed, and UNAVAILABLE is returned. */
cw_login cw_login_op_begin(cw_login_op *t, cw_login_waiter *w);
/* Whether failures delay these credentials: TOO_MANY, or PENDING if not. */
cw_login cw_login_op_throttled(cw_accounts *a, const cw_credentials *c, cw_login_waiter *w);
/* The cached caller of a session, borrowed, or NULL. */
cw_caller *cw_login_cache_caller(cw_accounts_loop *al, const unsigned char key[CW_DIGEST]);
/* grants.c: after the store's thread has ended */
void cw_grant_ops_done(cw_accounts_loop *al);
/* After the threads of the store and of the pools have ended: free operations and caches. */
void cw_login_loop_done(cw_accounts_loop *al);

/* accounts.c */
/* Grows with each change of the database and of the configured roles. */
uint64_t cw_accounts_generation(const cw_accounts *a);
/* Whether the rights of an account, of none with 0, have not changed since that generation. */
bool cw_accounts_is_current(const cw_accounts *a, int64_t account, uint64_t generation);

/* session.c: on the store's thread */
/* The caller of a session; *ret stays NULL when it has ended. */
CW_MUST_USE cw_code cw_session_read(cw_accounts *a, cw_db *db,
                                    const unsigned char digest[CW_DIGEST], cw_arena *arena,
                                    cw_session_state *ret_session, cw_caller **ret, cw_err *err);
cw_session_rules cw_session_rules_of(cw_accounts *a);
/* Create the session after the password was verified. If that fails, the operation has no caller
 * either. CW_LIMIT: the database cannot be written. */
CW_MUST_USE cw_code cw_session_make(cw_login_op *t, cw_db *db, cw_err *err);

/* login_watch.c */
void cw_login_watches_init(cw_accounts_loop *al);
/* After the store's thread has ended. */
void cw_login_watches_done(cw_accounts_loop *al);

/* accounts.c: on the store's thread */
/* An account, and the credentials that named it: at most one of the last four. */
typedef struct cw_account_login {
    const cw_account *account;
    const cw_token *token;
    const cw_session *session;
    const unsigned char *verified_hash; /* cw_password_id of the stored hash */
    const struct cw_granted_login *granted;
} cw_account_login;

/* An access token of the built-in authorization server, and the limits of its grant. */
typedef struct cw_granted_login {
    const cw_db_oauth_token *token;
    const cw_oauth_settings *settings;
    const cw_oauth_client *client; /* as it is now */
} cw_granted_login;

CW_MUST_USE cw_code cw_permissions_of_account(cw_accounts *a, cw_db *db,
                                              const cw_account_login *login, cw_caller **ret,
                                              cw_err *err);
/* For a token of an issuer: of the account, or (NULL) by its claims. `db` may be NULL then. */
CW_MUST_USE cw_code cw_permissions_of_token(cw_accounts *a, cw_db *db, const cw_account *account,
                                            const cw_verified_token *issued, cw_caller **ret,
                                            cw_err *err);
/* The caller of such a token once more, with the rights as they are now. */
CW_MUST_USE cw_code cw_permissions_of_issued(cw_accounts *a, cw_db *db, const cw_account *account,
                                             const cw_caller *before, cw_caller **ret, cw_err *err);

#endif
