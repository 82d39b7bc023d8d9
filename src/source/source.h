/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source.h - the interface of sources: they provide methods and run calls.
 *
 * A source describes its methods once, when it is made (an OpenRPC document, from
 * a file, an HTTP service or a plugin host), and then runs calls on any loop. It
 * does not depend on doors: it reports to the sink of the call.
 *
 *     main thread   make (source/plugin/plugin.h, source/remote/remote.h) -> offer -> snapshot -> retire
 *     any loop      start -> sink: progress*, log*, done      or  cancel
 *
 * A source has one part per loop (workers, connections), touched by that loop
 * only. When it is replaced, the main thread retires it and then has the loops
 * sweep: a part without calls closes immediately, another with its last call. Each
 * open part holds a reference, so the memory is freed last.
 *
 * Ownership: reference counted (snapshot, parts, its maker).
 * Threads:   start, cancel and sweep on the call's loop; ref, unref and retire anywhere.
 */
#ifndef CW_SOURCE_SOURCE_H
#define CW_SOURCE_SOURCE_H

#include <stdatomic.h>

#include "base/arena.h"
#include "catalogue/change.h"
#include "catalogue/snapshot.h"
#include "metrics/names.h"
#include "net/loop/loop.h"
#include "source/outcome.h"
#include "trace/tracer.h"

#define CW_SOURCE_RESTARTS 20u

/* One call, made and kept by the exchange until done or cancel. */
typedef struct cw_source_call {
    const cw_method *method;
    cw_str params; /* a JSON object or array; lives as long as the call */
    /* The same, parsed: the value of each param of the method, NULL where it was not given; or NULL:
     * none was. Lives only while start runs. */
    const cw_json *const *arguments;
    cw_caller *caller; /* its permissions were checked */
    cw_str peer;       /* address that it came from, or empty; lives only while start runs */
    bool wants_progress;
    /* Further members of a plugin's request, each with a comma in front (docs/plugin-protocol.md):
     * ,"answers":{…},"state":"…"; lives as long as the call. */
    cw_str extras;
    cw_arena *arena; /* for the outcome's result and data, and for the source's own use */
    cw_sink *sink;
    cw_loop *loop;
    cw_trace_loop *tracer; /* or NULL */
    cw_ids *ids;           /* of the request; NULL: none. Lives as long as the call */
    cw_str traceparent;    /* of the span of this call, if ops->span is set; empty: none */
    bool is_waiting;       /* set by the source: it waits in a queue and has not begun */
    uint64_t left_queue;   /* set by the source: when it left a queue, ms of the loop; 0: none */
    uint64_t queued_ns;    /* set by the source: when it began to wait */
    uint64_t queue_ns;     /* likewise: how long it has waited */
    uint64_t begun_ns;     /* when start was called; 0: not measured */
    uint64_t ended_ns;     /* set by a source that reads the clock at the end; 0: not known */
    int64_t pid;           /* set by a source that runs it in a process; 0: none */
    bool is_followed;      /* set by the source: a job of the service, which has no time limit */
    bool keeps_job;        /* set before cancel: the job of the service continues */
    void *op;              /* used by the source only */
} cw_source_call;

typedef struct cw_source_ops {
    const char *name; /* "plugin", "remote" */
    /* The name of the span that each call has, with the name of the source behind it; NULL: the
     * source makes spans itself, or none. */
    const char *span;
    /* Begin. CW_OK: exactly one done follows, later, unless it is cancelled. Anything else: the
     * call was not begun, *fault has the reason, err has a text for the caller, and the sink is
     * not called. Never calls the sink before it returns. */
    cw_code (*start)(cw_source *s, cw_source_call *call, cw_fault *fault, cw_err *err);
    /* The caller has left, or the time limit is reached. The source does not touch the call or its
     * sink after this returns. It ends the work if it can. */
    void (*cancel)(cw_source *s, cw_source_call *call);
    /* The answer to a question of a running call: `result` is JSON; empty: no answer, and `problem`
     * is the reason. NULL: the source sends no questions during a call. */
    void (*answer)(cw_source *s, cw_source_call *call, uint32_t number, cw_str result,
                   cw_str problem);
    /* The anonymous caller has other rights from now on: those of `caller`. NULL: the rights that a
     * call began with count. Never calls the sink. */
    void (*set_caller)(cw_source *s, cw_source_call *call, cw_caller *caller);
    /* Close the part of this loop when the source is retired (or `now`) and nothing runs. With
     * `now` (the loop ends) running calls are dropped and their sinks are not called. */
    void (*sweep)(cw_source *s, cw_loop *loop, bool now);
    /* Free the memory, and the reference to the companion; no part is open any more. */
    void (*free)(cw_source *s);
} cw_source_ops;

/* The beginning of every source. */
struct cw_source {
    const cw_source_ops *ops;
    atomic_uint refs;
    atomic_bool retired;
    cw_str name;      /* of the plugin or of the entry in config */
    uint32_t call_ms; /* time limit of one call */
    bool restarts_ms; /* progress restarts it, up to CW_SOURCE_RESTARTS times as long in all */
    bool takes_meta;  /* calls get the member "meta": keys of _meta of an MCP client */
    const cw_method *methods;
    size_t n_methods;
    cw_str instructions; /* of an MCP server, for models; empty: none */
    cw_metrics_cached_slot slot;
    cw_source *companion;   /* has some of its methods; a reference, or NULL */
    cw_change_sink *change; /* receives notifications that belong to no call; or NULL */
};

/* For sources: the call has to wait in a queue, or has left it and begins. */
void cw_source_call_wait(cw_source_call *call);
void cw_source_call_begin(cw_source_call *call);
/* The call has ended: it waits no longer. */
CW_INLINE void cw_source_call_end_wait(cw_source_call *call)
{
    if (CW_UNLIKELY(call->is_waiting))
        cw_source_call_begin(call);
}

/* Its slot in the metrics. */
CW_INLINE uint32_t cw_source_slot(cw_source *s)
{
    return cw_metrics_cached(&s->slot, CW_METRICS_SOURCE, s->name);
}
cw_source *cw_source_ref(cw_source *s);
/* NULL is fine. */
void cw_source_unref(cw_source *s);
/* No call will be started through a later snapshot; sweep every loop after this. The same for its
 * companion. */
void cw_source_retire(cw_source *s);

#endif
