/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call.h - the one path: gate, arguments, source, result.
 *
 * Every door calls cw_call_start, with a method or tool that the caller's view
 * found and the params as they came. What comes back goes to the sink that the
 * door gives: progress and log lines, then exactly one done.
 *
 *     cw_call_start ─► gate ─► bind ─► schemas ─► exchange ─► source.start
 *                                                   │ deadline, cancel, one finish()
 *                        sink.done ◄─ schema ◄──────┘
 *
 * Arguments that do not match their schemas never reach the source, and a result
 * that does not match its schema never leaves: it is logged and becomes FAILED.
 *
 * A running call is an exchange: it owns its arena and a reference to the view,
 * so that neither a client that leaves nor a catalogue that changes touches it.
 * Whoever waits holds a handle (slot and generation), never a pointer.
 *
 * Ownership: an outcome and what it points to live until done returns.
 * Threads:   the loop of the cw_runtime_loop.
 * Limits:    cw_runtime_settings.calls and .validation_steps; the source's call_ms.
 */
#ifndef CW_CALL_CALL_H
#define CW_CALL_CALL_H

#include "call/runtime.h"
#include "source/outcome.h"

typedef struct cw_call_handle {
    uint32_t slot;
    uint32_t generation; /* 0: none */
} cw_call_handle;

typedef struct cw_call_request {
    cw_view *view; /* the caller's; a reference is taken */
    const cw_entry *entry;
    const cw_json *params; /* object, array, or NULL for none; not needed after start returns */
    bool wants_progress;
    bool can_elicit;    /* whoever waits can pass questions on to the client */
    bool is_completion; /* not the method itself: what could stand for one of its arguments */
    /* What the door finds wrong with the request, beside its arguments; NULL: nothing. The gate
     * comes first: then this is CW_PARAMS. Static. */
    const char *problem;
    /* What is left of the work that validation may cost (cw_call_steps), shared by all calls of a
     * batch; NULL: this call has a whole ceiling of its own. */
    int64_t *steps;
    cw_str extras;    /* cw_source_call.extras; copied */
    cw_sink *sink;    /* lives until done, leave or detach; NULL: no client waits */
    const char *door; /* static: its name for the audit */
    cw_str peer;      /* address of whoever asks; empty: none */
} cw_call_request;

/* Why a call was not begun. */
typedef struct cw_call_error {
    cw_verdict verdict;  /* CW_DECLINED: what the gate said; never HIDDEN (views hide that) */
    cw_fault fault;      /* CW_IO: as an outcome FAILED would say */
    bool lacks_required; /* CW_PARAMS: an argument that must be there is not */
    uint32_t retry_s;    /* CW_LIMIT: it may be tried again after so long */
    cw_err err;          /* CW_PARAMS: "Missing required parameter: nid"; CW_IO, CW_LIMIT: for the
                            caller */
} cw_call_error;

/* How much work it may be to validate one request, one batch or one result, in steps of
 * schema/schema.h. */
int64_t cw_call_steps(const cw_runtime_loop *rl);

/* Begin. CW_OK: *ret names the running call, and the sink's done comes later, never before this
 * returns. Else the sink hears nothing: CW_DECLINED (gate), CW_LIMIT (too often, or too many of
 * this one run: call/rate_limits.h), CW_PARAMS (arguments), CW_IO (the source is not available, or
 * too many calls run), CW_NOMEM. */
CW_MUST_USE cw_code cw_call_start(cw_runtime_loop *rl, const cw_call_request *request,
                                  cw_call_handle *ret, cw_call_error *refusal);
/* Nobody waits any more: the call is cancelled, down to the plugin or the remote service. */
void cw_call_cancel(cw_runtime_loop *rl, cw_call_handle handle);
/* The client left, and the call goes on to its end if there is a place for one more call without a
 * waiting client (call/rate_limits.h); else it is cancelled. `peer` is the address of the
 * client. */
void cw_call_detach(cw_runtime_loop *rl, cw_call_handle handle, cw_str peer);

/* Whether a caller may have a list or a description now: CW_OK; CW_LIMIT with a text and retry_s,
 * and a line in the log. `peer` is the client's address. */
CW_MUST_USE cw_code cw_call_may_list(cw_runtime_loop *rl, const cw_view *view, cw_str peer,
                                     cw_call_error *refusal);

/* A call that a door refused before it had a method. */
typedef struct cw_refusal_record {
    const cw_view *view;
    const char *door;
    cw_str peer;
    cw_str name;        /* what was asked for; empty: not known yet */
    cw_str detail;      /* empty: none */
    cw_verdict verdict; /* LOGIN or FORBIDDEN: a general permission; HIDDEN: not there for them */
} cw_refusal_record;

/* Write it to the log, and to the audit. */
void cw_call_audit_refused(cw_runtime_loop *rl, const cw_refusal_record *refused);

/* Whether what a client's people have filled in matches the form's schema (JSON text); a schema
 * that makes no sense refuses nothing. CW_PARAMS with what is wrong; CW_NOMEM. */
CW_MUST_USE cw_code cw_elicitation_check(cw_runtime_loop *rl, cw_str form, const cw_json *content,
                                         cw_arena *arena, cw_err *err);

#endif
