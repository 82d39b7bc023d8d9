/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/keys.h"

#include "base/map.h"

/* Open addressing, linear probing, at most 3/4 full. A slot holds a key's distance from its object
 * on the tape (never 0, which marks an empty slot): the tape moves while it grows. */
struct key_table {
    uint32_t room; /* slots allocated */
    uint32_t cap;  /* slots in use as a table, a power of two <= room */
    uint32_t n;
    uint32_t slots[];
};

#define TABLE_MIN (4u * KEYS_SEARCHED)

static bool same_key(const cw_json *a, const cw_json *b)
{
    return a->meta >> 8 == b->meta >> 8 && a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

/* The slot with a key of this name, or the empty one where it belongs. */
static uint32_t *find_slot(key_table *table, const cw_json *object, const cw_json *key)
{
    uint32_t mask = table->cap - 1;
    uint32_t i = (uint32_t)cw_hash(cw_str_make(key->p, key->n)) & mask;
    while (table->slots[i] && !same_key(object + table->slots[i], key))
        i = (i + 1) & mask;
    return &table->slots[i];
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
        *find_slot(table, object, key) = (uint32_t)(key - object);
        key = cw_json_after(key + 1);
    }
    table->n = before;
    return table;
}

static key_table *grow_table(key_pool *pool, const cw_json *object, key_table *old)
{
    key_table *table = take_table(pool, old->cap * 2);
    if (!table)
        return NULL;
    for (uint32_t i = 0; i < old->cap; i++) {
        if (old->slots[i])
            *find_slot(table, object, object + old->slots[i]) = old->slots[i];
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
        table = grow_table(pool, object, table);
    if (!table)
        return cw_arena_code(pool->arena);
    set->table = table;

    uint32_t *slot = find_slot(table, object, key);
    if (*slot)
        return CW_PARSE;
    *slot = (uint32_t)(key - object);
    table->n++;
    return CW_OK;
}

void cw_json_keys_release(key_pool *pool, key_set *set)
{
    if (set->table)
        give_back(pool, set->table);
    set->table = NULL;
}
