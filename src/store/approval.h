/* SPDX-License-Identifier: GPL-2.0-or-later */
/* approval.h - rows with the definitions of tools that operators have approved.
 *
 * Each source has one row: an object of JSON that source/remote/lock/lock.h reads and writes. A row has the
 * number of the change that wrote it. The largest one is the version of all rows. Rows are never removed,
 * so a database without rows is one in which nothing was ever approved.
 *
 * Ownership, threads, failures: as db.h says.
 */
#ifndef CW_STORE_APPROVAL_H
#define CW_STORE_APPROVAL_H

#include "store/db.h"

typedef struct cw_db_approval {
    cw_str source;
    cw_str entries; /* JSON */
} cw_db_approval;

typedef cw_code (*cw_db_approval_fn)(const cw_db_approval *row, void *ctx, cw_err *err);

/* The version of all rows; 0: there are none. */
CW_MUST_USE cw_code cw_db_approval_version(cw_db *db, int64_t *ret, cw_err *err);
/* All rows by name, of one moment, and their version. */
CW_MUST_USE cw_code cw_db_each_approval(cw_db *db, cw_db_approval_fn fn, void *ctx,
                                        int64_t *ret_version, cw_err *err);
/* Replace the rows of these sources. CW_INVALID: the rows have another version than `version`, so
 * another program has changed them since they were read. */
CW_MUST_USE cw_code cw_db_set_approvals(cw_db *db, int64_t version, const cw_db_approval *rows,
                                        size_t n, cw_err *err);

#endif
