/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "call/call_int.h"

void cw_call_timeout_leave(cw_runtime_loop *rl, cw_call_timeout *limit)
{
    if (--limit->refs)
        return;
    cw_call_timeout **at = &rl->limits;
    while (*at != limit)
        at = &(*at)->next;
    *at = limit->next;
    cw_loop_unwatch(rl->loop, &limit->list);
    free(limit);
}

cw_call_timeout *cw_call_timeout_enter(cw_runtime_loop *rl, uint32_t ms)
{
    cw_call_timeout *limit = rl->limits;
    while (limit && limit->ms != ms)
        limit = limit->next;
    if (!limit) {
        limit = calloc(1, sizeof *limit);
        if (!limit)
            return NULL;
        limit->ms = ms;
        cw_deadline_list_init(&limit->list, ms, cw_exchange_on_deadline);
        cw_loop_watch(rl->loop, &limit->list);
        limit->next = rl->limits;
        rl->limits = limit;
    }
    limit->refs++;
    return limit;
}

static cw_active_source *make(cw_runtime_loop *rl, cw_source *source)
{
    cw_active_source *source_entry = calloc(1, sizeof *source_entry);
    cw_call_timeout *limit = source_entry ? cw_call_timeout_enter(rl, source->call_ms) : NULL;
    if (!limit) {
        free(source_entry);
        return NULL;
    }
    source_entry->source = cw_source_ref(source);
    source_entry->limit = limit;
    return source_entry;
}

static void drop(cw_runtime_loop *rl, cw_active_source **at)
{
    cw_active_source *source_entry = *at;
    *at = source_entry->next;
    cw_call_timeout_leave(rl, source_entry->limit);
    cw_source_unref(source_entry->source);
    free(source_entry);
}

cw_active_source *cw_active_source_enter(cw_runtime_loop *rl, cw_source *source)
{
    cw_active_source **at = &rl->source_entry;
    while (*at && (*at)->source != source)
        at = &(*at)->next;
    cw_active_source *source_entry = *at;
    if (source_entry)
        *at = source_entry->next;
    else
        source_entry = make(rl, source);
    if (!source_entry)
        return NULL;
    /* The last one first: most calls in a row go to few sources. */
    source_entry->next = rl->source_entry;
    rl->source_entry = source_entry;
    source_entry->running++;
    return source_entry;
}

void cw_active_source_leave(cw_runtime_loop *rl, cw_active_source *source_entry)
{
    bool is_retired = atomic_load_explicit(&source_entry->source->retired, memory_order_relaxed);
    if (--source_entry->running || !(is_retired || rl->has_ended))
        return;
    cw_active_source **at = &rl->source_entry;
    while (*at != source_entry)
        at = &(*at)->next;
    drop(rl, at);
}

void cw_active_sources_tidy(cw_runtime_loop *rl)
{
    cw_active_source **at = &rl->source_entry;
    while (*at) {
        if ((*at)->running == 0 && (rl->has_ended || atomic_load(&(*at)->source->retired)))
            drop(rl, at);
        else
            at = &(*at)->next;
    }
}

void cw_active_sources_done(cw_runtime_loop *rl)
{
    rl->has_ended = true;
    cw_active_sources_tidy(rl);
}
