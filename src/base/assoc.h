/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assoc.h - a set-associative table: a fixed array of entries in sets of a few places.
 *
 * A hash chooses the set. An entry that is added to a full set replaces the oldest one of that set,
 * so the table never grows and never fails. Seed the hash where clients choose the keys.
 *
 *     static const cw_assoc table = {sizeof(entry), N_ENTRIES, 4, matches, age_of};
 *     entry *e = cw_assoc_find(&table, entries, hash, key);
 *     if (!e)
 *         e = cw_assoc_victim(&table, entries, hash);
 *
 * Ownership: the array belongs to the caller, who clears or releases the entry to be replaced.
 * Threads:   those of the caller; entries may be atomic.
 * Limits:    the size of the array.
 */
#ifndef CW_BASE_ASSOC_H
#define CW_BASE_ASSOC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

/* The layout of a table; constant, so that the functions below are compiled for it. */
typedef struct cw_assoc {
    size_t size; /* of an entry */
    size_t n;    /* entries; a multiple of `ways` */
    size_t ways; /* entries of a set */
    /* Whether an entry is in use and has this key. */
    bool (*matches)(const void *entry, const void *key);
    /* 0: free; else the entry with the lowest value of its set is replaced first. */
    uint64_t (*age)(const void *entry);
} cw_assoc;

CW_INLINE char *cw_assoc_set(const cw_assoc *t, void *entries, uint64_t hash)
{
    return (char *)entries + hash % (t->n / t->ways) * t->ways * t->size;
}

/* The entry with this key, or NULL. */
CW_INLINE void *cw_assoc_find(const cw_assoc *t, void *entries, uint64_t hash, const void *key)
{
    char *set = cw_assoc_set(t, entries, hash);
    for (size_t i = 0; i < t->ways; i++) {
        if (t->matches(set + i * t->size, key))
            return set + i * t->size;
    }
    return NULL;
}

/* The entry to use for a new key: a free one, or the oldest of its set, as it is. */
CW_INLINE void *cw_assoc_victim(const cw_assoc *t, void *entries, uint64_t hash)
{
    char *best = cw_assoc_set(t, entries, hash);
    uint64_t lowest = t->age(best);
    for (size_t i = 1; i < t->ways && lowest; i++) {
        char *entry = cw_assoc_set(t, entries, hash) + i * t->size;
        if (t->age(entry) < lowest) {
            lowest = t->age(entry);
            best = entry;
        }
    }
    return best;
}

#endif
