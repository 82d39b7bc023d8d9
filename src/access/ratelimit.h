/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ratelimit.h - rates by token buckets, and numbers of calls that run at once.
 *
 * A bucket is one number: the time at which it will be full again. Taking a token adds the interval
 * between two tokens to that time. A bucket is empty if its time is further ahead than a burst. It
 * needs one compare-and-swap, no lock and no timer.
 *
 *     now ───────────────● full again        empty when that is more than
 *         interval × taken                   burst × interval ahead
 *
 * cw_buckets is for names that clients choose (callers, addresses): a table of fixed size. If a set
 * is full, a new name takes over the bucket that is nearest to full, with its level. So invented
 * names do not get full buckets.
 *
 * cw_meters is for names from the catalogue (tools, sources). They are never dropped, and also count
 * running calls. Names beyond CW_METERS_MAX have no limits.
 *
 * Threads: any; atomics.
 * Limits:  CW_BUCKETS_MAX names, CW_METERS_MAX names.
 */
#ifndef CW_ACCESS_RATELIMIT_H
#define CW_ACCESS_RATELIMIT_H

#include <stdatomic.h>

#include "base/err.h"
#include "base/str.h"

#define CW_BUCKETS_MAX 16384u
#define CW_METERS_MAX 32768u

/* All zero: no limit. */
typedef struct cw_rate {
    uint64_t interval_ns; /* between two tokens */
    uint64_t depth_ns;    /* how far ahead a bucket may be: (burst - 1) intervals */
} cw_rate;

/* `n` each `period_ms`, and `burst` at once. n 0: no limit. */
cw_rate cw_rate_make(uint32_t n, uint64_t period_ms, uint32_t burst);

/* A bucket of its own, zeroed at first. `now` is the monotonic clock. */
typedef atomic_uint_fast64_t cw_bucket;
/* 0: a token was taken; else the ns until one is available. */
uint64_t cw_bucket_take(cw_bucket *b, cw_rate rate, uint64_t now);
/* Return a token that was not used. */
void cw_bucket_give(cw_bucket *b, cw_rate rate);

typedef struct cw_buckets {
    struct cw_buckets_entry *entries; /* NULL: none */
} cw_buckets;

CW_MUST_USE cw_code cw_buckets_init(cw_buckets *t, cw_err *err);
/* A zeroed struct is fine. */
void cw_buckets_done(cw_buckets *t);
/* The bucket of a name; another name may have used it before. */
cw_bucket *cw_buckets_find(cw_buckets *t, cw_str name);

typedef struct cw_meter {
    atomic_uint_fast64_t key; /* 0: free */
    cw_bucket bucket;
    atomic_uint running;
} cw_meter;

typedef struct cw_meters {
    cw_meter *items;
} cw_meters;

CW_MUST_USE cw_code cw_meters_init(cw_meters *t, cw_err *err);
/* A zeroed struct is fine. */
void cw_meters_done(cw_meters *t);
/* The meter of a name, created at the first call; NULL: too many names. */
cw_meter *cw_meters_find(cw_meters *t, cw_str name);
/* One more runs, unless `max` do already (0: any number). */
bool cw_meter_enter(cw_meter *m, uint32_t max);
void cw_meter_leave(cw_meter *m);

#endif
