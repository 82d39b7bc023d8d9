/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token_cache.c - a hash table with chains and a list by use, both of indices into one array.
 *
 *     buckets[hash] -> entry -> entry         chain: entry.chain
 *     newest <-> ... <-> oldest               list:  entry.newer, entry.older
 *     free -> entry -> entry                  list:  entry.chain
 *
 * Index 0 means none: entries start at 1. An unused page of the array costs no memory.
 */
#include "access/issuer/token_cache.h"

#include <stdlib.h>

#include "base/assoc.h"

typedef struct entry {
    unsigned char key[CW_DIGEST];
    void *value;
    size_t bytes;
    uint64_t rights;
    uint64_t until_ms;  /* monotonic clock */
    int64_t expires_ms; /* wall clock */
    uint32_t chain, newer, older;
} entry;

typedef struct refused {
    unsigned char key[CW_DIGEST];
    uint64_t rights, keys;
    uint64_t until_ms; /* 0: free */
} refused;

struct cw_token_cache {
    cw_token_cache_opts opts;
    entry *entries;
    uint32_t *buckets;
    uint32_t mask;   /* buckets are a power of two */
    uint32_t unused; /* the first entry that was never used */
    uint32_t free;
    uint32_t newest, oldest;
    size_t n, bytes;
    refused refused[CW_TOKEN_CACHE_REFUSED];
};

/* Any bytes of the digest will do: its key is secret. */
static uint32_t hash_of(const unsigned char key[CW_DIGEST])
{
    uint32_t hash;
    memcpy(&hash, key, sizeof hash);
    return hash;
}

static uint32_t *bucket_of(const cw_token_cache *c, const unsigned char key[CW_DIGEST])
{
    return &c->buckets[hash_of(key) & c->mask];
}

static void link_newest(cw_token_cache *c, uint32_t i)
{
    entry *e = &c->entries[i];
    e->newer = 0;
    e->older = c->newest;
    if (c->newest)
        c->entries[c->newest].newer = i;
    else
        c->oldest = i;
    c->newest = i;
}

static void unlink_use(cw_token_cache *c, uint32_t i)
{
    const entry *e = &c->entries[i];
    if (e->newer)
        c->entries[e->newer].older = e->older;
    else
        c->newest = e->older;
    if (e->older)
        c->entries[e->older].newer = e->newer;
    else
        c->oldest = e->newer;
}

static void drop(cw_token_cache *c, uint32_t i)
{
    entry *e = &c->entries[i];
    uint32_t *at = bucket_of(c, e->key);
    while (*at != i)
        at = &c->entries[*at].chain;
    *at = e->chain;
    unlink_use(c, i);
    c->n--;
    c->bytes -= e->bytes;
    void *value = e->value;
    *e = (entry){.chain = c->free};
    c->free = i;
    c->opts.unref(value);
}

static uint32_t find(const cw_token_cache *c, const unsigned char key[CW_DIGEST])
{
    uint32_t i = *bucket_of(c, key);
    while (i && !cw_secret_equal(c->entries[i].key, key))
        i = c->entries[i].chain;
    return i;
}

static bool is_good(const cw_token_cache *c, const entry *e, const cw_cache_time *now)
{
    bool is_current = c->opts.is_current ? c->opts.is_current(e->value, e->rights, c->opts.ctx)
                                         : e->rights == now->rights;
    return is_current && now->now_ms < e->until_ms && now->wall_ms < e->expires_ms;
}

/* ---- refusals: the one that ends first is replaced ---- */

static bool is_of_key(const void *refusal, const void *key)
{
    const refused *r = refusal;
    return r->until_ms && cw_secret_equal(r->key, key);
}

static uint64_t end_of(const void *refusal)
{
    return ((const refused *)refusal)->until_ms;
}

static const cw_assoc refusals = {sizeof(refused), CW_TOKEN_CACHE_REFUSED, 4, is_of_key, end_of};

static refused *find_refused(cw_token_cache *c, const unsigned char key[CW_DIGEST])
{
    return cw_assoc_find(&refusals, c->refused, hash_of(key), key);
}

static bool is_refused(cw_token_cache *c, const unsigned char key[CW_DIGEST],
                       const cw_cache_time *now)
{
    const refused *r = find_refused(c, key);
    return r && r->rights == now->rights && r->keys == now->keys && now->now_ms < r->until_ms;
}

void cw_token_cache_refuse(cw_token_cache *c, const unsigned char key[CW_DIGEST],
                           const cw_cache_time *now)
{
    refused *r = find_refused(c, key);
    if (!r)
        r = cw_assoc_victim(&refusals, c->refused, hash_of(key));
    uint32_t i = find(c, key);
    if (i)
        drop(c, i);
    memcpy(r->key, key, CW_DIGEST);
    r->rights = now->rights;
    r->keys = now->keys;
    r->until_ms = now->now_ms + c->opts.refused_ms;
}

/* ---- the whole ---- */

static size_t or_default(size_t value, size_t otherwise)
{
    return value ? value : otherwise;
}

cw_code cw_token_cache_new(const cw_token_cache_opts *opts, cw_token_cache **ret, cw_err *err)
{
    size_t max = or_default(opts->max_entries, CW_TOKEN_CACHE_ENTRIES), buckets = 1;
    if (max > CW_TOKEN_CACHE_MAX_ENTRIES)
        return cw_fail(err, CW_LIMIT, "more than %u tokens", CW_TOKEN_CACHE_MAX_ENTRIES);
    while (buckets < max)
        buckets *= 2;
    cw_token_cache *c = calloc(1, sizeof *c);
    if (!c)
        return cw_fail_nomem(err);
    c->opts = *opts;
    c->opts.max_entries = max;
    c->opts.max_bytes = or_default(opts->max_bytes, CW_TOKEN_CACHE_BYTES);
    c->opts.max_age_ms = (uint32_t)or_default(opts->max_age_ms, CW_TOKEN_CACHE_AGE_MS);
    c->opts.refused_ms = (uint32_t)or_default(opts->refused_ms, CW_TOKEN_CACHE_REFUSED_MS);
    c->mask = (uint32_t)buckets - 1;
    c->unused = 1;
    c->buckets = calloc(buckets, sizeof *c->buckets);
    c->entries = calloc(max + 1, sizeof *c->entries);
    if (!c->buckets || !c->entries) {
        cw_token_cache_free(c);
        return cw_fail_nomem(err);
    }
    *ret = c;
    return CW_OK;
}

void cw_token_cache_free(cw_token_cache *c)
{
    if (!c)
        return;
    while (c->oldest)
        drop(c, c->oldest);
    free(c->entries);
    free(c->buckets);
    free(c);
}

cw_token_found cw_token_cache_find(cw_token_cache *c, const unsigned char key[CW_DIGEST],
                                   const cw_cache_time *now, void **ret)
{
    uint32_t i = find(c, key);
    if (i && is_good(c, &c->entries[i], now)) {
        unlink_use(c, i);
        link_newest(c, i);
        *ret = c->entries[i].value;
        return CW_TOKEN_GOOD;
    }
    /* One that is old stays for cw_token_cache_peek, and is never good again. */
    if (i && now->wall_ms >= c->entries[i].expires_ms)
        drop(c, i);
    else if (i)
        c->entries[i].until_ms = 0;
    return is_refused(c, key, now) ? CW_TOKEN_BAD : CW_TOKEN_UNKNOWN;
}

void *cw_token_cache_peek(cw_token_cache *c, const unsigned char key[CW_DIGEST])
{
    uint32_t i = find(c, key);
    return i ? c->entries[i].value : NULL;
}

/* An unused entry. It exists, because the cache is not full. */
static uint32_t take_entry(cw_token_cache *c)
{
    uint32_t i = c->free;
    if (!i)
        return c->unused++;
    c->free = c->entries[i].chain;
    return i;
}

void cw_token_cache_add(cw_token_cache *c, const unsigned char key[CW_DIGEST],
                        const cw_cache_time *now, void *value, size_t bytes, int64_t expires_ms)
{
    uint32_t old = find(c, key);
    if (old)
        drop(c, old);
    refused *r = find_refused(c, key);
    if (r)
        r->until_ms = 0;
    if (expires_ms <= now->wall_ms || bytes > c->opts.max_bytes) {
        c->opts.unref(value);
        return;
    }
    while (c->n == c->opts.max_entries || bytes > c->opts.max_bytes - c->bytes)
        drop(c, c->oldest);
    uint32_t i = take_entry(c);
    uint32_t *bucket = bucket_of(c, key);
    c->entries[i] = (entry){
        .value = value,
        .bytes = bytes,
        .rights = now->rights,
        .until_ms = now->now_ms + c->opts.max_age_ms,
        .expires_ms = expires_ms,
        .chain = *bucket,
    };
    memcpy(c->entries[i].key, key, CW_DIGEST);
    *bucket = i;
    link_newest(c, i);
    c->n++;
    c->bytes += bytes;
}
