/* SPDX-License-Identifier: GPL-2.0-or-later */
/* running.h - the calls that run now, for an operator who watches.
 *
 * Each loop knows its own calls only. The main loop asks all of them by message; each copies what is
 * shown of its calls, and the last one sends the list back:
 *
 *     main ──┬──► loop 0: copy ──┐
 *            └──► loop 1: copy ──┴──► main: fn(list, ctx)
 *
 * A call costs nothing for this. A loop that has ended has no calls.
 *
 * Ownership: the list is freed when fn has returned; everything in it is a copy.
 * Threads:   cw_runtime_list_calls and fn on the main thread.
 * Limits:    CW_RUNNING_CALLS of each loop, the ones with the lowest slots; texts are cut.
 */
#ifndef CW_CALL_RUNNING_H
#define CW_CALL_RUNNING_H

#include "call/runtime.h"

#define CW_RUNNING_CALLS 128u
#define CW_RUNNING_NAME 80u
#define CW_RUNNING_CALLER 48u

typedef struct cw_running_call {
    uint64_t begun_ns; /* of the monotonic clock; 0: not measured */
    uint64_t request;  /* id of its request; 0: none */
    const char *door;
    bool is_waiting; /* in the queue of its source */
    uint8_t n_tool, n_source, n_caller;
    char tool[CW_RUNNING_NAME];
    char source[CW_RUNNING_NAME];
    char caller[CW_RUNNING_CALLER]; /* empty: anonymous */
} cw_running_call;

typedef struct cw_running_list {
    cw_running_call *items; /* the oldest first */
    size_t n;
    uint64_t left_out;
} cw_running_list;

typedef void (*cw_running_fn)(const cw_running_list *list, void *ctx);

/* Call fn(list, ctx) soon, or fn(NULL, ctx) on any thread if the main loop ends before. CW_NOMEM. */
CW_MUST_USE cw_code cw_runtime_list_calls(cw_runtime *runtime, cw_loop *main_loop, cw_running_fn fn,
                                          void *ctx, cw_err *err);

#endif
