/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tasks_int.h - the parts of a task and of the table, for tasks.c (states) and save.c (rows). */
#ifndef CW_TASK_TASKS_INT_H
#define CW_TASK_TASKS_INT_H

#include "base/list.h"
#include "base/map.h"
#include "base/process.h"
#include "task/tasks.h"

typedef struct cw_task_owner {
    cw_str name;
    uint32_t n;
    size_t used;
} cw_task_owner;

/* Events that the loop of a task has not been told. */
enum { CW_TASK_SAVED = 1, CW_TASK_CANCEL = 2, CW_TASK_ENDED = 4 };

/* The row of a task. */
typedef enum cw_task_row { CW_TASK_NO_ROW, CW_TASK_ROW, CW_TASK_ROW_ENDED } cw_task_row;

struct cw_task {
    cw_list node; /* of all, oldest first */
    cw_tasks *table;
    cw_task_owner *owner; /* NULL: it is not in the table */
    atomic_uint refs;
    atomic_int n_watchers;
    cw_str tool, method, caller; /* behind it */
    cw_str owner_name;           /* likewise */
    int64_t created, until;
    size_t share; /* of its owner, in bytes */
    /* Under the lock. */
    cw_task_status status;
    uint32_t n_questions;
    cw_list questions;
    int64_t updated;
    char *message; /* NULL: none */
    size_t used;
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
    cw_list save_node; /* of `unsaved` or `writing` */
    cw_task_row row, written;
    /* Of save.c, on the thread of the store: it runs in another process. */
    cw_list elsewhere_node;
    /* The loop's. */
    const cw_task_ops *ops;
    void *self;
    /* Under the lock. */
    bool is_here; /* counted in n_running */
    bool is_posted;
    bool is_ending;
    bool is_saving; /* it has a row, or gets one */
    bool is_told;   /* that it is saved */
    char id[CW_TASK_ID];
};

struct cw_tasks {
    pthread_mutex_t lock;
    cw_map tasks;  /* id -> task */
    cw_map owners; /* name -> owner */
    cw_list all;
    size_t used;
    uint32_t n_running; /* here */
    /* Of save.c, under the lock. */
    cw_store *store; /* NULL: none */
    cw_store_job job;
    bool is_asked;  /* the job waits or runs */
    bool is_closed; /* the store has ended */
    bool is_loaded;
    cw_list unsaved;
    pthread_cond_t is_idle;
    /* Of save.c, on the thread of the store. */
    cw_list writing, elsewhere;
    int64_t renew_at, expire_at;
    char process[CW_PROCESS_ID];
    atomic_bool has_elsewhere;
};

/* tasks.c, with the lock */

/* A task without an id, in no table; one reference. NULL without memory. */
cw_task *cw_task_new(cw_tasks *tasks, const cw_task_start *start, int64_t created, int64_t until);
/* The table takes a reference. */
CW_MUST_USE cw_code cw_tasks_enter(cw_tasks *tasks, cw_task *t);
/* Whether it has ended, or will have when that is written. */
bool cw_task_is_closed(const cw_task *t);
/* Set its end, once. It can be read after cw_task_publish. */
void cw_task_set_end(cw_task *t, cw_task_status status, cw_str message, cw_str payload,
                     int64_t when);
/* Its end can be read from now on. */
void cw_task_publish(cw_task *t);
/* Tell the loop of its call. */
void cw_task_post(cw_task *t, unsigned event);

/* save.c */

void cw_tasks_init_store(cw_tasks *tasks);
void cw_tasks_done_store(cw_tasks *tasks);
/* Have the row of a task written, with the lock. False: there is no store. */
bool cw_task_queue(cw_task *t);

#endif
