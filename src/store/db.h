/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db.h - the database of accounts, roles, tokens and sessions.
 *
 * Every change is one transaction, and is on the disk when its function returns. A running server uses
 * the database only on its store thread (store.h). Commands open it themselves. The database is a file
 * (SQLite), or several programs share one on a server (PostgreSQL).
 *
 *     account ──< account_role >── role ──< role_permission
 *        ├──< token ──< token_scope                 secret (store/seal_key.h)
 *        ├──< session                               oauth_client
 *        └──< oauth_code, oauth_grant ──< oauth_token   (store/oauth.h)
 *     task                                        (store/task.h)
 *     approval                                    (store/approval.h)
 *     replica, letter                             (store/replica.h, store/letter.h)
 *     failure                                     (store/failure.h)
 *
 * A role of an account need not be in the table of roles: the configuration may define it.
 * "anonymous" and "authenticated" always exist.
 *
 * Secrets:   passwords are stored as hashes, tokens and sessions as SHA-256. Only the server's own keys
 *            are stored in clear text: only the owner can read the file.
 * Ownership: the arguments of a callback live until it returns; results live in `arena`.
 * Threads:   one thread uses a cw_db at a time.
 * Limits:    names CW_DB_MAX_NAME bytes.
 * Failures:  CW_IO (the file is missing, full or damaged, the server does not respond: open it
 *            again), CW_TIMEOUT (locked by another process), CW_NOMEM, CW_NOTFOUND, CW_PARAMS (it
 *            exists already). A change that failed with CW_IO may have been made.
 */
#ifndef CW_STORE_DB_H
#define CW_STORE_DB_H

#include "base/arena.h"

#define CW_DB_MAX_NAME 128u
#define CW_DB_MAX_ADDRESS 48u /* of a client, with the NUL; longer ones are cut */
#define CW_DB_HASH 32u        /* bytes of a token's SHA-256 */

typedef struct cw_db cw_db;

typedef struct cw_db_opts {
    const char *where; /* the path of a file, or the URL of a server: postgresql://... */
    bool may_create;   /* the file, mode 0600 (its folder must be there), or the server's tables */
    uint32_t busy_ms;  /* of a file: how long to wait for a lock */
    /* Of a server: */
    uint32_t timeout_ms;       /* of each wait for it; 2 s at least for each host when connecting */
    const char *password_file; /* NULL or empty: none */
    bool allow_insecure;       /* over the network without a certificate that proves its name */
} cw_db_opts;

/* Whether this is a server, not a file: opening can take seconds. */
bool cw_db_is_server(const char *where);
/* Check the URL and the file with the password, without a connection. CW_CONFIG. A path is fine. */
CW_MUST_USE cw_code cw_db_check_opts(const cw_db_opts *opts, cw_err *err);
/* Open, and bring an older database up to date. CW_NOTFOUND without a file, or without tables. */
CW_MUST_USE cw_code cw_db_open(const cw_db_opts *opts, cw_db **ret, cw_err *err);
/* The state of a database. */
typedef struct cw_db_health {
    int64_t version, newest; /* of its tables, and of the tables that this program makes */
    char damage[128];        /* of a file: the first problem that SQLite finds; empty: none */
} cw_db_health;

/* Check without a change: whose it is, its version; of a file its structure, all of it. Fails as
 * cw_db_open does, also for a version that is too new. */
CW_MUST_USE cw_code cw_db_check(const cw_db_opts *opts, cw_db_health *ret, cw_err *err);
/* Whether the file has the tables of this version, so that cw_db_open changes nothing in it. Reads the
 * header of the file alone, and creates no file beside it. */
bool cw_db_is_up_to_date(const char *path);
/* NULL is fine. */
void cw_db_close(cw_db *db);
/* Whether the path still leads to the file that is open: it may have been removed or replaced. A
 * server that went away fails the next call instead. */
bool cw_db_is_current(const cw_db *db);
/* A number that changes when another connection has changed the database. On a server changes of
 * this connection count too, but only those of rights, letters, approvals and
 * keys of the seal. */
CW_MUST_USE cw_code cw_db_data_version(cw_db *db, int64_t *ret, cw_err *err);

/* How far the changes of rights were read. */
typedef struct cw_db_reading {
    int64_t n, epoch;
} cw_db_reading;

/* The rights of the account have changed, or those of everybody (0). */
typedef void (*cw_db_changed_fn)(int64_t account, void *ctx);

/* Read on from `at`, which all zero is not a place: then everybody has changed, as in a database that
 * was restored or copied, and after more than CW_DB_MAX_CHANGES changes. CW_DONE: nothing has changed. */
#define CW_DB_MAX_CHANGES 256u
CW_MUST_USE cw_code cw_db_read_changes(cw_db *db, cw_db_reading *at, cw_db_changed_fn fn, void *ctx,
                                       cw_err *err);
/* Forget changes that every server has read long ago. */
CW_MUST_USE cw_code cw_db_forget_changes(cw_db *db, cw_err *err);
/* The database was restored: all servers verify all callers again. */
CW_MUST_USE cw_code cw_db_begin_epoch(cw_db *db, cw_err *err);

/* The time of the database, in ms since 1970: servers whose clocks differ agree on it. */
CW_MUST_USE cw_code cw_db_now(cw_db *db, int64_t *ret, cw_err *err);

/* Begin a change of several calls: no other process can write until its end. Only functions that say so
 * may be called between. */
CW_MUST_USE cw_code cw_db_begin(cw_db *db, cw_err *err);
/* Commit if rc is CW_OK or CW_DONE, else undo. Returns the result. */
CW_MUST_USE cw_code cw_db_end(cw_db *db, cw_code rc, cw_err *err);

/* Return another code than CW_OK to end an enumeration with it. */
typedef cw_code (*cw_db_text_fn)(cw_str text, void *ctx, cw_err *err);

/* ---- accounts ---- */

/* Rights of an account, each list in one text: its items end with CW_DB_SEPARATOR, but for the last. */
#define CW_DB_SEPARATOR '\n'
typedef struct cw_db_rights {
    cw_str roles;       /* that were granted */
    cw_str permissions; /* of these roles and of "authenticated", in this database */
    cw_str anonymous;   /* permissions of the role "anonymous", likewise */
} cw_db_rights;

typedef struct cw_account {
    int64_t id; /* from 1 on, never used again */
    cw_str name;
    cw_str password; /* its hash; empty: no login with a password */
    cw_str language; /* empty: none chosen */
    int64_t created; /* ms since 1970 */
    bool is_blocked;
    const cw_db_rights *rights; /* read by the same statement; NULL: not read */
} cw_account;

typedef cw_code (*cw_db_account_fn)(const cw_account *account, void *ctx, cw_err *err);

/* With these roles. */
CW_MUST_USE cw_code cw_db_add_account(cw_db *db, const cw_account *account, const cw_str *roles,
                                      size_t n_roles, int64_t *ret_id, cw_err *err);
/* With its rights, in one statement. *ret is NULL when there is none. */
CW_MUST_USE cw_code cw_db_find_account(cw_db *db, cw_str name, cw_arena *arena, cw_account **ret,
                                       cw_err *err);
/* By name. */
CW_MUST_USE cw_code cw_db_each_account(cw_db *db, cw_db_account_fn fn, void *ctx, cw_err *err);
/* With its tokens and sessions. */
CW_MUST_USE cw_code cw_db_remove_account(cw_db *db, cw_str name, cw_err *err);
CW_MUST_USE cw_code cw_db_block_account(cw_db *db, cw_str name, bool is_blocked, cw_err *err);
CW_MUST_USE cw_code cw_db_set_password(cw_db *db, cw_str name, cw_str hash, cw_err *err);
/* Give the account a role, or take it back. CW_DONE: nothing had to be changed. */
CW_MUST_USE cw_code cw_db_grant(cw_db *db, cw_str name, cw_str role, bool has_it, cw_err *err);
/* The granted roles, by name; not "authenticated", which every account has. */
CW_MUST_USE cw_code cw_db_each_role_of(cw_db *db, int64_t account, cw_db_text_fn fn, void *ctx,
                                       cw_err *err);
/* The permissions of the account's roles in this database, including "authenticated". */
CW_MUST_USE cw_code cw_db_each_permission_of(cw_db *db, int64_t account, cw_db_text_fn fn,
                                             void *ctx, cw_err *err);

/* ---- roles ---- */

CW_MUST_USE cw_code cw_db_add_role(cw_db *db, cw_str role, cw_err *err);
/* Also from the accounts that have it. CW_PARAMS for the two built-in roles. */
CW_MUST_USE cw_code cw_db_remove_role(cw_db *db, cw_str role, cw_err *err);
CW_MUST_USE cw_code cw_db_has_role(cw_db *db, cw_str role, bool *ret, cw_err *err);
CW_MUST_USE cw_code cw_db_each_role(cw_db *db, cw_db_text_fn fn, void *ctx, cw_err *err);
/* Give the role a permission, or take it away. CW_DONE: nothing had to be changed. */
CW_MUST_USE cw_code cw_db_allow(cw_db *db, cw_str role, cw_str permission, bool may, cw_err *err);
CW_MUST_USE cw_code cw_db_each_permission(cw_db *db, cw_str role, cw_db_text_fn fn, void *ctx,
                                          cw_err *err);

/* ---- tokens ---- */

typedef struct cw_token {
    int64_t id;
    int64_t account;
    cw_str account_name;
    cw_str name; /* a label */
    unsigned char hash[CW_DB_HASH];
    cw_str scopes;    /* as in cw_db_rights; .p is NULL: not read */
    int64_t created;  /* ms since 1970 */
    int64_t expires;  /* likewise; 0: never */
    int64_t revoked;  /* likewise; 0: not */
    int64_t used;     /* likewise: the last recorded use; 0: none */
    cw_str used_from; /* the address of that client */
} cw_token;

/* A use of a token. */
typedef struct cw_token_use {
    int64_t token;
    int64_t used; /* ms since 1970 */
    char address[CW_DB_MAX_ADDRESS];
} cw_token_use;

typedef cw_code (*cw_db_token_fn)(const cw_token *token, void *ctx, cw_err *err);

CW_MUST_USE cw_code cw_db_add_token(cw_db *db, const cw_token *token, const cw_str *scopes,
                                    size_t n_scopes, int64_t *ret_id, cw_err *err);
/* The token with its scopes, and its account with its rights, in one statement; both NULL when there is
 * none. */
CW_MUST_USE cw_code cw_db_find_token(cw_db *db, const unsigned char hash[CW_DB_HASH],
                                     cw_arena *arena, cw_token **ret, cw_account **ret_account,
                                     cw_err *err);
/* All, or those of one account (`account` 0: all), oldest first. */
CW_MUST_USE cw_code cw_db_each_token(cw_db *db, int64_t account, cw_db_token_fn fn, void *ctx,
                                     cw_err *err);
CW_MUST_USE cw_code cw_db_each_scope_of(cw_db *db, int64_t token, cw_db_text_fn fn, void *ctx,
                                        cw_err *err);
/* CW_DONE: it was revoked already. */
CW_MUST_USE cw_code cw_db_revoke_token(cw_db *db, int64_t id, int64_t when, cw_err *err);
/* Record uses, in one change. Those of tokens that are gone, and earlier ones than recorded, are
 * ignored. Sort them by token: servers then lock the rows in one order. */
CW_MUST_USE cw_code cw_db_add_token_uses(cw_db *db, const cw_token_use *uses, size_t n,
                                         cw_err *err);

/* ---- sessions of browsers ---- */

typedef struct cw_session {
    int64_t id;
    int64_t account;
    cw_str account_name;
    unsigned char hash[CW_DB_HASH];
    int64_t created; /* ms since 1970 */
    int64_t used;    /* likewise: the last recorded use */
} cw_session;

typedef cw_code (*cw_db_session_fn)(const cw_session *session, void *ctx, cw_err *err);

/* Limits of sessions, applied when one is added. */
typedef struct cw_session_rules {
    uint64_t idle_ms;     /* those not used for so long are removed */
    uint64_t lifetime_ms; /* those made so long ago likewise */
    uint32_t per_account; /* the oldest of an account are, beyond so many */
} cw_session_rules;

/* Add one for an account that has this hash of a password at this moment and is not blocked;
 * CW_NOTFOUND otherwise. `replaced` is removed, unless it is NULL. A change of the account's
 * password, roles or block removes all its sessions. */
CW_MUST_USE cw_code cw_db_add_session(cw_db *db, const cw_session *session, cw_str password,
                                      const cw_session_rules *rules, const unsigned char *replaced,
                                      cw_err *err);
/* The session, and its account with its rights, in one statement; both NULL when there is none. */
CW_MUST_USE cw_code cw_db_find_session(cw_db *db, const unsigned char hash[CW_DB_HASH],
                                       cw_arena *arena, cw_session **ret, cw_account **ret_account,
                                       cw_err *err);
/* Record its use. */
CW_MUST_USE cw_code cw_db_touch_session(cw_db *db, int64_t id, int64_t when, cw_err *err);
/* All, or those of one account (`account` 0: all), oldest first. */
CW_MUST_USE cw_code cw_db_each_session(cw_db *db, int64_t account, cw_db_session_fn fn, void *ctx,
                                       cw_err *err);
/* CW_NOTFOUND: there is none. */
CW_MUST_USE cw_code cw_db_remove_session(cw_db *db, int64_t id, cw_err *err);
/* CW_DONE: there was none. */
CW_MUST_USE cw_code cw_db_end_session(cw_db *db, const unsigned char hash[CW_DB_HASH], cw_err *err);

#endif
