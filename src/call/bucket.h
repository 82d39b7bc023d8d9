/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bucket.h - token buckets, of this server alone or shared with others.
 *
 * A bucket is one number: the time at which it will be full again. Taking a token adds the interval
 * between two tokens to that time. A bucket is empty if its time is further ahead than a burst. It
 * needs one compare-and-swap, no lock and no timer.
 *
 *     now ───────────────● full again        empty when that is more than
 *         interval × taken                   burst × interval ahead
 *
 * Servers that share a database share their buckets. The database holds the level of each bucket, and
 * tokens are leased from it: a server reports what it took and what it wants, some times a second, and
 * gets tokens that are already counted. Tokens that it does not use are returned with the next report.
 * Without a lease, one call passes and is reported. So N servers let through the limit and N more at
 * most, and no call waits for the database. An empty bucket is not asked for until it has a token.
 *
 * While the database is away, each server has its share: tokens count N times. A single server counts
 * for itself, and reports.
 *
 *     take ─► queue ─► cw_bucket_share_collect ─► database ─► cw_bucket_share_settle
 *
 * Ownership: buckets belong to their tables, which outlive the share.
 * Threads:   any. collect, settle and give_up on one thread, in turn.
 * Limits:    CW_BUCKET_QUEUE buckets wait to be reported; others count by their share meanwhile.
 */
#ifndef CW_CALL_BUCKET_H
#define CW_CALL_BUCKET_H

#include <stdatomic.h>

#include "base/err.h"
#include "base/str.h"

#define CW_BUCKET_QUEUE 256u
#define CW_BUCKET_NAME 32u /* digits of a name in the database */

/* A token bucket for each name. All zero: no limit. */
typedef struct cw_rate {
    uint64_t interval_ns; /* between two tokens */
    uint64_t depth_ns;    /* how far ahead a bucket may be: (burst - 1) intervals */
} cw_rate;

/* Zeroed at first. */
typedef struct cw_bucket {
    atomic_uint_fast64_t full;        /* of the monotonic clock, in ns */
    atomic_uint_fast64_t empty_until; /* shared: by the last answer */
    atomic_uint debt;                 /* tokens that were taken without a lease */
    atomic_uint credit;               /* leased tokens */
    atomic_uint wanted;               /* tokens that calls asked for since the last report */
    atomic_uint refund;               /* leased tokens that the bucket did not have */
    atomic_bool is_queued;
} cw_bucket;

typedef struct cw_bucket_share cw_bucket_share;

/* `wake` is called from any thread when buckets wait to be reported. */
CW_MUST_USE cw_code cw_bucket_share_new(void (*wake)(void *ctx), void *ctx, cw_bucket_share **ret,
                                        cw_err *err);
/* NULL is fine. */
void cw_bucket_share_free(cw_bucket_share *s);
/* How many servers run, and whether the database answers. Until the first call: two, and it does. */
void cw_bucket_share_set(cw_bucket_share *s, uint32_t servers, bool is_away);

/* Take a token: 0; else the ns until one is available. `s` NULL: the bucket is not shared. `now` is
 * the monotonic clock. */
uint64_t cw_bucket_take(cw_bucket_share *s, cw_bucket *b, cw_rate rate, uint64_t now);
/* Return a token that was not used. */
void cw_bucket_give(cw_bucket_share *s, cw_bucket *b, cw_rate rate);
/* A token was taken for good, or refused. `kind` and `name` are the same on all servers. */
void cw_bucket_report(cw_bucket_share *s, cw_bucket *b, cw_rate rate, char kind, cw_str name,
                      uint64_t now);
/* Another name has taken the bucket over. */
void cw_bucket_reset_share(cw_bucket *b);

typedef struct cw_bucket_use {
    char name[CW_BUCKET_NAME + 1];
    cw_bucket *bucket;
    cw_rate rate;
    int64_t tokens;        /* to add in the database: debt and lease, less what is returned */
    uint32_t debt, lease;  /* of them */
    uint32_t refund, idle; /* returned: of an earlier lease, and not used */
} cw_bucket_use;

/* Whether a call waits for an answer. Clears that. */
bool cw_bucket_share_is_urgent(cw_bucket_share *s);
/* Take up to `max` buckets to report, by name. settle or give_up must follow for each. */
size_t cw_bucket_share_collect(cw_bucket_share *s, cw_bucket_use *ret, size_t max);
/* They are reported: the bucket is full again `ahead_ns` after `now`. */
void cw_bucket_share_settle(cw_bucket_share *s, const cw_bucket_use *use, uint64_t ahead_ns,
                            uint64_t now);
/* They could not be reported, and are still to be. */
void cw_bucket_share_give_up(cw_bucket_share *s, const cw_bucket_use *use);

#endif
