/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hash_pool.c - threads, and a queue in which networks take turns. */
#include "access/login/hash_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/thread.h"

#define NICENESS 10

struct cw_hash_pool {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    cw_list waiting;  /* jobs, in order of arrival */
    uint64_t n_turns; /* jobs that were taken so far */
    uint32_t n_waiting, max_waiting;
    bool is_ending;
    unsigned n_threads;
    pthread_t threads[];
};

/* ---- the queue; few jobs wait, so all of them are looked at ---- */

static cw_hash_job *job_of(cw_list *node)
{
    return CW_CONTAINER(node, cw_hash_job, node);
}

static bool is_same(const cw_hash_job *work, const cw_hash_job *other, unsigned level)
{
    return level == CW_NETWORK_LEVELS || work->network.keys[level] == other->network.keys[level];
}

/* Append a job. A network that has no job here joins at the end of the round. */
static void append(cw_hash_pool *w, cw_hash_job *work)
{
    for (unsigned i = 0; i < CW_NETWORK_LEVELS; i++)
        work->served[i] = w->n_turns;
    CW_LIST_EACH (node, &w->waiting) {
        const cw_hash_job *o = job_of(node);
        for (unsigned i = 0; i < CW_NETWORK_LEVELS; i++) {
            if (is_same(work, o, i))
                work->served[i] = o->served[i];
        }
    }
    cw_list_add(&w->waiting, &work->node);
    w->n_waiting++;
}

static void unlink_work(cw_hash_pool *w, cw_hash_job *work)
{
    cw_list_remove(&work->node);
    w->n_waiting--;
}

static cw_hash_job *choose_next(cw_hash_pool *w)
{
    cw_hash_job *best = job_of(w->waiting.next);
    for (unsigned level = CW_NETWORK_LEVELS; level-- > 0;) {
        const cw_hash_job *parent = best;
        CW_LIST_EACH (node, &w->waiting) {
            cw_hash_job *o = job_of(node);
            if (is_same(o, parent, level + 1) && o->served[level] < best->served[level])
                best = o;
        }
    }
    return best;
}

/* The job whose turn it is; NULL when none waits. */
static cw_hash_job *take(cw_hash_pool *w)
{
    if (!w->n_waiting)
        return NULL;
    cw_hash_job *work = choose_next(w);
    unlink_work(w, work);
    w->n_turns++;
    CW_LIST_EACH (node, &w->waiting) {
        cw_hash_job *o = job_of(node);
        for (unsigned i = 0; i < CW_NETWORK_LEVELS; i++) {
            if (is_same(o, work, i))
                o->served[i] = w->n_turns;
        }
    }
    return work;
}

static uint32_t count_of(const cw_hash_pool *w, const cw_hash_job *work, unsigned level)
{
    uint32_t n = 0;
    CW_LIST_EACH (node, &w->waiting)
        n += is_same(work, job_of(node), level);
    return n;
}

/* The last job of the network that has most, if it has more than the network of `work` would have
 * with it. The widest level at which the two are different networks decides. */
static cw_hash_job *choose_rejected(const cw_hash_pool *w, const cw_hash_job *work)
{
    cw_hash_job *worst = job_of(w->waiting.prev);
    for (unsigned level = CW_NETWORK_LEVELS; level-- > 0;) {
        const cw_hash_job *parent = worst;
        uint32_t most = 0;
        for (cw_list *node = w->waiting.prev; node != &w->waiting; node = node->prev) {
            cw_hash_job *o = job_of(node);
            uint32_t n = is_same(o, parent, level + 1) ? count_of(w, o, level) : 0;
            if (n > most) {
                most = n;
                worst = o;
            }
        }
        if (!is_same(worst, work, level))
            return most > count_of(w, work, level) + 1 ? worst : NULL;
    }
    return NULL;
}

/* ---- threads ---- */

static void *run_thread(void *arg)
{
    cw_hash_pool *w = arg;
    /* Loops go first: logins that are hashed may not delay callers who have logged in. */
    (void)!setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->n_waiting && !w->is_ending)
            pthread_cond_wait(&w->wake, &w->lock);
        cw_hash_job *work = take(w);
        if (!work)
            break;
        cw_hash_job_outcome fate = w->is_ending ? CW_HASH_JOB_ENDING : CW_HASH_JOB_RUN;
        pthread_mutex_unlock(&w->lock);
        work->run(work, fate);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static int start_threads(cw_hash_pool *w, unsigned n)
{
    int rc = 0;
    while (w->n_threads < n && !rc) {
        rc = cw_thread_start(&w->threads[w->n_threads], run_thread, w);
        if (!rc)
            w->n_threads++;
    }
    return rc;
}

cw_code cw_hash_pool_new(unsigned n_threads, uint32_t max_waiting, cw_hash_pool **ret, cw_err *err)
{
    cw_hash_pool *w = calloc(1, sizeof *w + n_threads * sizeof *w->threads);
    if (!w)
        return cw_fail_nomem(err);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    cw_list_init(&w->waiting);
    w->max_waiting = max_waiting;
    int rc = start_threads(w, n_threads);
    if (rc) {
        cw_hash_pool_free(w);
        return cw_fail_errno(err, rc, "start a thread");
    }
    *ret = w;
    return CW_OK;
}

void cw_hash_pool_stop(cw_hash_pool *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->is_ending = true;
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->n_threads; i++)
        pthread_join(w->threads[i], NULL);
    w->n_threads = 0;
}

void cw_hash_pool_free(cw_hash_pool *w)
{
    if (!w)
        return;
    cw_hash_pool_stop(w);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

cw_code cw_hash_pool_ask(cw_hash_pool *w, cw_hash_job *work)
{
    cw_code rc = CW_LIMIT;
    cw_hash_job *rejected = NULL;
    pthread_mutex_lock(&w->lock);
    if (w->n_waiting == w->max_waiting && !w->is_ending) {
        rejected = choose_rejected(w, work);
        if (rejected)
            unlink_work(w, rejected);
    }
    if (w->n_waiting < w->max_waiting && !w->is_ending) {
        append(w, work);
        rc = CW_OK;
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
    if (rejected)
        rejected->run(rejected, CW_HASH_JOB_REJECTED);
    return rc;
}
