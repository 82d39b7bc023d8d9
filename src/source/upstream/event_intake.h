/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_intake.h - from notifications of one service to events.
 *
 *     sources[].events, preset ──► intake: method ─► rule ─► data, id, time ──► event/hub.h
 *
 * Default deny: a notification that no entry of the configuration enables is not published. Data
 * that contains a secret of the source is not published either; readers learn of the gap.
 *
 * Ownership: reference counted; holds a reference to the endpoint, whose texts it uses.
 * Threads:   new, ref, unref on any thread; all else on the main loop's.
 * Limits:    CW_EVENT_MAX_TYPES; those of event/hub.h.
 */
#ifndef CW_SOURCE_UPSTREAM_EVENT_INTAKE_H
#define CW_SOURCE_UPSTREAM_EVENT_INTAKE_H

#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"
#include "source/event/event_offers.h"
#include "source/upstream/endpoint.h"

typedef struct cw_event_intake cw_event_intake;

/* A call that makes a service send notifications. */
typedef struct cw_event_subscription {
    cw_str method, params;
} cw_event_subscription;

/* The events that an entry enables. An entry that fits nothing is a line of `warnings`. *ret stays
 * NULL without any. `hub` NULL: events are off. */
CW_MUST_USE cw_code cw_event_intake_new(cw_event_hub *hub, cw_endpoint *service, cw_buf *warnings,
                                        cw_event_intake **ret, cw_err *err);
cw_event_intake *cw_event_intake_ref(cw_event_intake *intake);
/* NULL is fine. */
void cw_event_intake_unref(cw_event_intake *intake);

const cw_event_rule *cw_event_intake_rules(const cw_event_intake *intake, size_t *ret_n);
const cw_event_subscription *cw_event_intake_subscriptions(const cw_event_intake *intake,
                                                           size_t *ret_n);
/* A notification of the service: its method, and the whole message. */
void cw_event_intake_receive(cw_event_intake *intake, cw_str method, const cw_json *message);
/* The connection has ended, or is there again: events may be missing. */
void cw_event_intake_gap(cw_event_intake *intake);

#endif
