/* SPDX-License-Identifier: GPL-2.0-or-later */
/* task.c - rows of tasks. */
#include "store/task.h"

#include "base/process.h"
#include "store/stmt.h"

typedef cw_db_query query;

#define COLUMNS                                                                                    \
    "id, owner, caller, tool, method, process, status, message, payload, created, ended, expires," \
    " alive, node, updated"
/* A server whose row was renewed in time; ?2 is the time of the database. */
#define IS_LIVING                                                                                  \
    "EXISTS (SELECT 1 FROM replica r WHERE r.process = task.process"                               \
    " AND r.seen > ?2 - 3 * r.every)"
/* Processes that are judged in one turn. */
#define JUDGED 64

cw_code cw_db_add_task(cw_db *db, const cw_db_task *task, cw_err *err)
{
    const cw_str texts[] = {task->id,   task->owner,  task->caller,
                            task->tool, task->method, task->process};
    query q;
    /* A connection that was lost in a commit may have left the row: it is added once more. */
    cw_stmt_open(&q, db,
                 "INSERT INTO task (" COLUMNS ")"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
                 " ON CONFLICT (id) DO UPDATE SET status = excluded.status,"
                 " message = excluded.message, payload = excluded.payload,"
                 " ended = excluded.ended, alive = excluded.alive WHERE task.ended = 0");
    for (int i = 0; i < (int)CW_COUNT(texts); i++)
        cw_stmt_bind_text(&q, i + 1, texts[i]);
    cw_stmt_bind_i64(&q, 7, task->status);
    cw_stmt_bind_optional(&q, 8, task->message);
    cw_stmt_bind_optional(&q, 9, task->payload);
    cw_stmt_bind_i64(&q, 10, task->created);
    cw_stmt_bind_i64(&q, 11, task->ended);
    cw_stmt_bind_i64(&q, 12, task->expires);
    cw_stmt_bind_i64(&q, 13, task->alive);
    cw_stmt_bind_text(&q, 14, task->node);
    cw_stmt_bind_i64(&q, 15, task->updated);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_end_task(cw_db *db, const cw_db_task *task, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "UPDATE task SET status = ?2, message = ?3, payload = ?4, ended = ?5"
                 " WHERE id = ?1 AND ended = 0");
    cw_stmt_bind_text(&q, 1, task->id);
    cw_stmt_bind_i64(&q, 2, task->status);
    cw_stmt_bind_optional(&q, 3, task->message);
    cw_stmt_bind_optional(&q, 4, task->payload);
    cw_stmt_bind_i64(&q, 5, task->ended);
    return cw_stmt_run_change(&q, err);
}

cw_code cw_db_update_task(cw_db *db, const cw_db_task *task, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "UPDATE task SET status = ?2, message = ?3, payload = ?4, updated = ?5"
                 " WHERE id = ?1 AND ended = 0");
    cw_stmt_bind_text(&q, 1, task->id);
    cw_stmt_bind_i64(&q, 2, task->status);
    cw_stmt_bind_optional(&q, 3, task->message);
    cw_stmt_bind_optional(&q, 4, task->payload);
    cw_stmt_bind_i64(&q, 5, task->updated);
    return cw_stmt_run_change(&q, err);
}

/* Whether the rows of servers are renewed often enough to prove that they live. */
static bool has_proofs(const cw_db *db)
{
    return db->ops->now != NULL;
}

cw_code cw_db_renew_tasks(cw_db *db, cw_str process, int64_t alive, cw_err *err)
{
    query q;
    if (has_proofs(db))
        return CW_OK;
    cw_stmt_open(&q, db, "UPDATE task SET alive = ?2 WHERE process = ?1 AND ended = 0");
    cw_stmt_bind_text(&q, 1, process);
    cw_stmt_bind_i64(&q, 2, alive);
    return cw_stmt_run(&q, err);
}

/* ---- tasks whose process has ended ---- */

typedef struct lost {
    char process[CW_PROCESS_ID];
    bool is_certain; /* this machine has run it, and does not any more */
} lost;

static bool is_lost(const cw_db *db, cw_str process, int64_t alive, bool is_living, int64_t now,
                    bool *ret_is_certain)
{
    cw_process_state state = cw_process_state_of(process);
    *ret_is_certain = state == CW_PROCESS_ENDED;
    if (state != CW_PROCESS_UNKNOWN)
        return *ret_is_certain;
    return now >= alive && !(has_proofs(db) && is_living);
}

/* The processes of running tasks that have ended. */
static cw_code find_lost(cw_db *db, cw_str self, int64_t now, lost found[JUDGED], size_t *ret_n,
                         cw_err *err)
{
    query q;
    size_t n = 0;
    cw_stmt_open(&q, db,
                 "SELECT process, max(alive), max(CASE WHEN " IS_LIVING " THEN 1 ELSE 0 END)"
                 " FROM task WHERE ended = 0 AND process <> ?1 GROUP BY process");
    cw_stmt_bind_text(&q, 1, self);
    cw_stmt_bind_i64(&q, 2, now);
    while (cw_stmt_step(&q)) {
        cw_str process = cw_stmt_text(&q, 0);
        lost *one = &found[n];
        if (n == JUDGED || process.n >= sizeof one->process ||
            !is_lost(db, process, cw_stmt_i64(&q, 1), cw_stmt_i64(&q, 2) != 0, now,
                     &one->is_certain))
            continue;
        memcpy(one->process, process.p, process.n);
        one->process[process.n] = '\0';
        n++;
    }
    *ret_n = n;
    return cw_stmt_close(&q, err);
}

/* A server that was late, and has renewed its row since it was judged, keeps its tasks. */
static cw_code end_lost(cw_db *db, const lost *one, const cw_db_task *end, int64_t now,
                        int64_t *ret_n, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "UPDATE task SET status = ?3, message = ?4, payload = ?5, ended = ?6"
                 " WHERE process = ?1 AND ended = 0 AND (?7 = 1 OR NOT " IS_LIVING ")");
    cw_stmt_bind_text(&q, 1, cw_str_from(one->process));
    cw_stmt_bind_i64(&q, 2, now);
    cw_stmt_bind_i64(&q, 3, end->status);
    cw_stmt_bind_optional(&q, 4, end->message);
    cw_stmt_bind_optional(&q, 5, end->payload);
    cw_stmt_bind_i64(&q, 6, now);
    cw_stmt_bind_i64(&q, 7, one->is_certain || !has_proofs(db));
    (void)cw_stmt_step(&q);
    *ret_n += q.code ? 0 : db->ops->n_changed(&q);
    return cw_stmt_close(&q, err);
}

cw_code cw_db_end_lost_tasks(cw_db *db, cw_str self, const cw_db_task *end, int64_t *ret_n,
                             cw_err *err)
{
    lost found[JUDGED];
    size_t n = 0;
    int64_t now = 0;
    *ret_n = 0;
    cw_code rc = cw_db_now(db, &now, err);
    if (!rc)
        rc = find_lost(db, self, now, found, &n, err);
    for (size_t i = 0; i < n && !rc; i++) {
        rc = cw_db_begin(db, err);
        if (!rc)
            rc = cw_db_end(db, end_lost(db, &found[i], end, now, ret_n, err), err);
    }
    return rc;
}

cw_code cw_db_expire_tasks(cw_db *db, int64_t now, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "DELETE FROM task WHERE expires <= ?1");
    cw_stmt_bind_i64(&q, 1, now);
    return cw_stmt_run(&q, err);
}

/* ---- reading ---- */

/* The columns, whether its process lives, and the size of the payload. Call fn with each row, and
 * close. */
static cw_code each_row(query *q, cw_db_task_fn fn, void *ctx, cw_err *err)
{
    while (cw_stmt_step(q)) {
        cw_err problem = {0};
        cw_db_task task = {.id = cw_stmt_text(q, 0),
                           .owner = cw_stmt_text(q, 1),
                           .caller = cw_stmt_text(q, 2),
                           .tool = cw_stmt_text(q, 3),
                           .method = cw_stmt_text(q, 4),
                           .process = cw_stmt_text(q, 5),
                           .status = cw_stmt_i64(q, 6),
                           .message = cw_stmt_text(q, 7),
                           .payload = cw_stmt_text(q, 8),
                           .created = cw_stmt_i64(q, 9),
                           .ended = cw_stmt_i64(q, 10),
                           .expires = cw_stmt_i64(q, 11),
                           .alive = cw_stmt_i64(q, 12),
                           .node = cw_stmt_text(q, 13),
                           .updated = cw_stmt_i64(q, 14),
                           .is_living = cw_stmt_i64(q, 15) != 0,
                           .size = cw_stmt_i64(q, 16)};
        cw_code rc = q->code ? CW_OK : fn(&task, ctx, &problem);
        cw_stmt_fail(q, rc, &problem);
    }
    return cw_stmt_close(q, err);
}

cw_code cw_db_each_task(cw_db *db, int64_t now, cw_db_task_fn fn, void *ctx, cw_err *err)
{
    query q;
    int64_t time = 0;
    cw_code rc = cw_db_now(db, &time, err);
    if (rc)
        return rc;
    cw_stmt_open(&q, db,
                 "SELECT " COLUMNS ", CASE WHEN " IS_LIVING " THEN 1 ELSE 0 END, 0 FROM task"
                 " WHERE expires > ?1 AND ended > 0 ORDER BY created, id");
    cw_stmt_bind_i64(&q, 1, now);
    cw_stmt_bind_i64(&q, 2, time);
    return each_row(&q, fn, ctx, err);
}

cw_code cw_db_list_tasks(cw_db *db, int64_t now, cw_db_task_fn fn, void *ctx, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db,
                 "SELECT id, owner, caller, tool, method, process, status, message, NULL, created,"
                 " ended, expires, alive, node, updated, 0, coalesce(length(payload), 0) FROM task"
                 " WHERE expires > ?1 ORDER BY created, id");
    cw_stmt_bind_i64(&q, 1, now);
    return each_row(&q, fn, ctx, err);
}

cw_code cw_db_find_task(cw_db *db, cw_str id, cw_db_task_fn fn, void *ctx, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "SELECT " COLUMNS ", 0, 0 FROM task WHERE id = ?1");
    cw_stmt_bind_text(&q, 1, id);
    return each_row(&q, fn, ctx, err);
}
