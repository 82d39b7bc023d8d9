/* SPDX-License-Identifier: GPL-2.0-or-later */
/* failures.h - failed logins delay the next ones, on all servers of a database.
 *
 * Failures are counted by account and by network (throttle.h). An account has a separate counter for
 * each network that it has logged in from, so that wrong guesses of others do not lock it out there.
 *
 *     loop:  delayed here? ── yes ──► TOO_MANY; once a second the database is read first
 *              │ no
 *     store: the account, and the counters of all servers
 *     pool:  delayed? ── yes ──► TOO_MANY
 *              │ no: the password is wrong ──► counted here
 *     store: counted for all servers ──► WRONG
 *
 * The answer to a failed login comes after the database has counted it, so the next attempt finds it
 * on any server. If the database cannot be read, no login succeeds. If it cannot be written, the
 * failure counts here, and is written with the next one.
 *
 * Threads: as each function says.
 * Limits:  two statements for an attempt that costs a hash; attempts that are delayed read once a
 *          second for each of CW_FAILURES_SLOTS groups of networks; CW_DB_FAILURE_ROWS rows.
 */
#ifndef CW_ACCESS_LOGIN_FAILURES_H
#define CW_ACCESS_LOGIN_FAILURES_H

#include "access/throttle.h"
#include "store/failure.h"

#define CW_FAILURES_SLOTS 256u
#define CW_FAILURES_READ_MS 1000u

struct cw_accounts;
struct cw_login_op;

/* A counter in this process and in the database. */
typedef struct cw_failure_counter {
    cw_throttle *throttle;
    cw_str name; /* in the throttle */
    cw_str who;  /* in the database */
} cw_failure_counter;

typedef struct cw_failure_counters {
    cw_failure_counter items[CW_DB_FAILURE_COUNTERS];
    size_t n;
} cw_failure_counters;

/* The counters of the database before the password was verified. */
typedef struct cw_failures_read {
    bool is_read, has_account, has_pair_failures;
    int64_t known_ms; /* the account is known in this network for so long; 0: it is not */
} cw_failures_read;

/* The remaining delay in ms; 0: none. Any thread. */
uint64_t cw_failures_wait(struct cw_accounts *a, cw_str account, const cw_network *network);
/* Whether a delayed request of this network may read the database: another server may have ended the
 * delay, or may know the account in this network. Any thread. */
bool cw_failures_may_read(struct cw_accounts *a, const cw_network *network);
/* The delay on a loop: 0 also when the database has to be read first. */
uint64_t cw_failures_wait_or_read(struct cw_accounts *a, cw_str account, const cw_network *network);
/* The password was wrong, or right: count it here. Any thread. */
void cw_failures_add(struct cw_login_op *t);
void cw_failures_clear(struct cw_login_op *t);

/* On the store's thread: */
/* Read the counters before the password is verified. */
CW_MUST_USE cw_code cw_failures_read_shared(struct cw_login_op *t, cw_db *db, cw_err *err);
/* Write what was added here. Without the database it stays here. */
void cw_failures_write_shared(struct cw_login_op *t, cw_db *db);
/* The login has succeeded: clear its counter, and know its network. */
void cw_failures_clear_shared(struct cw_login_op *t, cw_db *db);
/* Write what was added to these counters, and read all. */
CW_MUST_USE cw_code cw_failures_sync(struct cw_accounts *a, const cw_failure_counters *counters,
                                     cw_db *db, cw_db_failures *ret, cw_err *err);
/* The counters of the networks of an address; the texts are in `arena`. */
void cw_failures_of_networks(cw_network_throttle *throttle, const cw_network *network,
                             const char *kind, cw_str address, cw_arena *arena,
                             cw_failure_counters *ret);

#endif
