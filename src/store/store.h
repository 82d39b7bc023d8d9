/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store.h - the thread that alone talks to the database of a running server.
 *
 * A job is a function that the store's thread runs with the database, and one that
 * hears how it went. Both run on that thread: whoever asked from a loop posts the
 * answer to itself. So this layer needs to know nothing of loops.
 *
 *     loop ── cw_store_ask(job) ──► [queue] ──► job->run(db) ── job->done ──► post to the loop
 *                                      │
 *                     every 250 ms: did somebody else change the database? ──► generation + 1
 *
 * The database may be locked, missing, damaged or full at any time, also when the
 * server starts. Jobs then fail with CW_IO or CW_TIMEOUT; the store tries again, less
 * and less often, and works on when it can. It makes the file when it starts without
 * one, and never later: a database that vanished shall come back, not begin anew.
 *
 * Ownership: a job belongs to whoever asked, and must live until done was called.
 * Threads:   cw_store_ask and _generation from any; new and free on one.
 * Limits:    CW_STORE_MAX_JOBS waiting.
 */
#ifndef CW_STORE_STORE_H
#define CW_STORE_STORE_H

#include "store/db.h"

#define CW_STORE_MAX_JOBS 1024u
#define CW_STORE_POLL_MS 250u

typedef struct cw_store cw_store;

typedef struct cw_store_job {
    struct cw_store_job *next; /* the store's */
    /* Returns CW_OK, or why not. Not called when there is no database. */
    cw_code (*run)(struct cw_store_job *job, cw_db *db, cw_err *err);
    /* Exactly once. `rc` is what run returned, or CW_IO, CW_TIMEOUT or CW_NOTFOUND when there is no
     * database, or CW_GONE when the store ends. */
    void (*done)(struct cw_store_job *job, cw_code rc);
} cw_store_job;

typedef struct cw_store_opts {
    const char *path; /* copied */
    /* On the store's thread. `err`: why the database cannot be used, or NULL: it can be again. Told
     * once for each change of that. */
    void (*on_status)(void *ctx, const cw_err *err);
    /* On the store's thread: the generation has grown. */
    void (*on_change)(void *ctx);
    void *ctx;
} cw_store_opts;

/* Start the thread, which opens the database. */
CW_MUST_USE cw_code cw_store_new(const cw_store_opts *opts, cw_store **ret, cw_err *err);
/* End the thread; jobs that wait are done with CW_GONE. NULL is fine. */
void cw_store_free(cw_store *store);
/* Queue a job. CW_LIMIT when too many wait: done is not called then. */
CW_MUST_USE cw_code cw_store_ask(cw_store *store, cw_store_job *job);
/* Grows whenever what was read before may no longer be so. Read it before asking: what an answer
 * says holds for as long as this stays. */
uint64_t cw_store_generation(const cw_store *store);

#endif
