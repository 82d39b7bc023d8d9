/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ids.h - the ids of the request that a thread works on.
 *
 * Each loop works on one request at a time. While it does, the ids of that request are the current
 * ones of its thread. Every log line, audit record and call to a source takes them from there.
 *
 *     cw_ids *outer = cw_ids_enter(&req->ids);
 *     handler(req);
 *     cw_ids_leave(outer);
 *
 * Work that continues later keeps a copy, or a pointer into an object that lives long enough, and
 * enters it again.
 *
 * Ownership: borrows; the ids must live until they are left.
 * Threads:   the current ids are the calling thread's own.
 */
#ifndef CW_BASE_IDS_H
#define CW_BASE_IDS_H

#include <stdint.h>

#include "base/str.h"

#define CW_IDS_TRACE 16u /* bytes */
#define CW_IDS_SPAN 8u
#define CW_IDS_HEX 17u /* of a request id, with a NUL */

/* Flags of a trace, as in traceparent. */
#define CW_IDS_SAMPLED 1u
#define CW_IDS_RANDOM 2u

typedef struct cw_ids {
    uint64_t request;    /* 0: none */
    bool has_trace : 1;  /* flags, trace_id, span_id and tracestate are valid */
    bool is_focused : 1; /* its lines are logged at every level (log.focus) */
    uint8_t flags;
    uint8_t protocol, client;    /* labels of metrics, and one; 0: not known */
    uint32_t login_us, queue_us; /* that it waited for its login, and in the queue of its source */
    unsigned char trace_id[CW_IDS_TRACE];
    unsigned char span_id[CW_IDS_SPAN]; /* of our own span, not of the one that called */
    cw_str tracestate;                  /* checked; empty: none. Lives as long as the ids */
} cw_ids;

/* Make these the current ones of this thread. Returns the ones before, for cw_ids_leave. */
cw_ids *cw_ids_enter(cw_ids *ids);
void cw_ids_leave(cw_ids *outer);
/* NULL: the thread works on no request. */
cw_ids *cw_ids_current(void);

/* A new id of a request; never 0. */
uint64_t cw_ids_new_request(void);
/* 16 hexadecimal digits and a NUL. */
void cw_ids_format_request(uint64_t request, char out[CW_IDS_HEX]);

#endif
