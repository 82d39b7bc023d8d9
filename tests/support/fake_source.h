/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_source.h - a source in this process. The name of a method, or the test, decides the outcome
 * of a call.
 *
 * Methods and the outcome of a call:
 *
 *   hold       nothing, until the test ends it (fake_op_finish) or it is cancelled
 *   echo       the params, at the end of this turn
 *   text, list, number   "hello", [1,2], 42
 *   fail       an RPC error with string data
 *   broken     FAILED: died
 *   refuse     start refuses
 *   steps      progress 1, 1 (again), 3 of 3, then the result
 *   flood      40,000 progress reports, then a result of 1 MB
 *   guarded    needs login and the scopes a:read and b:write
 *   hidden     needs a permission that no caller has
 *   strict     params a (required), b (default 5)
 *   typed      echo whose params and result have schemas (fake_source.c); a larger id than 100 is
 * taken, but must not be returned listed     the same by position: the result is the list of params
 *   bomb       a param whose schema takes more steps than are allowed
 *   plain      callable, but no tool
 *   secret     neither a tool nor callable
 *   fake.text, fake.items, fake.ask   a resource, a template and a prompt: fake://text,
 *              fake://item/{id}/of/{kind}, ask
 *   fake.hidden   a resource that needs a permission that no caller has
 *
 * Threads: calls on any loop, one op per call; the counters are atomic.
 */
#ifndef CW_TESTS_FAKE_SOURCE_H
#define CW_TESTS_FAKE_SOURCE_H

#include "source/source.h"

typedef struct fake_source fake_source;

typedef struct fake_op {
    fake_source *source;
    cw_source_call *call;
    cw_deferred later;
    struct fake_op *next; /* of all on all loops; locked */
} fake_op;

struct fake_source {
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
fake_source *fake_source_new(uint32_t call_ms);
/* The newest op that runs. NULL: none. */
fake_op *fake_source_newest(fake_source *f);
/* End a call. */
void fake_op_finish(fake_op *op, const cw_outcome *outcome);
/* Finish with a result (JSON text). */
void fake_op_result(fake_op *op, const char *json);
void fake_op_progress(fake_op *op, double progress);

/* The snapshot of one source. */
cw_code fake_source_snapshot(fake_source *f, cw_snapshot **ret, cw_err *err);
/* An anonymous caller with the two general permissions, or without either. */
cw_code fake_caller(bool may_discover, bool may_call, cw_caller **ret, cw_err *err);

#endif
