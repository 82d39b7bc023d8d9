/* SPDX-License-Identifier: GPL-2.0-or-later */
/* failure.h - failed logins that all servers of a database count together.
 *
 * A row is a counter: of an account, of an account in a network that it has logged in from, of a
 * network, of a client. Its name says which. Times are those of the database's clock, because the
 * clocks of servers differ. A row without failures marks a network that the account is known in.
 *
 *     account:NAME          a new password, a block and its end remove it
 *     pair:NAME:NETWORK     the same set its number to 0
 *
 * Failures count for CW_DB_FAILURES_MS after the last one.
 *
 * Ownership, threads, failures: as db.h says. Each function is one statement.
 * Limits:    CW_DB_FAILURE_ROWS rows, beyond which cw_db_trim_failures removes the oldest.
 */
#ifndef CW_STORE_FAILURE_H
#define CW_STORE_FAILURE_H

#include "store/db.h"

#define CW_DB_FAILURES_MS 900000
#define CW_DB_FAILURE_COUNTERS 5u /* in one statement */
#define CW_DB_FAILURE_ROWS 100000
#define CW_DB_KNOWN_NETWORK_MS INT64_C(2592000000) /* 30 days */

typedef struct cw_db_failures {
    cw_str who;      /* UTF-8 */
    int64_t n;       /* cw_db_add_failures: how many to add; then how many count */
    int64_t age_ms;  /* of the last one */
    int64_t left_ms; /* until the row is removed; 0: none exists */
} cw_db_failures;

/* Read `n` counters, CW_DB_FAILURE_COUNTERS at most. */
CW_MUST_USE cw_code cw_db_read_failures(cw_db *db, cw_db_failures *counters, size_t n, cw_err *err);
/* Add to counters, and read them; those with 0 to add stay as they are. */
CW_MUST_USE cw_code cw_db_add_failures(cw_db *db, cw_db_failures *counters, size_t n, cw_err *err);
/* Remove a counter. */
CW_MUST_USE cw_code cw_db_forget_failures(cw_db *db, cw_str who, cw_err *err);
/* A login has succeeded: the counter has no failures, and its row stays for
 * CW_DB_KNOWN_NETWORK_MS. */
CW_MUST_USE cw_code cw_db_know_network(cw_db *db, cw_str who, cw_err *err);
/* Remove rows that do not count any more. Beyond CW_DB_FAILURE_ROWS, remove those of clients and then
 * the others, the oldest first. */
CW_MUST_USE cw_code cw_db_trim_failures(cw_db *db, cw_err *err);

#endif
