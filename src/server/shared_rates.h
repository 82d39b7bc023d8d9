/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_rates.h - reports the tokens of rate limits to the database, and reads their levels.
 *
 *     loop: a token was taken ─► main loop, 50 ms later: one job with all buckets ─► store
 *                                main loop: levels ◄─────────────────────────────────┘
 *
 * A bucket whose level is not known is asked for at once. One job is under way at a time. Every few
 * seconds a job also counts the servers, and removes rows of full buckets.
 *
 * Ownership: borrows loop and store; the store ends before cw_shared_rates_free.
 * Threads:   the main one.
 * Limits:    CW_BUCKET_QUEUE buckets in a job.
 */
#ifndef CW_SERVER_SHARED_RATES_H
#define CW_SERVER_SHARED_RATES_H

#include "call/bucket.h"
#include "call/runtime.h"
#include "store/store.h"

typedef struct cw_shared_rates cw_shared_rates;

/* `timer` is initialised, and closed by its owner. */
CW_MUST_USE cw_code cw_shared_rates_new(cw_loop *loop, uv_timer_t *timer, cw_store *store,
                                        cw_limiter *limiter, cw_shared_rates **ret, cw_err *err);
/* Each second. */
void cw_shared_rates_tick(cw_shared_rates *r);
/* No further jobs; before the loop ends. NULL is fine. */
void cw_shared_rates_close(cw_shared_rates *r);
/* NULL is fine. */
void cw_shared_rates_free(cw_shared_rates *r);

#endif
