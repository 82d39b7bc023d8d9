/* SPDX-License-Identifier: GPL-2.0-or-later */
/* throttle.h - who failed too often must wait.
 *
 * Some failures are free; each further one doubles the time in which nothing more is
 * tried, from a second up to a minute. Success forgets the failures, and so does a
 * quarter of an hour without any.
 *
 * The table has a fixed size. Where it is full, whoever failed longest ago is
 * forgotten: places are chosen by a seeded hash, so nobody can aim at another's.
 *
 * Threads: any; one lock. Only for the slow path of a login.
 * Limits:  CW_THROTTLE_ENTRIES names or addresses.
 */
#ifndef CW_ACCESS_THROTTLE_H
#define CW_ACCESS_THROTTLE_H

#include <pthread.h>

#include "base/err.h"
#include "net/addr/network.h"

#define CW_THROTTLE_ENTRIES 4096u
#define CW_THROTTLE_FIRST_MS 1000u
#define CW_THROTTLE_LONGEST_MS 60000u
#define CW_THROTTLE_FORGET_MS 900000u

typedef struct cw_throttle_entry {
    uint64_t hash;
    uint64_t failed_at;
    uint32_t failures; /* 0: free */
} cw_throttle_entry;

typedef struct cw_throttle {
    pthread_mutex_t lock;
    uint32_t free_failures;
    cw_throttle_entry *entries;
} cw_throttle;

CW_MUST_USE cw_code cw_throttle_init(cw_throttle *t, uint32_t free_failures, cw_err *err);
/* A zeroed struct is fine. */
void cw_throttle_done(cw_throttle *t);
/* How many ms are left to wait; 0: go on. `now` is the monotonic clock. */
uint64_t cw_throttle_wait(cw_throttle *t, cw_str who, uint64_t now);
void cw_throttle_fail(cw_throttle *t, cw_str who, uint64_t now);
void cw_throttle_forget(cw_throttle *t, cw_str who);

/* The same for the networks of an address. A wider network holds more clients: each level has
 * CW_THROTTLE_WIDER times as many free failures as the next narrower one. */
#define CW_THROTTLE_WIDER 4u

typedef struct cw_network_throttle {
    cw_throttle levels[CW_NETWORK_LEVELS];
} cw_network_throttle;

/* `free_failures` of the narrowest level. */
CW_MUST_USE cw_code cw_network_throttle_init(cw_network_throttle *t, uint32_t free_failures,
                                             cw_err *err);
/* A zeroed struct is fine. */
void cw_network_throttle_done(cw_network_throttle *t);
/* The longest wait of all levels. only_narrowest: failures of neighbours do not count. */
uint64_t cw_network_throttle_wait(cw_network_throttle *t, const cw_network *network,
                                  bool only_narrowest, uint64_t now);
void cw_network_throttle_fail(cw_network_throttle *t, const cw_network *network, uint64_t now);

#endif
