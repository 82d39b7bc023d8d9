/* SPDX-License-Identifier: GPL-2.0-or-later */
/* thread.c - starts a thread with all signals blocked. */
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
