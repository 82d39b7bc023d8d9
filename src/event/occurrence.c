/* SPDX-License-Identifier: GPL-2.0-or-later */
/* occurrence.c - writes events. */
#include "event/occurrence.h"

void cw_event_add_members(cw_json_writer *w, const cw_event_hub *hub, cw_str name,
                          const cw_event *event)
{
    char time[CW_CLOCK_ISO_LEN + 1], cursor[CW_EVENT_CURSOR];
    cw_clock_format_iso(event->time, time);
    cw_event_cursor_write(hub, event->number, cursor);
    cw_json_add_string_member(w, CW_STR("eventId"), event->id);
    cw_json_add_string_member(w, CW_STR("name"), name);
    cw_json_add_string_member(w, CW_STR("timestamp"), cw_str_from(time));
    cw_json_add_key(w, CW_STR("data"));
    cw_json_add_span(w, event->data);
    cw_json_add_string_member(w, CW_STR("cursor"), cw_str_from(cursor));
}

void cw_event_add(cw_json_writer *w, const cw_event_hub *hub, cw_str name, const cw_event *event)
{
    cw_json_open_object(w);
    cw_event_add_members(w, hub, name, event);
    cw_json_close(w);
}
