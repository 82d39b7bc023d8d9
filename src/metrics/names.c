/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names.c - slots for the names that may be labels. */
#include "metrics/names.h"

#include <pthread.h>
#include <string.h>

#include "metrics/keep.h"
#include "metrics/metrics.h"

typedef struct name_table {
    _Atomic(char *) *names;
    atomic_uint n; /* in use; `_OTHER` included */
    uint32_t max;
} name_table;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(char *) tools[CW_METRICS_TOOLS], sources[CW_METRICS_SOURCES],
    routes[CW_METRICS_ROUTES], listeners[CW_METRICS_LISTENERS], issuers[CW_METRICS_ISSUERS];
static name_table tables[CW_METRICS_KINDS] = {
    [CW_METRICS_TOOL] = {.names = tools, .n = 1, .max = CW_METRICS_TOOLS},
    [CW_METRICS_SOURCE] = {.names = sources, .n = 1, .max = CW_METRICS_SOURCES},
    [CW_METRICS_ROUTE] = {.names = routes, .n = 1, .max = CW_METRICS_ROUTES},
    [CW_METRICS_LISTENER] = {.names = listeners, .n = 1, .max = CW_METRICS_LISTENERS},
    [CW_METRICS_ISSUER] = {.names = issuers, .n = 1, .max = CW_METRICS_ISSUERS},
};

/* Under the lock; 0: no room, or no memory. */
static uint32_t add(name_table *t, cw_str name)
{
    uint32_t slot = atomic_load(&t->n);
    if (slot >= t->max || name.n > CW_METRICS_NAME_MAX)
        return 0;
    char *copy = cw_metrics_keep(name.n + 1);
    if (!copy)
        return 0;
    memcpy(copy, name.p, name.n);
    atomic_store(&t->names[slot], copy);
    atomic_store(&t->n, slot + 1);
    return slot;
}

/* Owners keep their slot, so a walk through the names is rare. 0: none. */
static uint32_t find(const name_table *t, cw_str name)
{
    uint32_t n = atomic_load(&t->n);
    for (uint32_t slot = 1; slot < n; slot++) {
        if (cw_str_is(name, atomic_load(&t->names[slot])))
            return slot;
    }
    return 0;
}

uint32_t cw_metrics_slot(cw_metrics_kind kind, cw_str name)
{
    name_table *t = &tables[kind];
    pthread_mutex_lock(&lock);
    uint32_t slot = find(t, name);
    if (!slot)
        slot = add(t, name);
    pthread_mutex_unlock(&lock);
    if (!slot)
        cw_metrics_count(CW_METRIC_FOLDED, 0, 0, 0);
    return slot;
}

uint32_t cw_metrics_cache(cw_metrics_cached_slot *cached, cw_metrics_kind kind, cw_str name)
{
    uint32_t slot = cw_metrics_slot(kind, name);
    atomic_store_explicit(cached, slot + 1, memory_order_relaxed);
    return slot;
}

void cw_metrics_limit_tools(uint32_t max)
{
    pthread_mutex_lock(&lock);
    tables[CW_METRICS_TOOL].max = max < CW_METRICS_TOOLS ? max + 1 : CW_METRICS_TOOLS;
    pthread_mutex_unlock(&lock);
}

uint32_t cw_metrics_slots(cw_metrics_kind kind)
{
    return atomic_load(&tables[kind].n);
}

cw_str cw_metrics_slot_name(cw_metrics_kind kind, uint32_t slot)
{
    const char *name = slot ? atomic_load(&tables[kind].names[slot]) : NULL;
    return name ? cw_str_from(name) : CW_STR("_OTHER");
}
