/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bucket.h - levels of the rates that servers share.
 *
 * A row is the time at which a bucket is full again (call/bucket.h), by the clock of the database. A
 * bucket without a row is full. PostgreSQL only: servers on one file count each for itself.
 *
 * Ownership, threads, failures: as db.h says.
 */
#ifndef CW_STORE_BUCKET_H
#define CW_STORE_BUCKET_H

#include "store/db.h"

/* The bucket is full again in `ahead_ns`. */
typedef void (*cw_db_level_fn)(cw_str name, int64_t ahead_ns, void *ctx);

/* Add times to buckets, in one statement. `added` is a JSON object: names of buckets, and ns as text.
 * fn gets the level of each bucket. */
CW_MUST_USE cw_code cw_db_fill_buckets(cw_db *db, cw_str added, cw_db_level_fn fn, void *ctx,
                                       cw_err *err);
/* Remove the rows of full buckets. */
CW_MUST_USE cw_code cw_db_forget_full_buckets(cw_db *db, cw_err *err);
/* How many servers have renewed their rows. */
CW_MUST_USE cw_code cw_db_count_replicas(cw_db *db, int64_t *ret, cw_err *err);

#endif
