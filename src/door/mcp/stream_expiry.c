/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stream_expiry.c - ends streams when the credentials that opened them expire. */
#include "door/mcp/stream_expiry.h"

/* The wall clock may be set: after so long it is asked again. */
#define CHECK_MAX_MS INT64_C(60000)

static void link_to(cw_mcp_expiry *ring, cw_mcp_expiry *expiry)
{
    expiry->next = ring;
    expiry->prev = ring->prev;
    expiry->prev->next = expiry;
    ring->prev = expiry;
}

static void wait_for(cw_mcp_expiries *all, int64_t at)
{
    int64_t left = at - cw_clock_wall_ms();
    if (left < 1)
        left = 1;
    all->next = at;
    cw_loop_set_duration(all->loop, &all->list,
                         (uint64_t)(left < CHECK_MAX_MS ? left : CHECK_MAX_MS));
    cw_loop_set_deadline(all->loop, &all->check, &all->list);
}

/* The callbacks may add and remove others, so expired ones wait in a ring of their own. */
static void on_check(cw_deadline *d)
{
    cw_mcp_expiries *all = CW_CONTAINER(d, cw_mcp_expiries, check);
    cw_mcp_expiry expired = {.prev = &expired, .next = &expired}, *next;
    int64_t now = cw_clock_wall_ms(), earliest = INT64_MAX;
    for (cw_mcp_expiry *e = all->ring.next; e != &all->ring; e = next) {
        next = e->next;
        if (e->at <= now) {
            cw_mcp_expiry_remove(e);
            link_to(&expired, e);
        } else if (e->at < earliest) {
            earliest = e->at;
        }
    }
    if (earliest < INT64_MAX)
        wait_for(all, earliest);
    while (expired.next != &expired) {
        cw_mcp_expiry *e = expired.next;
        cw_mcp_expiry_remove(e);
        e->on_expired(e);
    }
}

void cw_mcp_expiries_init(cw_mcp_expiries *all, cw_loop *loop)
{
    *all = (cw_mcp_expiries){.loop = loop};
    all->ring.prev = all->ring.next = &all->ring;
    cw_deadline_list_init(&all->list, (uint64_t)CHECK_MAX_MS, on_check);
    cw_loop_watch(loop, &all->list);
}

void cw_mcp_expiry_add(cw_mcp_expiries *all, cw_mcp_expiry *expiry)
{
    link_to(&all->ring, expiry);
    if (!all->check.list || expiry->at < all->next)
        wait_for(all, expiry->at);
}

void cw_mcp_expiry_remove(cw_mcp_expiry *expiry)
{
    if (!expiry->next)
        return;
    expiry->prev->next = expiry->next;
    expiry->next->prev = expiry->prev;
    expiry->prev = expiry->next = NULL;
}
