/* SPDX-License-Identifier: GPL-2.0-or-later */
/* save.c - the rows of tasks: written in groups, read at the start, ended for servers that were lost.
 *
 * One job of the store writes all rows that wait, in one change. Rows that come meanwhile wait for the
 * next. The lists `unsaved` and `later` are under the lock; `writing` belongs to the store's thread.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/node.h"
#include "base/thread.h"
#include "task/tasks_int.h"

/* A task of a lost server fails within 30 s: when the lease (LEASE_MS, or that of the row of the server)
 * has expired, and at most JUDGE_MS later. */
#define LEASE_MS 20000
#define RENEW_MS 5000
#define JUDGE_MS 5000
/* Other servers may have ended the tasks of a server that has not judged for so long. */
#define LAPSE_MS 10000
#define EXPIRE_MS 60000
#define LOST "The server has ended while the task ran."
#define LOST_ERROR "{\"code\":-32603,\"message\":\"" LOST "\"}"

static cw_task *saved_at(cw_list *node)
{
    return CW_CONTAINER(node, cw_task, save_node);
}

/* ---- the queue, with the lock ---- */

/* If the queue of the store is full, the next tick asks again. */
void cw_tasks_ask(cw_tasks *tasks)
{
    if (tasks->store && !tasks->is_asked && !tasks->is_closed)
        tasks->is_asked = !cw_store_ask(tasks->store, &tasks->job);
}

static void enqueue(cw_task *t)
{
    if (cw_list_is_in(&t->save_node) && !t->is_later)
        return;
    if (t->is_later)
        cw_list_remove(&t->save_node);
    else
        cw_task_ref(t);
    t->is_later = false;
    cw_list_add(&t->table->unsaved, &t->save_node);
}

/* Write the row with the next tick: a call may report progress very often. */
static void enqueue_later(cw_task *t)
{
    if (cw_list_is_in(&t->save_node))
        return;
    cw_task_ref(t);
    t->is_later = true;
    cw_list_add(&t->table->later, &t->save_node);
}

static void enqueue_changed(cw_task *t)
{
    if (t->changed == CW_TASK_CHANGED_MUCH)
        enqueue(t);
    else if (t->changed)
        enqueue_later(t);
}

/* Only other servers read the state of a running task from its row. */
void cw_task_note(cw_task *t, cw_task_change how)
{
    if (t->is_elsewhere || cw_task_is_closed(t))
        return;
    /* Noted also before the first row is written, since that row has no state. */
    if (t->changed < how)
        t->changed = how;
    if (!t->is_saving || !t->table->has_others || t->table->is_closed)
        return;
    enqueue_changed(t);
    if (how == CW_TASK_CHANGED_MUCH)
        cw_tasks_ask(t->table);
}

bool cw_task_queue(cw_task *t)
{
    if (!t->is_saving || t->table->is_closed)
        return false;
    enqueue(t);
    cw_tasks_ask(t->table);
    return true;
}

cw_code cw_task_save(cw_task *task)
{
    pthread_mutex_lock(&task->table->lock);
    task->is_saving = task->table->store != NULL;
    /* A task that was cancelled meanwhile ends on its loop before its row is written. */
    bool has_ended = task->status >= CW_TASK_COMPLETED;
    bool is_told_later = cw_task_queue(task) && task->loop && !has_ended;
    pthread_mutex_unlock(&task->table->lock);
    return is_told_later ? CW_AGAIN : CW_OK;
}

/* ---- reading, on the store's thread ---- */

/* End the tasks of servers that were lost, in their rows. */
static cw_code judge(cw_tasks *tasks, cw_db *db, int64_t now, cw_err *err)
{
    const cw_db_task end = {
        .status = CW_TASK_FAILED, .message = CW_STR(LOST), .payload = CW_STR(LOST_ERROR)};
    int64_t n = 0, time = 0;
    cw_code rc = cw_db_now(db, &time, err);
    if (!rc)
        rc = cw_db_end_lost_tasks(db, cw_str_from(tasks->process), &end, &n, err);
    if (rc)
        return rc;
    if (n)
        cw_log(CW_LOG_WARN, "task", "tasks of a server that has ended have failed",
               CW_KN("tasks", n));
    tasks->ahead = time - now;
    tasks->judge_at = now + JUDGE_MS;
    return CW_OK;
}

/* Enter the task of a row. With the lock. */
static cw_code enter_row(cw_tasks *tasks, const cw_db_task *row)
{
    cw_task_start start = {
        .owner = row->owner, .caller = row->caller, .tool = row->tool, .method = row->method};
    cw_task *t = cw_task_new(tasks, &start, row->created, row->expires);
    if (!t)
        return CW_NOMEM;
    memcpy(t->id, row->id.p, row->id.n);
    t->share = t->total = SIZE_MAX;
    t->is_anonymous = cw_str_starts(row->owner, CW_STR(CW_TASK_ANONYMOUS));
    t->is_saving = true;
    t->row = CW_TASK_ROW;
    cw_code rc = cw_tasks_enter(tasks, t);
    if (!rc)
        cw_task_adopt(t, row);
    cw_task_unref(t);
    return rc;
}

/* Whether another server has it in memory. */
static bool is_served(const cw_tasks *tasks, const cw_db_task *row)
{
    if (cw_str_is(row->process, tasks->process))
        return false;
    cw_process_state state = cw_process_state_of(row->process);
    return state == CW_PROCESS_ALIVE || (state == CW_PROCESS_UNKNOWN && row->is_living);
}

/* Rows for which there is no room, and those of other servers, are looked up when they are needed. */
static cw_code on_row(const cw_db_task *row, void *ctx, cw_err *err)
{
    cw_tasks *tasks = ctx;
    if (!cw_task_row_is_sound(row) || is_served(tasks, row))
        return CW_OK;
    size_t n = sizeof(cw_task) + row->message.n + row->payload.n;
    pthread_mutex_lock(&tasks->lock);
    bool is_entered = !cw_map_find(&tasks->tasks, row->id) &&
                      cw_tasks_has_room(tasks, &tasks->limits, row->owner, n);
    cw_code rc = is_entered ? enter_row(tasks, row) : CW_OK;
    pthread_mutex_unlock(&tasks->lock);
    return rc ? cw_fail_nomem(err) : CW_OK;
}

static cw_code load(cw_tasks *tasks, cw_db *db, int64_t now, cw_err *err)
{
    cw_code rc = judge(tasks, db, now, err);
    if (!rc)
        rc = cw_db_each_task(db, now, on_row, tasks, err);
    tasks->loaded = now;
    pthread_mutex_lock(&tasks->lock);
    tasks->is_loaded = !rc;
    pthread_mutex_unlock(&tasks->lock);
    return rc;
}

/* Another server may have ended the tasks that run here, because this one did not renew its row. */
static void suspect_all(cw_tasks *tasks)
{
    pthread_mutex_lock(&tasks->lock);
    CW_LIST_EACH (node, &tasks->all) {
        cw_task *t = CW_CONTAINER(node, cw_task, node);
        if (t->is_here && t->row == CW_TASK_ROW)
            cw_task_queue_check(t);
    }
    pthread_mutex_unlock(&tasks->lock);
}

/* Whether tasks of lost servers may appear. A server that was lost before this one began may never have
 * been seen, but the leases of its tasks run on. With the lock. */
static bool may_lose_servers(const cw_tasks *tasks)
{
    return tasks->is_shared || !tasks->is_settled;
}

/* Look after the tasks of all servers. */
static cw_code look_after(cw_tasks *tasks, cw_db *db, int64_t now, cw_err *err)
{
    if (now < tasks->judge_at)
        return CW_OK;
    cw_code rc = judge(tasks, db, now, err);
    if (rc)
        return rc;
    if (now - tasks->judged > LAPSE_MS)
        suspect_all(tasks);
    tasks->judged = now;
    if (now - tasks->loaded >= LEASE_MS + JUDGE_MS) {
        pthread_mutex_lock(&tasks->lock);
        tasks->is_settled = true;
        pthread_mutex_unlock(&tasks->lock);
    }
    return CW_OK;
}

/* ---- writing, on the store's thread ---- */

/* Take at most `max` waiting tasks, and decide what is written of each. With the lock. */
static void take_waiting(cw_tasks *tasks, unsigned max)
{
    for (unsigned n = 0; n < max && !cw_list_is_empty(&tasks->unsaved); n++) {
        cw_task *t = saved_at(cw_list_take_first(&tasks->unsaved));
        t->written = cw_task_is_closed(t) ? CW_TASK_ROW_ENDED : CW_TASK_ROW;
        cw_list_add(&tasks->writing, &t->save_node);
    }
}

/* The state of a running task, for other servers. */
static cw_code write_state(cw_db *db, cw_task *t, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_db_task row = {.id = cw_task_id(t)};
    cw_buf_init(&text, CW_BUF_MAX);
    pthread_mutex_lock(&t->table->lock);
    size_t n_message = t->message ? strlen(t->message) : 0;
    cw_buf_add_bytes(&text, t->message, n_message);
    if (t->n_questions)
        cw_task_write_questions(t, &text);
    row.status = t->status;
    row.updated = t->updated;
    t->changed = CW_TASK_SAME;
    pthread_mutex_unlock(&t->table->lock);
    if (text.code)
        return cw_fail_nomem(err);
    cw_str all = cw_buf_str(&text);
    row.message = cw_str_make(all.p, n_message);
    row.payload = cw_str_make(all.p + n_message, all.n - n_message);
    return cw_db_update_task(db, &row, err);
}

/* The end of a task is constant, so it is read here without the lock. */
static cw_code write_end(cw_db *db, const cw_task *t, cw_db_task *row, cw_err *err)
{
    row->status = t->end_status;
    row->message = cw_str_from(t->end_message ? t->end_message : "");
    row->payload = cw_str_make(t->payload, t->n_payload);
    row->ended = t->ended;
    return t->row == CW_TASK_NO_ROW ? cw_db_add_task(db, row, err) : cw_db_end_task(db, row, err);
}

static cw_code write_row(cw_db *db, cw_task *t, int64_t now, cw_err *err)
{
    cw_code rc;
    cw_db_task row = {.id = cw_task_id(t),
                      .owner = t->owner_name,
                      .caller = t->caller,
                      .tool = t->tool,
                      .method = t->method,
                      .process = cw_str_from(t->table->process),
                      .node = cw_str_from(cw_node_text()),
                      .status = CW_TASK_WORKING,
                      .created = t->created,
                      .expires = t->until,
                      .alive = now + t->table->ahead + LEASE_MS};
    if (t->written == CW_TASK_ROW_ENDED)
        rc = write_end(db, t, &row, err);
    else if (t->row == CW_TASK_NO_ROW)
        rc = cw_db_add_task(db, &row, err);
    else
        rc = write_state(db, t, err);
    /* Another server has ended it, or its row has expired. */
    return rc == CW_DONE ? cw_task_adopt_row(t, db, err) : rc;
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
        rc = cw_db_renew_tasks(db, cw_str_from(tasks->process), now + tasks->ahead + LEASE_MS, err);
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
    cw_code rc = tasks->is_loaded ? CW_OK : load(tasks, db, now, err);
    pthread_mutex_lock(&tasks->lock);
    take_waiting(tasks, CW_TASKS_GROUP);
    bool may_lose = may_lose_servers(tasks);
    pthread_mutex_unlock(&tasks->lock);
    if (!rc && may_lose)
        rc = look_after(tasks, db, now, err);
    if (!rc)
        rc = cw_tasks_compare(tasks, db, err);
    bool is_due = now >= tasks->renew_at || now >= tasks->expire_at;
    if (rc || (cw_list_is_empty(&tasks->writing) && !is_due))
        return rc;
    rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, write_group(tasks, db, now, err), err);
}

/* Whether its time is over, so that a row would be of no use. */
static bool is_over(const cw_task *t)
{
    return t->until <= cw_clock_wall_ms();
}

/* Whether an end must be written before it is published: another server may have ended the task. Other
 * servers cannot find a task without a row. */
static bool must_be_written(const cw_task *t, cw_code rc)
{
    return rc && rc != CW_GONE && t->table->has_others && t->row == CW_TASK_ROW && !is_over(t);
}

/* A row was written, or could not be. With the lock. */
static void take_written(cw_task *t, cw_code rc)
{
    if (!rc && t->row < t->written)
        t->row = t->written;
    if (rc && t->written == CW_TASK_ROW && t->row == CW_TASK_ROW && !t->changed)
        t->changed = CW_TASK_CHANGED;
    if (!t->is_told)
        cw_task_post(t, CW_TASK_SAVED);
    t->is_told = true;
    /* A result that cannot be written can still be read, while this process lives. */
    if (t->written == CW_TASK_ROW_ENDED && t->status < CW_TASK_COMPLETED &&
        !must_be_written(t, rc)) {
        cw_task_publish(t);
        cw_task_post(t, CW_TASK_ENDED);
    }
    /* Its bytes are no longer counted, so it must not wait until the database is available. */
    if (t->status >= CW_TASK_COMPLETED && is_over(t))
        return;
    if (t->row != (cw_task_is_closed(t) ? CW_TASK_ROW_ENDED : CW_TASK_ROW))
        enqueue(t);
    else if (!cw_task_is_closed(t) && t->table->has_others)
        enqueue_changed(t);
}

static void done(cw_store_job *job, cw_code rc)
{
    cw_tasks *tasks = CW_CONTAINER(job, cw_tasks, job);
    pthread_mutex_lock(&tasks->lock);
    /* Without a database the job has not run. No task waits until the database is available. */
    if (rc)
        take_waiting(tasks, UINT_MAX);
    for (cw_list *node; (node = cw_list_take_first(&tasks->writing));) {
        take_written(saved_at(node), rc);
        cw_task_unref(saved_at(node));
    }
    tasks->is_asked = false;
    tasks->is_closed = rc == CW_GONE;
    if (!rc && !cw_list_is_empty(&tasks->unsaved))
        cw_tasks_ask(tasks);
    if (!tasks->is_asked)
        pthread_cond_broadcast(&tasks->is_idle);
    pthread_mutex_unlock(&tasks->lock);
}

/* ---- the table ---- */

void cw_tasks_init_store(cw_tasks *tasks)
{
    cw_thread_cond_init(&tasks->is_idle);
    cw_list_init(&tasks->unsaved);
    cw_list_init(&tasks->later);
    cw_list_init(&tasks->writing);
    tasks->is_loaded = true; /* without a store there is nothing to load */
}

void cw_tasks_done_store(cw_tasks *tasks)
{
    for (cw_list *node; (node = cw_list_take_first(&tasks->unsaved));)
        cw_task_unref(saved_at(node));
    for (cw_list *node; (node = cw_list_take_first(&tasks->later));)
        cw_task_unref(saved_at(node));
    pthread_cond_destroy(&tasks->is_idle);
}

void cw_tasks_set_store(cw_tasks *tasks, cw_store *store, const cw_config_tasks *limits)
{
    cw_process_name(tasks->process);
    /* Without a name, other servers recognize a living process by its lease only. */
    if (!tasks->process[0])
        memcpy(tasks->process, cw_node_text(), CW_NODE_TEXT);
    pthread_mutex_lock(&tasks->lock);
    tasks->store = store;
    tasks->limits = *limits;
    tasks->job = (cw_store_job){.run = run, .done = done};
    tasks->is_loaded = false;
    cw_tasks_ask(tasks);
    pthread_mutex_unlock(&tasks->lock);
}

/* Write the states of running tasks for servers that have started meanwhile. With the lock. */
static void note_others(cw_tasks *tasks, bool has_others)
{
    bool is_new = has_others && !tasks->has_others;
    tasks->has_others = has_others;
    tasks->is_shared = tasks->is_shared || has_others;
    if (!is_new)
        return;
    CW_LIST_EACH (node, &tasks->all) {
        cw_task *t = CW_CONTAINER(node, cw_task, node);
        if (t->is_here && t->row == CW_TASK_ROW && !cw_task_is_closed(t))
            enqueue_changed(t);
    }
}

void cw_tasks_tick(cw_tasks *tasks, uint32_t number, bool has_others)
{
    atomic_store(&tasks->number, number);
    pthread_mutex_lock(&tasks->lock);
    note_others(tasks, has_others);
    for (cw_list *node; (node = cw_list_take_first(&tasks->later));) {
        saved_at(node)->is_later = false;
        cw_list_add(&tasks->unsaved, node);
    }
    bool is_due = cw_tasks_refresh(tasks);
    if (is_due || !tasks->is_loaded || !cw_list_is_empty(&tasks->unsaved) || tasks->n_running ||
        may_lose_servers(tasks))
        cw_tasks_ask(tasks);
    pthread_mutex_unlock(&tasks->lock);
}

void cw_tasks_flush(cw_tasks *tasks, uint32_t ms)
{
    struct timespec until = cw_thread_deadline(ms);
    pthread_mutex_lock(&tasks->lock);
    if (!cw_list_is_empty(&tasks->unsaved))
        cw_tasks_ask(tasks);
    int rc = 0;
    while (tasks->is_asked && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&tasks->is_idle, &tasks->lock, &until);
    pthread_mutex_unlock(&tasks->lock);
}
