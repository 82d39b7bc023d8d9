/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names.h - slots for the names of tools, sources, routes, listeners and issuers.
 *
 * A slot belongs to its name until the process ends, so a series survives a reload. When no slot is
 * free, a name has slot 0, `_OTHER`, and causeway_metrics_folded_total counts it.
 *
 * Threads: any.
 * Limits:  the numbers below; CW_METRICS_NAME_MAX bytes of a name.
 */
#ifndef CW_METRICS_NAMES_H
#define CW_METRICS_NAMES_H

#include <stdatomic.h>

#include "base/str.h"

/* Slots of each kind, with that of `_OTHER`. */
#define CW_METRICS_TOOLS 1001u
#define CW_METRICS_SOURCES 513u
#define CW_METRICS_ROUTES 129u
#define CW_METRICS_LISTENERS 26u
#define CW_METRICS_ISSUERS 17u
#define CW_METRICS_NAME_MAX 256u

typedef enum cw_metrics_kind {
    CW_METRICS_TOOL,
    CW_METRICS_SOURCE,
    CW_METRICS_ROUTE,
    CW_METRICS_LISTENER,
    CW_METRICS_ISSUER,
    CW_METRICS_KINDS,
} cw_metrics_kind;

/* The slot of a name, a new one if needed. */
uint32_t cw_metrics_slot(cw_metrics_kind kind, cw_str name);
/* The same, stored beside the name: 0 is unknown, else the slot and one. */
typedef atomic_uint cw_metrics_cached_slot;
uint32_t cw_metrics_cache(cw_metrics_cached_slot *cached, cw_metrics_kind kind, cw_str name);
CW_INLINE uint32_t cw_metrics_cached(cw_metrics_cached_slot *cached, cw_metrics_kind kind,
                                     cw_str name)
{
    unsigned known = atomic_load_explicit(cached, memory_order_relaxed);
    return CW_LIKELY(known) ? known - 1 : cw_metrics_cache(cached, kind, name);
}
/* Limit the names of tools; those that have a slot keep it. */
void cw_metrics_limit_tools(uint32_t max);
/* The number of slots in use, `_OTHER` included, and the name of one. */
uint32_t cw_metrics_slots(cw_metrics_kind kind);
cw_str cw_metrics_slot_name(cw_metrics_kind kind, uint32_t slot);

#endif
