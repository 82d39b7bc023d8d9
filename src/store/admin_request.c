/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/sqlite_int.h"

cw_code cw_db_order(cw_db *db, cw_str what, int64_t when, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db,
                  "INSERT INTO cache_order (what, n, at) VALUES (?1, 1, ?2)"
                  " ON CONFLICT (what) DO UPDATE SET n = n + 1, at = excluded.at");
    cw_query_bind_text(&q, 1, what);
    cw_query_bind_i64(&q, 2, when);
    (void)cw_query_step(&q);
    return cw_query_close(&q, err);
}

cw_code cw_db_each_order(cw_db *db, cw_db_order_fn fn, void *ctx, cw_err *err)
{
    cw_query q;
    cw_query_open(&q, db, "SELECT what, n, at FROM cache_order ORDER BY what");
    while (cw_query_step(&q)) {
        cw_err problem = {0};
        cw_order order = {
            .what = cw_query_text(&q, 0), .n = cw_query_i64(&q, 1), .when = cw_query_i64(&q, 2)};
        cw_code rc = q.code ? CW_OK : fn(&order, ctx, &problem);
        cw_query_fail(&q, rc, &problem);
    }
    return cw_query_close(&q, err);
}
