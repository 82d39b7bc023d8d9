/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view_cache.c - a table of fixed size: sets of a few places, the least recently used goes.
 *
 * A caller is known by its address. A view holds a reference to its caller, so that
 * the address is not another's as long as the view is kept.
 */
#include <stdlib.h>

#include "call/call_int.h"

#define WAYS 4u
#define SETS (CW_RUNTIME_VIEWS / WAYS)

static cw_cached_view *set_of(cw_runtime_loop *rl, const cw_caller *caller)
{
    /* Objects are aligned: the low bits say nothing. */
    uint64_t hash = (uint64_t)(uintptr_t)caller >> 4;
    hash *= UINT64_C(0x9E3779B97F4A7C15);
    return &rl->views[(hash >> 32) % SETS * WAYS];
}

static cw_cached_view *find(cw_cached_view *set, const cw_caller *caller)
{
    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i].view && cw_view_caller(set[i].view) == caller)
            return &set[i];
    }
    return NULL;
}

static cw_cached_view *make_room(cw_cached_view *set)
{
    cw_cached_view *oldest = set;
    for (unsigned i = 1; i < WAYS && oldest->view; i++) {
        if (!set[i].view || set[i].source_entry < oldest->source_entry)
            oldest = &set[i];
    }
    cw_view_unref(oldest->view);
    *oldest = (cw_cached_view){0};
    return oldest;
}

cw_view *cw_runtime_view(cw_runtime_loop *rl, cw_caller *caller)
{
    if (!rl->views)
        rl->views = calloc(CW_RUNTIME_VIEWS, sizeof *rl->views);
    if (!rl->views)
        return NULL;
    cw_cached_view *set = set_of(rl, caller);
    cw_cached_view *kept = find(set, caller);
    if (!kept) {
        cw_view *view;
        if (cw_view_new(cw_runtime_snapshot(rl), caller, &view, NULL))
            return NULL;
        kept = make_room(set);
        kept->view = view;
    }
    kept->source_entry = ++rl->views_tick;
    return kept->view;
}

void cw_view_cache_drop(cw_runtime_loop *rl)
{
    for (size_t i = 0; rl->views && i < CW_RUNTIME_VIEWS; i++) {
        cw_view_unref(rl->views[i].view);
        rl->views[i] = (cw_cached_view){0};
    }
}

void cw_view_cache_done(cw_runtime_loop *rl)
{
    cw_view_cache_drop(rl);
    free(rl->views);
    rl->views = NULL;
}
