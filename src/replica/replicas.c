/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replicas.c - the row of this server: written, renewed, removed. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/node.h"
#include "base/thread.h"
#include "replica/replicas_int.h"
#include "store/letter.h"
#include "store/replica.h"

#define EVERY_MS 5000
#define EVERY_FILE_MS 60000
_Static_assert(CW_REPLICAS_MAX == CW_DB_MAX_REPLICAS, "each may have a row");

/* ---- on the store's thread ---- */

typedef struct others {
    cw_replicas *r;
    unsigned n;
    cw_replicas_catalogues catalogues;
} others;

static cw_code take_other(const cw_db_replica *replica, void *ctx, cw_err *err)
{
    others *all = ctx;
    (void)err;
    if (cw_str_is(replica->node, cw_node_text()) || cw_db_replica_is_lost(replica))
        return CW_OK;
    all->n++;
    pthread_mutex_lock(&all->r->lock);
    cw_replicas_compare(all->r, replica, &all->catalogues);
    pthread_mutex_unlock(&all->r->lock);
    return CW_OK;
}

/* Read the rows of the other servers, and the letters that they have sent. */
static cw_code read_all(cw_replicas *r, cw_db *db, cw_err *err)
{
    others all = {.r = r};
    cw_code rc = cw_db_each_replica(db, take_other, &all, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&r->lock);
    cw_replicas_compared(r, &all.catalogues, cw_clock_ms());
    pthread_mutex_unlock(&r->lock);
    if (atomic_exchange(&r->n_others, all.n) != all.n)
        cw_log(CW_LOG_INFO, "replica", "the number of servers of this database has changed",
               CW_KN("others", all.n));
    return atomic_load(&r->is_started) ? cw_letters_receive(r, db, err) : CW_OK;
}

bool cw_replicas_read_news(cw_replicas *replicas, cw_db *db, bool is_new)
{
    cw_err err = {0};
    if (!atomic_load(&replicas->is_started))
        return true; /* the first renewal reads it all */
    if (is_new)
        replicas->last = 0; /* a restored database numbers its letters anew */
    cw_code rc = read_all(replicas, db, &err);
    if (rc)
        cw_log_err(CW_LOG_DEBUG, "replica", "news are read later", &err);
    return !rc && !replicas->has_unread;
}

static cw_code write_row(cw_replicas *r, cw_db *db, cw_err *err)
{
    int64_t number = 0;
    pthread_mutex_lock(&r->lock);
    const cw_replicas_texts shown = r->shown;
    bool is_leaving = r->is_leaving;
    pthread_mutex_unlock(&r->lock);
    if (is_leaving)
        return cw_db_remove_replica(db, cw_str_from(cw_node_text()), err);
    const cw_db_replica row = {.node = cw_str_from(cw_node_text()),
                               .name = cw_str_from(shown.name),
                               .process = cw_str_from(r->process),
                               .version = cw_str_from(r->opts.version),
                               .config = cw_str_from(shown.config),
                               .catalogue = cw_str_from(shown.catalogue),
                               .every = r->opts.is_file ? EVERY_FILE_MS : EVERY_MS};
    cw_code rc = cw_db_renew_replica(db, &row, &number, err);
    if (rc)
        return rc;
    atomic_store(&r->number, (unsigned)number);
    rc = cw_db_forget_changes(db, err);
    if (!rc)
        rc = cw_db_expire_letters(db, err);
    return rc ? rc : read_all(r, db, err);
}

/* A database that can only be read serves logins. So the job fails only if it cannot be read. */
static cw_code run(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_replicas *r = CW_CONTAINER(job, cw_replicas, job);
    int64_t version;
    cw_err problem = {0};
    cw_code rc = write_row(r, db, &problem);
    if (rc && !r->has_failed)
        cw_log_err(CW_LOG_WARN, "replica", "the row of this server cannot be written", &problem);
    r->has_failed = rc != CW_OK;
    return rc ? cw_db_data_version(db, &version, err) : CW_OK;
}

static void done(cw_store_job *job, cw_code rc)
{
    cw_replicas *r = CW_CONTAINER(job, cw_replicas, job);
    pthread_mutex_lock(&r->lock);
    r->is_asked = false;
    r->is_closed = r->is_closed || rc == CW_GONE;
    if (rc || r->has_unread)
        r->due = 0; /* with the next tick */
    pthread_cond_broadcast(&r->is_idle);
    pthread_mutex_unlock(&r->lock);
}

/* ---- on the main thread ---- */

cw_code cw_replicas_new(const cw_replicas_opts *opts, cw_replicas **ret, cw_err *err)
{
    cw_replicas *r = calloc(1, sizeof *r);
    if (!r)
        return cw_fail_nomem(err);
    r->opts = *opts;
    r->job = (cw_store_job){.run = run, .done = done};
    atomic_init(&r->number, 0);
    atomic_init(&r->is_settled, true);
    cw_letters_init(r);
    cw_process_name(r->process);
    if (!r->process[0]) /* the same as in the rows of tasks */
        memcpy(r->process, cw_node_text(), CW_NODE_TEXT);
    pthread_mutex_init(&r->lock, NULL);
    cw_thread_cond_init(&r->is_idle);
    *ret = r;
    return CW_OK;
}

void cw_replicas_set_store(cw_replicas *replicas, cw_store *store)
{
    replicas->store = store;
}

void cw_replicas_free(cw_replicas *replicas)
{
    if (!replicas)
        return;
    cw_letters_done(replicas);
    pthread_cond_destroy(&replicas->is_idle);
    pthread_mutex_destroy(&replicas->lock);
    free(replicas);
}

void cw_replicas_show(cw_replicas *replicas, const cw_replicas_shown *shown)
{
    cw_replicas_texts fresh;
    memset(&fresh, 0, sizeof fresh);
    memcpy(fresh.name, shown->name.p,
           shown->name.n < CW_DB_MAX_NAME ? shown->name.n : CW_DB_MAX_NAME);
    cw_hex_write(fresh.config, shown->config, sizeof shown->config);
    cw_hex_write(fresh.catalogue, shown->catalogue, sizeof shown->catalogue);
    pthread_mutex_lock(&replicas->lock);
    if (memcmp(&fresh, &replicas->shown, sizeof fresh) != 0)
        replicas->due = 0;
    if (strcmp(fresh.catalogue, replicas->shown.catalogue) != 0) {
        replicas->difference.changed_at = cw_clock_ms();
        /* Not settled until the rows of the other servers are read. */
        atomic_store(&replicas->is_settled, !cw_replicas_has_others(replicas));
    }
    replicas->shown = fresh;
    pthread_mutex_unlock(&replicas->lock);
}

/* With the lock. If the queue of the store is full, the next tick asks again. */
static void ask(cw_replicas *r)
{
    if (r->is_asked || r->is_closed)
        return;
    r->is_asked = !cw_store_ask(r->store, &r->job);
    if (r->is_asked)
        r->due = cw_clock_ms() + (r->opts.is_file ? EVERY_FILE_MS : EVERY_MS);
}

void cw_replicas_tick(cw_replicas *replicas)
{
    pthread_mutex_lock(&replicas->lock);
    if (cw_clock_ms() >= replicas->due && replicas->shown.name[0])
        ask(replicas);
    cw_letters_retry(replicas);
    bool must_ask = cw_replicas_must_ask(replicas, cw_clock_ms());
    bool must_repeat = cw_replicas_must_repeat(replicas);
    pthread_mutex_unlock(&replicas->lock);
    if (must_ask && replicas->opts.on_difference)
        replicas->opts.on_difference(replicas->opts.ctx);
    if (must_repeat && replicas->opts.on_catalogue)
        replicas->opts.on_catalogue(replicas->opts.ctx);
}

/* With the lock. False: a job still runs at that time. */
static bool wait_for_jobs(cw_replicas *r, const struct timespec *until)
{
    int rc = 0;
    while ((r->is_asked || r->is_mailing) && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&r->is_idle, &r->lock, until);
    return !r->is_asked && !r->is_mailing;
}

void cw_replicas_leave(cw_replicas *replicas, uint32_t ms)
{
    struct timespec until = cw_thread_deadline(ms);
    pthread_mutex_lock(&replicas->lock);
    cw_letters_retry(replicas);
    bool is_idle = wait_for_jobs(replicas, &until);
    replicas->is_leaving = true;
    if (replicas->shown.name[0])
        ask(replicas);
    if (is_idle)
        (void)wait_for_jobs(replicas, &until);
    uint32_t n = cw_letters_count_lasting(replicas);
    pthread_mutex_unlock(&replicas->lock);
    if (n)
        cw_log(CW_LOG_WARN, "replica", "letters to all servers are lost: the database is away",
               CW_KN("n", n));
}

uint32_t cw_replicas_number(const cw_replicas *replicas)
{
    return atomic_load(&replicas->number);
}

bool cw_replicas_has_others(const cw_replicas *replicas)
{
    return atomic_load(&replicas->n_others) > 0;
}

bool cw_replicas_is_settled(const cw_replicas *replicas)
{
    return atomic_load(&replicas->is_settled);
}

void cw_replicas_start(cw_replicas *replicas)
{
    pthread_mutex_lock(&replicas->lock);
    replicas->due = 0;
    pthread_mutex_unlock(&replicas->lock);
    atomic_store(&replicas->is_started, true);
}
