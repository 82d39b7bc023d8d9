/* SPDX-License-Identifier: GPL-2.0-or-later */
/* task.h - rows of tasks (task/tasks.h), so that results survive the process that made them.
 *
 * A function here begins no change of its own: its user makes one change of several (cw_db_begin).
 * Each row names the process that runs the task. In a file, that process promises to be alive until a
 * time, and renews the promise. In a database server, its row among the servers (replica.h) proves that
 * it lives, and the promise covers the time until that row exists.
 *
 * Ownership, threads, failures: as db.h says.
 */
#ifndef CW_STORE_TASK_H
#define CW_STORE_TASK_H

#include "store/db.h"

typedef struct cw_db_task {
    cw_str id, owner, caller, tool, method;
    cw_str process;  /* that runs it, or ran it */
    cw_str node;     /* the same for operators: base/node.h; empty: not known */
    int64_t status;  /* task/tasks.h */
    cw_str message;  /* empty: none */
    cw_str payload;  /* of its end; while it runs: its open questions by key; empty: none */
    int64_t created; /* ms since 1970 */
    int64_t ended;   /* likewise; 0: it runs */
    int64_t updated; /* likewise; of its state while it runs; 0: it is that of its creation */
    int64_t expires; /* likewise, by the clock of the process */
    int64_t alive;   /* likewise, by the clock of the database: the promise */
    /* When rows are read, for cw_db_each_task: its process has a row that was renewed in time. */
    bool is_living;
    int64_t size; /* of the payload, for cw_db_list_tasks, which does not read it */
} cw_db_task;

typedef cw_code (*cw_db_task_fn)(const cw_db_task *task, void *ctx, cw_err *err);

/* Add a row. One of this id that has not ended is written again. */
CW_MUST_USE cw_code cw_db_add_task(cw_db *db, const cw_db_task *task, cw_err *err);
/* Write status, message, payload and ended of this id. CW_DONE: it had ended, or is gone. */
CW_MUST_USE cw_code cw_db_end_task(cw_db *db, const cw_db_task *task, cw_err *err);
/* Write status, message, payload and updated of a task that runs. CW_DONE: it has ended, or is gone. */
CW_MUST_USE cw_code cw_db_update_task(cw_db *db, const cw_db_task *task, cw_err *err);
/* Renew the promise of a process, for all tasks that it runs. Nothing to do in a database server. */
CW_MUST_USE cw_code cw_db_renew_tasks(cw_db *db, cw_str process, int64_t alive, cw_err *err);
/* End the tasks whose process has ended, with status, message and payload of `end`, but for those of
 * `self`. *ret_n is how many this call has ended. Begins and ends a change for each process. */
CW_MUST_USE cw_code cw_db_end_lost_tasks(cw_db *db, cw_str self, const cw_db_task *end,
                                         int64_t *ret_n, cw_err *err);
/* Remove those that have expired. */
CW_MUST_USE cw_code cw_db_expire_tasks(cw_db *db, int64_t now, cw_err *err);
/* Those that have ended and have not expired, oldest first. */
CW_MUST_USE cw_code cw_db_each_task(cw_db *db, int64_t now, cw_db_task_fn fn, void *ctx,
                                    cw_err *err);
/* All that have not expired, oldest first, without payloads. */
CW_MUST_USE cw_code cw_db_list_tasks(cw_db *db, int64_t now, cw_db_task_fn fn, void *ctx,
                                     cw_err *err);
/* Call fn with the row of this id, if there is one. */
CW_MUST_USE cw_code cw_db_find_task(cw_db *db, cw_str id, cw_db_task_fn fn, void *ctx, cw_err *err);

#endif
