/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sqlite_int.h - the open database, for db.c and sqlite.c.
 *
 *     sqlite.c   file, versions of the schema, transactions
 *     db.c       statements, and the rows of each table
 */
#ifndef CW_STORE_SQLITE_INT_H
#define CW_STORE_SQLITE_INT_H

#include <sqlite3.h>
#include <sys/stat.h>

#include "store/db.h"

struct cw_db {
    sqlite3 *sqlite;
    dev_t device; /* of the open file */
    ino_t inode;
    char path[];
};

/* The error of a result code of SQLite. */
cw_code cw_db_fail(const cw_db *db, int rc, cw_err *err);
/* Begin a change: no other process can write until its end. */
CW_MUST_USE cw_code cw_db_begin(cw_db *db, cw_err *err);
/* Commit if rc is CW_OK or CW_DONE, else undo. Returns the result. */
CW_MUST_USE cw_code cw_db_end(cw_db *db, cw_code rc, cw_err *err);

#endif
