/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal_keys.h - the keys of a server's seals, and their rotation in the database.
 *
 *     rotate        row N + 1                                                  row N - 2 goes
 *        │   within a second: all servers open with it     after 10 s: all seal with it
 *        ▼                  ▼                                   ▼
 *     created ──────────────┴───────────────────────────────► begins
 *
 * The newest key whose time has come seals, the three newest open. A server reads the rows at its start, and
 * whenever another program has written. So every server opens a text before any server seals with its
 * key. Times are those of the database: a server waits for what remains by its own steady clock.
 *
 * The authorization server has a seal of its own, with keys that follow from those of the server. A text of
 * one seal means nothing to the other.
 *
 * Ownership: the seals live as long as this; others borrow them.
 * Threads:   cw_seal_keys_read and _rotate on the thread of a database, _set on any. The seals as seal.h says.
 * Limits:    CW_DB_SEAL_KEYS keys of the database, and one of the process if it started without them, for as
 *            many rotations.
 */
#ifndef CW_ACCESS_SEAL_KEYS_H
#define CW_ACCESS_SEAL_KEYS_H

#include <pthread.h>

#include "access/seal.h"
#include "store/seal_key.h"

/* From the row of a key until it seals: a second to be read, and 5 s or more for a slow server. */
#define CW_SEAL_KEYS_WAIT_MS 10000

typedef struct cw_seal_keys {
    cw_seal server; /* MCP sessions, cursors, states of calls, letters, webhooks */
    cw_seal oauth;  /* of the authorization server */
    pthread_mutex_t lock;
    atomic_bool is_in_store;  /* the rows of the database count */
    bool is_in_files;         /* those of mcp.secret_file count: set before other threads start */
    cw_seal_key own;          /* of this process; constant */
    atomic_bool has_used_own; /* texts may have been sealed with it: it opens them also later */
    int64_t own_until; /* under the lock: the number of the row that ends this; 0: not known */
} cw_seal_keys;

/* With a key for this process alone. In every case cw_seal_keys_done ends it. */
CW_MUST_USE cw_code cw_seal_keys_init(cw_seal_keys *keys, cw_err *err);
void cw_seal_keys_done(cw_seal_keys *keys);
/* Replace the keys of both seals, the newest first. CW_NOMEM. */
CW_MUST_USE cw_code cw_seal_keys_set(cw_seal_keys *keys, const cw_seal_key *list, size_t n,
                                     cw_err *err);
/* If is_in_store: read the rows, and use them. A database without one gets the key of this process.
 * CW_NOTFOUND: it has none and cannot be written. On failure the keys stay. */
CW_MUST_USE cw_code cw_seal_keys_read(cw_seal_keys *keys, cw_db *db, cw_err *err);

typedef struct cw_seal_keys_rotation {
    int64_t session_ms; /* the longest life of a session */
    bool is_now;        /* also if sessions are alive that the oldest key has sealed */
} cw_seal_keys_rotation;

/* A change of its own: add a key, remove the oldest, and seal the rows of seal_rows.h again with the key that seals now.
 * CW_INVALID: the newest key does not seal yet, or !is_now and sessions would end. */
CW_MUST_USE cw_code cw_seal_keys_rotate(cw_db *db, const cw_seal_keys_rotation *rotation,
                                        cw_db_seal_key *ret, cw_err *err);

#endif
