/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call_int.h - what the files of the one path share.
 *
 *     await.c      calls that wait for sources to be loaded
 *     bridge.c     publish a state, install it on the loops
 *     tell.c       from one loop to the others
 *     views.c      the views of callers that a loop keeps
 *     exchange.c   one running call: slots, deadline, cancel, the one finish
 *     used.c       the sources that this loop has called, and their time limits
 *     call.c       gate, bind, exchange
 *     bind.c       params
 *     limits.c     how often, and how many at once
 *     note.c       what the audit is told
 *     validate.c   arguments and results against their schemas
 *     form.c       answers of people against the schemas of forms
 */
#ifndef CW_CALL_INT_H
#define CW_CALL_INT_H

#include <pthread.h>

#include "call/bind.h"
#include "call/call.h"

/* What is in force, for all loops. */
typedef struct cw_bridge_state cw_bridge_state;
typedef struct cw_exchange cw_exchange;

/* All calls with one time limit share a deadline list. */
typedef struct cw_call_limit {
    cw_deadline_list list;
    struct cw_call_limit *next;
    uint32_t ms;
    uint32_t refs; /* sources in use that have this limit, and calls with one of their own */
} cw_call_limit;

/* A source that this loop has called, until it is retired and nothing runs: who must be swept when
 * the loop ends. */
typedef struct cw_used {
    struct cw_used *next;
    cw_source *source; /* a reference */
    cw_call_limit *limit;
    uint32_t running;
} cw_used;

/* What the audit will be told of a call. */
typedef struct cw_note {
    bool is_on, has_hash, is_completion;
    const char *door;
    cw_str address;
    uint64_t begun; /* ns */
    unsigned char hash[CW_AUDIT_HASH];
} cw_note;

typedef enum cw_exchange_state {
    CW_EXCHANGE_FREE,
    CW_EXCHANGE_STARTING,  /* in the source's start */
    CW_EXCHANGE_RUNNING,   /* the source has it */
    CW_EXCHANGE_FINISHING, /* the waiter is being told */
} cw_exchange_state;

struct cw_exchange {
    cw_sink sink; /* the source reports here */
    cw_source_call call;
    cw_bridge_loop *bl;
    cw_view *view; /* a reference */
    const cw_entry *entry;
    cw_used *used;
    cw_call_limit *limit;    /* where the method's is not that of its source; or NULL */
    const cw_schema *output; /* of the result, or NULL; lives as long as the view */
    cw_sink *waiter;         /* NULL: nobody listens */
    cw_deadline deadline;
    cw_arena arena;
    uint32_t slot;
    uint32_t generation;
    cw_exchange_state state;
    bool was_left; /* while it was starting */
    bool can_ask;
    cw_note note;
    cw_limiter_place place;
    cw_exchange *next_free;
};

typedef struct cw_kept_view {
    cw_view *view; /* a reference; NULL: free */
    uint64_t used; /* tick of the last use */
} cw_kept_view;

/* waste.c: validation that was expensive and failed, of all who share a slot. */
#define CW_WASTE_SLOTS 256u
typedef struct cw_waste {
    uint64_t since_ns;
    uint32_t halvings; /* of the ceiling */
} cw_waste;

struct cw_bridge_loop {
    cw_bridge *bridge;
    cw_loop *loop;
    cw_bridge_state *state;
    cw_view *view;
    cw_bridge_watch watches; /* ring */
    size_t n_watches;
    cw_schema_scratch scratch;
    cw_waste waste[CW_WASTE_SLOTS];
    bool has_waste; /* some slot was used */
    cw_cache cache;
    atomic_uint dropping; /* tags whose documents are to go, from the main thread */
    cw_loop_hook hook;
    bool is_begun, has_ended;
    /* views.c */
    cw_kept_view *views; /* CW_BRIDGE_VIEWS of them, or NULL */
    uint64_t views_tick;
    /* exchange.c */
    cw_exchange **slots;
    uint32_t n_slots, cap_slots, n_running;
    cw_places crowd; /* of the calls that run beyond half of the ceiling */
    cw_exchange *free_exchanges;
    /* await.c */
    uint32_t n_awaiting;
    /* used.c */
    cw_used *used;
    cw_call_limit *limits;
};

/* bridge.c */
cw_snapshot *cw_bridge_snapshot(const cw_bridge_loop *bl);
/* The part of the loop with this index, or NULL. */
cw_bridge_loop *cw_bridge_loop_at(cw_bridge *b, uint32_t index);
cw_bridge *cw_bridge_of_news(cw_news_port *port);
/* Tell the watches of this loop: news, or (NULL) that the catalogue was replaced, and which lists
 * of the anonymous caller are others now. */
void cw_bridge_tell_watches(cw_bridge_loop *bl, const cw_news *news, unsigned lists);

/* tell.c */
/* What is on its way to other loops: a loop that ends does not read all its mail. */
typedef struct cw_letters {
    pthread_mutex_t lock;
    struct cw_letter *first;
} cw_letters;

void cw_letters_init(cw_letters *letters);
/* After the loops have ended. */
void cw_letters_done(cw_letters *letters);
/* bridge.c: those of a bridge. */
cw_letters *cw_bridge_letters(cw_bridge *b);
void cw_bridge_on_news(cw_news_port *port, const cw_news *news);

/* views.c */
/* The catalogue was replaced, or the loop ends. */
void cw_views_drop(cw_bridge_loop *bl);
void cw_views_done(cw_bridge_loop *bl);

/* exchange.c */
/* A free exchange with an empty arena, or NULL without memory. */
cw_exchange *cw_exchange_take(cw_bridge_loop *bl);
void cw_exchange_put(cw_exchange *ex);
/* Let the source begin; the exchange is put back unless this gives CW_OK. */
CW_MUST_USE cw_code cw_exchange_start(cw_exchange *ex, cw_call_handle *ret, cw_fault *fault,
                                      cw_err *err);
/* The running exchange of a handle, or NULL. */
cw_exchange *cw_exchange_find(const cw_bridge_loop *bl, cw_call_handle handle);
void cw_exchange_cancel(cw_exchange *ex);
/* The loop ends: every exchange with it. The sources have dropped their calls already. */
void cw_exchange_end_all(cw_bridge_loop *bl);
void cw_exchange_pool_done(cw_bridge_loop *bl);
void cw_exchange_on_deadline(cw_deadline *d);
const char *cw_exchange_fault_name(cw_fault fault);

/* note.c */
void cw_note_begin(cw_exchange *ex, const cw_call_request *request);
/* NULL: it was cancelled, since nobody waits for it. */
void cw_note_end(const cw_exchange *ex, const cw_outcome *outcome);
void cw_note_refusal(cw_bridge_loop *bl, const cw_call_request *request, cw_code rc,
                     const cw_call_refusal *refusal);
const char *cw_note_verdict(cw_verdict verdict);

/* bridge.c */
cw_limiter *cw_bridge_limiter(const cw_bridge_loop *bl);

/* waste.c */
/* cw_call_steps, or less for the network of an address, or for a source by its name, that has
 * wasted them. */
int64_t cw_waste_ceiling(cw_bridge_loop *bl, cw_str who);
/* A validation of so many steps has failed. */
void cw_waste_add(cw_bridge_loop *bl, cw_str who, int64_t used);

/* validate.c */
/* Every bound value against its parameter's schema. CW_PARAMS with "/nid: expected integer, got
 * string", also where there are too few steps (cw_call_request.steps); CW_NOMEM. */
CW_MUST_USE cw_code cw_validate_arguments(cw_exchange *ex, const cw_entry *entry,
                                          const cw_bound *bound, int64_t *steps, cw_err *err);
/* CW_PARAMS with what is wrong, for the log; CW_LIMIT where that cannot be found out with the steps
 * of one result; CW_NOMEM. */
CW_MUST_USE cw_code cw_validate_result(cw_exchange *ex, const cw_json *result, cw_err *err);

/* used.c */
/* The entry of a source, made when it is not there; one more call runs. NULL without memory. */
cw_used *cw_used_enter(cw_bridge_loop *bl, cw_source *source);
void cw_used_leave(cw_bridge_loop *bl, cw_used *used);
/* The list of a time limit, made when it is not there. NULL without memory. */
cw_call_limit *cw_limit_enter(cw_bridge_loop *bl, uint32_t ms);
void cw_limit_leave(cw_bridge_loop *bl, cw_call_limit *limit);
/* Forget retired sources on which nothing runs. */
void cw_used_tidy(cw_bridge_loop *bl);
void cw_used_done(cw_bridge_loop *bl);

#endif
