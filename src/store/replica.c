/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replica.c - rows of the servers that use a database. */
#include "store/replica.h"

#include "base/process.h"
#include "store/stmt.h"

typedef cw_db_query query;

#define MISSED 3
/* Operators see for so long that a server was lost. */
#define KEPT_MS (INT64_C(3600) * 1000)

bool cw_db_replica_is_lost(const cw_db_replica *replica)
{
    return replica->age >= MISSED * replica->every ||
           cw_process_state_of(replica->process) == CW_PROCESS_ENDED;
}

static void bind_state(query *q, const cw_db_replica *replica, int64_t now)
{
    cw_stmt_bind_text(q, 1, replica->node);
    cw_stmt_bind_text(q, 2, replica->name);
    cw_stmt_bind_text(q, 3, replica->config);
    cw_stmt_bind_text(q, 4, replica->catalogue);
    cw_stmt_bind_i64(q, 5, now);
}

/* CW_DONE: it has no row. */
static cw_code update(cw_db *db, const cw_db_replica *replica, int64_t now, int64_t *ret_number,
                      cw_err *err)
{
    query q;
    int64_t number = 0;
    cw_stmt_open(&q, db,
                 "UPDATE replica SET name = ?2, config = ?3, catalogue = ?4, seen = ?5"
                 " WHERE node = ?1 RETURNING number");
    bind_state(&q, replica, now);
    bool is_there = cw_stmt_step(&q);
    if (is_there)
        number = cw_stmt_i64(&q, 0);
    while (cw_stmt_step(&q))
        ;
    cw_code rc = cw_stmt_close(&q, err);
    if (!rc && is_there)
        *ret_number = number;
    return rc || is_there ? rc : CW_DONE;
}

static cw_code forget_lost(cw_db *db, int64_t now, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "DELETE FROM replica WHERE seen < ?1");
    cw_stmt_bind_i64(&q, 1, now - KEPT_MS);
    return cw_stmt_run(&q, err);
}

/* The lowest number that no row has; 0: all are in use. */
static cw_code find_number(cw_db *db, int64_t *ret, cw_err *err)
{
    query q;
    int64_t number = 0;
    cw_stmt_open(&q, db,
                 "SELECT min(used.number) + 1 FROM"
                 " (SELECT 0 AS number UNION ALL SELECT number FROM replica) AS used"
                 " WHERE NOT EXISTS (SELECT 1 FROM replica r WHERE r.number = used.number + 1)");
    if (cw_stmt_step(&q))
        number = cw_stmt_i64(&q, 0);
    cw_code rc = cw_stmt_close(&q, err);
    *ret = number <= CW_DB_MAX_REPLICAS ? number : 0;
    return rc;
}

static cw_code insert(cw_db *db, const cw_db_replica *replica, int64_t now, int64_t *ret_number,
                      cw_err *err)
{
    query q;
    int64_t number = 0;
    cw_code rc = forget_lost(db, now, err);
    if (!rc)
        rc = find_number(db, &number, err);
    if (rc)
        return rc;
    cw_stmt_open(&q, db,
                 "INSERT INTO replica (node, name, config, catalogue, seen, number, process,"
                 " version, every, started) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
    bind_state(&q, replica, now);
    cw_stmt_bind_i64(&q, 6, number);
    cw_stmt_bind_text(&q, 7, replica->process);
    cw_stmt_bind_text(&q, 8, replica->version);
    cw_stmt_bind_i64(&q, 9, replica->every);
    cw_stmt_bind_i64(&q, 10, now);
    rc = cw_stmt_run(&q, err);
    if (!rc)
        *ret_number = number;
    return rc;
}

cw_code cw_db_renew_replica(cw_db *db, const cw_db_replica *replica, int64_t *ret_number,
                            cw_err *err)
{
    int64_t now = 0;
    cw_code rc = cw_db_now(db, &now, err);
    if (!rc)
        rc = update(db, replica, now, ret_number, err);
    if (rc != CW_DONE)
        return rc;
    /* Servers that start together take turns, and get different numbers. */
    rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, insert(db, replica, now, ret_number, err), err);
}

cw_code cw_db_remove_replica(cw_db *db, cw_str node, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "DELETE FROM replica WHERE node = ?1");
    cw_stmt_bind_text(&q, 1, node);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_each_replica(cw_db *db, cw_db_replica_fn fn, void *ctx, cw_err *err)
{
    query q;
    int64_t now = 0;
    cw_code rc = cw_db_now(db, &now, err);
    if (rc)
        return rc;
    cw_stmt_open(&q, db,
                 "SELECT node, name, process, version, config, catalogue, number, every, started,"
                 " seen FROM replica ORDER BY name, started, node");
    while (cw_stmt_step(&q)) {
        cw_err problem = {0};
        cw_db_replica row = {.node = cw_stmt_text(&q, 0),
                             .name = cw_stmt_text(&q, 1),
                             .process = cw_stmt_text(&q, 2),
                             .version = cw_stmt_text(&q, 3),
                             .config = cw_stmt_text(&q, 4),
                             .catalogue = cw_stmt_text(&q, 5),
                             .number = cw_stmt_i64(&q, 6),
                             .every = cw_stmt_i64(&q, 7),
                             .started = cw_stmt_i64(&q, 8),
                             .seen = cw_stmt_i64(&q, 9)};
        row.age = now - row.seen;
        rc = q.code ? CW_OK : fn(&row, ctx, &problem);
        cw_stmt_fail(&q, rc, &problem);
    }
    return cw_stmt_close(&q, err);
}
