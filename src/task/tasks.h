/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tasks.h - the table of tasks: calls that outlive the request that made them.
 *
 * A door adds a task and runs its call on one loop. Requests on any loop read its state, answer its
 * questions and cancel it, by its id. The table knows nothing of protocols or calls.
 *
 *     cw_tasks_add ─► working ◄─► input_required
 *                        └──────────┴──► completed, failed, cancelled ─► (its time is over) gone
 *
 * An id is the number of a node and 256 random bits as hexadecimal digits. A task belongs to an owner, an account or the
 * anonymous clients of one network; for any other owner it does not exist. A task that has ended
 * never changes again. Nothing that is alive gives way: a table that is full takes no further task.
 *
 * Ownership: a task is reference counted; the table has one reference until its time is over.
 * Threads:   any; one lock. `on_cancel` is called on the loop of the task.
 * Limits:    cw_config_tasks; CW_TASK_MESSAGE bytes of a message.
 */
#ifndef CW_TASK_TASKS_H
#define CW_TASK_TASKS_H

#include "base/buf.h"
#include "config/config.h"
#include "net/loop/loop.h"

#define CW_TASK_ID 67u /* two digits of the node, 64 random ones, and their end */
#define CW_TASK_MESSAGE 512u

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
/* When no loop runs any more. NULL is fine. */
void cw_tasks_free(cw_tasks *tasks);

typedef struct cw_task_start {
    cw_str owner;  /* only this one finds it */
    cw_str caller; /* its name, for operators */
    cw_str tool, method;
    size_t size; /* bytes that are kept for its call */
} cw_task_start;

/* Add a task. *ret is a reference. CW_LIMIT: there are too many, of this owner or in all; CW_NOMEM;
 * CW_IO: no random numbers. */
CW_MUST_USE cw_code cw_tasks_add(cw_tasks *tasks, const cw_config_tasks *limits,
                                 const cw_task_start *start, cw_task **ret);
/* The call was not started: the task was never there. Takes the reference. */
void cw_task_drop(cw_task *task);
/* Its call runs on this loop from now on. `on_cancel` is called there once, unless cw_task_leave
 * comes first. False: it was cancelled already. */
bool cw_task_run(cw_task *task, cw_loop *loop, void (*on_cancel)(void *self), void *self);
/* The index of that loop; UINT32_MAX: its call does not run. */
uint32_t cw_task_loop(cw_task *task);
/* Its call is over, or goes on without the table. On its loop. */
void cw_task_leave(cw_task *task);

/* A reference to the task of this id; NULL: there is none, or it is another owner's. */
cw_task *cw_tasks_find(cw_tasks *tasks, cw_str owner, cw_str id);
cw_task *cw_task_ref(cw_task *task);
/* NULL is fine. */
void cw_task_unref(cw_task *task);
/* These live as long as the reference. */
cw_str cw_task_id(const cw_task *task);
cw_str cw_task_tool(const cw_task *task);
cw_str cw_task_method(const cw_task *task);
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
 * owner's share, and one for which there is no memory, becomes an error. False: it had ended. */
bool cw_task_end(cw_task *task, cw_task_status status, cw_str message, cw_str payload);
/* End it as cancelled, and cancel its call. False: it had ended. */
bool cw_task_cancel(cw_task *task);

/* Append its members as JSON, without braces: "taskId":…,"status":…; with `is_full` also its
 * questions, its result or its error. */
void cw_task_write(cw_task *task, uint32_t poll_ms, bool is_full, cw_buf *out);

/* Count those who get its changes. */
void cw_task_watch(cw_task *task, int change);
bool cw_task_is_watched(const cw_task *task);

/* For operators: a copy of what a task is; its texts live until the function returns. */
typedef struct cw_task_info {
    cw_str id, owner, caller, tool, method, message;
    cw_task_status status;
    int64_t created, updated, until; /* wall clock, ms */
    size_t size;
    uint32_t n_questions;
} cw_task_info;

typedef void (*cw_tasks_fn)(const cw_task_info *info, void *ctx);
/* Each task, oldest first, with the lock: `fn` calls no function of this header. */
void cw_tasks_each(cw_tasks *tasks, cw_tasks_fn fn, void *ctx);
/* The same for the one of this id, whoever owns it. False: there is none. */
bool cw_tasks_show(cw_tasks *tasks, cw_str id, cw_tasks_fn fn, void *ctx);
/* cw_task_cancel by its id, whoever owns it. CW_NOTFOUND; CW_DONE: it had ended. */
CW_MUST_USE cw_code cw_tasks_cancel(cw_tasks *tasks, cw_str id);
/* "working", "input_required", … */
const char *cw_task_status_name(cw_task_status status);

#endif
