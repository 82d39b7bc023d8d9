/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store.h - the one thread of a running server that uses the database.
 *
 * A job has two functions: one runs with the database, the other gets the result. Both run on the
 * store's thread; a job of a loop posts the result to its loop. So this layer does not depend on
 * loops.
 *
 *     loop ── cw_store_ask(job) ──► [queue] ──► job->run(db) ── job->done ──► post to the loop
 *                                      │
 *                     every 250 ms: has another process changed rights? ──► generation + 1
 *
 * Callers take turns in the queue (base/fair.h), and the server itself is one of them. So a job waits for
 * those of its own caller before it, and for one round of others.
 *
 * The database may be locked, missing, damaged or full at any time, also at the start. Jobs then fail
 * with CW_IO or CW_TIMEOUT. The store tries again with growing pauses, and continues when it can. It
 * creates the file at its start only: a database that was removed must be restored, not replaced by
 * an empty one.
 *
 * Ownership: a job belongs to its caller, and must live until done was called.
 * Threads:   cw_store_ask and _generation from any; new and free on one.
 * Limits:    CW_STORE_MAX_JOBS waiting.
 */
#ifndef CW_STORE_STORE_H
#define CW_STORE_STORE_H

#include "base/fair.h"
#include "store/db.h"

#define CW_STORE_MAX_JOBS 1024u
#define CW_STORE_POLL_MS 250u
#define CW_STORE_LISTENING_POLL_MS 1000u /* while notifications arrive */
#define CW_STORE_LISTEN_OFF "off"

typedef struct cw_store cw_store;

typedef struct cw_store_job {
    cw_fair_item turn; /* the store's */
    cw_fair_key by;    /* the caller that causes it; all zero: the server itself */
    /* Not called without a database. */
    cw_code (*run)(struct cw_store_job *job, cw_db *db, cw_err *err);
    /* Exactly once. `rc` is what run returned, or CW_IO, CW_TIMEOUT or CW_NOTFOUND when there is no
     * database, or CW_TIMEOUT when the queue was full and another caller had fewer jobs in it, or
     * CW_GONE when the store ends. */
    void (*done)(struct cw_store_job *job, cw_code rc);
    bool is_change; /* run changes rights: the generation grows before done is called */
} cw_store_job;

typedef struct cw_store_opts {
    cw_db_opts db; /* its texts are copied; may_create counts at the start of the store */
    /* The URL for notifications of a database server; NULL or empty: that of `db`;
     * CW_STORE_LISTEN_OFF: none. Borrowed until cw_store_new returns. */
    const char *listen_url;
    /* On the store's thread, once for each change. `err`: the database cannot be used; NULL: it can be
     * used again. */
    void (*on_status)(void *ctx, const cw_err *err);
    /* On the store's thread: the generation has grown. */
    void (*on_change)(void *ctx);
    /* On the store's thread: another program has written, or (`is_new`) the database was opened. False:
     * something could not be read, and the next poll calls it again. NULL: nothing to do. */
    bool (*on_news)(void *ctx, cw_db *db, bool is_new);
    void *ctx;
    /* On the store's thread: after each check for changes, and once more (`is_end`) before the thread
     * ends. For what is written later than it happens. NULL: nothing to do. */
    void (*on_poll)(void *poll_ctx, cw_db *db, bool is_end);
    void *poll_ctx;
} cw_store_opts;

/* Start the thread, which opens the database. */
CW_MUST_USE cw_code cw_store_new(const cw_store_opts *opts, cw_store **ret, cw_err *err);
/* End the thread; jobs that wait are done with CW_GONE. NULL is fine. */
void cw_store_free(cw_store *store);
/* Queue a job behind those of the same caller. CW_LIMIT when too many wait, CW_NOMEM: done is not called
 * then. */
CW_MUST_USE cw_code cw_store_ask(cw_store *store, cw_store_job *job);
/* Run a function with the database and wait for its end, on any other thread than the store's. Returns
 * its result, or what a job gets that cannot run. The store responds soon in every state. */
typedef cw_code (*cw_store_fn)(cw_db *db, void *ctx, cw_err *err);
CW_MUST_USE cw_code cw_store_call(cw_store *store, cw_store_fn fn, void *ctx, cw_err *err);
/* Grows with each change of rights by another process, and with each job that is a change. Read it
 * before asking: a result about an account is valid while cw_store_is_current says so. */
uint64_t cw_store_generation(const cw_store *store);
/* Whether the rights of this account, of none with 0, are those of that generation. Changes of other
 * accounts rarely count: those that share a slot. */
bool cw_store_is_current(const cw_store *store, int64_t account, uint64_t generation);
/* Whether the database could not be used for longer than that. From any thread. */
bool cw_store_is_away(const cw_store *store, uint32_t ms);

#endif
