/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fair.h - places that callers share: a queue that serves them in turn, counted places, and places
 * for which callers take turns without a queue.
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
 * An item with a size takes as many places as it needs (cw_fair_slots_take).
 *
 * Places in turn (cw_fair_turns) are often few, and a caller alone may hold all of them. Here a
 * caller is an account or a network of the widest level:
 * - While two callers come, the last free place is kept for callers that hold none.
 * - A caller that holds none and is refused has a claim. Free places are kept for claims, in their
 *   order. So a caller that tries again in time gets a place when each that was refused before it
 *   has had one.
 *
 * Ownership: items are the user's and are embedded; groups belong to the queue.
 * Threads:   cw_fair_queue one thread at a time; cw_fair_slots and cw_fair_turns any, one lock each.
 * Limits:    the ceiling given with each call; each item needs at most three groups; CW_FAIR_CLAIMS.
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
#define CW_FAIR_CLAIMS 32u
#define CW_FAIR_CLAIM_NS UINT64_C(2000000000)    /* a claim, after the last try at full places */
#define CW_FAIR_OTHERS_NS UINT64_C(600000000000) /* a kept place, after another caller has come */

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
/* The first item of the next group of the widest level, or NULL after the last one: for what no
 * caller in the group of `item` can have. */
cw_fair_item *cw_fair_next_network(const cw_fair_queue *q, const cw_fair_item *item);
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
/* Hold `n` more of `max` places. With them a caller may hold as many as are left then, or `least`,
 * which is the size of one thing. CW_LIMIT, CW_NOMEM: none of the `n` is held. */
CW_MUST_USE cw_code cw_fair_slots_take(cw_fair_slots *p, const cw_fair_key *key, uint32_t n,
                                       uint32_t max, uint32_t least);
/* Give back places that were taken with this key. */
void cw_fair_slots_give(cw_fair_slots *p, const cw_fair_key *key, uint32_t n);
/* Places that are held, by all. */
uint32_t cw_fair_slots_count(cw_fair_slots *p);
/* NULL is fine. */
void cw_fair_slots_leave(cw_fair_slots *p, cw_fair_group *place);

/* ---- places in turn ---- */

/* A caller that was refused. */
typedef struct cw_fair_claim {
    uint64_t owner; /* the widest group of its key */
    uint64_t until_ns;
} cw_fair_claim;

typedef struct cw_fair_turns {
    pthread_mutex_t lock;
    cw_fair_groups groups;
    cw_fair_claim claims[CW_FAIR_CLAIMS]; /* the oldest first */
    uint32_t n_claims;
    uint64_t last_owner, last_ns; /* of the last call; 0: none yet */
    uint64_t others_until_ns;     /* 0: all calls were of one caller so far */
} cw_fair_turns;

void cw_fair_turns_init(cw_fair_turns *t);
void cw_fair_turns_done(cw_fair_turns *t);
/* Hold one of `max` places; `now` is the monotonic clock in ns. CW_LIMIT, CW_NOMEM. *ret is for
 * cw_fair_turns_leave. */
CW_MUST_USE cw_code cw_fair_turns_enter(cw_fair_turns *t, const cw_fair_key *key, uint32_t max,
                                        uint64_t now, cw_fair_group **ret);
/* `place` NULL is fine; `t` may be NULL then. */
void cw_fair_turns_leave(cw_fair_turns *t, cw_fair_group *place);

#endif
