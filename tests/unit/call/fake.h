/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake.h - a source in this process whose calls a test, or the method's name, decides.
 *
 * Methods and what becomes of a call of them:
 *
 *   hold       nothing, until the test says so (fake_done, fake_progress) or it is cancelled
 *   echo       the params, at the end of this turn
 *   text, list, number   "hello", [1,2], 42
 *   fail       an RPC error with string data
 *   broken     FAILED: died
 *   refuse     start refuses
 *   steps      progress 1, 1 (again), 3 of 3, then the result
 *   flood      40,000 progress reports, then a result of 1 MB
 *   guarded    needs login and the scopes a:read and b:write
 *   hidden     needs a permission that nobody has
 *   strict     params a (required), b (default 5)
 *   typed      echo whose params and result have schemas (fake.c); a larger id than 100 is taken,
 *              but must not be returned
 *   listed     the same by position: the result is the list of params
 *   bomb       a param whose schema takes more steps than are allowed
 *   plain      callable, but no tool
 *   secret     neither a tool nor callable
 *   fake.text, fake.items, fake.ask   a resource, a template and a prompt: fake://text,
 *              fake://item/{id}/of/{kind}, ask
 *   fake.hidden   a resource that needs a permission that nobody has
 *
 * Threads: calls on any loop, one op per call; the counters are atomic.
 */
#ifndef CW_TESTS_FAKE_H
#define CW_TESTS_FAKE_H

#include "source/source.h"

typedef struct fake fake;

typedef struct fake_op {
    fake *source;
    cw_source_call *call;
    cw_later later;
    struct fake_op *next; /* of all on all loops; locked */
} fake_op;

struct fake {
    cw_source base;
    cw_arena arena; /* of the schemas */
    pthread_mutex_t lock;
    fake_op *ops;
    atomic_uint started, done, cancelled, dropped, sweeps;
    atomic_uint *freed;                     /* or NULL: counts when the source is freed */
    void (*on_start)(cw_source_call *call); /* or NULL: called inside start */
    bool (*on_act)(fake_op *op);            /* or NULL: at the end of the turn; true: it did it */
};

/* One reference. NULL without memory. */
fake *fake_new(uint32_t call_ms);
/* Whatever the running op of a test is: the newest one. NULL: none. */
fake_op *fake_running(fake *f);
void fake_done(fake_op *op, const cw_outcome *outcome);
/* Finish with a result (JSON text). */
void fake_result(fake_op *op, const char *json);
void fake_progress(fake_op *op, double progress);

/* The snapshot of one source. */
cw_code fake_snapshot(fake *f, cw_snapshot **ret, cw_err *err);
/* An anonymous caller with the two general permissions, or without either. */
cw_code fake_caller(bool may_discover, bool may_call, cw_caller **ret, cw_err *err);

#endif
