/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys.c - a set of keys that finds duplicates while an object is read. */
#include "json/keys.h"

#include "base/map.h"

/* A key as its distance from the object on the tape, because the tape moves while it grows, with
 * enough of the seeded hash that other keys are hardly ever looked at. */
typedef struct key_slot {
    uint32_t hash;
    uint32_t key; /* 0: empty; no key stands where its object does */
} key_slot;

/* Open addressing, linear probing, at most 3/4 full. */
struct key_table {
    uint32_t room; /* slots allocated */
    uint32_t cap;  /* slots in use as a table, a power of two <= room */
    uint32_t n;
    key_slot slots[];
};

#define TABLE_MIN (4u * KEYS_SEARCHED)

static bool same_key(const cw_json *a, const cw_json *b)
{
    return a->meta >> 8 == b->meta >> 8 && a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

static uint32_t hash_of(const cw_json *key)
{
    return (uint32_t)cw_hash(cw_str_make(key->p, key->n));
}

/* The slot with a key of this name, or the empty one where it belongs. */
static key_slot *find_slot(key_table *table, const cw_json *object, const cw_json *key,
                           uint32_t hash)
{
    uint32_t mask = table->cap - 1;
    uint32_t i = hash & mask;
    for (;; i = (i + 1) & mask) {
        key_slot *slot = &table->slots[i];
        if (!slot->key || (slot->hash == hash && same_key(object + slot->key, key)))
            return slot;
    }
}

/* An empty table with `cap` slots; NULL when the arena fails. */
static key_table *take_table(key_pool *pool, uint32_t cap)
{
    key_table *table = pool->spare;
    if (table && table->room >= cap) {
        pool->spare = NULL;
    } else {
        table = cw_arena_alloc(pool->arena, sizeof *table + cap * sizeof table->slots[0]);
        if (!table)
            return NULL;
        table->room = cap;
    }
    table->cap = cap;
    table->n = 0;
    memset(table->slots, 0, cap * sizeof table->slots[0]);
    return table;
}

static void give_back(key_pool *pool, key_table *table)
{
    if (!pool->spare || pool->spare->room < table->room)
        pool->spare = table;
}

/* The first table of an object, filled with the keys it has. */
static key_table *build_table(key_pool *pool, const cw_json *object, uint32_t before)
{
    key_table *table = take_table(pool, TABLE_MIN);
    if (!table)
        return NULL;
    const cw_json *key = object + 1;
    for (uint32_t i = 0; i < before; i++) {
        uint32_t hash = hash_of(key);
        *find_slot(table, object, key, hash) = (key_slot){hash, (uint32_t)(key - object)};
        key = cw_json_after(key + 1);
    }
    table->n = before;
    return table;
}

static key_table *grow_table(key_pool *pool, key_table *old)
{
    key_table *table = take_table(pool, old->cap * 2);
    if (!table)
        return NULL;
    uint32_t mask = table->cap - 1;
    for (uint32_t i = 0; i < old->cap; i++) {
        if (!old->slots[i].key)
            continue;
        /* All are different: any empty slot will do. */
        uint32_t j = old->slots[i].hash & mask;
        while (table->slots[j].key)
            j = (j + 1) & mask;
        table->slots[j] = old->slots[i];
    }
    table->n = old->n;
    give_back(pool, old);
    return table;
}

static cw_code search(key_set *set, const cw_json *object, const cw_json *key, uint32_t before)
{
    const cw_json *other = object + 1;
    for (uint32_t i = 0; i < before; i++) {
        if (same_key(other, key))
            return CW_PARSE;
        other = cw_json_after(other + 1);
    }
    set->seen |= UINT64_C(1) << (key->meta >> 26);
    return CW_OK;
}

cw_code cw_json_keys_check(key_pool *pool, key_set *set, const cw_json *object, const cw_json *key,
                           uint32_t before)
{
    if (before < KEYS_SEARCHED)
        return search(set, object, key, before);
    key_table *table = set->table;
    if (!table)
        table = build_table(pool, object, before);
    else if (table->n >= table->cap / 4 * 3)
        table = grow_table(pool, table);
    if (!table)
        return cw_arena_code(pool->arena);
    set->table = table;

    uint32_t hash = hash_of(key);
    key_slot *slot = find_slot(table, object, key, hash);
    if (slot->key)
        return CW_PARSE;
    *slot = (key_slot){hash, (uint32_t)(key - object)};
    table->n++;
    return CW_OK;
}

void cw_json_keys_release(key_pool *pool, key_set *set)
{
    if (set->table)
        give_back(pool, set->table);
    set->table = NULL;
}
