/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bucket.c - token buckets, and their levels on all servers. */
#include "call/bucket.h"

#include <openssl/sha.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"

/* An answer of the database is expected within this time. */
#define ANSWER_NS UINT64_C(50000000)

struct cw_bucket_share {
    atomic_uint servers;
    atomic_bool is_away, is_urgent;
    void (*wake)(void *ctx);
    void *ctx;
    pthread_mutex_t lock;
    cw_bucket_use queue[CW_BUCKET_QUEUE];
    size_t n;
};

cw_code cw_bucket_share_new(void (*wake)(void *ctx), void *ctx, cw_bucket_share **ret, cw_err *err)
{
    cw_bucket_share *s = calloc(1, sizeof *s);
    if (!s)
        return cw_fail_nomem(err);
    s->wake = wake;
    s->ctx = ctx;
    atomic_init(&s->servers, 2);
    pthread_mutex_init(&s->lock, NULL);
    *ret = s;
    return CW_OK;
}

void cw_bucket_share_free(cw_bucket_share *s)
{
    if (!s)
        return;
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void cw_bucket_share_set(cw_bucket_share *s, uint32_t servers, bool is_away)
{
    if (servers)
        atomic_store(&s->servers, servers);
    atomic_store(&s->is_away, is_away);
}

/* ---- tokens ---- */

/* Add a step to the time at which the bucket is full. 0, or the ns by which it is too far ahead. */
static uint64_t advance(cw_bucket *b, uint64_t depth, uint64_t step, uint64_t now)
{
    uint64_t full = atomic_load_explicit(&b->full, memory_order_relaxed), next;
    do {
        uint64_t from = full > now ? full : now;
        if (from - now > depth)
            return from - now - depth;
        next = from + step;
    } while (!atomic_compare_exchange_weak_explicit(&b->full, &full, next, memory_order_relaxed,
                                                    memory_order_relaxed));
    return 0;
}

/* While the database is away, others may take as many. */
static uint64_t step_of(cw_bucket_share *s, cw_rate rate)
{
    return rate.interval_ns * atomic_load_explicit(&s->servers, memory_order_relaxed);
}

/* Whether tokens are counted here, and not leased. */
static bool is_local(cw_bucket_share *s)
{
    return atomic_load_explicit(&s->servers, memory_order_relaxed) == 1 ||
           atomic_load_explicit(&s->is_away, memory_order_relaxed);
}

/* Another name may have taken the bucket over meanwhile. */
static void subtract(atomic_uint *from, unsigned n)
{
    unsigned had = atomic_load_explicit(from, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(from, &had, had > n ? had - n : 0))
        ;
}

static bool take_one(atomic_uint *from)
{
    unsigned had = atomic_load_explicit(from, memory_order_relaxed);
    while (had > 0 && !atomic_compare_exchange_weak(from, &had, had - 1))
        ;
    return had > 0;
}

static uint64_t take_leased(cw_bucket *b, uint64_t now)
{
    unsigned none = 0;
    atomic_fetch_add_explicit(&b->wanted, 1, memory_order_relaxed);
    if (take_one(&b->credit))
        return 0;
    uint64_t empty_until = atomic_load_explicit(&b->empty_until, memory_order_relaxed);
    if (empty_until > now)
        return empty_until - now;
    return atomic_compare_exchange_strong(&b->debt, &none, 1) ? 0 : ANSWER_NS;
}

static uint64_t take_local(cw_bucket_share *s, cw_bucket *b, cw_rate rate, uint64_t now)
{
    uint64_t wait = advance(b, rate.depth_ns, step_of(s, rate), now);
    if (!wait)
        atomic_fetch_add(&b->debt, 1);
    return wait;
}

uint64_t cw_bucket_take(cw_bucket_share *s, cw_bucket *b, cw_rate rate, uint64_t now)
{
    if (rate.interval_ns == 0)
        return 0;
    if (!s)
        return advance(b, rate.depth_ns, rate.interval_ns, now);
    return is_local(s) ? take_local(s, b, rate, now) : take_leased(b, now);
}

void cw_bucket_give(cw_bucket_share *s, cw_bucket *b, cw_rate rate)
{
    if (rate.interval_ns == 0)
        return;
    if (!s) {
        atomic_fetch_sub_explicit(&b->full, rate.interval_ns, memory_order_relaxed);
        return;
    }
    if (is_local(s))
        atomic_fetch_sub_explicit(&b->full, step_of(s, rate), memory_order_relaxed);
    /* A debt that is not queued is this token; others came from a lease. */
    if (!atomic_load(&b->is_queued) && take_one(&b->debt))
        return;
    if (!is_local(s))
        atomic_fetch_add(&b->credit, 1);
}

/* ---- reports ---- */

static void name_of(char kind, cw_str name, char out[CW_BUCKET_NAME + 1])
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    char text[256];
    size_t n = name.n < sizeof text - 1 ? name.n : sizeof text - 1;
    text[0] = kind;
    memcpy(text + 1, name.p, n);
    SHA256((const unsigned char *)text, n + 1, digest);
    cw_hex_write(out, digest, CW_BUCKET_NAME / 2);
}

/* False: the queue is full. */
static bool enqueue(cw_bucket_share *s, const cw_bucket_use *use)
{
    pthread_mutex_lock(&s->lock);
    bool fits = s->n < CW_BUCKET_QUEUE;
    bool is_first = s->n == 0;
    if (fits)
        s->queue[s->n++] = *use;
    pthread_mutex_unlock(&s->lock);
    if (fits && is_first)
        s->wake(s->ctx);
    return fits;
}

void cw_bucket_report(cw_bucket_share *s, cw_bucket *b, cw_rate rate, char kind, cw_str name,
                      uint64_t now)
{
    if (!s || rate.interval_ns == 0 || atomic_load(&b->empty_until) > now)
        return;
    /* The next call would have to wait. */
    if (!is_local(s) && atomic_load_explicit(&b->credit, memory_order_relaxed) == 0)
        atomic_store(&s->is_urgent, true);
    if (atomic_exchange(&b->is_queued, true))
        return;
    cw_bucket_use use = {.bucket = b, .rate = rate};
    name_of(kind, name, use.name);
    if (!enqueue(s, &use))
        atomic_store(&b->is_queued, false);
}

void cw_bucket_reset_share(cw_bucket *b)
{
    atomic_store(&b->debt, 0);
    atomic_store(&b->credit, 0);
    atomic_store(&b->wanted, 0);
    atomic_store(&b->refund, 0);
    atomic_store(&b->empty_until, 0);
}

bool cw_bucket_share_is_urgent(cw_bucket_share *s)
{
    return atomic_exchange(&s->is_urgent, false);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const cw_bucket_use *)a)->name, ((const cw_bucket_use *)b)->name);
}

/* Twice as many as calls have just asked for, so that a busy server asks rarely. At most half of an
 * even share. */
static uint32_t lease_for(cw_bucket_share *s, const cw_bucket_use *use, uint32_t wanted)
{
    uint64_t burst = use->rate.depth_ns / use->rate.interval_ns + 1;
    uint64_t most = burst / (2 * (uint64_t)atomic_load(&s->servers)) + 1;
    uint64_t credit = atomic_load(&use->bucket->credit), more = 2 * (uint64_t)wanted;
    more = more > credit ? more - credit : 0;
    return (uint32_t)(more < most ? more : most);
}

static void decide(cw_bucket_share *s, cw_bucket_use *use)
{
    cw_bucket *b = use->bucket;
    uint32_t wanted = atomic_exchange(&b->wanted, 0);
    use->debt = atomic_load(&b->debt);
    use->refund = atomic_exchange(&b->refund, 0);
    use->idle = wanted || is_local(s) ? 0 : atomic_exchange(&b->credit, 0);
    use->lease = is_local(s) ? 0 : lease_for(s, use, wanted);
    use->tokens = (int64_t)use->debt + use->lease - use->refund - use->idle;
}

size_t cw_bucket_share_collect(cw_bucket_share *s, cw_bucket_use *ret, size_t max)
{
    pthread_mutex_lock(&s->lock);
    size_t n = s->n < max ? s->n : max;
    memcpy(ret, s->queue, n * sizeof *ret);
    memmove(s->queue, s->queue + n, (s->n - n) * sizeof *ret);
    s->n -= n;
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; i < n; i++)
        decide(s, &ret[i]);
    qsort(ret, n, sizeof *ret, by_name);
    return n;
}

/* Tokens of the lease that the bucket did not have. */
static uint32_t missing_of(const cw_bucket_use *use, uint64_t ahead_ns)
{
    uint64_t most = use->rate.depth_ns + use->rate.interval_ns;
    uint64_t over = ahead_ns > most ? (ahead_ns - most - 1) / use->rate.interval_ns + 1 : 0;
    return over < use->lease ? (uint32_t)over : use->lease;
}

static void queue_again(cw_bucket_share *s, const cw_bucket_use *use)
{
    if (!enqueue(s, use))
        atomic_store(&use->bucket->is_queued, false);
}

void cw_bucket_share_settle(cw_bucket_share *s, const cw_bucket_use *use, uint64_t ahead_ns,
                            uint64_t now)
{
    cw_bucket *b = use->bucket;
    uint32_t missing = missing_of(use, ahead_ns);
    uint64_t ahead = ahead_ns - missing * use->rate.interval_ns;
    atomic_store_explicit(&b->full, now + ahead, memory_order_relaxed);
    atomic_store_explicit(&b->empty_until,
                          ahead > use->rate.depth_ns ? now + ahead - use->rate.depth_ns : 0,
                          memory_order_relaxed);
    subtract(&b->debt, use->debt);
    atomic_fetch_add(&b->refund, missing);
    atomic_fetch_add(&b->credit, use->lease - missing);
    /* A lease that was not used, or was not granted, is returned with a further report. */
    if (use->lease || use->idle || atomic_load(&b->debt))
        queue_again(s, use);
    else
        atomic_store(&b->is_queued, false);
}

void cw_bucket_share_give_up(cw_bucket_share *s, const cw_bucket_use *use)
{
    atomic_fetch_add(&use->bucket->refund, use->refund);
    atomic_fetch_add(&use->bucket->credit, use->idle);
    queue_again(s, use);
}
