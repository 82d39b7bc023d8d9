/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_offers.h - adds the events that the operator enables to the methods of a source.
 *
 * An event without requirements has those of the read-only tools of its source, all of them together.
 *
 * Ownership: borrows; the source gets a companion.
 * Threads:   the main thread.
 */
#ifndef CW_SOURCE_EVENT_EVENT_OFFERS_H
#define CW_SOURCE_EVENT_EVENT_OFFERS_H

#include "base/buf.h"
#include "config/config.h"
#include "event/hub.h"
#include "source/source.h"

/* One event that is enabled. */
typedef struct cw_event_rule {
    cw_config_event config; /* with the values of the preset; `name` has no wildcards */
    cw_event_type *type;    /* a reference of its owner */
} cw_event_rule;

typedef struct cw_event_list {
    const cw_event_rule *rules;
    size_t n;
    unsigned n_loops;
    struct cw_accounts *accounts; /* NULL: there are no logins */
} cw_event_list;

/* Add the methods of the events, in the arena of the source. An event whose requirements are not
 * known is left out, with a line of `warnings`. */
CW_MUST_USE cw_code cw_event_source_add(cw_source *source, const cw_event_list *events,
                                        cw_arena *arena, cw_buf *warnings, cw_err *err);

#endif
