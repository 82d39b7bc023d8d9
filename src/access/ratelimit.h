/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ratelimit.h - so many in so long: token buckets, and how many run at once.
 *
 * A bucket is one number: the time at which it will be full again. Taking a token
 * moves that time on by the interval between two tokens; a bucket whose time lies
 * further ahead than a burst takes is empty. One compare-and-swap, no lock, no timer.
 *
 *     now ───────────────● full again        empty when that is more than
 *         interval × taken                   burst × interval ahead
 *
 * cw_buckets is for names that strangers choose (callers, addresses): a table of a
 * fixed size. Where a set of it is full, the bucket that is nearest to full again
 * changes hands as it is, so that making up names wins nobody a fresh one.
 *
 * cw_meters is for names that the catalogue chooses (tools, sources): they are never
 * forgotten, and count besides how many calls run. When there are too many of them,
 * the last ones have no limits.
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
/* 0: a token was taken; else how many ns are left until there is one. */
uint64_t cw_bucket_take(cw_bucket *b, cw_rate rate, uint64_t now);
/* Give one back that was not used after all. */
void cw_bucket_give(cw_bucket *b, cw_rate rate);

typedef struct cw_buckets {
    struct cw_buckets_entry *entries; /* NULL: none */
} cw_buckets;

CW_MUST_USE cw_code cw_buckets_init(cw_buckets *t, cw_err *err);
/* A zeroed struct is fine. */
void cw_buckets_done(cw_buckets *t);
/* The bucket of a name, which may have been another's. */
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
/* That of a name, made when it is first asked for; NULL: there are too many. */
cw_meter *cw_meters_find(cw_meters *t, cw_str name);
/* One more runs, unless `max` do already (0: any number). */
bool cw_meter_enter(cw_meter *m, uint32_t max);
void cw_meter_leave(cw_meter *m);

#endif
