/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bucket.c - levels of the rates that servers share. */
#include "store/bucket.h"

#include "store/stmt.h"

#define MISSED "3"
/* The same for the whole statement. */
#define NOW_NS "floor(extract(epoch FROM statement_timestamp()) * 1000000000)::bigint"

/* Sorted by name: two servers lock the rows in the same order. */
cw_code cw_db_fill_buckets(cw_db *db, cw_str added, cw_db_level_fn fn, void *ctx, cw_err *err)
{
    cw_db_query q;
    cw_stmt_open(&q, db,
                 "INSERT INTO bucket AS b (name, tat)"
                 " SELECT a.key, " NOW_NS " + a.value::bigint"
                 " FROM json_each_text(?1::json) AS a ORDER BY a.key"
                 " ON CONFLICT (name) DO UPDATE SET"
                 " tat = greatest(b.tat + excluded.tat - " NOW_NS ", excluded.tat)"
                 " RETURNING name, tat - " NOW_NS);
    cw_stmt_bind_text(&q, 1, added);
    while (cw_stmt_step(&q))
        fn(cw_stmt_text(&q, 0), cw_stmt_i64(&q, 1), ctx);
    return cw_stmt_close(&q, err);
}

cw_code cw_db_forget_full_buckets(cw_db *db, cw_err *err)
{
    cw_db_query q;
    cw_stmt_open(&q, db, "DELETE FROM bucket WHERE tat < " NOW_NS);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_count_replicas(cw_db *db, int64_t *ret, cw_err *err)
{
    cw_db_query q;
    int64_t now = 0, n = 0;
    cw_code rc = cw_db_now(db, &now, err);
    if (rc)
        return rc;
    cw_stmt_open(&q, db, "SELECT count(*) FROM replica WHERE seen + " MISSED " * every > ?1");
    cw_stmt_bind_i64(&q, 1, now);
    if (cw_stmt_step(&q))
        n = cw_stmt_i64(&q, 0);
    rc = cw_stmt_close(&q, err);
    if (!rc)
        *ret = n;
    return rc;
}
