/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_offers.h - adds the events that the operator enables to the methods of a source.
 *
 * An event without requirements has those of the read-only tools of its source, all of them together.
 * Selected tools that are not offered count too: else a service could open the event to more callers
 * by omitting a tool.
 *
 * Ownership: borrows; the source gets a companion.
 * Threads:   the main thread.
 */
#ifndef CW_SOURCE_EVENT_EVENT_OFFERS_H
#define CW_SOURCE_EVENT_EVENT_OFFERS_H

#include "base/buf.h"
#include "config/config.h"
#include "event/hub.h"
#include "schema/schema.h"
#include "source/source.h"

/* Why an event is lost. */
typedef enum cw_event_loss {
    CW_EVENT_LOSS_SCHEMA,
    CW_EVENT_LOSS_WORK,
    CW_EVENT_LOSS_LIMIT,
    CW_EVENT_LOSS_SECRET,
    CW_EVENT_LOSS_MEMORY,
} cw_event_loss;

/* One event that is enabled. */
typedef struct cw_event_rule {
    cw_config_event config; /* with the values of the preset; `name` has no wildcards */
    cw_event_type *type;    /* a reference of its owner */
    cw_schema *schema;      /* of its data, likewise; NULL: any */
    atomic_uint noted;      /* 1 << cw_event_loss: kinds of losses that the log has */
} cw_event_rule;

/* Open an event of this source. `ret->config` is a copy of `config`, with this name. CW_PARAMS: its schema
 * is invalid; CW_NOMEM. */
CW_MUST_USE cw_code cw_event_source_open_rule(cw_event_hub *hub, cw_str source, cw_str name,
                                              const cw_config_event *config, cw_event_rule *ret,
                                              cw_err *err);
/* Drop its references. */
void cw_event_source_close_rule(cw_event_rule *rule);
/* Admit, validate and publish an event. `data` is that of the news; NULL: it is read. Validation has a
 * ceiling (cw_event_type_steps), which expensive failures lower. Readers learn of an event that is lost,
 * and the log has the first loss of each kind. Any thread. */
void cw_event_source_publish(cw_event_rule *rule, const cw_event_news *news, const cw_json *data);
/* An event is lost before that. Any thread. */
void cw_event_source_drop(cw_event_rule *rule, cw_event_loss loss);

typedef struct cw_event_list {
    const cw_event_rule *rules;
    size_t n;
    unsigned n_loops;
    struct cw_accounts *accounts; /* NULL: no logins */
    const cw_method *absent;      /* tools that are missing or withheld: what they require counts */
    size_t n_absent;
    bool lacks_needs; /* what another such tool requires is not known */
} cw_event_list;

/* Add the methods of the events, in the arena of the source. An event whose requirements are not
 * known is left out, with a line of `warnings`. */
CW_MUST_USE cw_code cw_event_source_add(cw_source *source, const cw_event_list *events,
                                        cw_arena *arena, cw_buf *warnings, cw_err *err);

#endif
