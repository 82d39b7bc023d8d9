/* SPDX-License-Identifier: GPL-2.0-or-later */
/* approval.c - rows with approved definitions, one for each source. */
#include "store/approval.h"

#include "store/stmt.h"

typedef cw_db_query query;

cw_code cw_db_approval_version(cw_db *db, int64_t *ret, cw_err *err)
{
    query q;
    int64_t version = 0;
    cw_stmt_open(&q, db, "SELECT coalesce(max(n), 0) FROM approval");
    if (cw_stmt_step(&q))
        version = cw_stmt_i64(&q, 0);
    cw_code rc = cw_stmt_close(&q, err);
    if (!rc)
        *ret = version;
    return rc;
}

cw_code cw_db_each_approval(cw_db *db, cw_db_approval_fn fn, void *ctx, int64_t *ret_version,
                            cw_err *err)
{
    query q;
    int64_t version = 0;
    cw_stmt_open(&q, db, "SELECT source, entries, n FROM approval ORDER BY source");
    while (cw_stmt_step(&q)) {
        cw_err problem = {0};
        const cw_db_approval row = {.source = cw_stmt_text(&q, 0), .entries = cw_stmt_text(&q, 1)};
        int64_t n = cw_stmt_i64(&q, 2);
        version = n > version ? n : version;
        cw_code rc = q.code ? CW_OK : fn(&row, ctx, &problem);
        cw_stmt_fail(&q, rc, &problem);
    }
    cw_code rc = cw_stmt_close(&q, err);
    if (!rc)
        *ret_version = version;
    return rc;
}

static cw_code replace(cw_db *db, int64_t version, const cw_db_approval *rows, size_t n,
                       cw_err *err)
{
    int64_t found = 0;
    cw_code rc = cw_db_approval_version(db, &found, err);
    if (!rc && found != version)
        return cw_fail(err, CW_INVALID,
                       "another operator has approved definitions since they were read: read the "
                       "differences again");
    for (size_t i = 0; i < n && !rc; i++) {
        query q;
        cw_stmt_open(&q, db,
                     "INSERT INTO approval (source, entries, n) VALUES (?1, ?2, ?3)"
                     " ON CONFLICT (source) DO UPDATE SET entries = excluded.entries,"
                     " n = excluded.n");
        cw_stmt_bind_text(&q, 1, rows[i].source);
        cw_stmt_bind_text(&q, 2, rows[i].entries);
        cw_stmt_bind_i64(&q, 3, version + 1);
        rc = cw_stmt_run(&q, err);
    }
    return rc ? rc : cw_db_notify(db, err);
}

cw_code cw_db_set_approvals(cw_db *db, int64_t version, const cw_db_approval *rows, size_t n,
                            cw_err *err)
{
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, replace(db, version, rows, n, err), err);
}
