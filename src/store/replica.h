/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replica.h - rows of the servers that use this database at the moment.
 *
 * A server renews its row as often as the row says. It counts as lost when it has missed three times.
 * All times are those of the database (cw_db_now): the clocks of servers may differ.
 *
 * Ownership, threads, failures: as db.h says.
 */
#ifndef CW_STORE_REPLICA_H
#define CW_STORE_REPLICA_H

#include "store/db.h"

#define CW_DB_MAX_REPLICAS 1023u /* with a number; others have the number 0 */

typedef struct cw_db_replica {
    cw_str node;              /* of the process: base/node.h */
    cw_str name, process;     /* for operators; base/process.h */
    cw_str version;           /* of the program */
    cw_str config, catalogue; /* digests, as hexadecimal digits; empty: none yet */
    int64_t number;           /* unique among those that have a row; 0: none was free */
    int64_t every;            /* ms between two renewals */
    int64_t started, seen;    /* ms since 1970 */
    int64_t age;              /* ms since `seen`; set when a row is read */
} cw_db_replica;

typedef cw_code (*cw_db_replica_fn)(const cw_db_replica *replica, void *ctx, cw_err *err);

/* Whether it has missed so many renewals that it counts as lost. */
bool cw_db_replica_is_lost(const cw_db_replica *replica);
/* Write the row of this node, and set its `seen`. A new row gets a number. `started` of a row that
 * exists stays. */
CW_MUST_USE cw_code cw_db_renew_replica(cw_db *db, const cw_db_replica *replica,
                                        int64_t *ret_number, cw_err *err);
CW_MUST_USE cw_code cw_db_remove_replica(cw_db *db, cw_str node, cw_err *err);
/* By name and start. */
CW_MUST_USE cw_code cw_db_each_replica(cw_db *db, cw_db_replica_fn fn, void *ctx, cw_err *err);

#endif
