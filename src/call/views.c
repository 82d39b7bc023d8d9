/* SPDX-License-Identifier: GPL-2.0-or-later */
/* views.c - a table of fixed size: sets of a few places, the least recently used goes.
 *
 * A caller is known by its address. A view holds a reference to its caller, so that
 * the address is not another's as long as the view is kept.
 */
#include <stdlib.h>

#include "call/call_int.h"

#define WAYS 4u
#define SETS (CW_BRIDGE_VIEWS / WAYS)

static cw_kept_view *set_of(cw_bridge_loop *bl, const cw_caller *caller)
{
    /* Objects are aligned: the low bits say nothing. */
    uint64_t hash = (uint64_t)(uintptr_t)caller >> 4;
    hash *= UINT64_C(0x9E3779B97F4A7C15);
    return &bl->views[(hash >> 32) % SETS * WAYS];
}

static cw_kept_view *find(cw_kept_view *set, const cw_caller *caller)
{
    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i].view && cw_view_caller(set[i].view) == caller)
            return &set[i];
    }
    return NULL;
}

static cw_kept_view *make_room(cw_kept_view *set)
{
    cw_kept_view *oldest = set;
    for (unsigned i = 1; i < WAYS && oldest->view; i++) {
        if (!set[i].view || set[i].used < oldest->used)
            oldest = &set[i];
    }
    cw_view_unref(oldest->view);
    *oldest = (cw_kept_view){0};
    return oldest;
}

cw_view *cw_bridge_view(cw_bridge_loop *bl, cw_caller *caller)
{
    if (!bl->views)
        bl->views = calloc(CW_BRIDGE_VIEWS, sizeof *bl->views);
    if (!bl->views)
        return NULL;
    cw_kept_view *set = set_of(bl, caller);
    cw_kept_view *kept = find(set, caller);
    if (!kept) {
        cw_view *view;
        if (cw_view_new(cw_bridge_snapshot(bl), caller, &view, NULL))
            return NULL;
        kept = make_room(set);
        kept->view = view;
    }
    kept->used = ++bl->views_tick;
    return kept->view;
}

void cw_views_drop(cw_bridge_loop *bl)
{
    for (size_t i = 0; bl->views && i < CW_BRIDGE_VIEWS; i++) {
        cw_view_unref(bl->views[i].view);
        bl->views[i] = (cw_kept_view){0};
    }
}

void cw_views_done(cw_bridge_loop *bl)
{
    cw_views_drop(bl);
    free(bl->views);
    bl->views = NULL;
}
