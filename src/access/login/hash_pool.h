/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hash_pool.h - a few threads for long work, with a short queue that networks share fairly.
 *
 * Networks take turns: the widest first (IPv6 /48), in it the next narrower ones (/56, /64), in
 * the narrowest first come, first served. A new job waits at most for the jobs of its own
 * network and one job of each other network.
 *
 *     /48 A: 60 jobs   ─┐
 *     /48 B:  1 job    ─┼─► A B C A C A A …
 *     address C: 2 jobs ┘
 *
 * When the queue is full, a job of a network with fewer jobs replaces the last job of the network
 * that has most.
 *
 * The threads have a lower priority than event loops.
 *
 * Not libuv's pool: that one also looks up names and reads files.
 *
 * Ownership: a job belongs to the caller again when `run` is called.
 * Threads:   cw_hash_pool_ask from any; new and free on one.
 * Limits:    the two given to cw_hash_pool_new.
 */
#ifndef CW_ACCESS_LOGIN_HASH_POOL_H
#define CW_ACCESS_LOGIN_HASH_POOL_H

#include "base/err.h"
#include "base/list.h"
#include "net/addr/network.h"

typedef struct cw_hash_pool cw_hash_pool;

typedef enum cw_hash_job_outcome {
    CW_HASH_JOB_RUN,
    CW_HASH_JOB_REJECTED, /* the queue was full, and another network had fewer jobs */
    CW_HASH_JOB_ENDING,   /* the threads end: there is no time left for the work itself */
} cw_hash_job_outcome;

typedef struct cw_hash_job {
    cw_list node;                       /* from here to `served` the pool's */
    uint64_t served[CW_NETWORK_LEVELS]; /* when the network of each level had its last turn */
    cw_network network;                 /* set by the caller */
    /* Exactly once: on one of the threads, or for CW_HASH_JOB_REJECTED on the thread of the job
     * that replaces this one. */
    void (*run)(struct cw_hash_job *work, cw_hash_job_outcome fate);
} cw_hash_job;

CW_MUST_USE cw_code cw_hash_pool_new(unsigned n_threads, uint32_t max_waiting, cw_hash_pool **ret,
                                     cw_err *err);
/* Run the waiting jobs with CW_HASH_JOB_ENDING, and end the threads. Twice is fine, and so is
 * NULL. */
void cw_hash_pool_stop(cw_hash_pool *w);
/* Stop, and free the rest: no thread may ask any more. NULL is fine. */
void cw_hash_pool_free(cw_hash_pool *w);
/* CW_LIMIT when too much waits, or after stop. */
CW_MUST_USE cw_code cw_hash_pool_ask(cw_hash_pool *w, cw_hash_job *work);

#endif
