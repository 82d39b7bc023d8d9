/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call_int.h - types and functions that the files of this folder share.
 *
 *     call.c            one call: gate, exchange, audit record
 *     count.c           calls in the metrics
 *     find.c            looks up the method that a client names
 *     arguments.c       params
 *     validate.c        arguments and results against their schemas
 *     elicitation.c     answers to forms against their schemas
 *     rate_limits.c     rates, and calls that run at once
 *     runtime.c         publishes a state, installs it on the loops; views of callers; messages
 *     catalogue_wait.c  calls that wait for sources to load
 */
#ifndef CW_CALL_INT_H
#define CW_CALL_INT_H

#include <pthread.h>

#include "base/ids.h"
#include "call/arguments.h"
#include "call/call.h"
#include "net/addr/wasted_work.h"

/* The published state, shared by all loops. */
typedef struct cw_runtime_state cw_runtime_state;
typedef struct cw_exchange cw_exchange;

/* All calls with one time limit share a deadline list. */
typedef struct cw_call_timeout {
    cw_deadline_list list;
    struct cw_call_timeout *next;
    uint32_t ms;
    uint32_t refs; /* sources in use that have this limit, and calls with one of their own */
} cw_call_timeout;

/* A source that this loop has called, until it is retired and idle: it must be swept when the loop
 * ends. */
typedef struct cw_active_source {
    struct cw_active_source *next;
    cw_source *source; /* a reference */
    cw_call_timeout *limit;
    uint32_t running;
} cw_active_source;

/* The members of a call's audit record that are known at its start. */
typedef struct cw_call_audit {
    cw_str target; /* of an administration method */
    bool is_on, has_hash, is_completion;
    const char *door;
    cw_str address;
    unsigned char hash[CW_AUDIT_HASH];
} cw_call_audit;

typedef enum cw_exchange_state {
    CW_EXCHANGE_FREE,
    CW_EXCHANGE_STARTING,  /* in the source's start */
    CW_EXCHANGE_RUNNING,   /* the source has it */
    CW_EXCHANGE_FINISHING, /* the sink's done runs */
} cw_exchange_state;

struct cw_exchange {
    cw_sink sink; /* the source reports here */
    cw_ids ids;   /* of its request; current while the source reports */
    cw_span span; /* of the call, where its source has such */
    char traceparent[CW_TRACE_PARENT_LEN + 1];
    cw_source_call call;
    cw_runtime_loop *rl;
    cw_view *view; /* a reference */
    const cw_entry *entry;
    const cw_json *params; /* that are executed, while it starts; NULL: none */
    cw_active_source *active;
    cw_call_timeout *limit;  /* where the method's is not that of its source; or NULL */
    const cw_schema *output; /* of the result, or NULL; lives as long as the view */
    uint64_t owner;  /* hash of the account or widest network of the caller, if `output` is set */
    cw_sink *waiter; /* NULL: no client waits */
    cw_deadline deadline;
    cw_arena arena;
    uint32_t slot;
    uint32_t generation;
    cw_exchange_state state;
    bool was_cancelled; /* while it was starting */
    bool can_elicit;
    uint32_t n_asked;      /* questions that are open: the time limit does not run */
    uint64_t latest_limit; /* ms of the loop: progress restarts the limit until then */
    bool has_restarted;    /* it did */
    cw_call_audit record;
    uint64_t entered_ns;   /* count.c */
    uint32_t door;         /* its label in the metrics */
    const char *door_name; /* as in the audit */
    bool is_logged;        /* the log has a line about its end */
    cw_limiter_slot place;
    cw_exchange *next_free;
};

typedef struct cw_cached_view {
    cw_view *view;     /* a reference; NULL: free */
    uint64_t last_use; /* tick */
} cw_cached_view;

struct cw_runtime_loop {
    cw_runtime *runtime;
    cw_loop *loop;
    cw_runtime_state *state;
    cw_view *view;
    cw_limiter *limiter;
    cw_trace_loop *tracer; /* or NULL */
    cw_list watches;       /* of cw_runtime_watch */
    cw_schema_scratch scratch;
    cw_wasted_work waste; /* of validation */
    int64_t result_steps; /* that the result which is being delivered has left */
    cw_page_cache cache;
    atomic_uint dropping; /* tags whose documents are to go, from the main thread */
    cw_message on_drop;
    atomic_uint n_incoming; /* messages on their way to this loop */
    cw_loop_hook hook;
    bool is_begun, has_ended;
    cw_cached_view *views; /* CW_RUNTIME_VIEWS of them, or NULL */
    uint64_t views_tick;
    cw_exchange **slots;
    uint32_t n_slots, cap_slots, n_running;
    cw_fair_slots crowd; /* of the calls that run beyond half of the ceiling */
    cw_exchange *free_exchanges;
    /* catalogue_wait.c */
    uint32_t n_awaiting;
    cw_active_source *sources;
    cw_call_timeout *limits;
};

/* The loop ends: end every exchange and forget every source. The sources have dropped their calls
 * already. */
void cw_exchange_end_all(cw_runtime_loop *rl);
/* The rights of the anonymous caller have changed: running calls are judged again, if their source does
 * that. */
void cw_exchange_set_anonymous(cw_runtime_loop *rl, cw_caller *anonymous);
void cw_exchange_pool_done(cw_runtime_loop *rl);

/* count.c */
/* The source is about to begin: read the clock. */
void cw_count_begin(cw_exchange *ex, const cw_call_request *request);
/* It has begun. */
void cw_count_running(const cw_exchange *ex);
/* The source has ended; `outcome` NULL: cancelled. Sets call.ended_ns. */
void cw_count_end(cw_exchange *ex, const cw_outcome *outcome);
/* The door has the outcome. */
void cw_count_answered(const cw_exchange *ex);
/* The call was not started. */
void cw_count_refusal(const cw_call_request *request, cw_code rc, const cw_call_error *refusal);
/* No method was found. */
void cw_count_unknown(const cw_refusal_record *refused);

/* runtime.c: the parts of a runtime, by index. */
unsigned cw_runtime_n_loops(const cw_runtime *runtime);
cw_runtime_loop *cw_runtime_part(cw_runtime *runtime, unsigned index);

/* count.c: whether it is a method of an operator who watches. */
bool cw_call_is_watching(const cw_entry *entry);

/* span.c */
void cw_call_span_begin(cw_exchange *ex, const cw_source *source);
/* `outcome` NULL: cancelled. */
void cw_call_span_end(const cw_exchange *ex, const cw_outcome *outcome);

/* call_log.c */
/* Mark the ids of the current request if log.focus names the call. */
void cw_call_set_focus(const cw_runtime_loop *rl, const cw_call_request *request);
/* Its arguments are valid; the clock was not read yet. */
void cw_call_log_begin(cw_exchange *ex, const cw_call_request *request);
/* A failure, or a part of an error that the caller does not see. */
void cw_call_log_problem(const cw_exchange *ex, const cw_outcome *outcome);
/* Its source did not take it. */
void cw_call_log_unstarted(const cw_method *method, const char *why);
/* It is over; `outcome` NULL: cancelled. */
void cw_call_log_end(const cw_exchange *ex, const cw_outcome *outcome);

/* validate.c */
/* Validation for the network of an address, or for a source and a caller, has failed after so many steps. */
void cw_call_add_waste(cw_runtime_loop *rl, cw_str who, int64_t spent);
/* Every bound value against its parameter's schema. CW_PARAMS with "/nid: expected integer, got
 * string", also where there are too few steps (cw_call_request.steps); CW_NOMEM. */
CW_MUST_USE cw_code cw_validate_arguments(cw_exchange *ex, const cw_entry *entry,
                                          const cw_arguments *bound, int64_t *steps, cw_err *err);
/* CW_PARAMS with what is wrong, for the log; CW_LIMIT where that cannot be found out with the steps
 * of one result; CW_NOMEM. */
CW_MUST_USE cw_code cw_validate_result(cw_exchange *ex, const cw_json *result, cw_err *err);

/* Forget retired sources on which nothing runs. */
void cw_active_sources_tidy(cw_runtime_loop *rl);

#endif
