/* SPDX-License-Identifier: GPL-2.0-or-later */
/* thread.c - starts a thread with all signals blocked; conditions of the monotonic clock. */
#include "base/thread.h"

#include <signal.h>

int cw_thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg)
{
    sigset_t all, old;
    sigfillset(&all);
    /* A thread begins with the mask of the one that makes it. */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int errnum = pthread_create(ret, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return errnum;
}

void cw_thread_cond_init(pthread_cond_t *ret)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(ret, &attr);
    pthread_condattr_destroy(&attr);
}

struct timespec cw_thread_deadline(uint64_t ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t ns = (uint64_t)t.tv_nsec + ms % 1000 * 1000000;
    t.tv_sec += (time_t)(ms / 1000 + ns / 1000000000);
    t.tv_nsec = (long)(ns % 1000000000);
    return t;
}
