/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_source.h - the events of one source as methods: a resource for each type, and a tool for all.
 *
 *     SOURCE.events        tool {name?, since?, wait?}: events behind a cursor, or the next ones
 *     events://SOURCE/NAME resource: the events of the ring
 *     events://SOURCE/{name}?since={since}   template: the result of the tool, without a wait
 *
 * It is the companion of the source whose events it has, with the same name (source.h). Each event
 * has requirements of its own. The tool returns only those that its caller may receive, and an
 * event that the caller may not receive is unknown to it. While it waits, it watches the
 * credentials of its caller, and checks them again before it returns events. The rights of an
 * anonymous caller follow the configuration (cw_source_ops.set_caller).
 *
 * Ownership: reference counted; holds references to the types. Texts are copied.
 * Threads:   new on the main thread; calls on any loop.
 * Limits:    CW_EVENT_BATCH events, about CW_EVENT_ANSWER bytes of one result;
 *            CW_EVENT_MAX_WAITERS calls that wait on a loop, at most half of them of one caller. Further
 *            ones return immediately.
 */
#ifndef CW_SOURCE_EVENT_EVENT_SOURCE_H
#define CW_SOURCE_EVENT_EVENT_SOURCE_H

#include "access/login/login_watch.h"
#include "event/hub.h"
#include "source/source.h"

/* Subscribers may filter by equality with a part of the data. */
typedef struct cw_event_filter {
    cw_str name;
    cw_str pointer;
} cw_event_filter;

/* An event as clients see it. */
typedef struct cw_method_event {
    cw_event_type *type; /* a reference of the companion */
    cw_str name;         /* SOURCE.NAME */
    cw_str description;  /* empty: none */
    cw_str schema;       /* of its data; empty: any */
    const cw_event_filter *filters;
    size_t n_filters;
} cw_method_event;

typedef struct cw_event_offer {
    cw_method_event event; /* without its name */
    cw_requirements needs;
} cw_event_offer;

typedef struct cw_event_source_opts {
    cw_str source; /* the name of the source */
    unsigned n_loops;
    cw_accounts *accounts; /* borrowed; NULL: no logins */
    const cw_event_offer *offers;
    size_t n;
} cw_event_source_opts;

CW_MUST_USE cw_code cw_event_source_new(const cw_event_source_opts *opts, cw_source **ret,
                                        cw_err *err);

#endif
