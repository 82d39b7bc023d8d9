/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stream_expiry.c - ends streams when the credentials that opened them expire. */
#include "door/mcp/stream_expiry.h"

/* The wall clock may be set, so it is read again after this time. */
#define CHECK_MAX_MS INT64_C(60000)

static cw_mcp_expiry *expiry_of(cw_list *node)
{
    return CW_CONTAINER(node, cw_mcp_expiry, node);
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
    int64_t now = cw_clock_wall_ms(), earliest = INT64_MAX;
    cw_list expired;
    cw_list_init(&expired);
    CW_LIST_EACH_SAFE (node, &all->ring) {
        int64_t at = expiry_of(node)->at;
        if (at <= now) {
            cw_list_remove(node);
            cw_list_add(&expired, node);
        } else if (at < earliest) {
            earliest = at;
        }
    }
    if (earliest < INT64_MAX)
        wait_for(all, earliest);
    for (cw_list *node; (node = cw_list_take_first(&expired));)
        expiry_of(node)->on_expired(expiry_of(node));
}

void cw_mcp_expiries_init(cw_mcp_expiries *all, cw_loop *loop)
{
    *all = (cw_mcp_expiries){.loop = loop};
    cw_list_init(&all->ring);
    cw_deadline_list_init(&all->list, (uint64_t)CHECK_MAX_MS, on_check);
    cw_loop_watch(loop, &all->list);
}

void cw_mcp_expiry_add(cw_mcp_expiries *all, cw_mcp_expiry *expiry)
{
    cw_list_add(&all->ring, &expiry->node);
    if (!all->check.list || expiry->at < all->next)
        wait_for(all, expiry->at);
}

void cw_mcp_expiry_remove(cw_mcp_expiry *expiry)
{
    cw_list_remove(&expiry->node);
}
