/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keep.h - memory that metrics keep until the process ends.
 *
 * Series outlive the threads, calls and tools that are counted, so none of it is freed. It comes in
 * pages of its own: a check of the heap before and after some work finds no difference.
 *
 * Threads: all.
 */
#ifndef CW_METRICS_KEEP_H
#define CW_METRICS_KEEP_H

#include <stddef.h>

#include "base/attr.h"

/* A variable of each thread that is read without a call. Programs and modules have room for few. */
#define CW_METRICS_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) static _Thread_local

/* `n` zero bytes, aligned for every type; NULL without memory. */
CW_MUST_USE void *cw_metrics_keep(size_t n);

#endif
