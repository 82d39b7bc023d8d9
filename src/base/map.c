/* SPDX-License-Identifier: GPL-2.0-or-later */
/* map.c - open addressing with linear probing.
 *
 * Invariant: between an entry's home slot (hash modulo capacity) and the slot it
 * sits in there is no empty slot. Insertion keeps it by taking the first empty
 * one, removal by moving later entries of the run into the hole.
 */
#include "base/map.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/random.h"

#define CAP_MIN 8u

static struct {
    pthread_once_t once;
    uint64_t k0, k1;
} secret = {.once = PTHREAD_ONCE_INIT};

typedef struct sip {
    uint64_t v0, v1, v2, v3;
} sip;

static uint64_t rotl(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

/* Inlined, so that the four words stay in registers. */
CW_INLINE void sip_round(sip *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = rotl(s->v1, 13) ^ s->v0;
    s->v3 = rotl(s->v3, 16) ^ s->v2;
    s->v0 = rotl(s->v0, 32) + s->v3;
    s->v2 += s->v1;
    s->v1 = rotl(s->v1, 17) ^ s->v2;
    s->v3 = rotl(s->v3, 21) ^ s->v0;
    s->v2 = rotl(s->v2, 32);
}

/* Words are read in the machine's byte order: the hash never leaves the process. */
static uint64_t siphash13(uint64_t k0, uint64_t k1, cw_str bytes)
{
    sip s = {
        k0 ^ UINT64_C(0x736f6d6570736575), /* "somepseu" */
        k1 ^ UINT64_C(0x646f72616e646f6d), /* "dorandom" */
        k0 ^ UINT64_C(0x6c7967656e657261), /* "lygenera" */
        k1 ^ UINT64_C(0x7465646279746573), /* "tedbytes" */
    };
    const char *p = bytes.p;
    size_t left = bytes.n;
    for (; left >= 8; p += 8, left -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        s.v3 ^= word;
        sip_round(&s);
        s.v0 ^= word;
    }
    uint64_t last = 0;
    if (left > 0)
        memcpy(&last, p, left);
    last |= (uint64_t)bytes.n << 56;
    s.v3 ^= last;
    sip_round(&s);
    s.v0 ^= last;
    s.v2 ^= 0xFF;
    sip_round(&s);
    sip_round(&s);
    sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

static void make_secret(void)
{
    uint64_t words[2];
    if (cw_random_bytes(words, sizeof(words), NULL) != CW_OK) {
        /* A kernel without getrandom: what an outsider does not know is when we started, to the
         * nanosecond, and where the loader put us. Worse than random, better than a constant. */
        words[0] = cw_clock_ns();
        words[1] = (uint64_t)(uintptr_t)words ^ rotl((uint64_t)cw_clock_wall_ms(), 32);
        for (unsigned i = 0; i < 2; i++)
            words[i] = siphash13(words[i], words[(i + 1) % 2] ^ (uint64_t)(uintptr_t)&secret,
                                 cw_str_make((const char *)words, sizeof(words)));
    }
    secret.k0 = words[0];
    secret.k1 = words[1];
}

/* The slot of `key`, or the empty slot where it would go. There always is an empty one. */
static size_t probe(const cw_map *m, cw_str key, uint64_t hash)
{
    size_t i = hash & (m->cap - 1);
    while (m->slots[i].key.p) {
        if (m->slots[i].hash == hash && cw_str_eq(m->slots[i].key, key))
            break;
        i = (i + 1) & (m->cap - 1);
    }
    return i;
}

static cw_code grow(cw_map *m)
{
    size_t cap = m->cap ? m->cap * 2 : CAP_MIN;
    if (cap > SIZE_MAX / 2 / sizeof(cw_map_entry))
        return CW_NOMEM;
    cw_map_entry *slots = calloc(cap, sizeof(*slots));
    if (!slots)
        return CW_NOMEM;
    for (size_t i = 0; i < m->cap; i++) {
        if (!m->slots[i].key.p)
            continue;
        size_t to = m->slots[i].hash & (cap - 1);
        while (slots[to].key.p)
            to = (to + 1) & (cap - 1);
        slots[to] = m->slots[i];
    }
    free(m->slots);
    m->slots = slots;
    m->cap = cap;
    return CW_OK;
}

/* Close the hole: an entry further along the run moves in when its home is not between the hole and
 * itself; its own slot is then the hole. */
static void shift_back(cw_map *m, size_t hole)
{
    size_t mask = m->cap - 1;
    for (size_t i = (hole + 1) & mask; m->slots[i].key.p; i = (i + 1) & mask) {
        size_t from_home = (i - m->slots[i].hash) & mask;
        size_t from_hole = (i - hole) & mask;
        if (from_home < from_hole)
            continue;
        m->slots[hole] = m->slots[i];
        hole = i;
    }
    m->slots[hole] = (cw_map_entry){0};
}

void cw_map_init(cw_map *m, size_t max_entries)
{
    *m = (cw_map){.max = max_entries};
}

void cw_map_done(cw_map *m)
{
    free(m->slots);
    *m = (cw_map){.max = m->max};
}

void *cw_map_find(const cw_map *m, cw_str key)
{
    if (m->n == 0)
        return NULL;
    return m->slots[probe(m, key, cw_hash(key))].value;
}

cw_code cw_map_put(cw_map *m, cw_str key, void *value, void **ret_old)
{
    uint64_t hash = cw_hash(key);
    if (!key.p)
        key.p = "";
    size_t at = m->cap ? probe(m, key, hash) : 0;
    if (m->cap == 0 || !m->slots[at].key.p) {
        if (m->n >= m->max)
            return CW_LIMIT;
        if (m->n >= m->cap / 4 * 3) {
            if (grow(m) != CW_OK)
                return CW_NOMEM;
            at = probe(m, key, hash);
        }
        m->n++;
    }
    if (ret_old)
        *ret_old = m->slots[at].value;
    m->slots[at] = (cw_map_entry){key, value, hash};
    return CW_OK;
}

void *cw_map_remove(cw_map *m, cw_str key)
{
    if (m->n == 0)
        return NULL;
    size_t i = probe(m, key, cw_hash(key));
    if (!m->slots[i].key.p)
        return NULL;
    void *value = m->slots[i].value;
    shift_back(m, i);
    m->n--;
    return value;
}

const cw_map_entry *cw_map_next(const cw_map *m, size_t *pos)
{
    while (*pos < m->cap) {
        const cw_map_entry *e = &m->slots[(*pos)++];
        if (e->key.p)
            return e;
    }
    return NULL;
}

uint64_t cw_hash(cw_str bytes)
{
    (void)pthread_once(&secret.once, make_secret);
    return siphash13(secret.k0, secret.k1, bytes);
}

void cw_hash_secret(uint64_t ret[2])
{
    (void)pthread_once(&secret.once, make_secret);
    ret[0] = secret.k0;
    ret[1] = secret.k1;
}

static void keep_secret(void)
{
    /* The words are there. */
}

bool cw_hash_use_secret(const uint64_t words[2])
{
    if (secret.k0 || secret.k1)
        return secret.k0 == words[0] && secret.k1 == words[1];
    secret.k0 = words[0];
    secret.k1 = words[1];
    (void)pthread_once(&secret.once, keep_secret);
    return true;
}
