/* SPDX-License-Identifier: GPL-2.0-or-later */
/* letter.c - rows that one server leaves for others. */
#include "store/letter.h"

#include "store/stmt.h"

/* Rows of one statement: the result of a database server is in memory as a whole. */
#define AT_ONCE 32

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

/* ---- lasting letters ---- */

typedef struct counts {
    int64_t all, anonymous;
} counts;

static cw_code count_lasting(cw_db *db, counts *ret, cw_err *err)
{
    query q;
    *ret = (counts){0};
    cw_stmt_open(&q, db,
                 "SELECT count(*), count(CASE WHEN share < 0 THEN 1 END) FROM letter"
                 " WHERE to_node = ''");
    if (cw_stmt_step(&q))
        *ret = (counts){.all = cw_stmt_i64(&q, 0), .anonymous = cw_stmt_i64(&q, 1)};
    return cw_stmt_close(&q, err);
}

/* The caller with the most letters, and how many it has. */
static cw_code find_largest(cw_db *db, bool is_anonymous, int64_t *ret_share, int64_t *ret_n,
                            cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "SELECT share, count(*) FROM letter WHERE to_node = ''"
                 " AND CASE WHEN share < 0 THEN 1 ELSE 0 END = ?1"
                 " GROUP BY share ORDER BY count(*) DESC, min(id) LIMIT 1");
    cw_stmt_bind_i64(&q, 1, is_anonymous);
    if (cw_stmt_step(&q)) {
        *ret_share = cw_stmt_i64(&q, 0);
        *ret_n = cw_stmt_i64(&q, 1);
    }
    return cw_stmt_close(&q, err);
}

/* The oldest of the caller with the most give way, anonymous callers first while they have more than half.
 * Some at once: shares are counted rarely, also while one caller sends many. */
static cw_code make_room(cw_db *db, cw_err *err)
{
    query q;
    counts n;
    int64_t share = 0, most = 0;
    cw_code rc = count_lasting(db, &n, err);
    if (rc || n.all < CW_DB_LASTING_LETTERS)
        return rc;
    rc = find_largest(db, n.anonymous > n.all / 2, &share, &most, err);
    if (rc)
        return rc;
    cw_stmt_open(&q, db,
                 "DELETE FROM letter WHERE id IN (SELECT id FROM letter"
                 " WHERE to_node = '' AND share = ?1 ORDER BY id LIMIT ?2)");
    cw_stmt_bind_i64(&q, 1, share);
    cw_stmt_bind_i64(&q, 2, n.all - CW_DB_LASTING_LETTERS + 1 + most / 64);
    return cw_stmt_run(&q, err);
}

static cw_code keep(cw_db *db, const cw_db_lasting *letter, cw_err *err)
{
    query q;
    cw_code rc = make_room(db, err);
    if (rc)
        return rc;
    cw_stmt_open(&q, db,
                 "INSERT INTO letter (to_node, body, until, share) VALUES ('', ?1, ?2, ?3)");
    bind_bytes(&q, 1, letter->body);
    cw_stmt_bind_i64(&q, 2, letter->until);
    cw_stmt_bind_i64(&q, 3, letter->share);
    rc = cw_stmt_run(&q, err);
    return rc ? rc : cw_db_notify(db, err);
}

/* Changes take turns, so numbers appear in order: no reader goes past one that is not there yet. */
cw_code cw_db_keep_letter(cw_db *db, const cw_db_lasting *letter, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, keep(db, letter, err), err);
}

/* ---- reading ---- */

/* Call fn with the second column of each row, and close. *ret_last is the last row that fn took, *ret_n the
 * number of rows. */
static cw_code each_body(query *q, int64_t *ret_last, int *ret_n, cw_db_letter_fn fn, void *ctx,
                         cw_err *err)
{
    for (*ret_n = 0; cw_stmt_step(q); ++*ret_n) {
        cw_err problem = {0};
        int64_t id = cw_stmt_i64(q, 0);
        cw_str body = bytes_of(q, 1);
        cw_code rc = q->code ? CW_OK : fn(body, ctx, &problem);
        cw_stmt_fail(q, rc, &problem);
        if (!q->code)
            *ret_last = id;
    }
    return cw_stmt_close(q, err);
}

/* *ret_n: how many; fewer than AT_ONCE are the last ones. */
static cw_code take_some(cw_db *db, cw_str node, int *ret_n, cw_db_letter_fn fn, void *ctx,
                         cw_err *err)
{
    query q;
    int64_t last = 0;
    cw_stmt_open(&q, db, "SELECT id, body FROM letter WHERE to_node = ?1 ORDER BY id LIMIT ?2");
    cw_stmt_bind_text(&q, 1, node);
    cw_stmt_bind_i64(&q, 2, AT_ONCE);
    cw_code rc = each_body(&q, &last, ret_n, fn, ctx, err);
    if (rc || !last)
        return rc;
    cw_stmt_open(&q, db, "DELETE FROM letter WHERE to_node = ?1 AND id <= ?2");
    cw_stmt_bind_text(&q, 1, node);
    cw_stmt_bind_i64(&q, 2, last);
    return cw_stmt_run(&q, err);
}

/* Others may send as fast as they are taken: the thread of the store has other work, too. */
cw_code cw_db_take_letters(cw_db *db, cw_str node, cw_db_letter_fn fn, void *ctx, cw_err *err)
{
    cw_code rc = CW_OK;
    int n = AT_ONCE;
    for (int all = 0; !rc && n == AT_ONCE && all < CW_DB_LETTERS; all += n)
        rc = take_some(db, node, &n, fn, ctx, err);
    return rc;
}

cw_code cw_db_read_letters(cw_db *db, int64_t *at, cw_db_letter_fn fn, void *ctx, cw_err *err)
{
    cw_code rc = CW_OK;
    for (int n = AT_ONCE; !rc && n == AT_ONCE;) {
        query q;
        cw_stmt_open(&q, db,
                     "SELECT id, body FROM letter WHERE to_node = '' AND id > ?1 ORDER BY id"
                     " LIMIT ?2");
        cw_stmt_bind_i64(&q, 1, *at);
        cw_stmt_bind_i64(&q, 2, AT_ONCE);
        rc = each_body(&q, at, &n, fn, ctx, err);
    }
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
