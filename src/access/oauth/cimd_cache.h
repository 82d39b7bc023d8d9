/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cimd_cache.h - fetches the documents of clients (cimd.h), and keeps them for a while.
 *
 *     loop ── find ──► in the cache? ──yes──► body, at once
 *                │no
 *                ▼
 *     main loop: one fetch for all who wait (net/curl/fetch.h) ──► body, on each loop
 *
 * The URL is a stranger's, so the address is judged when the socket is made, redirects are not followed,
 * and size and time are bounded. Only people who have logged in cause a fetch. A document is kept as its
 * Cache-Control says, from 5 minutes to 24 hours. A failure is never kept as an answer, but the
 * same URL is not fetched again for CW_CIMD_CACHE_PAUSE_MS.
 *
 * Ownership: a waiter belongs to its request, and is cancelled when that ends. A body is borrowed until
 *            the callback returns.
 * Threads:   new, configure, close and free on the main thread; the rest on any loop.
 * Limits:    CW_CIMD_CACHE_ENTRIES documents, CW_CIMD_CACHE_RUNNING fetches at once; of an account
 *            CW_CIMD_CACHE_PER_ACCOUNT at once, and CW_CIMD_CACHE_PER_MINUTE in a minute.
 */
#ifndef CW_ACCESS_OAUTH_CIMD_CACHE_H
#define CW_ACCESS_OAUTH_CIMD_CACHE_H

#include "net/loop/loop.h"

#define CW_CIMD_CACHE_ENTRIES 256u
#define CW_CIMD_CACHE_RUNNING 8u
#define CW_CIMD_CACHE_PER_ACCOUNT 2u
#define CW_CIMD_CACHE_PER_MINUTE 10u
#define CW_CIMD_CACHE_PAUSE_MS 30000u
#define CW_CIMD_CACHE_TIMEOUT_MS 5000u

typedef struct cw_cimd_cache cw_cimd_cache;

typedef struct cw_cimd_waiter {
    struct cw_cimd_op *op; /* NULL: does not wait */
    /* CW_OK with the body; CW_IO: it could not be fetched; CW_LIMIT: too many fetches; CW_NOMEM. */
    void (*fn)(struct cw_cimd_waiter *w, cw_code rc, cw_str body);
} cw_cimd_waiter;

/* `loop` is the main one. */
CW_MUST_USE cw_code cw_cimd_cache_new(cw_loop *loop, cw_cimd_cache **ret, cw_err *err);
/* How documents are fetched from now on: also from private addresses, and with the authorities of a PEM
 * file (empty: those of the system). The path is copied. */
CW_MUST_USE cw_code cw_cimd_cache_configure(cw_cimd_cache *c, bool allow_private, cw_str ca_file,
                                            cw_err *err);
/* End the fetches that run. Twice and NULL are fine. */
void cw_cimd_cache_close(cw_cimd_cache *c);
/* After the loops have ended. NULL is fine. */
void cw_cimd_cache_free(cw_cimd_cache *c);

/* Have the waiter called with the document of this id, which cw_cimd_check_id accepts: once, now or later.
 * `account` is the id of the one who asks. */
void cw_cimd_cache_find(cw_cimd_cache *c, cw_loop *loop, cw_str id, cw_str account,
                        cw_cimd_waiter *w);
/* Stop waiting. Fine for a waiter that does not wait. */
void cw_cimd_cache_cancel(cw_cimd_waiter *w);
/* The document describes no usable client: it counts as a failure. `why` goes to the log. */
void cw_cimd_cache_reject(cw_cimd_cache *c, cw_str id, const char *why);

#endif
