/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lookup.c - tasks of other servers: their rows are looked up, compared, cancelled. */
#include <stdlib.h>

#include "base/clock.h"
#include "task/tasks_int.h"

#define OLD_ID 66u /* digits of the ids of earlier versions */
/* After the time of a task: its server writes its end, and the next tick reads that. */
#define LATE_MS 3000
#define OVER_ERROR "{\"code\":-32603,\"message\":\"" CW_TASK_OVER "\"}"

struct cw_task_lookup {
    cw_list node; /* of `lookups` or `found` */
    cw_tasks *table;
    atomic_uint refs; /* of the loop, and of the store's thread */
    cw_loop *loop;    /* under the lock; NULL: the loop has ended */
    cw_loop_hook hook;
    cw_message message;
    cw_task_found_fn fn; /* used by the loop; NULL: no request waits */
    void *ctx;
    cw_task *task;
    cw_code code;
    bool cancels, has_changed;
    cw_str owner, id; /* the texts are behind the struct */
};

static cw_task_lookup *lookup_at(cw_list *node)
{
    return CW_CONTAINER(node, cw_task_lookup, node);
}

/* ---- rows ---- */

static bool is_id(cw_str id)
{
    return id.n == CW_TASK_ID - 1 || id.n == OLD_ID;
}

bool cw_task_row_is_sound(const cw_db_task *row)
{
    bool is_ended = row->status == CW_TASK_COMPLETED || row->status == CW_TASK_FAILED ||
                    row->status == CW_TASK_CANCELLED;
    return is_id(row->id) && (!row->ended || is_ended) &&
           (row->status != CW_TASK_COMPLETED || row->payload.n);
}

/* ---- the listener, with the lock ---- */

static void tell(cw_task *t, unsigned what)
{
    cw_tasks *tasks = t->table;
    if (!tasks->listener.loop)
        return;
    t->tells |= what;
    if (!cw_list_is_in(&t->tell_node))
        cw_list_add(&tasks->untold, &cw_task_ref(t)->tell_node);
    cw_loop_notify(tasks->listener.loop, &tasks->inform);
}

/* The next task with events for the listener, and its events; NULL: none. */
static cw_task *take_untold(cw_tasks *tasks, unsigned *ret_what)
{
    pthread_mutex_lock(&tasks->lock);
    cw_list *node = cw_list_take_first(&tasks->untold);
    cw_task *t = node ? CW_CONTAINER(node, cw_task, tell_node) : NULL;
    if (t) {
        *ret_what = t->tells;
        t->tells = 0;
    }
    pthread_mutex_unlock(&tasks->lock);
    return t;
}

static void on_inform(cw_message *message)
{
    cw_tasks *tasks = CW_CONTAINER(message, cw_tasks, inform);
    const cw_tasks_listener *listener = &tasks->listener;
    unsigned what = 0;
    for (cw_task *t; (t = take_untold(tasks, &what));) {
        if (what & CW_TASK_TELL_CANCEL)
            listener->on_cancel(listener->ctx, cw_task_id(t));
        if (what & CW_TASK_TELL_CHANGE)
            listener->on_change(listener->ctx, cw_task_id(t));
        cw_task_unref(t);
    }
}

void cw_tasks_set_listener(cw_tasks *tasks, const cw_tasks_listener *listener)
{
    tasks->listener = *listener;
}

/* ---- comparing ---- */

void cw_task_adopt(cw_task *t, const cw_db_task *row)
{
    if (t->status >= CW_TASK_COMPLETED)
        return;
    cw_task_set_end(t, (cw_task_status)row->status, row->message, row->payload, row->ended);
    t->row = CW_TASK_ROW_ENDED;
    cw_task_publish(t);
    cw_task_post(t, CW_TASK_CANCEL | CW_TASK_ENDED);
}

/* With the lock. */
static void take_row(cw_task *t, const cw_db_task *row)
{
    bool has_changed = row->ended ? t->status < CW_TASK_COMPLETED : false;
    if (row->ended)
        cw_task_adopt(t, row);
    else if (t->is_elsewhere)
        has_changed = cw_task_take_state(t, row);
    if (has_changed && t->is_elsewhere && cw_task_is_watched(t))
        tell(t, CW_TASK_TELL_CHANGE);
}

static cw_code on_compared(const cw_db_task *row, void *ctx, cw_err *err)
{
    cw_task *t = ctx;
    (void)err;
    if (!cw_task_row_is_sound(row))
        return CW_OK;
    pthread_mutex_lock(&t->table->lock);
    take_row(t, row);
    pthread_mutex_unlock(&t->table->lock);
    return CW_OK;
}

cw_code cw_task_adopt_row(cw_task *t, cw_db *db, cw_err *err)
{
    return cw_db_find_task(db, cw_task_id(t), on_compared, t, err);
}

void cw_task_queue_check(cw_task *t)
{
    if (!cw_list_is_in(&t->check_node))
        cw_list_add(&t->table->unchecked, &cw_task_ref(t)->check_node);
}

cw_code cw_tasks_compare(cw_tasks *tasks, cw_db *db, cw_err *err)
{
    cw_code rc = CW_OK;
    pthread_mutex_lock(&tasks->lock);
    for (cw_list *node; (node = cw_list_take_first(&tasks->unchecked));)
        cw_list_add(&tasks->checking, node);
    pthread_mutex_unlock(&tasks->lock);
    while (!rc && !cw_list_is_empty(&tasks->checking)) {
        cw_task *t = CW_CONTAINER(tasks->checking.next, cw_task, check_node);
        rc = cw_task_adopt_row(t, db, err);
        if (rc)
            break; /* the next job begins with it */
        pthread_mutex_lock(&tasks->lock);
        cw_list_remove(&t->check_node);
        pthread_mutex_unlock(&tasks->lock);
        cw_task_unref(t);
    }
    return rc;
}

void cw_tasks_check(cw_tasks *tasks, cw_str id)
{
    pthread_mutex_lock(&tasks->lock);
    cw_task *t = cw_map_find(&tasks->tasks, id);
    if (t && t->is_here) {
        cw_task_queue_check(t);
        cw_tasks_ask(tasks);
    }
    pthread_mutex_unlock(&tasks->lock);
}

/* ---- copies, with the lock ---- */

/* All users of a task of another server share one copy of its row: a result may be large, and the row of
 * a task that is followed is read with each tick. */
static cw_code add_copy(cw_tasks *tasks, cw_task *t)
{
    if (cw_map_put(&tasks->copied, cw_task_id(t), t, NULL))
        return CW_NOMEM;
    cw_list_add(&tasks->copies, &cw_task_ref(t)->copy_node);
    return CW_OK;
}

static void drop_copy(cw_task *t)
{
    cw_list_remove(&t->copy_node);
    (void)cw_map_remove(&t->table->copied, cw_task_id(t));
    cw_task_unref(t);
}

/* Drop copies that only this list references. Only a lookup makes new references to them, and it needs
 * the lock. */
static void drop_copies(cw_tasks *tasks)
{
    CW_LIST_EACH_SAFE (node, &tasks->copies) {
        cw_task *t = CW_CONTAINER(node, cw_task, copy_node);
        if (atomic_load(&t->refs) == 1)
            drop_copy(t);
    }
}

/* The shared copy; NULL: none, or it was dropped because it lacked the memory for the result. */
static cw_task *find_copy(cw_tasks *tasks, const cw_db_task *row)
{
    cw_task *t = cw_map_find(&tasks->copied, row->id);
    if (t && cw_task_is_closed(t) && row->payload.n && !t->payload) {
        drop_copy(t);
        return NULL;
    }
    return t;
}

/* ---- following ---- */

cw_code cw_task_follow(cw_task *task, const cw_fair_key *by)
{
    cw_tasks *tasks = task->table;
    cw_code rc = CW_OK;
    pthread_mutex_lock(&tasks->lock);
    bool must_follow = task->is_elsewhere && task->status < CW_TASK_COMPLETED &&
                       !cw_list_is_in(&task->follow_node);
    if (must_follow)
        rc = cw_fair_slots_enter(&tasks->followers, by, CW_TASKS_FOLLOWED, /* each= */ 0,
                                 &task->follower);
    if (must_follow && !rc)
        cw_list_add(&tasks->followed, &cw_task_ref(task)->follow_node);
    pthread_mutex_unlock(&tasks->lock);
    return rc;
}

/* With the lock. */
static void stop_following(cw_task *t)
{
    cw_list_remove(&t->follow_node);
    cw_fair_slots_leave(&t->table->followers, t->follower);
    t->follower = NULL;
    cw_task_unref(t);
}

/* End a task some time after its time: its row may be gone, so that no reading would end it. */
static void end_late(cw_task *t, int64_t now)
{
    const cw_db_task end = {.status = CW_TASK_FAILED,
                            .message = CW_STR(CW_TASK_OVER),
                            .payload = CW_STR(OVER_ERROR),
                            .ended = now};
    if (t->until + LATE_MS <= now)
        take_row(t, &end);
}

bool cw_tasks_refresh(cw_tasks *tasks)
{
    int64_t now = cw_clock_wall_ms();
    CW_LIST_EACH_SAFE (node, &tasks->followed) {
        cw_task *t = CW_CONTAINER(node, cw_task, follow_node);
        end_late(t, now);
        if (cw_task_is_watched(t) && t->status < CW_TASK_COMPLETED)
            cw_task_queue_check(t);
        else
            stop_following(t);
    }
    drop_copies(tasks);
    return !cw_list_is_empty(&tasks->unchecked);
}

/* ---- looking up: the store's thread ---- */

static void unref_lookup(cw_task_lookup *l, unsigned n)
{
    if (atomic_fetch_sub(&l->refs, n) != n)
        return;
    cw_task_unref(l->task);
    free(l);
}

/* Make the shared copy; NULL without memory. With the lock. */
static cw_task *new_copy(cw_tasks *tasks, const cw_db_task *row)
{
    const cw_task_start start = {
        .owner = row->owner, .caller = row->caller, .tool = row->tool, .method = row->method};
    cw_task *t = cw_task_new(tasks, &start, row->created, row->expires);
    if (!t)
        return NULL;
    memcpy(t->id, row->id.p, row->id.n);
    t->is_elsewhere = true;
    t->row = CW_TASK_ROW;
    if (!add_copy(tasks, t))
        return t;
    cw_task_unref(t);
    return NULL;
}

/* A reference to the shared copy, updated from the row; NULL without memory. */
static cw_task *task_of(cw_tasks *tasks, const cw_db_task *row)
{
    pthread_mutex_lock(&tasks->lock);
    cw_task *t = find_copy(tasks, row);
    t = t ? cw_task_ref(t) : new_copy(tasks, row);
    if (t)
        take_row(t, row);
    pthread_mutex_unlock(&tasks->lock);
    return t;
}

static cw_code on_found(const cw_db_task *row, void *ctx, cw_err *err)
{
    cw_task_lookup *l = ctx;
    (void)err;
    if (!cw_task_row_is_sound(row) || row->expires <= cw_clock_wall_ms() ||
        !cw_str_eq(row->owner, l->owner))
        return CW_OK;
    l->task = task_of(l->table, row);
    l->code = l->task ? CW_OK : CW_NOMEM;
    return CW_OK;
}

/* CW_DONE: the task has ended, or its row is gone. */
static cw_code cancel_row(cw_db *db, cw_str id, cw_err *err)
{
    const cw_db_task end = {.id = id, .status = CW_TASK_CANCELLED, .ended = cw_clock_wall_ms()};
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, cw_db_end_task(db, &end, err), err);
}

static cw_code find(cw_task_lookup *l, cw_db *db, cw_err *err)
{
    l->code = CW_NOTFOUND;
    return cw_db_find_task(db, l->id, on_found, l, err);
}

/* The cancel needs no check of the owner: find() sets l->task only for a task of this owner. */
static cw_code look(cw_task_lookup *l, cw_db *db, cw_err *err)
{
    cw_code rc = find(l, db, err);
    if (rc || !l->cancels || !l->task || cw_task_status_of(l->task) >= CW_TASK_COMPLETED)
        return rc;
    rc = cancel_row(db, l->id, err);
    if (rc && rc != CW_DONE)
        return rc;
    l->has_changed = !rc;
    cw_task_unref(l->task);
    l->task = NULL;
    rc = find(l, db, err);
    if (l->has_changed && l->task) {
        pthread_mutex_lock(&l->table->lock);
        tell(l->task, CW_TASK_TELL_CANCEL);
        pthread_mutex_unlock(&l->table->lock);
    }
    return rc;
}

static cw_code run(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_tasks *tasks = CW_CONTAINER(job, cw_tasks, look);
    cw_code rc = CW_OK;
    pthread_mutex_lock(&tasks->lock);
    for (cw_list *node; (node = cw_list_take_first(&tasks->lookups));)
        cw_list_add(&tasks->found, node);
    pthread_mutex_unlock(&tasks->lock);
    CW_LIST_EACH (node, &tasks->found) {
        cw_task_lookup *l = lookup_at(node);
        rc = look(l, db, err);
        if (rc) {
            l->code = rc;
            break;
        }
    }
    return rc;
}

/* With the lock, which on_loop_end needs to clear l->loop. */
static void answer(cw_task_lookup *l)
{
    l->table->n_lookups--;
    if (l->loop)
        cw_loop_post(l->loop, &l->message);
    else
        unref_lookup(l, 1);
}

static void ask_to_look(cw_tasks *tasks)
{
    if (!tasks->is_looking && !cw_list_is_empty(&tasks->lookups))
        tasks->is_looking = !cw_store_ask(tasks->store, &tasks->look);
}

static void fail_all(cw_list *list, cw_code rc)
{
    if (rc == CW_NOTFOUND)
        rc = CW_IO; /* the database is missing, not the task */
    for (cw_list *node; (node = cw_list_take_first(list));) {
        cw_task_lookup *l = lookup_at(node);
        if (!l->task)
            l->code = rc;
        answer(l);
    }
}

static void done(cw_store_job *job, cw_code rc)
{
    cw_tasks *tasks = CW_CONTAINER(job, cw_tasks, look);
    pthread_mutex_lock(&tasks->lock);
    tasks->is_looking = false;
    if (rc) {
        fail_all(&tasks->found, rc);
        fail_all(&tasks->lookups, rc);
    }
    for (cw_list *node; (node = cw_list_take_first(&tasks->found));)
        answer(lookup_at(node));
    if (rc == CW_GONE)
        tasks->is_closed = true;
    else
        ask_to_look(tasks);
    /* Without a job nothing would run the waiting lookups: the queue of the store is full. */
    if (!tasks->is_looking)
        fail_all(&tasks->lookups, CW_LIMIT);
    pthread_mutex_unlock(&tasks->lock);
}

static cw_code on_any(const cw_db_task *row, void *ctx, cw_err *err)
{
    (void)err;
    *(bool *)ctx = row->expires > cw_clock_wall_ms();
    return CW_OK;
}

cw_code cw_tasks_cancel_row(cw_tasks *tasks, cw_str id, cw_db *db, cw_err *err)
{
    const cw_task_start start = {.owner = CW_STR("")};
    bool is_there = false;
    cw_code rc = is_id(id) ? cw_db_find_task(db, id, on_any, &is_there, err) : (cw_code)CW_OK;
    if (rc || !is_there)
        return rc ? rc : CW_NOTFOUND;
    rc = cancel_row(db, id, err);
    if (rc)
        return rc;
    cw_task *t = cw_task_new(tasks, &start, 0, 0);
    if (!t)
        return CW_OK; /* its server finds the end when the call has ended */
    memcpy(t->id, id.p, id.n);
    t->is_elsewhere = true;
    pthread_mutex_lock(&tasks->lock);
    tell(t, CW_TASK_TELL_CANCEL);
    pthread_mutex_unlock(&tasks->lock);
    cw_task_unref(t);
    return CW_OK;
}

/* ---- looking up: the loop ---- */

static void on_answer(cw_message *message)
{
    cw_task_lookup *l = CW_CONTAINER(message, cw_task_lookup, message);
    cw_loop_remove_hook(&l->hook);
    if (l->fn)
        l->fn(l->ctx, l->task ? CW_OK : l->code, l->task, l->has_changed);
    unref_lookup(l, 2); /* those of the message and the hook */
}

/* The loop ends, and on_loop_end releases the other reference. */
static void on_dropped(cw_message *message)
{
    unref_lookup(CW_CONTAINER(message, cw_task_lookup, message), 1);
}

static void on_loop_end(cw_loop_hook *hook)
{
    cw_task_lookup *l = CW_CONTAINER(hook, cw_task_lookup, hook);
    cw_tasks *tasks = l->table;
    pthread_mutex_lock(&tasks->lock);
    l->loop = NULL;
    pthread_mutex_unlock(&tasks->lock);
    unref_lookup(l, 1);
}

static cw_task_lookup *new_lookup(cw_tasks *tasks, const cw_task_query *query)
{
    cw_task_lookup *l = calloc(1, sizeof *l + query->owner.n + query->id.n);
    if (!l)
        return NULL;
    char *at = (char *)(l + 1);
    memcpy(at, query->owner.p, query->owner.n);
    memcpy(at + query->owner.n, query->id.p, query->id.n);
    l->owner = cw_str_make(at, query->owner.n);
    l->id = cw_str_make(at + query->owner.n, query->id.n);
    l->table = tasks;
    l->loop = query->loop;
    l->hook.on_end = on_loop_end;
    l->message = (cw_message){.fn = on_answer, .drop = on_dropped};
    l->fn = query->fn;
    l->ctx = query->ctx;
    l->cancels = query->cancels;
    atomic_init(&l->refs, 2);
    return l;
}

/* With the lock. */
static bool has_room(const cw_tasks *tasks, cw_str owner)
{
    uint32_t n = 0;
    CW_LIST_EACH (node, &tasks->lookups)
        n += cw_str_eq(lookup_at(node)->owner, owner);
    return n < CW_TASKS_LOOKUPS_SHARE && tasks->n_lookups < CW_TASKS_LOOKUPS;
}

static cw_code enter(cw_tasks *tasks, cw_task_lookup *l)
{
    pthread_mutex_lock(&tasks->lock);
    cw_code rc = has_room(tasks, l->owner) ? CW_OK : CW_LIMIT;
    if (!tasks->store || tasks->is_closed)
        rc = CW_NOTFOUND;
    if (!rc) {
        cw_list_add(&tasks->lookups, &l->node);
        tasks->n_lookups++;
        ask_to_look(tasks);
        /* The queue of the store is full. The client has to repeat its request. */
        if (!tasks->is_looking) {
            cw_list_remove(&l->node);
            tasks->n_lookups--;
            rc = CW_LIMIT;
        }
    }
    pthread_mutex_unlock(&tasks->lock);
    return rc;
}

cw_code cw_tasks_look_up(cw_tasks *tasks, const cw_task_query *query, cw_task_lookup **ret)
{
    if (!is_id(query->id))
        return CW_NOTFOUND;
    cw_task_lookup *l = new_lookup(tasks, query);
    if (!l)
        return CW_NOMEM;
    cw_loop_add_hook(query->loop, &l->hook);
    cw_code rc = enter(tasks, l);
    if (rc) {
        cw_loop_remove_hook(&l->hook);
        free(l);
        return rc;
    }
    *ret = l;
    return CW_OK;
}

void cw_task_lookup_leave(cw_task_lookup *lookup)
{
    lookup->fn = NULL;
}

/* ---- the table ---- */

void cw_tasks_init_lookups(cw_tasks *tasks)
{
    cw_map_init(&tasks->copied, CW_TASKS_MAP);
    cw_list_init(&tasks->copies);
    cw_fair_slots_init(&tasks->followers);
    cw_list_init(&tasks->unchecked);
    cw_list_init(&tasks->checking);
    cw_list_init(&tasks->followed);
    cw_list_init(&tasks->untold);
    cw_list_init(&tasks->lookups);
    cw_list_init(&tasks->found);
    tasks->look = (cw_store_job){.run = run, .done = done};
    tasks->inform.fn = on_inform;
}

void cw_tasks_done_lookups(cw_tasks *tasks)
{
    for (cw_list *node; (node = cw_list_take_first(&tasks->unchecked));)
        cw_task_unref(CW_CONTAINER(node, cw_task, check_node));
    for (cw_list *node; (node = cw_list_take_first(&tasks->checking));)
        cw_task_unref(CW_CONTAINER(node, cw_task, check_node));
    CW_LIST_EACH_SAFE (node, &tasks->followed)
        stop_following(CW_CONTAINER(node, cw_task, follow_node));
    for (cw_list *node; (node = cw_list_take_first(&tasks->untold));)
        cw_task_unref(CW_CONTAINER(node, cw_task, tell_node));
    CW_LIST_EACH_SAFE (node, &tasks->copies)
        drop_copy(CW_CONTAINER(node, cw_task, copy_node));
    cw_map_done(&tasks->copied);
    cw_fair_slots_done(&tasks->followers);
}
