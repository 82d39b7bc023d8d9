/* SPDX-License-Identifier: GPL-2.0-or-later */
/* letter.c - rows that one server leaves for others. */
#include "store/letter.h"

#include "store/stmt.h"

typedef cw_db_query query;

static void bind_bytes(query *q, int at, cw_str bytes)
{
    cw_db_value value = {.kind = CW_DB_BYTES, .text = bytes};
    if (!q->code)
        q->db->ops->bind(q, at, &value);
}

static cw_str bytes_of(query *q, int column)
{
    return q->db->ops->column_bytes(q, column);
}

static cw_code add(cw_db *db, cw_str from, int64_t to, cw_str body, int64_t *ret_n, cw_err *err)
{
    query q;
    int64_t now = 0;
    cw_code rc = cw_db_now(db, &now, err);
    if (rc)
        return rc;
    cw_stmt_open(&q, db,
                 "INSERT INTO letter (to_node, body, until) SELECT r.node, ?3, ?4 FROM replica r"
                 " WHERE r.node <> ?1 AND ?2 IN (0, r.number) AND r.seen > ?5 - 3 * r.every"
                 " AND (SELECT count(*) FROM letter l WHERE l.to_node = r.node) < ?6");
    cw_stmt_bind_text(&q, 1, from);
    cw_stmt_bind_i64(&q, 2, to);
    bind_bytes(&q, 3, body);
    cw_stmt_bind_i64(&q, 4, now + CW_DB_LETTER_MS);
    cw_stmt_bind_i64(&q, 5, now);
    cw_stmt_bind_i64(&q, 6, CW_DB_LETTERS);
    (void)cw_stmt_step(&q);
    int64_t n = q.code ? 0 : db->ops->n_changed(&q);
    rc = cw_stmt_close(&q, err);
    if (!rc && n)
        rc = cw_db_notify(db, err);
    *ret_n = n;
    return rc;
}

cw_code cw_db_send_letter(cw_db *db, cw_str from, int64_t to, cw_str body, int64_t *ret_n,
                          cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, add(db, from, to, body, ret_n, err), err);
}

/* The oldest give way. */
static cw_code make_room(cw_db *db, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "DELETE FROM letter WHERE to_node = '' AND id <="
                 " (SELECT id FROM letter WHERE to_node = '' ORDER BY id DESC LIMIT 1 OFFSET ?1)");
    cw_stmt_bind_i64(&q, 1, CW_DB_LASTING_LETTERS - 1);
    return cw_stmt_run(&q, err);
}

static cw_code keep(cw_db *db, cw_str body, int64_t until, cw_err *err)
{
    query q;
    cw_code rc = make_room(db, err);
    if (rc)
        return rc;
    cw_stmt_open(&q, db, "INSERT INTO letter (to_node, body, until) VALUES ('', ?1, ?2)");
    bind_bytes(&q, 1, body);
    cw_stmt_bind_i64(&q, 2, until);
    rc = cw_stmt_run(&q, err);
    return rc ? rc : cw_db_notify(db, err);
}

/* Changes take turns, so numbers appear in order: no reader goes past one that is not there yet. */
cw_code cw_db_keep_letter(cw_db *db, cw_str body, int64_t until, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, keep(db, body, until, err), err);
}

/* Call fn with the second column of each row, and close. */
static cw_code each_body(query *q, int64_t *ret_last, cw_db_letter_fn fn, void *ctx, cw_err *err)
{
    while (cw_stmt_step(q)) {
        cw_err problem = {0};
        *ret_last = cw_stmt_i64(q, 0);
        cw_str body = bytes_of(q, 1);
        cw_code rc = q->code ? CW_OK : fn(body, ctx, &problem);
        cw_stmt_fail(q, rc, &problem);
    }
    return cw_stmt_close(q, err);
}

cw_code cw_db_take_letters(cw_db *db, cw_str node, cw_db_letter_fn fn, void *ctx, cw_err *err)
{
    query q;
    int64_t last = 0;
    cw_stmt_open(&q, db, "SELECT id, body FROM letter WHERE to_node = ?1 ORDER BY id");
    cw_stmt_bind_text(&q, 1, node);
    cw_code rc = each_body(&q, &last, fn, ctx, err);
    if (rc || !last)
        return rc;
    cw_stmt_open(&q, db, "DELETE FROM letter WHERE to_node = ?1 AND id <= ?2");
    cw_stmt_bind_text(&q, 1, node);
    cw_stmt_bind_i64(&q, 2, last);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_read_letters(cw_db *db, int64_t *at, cw_db_letter_fn fn, void *ctx, cw_err *err)
{
    query q;
    int64_t last = *at;
    cw_stmt_open(&q, db, "SELECT id, body FROM letter WHERE to_node = '' AND id > ?1 ORDER BY id");
    cw_stmt_bind_i64(&q, 1, *at);
    cw_code rc = each_body(&q, &last, fn, ctx, err);
    if (!rc)
        *at = last;
    return rc;
}

cw_code cw_db_expire_letters(cw_db *db, cw_err *err)
{
    query q;
    int64_t now = 0;
    cw_code rc = cw_db_now(db, &now, err);
    if (rc)
        return rc;
    cw_stmt_open(&q, db, "DELETE FROM letter WHERE until <= ?1");
    cw_stmt_bind_i64(&q, 1, now);
    return cw_stmt_run(&q, err);
}
