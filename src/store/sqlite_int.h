/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sqlite_int.h - a statement with sticky errors, for the files of the database.
 *
 *     cw_query q;
 *     cw_query_open(&q, db, "SELECT name FROM account WHERE id = ?1");
 *     cw_query_bind_i64(&q, 1, id);
 *     if (cw_query_step(&q))
 *         name = cw_query_text(&q, 0);
 *     return cw_query_close(&q, err);
 *
 *     sqlite.c     open, pragmas, versions, statements, transactions
 *     account.c    accounts and their roles
 *     role.c       roles and their permissions
 *     token.c      tokens and their scopes
 *     session.c    sessions of browsers
 *     admin_request.c      what the cache commands ask of a running server
 *     key.c        keys that servers share
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

typedef struct cw_query {
    cw_db *db;
    sqlite3_stmt *stmt;
    cw_code code; /* of the first failure; the rest is skipped then */
    cw_err err;
} cw_query;

void cw_query_open(cw_query *q, cw_db *db, const char *sql);
void cw_query_bind_text(cw_query *q, int at, cw_str text);
/* An empty text becomes NULL. */
void cw_query_bind_optional(cw_query *q, int at, cw_str text);
void cw_query_bind_i64(cw_query *q, int at, int64_t value);
void cw_query_bind_hash(cw_query *q, int at, const unsigned char *hash);
/* The next row: true. False at the end, and after a failure. */
bool cw_query_step(cw_query *q);
/* Begin again, with other values. */
void cw_query_again(cw_query *q);
/* A column of the row; text is empty for NULL and lives until the next step. */
cw_str cw_query_text(cw_query *q, int column);
int64_t cw_query_i64(cw_query *q, int column);
/* Take note of a failure from outside. */
void cw_query_fail(cw_query *q, cw_code rc, const cw_err *err);
/* Ends the statement in every case. */
CW_MUST_USE cw_code cw_query_close(cw_query *q, cw_err *err);

/* Begin a change: nobody else can write until its end. */
CW_MUST_USE cw_code cw_db_begin(cw_db *db, cw_err *err);
/* Keep what was done when rc is CW_OK, else undo it. Returns what became of it. */
CW_MUST_USE cw_code cw_db_end(cw_db *db, cw_code rc, cw_err *err);
/* Call fn with the first column of each row, and close. */
CW_MUST_USE cw_code cw_query_each_text(cw_query *q, cw_db_text_fn fn, void *ctx, cw_err *err);
/* Run a statement that changes rows, and close: CW_DONE when there was nothing to change. */
CW_MUST_USE cw_code cw_query_change(cw_query *q, cw_err *err);

/* account.c: the columns of an account, from `column` on: id, name, password, language, created,
 * blocked. */
#define CW_ACCOUNT_COLUMNS "a.id, a.name, a.password, a.language, a.created, a.blocked"
#define CW_ACCOUNT_N_COLUMNS 6
/* A copy in the arena; NULL without memory, which the query keeps. */
cw_str cw_query_dup(cw_query *q, cw_arena *arena, cw_str text);
/* Memory for a copy; NULL without, which the query keeps. */
void *cw_query_alloc(cw_query *q, cw_arena *arena, size_t n);

/* A row that belongs to an account, and is found by its hash. */
typedef struct cw_owned {
    const char *sql; /* selects its n_columns columns and then CW_ACCOUNT_COLUMNS, by ?1 */
    int n_columns;
    void *(*copy)(cw_query *q, cw_arena *arena); /* as cw_query_copy_account does */
} cw_owned;

/* The row and its account, both NULL when there is none. */
CW_MUST_USE cw_code cw_query_find_owned(cw_db *db, const cw_owned *what,
                                        const unsigned char hash[CW_DB_HASH], cw_arena *arena,
                                        cw_account **ret_account, void **ret, cw_err *err);

#endif
