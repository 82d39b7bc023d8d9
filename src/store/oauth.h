/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oauth.h - rows of the built-in authorization server: clients, codes, grants, access tokens.
 *
 * The rules are in access/oauth. A function here reads or writes one row, and begins no change of its
 * own, unless it says so: its user makes one change of several (cw_db_begin).
 *
 *     rc = cw_db_begin(db, err);
 *     if (!rc) {
 *         rc = cw_db_add_oauth_grant(db, &grant, err);
 *         if (!rc)
 *             rc = cw_db_add_oauth_token(db, &token, err);
 *         rc = cw_db_end(db, rc, err);
 *     }
 *
 * A new password and a block of an account remove its codes and grants (triggers), and so does its
 * removal. The tokens of a grant go with it.
 *
 * Secrets, ownership, threads, failures: as db.h says.
 */
#ifndef CW_STORE_OAUTH_H
#define CW_STORE_OAUTH_H

#include "store/db.h"

/* A client that the operator registered with a command, or denied. */
typedef struct cw_db_oauth_client {
    cw_str id;
    cw_str record; /* access/oauth/client.h */
    bool has_secret;
    unsigned char secret[CW_DB_HASH];
    int64_t created; /* ms since 1970 */
    int64_t denied;  /* likewise; 0: not */
} cw_db_oauth_client;

typedef cw_code (*cw_db_oauth_client_fn)(const cw_db_oauth_client *client, void *ctx, cw_err *err);

/* A change of its own. CW_PARAMS: there is one with this id. */
CW_MUST_USE cw_code cw_db_add_oauth_client(cw_db *db, const cw_db_oauth_client *client,
                                           cw_err *err);
/* *ret is NULL when there is none. */
CW_MUST_USE cw_code cw_db_find_oauth_client(cw_db *db, cw_str id, cw_arena *arena,
                                            cw_db_oauth_client **ret, cw_err *err);
/* By id. */
CW_MUST_USE cw_code cw_db_each_oauth_client(cw_db *db, cw_db_oauth_client_fn fn, void *ctx,
                                            cw_err *err);
/* A change of its own: remove the client and end its grants. CW_NOTFOUND. */
CW_MUST_USE cw_code cw_db_remove_oauth_client(cw_db *db, cw_str id, cw_err *err);
/* A change of its own: deny a client of any kind, and end its grants; `record` is kept for an id that
 * has no row. CW_DONE: it was denied already. */
CW_MUST_USE cw_code cw_db_deny_oauth_client(cw_db *db, cw_str id, cw_str record, int64_t when,
                                            cw_err *err);

/* A code; `given` is the grant that it was exchanged for. */
typedef struct cw_db_oauth_code {
    unsigned char hash[CW_DB_HASH];
    int64_t account;
    cw_str account_name; /* when it is read */
    cw_str client;       /* its id */
    cw_str record;       /* as people saw it */
    cw_str redirect_uri, challenge, resource, scopes;
    bool may_refresh;
    int64_t expires; /* ms since 1970 */
    int64_t given;   /* 0: not used */
} cw_db_oauth_code;

/* Also removes codes that have expired. */
CW_MUST_USE cw_code cw_db_add_oauth_code(cw_db *db, const cw_db_oauth_code *code, int64_t now,
                                         cw_err *err);
/* *ret is NULL when there is none. */
CW_MUST_USE cw_code cw_db_find_oauth_code(cw_db *db, const unsigned char hash[CW_DB_HASH],
                                          cw_arena *arena, cw_db_oauth_code **ret, cw_err *err);
CW_MUST_USE cw_code cw_db_use_oauth_code(cw_db *db, const unsigned char hash[CW_DB_HASH],
                                         int64_t grant, cw_err *err);

typedef struct cw_db_oauth_grant {
    int64_t id;
    int64_t account;
    cw_str account_name; /* when it is read */
    cw_str client, record, redirect_uri, resource, scopes;
    int64_t created, used, expires; /* ms since 1970 */
    /* Of its refresh tokens: */
    bool has_secret;                  /* else it has none */
    int64_t generation;               /* of the current one */
    int64_t rotated;                  /* since when that is so, ms since 1970 */
    unsigned char secret[CW_DB_HASH]; /* SHA-256 of its secret */
} cw_db_oauth_grant;

typedef cw_code (*cw_db_oauth_grant_fn)(const cw_db_oauth_grant *grant, void *ctx, cw_err *err);

/* Limits of grants, applied when one is added. */
typedef struct cw_oauth_grant_rules {
    int64_t idle_ms;      /* those not used for so long are removed */
    uint32_t per_account; /* the least recently used of an account are, beyond so many */
} cw_oauth_grant_rules;

/* grant->id is set. *ret_ended: another one of the account had to end. */
CW_MUST_USE cw_code cw_db_add_oauth_grant(cw_db *db, cw_db_oauth_grant *grant,
                                          const cw_oauth_grant_rules *rules, bool *ret_ended,
                                          cw_err *err);
/* *ret is NULL when there is none. */
CW_MUST_USE cw_code cw_db_find_oauth_grant(cw_db *db, int64_t id, cw_arena *arena,
                                           cw_db_oauth_grant **ret, cw_err *err);
/* The newest grant of a client that acts for an account without a refresh token; *ret_id is 0: none. */
CW_MUST_USE cw_code cw_db_find_oauth_grant_of(cw_db *db, int64_t account, cw_str client,
                                              cw_str resource, int64_t *ret_id, cw_err *err);
/* Write its current refresh token and its last use. */
CW_MUST_USE cw_code cw_db_rotate_oauth_grant(cw_db *db, const cw_db_oauth_grant *grant,
                                             cw_err *err);
/* Its last use alone. */
CW_MUST_USE cw_code cw_db_touch_oauth_grant(cw_db *db, int64_t id, int64_t when, cw_err *err);
/* All, or those of one account (`account` 0: all), the newest first. */
CW_MUST_USE cw_code cw_db_each_oauth_grant(cw_db *db, int64_t account, cw_db_oauth_grant_fn fn,
                                           void *ctx, cw_err *err);
/* With its tokens; `account` 0: of any. CW_NOTFOUND. */
CW_MUST_USE cw_code cw_db_remove_oauth_grant(cw_db *db, int64_t account, int64_t id, cw_err *err);

typedef struct cw_db_oauth_token {
    unsigned char hash[CW_DB_HASH];
    int64_t grant;
    cw_str scopes;
    int64_t created, expires;        /* ms since 1970 */
    cw_str client, record, resource; /* of the grant, when it is read */
} cw_db_oauth_token;

/* Also removes tokens that have expired, and the oldest of the grant beyond `per_grant` (at least 1).
 * *ret_ended: such a one had to end. */
CW_MUST_USE cw_code cw_db_add_oauth_token(cw_db *db, const cw_db_oauth_token *token,
                                          uint32_t per_grant, bool *ret_ended, cw_err *err);
/* The token and its account; both NULL when there is none. */
CW_MUST_USE cw_code cw_db_find_oauth_token(cw_db *db, const unsigned char hash[CW_DB_HASH],
                                           cw_arena *arena, cw_db_oauth_token **ret,
                                           cw_account **ret_account, cw_err *err);
/* CW_DONE: there was none. */
CW_MUST_USE cw_code cw_db_remove_oauth_token(cw_db *db, const unsigned char hash[CW_DB_HASH],
                                             cw_err *err);

/* When the newest grant or token was created, ms since 1970; 0: there is none. */
CW_MUST_USE cw_code cw_db_newest_oauth_row(cw_db *db, int64_t *ret, cw_err *err);

/* A device that waits for a person. */
typedef struct cw_db_oauth_device {
    unsigned char hash[CW_DB_HASH]; /* of the device code */
    unsigned char code[CW_DB_HASH]; /* keyed digest of the user code; not when it is read */
    cw_str client, record, resource, scopes;
    cw_str address;           /* that the request came from */
    int64_t created, expires; /* ms since 1970 */
    int64_t polled;           /* likewise: its last question; 0: none */
    int64_t pause;            /* that it has to make between two of them, ms */
    int64_t account;          /* that allowed it; 0: none yet */
    cw_str account_name;      /* when it is read */
    bool is_denied;
} cw_db_oauth_device;

/* Also removes those that expired some time ago, and the oldest beyond `max`. CW_DONE: the user code is
 * in use. */
CW_MUST_USE cw_code cw_db_add_oauth_device(cw_db *db, const cw_db_oauth_device *device,
                                           uint32_t max, cw_err *err);
/* *ret is NULL when there is none. */
CW_MUST_USE cw_code cw_db_find_oauth_device(cw_db *db, const unsigned char hash[CW_DB_HASH],
                                            cw_arena *arena, cw_db_oauth_device **ret, cw_err *err);
CW_MUST_USE cw_code cw_db_find_oauth_device_by_code(cw_db *db, const unsigned char code[CW_DB_HASH],
                                                    cw_arena *arena, cw_db_oauth_device **ret,
                                                    cw_err *err);
CW_MUST_USE cw_code cw_db_poll_oauth_device(cw_db *db, const unsigned char hash[CW_DB_HASH],
                                            int64_t polled, int64_t pause, cw_err *err);
/* `account` 0: deny it. CW_DONE: none waits under this user code. */
CW_MUST_USE cw_code cw_db_decide_oauth_device(cw_db *db, const unsigned char code[CW_DB_HASH],
                                              int64_t account, cw_str scopes, int64_t now,
                                              cw_err *err);
CW_MUST_USE cw_code cw_db_remove_oauth_device(cw_db *db, const unsigned char hash[CW_DB_HASH],
                                              cw_err *err);

/* A key that signs access tokens. */
typedef enum cw_db_oauth_key_state {
    CW_DB_KEY_NEXT,
    CW_DB_KEY_CURRENT,
    CW_DB_KEY_OLD,
} cw_db_oauth_key_state;

typedef struct cw_db_oauth_key {
    cw_str id, alg;
    cw_str jwk;    /* the public key */
    cw_str secret; /* the private key, sealed */
    cw_db_oauth_key_state state;
    int64_t created; /* ms since 1970 */
    int64_t since;   /* likewise: of its state */
    int64_t ends;    /* likewise: it is published until then; 0: no end yet */
} cw_db_oauth_key;

typedef cw_code (*cw_db_oauth_key_fn)(const cw_db_oauth_key *key, void *ctx, cw_err *err);

CW_MUST_USE cw_code cw_db_add_oauth_key(cw_db *db, const cw_db_oauth_key *key, cw_err *err);
/* Within a change: write its secret alone. */
CW_MUST_USE cw_code cw_db_reseal_oauth_key(cw_db *db, const cw_db_oauth_key *key, cw_err *err);
/* Write its state, since and ends. */
CW_MUST_USE cw_code cw_db_change_oauth_key(cw_db *db, const cw_db_oauth_key *key, cw_err *err);
/* The newest one in a state; *ret is NULL when there is none. */
CW_MUST_USE cw_code cw_db_find_oauth_key(cw_db *db, cw_db_oauth_key_state state, cw_arena *arena,
                                         cw_db_oauth_key **ret, cw_err *err);
/* The newest first. */
CW_MUST_USE cw_code cw_db_each_oauth_key(cw_db *db, cw_db_oauth_key_fn fn, void *ctx, cw_err *err);
CW_MUST_USE cw_code cw_db_remove_ended_oauth_keys(cw_db *db, int64_t now, cw_err *err);

/* An assertion of a client, by its digest, is used; those that could not come again are removed.
 * CW_DONE: it was used before. */
CW_MUST_USE cw_code cw_db_use_oauth_assertion(cw_db *db, const unsigned char hash[CW_DB_HASH],
                                              int64_t until, int64_t now, cw_err *err);

#endif
