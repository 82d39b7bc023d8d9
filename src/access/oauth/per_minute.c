/* SPDX-License-Identifier: GPL-2.0-or-later */
/* per_minute.c - counters of the last minute in a table of sets. */
#include "access/oauth/per_minute.h"

#include <string.h>

#include "base/clock.h"

#define MINUTE_MS 60000u
#define WAYS 8u

void cw_per_minute_init(cw_per_minute *t, uint32_t max)
{
    memset(t, 0, sizeof *t);
    t->max = max;
    pthread_mutex_init(&t->lock, NULL);
}

void cw_per_minute_done(cw_per_minute *t)
{
    pthread_mutex_destroy(&t->lock);
}

/* The entry of this hash, or the oldest of its set, emptied. */
static size_t find_entry(cw_per_minute *t, uint64_t hash, uint64_t now)
{
    size_t first = hash % (CW_PER_MINUTE_NAMES / WAYS) * WAYS, oldest = first;
    for (size_t i = first; i < first + WAYS; i++) {
        if (t->entries[i].n && cw_clock_since(now, t->entries[i].since) >= MINUTE_MS)
            t->entries[i].n = 0;
        if (t->entries[i].n && t->entries[i].hash == hash)
            return i;
        bool is_older = !t->entries[i].n || t->entries[i].since < t->entries[oldest].since;
        if (t->entries[oldest].n && is_older)
            oldest = i;
    }
    t->entries[oldest].n = 0;
    return oldest;
}

uint32_t cw_per_minute_take(cw_per_minute *t, uint64_t hash, uint64_t now)
{
    uint32_t wait = 0;
    pthread_mutex_lock(&t->lock);
    size_t i = find_entry(t, hash, now);
    if (!t->entries[i].n) {
        t->entries[i].hash = hash;
        t->entries[i].since = now;
    }
    if (t->entries[i].n < t->max)
        t->entries[i].n++;
    else
        wait = (uint32_t)((MINUTE_MS - cw_clock_since(now, t->entries[i].since) + 999) / 1000);
    pthread_mutex_unlock(&t->lock);
    return wait;
}
