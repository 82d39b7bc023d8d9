/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ratelimit.c - token buckets as atomics, by hash of their name. */
#include "access/ratelimit.h"

#include <stdlib.h>

#include "base/assoc.h"
#include "base/map.h"

#define NS_PER_MS UINT64_C(1000000)

typedef struct cw_buckets_entry {
    atomic_uint_fast64_t key; /* 0: free */
    cw_bucket bucket;
} entry;

cw_rate cw_rate_make(uint32_t n, uint64_t period_ms, uint32_t burst)
{
    if (n == 0)
        return (cw_rate){0};
    uint64_t interval = period_ms * NS_PER_MS / n;
    if (interval == 0)
        interval = 1;
    return (cw_rate){.interval_ns = interval, .depth_ns = interval * (burst ? burst - 1 : 0)};
}

uint64_t cw_bucket_take(cw_bucket *b, cw_rate rate, uint64_t now)
{
    if (rate.interval_ns == 0)
        return 0;
    uint64_t full = atomic_load_explicit(b, memory_order_relaxed), next;
    do {
        uint64_t from = full > now ? full : now;
        if (from - now > rate.depth_ns)
            return from - now - rate.depth_ns;
        next = from + rate.interval_ns;
    } while (!atomic_compare_exchange_weak_explicit(b, &full, next, memory_order_relaxed,
                                                    memory_order_relaxed));
    return 0;
}

void cw_bucket_give(cw_bucket *b, cw_rate rate)
{
    if (rate.interval_ns)
        atomic_fetch_sub_explicit(b, rate.interval_ns, memory_order_relaxed);
}

/* ---- names that strangers choose ---- */

/* Never 0, which is a free place. */
static uint64_t key_of(cw_str name)
{
    uint64_t key = cw_hash(name);
    return key ? key : 1;
}

cw_code cw_buckets_init(cw_buckets *t, cw_err *err)
{
    t->entries = calloc(CW_BUCKETS_MAX, sizeof *t->entries);
    return t->entries ? CW_OK : cw_fail_nomem(err);
}

void cw_buckets_done(cw_buckets *t)
{
    free(t->entries);
    t->entries = NULL;
}

static bool matches(const void *e, const void *key)
{
    return atomic_load_explicit(&((const entry *)e)->key, memory_order_relaxed) ==
           *(const uint64_t *)key;
}

/* The bucket that is nearest to full is replaced first. */
static uint64_t full_at(const void *e)
{
    return atomic_load_explicit(&((const entry *)e)->bucket, memory_order_relaxed);
}

static const cw_assoc table = {sizeof(entry), CW_BUCKETS_MAX, 8, matches, full_at};

cw_bucket *cw_buckets_find(cw_buckets *t, cw_str name)
{
    uint64_t key = key_of(name);
    entry *e = cw_assoc_find(&table, t->entries, key, &key);
    if (e)
        return &e->bucket;
    /* Two loops may make room for one name at once: it has two buckets then, until one of them
     * is the oldest of its set. */
    e = cw_assoc_victim(&table, t->entries, key);
    atomic_store_explicit(&e->key, key, memory_order_relaxed);
    return &e->bucket;
}

/* ---- names that the catalogue chooses ---- */

cw_code cw_meters_init(cw_meters *t, cw_err *err)
{
    t->items = calloc(CW_METERS_MAX, sizeof *t->items);
    return t->items ? CW_OK : cw_fail_nomem(err);
}

void cw_meters_done(cw_meters *t)
{
    free(t->items);
    t->items = NULL;
}

cw_meter *cw_meters_find(cw_meters *t, cw_str name)
{
    uint64_t key = key_of(name);
    for (uint32_t i = 0; i < CW_METERS_MAX; i++) {
        cw_meter *m = &t->items[(key + i) % CW_METERS_MAX];
        uint_fast64_t found = atomic_load_explicit(&m->key, memory_order_relaxed);
        /* If another thread was faster, `found` is its key. */
        if (found == 0 && atomic_compare_exchange_strong(&m->key, &found, key))
            return m;
        if (found == key)
            return m;
    }
    return NULL;
}

bool cw_meter_enter(cw_meter *m, uint32_t max)
{
    unsigned running = atomic_fetch_add_explicit(&m->running, 1, memory_order_relaxed);
    if (max == 0 || running < max)
        return true;
    atomic_fetch_sub_explicit(&m->running, 1, memory_order_relaxed);
    return false;
}

void cw_meter_leave(cw_meter *m)
{
    atomic_fetch_sub_explicit(&m->running, 1, memory_order_relaxed);
}
