/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys.h - has this object had that key before?
 *
 * Three stages, each for what the one before it cannot do cheaply:
 *
 *     a 64-bit set of key hashes   says "never seen" for most keys of most objects
 *     a walk over earlier keys     on a hit, while the object has at most KEYS_SEARCHED members
 *     a table by the seeded hash   beyond that, so that chosen collisions cost nothing
 *
 * Ownership: tables are in the arena; a closed object's table is used again by the next large one.
 */
#ifndef CW_JSON_KEYS_H
#define CW_JSON_KEYS_H

#include "json/json.h"

#define KEYS_SEARCHED 32u

typedef struct key_table key_table;

/* Per open object. All zero: no key yet. */
typedef struct key_set {
    uint64_t seen;
    key_table *table;
} key_set;

typedef struct key_pool {
    cw_arena *arena;
    key_table *spare; /* the largest unused table, or NULL */
} key_pool;

/* The stages after the first; see key_set_add. */
CW_MUST_USE cw_code cw_json_keys_check(key_pool *pool, key_set *set, const cw_json *object,
                                       const cw_json *key, uint32_t before);
/* The object is closed: keep its table for others. */
void cw_json_keys_release(key_pool *pool, key_set *set);

/* Note `key` (with its hash in meta) as the next member of `object`, which has `before` members
 * already. CW_PARSE when one of them has the same name; CW_NOMEM or CW_LIMIT from the arena. */
CW_INLINE cw_code key_set_add(key_pool *pool, key_set *set, const cw_json *object,
                              const cw_json *key, uint32_t before)
{
    uint64_t bit = UINT64_C(1) << (key->meta >> 26);
    if (CW_UNLIKELY((set->seen & bit) || before >= KEYS_SEARCHED))
        return cw_json_keys_check(pool, set, object, key, before);
    set->seen |= bit;
    return CW_OK;
}

#endif
