/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step.c - keeps the newest step of the statistics. */
#include "metrics/step.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t n_watching;
static char *newest; /* NULL: none */
static size_t newest_n;
static atomic_uint_fast64_t number;

void cw_metrics_step_watch(void)
{
    pthread_mutex_lock(&lock);
    n_watching++;
    pthread_mutex_unlock(&lock);
}

void cw_metrics_step_unwatch(void)
{
    pthread_mutex_lock(&lock);
    if (--n_watching == 0) {
        free(newest);
        newest = NULL;
    }
    pthread_mutex_unlock(&lock);
}

bool cw_metrics_step_is_watched(void)
{
    pthread_mutex_lock(&lock);
    bool is_watched = n_watching > 0;
    pthread_mutex_unlock(&lock);
    return is_watched;
}

void cw_metrics_step_post(cw_str object)
{
    char *copy = object.n <= CW_METRICS_STEP_MAX ? malloc(object.n + 1) : NULL;
    if (!copy)
        return;
    memcpy(copy, object.p, object.n);
    pthread_mutex_lock(&lock);
    if (n_watching) {
        char *old = newest;
        newest = copy;
        newest_n = object.n;
        copy = old;
        atomic_fetch_add(&number, 1);
    }
    pthread_mutex_unlock(&lock);
    free(copy);
}

uint64_t cw_metrics_step_last(void)
{
    return atomic_load(&number);
}

uint64_t cw_metrics_step_add(cw_buf *out)
{
    pthread_mutex_lock(&lock);
    uint64_t at = newest ? atomic_load(&number) : 0;
    if (newest)
        cw_buf_add(out, cw_str_make(newest, newest_n));
    pthread_mutex_unlock(&lock);
    return at;
}
