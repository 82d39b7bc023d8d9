/* SPDX-License-Identifier: GPL-2.0-or-later */
/* workers.h - a few threads for work that takes long, with a short queue.
 *
 * Not libuv's pool: that one also looks up names and reads files for everybody.
 *
 * Ownership: a job belongs to whoever asked, until it was run.
 * Threads:   cw_workers_ask from any; new and free on one.
 * Limits:    the two given to cw_workers_new.
 */
#ifndef CW_ACCESS_WORKERS_H
#define CW_ACCESS_WORKERS_H

#include "base/err.h"
#include "base/str.h"

typedef struct cw_workers cw_workers;

typedef struct cw_work {
    struct cw_work *next; /* the workers' */
    /* On one of the threads, exactly once. is_ending: there is no time left for the work itself. */
    void (*run)(struct cw_work *work, bool is_ending);
} cw_work;

CW_MUST_USE cw_code cw_workers_new(unsigned n_threads, uint32_t max_waiting, cw_workers **ret,
                                   cw_err *err);
/* Run what waits with is_ending, and end the threads. Twice is fine, and so is NULL. */
void cw_workers_stop(cw_workers *w);
/* Stop, and free the rest: nobody may ask any more. NULL is fine. */
void cw_workers_free(cw_workers *w);
/* CW_LIMIT when too much waits, or after stop. */
CW_MUST_USE cw_code cw_workers_ask(cw_workers *w, cw_work *work);

#endif
