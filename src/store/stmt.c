/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stmt.c - statements: values, rows, and the first failure. */
#include "store/stmt.h"

void cw_stmt_open(cw_db_query *q, cw_db *db, const char *sql)
{
    *q = (cw_db_query){.db = db};
    db->ops->open_query(q, sql);
}

static void bind(cw_db_query *q, int at, cw_db_value value)
{
    if (!q->code)
        q->db->ops->bind(q, at, &value);
}

void cw_stmt_bind_text(cw_db_query *q, int at, cw_str text)
{
    bind(q, at, (cw_db_value){.kind = CW_DB_TEXT, .text = text});
}

void cw_stmt_bind_optional(cw_db_query *q, int at, cw_str text)
{
    bind(q, at, (cw_db_value){.kind = text.n ? CW_DB_TEXT : CW_DB_NULL, .text = text});
}

void cw_stmt_bind_i64(cw_db_query *q, int at, int64_t value)
{
    bind(q, at, (cw_db_value){.kind = CW_DB_I64, .number = value});
}

void cw_stmt_bind_hash(cw_db_query *q, int at, const unsigned char *hash)
{
    cw_str bytes = cw_str_make((const char *)hash, hash ? CW_DB_HASH : 0);
    bind(q, at, (cw_db_value){.kind = hash ? CW_DB_BYTES : CW_DB_NULL, .text = bytes});
}

bool cw_stmt_step(cw_db_query *q)
{
    return !q->code && q->db->ops->step(q);
}

void cw_stmt_reset(cw_db_query *q)
{
    if (!q->code)
        q->db->ops->reset(q);
}

cw_str cw_stmt_text(cw_db_query *q, int column)
{
    cw_str text = q->db->ops->column_text(q, column);
    return text.p ? text : CW_STR("");
}

int64_t cw_stmt_i64(cw_db_query *q, int column)
{
    return q->db->ops->column_i64(q, column);
}

bool cw_stmt_hash(cw_db_query *q, int column, unsigned char ret[CW_DB_HASH])
{
    cw_str value = q->db->ops->column_bytes(q, column);
    bool is_hash = value.p && value.n == CW_DB_HASH;
    if (is_hash)
        memcpy(ret, value.p, CW_DB_HASH);
    return is_hash;
}

void cw_stmt_fail(cw_db_query *q, cw_code rc, const cw_err *err)
{
    if (!rc || q->code)
        return;
    q->code = rc;
    q->err = *err;
}

cw_str cw_stmt_dup_text(cw_db_query *q, cw_arena *arena, cw_str text)
{
    cw_str copy = cw_arena_dup_str(arena, text);
    if (!copy.p && !q->code)
        q->code = cw_arena_fail(arena, &q->err);
    return copy;
}

cw_code cw_stmt_close(cw_db_query *q, cw_err *err)
{
    q->db->ops->close_query(q);
    if (q->code && err)
        *err = q->err;
    return q->code;
}

cw_code cw_stmt_run(cw_db_query *q, cw_err *err)
{
    (void)cw_stmt_step(q);
    return cw_stmt_close(q, err);
}

cw_code cw_stmt_run_insert(cw_db_query *q, int64_t *ret_id, cw_err *err)
{
    int64_t id = cw_stmt_step(q) ? cw_stmt_i64(q, 0) : 0;
    cw_code rc = cw_stmt_close(q, err);
    if (!rc)
        *ret_id = id;
    return rc;
}

cw_code cw_stmt_each_text(cw_db_query *q, cw_db_text_fn fn, void *ctx, cw_err *err)
{
    while (cw_stmt_step(q)) {
        cw_err problem = {0};
        cw_str text = cw_stmt_text(q, 0);
        cw_code rc = q->code ? CW_OK : fn(text, ctx, &problem);
        cw_stmt_fail(q, rc, &problem);
    }
    return cw_stmt_close(q, err);
}

cw_code cw_stmt_run_change(cw_db_query *q, cw_err *err)
{
    (void)cw_stmt_step(q);
    bool is_changed = !q->code && q->db->ops->n_changed(q) > 0;
    cw_code rc = cw_stmt_close(q, err);
    if (rc)
        return rc;
    return is_changed ? CW_OK : CW_DONE;
}

cw_code cw_stmt_commit_change(cw_db_query *q, cw_err *err)
{
    cw_err problem = {0};
    cw_code rc = cw_db_begin(q->db, &problem);
    cw_stmt_fail(q, rc, &problem);
    return rc ? cw_stmt_close(q, err) : cw_db_end(q->db, cw_stmt_run_change(q, err), err);
}

void *cw_stmt_alloc(cw_db_query *q, cw_arena *arena, size_t n)
{
    void *p = cw_arena_alloc(arena, n);
    if (!p) {
        cw_err err;
        cw_stmt_fail(q, cw_arena_fail(arena, &err), &err);
    }
    return p;
}
