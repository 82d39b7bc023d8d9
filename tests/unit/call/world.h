/* SPDX-License-Identifier: GPL-2.0-or-later */
/* world.h - a loop, a bridge and a fake source in the test's own thread. */
#ifndef CW_TESTS_WORLD_H
#define CW_TESTS_WORLD_H

#include "call/call_int.h"
#include "fake.h"

/* Somebody who waits for a call. */
typedef struct waiter {
    cw_sink sink;
    unsigned n_progress, n_done;
    double progress;
    cw_outcome_kind kind;
    cw_fault fault;
    char text[256]; /* the result, or the message */
    void (*on_progress)(struct waiter *w);
    void (*on_done)(struct waiter *w);
    cw_call_handle call;
} waiter;

typedef struct world {
    cw_loop loop;
    cw_bridge *bridge;
    cw_bridge_loop *bl;
    fake *source;
    cw_caller *caller;
    cw_bridge_settings settings;
    bool has_loop, loop_runs;
} world;

/* The one that the current test uses; so that callbacks find it. */
extern world w;

void waiter_init(waiter *wt);
cw_code world_init(uint32_t call_ms, bool may_call, cw_err *err);
/* Ends the loop, too. */
void world_done(void);
void world_end_loop(void);
/* Turns of the loop, without waiting. */
void world_turn(unsigned n);
/* Turns until *count is at least `least`; fails the test after two seconds. */
void world_until(const unsigned *count, unsigned least);
/* Publish the snapshot of `f` (NULL: the world's own source) anew. */
cw_code world_publish(fake *f, cw_source *retired, cw_err *err);
/* Start a call of a method, with params as JSON or NULL. */
cw_code world_call(waiter *wt, const char *method, const char *params, cw_call_refusal *refusal);

#endif
