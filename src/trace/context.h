/* SPDX-License-Identifier: GPL-2.0-or-later */
/* context.h - reads and writes W3C trace contexts: traceparent and tracestate.
 *
 *     traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
 *                  version, trace id, span id of the caller, flags
 *     tracestate:  vendor=value,other@tenant=value
 *
 * An invalid traceparent counts as absent, and its tracestate with it. An invalid tracestate is
 * dropped alone.
 *
 * Ownership: borrows; tracestate is written into the caller's arena.
 * Threads:   no state.
 * Limits:    CW_TRACE_STATE_MEMBERS members are read, CW_TRACE_STATE_MAX bytes are sent on.
 */
#ifndef CW_TRACE_CONTEXT_H
#define CW_TRACE_CONTEXT_H

#include "base/arena.h"
#include "base/ids.h"

#define CW_TRACE_PARENT_LEN 55u
#define CW_TRACE_STATE_MEMBERS 32u
#define CW_TRACE_STATE_MAX 512u
/* Bytes of a key, and of a value. */
#define CW_TRACE_STATE_TEXT 256u

/* The place of a caller in a trace. */
typedef struct cw_trace_parent {
    unsigned char trace_id[CW_IDS_TRACE];
    unsigned char span_id[CW_IDS_SPAN];
    uint8_t flags; /* CW_IDS_SAMPLED and CW_IDS_RANDOM; others are not sent on */
} cw_trace_parent;

/* False: it is no valid traceparent. */
bool cw_trace_parent_parse(cw_str text, cw_trace_parent *ret);
/* The traceparent of these ids, with a NUL. */
void cw_trace_parent_format(const cw_ids *ids, char out[CW_TRACE_PARENT_LEN + 1]);

/* Read the values of all tracestate headers, in their order. *ret is one text in the arena, or empty
 * where there are no members, they are invalid, or memory runs out. Whole members are left out
 * beyond the limit: first those over 128 bytes, then the last ones. */
cw_str cw_trace_state_read(const cw_str *headers, size_t n, cw_arena *arena);

#endif
