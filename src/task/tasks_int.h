/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tasks_int.h - the parts of a task and of the table, for tasks.c (states), save.c (rows that are written)
 * and lookup.c (rows of other servers). */
#ifndef CW_TASK_TASKS_INT_H
#define CW_TASK_TASKS_INT_H

#include "base/list.h"
#include "base/map.h"
#include "base/process.h"
#include "store/task.h"
#include "task/tasks.h"

#define CW_TASKS_MAP ((size_t)1 << 24) /* entries */

typedef struct cw_task_owner {
    cw_str name;
    uint32_t n;
    size_t used;
} cw_task_owner;

/* Events that are to be reported to the loop of a task. */
enum { CW_TASK_SAVED = 1, CW_TASK_CANCEL = 2, CW_TASK_ENDED = 4 };

/* Whether the row of a running task has its state. */
typedef enum cw_task_change { CW_TASK_SAME, CW_TASK_CHANGED, CW_TASK_CHANGED_MUCH } cw_task_change;

/* Events that are to be reported to the listener. */
enum { CW_TASK_TELL_CHANGE = 1, CW_TASK_TELL_CANCEL = 2 };

/* The row of a task. */
typedef enum cw_task_row { CW_TASK_NO_ROW, CW_TASK_ROW, CW_TASK_ROW_ENDED } cw_task_row;

struct cw_task {
    cw_list node; /* of all, oldest first */
    cw_tasks *table;
    cw_task_owner *owner; /* NULL: it is not in the table */
    atomic_uint refs;
    atomic_int n_watchers;
    cw_str tool, method, caller; /* the texts are behind the struct */
    cw_str owner_name;           /* likewise */
    int64_t created, until;
    size_t share;         /* maximum of bytes for its owner */
    size_t total;         /* maximum of bytes for all owners */
    cw_fair_group *place; /* NULL: none, as of a task that this process has not begun */
    bool is_anonymous;
    /* Under the lock. */
    cw_task_status status;
    uint32_t n_questions;
    cw_list questions;
    int64_t updated;
    char *message; /* NULL: none */
    size_t used;
    size_t n_call; /* of that, for its call */
    cw_loop *loop; /* NULL: its call does not run */
    cw_message event;
    /* Its end, which can be read once it is written; constant since `is_ending`. */
    int64_t ended;
    char *end_message;
    char *payload;
    size_t n_payload;
    cw_task_status end_status;
    unsigned events; /* under the lock */
    /* Of save.c, under the lock. */
    cw_list save_node; /* of `unsaved`, `later` or `writing` */
    cw_task_row row, written;
    cw_task_change changed;
    /* Of lookup.c, under the lock. */
    cw_list copy_node;       /* of `copies` */
    cw_list check_node;      /* of `unchecked` or `checking` */
    cw_list follow_node;     /* of `followed` */
    cw_fair_group *follower; /* its place there */
    cw_list tell_node;       /* of `untold` */
    unsigned tells;
    /* Used by the loop of its call. */
    const cw_task_ops *ops;
    void *self;
    /* Under the lock. */
    bool is_here; /* counted in n_running */
    bool is_posted;
    bool is_ending;
    bool is_saving;    /* it has a row, or gets one */
    bool is_told;      /* CW_TASK_SAVED was posted */
    bool is_later;     /* save_node is in `later` */
    bool is_elsewhere; /* a task of another server; constant */
    char id[CW_TASK_ID];
};

struct cw_tasks {
    pthread_mutex_t lock;
    cw_map tasks;  /* id -> task */
    cw_map owners; /* name -> owner */
    cw_list all;
    cw_fair_slots places; /* of callers and their networks */
    size_t used;
    size_t anonymous_used; /* of that, for anonymous callers */
    uint32_t n_running;    /* here */
    /* Of save.c, under the lock. */
    cw_store *store; /* NULL: none */
    cw_store_job job;
    bool is_asked;  /* the job waits or runs */
    bool is_closed; /* the store has ended */
    bool is_loaded;
    bool has_others; /* other servers run */
    bool is_shared;  /* other servers run, or ran */
    bool is_settled; /* no lease from before the load runs any more */
    cw_list unsaved;
    cw_list later; /* tasks that are written with the next tick */
    pthread_cond_t is_idle;
    /* Of lookup.c, under the lock. */
    cw_map copied;  /* id -> task of another server */
    cw_list copies; /* those tasks; references */
    cw_list unchecked, followed, untold, lookups;
    cw_fair_slots followers; /* places of `followed` */
    uint32_t n_lookups;
    cw_store_job look;
    bool is_looking; /* that job waits or runs */
    cw_message inform;
    cw_tasks_listener listener; /* constant; .loop is NULL: none */
    atomic_uint number;         /* of this server */
    /* On the thread of the store. */
    cw_list writing, checking, found;
    cw_config_tasks limits;
    int64_t loaded, renew_at, expire_at, judge_at, judged;
    int64_t ahead; /* ms that the clock of the database is ahead of this server's */
    char process[CW_PROCESS_ID];
};

/* tasks.c, with the lock */

/* A task without an id, in no table; one reference. NULL without memory. */
cw_task *cw_task_new(cw_tasks *tasks, const cw_task_start *start, int64_t created, int64_t until);
/* The table takes a reference. */
CW_MUST_USE cw_code cw_tasks_enter(cw_tasks *tasks, cw_task *t);
/* Whether limits and shares allow another task of so many bytes. */
bool cw_tasks_has_room(const cw_tasks *tasks, const cw_config_tasks *limits, cw_str owner,
                       size_t n);
/* Whether it has ended, or will have when that is written. */
bool cw_task_is_closed(const cw_task *t);
/* Set its end, in place of one that could not be written. It can be read after cw_task_publish. */
void cw_task_set_end(cw_task *t, cw_task_status status, cw_str message, cw_str payload,
                     int64_t when);
/* Its end can be read from now on. */
void cw_task_publish(cw_task *t);
/* Report an event to the loop of its call. */
void cw_task_post(cw_task *t, unsigned event);
/* Append its open questions as an object. */
void cw_task_write_questions(const cw_task *t, cw_buf *out);
/* Take the state of its row, while another server runs it. False: nothing has changed. */
bool cw_task_take_state(cw_task *t, const cw_db_task *row);

/* save.c */

void cw_tasks_init_store(cw_tasks *tasks);
void cw_tasks_done_store(cw_tasks *tasks);
/* Have the row of a task written, with the lock. False: the task has no row, or the store has ended. */
bool cw_task_queue(cw_task *t);
/* Its state has changed while it runs. With the lock. */
void cw_task_note(cw_task *t, cw_task_change how);
/* Run the job, with the lock. */
void cw_tasks_ask(cw_tasks *tasks);

/* lookup.c */

void cw_tasks_init_lookups(cw_tasks *tasks);
void cw_tasks_done_lookups(cw_tasks *tasks);
bool cw_task_row_is_sound(const cw_db_task *row);
/* Take the end of its row. With the lock. */
void cw_task_adopt(cw_task *t, const cw_db_task *row);
/* Another server has ended it: take that end. On the store's thread. */
CW_MUST_USE cw_code cw_task_adopt_row(cw_task *t, cw_db *db, cw_err *err);
/* Have its row compared, with the lock. */
void cw_task_queue_check(cw_task *t);
/* Cancel a task of another server, as an operator. On the store's thread. */
CW_MUST_USE cw_code cw_tasks_cancel_row(cw_tasks *tasks, cw_str id, cw_db *db, cw_err *err);
/* Compare those that wait with their rows. On the store's thread. */
CW_MUST_USE cw_code cw_tasks_compare(cw_tasks *tasks, cw_db *db, cw_err *err);
/* The tasks that are watched are due again. True: some are. With the lock. */
bool cw_tasks_refresh(cw_tasks *tasks);

#endif
