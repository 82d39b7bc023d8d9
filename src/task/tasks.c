/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tasks.c - the table of tasks: owners and their shares, states, questions. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/hex.h"
#include "base/random.h"
#include "base/utf8.h"
#include "json/write.h"
#include "task/tasks_int.h"

#define NUMBER_BYTES 2u
#define RANDOM_BYTES ((CW_TASK_ID - 1) / 2 - NUMBER_BYTES)
#define QUESTIONS_MAX ((size_t)16 << 20) /* in memory, of one task, when its row is read */
#define TOO_LARGE "The result is too large to be kept."
#define NO_MEMORY "There is not enough memory to keep the result."

typedef struct question {
    cw_list node;
    cw_str key, request; /* the texts are behind the struct */
} question;

const char *cw_task_status_name(cw_task_status status)
{
    static const char *const names[] = {"working", "input_required", "completed", "failed",
                                        "cancelled"};
    return names[status];
}

cw_code cw_tasks_new(cw_tasks **ret, cw_err *err)
{
    cw_tasks *t = calloc(1, sizeof *t);
    if (!t)
        return cw_fail_nomem(err);
    pthread_mutex_init(&t->lock, NULL);
    cw_map_init(&t->tasks, CW_TASKS_MAP);
    cw_map_init(&t->owners, CW_TASKS_MAP);
    cw_list_init(&t->all);
    cw_fair_slots_init(&t->places);
    atomic_init(&t->number, 0);
    cw_tasks_init_store(t);
    cw_tasks_init_lookups(t);
    *ret = t;
    return CW_OK;
}

/* ---- under the lock ---- */

bool cw_task_is_closed(const cw_task *t)
{
    return t->is_ending;
}

static void charge(cw_task *t, size_t n)
{
    t->used += n;
    if (!t->owner)
        return;
    t->owner->used += n;
    t->table->used += n;
    if (t->is_anonymous)
        t->table->anonymous_used += n;
}

static void refund(cw_task *t, size_t n)
{
    t->used -= n;
    if (!t->owner)
        return;
    t->owner->used -= n;
    t->table->used -= n;
    if (t->is_anonymous)
        t->table->anonymous_used -= n;
}

/* Free a question that is in no list. */
static void free_question(cw_task *t, question *q)
{
    refund(t, sizeof *q + q->key.n + q->request.n);
    t->n_questions--;
    free(q);
}

static void close_question(cw_task *t, question *q)
{
    cw_list_remove(&q->node);
    free_question(t, q);
}

static void close_questions(cw_task *t)
{
    for (cw_list *node; (node = cw_list_take_first(&t->questions));)
        free_question(t, CW_CONTAINER(node, question, node));
}

static void free_task(cw_task *t)
{
    close_questions(t);
    free(t->message);
    free(t->end_message);
    free(t->payload);
    free(t);
}

void cw_task_unref(cw_task *task)
{
    if (task && atomic_fetch_sub(&task->refs, 1) == 1)
        free_task(task);
}

cw_task *cw_task_ref(cw_task *task)
{
    atomic_fetch_add(&task->refs, 1);
    return task;
}

static void count_out(cw_task *t)
{
    t->table->n_running -= t->is_here;
    t->is_here = false;
}

/* Remove a task from the table, and release the table's reference. */
static void leave_table(cw_tasks *tasks, cw_task *t)
{
    count_out(t);
    cw_task_owner *o = t->owner;
    cw_list_remove(&t->node);
    (void)cw_map_remove(&tasks->tasks, cw_str_from(t->id));
    tasks->used -= t->used;
    o->used -= t->used;
    if (t->is_anonymous)
        tasks->anonymous_used -= t->used;
    cw_fair_slots_leave(&tasks->places, t->place);
    t->place = NULL;
    t->owner = NULL;
    if (--o->n == 0) {
        (void)cw_map_remove(&tasks->owners, o->name);
        free(o);
    }
    cw_task_unref(t);
}

/* Tasks are in the order of their creation. Their times almost always end in that order, too. */
static void sweep(cw_tasks *tasks, int64_t now)
{
    while (!cw_list_is_empty(&tasks->all)) {
        cw_task *t = CW_CONTAINER(tasks->all.next, cw_task, node);
        if (t->until > now)
            return;
        leave_table(tasks, t);
    }
}

void cw_tasks_free(cw_tasks *tasks)
{
    if (!tasks)
        return;
    cw_tasks_done_lookups(tasks);
    cw_tasks_done_store(tasks);
    sweep(tasks, INT64_MAX);
    cw_map_done(&tasks->tasks);
    cw_map_done(&tasks->owners);
    cw_fair_slots_done(&tasks->places);
    pthread_mutex_destroy(&tasks->lock);
    free(tasks);
}

/* The owner of this name, made if the table has none; NULL without memory. */
static cw_task_owner *owner_of(cw_tasks *tasks, cw_str name)
{
    cw_task_owner *o = cw_map_find(&tasks->owners, name);
    if (o)
        return o;
    o = malloc(sizeof *o + name.n);
    if (!o)
        return NULL;
    memcpy(o + 1, name.p, name.n);
    *o = (cw_task_owner){.name = cw_str_make((const char *)(o + 1), name.n)};
    if (cw_map_put(&tasks->owners, o->name, o, NULL)) {
        free(o);
        return NULL;
    }
    return o;
}

bool cw_tasks_has_room(const cw_tasks *tasks, const cw_config_tasks *limits, cw_str owner, size_t n)
{
    const cw_task_owner *o = cw_map_find(&tasks->owners, owner);
    return tasks->tasks.n < limits->max && tasks->used + n <= limits->max_size &&
           (o ? o->n : 0) < limits->max_per_caller &&
           (o ? o->used : 0) + n <= limits->max_size_per_caller;
}

/* Whether anonymous callers leave half of the memory to others. */
static bool fits_half(const cw_task *t, size_t n)
{
    return !t->is_anonymous || t->table->anonymous_used + n <= t->total / 2;
}

/* Take a place. CW_LIMIT; CW_NOMEM. */
static cw_code take_place(cw_task *t, const cw_config_tasks *limits, const cw_task_start *start)
{
    cw_tasks *tasks = t->table;
    if (!cw_tasks_has_room(tasks, limits, start->owner, t->used) || !fits_half(t, t->used))
        return CW_LIMIT;
    return cw_fair_slots_enter(&tasks->places, &start->by, limits->max, /* each= */ 0, &t->place);
}

cw_code cw_tasks_enter(cw_tasks *tasks, cw_task *t)
{
    cw_task_owner *o = owner_of(tasks, t->owner_name);
    if (!o)
        return CW_NOMEM;
    if (cw_map_put(&tasks->tasks, cw_str_from(t->id), t, NULL)) {
        if (o->n == 0) {
            (void)cw_map_remove(&tasks->owners, o->name);
            free(o);
        }
        return CW_NOMEM;
    }
    size_t used = t->used;
    t->owner = o;
    t->used = 0;
    o->n++;
    charge(t, used);
    cw_list_add(&tasks->all, &t->node);
    cw_task_ref(t);
    return CW_OK;
}

static void lock(cw_task *t)
{
    pthread_mutex_lock(&t->table->lock);
}

static void unlock(cw_task *t)
{
    pthread_mutex_unlock(&t->table->lock);
}

/* ---- the beginning ---- */

static void on_event(cw_message *message)
{
    cw_task *t = CW_CONTAINER(message, cw_task, event);
    lock(t);
    unsigned events = t->events;
    t->events = 0;
    t->is_posted = false;
    unlock(t);
    /* Each function may leave the task. */
    if (t->self && (events & CW_TASK_SAVED))
        t->ops->on_saved(t->self);
    if (t->self && (events & CW_TASK_CANCEL))
        t->ops->on_cancel(t->self);
    if (t->self && (events & CW_TASK_ENDED))
        t->ops->on_end(t->self);
    cw_task_unref(t);
}

static void on_dropped(cw_message *message)
{
    cw_task_unref(CW_CONTAINER(message, cw_task, event));
}

void cw_task_post(cw_task *t, unsigned event)
{
    if (!t->loop)
        return;
    t->events |= event;
    if (t->is_posted)
        return;
    t->is_posted = true;
    cw_task_ref(t);
    cw_loop_post(t->loop, &t->event);
}

static cw_str put_text(char **at, cw_str text)
{
    cw_str kept = cw_str_make(*at, text.n);
    if (text.n)
        memcpy(*at, text.p, text.n);
    *at += text.n;
    return kept;
}

static cw_code set_id(cw_task *t)
{
    unsigned number = atomic_load(&t->table->number);
    unsigned char bytes[NUMBER_BYTES + RANDOM_BYTES] = {(unsigned char)(number >> 8),
                                                        (unsigned char)number};
    if (cw_random_bytes(bytes + NUMBER_BYTES, RANDOM_BYTES, NULL))
        return CW_IO;
    cw_hex_write(t->id, bytes, sizeof bytes);
    return CW_OK;
}

uint32_t cw_task_server(cw_str id)
{
    uint32_t number = 0;
    for (size_t i = 0; i < 2 * (size_t)NUMBER_BYTES && id.n == CW_TASK_ID - 1; i++) {
        int digit = cw_hex_value(id.p[i]);
        if (digit < 0)
            return 0;
        number = number << 4 | (uint32_t)digit;
    }
    return number;
}

cw_task *cw_task_new(cw_tasks *tasks, const cw_task_start *start, int64_t created, int64_t until)
{
    size_t n = start->tool.n + start->method.n + start->caller.n + start->owner.n;
    cw_task *t = calloc(1, sizeof *t + n);
    if (!t)
        return NULL;
    char *at = (char *)(t + 1);
    t->table = tasks;
    t->event = (cw_message){.fn = on_event, .drop = on_dropped};
    t->tool = put_text(&at, start->tool);
    t->method = put_text(&at, start->method);
    t->caller = put_text(&at, start->caller);
    t->owner_name = put_text(&at, start->owner);
    t->created = t->updated = created;
    t->until = until;
    t->n_call = start->size;
    t->used = sizeof *t + n + t->n_call;
    cw_list_init(&t->questions);
    atomic_init(&t->refs, 1);
    atomic_init(&t->n_watchers, 0);
    return t;
}

cw_code cw_tasks_add(cw_tasks *tasks, const cw_config_tasks *limits, const cw_task_start *start,
                     cw_task **ret)
{
    int64_t now = cw_clock_wall_ms();
    cw_task *t = cw_task_new(tasks, start, now, now + limits->ttl_ms);
    cw_code rc = t ? set_id(t) : CW_NOMEM;
    if (!rc) {
        t->share = limits->max_size_per_caller;
        t->total = limits->max_size;
        t->is_anonymous = start->is_anonymous;
        pthread_mutex_lock(&tasks->lock);
        sweep(tasks, now);
        rc = take_place(t, limits, start);
        if (!rc && (rc = cw_tasks_enter(tasks, t)) != CW_OK)
            cw_fair_slots_leave(&tasks->places, t->place);
        t->is_here = !rc;
        tasks->n_running += !rc;
        pthread_mutex_unlock(&tasks->lock);
    }
    if (rc)
        cw_task_unref(t);
    else
        *ret = t;
    return rc;
}

void cw_task_drop(cw_task *task)
{
    lock(task);
    cw_tasks *tasks = task->table;
    if (task->owner)
        leave_table(tasks, task);
    pthread_mutex_unlock(&tasks->lock);
    cw_task_unref(task); /* NOLINT: the table's reference was another */
}

bool cw_task_run(cw_task *task, cw_loop *loop, const cw_task_ops *ops, void *self)
{
    lock(task);
    bool is_open = !cw_task_is_closed(task);
    if (is_open) {
        task->loop = loop;
        task->ops = ops;
        task->self = self;
    }
    unlock(task);
    return is_open;
}

uint32_t cw_task_loop(cw_task *task)
{
    lock(task);
    uint32_t index = task->loop ? task->loop->index : UINT32_MAX;
    unlock(task);
    return index;
}

void cw_task_leave(cw_task *task)
{
    lock(task);
    task->loop = NULL;
    task->self = NULL;
    refund(task, task->n_call);
    task->n_call = 0;
    unlock(task);
}

/* ---- finding ---- */

cw_code cw_tasks_find(cw_tasks *tasks, cw_str owner, cw_str id, cw_task **ret)
{
    int64_t now = cw_clock_wall_ms();
    pthread_mutex_lock(&tasks->lock);
    cw_task *t = cw_map_find(&tasks->tasks, id);
    if (t && (t->until <= now || !cw_str_eq(t->owner_name, owner)))
        t = NULL;
    if (t)
        *ret = cw_task_ref(t);
    pthread_mutex_unlock(&tasks->lock);
    return t ? CW_OK : CW_NOTFOUND;
}

cw_str cw_task_id(const cw_task *task)
{
    return cw_str_from(task->id);
}

bool cw_task_is_elsewhere(const cw_task *task)
{
    return task->is_elsewhere;
}

cw_str cw_task_tool(const cw_task *task)
{
    return task->tool;
}

cw_str cw_task_method(const cw_task *task)
{
    return task->method;
}

int64_t cw_task_until(const cw_task *task)
{
    return task->until;
}

cw_task_status cw_task_status_of(cw_task *t)
{
    lock(t);
    cw_task_status status = t->status;
    unlock(t);
    return status;
}

/* ---- changes ---- */

static void set_message(cw_task *t, cw_str text)
{
    text.n = cw_utf8_cut(text, CW_TASK_MESSAGE);
    char *copy = text.n ? cw_str_dup(text) : NULL;
    if (text.n && !copy)
        return;
    if (t->message)
        refund(t, strlen(t->message));
    free(t->message);
    t->message = copy;
    if (copy)
        charge(t, strlen(copy));
}

static void touch(cw_task *t)
{
    int64_t now = cw_clock_wall_ms();
    /* Other servers compare states by this time, and two changes may be in one millisecond. */
    t->updated = now > t->updated ? now : t->updated + 1;
}

void cw_task_set_message(cw_task *task, cw_str text)
{
    lock(task);
    if (!cw_task_is_closed(task)) {
        set_message(task, text);
        touch(task);
        cw_task_note(task, CW_TASK_CHANGED);
    }
    unlock(task);
}

static question *find_question(const cw_task *t, cw_str key)
{
    CW_LIST_EACH (node, &t->questions) {
        question *q = CW_CONTAINER(node, question, node);
        if (cw_str_eq(q->key, key))
            return q;
    }
    return NULL;
}

/* Whether a task may use `n` more bytes. */
static bool may_use(const cw_task *t, size_t n)
{
    return !t->owner ||
           (t->owner->used + n <= t->share && t->table->used + n <= t->total && fits_half(t, n));
}

cw_code cw_task_ask(cw_task *task, cw_str key, cw_str request)
{
    size_t n = sizeof(question) + key.n + request.n;
    question *q = malloc(n);
    if (!q)
        return CW_NOMEM;
    char *at = (char *)(q + 1);
    *q = (question){.key = put_text(&at, key)};
    q->request = put_text(&at, request);
    lock(task);
    cw_code rc = cw_task_is_closed(task) ? CW_DONE : (may_use(task, n) ? CW_OK : CW_LIMIT);
    if (!rc) {
        cw_list_add(&task->questions, &q->node);
        task->n_questions++;
        charge(task, n);
        task->status = CW_TASK_INPUT_REQUIRED;
        touch(task);
        cw_task_note(task, CW_TASK_CHANGED_MUCH);
    }
    unlock(task);
    if (rc)
        free(q);
    return rc;
}

cw_code cw_task_question(cw_task *task, cw_str key, cw_buf *out)
{
    lock(task);
    const question *q = find_question(task, key);
    if (q)
        cw_buf_add(out, q->request);
    unlock(task);
    return q ? out->code : CW_NOTFOUND;
}

static void work_again(cw_task *t)
{
    if (t->status == CW_TASK_INPUT_REQUIRED && !t->n_questions)
        t->status = CW_TASK_WORKING;
    touch(t);
    cw_task_note(t, CW_TASK_CHANGED_MUCH);
}

bool cw_task_answer(cw_task *task, cw_str key)
{
    lock(task);
    question *q = find_question(task, key);
    if (q) {
        close_question(task, q);
        work_again(task);
    }
    unlock(task);
    return q != NULL;
}

void cw_task_answer_all(cw_task *task)
{
    lock(task);
    if (task->n_questions) {
        close_questions(task);
        work_again(task);
    }
    unlock(task);
}

/* ---- the state of a row ---- */

static void add_question(cw_task *t, const cw_json *key)
{
    cw_str name = cw_json_text(key), request = cw_json_span(cw_json_value(key));
    question *q = malloc(sizeof *q + name.n + request.n);
    if (!q)
        return; /* a later state of the row has it */
    char *at = (char *)(q + 1);
    *q = (question){.key = put_text(&at, name)};
    q->request = put_text(&at, request);
    cw_list_add(&t->questions, &q->node);
    t->n_questions++;
    charge(t, sizeof *q + name.n + request.n);
}

static void take_questions(cw_task *t, cw_str text)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    const cw_json *questions = NULL;
    const cw_json_opts opts = {.max_bytes = text.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    cw_arena_init(&arena, QUESTIONS_MAX);
    close_questions(t);
    if (text.n && cw_json_read(text, &opts, &arena, &questions, NULL, NULL))
        return;
    for (const cw_json *k = cw_json_is(questions, CW_JSON_OBJECT) ? cw_json_first(questions) : NULL;
         k; k = cw_json_next_key(k))
        add_question(t, k);
}

bool cw_task_take_state(cw_task *t, const cw_db_task *row)
{
    cw_task_status status =
        row->status == CW_TASK_INPUT_REQUIRED ? CW_TASK_INPUT_REQUIRED : CW_TASK_WORKING;
    if (cw_task_is_closed(t) || row->updated < t->updated ||
        (row->updated == t->updated && status == t->status))
        return false;
    t->status = status;
    t->updated = row->updated;
    set_message(t, row->message);
    take_questions(t, row->payload);
    return true;
}

/* ---- the end ---- */

/* Keep a result or an error. Returns NULL, or why it cannot be kept. */
static const char *keep(cw_task *t, cw_str payload)
{
    if (!may_use(t, payload.n))
        return TOO_LARGE;
    t->payload = cw_str_dup(payload);
    if (!t->payload)
        return NO_MEMORY;
    t->n_payload = payload.n;
    charge(t, payload.n);
    return NULL;
}

/* Drop an end that another one replaces. */
static void drop_end(cw_task *t)
{
    refund(t, t->n_payload);
    free(t->payload);
    free(t->end_message);
    t->payload = t->end_message = NULL;
    t->n_payload = 0;
}

void cw_task_set_end(cw_task *t, cw_task_status status, cw_str message, cw_str payload,
                     int64_t when)
{
    drop_end(t);
    close_questions(t); /* their room is free */
    t->status = CW_TASK_WORKING;
    const char *problem = payload.n ? keep(t, payload) : NULL;
    if (problem)
        message = cw_str_from(problem);
    message.n = cw_utf8_cut(message, CW_TASK_MESSAGE);
    t->end_message = message.n ? cw_str_dup(message) : NULL;
    t->end_status = problem ? CW_TASK_FAILED : status;
    t->ended = when;
    t->is_ending = true;
}

void cw_task_publish(cw_task *t)
{
    t->status = t->end_status;
    set_message(t, cw_str_from(t->end_message ? t->end_message : ""));
    t->updated = t->ended > t->updated ? t->ended : t->updated;
    count_out(t);
}

cw_code cw_task_end(cw_task *task, cw_task_status status, cw_str message, cw_str payload)
{
    cw_code rc = CW_DONE;
    lock(task);
    if (!cw_task_is_closed(task)) {
        cw_task_set_end(task, status, message, payload, cw_clock_wall_ms());
        rc = cw_task_queue(task) ? CW_AGAIN : CW_OK;
        if (!rc)
            cw_task_publish(task);
    }
    unlock(task);
    return rc;
}

static bool cancel(cw_task *t)
{
    if (cw_task_is_closed(t))
        return false;
    cw_task_set_end(t, CW_TASK_CANCELLED, CW_STR(""), CW_STR(""), cw_clock_wall_ms());
    cw_task_post(t, CW_TASK_CANCEL);
    if (!cw_task_queue(t)) {
        cw_task_publish(t);
        cw_task_post(t, CW_TASK_ENDED);
    }
    return true;
}

bool cw_task_cancel(cw_task *task)
{
    lock(task);
    bool is_cancelled = cancel(task);
    unlock(task);
    return is_cancelled;
}

/* ---- reading ---- */

static void add_date(cw_buf *out, const char *name, int64_t ms)
{
    char text[CW_CLOCK_ISO_LEN + 1];
    cw_clock_format_iso(ms, text);
    cw_buf_printf(out, ",\"%s\":\"%s\"", name, text);
}

void cw_task_write_questions(const cw_task *t, cw_buf *out)
{
    char separator = '{';
    CW_LIST_EACH (node, &t->questions) {
        const question *q = CW_CONTAINER(node, question, node);
        cw_buf_add_char(out, separator);
        cw_json_escape(out, q->key);
        cw_buf_add_char(out, ':');
        cw_buf_add(out, q->request);
        separator = ',';
    }
    cw_buf_add_char(out, '}');
}

/* Without a payload, which could not be kept, the error is made of the message. */
static void add_error(cw_buf *out, const cw_task *t)
{
    cw_buf_add(out, CW_STR(",\"error\":"));
    if (t->payload) {
        cw_buf_add_bytes(out, t->payload, t->n_payload);
        return;
    }
    cw_buf_add(out, CW_STR("{\"code\":-32603,\"message\":"));
    cw_json_escape(out, cw_str_from(t->message ? t->message : NO_MEMORY));
    cw_buf_add_char(out, '}');
}

static void add_details(cw_buf *out, const cw_task *t)
{
    switch (t->status) {
    case CW_TASK_WORKING:
    case CW_TASK_CANCELLED:
        break;
    case CW_TASK_INPUT_REQUIRED:
        cw_buf_add(out, CW_STR(",\"inputRequests\":"));
        cw_task_write_questions(t, out);
        break;
    case CW_TASK_COMPLETED:
        cw_buf_add(out, CW_STR(",\"result\":"));
        cw_buf_add_bytes(out, t->payload, t->n_payload);
        break;
    case CW_TASK_FAILED:
        add_error(out, t);
        break;
    }
}

void cw_task_write(cw_task *task, uint32_t poll_ms, bool is_full, cw_buf *out)
{
    lock(task);
    cw_buf_printf(out, "\"taskId\":\"%s\",\"status\":\"%s\"", task->id,
                  cw_task_status_name(task->status));
    if (task->message) {
        cw_buf_add(out, CW_STR(",\"statusMessage\":"));
        cw_json_escape(out, cw_str_from(task->message));
    }
    add_date(out, "createdAt", task->created);
    add_date(out, "lastUpdatedAt", task->updated);
    cw_buf_printf(out, ",\"ttlMs\":%lld,\"pollIntervalMs\":%u",
                  (long long)(task->until - task->created), poll_ms);
    if (is_full)
        add_details(out, task);
    unlock(task);
}

void cw_task_watch(cw_task *task, int change)
{
    atomic_fetch_add(&task->n_watchers, change);
}

bool cw_task_is_watched(const cw_task *task)
{
    return atomic_load(&task->n_watchers) > 0;
}

/* ---- operators ---- */

static cw_task_info info_of(const cw_task *t)
{
    return (cw_task_info){.id = cw_task_id(t),
                          .owner = t->owner_name,
                          .caller = t->caller,
                          .tool = t->tool,
                          .method = t->method,
                          .message = cw_str_from(t->message ? t->message : ""),
                          .status = t->status,
                          .created = t->created,
                          .updated = t->updated,
                          .until = t->until,
                          .size = t->used,
                          .n_questions = t->n_questions};
}

void cw_tasks_each(cw_tasks *tasks, bool without_row, cw_tasks_fn fn, void *ctx)
{
    pthread_mutex_lock(&tasks->lock);
    sweep(tasks, cw_clock_wall_ms());
    CW_LIST_EACH (node, &tasks->all) {
        const cw_task *t = CW_CONTAINER(node, cw_task, node);
        cw_task_info info = info_of(t);
        if (!without_row || t->row == CW_TASK_NO_ROW)
            fn(&info, ctx);
    }
    pthread_mutex_unlock(&tasks->lock);
}

bool cw_tasks_show(cw_tasks *tasks, cw_str id, cw_tasks_fn fn, void *ctx)
{
    pthread_mutex_lock(&tasks->lock);
    sweep(tasks, cw_clock_wall_ms());
    const cw_task *t = cw_map_find(&tasks->tasks, id);
    if (t) {
        cw_task_info info = info_of(t);
        fn(&info, ctx);
    }
    pthread_mutex_unlock(&tasks->lock);
    return t != NULL;
}

/* Cancel a task of this server. */
static cw_code cancel_here(cw_tasks *tasks, cw_str id)
{
    pthread_mutex_lock(&tasks->lock);
    sweep(tasks, cw_clock_wall_ms());
    cw_task *t = cw_map_find(&tasks->tasks, id);
    cw_code rc = t ? CW_OK : CW_NOTFOUND;
    if (t && !cancel(t))
        rc = CW_DONE;
    pthread_mutex_unlock(&tasks->lock);
    return rc;
}

cw_code cw_tasks_cancel(cw_tasks *tasks, cw_str id, cw_db *db, cw_err *err)
{
    cw_code rc = cancel_here(tasks, id);
    return rc == CW_NOTFOUND && db ? cw_tasks_cancel_row(tasks, id, db, err) : rc;
}
