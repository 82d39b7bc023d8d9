/* SPDX-License-Identifier: GPL-2.0-or-later */
/* thread.h - threads that no signal reaches: signals are the main thread's.
 *
 * Threads: any.
 */
#ifndef CW_BASE_THREAD_H
#define CW_BASE_THREAD_H

#include <pthread.h>

#include "base/attr.h"

/* As pthread_create, with every signal blocked in the new thread. 0, or an errno. */
CW_MUST_USE int cw_thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg);

#endif
