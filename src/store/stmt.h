/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stmt.h - one statement: its values, its rows, its failure.
 *
 * A statement keeps its first error and skips all later steps:
 *
 *     cw_db_query q;
 *     cw_stmt_open(&q, db, "SELECT name FROM account WHERE id = ?1");
 *     cw_stmt_bind_i64(&q, 1, id);
 *     if (cw_stmt_step(&q))
 *         name = cw_stmt_text(&q, 0);
 *     return cw_stmt_close(&q, err);
 *
 * Ownership: `sql` is a constant; values are borrowed until the statement is closed.
 * Threads:   that of the database.
 * Limits:    CW_DB_MAX_VALUES values.
 */
#ifndef CW_STORE_STMT_H
#define CW_STORE_STMT_H

#include "store/db_int.h"

/* In every case cw_stmt_close ends it. */
void cw_stmt_open(cw_db_query *q, cw_db *db, const char *sql);
void cw_stmt_bind_text(cw_db_query *q, int at, cw_str text);
/* An empty text becomes NULL. */
void cw_stmt_bind_optional(cw_db_query *q, int at, cw_str text);
void cw_stmt_bind_i64(cw_db_query *q, int at, int64_t value);
/* CW_DB_HASH bytes; NULL becomes NULL. */
void cw_stmt_bind_hash(cw_db_query *q, int at, const unsigned char *hash);
/* The next row: true. False at the end, and after a failure. */
bool cw_stmt_step(cw_db_query *q);
/* Start again, with other values. */
void cw_stmt_reset(cw_db_query *q);
/* A column of the row; empty for NULL. It lives until the next step. */
cw_str cw_stmt_text(cw_db_query *q, int column);
int64_t cw_stmt_i64(cw_db_query *q, int column);
/* Copy a hash; false: the column holds something else. */
bool cw_stmt_hash(cw_db_query *q, int column, unsigned char ret[CW_DB_HASH]);
/* Record a failure from outside. */
void cw_stmt_fail(cw_db_query *q, cw_code rc, const cw_err *err);
/* A copy in the arena; .p is NULL without memory, and the query keeps the failure. */
cw_str cw_stmt_dup_text(cw_db_query *q, cw_arena *arena, cw_str text);
/* Ends the statement in every case. */
CW_MUST_USE cw_code cw_stmt_close(cw_db_query *q, cw_err *err);
/* Run a statement without rows, and close. */
CW_MUST_USE cw_code cw_stmt_run(cw_db_query *q, cw_err *err);
/* Run a statement that inserts a row and returns its number, and close. */
CW_MUST_USE cw_code cw_stmt_run_insert(cw_db_query *q, int64_t *ret_id, cw_err *err);
/* Call fn with the first column of each row, and close. */
CW_MUST_USE cw_code cw_stmt_each_text(cw_db_query *q, cw_db_text_fn fn, void *ctx, cw_err *err);
/* Run a statement that changes rows, and close. CW_DONE: nothing had to be changed. */
CW_MUST_USE cw_code cw_stmt_run_change(cw_db_query *q, cw_err *err);
/* The same as a change of its own. */
CW_MUST_USE cw_code cw_stmt_commit_change(cw_db_query *q, cw_err *err);
/* Memory for a copy; NULL without, and the query keeps the failure. */
void *cw_stmt_alloc(cw_db_query *q, cw_arena *arena, size_t n);

#endif
