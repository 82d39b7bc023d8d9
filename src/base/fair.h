/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fair.h - places that callers share: a queue that serves them in turn, and counted places.
 *
 * A caller is known by a path of groups, the widest first: for an anonymous caller its /48, /56 and
 * /64, for an account three times the same (access/fair_key.h makes it). Groups of one level take
 * turns, and within a group those of the next level do. So a caller waits for its own items and for
 * one round of others, however many items or addresses another caller has.
 *
 *     queue ─┬─ /48 ─┬─ /56 ─── /64 ─── item, item, item
 *            │       └─ /56 ─── /64 ─── item
 *            └─ account ─ … ─── … ───── item
 *
 * A full queue takes an item of a caller with few items all the same: the caller with the most
 * items loses its newest one. A caller alone may have all places, and each has an equal share of
 * them when many wait.
 *
 * Counted places (cw_fair_slots) are held for long, so nothing is taken away: a group may take one
 * more only while it holds fewer than are free, or fewer than CW_FAIR_SLOTS_FLOOR. One group has
 * at most half of many places, a second one half of the rest, and so on; some stay free for others.
 *
 * Ownership: items are the user's and are embedded; groups belong to the queue.
 * Threads:   cw_fair_queue one thread at a time; cw_fair_slots any, one lock.
 * Limits:    the ceiling given with each call; each item needs at most three groups.
 */
#ifndef CW_BASE_FAIR_H
#define CW_BASE_FAIR_H

#include <pthread.h>

#include "base/err.h"
#include "base/list.h"
#include "base/str.h"

#define CW_FAIR_LEVELS 3u
#define CW_FAIR_BUCKETS 256u
#define CW_FAIR_SLOTS_FLOOR 8u /* places that one caller may hold while there are any */

/* Seeded hashes (cw_hash) of the groups of a caller, the widest first. Callers that share one share
 * all that are wider. */
typedef struct cw_fair_key {
    uint64_t at[CW_FAIR_LEVELS];
} cw_fair_key;

typedef struct cw_fair_group cw_fair_group;

/* All zero: in no queue. */
typedef struct cw_fair_item {
    cw_list node;
    cw_fair_group *group;
} cw_fair_item;

/* The groups of a queue or of counted places. */
typedef struct cw_fair_groups {
    cw_list ring; /* of the widest level, in turn */
    cw_fair_group *buckets[CW_FAIR_BUCKETS];
    cw_fair_group *pool;
    uint32_t n; /* items in all */
} cw_fair_groups;

typedef struct cw_fair_queue {
    cw_fair_groups groups;
} cw_fair_queue;

void cw_fair_init(cw_fair_queue *q);
/* Items that are left are forgotten. */
void cw_fair_done(cw_fair_queue *q);
CW_INLINE uint32_t cw_fair_count(const cw_fair_queue *q)
{
    return q->groups.n;
}
/* Add an item behind the others of its caller; at most `max` wait. *ret_lost is NULL, or the item
 * that lost its place and is in the queue no longer. CW_LIMIT: there is no place; CW_NOMEM. */
CW_MUST_USE cw_code cw_fair_push(cw_fair_queue *q, cw_fair_item *item, const cw_fair_key *key,
                                 uint32_t max, cw_fair_item **ret_lost);
/* The item whose turn it is, or NULL. It stays in the queue. */
cw_fair_item *cw_fair_first(const cw_fair_queue *q);
/* The first item of the caller behind that of `item` in turn, or NULL after the last one. */
cw_fair_item *cw_fair_next_caller(const cw_fair_queue *q, const cw_fair_item *item);
/* Take an item out because it is served: its caller has had its turn. */
void cw_fair_take(cw_fair_queue *q, cw_fair_item *item);
/* Take an item out for another reason. */
void cw_fair_remove(cw_fair_queue *q, cw_fair_item *item);

/* ---- counted places ---- */

typedef struct cw_fair_slots {
    pthread_mutex_t lock;
    cw_fair_groups groups;
} cw_fair_slots;

void cw_fair_slots_init(cw_fair_slots *p);
void cw_fair_slots_done(cw_fair_slots *p);
/* Hold one of `max` places, at most `each` of them by one caller (0: its share). CW_LIMIT,
 * CW_NOMEM. *ret is for cw_fair_slots_leave. */
CW_MUST_USE cw_code cw_fair_slots_enter(cw_fair_slots *p, const cw_fair_key *key, uint32_t max,
                                        uint32_t each, cw_fair_group **ret);
/* NULL is fine. */
void cw_fair_slots_leave(cw_fair_slots *p, cw_fair_group *place);

#endif
