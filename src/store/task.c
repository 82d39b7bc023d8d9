/* SPDX-License-Identifier: GPL-2.0-or-later */
/* task.c - rows of tasks. */
#include "store/task.h"

#include "store/stmt.h"

typedef cw_db_query query;

#define COLUMNS                                                                                    \
    "id, owner, caller, tool, method, process, status, message, payload, created, ended, expires," \
    " alive"

cw_code cw_db_add_task(cw_db *db, const cw_db_task *task, cw_err *err)
{
    const cw_str texts[] = {task->id,   task->owner,  task->caller,
                            task->tool, task->method, task->process};
    query q;
    cw_stmt_open(&q, db,
                 "INSERT INTO task (" COLUMNS ")"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)");
    for (int i = 0; i < (int)CW_COUNT(texts); i++)
        cw_stmt_bind_text(&q, i + 1, texts[i]);
    cw_stmt_bind_i64(&q, 7, task->status);
    cw_stmt_bind_optional(&q, 8, task->message);
    cw_stmt_bind_optional(&q, 9, task->payload);
    cw_stmt_bind_i64(&q, 10, task->created);
    cw_stmt_bind_i64(&q, 11, task->ended);
    cw_stmt_bind_i64(&q, 12, task->expires);
    cw_stmt_bind_i64(&q, 13, task->alive);
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

cw_code cw_db_renew_tasks(cw_db *db, cw_str process, int64_t alive, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "UPDATE task SET alive = ?2 WHERE process = ?1 AND ended = 0");
    cw_stmt_bind_text(&q, 1, process);
    cw_stmt_bind_i64(&q, 2, alive);
    return cw_stmt_run(&q, err);
}

cw_code cw_db_expire_tasks(cw_db *db, int64_t now, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "DELETE FROM task WHERE expires <= ?1");
    cw_stmt_bind_i64(&q, 1, now);
    return cw_stmt_run(&q, err);
}

/* Call fn with each row, and close. */
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
                           .alive = cw_stmt_i64(q, 12)};
        cw_code rc = q->code ? CW_OK : fn(&task, ctx, &problem);
        cw_stmt_fail(q, rc, &problem);
    }
    return cw_stmt_close(q, err);
}

cw_code cw_db_each_task(cw_db *db, int64_t now, cw_db_task_fn fn, void *ctx, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "SELECT " COLUMNS " FROM task WHERE expires > ?1 ORDER BY created, id");
    cw_stmt_bind_i64(&q, 1, now);
    return each_row(&q, fn, ctx, err);
}

cw_code cw_db_find_task(cw_db *db, cw_str id, cw_db_task_fn fn, void *ctx, cw_err *err)
{
    query q;
    cw_stmt_open(&q, db, "SELECT " COLUMNS " FROM task WHERE id = ?1");
    cw_stmt_bind_text(&q, 1, id);
    return each_row(&q, fn, ctx, err);
}
