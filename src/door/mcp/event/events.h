/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events.h - the events extension: events/list, events/poll and events/stream.
 *
 * An event is a resource of the catalogue whose method has events (source/event/event_source.h), so that
 * views decide who sees it. An event that the caller does not see is answered like an unknown one.
 *
 *     events/stream ─► active ─► event* ─► (gap) active ─► event* … heartbeat … ─► terminated ─► result
 *
 * Ownership: borrows.
 * Threads:   the loop of the request.
 * Limits:    limits.subscriptions streams; CW_EVENT_BATCH events of one answer.
 */
#ifndef CW_DOOR_MCP_EVENT_EVENTS_H
#define CW_DOOR_MCP_EVENT_EVENTS_H

#include "door/mcp/mcp_int.h"
#include "source/event/event_source.h"

#define CW_MCP_EVENTS CW_MCP_META("events") /* the extension */

/* Codes of the draft. */
enum {
    CW_MCP_EVENT_NOT_FOUND = -32011,
    CW_MCP_EVENT_FORBIDDEN = -32012,
    CW_MCP_EVENT_EXHAUSTED = -32013,
    CW_MCP_EVENT_UNSUPPORTED = -32014,
    CW_MCP_EVENT_CALLBACK = -32015,
};

/* Whether the server offers it to this client. */
bool cw_mcp_has_events(const cw_mcp_request *r);

void cw_mcp_list_events(const cw_mcp_request *r);
void cw_mcp_poll_events(const cw_mcp_request *r);
void cw_mcp_stream_events(const cw_mcp_request *r);
/* A stream sends a sign of life; for the registry. */
void cw_mcp_on_heartbeat(cw_deadline *d);

/* ---- for events.c and event_stream.c ---- */

/* What a request asks for. */
typedef struct cw_mcp_event_query {
    const cw_entry *entry;
    const cw_json *arguments; /* an object; NULL: none */
    cw_str cursor;            /* .p is NULL: from now on */
    uint64_t after;
    bool is_old;       /* the cursor is of another process */
    int64_t oldest;    /* wall clock, ms: older events are left out; 0: none */
    size_t max_events; /* of one answer */
} cw_mcp_event_query;

/* Read name, arguments, cursor, maxAgeMs and maxEvents. False: the message is answered. */
bool cw_mcp_event_query_read(const cw_mcp_request *r, cw_mcp_event_query *ret);
/* The event of this name that the caller may receive now; NULL: none. */
const cw_entry *cw_mcp_event_find(const cw_view *view, cw_str name);
/* Whether an event has the values of the arguments. CW_NOMEM: not known. */
CW_MUST_USE cw_code cw_mcp_event_match(const cw_method_event *of, const cw_json *arguments,
                                       const cw_event *event, bool *ret);

#endif
