/* SPDX-License-Identifier: GPL-2.0-or-later */
/* throttle.h - delays after repeated failures.
 *
 * The first failures are free. Each further failure doubles the delay, from a second to a minute. A
 * success clears the failures, and so do 15 minutes without a failure.
 *
 * The table has a fixed size. In a full set the entry with the oldest failure is replaced. A seeded
 * hash selects the set, so a client cannot choose the entry that it replaces.
 *
 * Servers that share a database count together (login/failures.h). Then the table is a copy of what
 * the database counts, and it holds what the database does not have yet: failures go on counting here
 * while the database is away.
 *
 * Threads: any; one lock. Only for the slow path of a login.
 * Limits:  CW_THROTTLE_ENTRIES names or addresses.
 */
#ifndef CW_ACCESS_THROTTLE_H
#define CW_ACCESS_THROTTLE_H

#include <pthread.h>

#include "base/err.h"
#include "json/write.h"
#include "net/addr/network.h"

#define CW_THROTTLE_ENTRIES 4096u
#define CW_THROTTLE_FIRST_MS 1000u
#define CW_THROTTLE_LONGEST_MS 60000u
#define CW_THROTTLE_FORGET_MS 900000u

typedef struct cw_throttle_entry {
    uint64_t hash;
    uint64_t failed_at;
    uint32_t failures; /* 0: free */
    uint32_t unshared; /* of these, the ones that the database does not have */
} cw_throttle_entry;

typedef struct cw_throttle {
    pthread_mutex_t lock;
    uint32_t free_failures;
    cw_throttle_entry *entries;
} cw_throttle;

CW_MUST_USE cw_code cw_throttle_init(cw_throttle *t, uint32_t free_failures, cw_err *err);
/* A zeroed struct is fine. */
void cw_throttle_done(cw_throttle *t);
/* The remaining delay in ms; 0: none. `now` is the monotonic clock. */
uint64_t cw_throttle_wait(cw_throttle *t, cw_str who, uint64_t now);
void cw_throttle_fail(cw_throttle *t, cw_str who, uint64_t now);
void cw_throttle_forget(cw_throttle *t, cw_str who);

/* Take the failures that the database does not have; cw_throttle_set or _give_back comes next. */
uint32_t cw_throttle_take(cw_throttle *t, cw_str who);
/* The database could not be written. */
void cw_throttle_give_back(cw_throttle *t, cw_str who, uint32_t n);
/* The database counts `n` failures, the last `age` ms ago. Failures that it does not have are added. */
void cw_throttle_set(cw_throttle *t, cw_str who, uint64_t n, uint64_t age, uint64_t now);

/* Add an array of the failures that count, for a process that takes over and has the same seed of
 * hashes (base/map.h) and the same clock. */
void cw_throttle_write(cw_throttle *t, cw_json_writer *w, uint64_t now);
/* Count them as well; what is not such an array is ignored. At most CW_THROTTLE_ENTRIES. */
void cw_throttle_read(cw_throttle *t, const cw_json *failures);

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
/* The name of a network in the throttle of a level; it points into `network`. */
cw_str cw_network_throttle_name(const cw_network *network, unsigned level);
/* An array of the arrays of all levels. */
void cw_network_throttle_write(cw_network_throttle *t, cw_json_writer *w, uint64_t now);
void cw_network_throttle_read(cw_network_throttle *t, const cw_json *levels);

#endif
