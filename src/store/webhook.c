/* SPDX-License-Identifier: GPL-2.0-or-later */
/* webhook.c - rows of webhook subscriptions. */
#include "store/webhook.h"

#include "store/stmt.h"

typedef cw_db_query query;

static cw_code count_others(cw_db *db, const cw_db_webhook *row, int64_t now, int64_t *ret_all,
                            int64_t *ret_own, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "SELECT COUNT(*), COALESCE(SUM(CASE WHEN owner = ?2 THEN 1 ELSE 0 END), 0)"
                 " FROM webhook WHERE id <> ?1 AND expires > ?3");
    cw_stmt_bind_text(&q, 1, row->id);
    cw_stmt_bind_text(&q, 2, row->owner);
    cw_stmt_bind_i64(&q, 3, now);
    if (cw_stmt_step(&q)) {
        *ret_all = cw_stmt_i64(&q, 0);
        *ret_own = cw_stmt_i64(&q, 1);
    }
    return cw_stmt_close(&q, err);
}

static cw_code remove_row(cw_db *db, cw_str id, int64_t now, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "DELETE FROM webhook WHERE id = ?1 OR expires <= ?2");
    cw_stmt_bind_text(&q, 1, id);
    cw_stmt_bind_i64(&q, 2, now);
    return cw_stmt_run(&q, err);
}

static cw_code insert_row(cw_db *db, const cw_db_webhook *row, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "INSERT INTO webhook (id, owner, state, expires) VALUES (?1, ?2, ?3, ?4)");
    cw_stmt_bind_text(&q, 1, row->id);
    cw_stmt_bind_text(&q, 2, row->owner);
    cw_stmt_bind_text(&q, 3, row->state);
    cw_stmt_bind_i64(&q, 4, row->expires);
    return cw_stmt_run(&q, err);
}

static cw_code put_row(cw_db *db, const cw_db_webhook *row, int64_t now,
                       const cw_db_webhook_limits *limits, cw_err *err)
{
    int64_t all = 0, own = 0;
    cw_code rc = count_others(db, row, now, &all, &own, err);
    if (!rc && (all >= limits->all || own >= limits->per_owner))
        rc = cw_fail(err, CW_LIMIT, "too many subscriptions");
    if (!rc)
        rc = remove_row(db, row->id, now, err);
    return rc ? rc : insert_row(db, row, err);
}

cw_code cw_db_put_webhook(cw_db *db, const cw_db_webhook *row, int64_t now,
                          const cw_db_webhook_limits *limits, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, put_row(db, row, now, limits, err), err);
}

cw_code cw_db_remove_webhook(cw_db *db, cw_str id, int64_t now, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, remove_row(db, id, now, err), err);
}

static cw_code remove_as(cw_db *db, cw_str id, int64_t expires, int64_t now, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "DELETE FROM webhook WHERE (id = ?1 AND expires = ?2) OR expires <= ?3");
    cw_stmt_bind_text(&q, 1, id);
    cw_stmt_bind_i64(&q, 2, expires);
    cw_stmt_bind_i64(&q, 3, now);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_remove_webhook_as(cw_db *db, cw_str id, int64_t expires, int64_t now, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, remove_as(db, id, expires, now, err), err);
}

static cw_code update_row(cw_db *db, const cw_db_webhook *row, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "UPDATE webhook SET state = ?2 WHERE id = ?1 AND expires = ?3");
    cw_stmt_bind_text(&q, 1, row->id);
    cw_stmt_bind_text(&q, 2, row->state);
    cw_stmt_bind_i64(&q, 3, row->expires);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_update_webhook(cw_db *db, const cw_db_webhook *row, cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, update_row(db, row, err), err);
}

cw_code cw_db_reseal_webhook(cw_db *db, cw_str id, cw_str state, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "UPDATE webhook SET state = ?2 WHERE id = ?1");
    cw_stmt_bind_text(&q, 1, id);
    cw_stmt_bind_text(&q, 2, state);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_each_webhook(cw_db *db, int64_t now, cw_db_webhook_fn fn, void *ctx, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "SELECT id, owner, state, expires FROM webhook WHERE expires > ?1 ORDER BY id");
    cw_stmt_bind_i64(&q, 1, now);
    while (cw_stmt_step(&q)) {
        cw_err problem = {0};
        cw_db_webhook row = {.id = cw_stmt_text(&q, 0),
                             .owner = cw_stmt_text(&q, 1),
                             .state = cw_stmt_text(&q, 2),
                             .expires = cw_stmt_i64(&q, 3)};
        cw_stmt_fail(&q, q.code ? CW_OK : fn(&row, ctx, &problem), &problem);
    }
    return cw_stmt_close(&q, err);
}

cw_code cw_db_each_webhook_id(cw_db *db, int64_t now, cw_db_webhook_fn fn, void *ctx, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "SELECT id FROM webhook WHERE expires > ?1");
    cw_stmt_bind_i64(&q, 1, now);
    while (cw_stmt_step(&q)) {
        cw_err problem = {0};
        cw_db_webhook row = {.id = cw_stmt_text(&q, 0), .state = CW_STR("")};
        cw_stmt_fail(&q, q.code ? CW_OK : fn(&row, ctx, &problem), &problem);
    }
    return cw_stmt_close(&q, err);
}
