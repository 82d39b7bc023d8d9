/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/workers.h"

#include <stdlib.h>

#include "base/thread.h"

struct cw_workers {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    cw_work *first, **end;
    uint32_t n_waiting, max_waiting;
    bool is_ending;
    unsigned n_threads;
    pthread_t threads[];
};

static void *run_thread(void *arg)
{
    cw_workers *w = arg;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->first && !w->is_ending)
            pthread_cond_wait(&w->wake, &w->lock);
        cw_work *work = w->first;
        if (!work)
            break;
        w->first = work->next;
        if (!w->first)
            w->end = &w->first;
        w->n_waiting--;
        bool is_ending = w->is_ending;
        pthread_mutex_unlock(&w->lock);
        work->run(work, is_ending);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static int start_threads(cw_workers *w, unsigned n)
{
    int rc = 0;
    while (w->n_threads < n && !rc) {
        rc = cw_thread_start(&w->threads[w->n_threads], run_thread, w);
        if (!rc)
            w->n_threads++;
    }
    return rc;
}

cw_code cw_workers_new(unsigned n_threads, uint32_t max_waiting, cw_workers **ret, cw_err *err)
{
    cw_workers *w = calloc(1, sizeof *w + n_threads * sizeof *w->threads);
    if (!w)
        return cw_fail_nomem(err);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    w->end = &w->first;
    w->max_waiting = max_waiting;
    int rc = start_threads(w, n_threads);
    if (rc) {
        cw_workers_free(w);
        return cw_fail_errno(err, rc, "start a thread");
    }
    *ret = w;
    return CW_OK;
}

void cw_workers_stop(cw_workers *w)
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

void cw_workers_free(cw_workers *w)
{
    if (!w)
        return;
    cw_workers_stop(w);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

cw_code cw_workers_ask(cw_workers *w, cw_work *work)
{
    cw_code rc = CW_LIMIT;
    pthread_mutex_lock(&w->lock);
    if (w->n_waiting < w->max_waiting && !w->is_ending) {
        work->next = NULL;
        *w->end = work;
        w->end = &work->next;
        w->n_waiting++;
        rc = CW_OK;
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
    return rc;
}
