/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recent.h - the last calls of each thread, for an operator who watches.
 *
 * Ownership: everything is copied.
 * Threads:   any. A thread writes to a ring of its own. While a reader copies a ring, its thread
 *            does not wait: a call that ends then is left out.
 * Limits:    CW_RECENT_CALLS of each thread, CW_RECENT_WRITE of one answer; texts are cut.
 */
#ifndef CW_METRICS_RECENT_H
#define CW_METRICS_RECENT_H

#include "base/ids.h"
#include "json/write.h"

#define CW_RECENT_CALLS 256u
#define CW_RECENT_WRITE 100u
#define CW_RECENT_NAME 80u
#define CW_RECENT_CALLER 48u

typedef struct cw_recent_call {
    uint64_t number;    /* of all calls since the start; the newest has the highest */
    uint64_t at_ns;     /* its end, on the monotonic clock */
    uint64_t us;        /* in its source; 0: it was refused */
    const char *reason; /* static; NULL: none but the outcome */
    uint64_t request;   /* 0: none */
    unsigned char trace_id[CW_IDS_TRACE];
    bool has_trace;
    uint8_t protocol, client; /* as in cw_ids */
    uint8_t door, outcome, n_name, n_caller;
    char name[CW_RECENT_NAME];     /* of the tool or method */
    char caller[CW_RECENT_CALLER]; /* empty: anonymous */
} cw_recent_call;

/* Add a call. Its number is set; its ids and texts are those given. `ids` may be NULL. */
void cw_recent_add(const cw_recent_call *call, const cw_ids *ids, cw_str name, cw_str caller);

/* Which calls a reader wants; an empty text is any. */
typedef struct cw_recent_query {
    uint64_t after; /* numbers over this one */
    cw_str tool, caller, outcome;
} cw_recent_query;

/* The number of calls so far. */
uint64_t cw_recent_last(void);
/* Add the members `calls`, `left_out` and `last`: the wanted calls, the newest first, at most `max`.
 * Returns `last`. */
uint64_t cw_recent_write(cw_json_writer *w, const cw_recent_query *query, size_t max);

#endif
