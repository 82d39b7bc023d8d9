/* SPDX-License-Identifier: GPL-2.0-or-later */
/* occurrence.h - an event in the form of the events extension of MCP.
 *
 *     {"eventId":…,"name":"aria2.onDownloadComplete","timestamp":…,"data":{…},"cursor":…}
 *
 * Threads: no state.
 */
#ifndef CW_EVENT_OCCURRENCE_H
#define CW_EVENT_OCCURRENCE_H

#include "event/hub.h"
#include "json/write.h"

/* Add it as a value. `name` is that of its type, for clients. */
void cw_event_add(cw_json_writer *w, const cw_event_hub *hub, cw_str name, const cw_event *event);
/* Add its members to the object that is open. */
void cw_event_add_members(cw_json_writer *w, const cw_event_hub *hub, cw_str name,
                          const cw_event *event);

#endif
