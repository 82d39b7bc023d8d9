/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fair.c - groups of callers in rings, and the turns they take. */
#include "base/fair.h"

#include <stdlib.h>

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

static cw_fair_group **slot_of(cw_fair_groups *g, uint32_t level, uint64_t key)
{
    cw_fair_group **at = &g->buckets[(key + level) % CW_FAIR_BUCKETS];
    while (*at && ((*at)->key != key || (*at)->level != level))
        at = &(*at)->same;
    return at;
}

static cw_list *ring_of(cw_fair_groups *g, cw_fair_group *parent)
{
    return parent ? &parent->ring : &g->ring;
}

static cw_fair_group *make_group(cw_fair_groups *g, cw_fair_group *parent, uint32_t level,
                                 uint64_t key)
{
    cw_fair_group **slot = slot_of(g, level, key);
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
    *slot_of(g, group->level, group->key) = group->same;
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

/* The narrowest group of a caller with one more item; NULL: no memory. */
static cw_fair_group *enter(cw_fair_groups *g, const cw_fair_key *key)
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
        up->n++;
    g->n++;
    return group;
}

static void leave(cw_fair_groups *g, cw_fair_group *group)
{
    for (cw_fair_group *up = group; up; up = up->parent)
        up->n--;
    g->n--;
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
        cw_fair_group *own = *slot_of(g, level, key->at[level]);
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
    cw_fair_group *group = enter(g, key);
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

void cw_fair_remove(cw_fair_queue *q, cw_fair_item *item)
{
    cw_fair_group *group = item->group;
    cw_list_remove(&item->node);
    item->group = NULL;
    leave(&q->groups, group);
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

/* Whether no group of the caller holds more than its share. */
static bool may_enter(cw_fair_groups *g, const cw_fair_key *key, uint32_t max, uint32_t each)
{
    if (g->n >= max)
        return false;
    uint32_t left = max - g->n;
    uint32_t share = left > CW_FAIR_SLOTS_FLOOR ? left : CW_FAIR_SLOTS_FLOOR;
    for (uint32_t level = 0; level < CW_FAIR_LEVELS; level++) {
        const cw_fair_group *own = *slot_of(g, level, key->at[level]);
        uint32_t held = own ? own->n : 0;
        if (held >= share || (level == LEAF && each && held >= each))
            return false;
    }
    return true;
}

cw_code cw_fair_slots_enter(cw_fair_slots *p, const cw_fair_key *key, uint32_t max, uint32_t each,
                            cw_fair_group **ret)
{
    pthread_mutex_lock(&p->lock);
    cw_code rc = may_enter(&p->groups, key, max, each) ? CW_OK : CW_LIMIT;
    *ret = rc ? NULL : enter(&p->groups, key);
    pthread_mutex_unlock(&p->lock);
    return !rc && !*ret ? CW_NOMEM : rc;
}

void cw_fair_slots_leave(cw_fair_slots *p, cw_fair_group *place)
{
    if (!place)
        return;
    pthread_mutex_lock(&p->lock);
    leave(&p->groups, place);
    pthread_mutex_unlock(&p->lock);
}
