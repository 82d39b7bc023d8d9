/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store.c - the thread of the database, its queue, and its recovery. */
#include "store/store.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "metrics/metrics.h"
#include "store/postgres/postgres_listen.h"

/* How long a reader waits for a lock; with a write-ahead log it rarely has to. */
#define BUSY_MS 500u
#define PAUSE_MIN_MS 100u
#define PAUSE_MAX_MS 2000u

/* Opening a server can take seconds. A thread does it, so that jobs are answered meanwhile. */
typedef struct opening {
    pthread_t thread;
    bool is_running;
    bool is_done; /* under the lock of the store; the rest is the thread's until then */
    cw_db *db;
    int64_t data_version;
    cw_db_reading reading;
    cw_code rc;
    cw_err err;
} opening;

#define SLOTS 4096u

struct cw_store {
    cw_store_opts opts;
    char *where, *password_file;
    pthread_t thread;
    pthread_mutex_t lock; /* of the queue */
    pthread_cond_t wake;
    cw_fair_queue queue;
    cw_list rejected; /* jobs that have lost their place to others */
    bool is_ending;
    bool is_hinted;                 /* another program may have changed something */
    cw_postgres_listener *listener; /* NULL: none */
    atomic_uint_least64_t generation;
    /* The generation of the last change of everybody, and of the accounts that share a slot. */
    atomic_uint_least64_t everybody;
    atomic_uint_least64_t accounts[SLOTS];
    atomic_uint_least64_t down_since; /* of cw_clock_ms; 0: it is up */
    /* the thread's own */
    cw_db *db;
    int64_t data_version;
    cw_db_reading reading;
    uint64_t next_poll;
    uint64_t next_try; /* to open, while there is no database */
    uint64_t pause;
    bool has_unread_news;
    bool is_down;
    cw_code down_code;
    opening opening;
};

/* ---- up and down ---- */

static void set_down(cw_store *s, cw_code code, const cw_err *err)
{
    s->down_code = code;
    if (s->is_down)
        return;
    s->is_down = true;
    atomic_store(&s->down_since, cw_clock_ms());
    cw_metrics_set(CW_METRIC_STORE_UP, 0, 0, 0, 0);
    s->opts.on_status(s->opts.ctx, err);
}

static void set_up(cw_store *s)
{
    cw_metrics_set(CW_METRIC_STORE_UP, 0, 0, 0, 1);
    if (!s->is_down)
        return;
    s->is_down = false;
    atomic_store(&s->down_since, 0);
    s->opts.on_status(s->opts.ctx, NULL);
}

/* Before the generation grows: no reader takes the old rights for those of the new generation. */
static void on_changed(int64_t account, void *ctx)
{
    cw_store *s = ctx;
    uint64_t next = atomic_load(&s->generation) + 1;
    atomic_store(account ? &s->accounts[(uint64_t)account % SLOTS] : &s->everybody, next);
}

static void grow(cw_store *s)
{
    atomic_fetch_add(&s->generation, 1);
    s->opts.on_change(s->opts.ctx);
}

static void change_all(cw_store *s)
{
    on_changed(0, s);
    grow(s);
}

/* A connection that was lost is found by the next poll. */
static void read_news(cw_store *s, bool is_new)
{
    s->has_unread_news = s->opts.on_news && !s->opts.on_news(s->opts.ctx, s->db, is_new);
}

static void write_late(cw_store *s, bool is_end)
{
    if (s->db && s->opts.on_poll)
        s->opts.on_poll(s->opts.poll_ctx, s->db, is_end);
}

static void close_db(cw_store *s)
{
    cw_db_close(s->db);
    s->db = NULL;
    s->pause = PAUSE_MIN_MS;
    s->next_try = cw_clock_ms() + s->pause;
}

/* A lock is released and memory becomes available again. After any other failure the connection is
 * closed. */
static void take_failure(cw_store *s, cw_code rc, const cw_err *err)
{
    set_down(s, rc, err);
    if (rc != CW_TIMEOUT && rc != CW_NOMEM)
        close_db(s);
}

static void ignore_changed(int64_t account, void *ctx)
{
    (void)account;
    (void)ctx;
}

/* Where reading of changes begins: everybody has changed before. */
static cw_code read_place(cw_db *db, cw_db_reading *ret, cw_err *err)
{
    *ret = (cw_db_reading){0};
    cw_code rc = cw_db_read_changes(db, ret, ignore_changed, NULL, err);
    return rc == CW_DONE ? CW_OK : rc;
}

static void run_opening(const cw_db_opts *opts, opening *o)
{
    o->db = NULL;
    o->rc = cw_db_open(opts, &o->db, &o->err);
    if (!o->rc)
        o->rc = cw_db_data_version(o->db, &o->data_version, &o->err);
    if (!o->rc)
        o->rc = read_place(o->db, &o->reading, &o->err);
    if (o->rc) {
        cw_db_close(o->db);
        o->db = NULL;
    }
}

static void *run_opening_thread(void *arg)
{
    cw_store *s = arg;
    run_opening(&s->opts.db, &s->opening);
    pthread_mutex_lock(&s->lock);
    s->opening.is_done = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Use the database that was opened, or try again later. */
static void take_opened(cw_store *s)
{
    const opening *o = &s->opening;
    s->opts.db.may_create = false;
    s->db = o->db;
    if (!s->db) {
        set_down(s, o->rc, &o->err);
        s->pause = s->pause * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : s->pause * 2;
        s->next_try = cw_clock_ms() + s->pause;
        return;
    }
    s->data_version = o->data_version;
    s->reading = o->reading;
    s->pause = PAUSE_MIN_MS;
    set_up(s);
    change_all(s);
    read_news(s, /* is_new= */ true);
}

/* The end of the thread, which has done its work or does it soon. */
static void join_opening(cw_store *s)
{
    if (!s->opening.is_running)
        return;
    pthread_join(s->opening.thread, NULL);
    s->opening.is_running = false;
    s->opening.is_done = false;
}

static void try_open(cw_store *s)
{
    if (!cw_db_is_server(s->where)) {
        run_opening(&s->opts.db, &s->opening);
        take_opened(s);
        return;
    }
    int rc = cw_thread_start(&s->opening.thread, run_opening_thread, s);
    s->opening.is_running = !rc;
    if (rc) {
        s->opening.db = NULL;
        s->opening.rc = cw_fail_errno(&s->opening.err, rc, "start a thread for the database");
        take_opened(s);
    }
}

static bool has_opened(cw_store *s)
{
    pthread_mutex_lock(&s->lock);
    bool is_done = s->opening.is_done;
    pthread_mutex_unlock(&s->lock);
    return is_done;
}

static void poll_db(cw_store *s)
{
    cw_err err = {0};
    int64_t version = 0;
    if (!cw_db_is_current(s->db)) {
        close_db(s);
        s->next_try = 0; /* the new file may exist already */
        return;
    }
    cw_code rc = cw_db_data_version(s->db, &version, &err);
    if (rc) {
        take_failure(s, rc, &err);
        return;
    }
    set_up(s);
    if (version == s->data_version) {
        if (s->has_unread_news)
            read_news(s, /* is_new= */ false);
        return;
    }
    rc = cw_db_read_changes(s->db, &s->reading, on_changed, s, &err);
    if (rc && rc != CW_DONE) {
        take_failure(s, rc, &err);
        return;
    }
    s->data_version = version;
    if (!rc)
        grow(s);
    read_news(s, /* is_new= */ false);
}

/* A job of ours has changed rights, or tried to. */
static void take_own_change(cw_store *s)
{
    cw_err err = {0};
    cw_code rc = s->db ? cw_db_read_changes(s->db, &s->reading, on_changed, s, &err) : CW_IO;
    if (rc && rc != CW_DONE)
        on_changed(0, s);
    grow(s);
}

static bool take_hint(cw_store *s)
{
    pthread_mutex_lock(&s->lock);
    bool is_hinted = s->is_hinted;
    s->is_hinted = false;
    pthread_mutex_unlock(&s->lock);
    return is_hinted;
}

/* On the thread of the listener. */
static void on_hint(void *ctx)
{
    cw_store *s = ctx;
    pthread_mutex_lock(&s->lock);
    s->is_hinted = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

/* Open the database, or check for changes, if that is due. */
static void poll_after(cw_store *s)
{
    uint64_t now = cw_clock_ms();
    bool is_hinted = take_hint(s);
    if (s->db && (is_hinted || now >= s->next_poll)) {
        bool is_listening = cw_postgres_listener_is_alive(s->listener);
        s->next_poll = now + (is_listening ? CW_STORE_LISTENING_POLL_MS : CW_STORE_POLL_MS);
        poll_db(s);
        write_late(s, /* is_end= */ false);
    }
    if (s->opening.is_running && has_opened(s)) {
        join_opening(s);
        take_opened(s);
    }
    if (!s->db && !s->opening.is_running && now >= s->next_try)
        try_open(s);
}

static void run_job(cw_store *s, cw_store_job *job)
{
    cw_err err = {0};
    if (!s->db) {
        job->done(job, s->down_code);
        return;
    }
    uint64_t began = cw_clock_ns();
    cw_code rc = job->run(job, s->db, &err);
    cw_metrics_observe(CW_METRIC_STORE_JOB, 0, 0, 0, cw_clock_ns() - began, NULL);
    if (rc == CW_IO || rc == CW_TIMEOUT)
        take_failure(s, rc, &err);
    else if (rc == CW_OK)
        set_up(s);
    if (job->is_change)
        take_own_change(s);
    job->done(job, rc);
}

/* ---- the thread ---- */

/* Until the first attempt to open has ended, jobs wait for it. */
static bool has_job(const cw_store *s)
{
    return cw_fair_count(&s->queue) && (s->db || s->is_down || s->is_ending);
}

static cw_store_job *take_rejected(cw_store *s)
{
    cw_list *node = cw_list_take_first(&s->rejected);
    return node ? CW_CONTAINER(node, cw_store_job, turn.node) : NULL;
}

static cw_store_job *take_job(cw_store *s)
{
    cw_fair_item *item = has_job(s) ? cw_fair_first(&s->queue) : NULL;
    if (!item)
        return NULL;
    cw_fair_take(&s->queue, item);
    cw_metrics_add(CW_METRIC_STORE_QUEUE, 0, 0, 0, -1);
    return CW_CONTAINER(item, cw_store_job, turn);
}

/* The next job; NULL: none came before the next check for changes. */
static cw_store_job *wait_for_job(cw_store *s, bool *ret_is_rejected, bool *ret_is_ending)
{
    struct timespec until = cw_thread_deadline(CW_STORE_POLL_MS);
    pthread_mutex_lock(&s->lock);
    int rc = 0;
    while (!has_job(s) && cw_list_is_empty(&s->rejected) && !s->is_ending && !s->opening.is_done &&
           !s->is_hinted && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&s->wake, &s->lock, &until);
    cw_store_job *job = take_rejected(s);
    *ret_is_rejected = job != NULL;
    if (!job)
        job = take_job(s);
    *ret_is_ending = s->is_ending;
    pthread_mutex_unlock(&s->lock);
    return job;
}

static void *run_thread(void *arg)
{
    cw_store *s = arg;
    for (;;) {
        bool is_rejected, is_ending;
        poll_after(s);
        cw_store_job *job = wait_for_job(s, &is_rejected, &is_ending);
        if (job && is_ending)
            job->done(job, CW_GONE);
        else if (job && is_rejected)
            job->done(job, CW_TIMEOUT);
        else if (job)
            run_job(s, job);
        else if (is_ending)
            break;
    }
    if (s->opening.is_running) {
        join_opening(s);
        cw_db_close(s->opening.db);
    }
    write_late(s, /* is_end= */ true);
    cw_db_close(s->db);
    return NULL;
}

static void free_store(cw_store *s)
{
    cw_fair_done(&s->queue);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    free(s->where);
    free(s->password_file);
    free(s);
}

/* Notifications of a database server come on a connection of their own. */
static cw_code start_listening(cw_store *s, cw_err *err)
{
    cw_postgres_listener_opts opts = {
        .db = s->opts.db, .probe_ms = CW_POSTGRES_PROBE_MS, .on_hint = on_hint, .ctx = s};
    const char *way = s->opts.listen_url;
    bool is_off = way && strcmp(way, CW_STORE_LISTEN_OFF) == 0;
    if (is_off || !cw_db_is_server(s->where))
        return CW_OK;
    if (way && *way)
        opts.db.where = way;
    return cw_postgres_listener_new(&opts, &s->listener, err);
}

cw_code cw_store_new(const cw_store_opts *opts, cw_store **ret, cw_err *err)
{
    cw_store *s = calloc(1, sizeof *s);
    if (!s)
        return cw_fail_nomem(err);
    s->opts = *opts;
    s->where = strdup(opts->db.where);
    s->password_file = opts->db.password_file ? strdup(opts->db.password_file) : NULL;
    if (!s->where || (opts->db.password_file && !s->password_file)) {
        free(s->where);
        free(s->password_file);
        free(s);
        return cw_fail_nomem(err);
    }
    s->opts.db.where = s->where;
    s->opts.db.password_file = s->password_file;
    s->opts.db.busy_ms = BUSY_MS;
    cw_fair_init(&s->queue);
    cw_list_init(&s->rejected);
    s->pause = PAUSE_MIN_MS;
    s->down_code = CW_IO;
    atomic_init(&s->generation, 1);
    atomic_init(&s->everybody, 1);
    atomic_init(&s->down_since, 0);
    pthread_mutex_init(&s->lock, NULL);
    cw_thread_cond_init(&s->wake);
    cw_code code = start_listening(s, err);
    if (code) {
        free_store(s);
        return code;
    }
    int rc = cw_thread_start(&s->thread, run_thread, s);
    if (rc) {
        cw_postgres_listener_free(s->listener);
        free_store(s);
        return cw_fail_errno(err, rc, "start the store's thread");
    }
    *ret = s;
    return CW_OK;
}

void cw_store_free(cw_store *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->is_ending = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    cw_postgres_listener_free(s->listener);
    free_store(s);
}

cw_code cw_store_ask(cw_store *s, cw_store_job *job)
{
    cw_code rc = CW_LIMIT;
    cw_fair_item *lost = NULL;
    pthread_mutex_lock(&s->lock);
    if (!s->is_ending)
        rc = cw_fair_push(&s->queue, &job->turn, &job->by, CW_STORE_MAX_JOBS, &lost);
    if (lost)
        cw_list_add(&s->rejected, &lost->node);
    else if (!rc)
        cw_metrics_count(CW_METRIC_STORE_QUEUE, 0, 0, 0);
    if (!rc)
        pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* ---- jobs that a thread waits for ---- */

typedef struct awaited {
    cw_store_job job;
    cw_store_fn fn;
    void *ctx;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_done;
    cw_code rc;
    cw_err err;
} awaited;

static cw_code run_awaited(cw_store_job *job, cw_db *db, cw_err *err)
{
    awaited *a = CW_CONTAINER(job, awaited, job);
    cw_code rc = a->fn(db, a->ctx, &a->err);
    if (rc && err)
        *err = a->err;
    return rc;
}

static void on_awaited(cw_store_job *job, cw_code rc)
{
    awaited *a = CW_CONTAINER(job, awaited, job);
    pthread_mutex_lock(&a->lock);
    a->rc = rc;
    a->is_done = true;
    pthread_cond_signal(&a->wake);
    pthread_mutex_unlock(&a->lock);
}

cw_code cw_store_call(cw_store *store, cw_store_fn fn, void *ctx, cw_err *err)
{
    awaited a = {.job = {.run = run_awaited, .done = on_awaited}, .fn = fn, .ctx = ctx};
    pthread_mutex_init(&a.lock, NULL);
    pthread_cond_init(&a.wake, NULL);
    cw_code rc = cw_store_ask(store, &a.job);
    pthread_mutex_lock(&a.lock);
    while (!rc && !a.is_done)
        pthread_cond_wait(&a.wake, &a.lock);
    pthread_mutex_unlock(&a.lock);
    pthread_cond_destroy(&a.wake);
    pthread_mutex_destroy(&a.lock);
    rc = rc ? rc : a.rc;
    if (rc && err && a.err.msg[0])
        *err = a.err;
    else if (rc)
        cw_fail(err, rc, "%s", cw_code_text(rc));
    return rc;
}

uint64_t cw_store_generation(const cw_store *s)
{
    return atomic_load(&s->generation);
}

bool cw_store_is_away(const cw_store *s, uint32_t ms)
{
    uint64_t since = atomic_load(&s->down_since);
    return since && cw_clock_ms() - since > ms;
}

bool cw_store_is_current(const cw_store *s, int64_t account, uint64_t generation)
{
    return atomic_load(&s->everybody) <= generation &&
           (!account || atomic_load(&s->accounts[(uint64_t)account % SLOTS]) <= generation);
}
