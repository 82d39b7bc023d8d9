/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_stream.h - reads the data of a text/event-stream, piece by piece.
 *
 *     cw_event_stream s;
 *     cw_event_stream_init(&s, max);
 *     for each piece:  while (cw_event_stream_next(&s, &piece, &data)) use(data);
 *     if (s.code) …
 *     cw_event_stream_done(&s);
 *
 * Events without data, comments, and the field `event` are skipped. Lines end with LF, CR LF or CR.
 * `id` is that of the last whole event, for Last-Event-ID; `retry_ms` is the field `retry`.
 *
 * Ownership: `data` lives until the next call.
 * Threads:   one.
 * Limits:    `max` bytes of one event; more is CW_LIMIT in `code`, and nothing is read then. An id
 *            of more than CW_EVENT_ID_MAX bytes, or one that a header cannot hold, is no id.
 */
#ifndef CW_SOURCE_RELAY_EVENT_STREAM_H
#define CW_SOURCE_RELAY_EVENT_STREAM_H

#include "base/buf.h"

#define CW_EVENT_ID_MAX 512u

typedef struct cw_event_stream {
    cw_buf line, data;
    char id[CW_EVENT_ID_MAX + 1]; /* empty: none */
    char next_id[CW_EVENT_ID_MAX + 1];
    uint32_t retry_ms; /* 0: not set by the server */
    bool has_data;
    bool was_cr;    /* an LF that follows belongs to it */
    bool was_given; /* data is that of the last event */
    cw_code code;
} cw_event_stream;

void cw_event_stream_init(cw_event_stream *s, size_t max);
void cw_event_stream_done(cw_event_stream *s);
/* Take bytes of *piece up to the end of an event with data. False: all were taken, or `code` is
 * set. */
bool cw_event_stream_next(cw_event_stream *s, cw_str *piece, cw_str *ret_data);

#endif
