/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tasks.h - the table of tasks: calls that outlive the request that made them.
 *
 * A door adds a task and runs its call on one loop. Requests on any loop read its state, answer its
 * questions and cancel it, by its id. The table does not depend on protocols or calls.
 *
 *     cw_tasks_add ─► working ◄─► input_required
 *                        └──────────┴──► completed, failed, cancelled ─► (its time is over) gone
 *
 * An id is the number of a server and 256 random bits as hexadecimal digits. A task belongs to an owner,
 * an account or the anonymous clients of one network; for any other owner it does not exist. A task that
 * has ended never changes again. A full table rejects further tasks, and never drops one before its
 * time is over.
 *
 * With a store, each task has a row there (store/task.h). The row is written before a client learns of
 * the task, and again before a client learns of its end. So a result that was reported survives the
 * process. The next process reads the rows. A task whose process has ended fails. While the store
 * is away, tasks are in memory alone, and are written when it is back.
 *
 * Several servers may share the store. The table has the tasks of this one. cw_tasks_look_up reads the
 * row of any other task into a copy that all its users share. While other servers run, rows also have
 * the state and the questions of running tasks. The row decides: each server ends a task by a change
 * that succeeds once, and the server that runs it takes over an end that it finds there. So any server
 * cancels a task, and any server ends the tasks of a lost server.
 *
 * Ownership: a task is reference counted; the table has one reference until its time is over.
 * Threads:   any; one lock. The functions of cw_task_ops are called on the loop of the task.
 * Limits:    cw_config_tasks; CW_TASK_MESSAGE bytes of a message; CW_TASKS_GROUP rows in one change of
 *            the store; CW_TASKS_LOOKUPS rows that are looked up at a time, CW_TASKS_LOOKUPS_SHARE of them
 *            for one owner; CW_TASKS_FOLLOWED tasks of other servers that are followed, at most half of
 *            them for one caller.
 */
#ifndef CW_TASK_TASKS_H
#define CW_TASK_TASKS_H

#include "base/buf.h"
#include "config/config.h"
#include "net/loop/loop.h"
#include "store/store.h"

#define CW_TASK_ID 69u /* four digits of the server, 64 random ones, and a NUL */
#define CW_TASK_MESSAGE 512u
#define CW_TASK_ANONYMOUS "-" /* begins the name of an owner that is a network */
#define CW_TASK_OVER "The time of the task is over." /* error of a task that runs longer */
#define CW_TASKS_GROUP 256u
#define CW_TASKS_LOOKUPS 1024u
#define CW_TASKS_LOOKUPS_SHARE 256u
#define CW_TASKS_FOLLOWED 1024u
#define CW_TASKS_TICK_MS 1000u

typedef enum cw_task_status {
    CW_TASK_WORKING,
    CW_TASK_INPUT_REQUIRED,
    CW_TASK_COMPLETED,
    CW_TASK_FAILED,
    CW_TASK_CANCELLED,
} cw_task_status;

typedef struct cw_tasks cw_tasks;
typedef struct cw_task cw_task;

CW_MUST_USE cw_code cw_tasks_new(cw_tasks **ret, cw_err *err);
/* When neither a loop nor the store runs any more. NULL is fine. */
void cw_tasks_free(cw_tasks *tasks);

/* Keep tasks in this store too, from now on, and read those that it has, as far as the limits allow. */
void cw_tasks_set_store(cw_tasks *tasks, cw_store *store, const cw_config_tasks *limits);

/* For tasks of other servers. Its functions are called on this loop. */
typedef struct cw_tasks_listener {
    cw_loop *loop;
    void (*on_change)(void *ctx, cw_str id); /* one that is followed has changed */
    void (*on_cancel)(void *ctx, cw_str id); /* this server has cancelled it: its call must end */
    void *ctx;
} cw_tasks_listener;

/* Before the first task. Copied. */
void cw_tasks_set_listener(cw_tasks *tasks, const cw_tasks_listener *listener);
/* Each CW_TASKS_TICK_MS: write rows that could not be written, and look after tasks of other servers.
 * `number` is that of this server, 0: it has none. Any thread. */
void cw_tasks_tick(cw_tasks *tasks, uint32_t number, bool has_others);
/* Wait until all rows are written, for at most `ms`. */
void cw_tasks_flush(cw_tasks *tasks, uint32_t ms);

typedef struct cw_task_start {
    cw_str owner;  /* only its requests find the task */
    cw_str caller; /* its name, for operators */
    cw_str tool, method;
    size_t size;       /* bytes that are kept for its call */
    cw_fair_key by;    /* its share of the places (access/fair_key.h) */
    bool is_anonymous; /* those of anonymous callers have at most half of the memory */
} cw_task_start;

/* Add a task. *ret is a reference. CW_LIMIT: too many tasks of this owner, of its network or in all;
 * CW_NOMEM; CW_IO: no random numbers. */
CW_MUST_USE cw_code cw_tasks_add(cw_tasks *tasks, const cw_config_tasks *limits,
                                 const cw_task_start *start, cw_task **ret);
/* Remove a task whose call was not started. Takes the reference. */
void cw_task_drop(cw_task *task);
typedef struct cw_task_ops {
    void (*on_saved)(void *self);  /* cw_task_save */
    void (*on_cancel)(void *self); /* its call must end; on_end follows */
    void (*on_end)(void *self);    /* its end can be read */
} cw_task_ops;

/* Its call runs on this loop from now on. The functions are called there, until cw_task_leave. False:
 * it was cancelled already. */
bool cw_task_run(cw_task *task, cw_loop *loop, const cw_task_ops *ops, void *self);
/* Write its row. CW_AGAIN: on_saved follows, also if that failed; CW_OK: no store, or the task
 * has ended already. */
CW_MUST_USE cw_code cw_task_save(cw_task *task);
/* The index of that loop; UINT32_MAX: its call does not run. */
uint32_t cw_task_loop(cw_task *task);
/* Its call is over, or goes on without the table. On its loop. */
void cw_task_leave(cw_task *task);

/* A reference to the task of this id in the table. CW_NOTFOUND: none, or it is another
 * owner's. */
CW_MUST_USE cw_code cw_tasks_find(cw_tasks *tasks, cw_str owner, cw_str id, cw_task **ret);

/* `task` is NULL after an error: CW_NOTFOUND: none, or it is another owner's; CW_IO,
 * CW_TIMEOUT: the store cannot be read; CW_NOMEM. `has_changed`: the lookup has cancelled it. */
typedef void (*cw_task_found_fn)(void *ctx, cw_code rc, cw_task *task, bool has_changed);

typedef struct cw_task_query {
    cw_str owner, id;
    cw_loop *loop; /* the current one */
    cw_task_found_fn fn;
    void *ctx;
    bool cancels; /* also cancel the task in its row, unless it has ended */
} cw_task_query;

typedef struct cw_task_lookup cw_task_lookup;
/* Read the row of a task that the table does not have. CW_OK: fn is called on the loop, later, unless
 * the loop ends; CW_NOTFOUND: no row can have this id, or no store; CW_LIMIT: too many wait;
 * CW_NOMEM. */
CW_MUST_USE cw_code cw_tasks_look_up(cw_tasks *tasks, const cw_task_query *query,
                                     cw_task_lookup **ret);
/* fn is not called any more. On its loop. */
void cw_task_lookup_leave(cw_task_lookup *lookup);
/* Whether another server runs or ran it, so that it was looked up. */
bool cw_task_is_elsewhere(const cw_task *task);
/* The number of the server in its id; 0: not known. */
uint32_t cw_task_server(cw_str id);
/* Read the row of such a task with each tick, while it is watched. It fails soon after its time is
 * over, also without a row. `by` is the caller whose share of the places it uses
 * (access/fair_key.h). CW_LIMIT: too many are followed; CW_NOMEM. */
CW_MUST_USE cw_code cw_task_follow(cw_task *task, const cw_fair_key *by);
/* Another server has ended this task: compare it with its row. */
void cw_tasks_check(cw_tasks *tasks, cw_str id);

cw_task *cw_task_ref(cw_task *task);
/* NULL is fine. */
void cw_task_unref(cw_task *task);
/* These live as long as the reference. */
cw_str cw_task_id(const cw_task *task);
cw_str cw_task_tool(const cw_task *task);
cw_str cw_task_method(const cw_task *task);
cw_task_status cw_task_status_of(cw_task *task);
/* When its time is over: wall clock, ms. */
int64_t cw_task_until(const cw_task *task);

/* Set the text that its owner reads while it works. Without memory the old one stays. */
void cw_task_set_message(cw_task *task, cw_str text);
/* Add a question: `request` is {"method":…,"params":{…}}. CW_LIMIT: too large; CW_NOMEM; CW_DONE: the
 * task has ended. */
CW_MUST_USE cw_code cw_task_ask(cw_task *task, cw_str key, cw_str request);
/* Append the request of an open question. CW_NOTFOUND: none has this key. */
CW_MUST_USE cw_code cw_task_question(cw_task *task, cw_str key, cw_buf *out);
/* Close a question, because it is answered. False: it was not open. */
bool cw_task_answer(cw_task *task, cw_str key);
/* Close all of them: the call has ended, or does not wait for answers any more. */
void cw_task_answer_all(cw_task *task);
/* End it: `payload` is the result (COMPLETED) or the error (FAILED), JSON. A result that is larger than its
 * owner's share, and one without memory for it, becomes an error. CW_OK: it can be read;
 * CW_AGAIN: on_end follows; CW_DONE: it had ended, and on_end follows if its call still runs. */
CW_MUST_USE cw_code cw_task_end(cw_task *task, cw_task_status status, cw_str message,
                                cw_str payload);
/* End it as cancelled, and cancel its call. False: it had ended. */
bool cw_task_cancel(cw_task *task);

/* Append its members as JSON, without braces: "taskId":…,"status":…; with `is_full` also its
 * questions, its result or its error. */
void cw_task_write(cw_task *task, uint32_t poll_ms, bool is_full, cw_buf *out);

/* Add `change` to the number of requests that watch the task. */
void cw_task_watch(cw_task *task, int change);
bool cw_task_is_watched(const cw_task *task);

/* For operators: the facts about a task; its texts live until the function returns. */
typedef struct cw_task_info {
    cw_str id, owner, caller, tool, method, message;
    cw_task_status status;
    int64_t created, updated, until; /* wall clock, ms */
    size_t size;
    uint32_t n_questions;
} cw_task_info;

typedef void (*cw_tasks_fn)(const cw_task_info *info, void *ctx);
/* Each task of the table, oldest first, with the lock: `fn` calls no function of this header.
 * `without_row`: only those that are not in the store. */
void cw_tasks_each(cw_tasks *tasks, bool without_row, cw_tasks_fn fn, void *ctx);
/* The same for the one of this id, of any owner. False: the table does not have it. */
bool cw_tasks_show(cw_tasks *tasks, cw_str id, cw_tasks_fn fn, void *ctx);
/* cw_task_cancel by its id, for any owner and any server that runs it, on the store's thread. `db` NULL:
 * only a task of this server, on any thread. CW_NOTFOUND; CW_DONE: it had ended; CW_IO, CW_TIMEOUT. */
CW_MUST_USE cw_code cw_tasks_cancel(cw_tasks *tasks, cw_str id, cw_db *db, cw_err *err);
/* "working", "input_required", … */
const char *cw_task_status_name(cw_task_status status);

#endif
