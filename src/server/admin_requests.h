/* SPDX-License-Identifier: GPL-2.0-or-later */
/* admin_requests.h - requests of the cache and source commands to a running server, through the
 * database.
 *
 * A command increments a counter. The server reads the counters after each change of the database,
 * and executes the requests since its last read. It ignores requests from before its start, because
 * its caches were empty then.
 *
 *     causeway cache ... ─► database ─► store: changed ─► cw_admin_requests_read
 *                                                             │
 *     main: cw_admin_requests_take ◄── on_read, on the store's thread ┘
 *
 * Threads: init, read, take and done on the main thread.
 */
#ifndef CW_SERVER_ADMIN_REQUESTS_H
#define CW_SERVER_ADMIN_REQUESTS_H

#include <pthread.h>

#include "store/store.h"

#define CW_ORDER_REBUILD "rebuild"
#define CW_ADMIN_REQUESTS_KINDS 3u /* rebuild, and each tag of catalogue/page_cache.h */
/* "refresh:NAME": discover this service again. */
#define CW_ORDER_REFRESH "refresh:"

/* The requests for one service. */
typedef struct cw_admin_refresh {
    struct cw_admin_refresh *next;
    int64_t n, fresh; /* as of last time; just read */
    bool todo;        /* ordered and not taken */
    char name[];
} cw_admin_refresh;

typedef struct cw_admin_requests {
    cw_store_job job;
    void (*on_read)(void *ctx); /* on the store's thread: there is something to take */
    void *ctx;
    int64_t begun; /* ms since 1970 */
    /* the store's thread's own */
    bool was_read; /* at least once */
    int64_t n[CW_ADMIN_REQUESTS_KINDS],
        fresh[CW_ADMIN_REQUESTS_KINDS]; /* as of last time; just read */
    pthread_mutex_t lock;               /* of what follows */
    bool is_asked;                      /* the job waits or runs */
    unsigned todo;                      /* a bit for each kind that was ordered and not taken */
    cw_admin_refresh *refreshes;        /* every name that was ever read; grows at its head */
} cw_admin_requests;

void cw_admin_requests_init(cw_admin_requests *o, void (*on_read)(void *ctx), void *ctx);
/* After the store has ended. */
void cw_admin_requests_done(cw_admin_requests *o);
/* Read the counters. CW_LIMIT: the store is too busy, try again. */
CW_MUST_USE cw_code cw_admin_requests_read(cw_admin_requests *o, cw_store *store);
/* Take the requests: call on_refresh for each service that is to be discovered again; *ret_tags.
 * Returns whether all sources are to be discovered again, with all tags. */
bool cw_admin_requests_take(cw_admin_requests *o, void (*on_refresh)(cw_str name, void *ctx),
                            void *ctx, unsigned *ret_tags);

#endif
