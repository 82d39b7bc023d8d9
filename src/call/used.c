/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "call/call_int.h"

void cw_limit_leave(cw_bridge_loop *bl, cw_call_limit *limit)
{
    if (--limit->refs)
        return;
    cw_call_limit **at = &bl->limits;
    while (*at != limit)
        at = &(*at)->next;
    *at = limit->next;
    cw_loop_unwatch(bl->loop, &limit->list);
    free(limit);
}

cw_call_limit *cw_limit_enter(cw_bridge_loop *bl, uint32_t ms)
{
    cw_call_limit *limit = bl->limits;
    while (limit && limit->ms != ms)
        limit = limit->next;
    if (!limit) {
        limit = calloc(1, sizeof *limit);
        if (!limit)
            return NULL;
        limit->ms = ms;
        cw_deadline_list_init(&limit->list, ms, cw_exchange_on_deadline);
        cw_loop_watch(bl->loop, &limit->list);
        limit->next = bl->limits;
        bl->limits = limit;
    }
    limit->refs++;
    return limit;
}

static cw_used *make(cw_bridge_loop *bl, cw_source *source)
{
    cw_used *used = calloc(1, sizeof *used);
    cw_call_limit *limit = used ? cw_limit_enter(bl, source->call_ms) : NULL;
    if (!limit) {
        free(used);
        return NULL;
    }
    used->source = cw_source_ref(source);
    used->limit = limit;
    return used;
}

static void drop(cw_bridge_loop *bl, cw_used **at)
{
    cw_used *used = *at;
    *at = used->next;
    cw_limit_leave(bl, used->limit);
    cw_source_unref(used->source);
    free(used);
}

cw_used *cw_used_enter(cw_bridge_loop *bl, cw_source *source)
{
    cw_used **at = &bl->used;
    while (*at && (*at)->source != source)
        at = &(*at)->next;
    cw_used *used = *at;
    if (used)
        *at = used->next;
    else
        used = make(bl, source);
    if (!used)
        return NULL;
    /* The last one first: most calls in a row go to few sources. */
    used->next = bl->used;
    bl->used = used;
    used->running++;
    return used;
}

void cw_used_leave(cw_bridge_loop *bl, cw_used *used)
{
    bool is_retired = atomic_load_explicit(&used->source->retired, memory_order_relaxed);
    if (--used->running || !(is_retired || bl->has_ended))
        return;
    cw_used **at = &bl->used;
    while (*at != used)
        at = &(*at)->next;
    drop(bl, at);
}

void cw_used_tidy(cw_bridge_loop *bl)
{
    cw_used **at = &bl->used;
    while (*at) {
        if ((*at)->running == 0 && (bl->has_ended || atomic_load(&(*at)->source->retired)))
            drop(bl, at);
        else
            at = &(*at)->next;
    }
}

void cw_used_done(cw_bridge_loop *bl)
{
    bl->has_ended = true;
    cw_used_tidy(bl);
}
