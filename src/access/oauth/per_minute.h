/* SPDX-License-Identifier: GPL-2.0-or-later */
/* per_minute.h - at most so many events of a kind in a minute, for each name.
 *
 * A table of a fixed size with a seeded hash: a client can neither fill memory nor choose the entry that
 * it displaces. An entry that is displaced begins a new minute.
 *
 * Threads: any; one lock. Only for rare events.
 * Limits:  CW_PER_MINUTE_NAMES names.
 */
#ifndef CW_ACCESS_OAUTH_PER_MINUTE_H
#define CW_ACCESS_OAUTH_PER_MINUTE_H

#include <pthread.h>

#include "base/str.h"

#define CW_PER_MINUTE_NAMES 1024u

typedef struct cw_per_minute {
    pthread_mutex_t lock;
    uint32_t max;
    struct {
        uint64_t hash, since; /* of the name; monotonic, ms */
        uint32_t n;           /* 0: free */
    } entries[CW_PER_MINUTE_NAMES];
} cw_per_minute;

void cw_per_minute_init(cw_per_minute *t, uint32_t max);
void cw_per_minute_done(cw_per_minute *t);
/* Count an event. 0: it may happen; else it was not counted, and the seconds until the next one may.
 * `hash` is one of base/map.h. `now` is the monotonic clock in ms. */
uint32_t cw_per_minute_take(cw_per_minute *t, uint64_t hash, uint64_t now);

#endif
