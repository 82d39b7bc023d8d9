/* SPDX-License-Identifier: GPL-2.0-or-later */
/* save.c - the rows of tasks: written in groups, read at the start, checked while others run them.
 *
 * One job of the store writes all rows that wait, in one change. Rows that come meanwhile wait for the
 * next. The list `unsaved` is under the lock; `writing` and `elsewhere` belong to the store's thread.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/hex.h"
#include "base/random.h"
#include "base/thread.h"
#include "store/task.h"
#include "task/tasks_int.h"

#define LEASE_MS 30000
#define RENEW_MS (LEASE_MS / 3)
#define EXPIRE_MS 60000
#define LOST "The server has ended while the task ran."
#define LOST_ERROR "{\"code\":-32603,\"message\":\"" LOST "\"}"

static cw_task *saved_at(cw_list *node)
{
    return CW_CONTAINER(node, cw_task, save_node);
}

/* ---- the queue, with the lock ---- */

/* A store whose queue is full is asked again with the next tick. */
static void ask(cw_tasks *tasks)
{
    if (tasks->store && !tasks->is_asked && !tasks->is_closed)
        tasks->is_asked = !cw_store_ask(tasks->store, &tasks->job);
}

static void enqueue(cw_task *t)
{
    if (cw_list_is_in(&t->save_node))
        return;
    cw_task_ref(t);
    cw_list_add(&t->table->unsaved, &t->save_node);
}

bool cw_task_queue(cw_task *t)
{
    if (!t->is_saving || t->table->is_closed)
        return false;
    enqueue(t);
    ask(t->table);
    return true;
}

cw_code cw_task_save(cw_task *task)
{
    pthread_mutex_lock(&task->table->lock);
    task->is_saving = task->table->store != NULL;
    bool is_told_later = cw_task_queue(task) && task->loop;
    pthread_mutex_unlock(&task->table->lock);
    return is_told_later ? CW_AGAIN : CW_OK;
}

/* ---- reading, on the store's thread ---- */

/* Whether no process runs the task any more. A process that cannot be seen has promised a time. */
static bool is_lost(const cw_db_task *row)
{
    cw_process_state state = cw_process_state_of(row->process);
    return state == CW_PROCESS_ENDED ||
           (state == CW_PROCESS_UNKNOWN && cw_clock_wall_ms() >= row->alive);
}

/* The end of a task whose call does not run here. With the lock. */
static void take_end(cw_task *t, const cw_db_task *row)
{
    if (cw_task_is_closed(t))
        return;
    if (row->ended) {
        cw_task_set_end(t, (cw_task_status)row->status, row->message, row->payload, row->ended);
        t->row = CW_TASK_ROW_ENDED;
    } else {
        cw_task_set_end(t, CW_TASK_FAILED, CW_STR(LOST), CW_STR(LOST_ERROR), cw_clock_wall_ms());
        enqueue(t);
    }
    cw_task_publish(t);
}

static bool is_sound(const cw_db_task *row)
{
    bool is_ended = row->status == CW_TASK_COMPLETED || row->status == CW_TASK_FAILED ||
                    row->status == CW_TASK_CANCELLED;
    return row->id.n == CW_TASK_ID - 1 && (!row->ended || is_ended) &&
           (row->status != CW_TASK_COMPLETED || row->payload.n);
}

/* Enter the task of a row. With the lock. */
static cw_code enter_row(cw_tasks *tasks, const cw_db_task *row, bool is_over)
{
    cw_task_start start = {
        .owner = row->owner, .caller = row->caller, .tool = row->tool, .method = row->method};
    cw_task *t = cw_task_new(tasks, &start, row->created, row->expires);
    if (!t)
        return CW_NOMEM;
    memcpy(t->id, row->id.p, row->id.n);
    t->share = SIZE_MAX;
    t->is_saving = true;
    t->row = CW_TASK_ROW;
    cw_code rc = cw_tasks_enter(tasks, t);
    if (!rc && is_over)
        take_end(t, row);
    if (!rc && !is_over)
        cw_list_add(&tasks->elsewhere, &cw_task_ref(t)->elsewhere_node);
    cw_task_unref(t);
    return rc;
}

static cw_code on_row(const cw_db_task *row, void *ctx, cw_err *err)
{
    cw_tasks *tasks = ctx;
    if (!is_sound(row))
        return CW_OK;
    bool is_over = row->ended || is_lost(row);
    pthread_mutex_lock(&tasks->lock);
    bool is_there = cw_map_find(&tasks->tasks, row->id) != NULL;
    cw_code rc = is_there ? CW_OK : enter_row(tasks, row, is_over);
    pthread_mutex_unlock(&tasks->lock);
    return rc ? cw_fail_nomem(err) : CW_OK;
}

static cw_code load(cw_tasks *tasks, cw_db *db, cw_err *err)
{
    cw_code rc = cw_db_each_task(db, cw_clock_wall_ms(), on_row, tasks, err);
    pthread_mutex_lock(&tasks->lock);
    tasks->is_loaded = !rc;
    pthread_mutex_unlock(&tasks->lock);
    return rc;
}

typedef struct checked {
    cw_task *task;
    bool runs;
} checked;

static cw_code on_checked(const cw_db_task *row, void *ctx, cw_err *err)
{
    checked *c = ctx;
    (void)err;
    c->runs = !row->ended && !is_lost(row);
    if (!c->runs && is_sound(row)) {
        pthread_mutex_lock(&c->task->table->lock);
        take_end(c->task, row);
        pthread_mutex_unlock(&c->task->table->lock);
    }
    return CW_OK;
}

/* The tasks that other processes run: one may have ended, or its process. */
static cw_code check_elsewhere(cw_tasks *tasks, cw_db *db, cw_err *err)
{
    cw_code rc = CW_OK;
    CW_LIST_EACH_SAFE (node, &tasks->elsewhere) {
        checked c = {.task = CW_CONTAINER(node, cw_task, elsewhere_node)};
        rc = cw_db_find_task(db, cw_task_id(c.task), on_checked, &c, err);
        if (rc)
            break;
        if (!c.runs) {
            cw_list_remove(node);
            cw_task_unref(c.task);
        }
    }
    atomic_store(&tasks->has_elsewhere, !cw_list_is_empty(&tasks->elsewhere));
    return rc;
}

/* ---- writing, on the store's thread ---- */

/* Take some of those that wait. What is written of each is decided here. With the lock. */
static void take_waiting(cw_tasks *tasks, unsigned max)
{
    for (unsigned n = 0; n < max && !cw_list_is_empty(&tasks->unsaved); n++) {
        cw_task *t = saved_at(cw_list_take_first(&tasks->unsaved));
        t->written = cw_task_is_closed(t) ? CW_TASK_ROW_ENDED : CW_TASK_ROW;
        cw_list_add(&tasks->writing, &t->save_node);
    }
}

/* The end of a task is constant, so it is read here without the lock. */
static cw_code write_row(cw_db *db, const cw_task *t, int64_t now, cw_err *err)
{
    cw_db_task row = {.id = cw_task_id(t),
                      .owner = t->owner_name,
                      .caller = t->caller,
                      .tool = t->tool,
                      .method = t->method,
                      .process = cw_str_from(t->table->process),
                      .status = CW_TASK_WORKING,
                      .created = t->created,
                      .expires = t->until,
                      .alive = now + LEASE_MS};
    if (t->written == CW_TASK_ROW_ENDED) {
        row.status = t->end_status;
        row.message = cw_str_from(t->end_message ? t->end_message : "");
        row.payload = cw_str_make(t->payload, t->n_payload);
        row.ended = t->ended;
    }
    if (t->row == CW_TASK_NO_ROW)
        return cw_db_add_task(db, &row, err);
    cw_code rc = t->written == CW_TASK_ROW_ENDED ? cw_db_end_task(db, &row, err) : (cw_code)CW_OK;
    return rc == CW_DONE ? CW_OK : rc;
}

static cw_code write_group(cw_tasks *tasks, cw_db *db, int64_t now, cw_err *err)
{
    cw_code rc = CW_OK;
    CW_LIST_EACH (node, &tasks->writing) {
        rc = write_row(db, saved_at(node), now, err);
        if (rc)
            return rc;
    }
    if (now >= tasks->renew_at) {
        rc = cw_db_renew_tasks(db, cw_str_from(tasks->process), now + LEASE_MS, err);
        tasks->renew_at = now + RENEW_MS;
    }
    if (!rc && now >= tasks->expire_at) {
        rc = cw_db_expire_tasks(db, now, err);
        tasks->expire_at = now + EXPIRE_MS;
    }
    return rc;
}

static cw_code run(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_tasks *tasks = CW_CONTAINER(job, cw_tasks, job);
    int64_t now = cw_clock_wall_ms();
    cw_code rc = tasks->is_loaded ? CW_OK : load(tasks, db, err);
    pthread_mutex_lock(&tasks->lock);
    take_waiting(tasks, CW_TASKS_GROUP);
    pthread_mutex_unlock(&tasks->lock);
    if (!rc)
        rc = check_elsewhere(tasks, db, err);
    bool is_due = now >= tasks->renew_at || now >= tasks->expire_at;
    if (rc || (cw_list_is_empty(&tasks->writing) && !is_due))
        return rc;
    rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, write_group(tasks, db, now, err), err);
}

/* A row was written, or could not be. With the lock. */
static void take_written(cw_task *t, cw_code rc)
{
    if (!rc && t->row < t->written)
        t->row = t->written;
    if (!t->is_told)
        cw_task_post(t, CW_TASK_SAVED);
    t->is_told = true;
    /* A result that cannot be written can still be read, while this process lives. */
    if (t->written == CW_TASK_ROW_ENDED && t->status < CW_TASK_COMPLETED) {
        cw_task_publish(t);
        cw_task_post(t, CW_TASK_ENDED);
    }
    if (t->row != (cw_task_is_closed(t) ? CW_TASK_ROW_ENDED : CW_TASK_ROW))
        enqueue(t);
}

static void done(cw_store_job *job, cw_code rc)
{
    cw_tasks *tasks = CW_CONTAINER(job, cw_tasks, job);
    pthread_mutex_lock(&tasks->lock);
    /* Without a database the job has not run. No task waits for one that is away. */
    if (rc)
        take_waiting(tasks, UINT_MAX);
    for (cw_list *node; (node = cw_list_take_first(&tasks->writing));) {
        take_written(saved_at(node), rc);
        cw_task_unref(saved_at(node));
    }
    tasks->is_asked = false;
    tasks->is_closed = rc == CW_GONE;
    if (!rc && !cw_list_is_empty(&tasks->unsaved))
        ask(tasks);
    if (!tasks->is_asked)
        pthread_cond_broadcast(&tasks->is_idle);
    pthread_mutex_unlock(&tasks->lock);
}

/* ---- the table ---- */

void cw_tasks_init_store(cw_tasks *tasks)
{
    cw_thread_cond_init(&tasks->is_idle);
    cw_list_init(&tasks->unsaved);
    cw_list_init(&tasks->writing);
    cw_list_init(&tasks->elsewhere);
    atomic_init(&tasks->has_elsewhere, false);
    tasks->is_loaded = true; /* without a store there is nothing to load */
}

void cw_tasks_done_store(cw_tasks *tasks)
{
    for (cw_list *node; (node = cw_list_take_first(&tasks->unsaved));)
        cw_task_unref(saved_at(node));
    for (cw_list *node; (node = cw_list_take_first(&tasks->elsewhere));)
        cw_task_unref(CW_CONTAINER(node, cw_task, elsewhere_node));
    pthread_cond_destroy(&tasks->is_idle);
}

void cw_tasks_set_store(cw_tasks *tasks, cw_store *store)
{
    unsigned char bytes[16] = {0};
    cw_process_name(tasks->process);
    /* Then the time that it promises tells other processes that it lives. */
    if (!tasks->process[0] && !cw_random_bytes(bytes, sizeof bytes, NULL))
        cw_hex_write(tasks->process, bytes, sizeof bytes);
    pthread_mutex_lock(&tasks->lock);
    tasks->store = store;
    tasks->job = (cw_store_job){.run = run, .done = done};
    tasks->is_loaded = false;
    ask(tasks);
    pthread_mutex_unlock(&tasks->lock);
}

void cw_tasks_tick(cw_tasks *tasks)
{
    pthread_mutex_lock(&tasks->lock);
    if (!tasks->is_loaded || !cw_list_is_empty(&tasks->unsaved) || tasks->n_running ||
        atomic_load(&tasks->has_elsewhere))
        ask(tasks);
    pthread_mutex_unlock(&tasks->lock);
}

void cw_tasks_flush(cw_tasks *tasks, uint32_t ms)
{
    struct timespec until = cw_thread_deadline(ms);
    pthread_mutex_lock(&tasks->lock);
    if (!cw_list_is_empty(&tasks->unsaved))
        ask(tasks);
    int rc = 0;
    while (tasks->is_asked && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&tasks->is_idle, &tasks->lock, &until);
    pthread_mutex_unlock(&tasks->lock);
}
