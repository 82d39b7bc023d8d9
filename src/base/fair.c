/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fair.c - groups of callers in rings, and the turns they take. */
#include "base/fair.h"

#include <stdlib.h>
#include <string.h>

#define LEAF (CW_FAIR_LEVELS - 1)

struct cw_fair_group {
    cw_list node; /* of the parent's ring, in turn; first, so that a node is its group */
    cw_list ring; /* groups of the next level, or items */
    cw_fair_group *parent;
    cw_fair_group *same; /* the next one of its bucket, or of the pool */
    uint64_t key;
    uint32_t level;
    uint32_t n; /* items below */
};

static cw_fair_group *group_of(cw_list *node)
{
    return CW_CONTAINER(node, cw_fair_group, node);
}

static cw_fair_item *item_of(cw_list *node)
{
    return CW_CONTAINER(node, cw_fair_item, node);
}

/* ---- groups ---- */

static void groups_init(cw_fair_groups *g)
{
    *g = (cw_fair_groups){.n = 0};
    cw_list_init(&g->ring);
}

static void free_chain(cw_fair_group *group)
{
    while (group) {
        cw_fair_group *next = group->same;
        free(group);
        group = next;
    }
}

static void groups_done(cw_fair_groups *g)
{
    for (size_t i = 0; i < CW_FAIR_BUCKETS; i++)
        free_chain(g->buckets[i]);
    free_chain(g->pool);
    groups_init(g);
}

/* Groups of two parents are two groups, also if their keys are equal. */
static cw_fair_group **slot_of(cw_fair_groups *g, const cw_fair_group *parent, uint32_t level,
                               uint64_t key)
{
    cw_fair_group **at = &g->buckets[(key + level) % CW_FAIR_BUCKETS];
    while (*at && ((*at)->key != key || (*at)->level != level || (*at)->parent != parent))
        at = &(*at)->same;
    return at;
}

/* The group of this level; NULL: it has no items. */
static cw_fair_group *find_group(cw_fair_groups *g, const cw_fair_key *key, uint32_t level)
{
    cw_fair_group *group = *slot_of(g, NULL, 0, key->at[0]);
    for (uint32_t i = 1; group && i <= level; i++)
        group = *slot_of(g, group, i, key->at[i]);
    return group;
}

static cw_list *ring_of(cw_fair_groups *g, cw_fair_group *parent)
{
    return parent ? &parent->ring : &g->ring;
}

static cw_fair_group *make_group(cw_fair_groups *g, cw_fair_group *parent, uint32_t level,
                                 uint64_t key)
{
    cw_fair_group **slot = slot_of(g, parent, level, key);
    cw_fair_group *group = *slot;
    if (group)
        return group;
    group = g->pool ? g->pool : malloc(sizeof *group);
    if (!group)
        return NULL;
    if (group == g->pool)
        g->pool = group->same;
    *group = (cw_fair_group){.parent = parent, .key = key, .level = level};
    cw_list_init(&group->ring);
    cw_list_add(ring_of(g, parent), &group->node);
    *slot = group;
    return group;
}

static void drop_group(cw_fair_groups *g, cw_fair_group *group)
{
    *slot_of(g, group->parent, group->level, group->key) = group->same;
    cw_list_remove(&group->node);
    group->same = g->pool;
    g->pool = group;
}

/* Groups without items go, from this one upwards. */
static void drop_empty(cw_fair_groups *g, cw_fair_group *group)
{
    while (group && group->n == 0) {
        cw_fair_group *parent = group->parent;
        drop_group(g, group);
        group = parent;
    }
}

/* The narrowest group of a caller with `n` more items; NULL: no memory. */
static cw_fair_group *enter(cw_fair_groups *g, const cw_fair_key *key, uint32_t n)
{
    cw_fair_group *group = NULL;
    for (uint32_t level = 0; level < CW_FAIR_LEVELS; level++) {
        cw_fair_group *next = make_group(g, group, level, key->at[level]);
        if (!next) {
            drop_empty(g, group);
            return NULL;
        }
        group = next;
    }
    for (cw_fair_group *up = group; up; up = up->parent)
        up->n += n;
    g->n += n;
    return group;
}

static void leave(cw_fair_groups *g, cw_fair_group *group, uint32_t n)
{
    for (cw_fair_group *up = group; up; up = up->parent)
        up->n -= n;
    g->n -= n;
    drop_empty(g, group);
}

/* ---- the queue ---- */

void cw_fair_init(cw_fair_queue *q)
{
    groups_init(&q->groups);
}

void cw_fair_done(cw_fair_queue *q)
{
    groups_done(&q->groups);
}

static cw_fair_group *largest(cw_list *ring)
{
    cw_fair_group *most = group_of(ring->next);
    CW_LIST_EACH (node, ring) {
        if (group_of(node)->n > most->n)
            most = group_of(node);
    }
    return most;
}

/* The newest item of the caller with the most items in this group. */
static cw_fair_item *newest_of(cw_fair_group *group)
{
    while (group->level < LEAF)
        group = largest(&group->ring);
    return item_of(group->ring.prev);
}

/* The item that loses its place to one more item of this caller: the newest item of a group that
 * has at least two more than the caller's, on the widest such level. NULL: none. */
static cw_fair_item *item_to_yield(cw_fair_groups *g, const cw_fair_key *key)
{
    cw_list *ring = &g->ring;
    for (uint32_t level = 0; level < CW_FAIR_LEVELS && !cw_list_is_empty(ring); level++) {
        cw_fair_group *own = find_group(g, key, level);
        cw_fair_group *most = largest(ring);
        if (most != own && most->n >= (own ? own->n : 0) + 2)
            return newest_of(most);
        if (!own)
            return NULL;
        ring = &own->ring;
    }
    return NULL;
}

cw_code cw_fair_push(cw_fair_queue *q, cw_fair_item *item, const cw_fair_key *key, uint32_t max,
                     cw_fair_item **ret_lost)
{
    cw_fair_groups *g = &q->groups;
    cw_fair_item *lost = g->n >= max ? item_to_yield(g, key) : NULL;
    *ret_lost = NULL;
    if (g->n >= max && !lost)
        return CW_LIMIT;
    cw_fair_group *group = enter(g, key, 1);
    if (!group)
        return CW_NOMEM;
    item->group = group;
    cw_list_add(&group->ring, &item->node);
    if (lost)
        cw_fair_remove(q, lost);
    *ret_lost = lost;
    return CW_OK;
}

/* The first item at or below a node of a ring of groups. */
static cw_fair_item *first_below(cw_list *node)
{
    cw_fair_group *group = group_of(node);
    while (group->level < LEAF)
        group = group_of(group->ring.next);
    return item_of(group->ring.next);
}

cw_fair_item *cw_fair_first(const cw_fair_queue *q)
{
    const cw_list *ring = &q->groups.ring;
    return cw_list_is_empty(ring) ? NULL : first_below(ring->next);
}

cw_fair_item *cw_fair_next_caller(const cw_fair_queue *q, const cw_fair_item *item)
{
    for (cw_fair_group *group = item->group; group; group = group->parent) {
        const cw_list *ring = group->parent ? &group->parent->ring : &q->groups.ring;
        if (group->node.next != ring)
            return first_below(group->node.next);
    }
    return NULL;
}

cw_fair_item *cw_fair_next_network(const cw_fair_queue *q, const cw_fair_item *item)
{
    const cw_fair_group *group = item->group;
    while (group->parent)
        group = group->parent;
    return group->node.next != &q->groups.ring ? first_below(group->node.next) : NULL;
}

void cw_fair_remove(cw_fair_queue *q, cw_fair_item *item)
{
    cw_fair_group *group = item->group;
    cw_list_remove(&item->node);
    item->group = NULL;
    leave(&q->groups, group, 1);
}

void cw_fair_take(cw_fair_queue *q, cw_fair_item *item)
{
    for (cw_fair_group *group = item->group; group; group = group->parent) {
        cw_list *ring = ring_of(&q->groups, group->parent);
        cw_list_remove(&group->node);
        cw_list_add(ring, &group->node);
    }
    cw_fair_remove(q, item);
}

/* ---- counted places ---- */

void cw_fair_slots_init(cw_fair_slots *p)
{
    pthread_mutex_init(&p->lock, NULL);
    groups_init(&p->groups);
}

void cw_fair_slots_done(cw_fair_slots *p)
{
    groups_done(&p->groups);
    pthread_mutex_destroy(&p->lock);
}

static uint32_t held_by(cw_fair_groups *g, uint32_t level, const cw_fair_key *key)
{
    const cw_fair_group *group = find_group(g, key, level);
    return group ? group->n : 0;
}

/* Whether no group of the caller holds more than its share with `n` more places. */
static bool may_take(cw_fair_groups *g, const cw_fair_key *key, uint32_t n, uint32_t max,
                     uint32_t least)
{
    if (n > max || g->n > max - n)
        return false;
    uint32_t left = max - n - g->n + 1; /* before the last one of them */
    uint32_t share = left > least ? left : least;
    for (uint32_t level = 0; level < CW_FAIR_LEVELS; level++) {
        if (n > share || held_by(g, level, key) > share - n)
            return false;
    }
    return true;
}

static cw_code take(cw_fair_groups *g, const cw_fair_key *key, uint32_t n, uint32_t max,
                    uint32_t least, cw_fair_group **ret)
{
    if (!may_take(g, key, n, max, least))
        return CW_LIMIT;
    *ret = enter(g, key, n);
    return *ret ? CW_OK : CW_NOMEM;
}

cw_code cw_fair_slots_enter(cw_fair_slots *p, const cw_fair_key *key, uint32_t max, uint32_t each,
                            cw_fair_group **ret)
{
    *ret = NULL;
    pthread_mutex_lock(&p->lock);
    bool is_full = each && held_by(&p->groups, LEAF, key) >= each;
    cw_code rc = is_full ? CW_LIMIT : take(&p->groups, key, 1, max, CW_FAIR_SLOTS_FLOOR, ret);
    pthread_mutex_unlock(&p->lock);
    return rc;
}

cw_code cw_fair_slots_take(cw_fair_slots *p, const cw_fair_key *key, uint32_t n, uint32_t max,
                           uint32_t least)
{
    cw_fair_group *group;
    pthread_mutex_lock(&p->lock);
    cw_code rc = take(&p->groups, key, n, max, least, &group);
    pthread_mutex_unlock(&p->lock);
    return rc;
}

void cw_fair_slots_give(cw_fair_slots *p, const cw_fair_key *key, uint32_t n)
{
    pthread_mutex_lock(&p->lock);
    leave(&p->groups, find_group(&p->groups, key, LEAF), n);
    pthread_mutex_unlock(&p->lock);
}

uint32_t cw_fair_slots_count(cw_fair_slots *p)
{
    pthread_mutex_lock(&p->lock);
    uint32_t n = p->groups.n;
    pthread_mutex_unlock(&p->lock);
    return n;
}

void cw_fair_slots_leave(cw_fair_slots *p, cw_fair_group *place)
{
    if (!place)
        return;
    pthread_mutex_lock(&p->lock);
    leave(&p->groups, place, 1);
    pthread_mutex_unlock(&p->lock);
}

/* ---- places in turn ---- */

void cw_fair_turns_init(cw_fair_turns *t)
{
    *t = (cw_fair_turns){.n_claims = 0};
    pthread_mutex_init(&t->lock, NULL);
    groups_init(&t->groups);
}

void cw_fair_turns_done(cw_fair_turns *t)
{
    groups_done(&t->groups);
    pthread_mutex_destroy(&t->lock);
}

static void record_caller(cw_fair_turns *t, uint64_t owner, uint64_t now)
{
    if (t->last_owner && owner != t->last_owner)
        t->others_until_ns = t->last_ns + CW_FAIR_OTHERS_NS;
    t->last_owner = owner;
    t->last_ns = now;
}

/* The number of claims before that of this caller, which is the index of its claim; all, if it has
 * none. Claims that have lapsed go. */
static uint32_t claims_before(cw_fair_turns *t, uint64_t owner, uint64_t now)
{
    uint32_t n = 0, own = CW_FAIR_CLAIMS;
    for (uint32_t i = 0; i < t->n_claims; i++) {
        if (now >= t->claims[i].until_ns)
            continue;
        if (t->claims[i].owner == owner)
            own = n;
        t->claims[n++] = t->claims[i];
    }
    t->n_claims = n;
    return own < n ? own : n;
}

/* A claim lasts while no place is free. After that it is not renewed: a caller that does not come
 * for its place delays others once, and not longer. */
static void claim(cw_fair_turns *t, uint32_t at, uint64_t owner, bool is_full, uint64_t now)
{
    if (at == t->n_claims && at < CW_FAIR_CLAIMS)
        t->claims[t->n_claims++] = (cw_fair_claim){owner, now + CW_FAIR_CLAIM_NS};
    else if (at < t->n_claims && is_full)
        t->claims[at].until_ns = now + CW_FAIR_CLAIM_NS;
}

static void drop_claim(cw_fair_turns *t, uint32_t at)
{
    if (at == t->n_claims)
        return;
    t->n_claims--;
    memmove(&t->claims[at], &t->claims[at + 1], (t->n_claims - at) * sizeof *t->claims);
}

/* With the lock. */
static cw_code enter_turn(cw_fair_turns *t, const cw_fair_key *key, uint32_t max, uint64_t now,
                          cw_fair_group **ret)
{
    uint64_t owner = key->at[0];
    record_caller(t, owner, now);
    uint32_t left = t->groups.n < max ? max - t->groups.n : 0;
    uint32_t before = claims_before(t, owner, now);
    bool has_one = held_by(&t->groups, 0, key) > 0;
    bool is_kept = has_one && left == 1 && now < t->others_until_ns;
    if (left > before && !is_kept) {
        *ret = enter(&t->groups, key, 1);
        if (*ret)
            drop_claim(t, before);
        return *ret ? CW_OK : CW_NOMEM;
    }
    if (!has_one)
        claim(t, before, owner, left == 0, now);
    return CW_LIMIT;
}

cw_code cw_fair_turns_enter(cw_fair_turns *t, const cw_fair_key *key, uint32_t max, uint64_t now,
                            cw_fair_group **ret)
{
    *ret = NULL;
    pthread_mutex_lock(&t->lock);
    cw_code rc = enter_turn(t, key, max, now, ret);
    pthread_mutex_unlock(&t->lock);
    return rc;
}

void cw_fair_turns_leave(cw_fair_turns *t, cw_fair_group *place)
{
    if (!place)
        return;
    pthread_mutex_lock(&t->lock);
    leave(&t->groups, place, 1);
    pthread_mutex_unlock(&t->lock);
}
