/* SPDX-License-Identifier: GPL-2.0-or-later */
/* map.h - a seeded hash map from byte strings to pointers.
 *
 * Keys come from clients, so the hash is SipHash-1-3 with a random key per
 * process: a client cannot choose colliding names. Open addressing, linear
 * probing, at most 3/4 full; removal shifts back, so there are no tombstones.
 *
 * Ownership: keys and values are borrowed; they must outlive their entry.
 * Threads:   one thread at a time; a map that does not change may be read by all.
 * Limits:    the entry ceiling given at init; CW_LIMIT beyond it.
 */
#ifndef CW_BASE_MAP_H
#define CW_BASE_MAP_H

#include "base/err.h"
#include "base/str.h"

typedef struct cw_map_entry {
    cw_str key; /* key.p == NULL: empty slot */
    void *value;
    uint64_t hash;
} cw_map_entry;

typedef struct cw_map {
    cw_map_entry *slots;
    size_t n;
    size_t cap; /* power of two, or 0 */
    size_t max;
} cw_map;

void cw_map_init(cw_map *m, size_t max_entries);
void cw_map_done(cw_map *m);

/* The value, or NULL when absent. */
void *cw_map_find(const cw_map *m, cw_str key);
/* Add or replace. *ret_old (may be NULL) gets the value that was there, or NULL. */
CW_MUST_USE cw_code cw_map_put(cw_map *m, cw_str key, void *value, void **ret_old);
/* Remove and return the value; NULL when absent. */
void *cw_map_remove(cw_map *m, cw_str key);
/* Iterate in no particular order: start with *pos = 0; NULL at the end. Do not change the map
 * meanwhile. */
const cw_map_entry *cw_map_next(const cw_map *m, size_t *pos);

/* The process's seeded hash of some bytes. */
uint64_t cw_hash(cw_str bytes);
/* The seed, for a process that takes over what was stored by hash. */
void cw_hash_secret(uint64_t ret[2]);
/* Use the seed of another process. False: this one has a seed already, because it has hashed. */
bool cw_hash_use_secret(const uint64_t words[2]);

#endif
