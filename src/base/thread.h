/* SPDX-License-Identifier: GPL-2.0-or-later */
/* thread.h - threads that no signal reaches: signals are the main thread's. Waits with a time limit.
 *
 * Threads: any.
 */
#ifndef CW_BASE_THREAD_H
#define CW_BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "base/attr.h"

/* As pthread_create, with every signal blocked in the new thread. 0, or an errno. */
CW_MUST_USE int cw_thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg);
/* A condition whose timed waits follow the monotonic clock. */
void cw_thread_cond_init(pthread_cond_t *ret);
/* The end of such a wait, `ms` from now. */
struct timespec cw_thread_deadline(uint64_t ms);

#endif
