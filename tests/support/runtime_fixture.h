/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runtime_fixture.h - a loop, a runtime and a fake source in the thread of the test.
 *
 *     call_waiter w;
 *     call_waiter_init(&w);
 *     assert_int_equal(runtime_fixture_init(1000, true, &err), CW_OK);
 *     assert_int_equal(runtime_fixture_call(&w, "echo", "[1]", &refusal), CW_OK);
 *     runtime_fixture_until(&w.n_done, 1);
 *     runtime_fixture_done();
 *
 * Threads: all in the thread of the test; one fixture at a time.
 */
#ifndef CW_TESTS_RUNTIME_FIXTURE_H
#define CW_TESTS_RUNTIME_FIXTURE_H

#include "call/call_int.h"
#include "support/fake_source.h"

/* Waits for a call and records its outcome. */
typedef struct call_waiter {
    cw_sink sink;
    unsigned n_progress, n_done;
    double progress;
    cw_outcome_kind kind;
    cw_fault fault;
    char text[256]; /* the result, or the message */
    void (*on_progress)(struct call_waiter *w);
    void (*on_done)(struct call_waiter *w);
    cw_call_handle call;
} call_waiter;

typedef struct runtime_fixture {
    cw_loop loop;
    cw_runtime *runtime;
    cw_runtime_loop *rl;
    fake_source *source;
    cw_caller *caller;
    cw_runtime_settings settings;
    bool has_loop, loop_runs;
} runtime_fixture;

/* The fixture of the current test; global, so that callbacks find it. */
extern runtime_fixture fixture;

void call_waiter_init(call_waiter *w);

/* Fails with CW_NOMEM; runtime_fixture_done is due then too. */
cw_code runtime_fixture_init(uint32_t call_ms, bool may_call, cw_err *err);
/* End the loop and free everything. */
void runtime_fixture_done(void);
void runtime_fixture_end_loop(void);
/* Run `n` turns of the loop, without waiting. */
void runtime_fixture_turn(unsigned n);
/* Run the loop until *count is at least `least`; fails the test after two seconds. */
void runtime_fixture_until(const unsigned *count, unsigned least);
/* Publish the snapshot of `f` again (NULL: the fixture's own source). `retired` may be NULL. */
cw_code runtime_fixture_publish(fake_source *f, cw_source *retired, cw_err *err);
/* Start a call of a method; `params` is JSON or NULL. Fails as cw_call_start does. */
cw_code runtime_fixture_call(call_waiter *w, const char *method, const char *params,
                             cw_call_error *refusal);

#endif
