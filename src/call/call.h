/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call.h - one path for all calls: gate, arguments, source, result.
 *
 * Every door calls cw_call_start with an entry that cw_call_find returned (find.h) and the params as
 * the client sent them. Progress, log lines and exactly one `done` go to the door's sink.
 *
 *     cw_call_start ─► gate ─► arguments ─► schemas ─► exchange ─► source.start
 *                                                        │ deadline, cancel, one finish()
 *                        sink.done ◄─ result schema ◄────┘
 *
 * Arguments that do not match their schemas never reach the source. A result that does not match its
 * schema is logged and becomes FAILED.
 *
 * A running call is an exchange. It owns an arena and a reference to the view, so a client that
 * disconnects or a new catalogue does not affect it. The door holds a handle (slot and generation),
 * never a pointer.
 *
 * Ownership: an outcome and its data live until done returns.
 * Threads:   the loop of the cw_runtime_loop.
 * Limits:    cw_runtime_settings.calls and limits.validation_steps; the source's call_ms.
 */
#ifndef CW_CALL_CALL_H
#define CW_CALL_CALL_H

#include "call/runtime.h"
#include "source/outcome.h"

struct cw_schema_portable; /* schema/rewrite/portable.h */

typedef struct cw_call_handle {
    uint32_t slot;
    uint32_t generation; /* 0: none */
} cw_call_handle;

typedef struct cw_call_request {
    cw_view *view; /* the caller's; a reference is taken */
    const cw_entry *entry;
    const cw_json *params; /* object, array, or NULL for none; not needed after start returns */
    /* Names under which the client knows some arguments, for messages; NULL: only their own. */
    const struct cw_schema_portable *shown;
    bool wants_progress;
    bool can_elicit;     /* the door can send questions to the client */
    bool null_is_absent; /* nulls that make arguments invalid may be dropped (arguments.h) */
    bool is_completion;  /* a completion of one argument, not a call of the method */
    /* A problem of the request that the door found, beside its arguments; NULL: none. The gate is
     * checked first; then this is CW_PARAMS. Static. */
    const char *problem;
    /* The remaining validation steps (cw_call_steps), shared by all calls of a batch. NULL: this
     * call has the whole limit. */
    int64_t *steps;
    cw_str extras;    /* cw_source_call.extras; copied */
    cw_sink *sink;    /* lives until done, leave or detach; NULL: no client waits */
    const char *door; /* static: its name for the audit */
    cw_str peer;      /* address of the client; empty: none */
} cw_call_request;

/* Why a call was not started. */
typedef struct cw_call_error {
    cw_verdict verdict;  /* CW_DECLINED: the gate's; never HIDDEN (views hide) */
    cw_fault fault;      /* CW_IO: as in an outcome FAILED */
    bool lacks_required; /* CW_PARAMS: an argument that must be there is not */
    uint32_t retry_s;    /* CW_LIMIT: it may be tried again after so long */
    cw_err err;          /* CW_PARAMS: "Missing required parameter: nid"; CW_IO, CW_LIMIT: for the
                            caller */
} cw_call_error;

/* The limit of validation steps (schema/schema.h) for one request, one batch or one result. */
int64_t cw_call_steps(const cw_runtime_loop *rl);

/* Start a call. CW_OK: *ret names the running call; the sink's done follows after this returns.
 * Otherwise the sink is not called: CW_DECLINED (gate), CW_LIMIT (rate or number of calls:
 * call/rate_limits.h), CW_PARAMS (arguments), CW_IO (source unavailable, or too many calls run),
 * CW_NOMEM. */
CW_MUST_USE cw_code cw_call_start(cw_runtime_loop *rl, const cw_call_request *request,
                                  cw_call_handle *ret, cw_call_error *refusal);
/* Cancel the call, down to the plugin or the remote service. The sink is not called any more. */
void cw_call_cancel(cw_runtime_loop *rl, cw_call_handle handle);
/* The same, but a job of a service that the call only follows goes on. */
void cw_call_abandon(cw_runtime_loop *rl, cw_call_handle handle);
/* The client disconnected. The call continues if one more call without a client is allowed
 * (call/rate_limits.h); otherwise it is cancelled. `peer` is the address of the client. */
void cw_call_detach(cw_runtime_loop *rl, cw_call_handle handle, cw_str peer);

/* The answer of the client to a question of the running call: `result` is JSON; empty: `problem` says
 * why there is none. The time limit of the call runs again when no question is open. Nothing happens
 * when the call is over. */
void cw_call_answer(cw_runtime_loop *rl, cw_call_handle handle, uint32_t number, cw_str result,
                    cw_str problem);
/* Have the running call report to another sink from now on; NULL: to none. False: it is over. */
bool cw_call_set_sink(cw_runtime_loop *rl, cw_call_handle handle, cw_sink *sink);

/* Whether a value matches the schema of the results of a method, or it has none. While a sink's done runs:
 * the value is a part of its result, and all of them share the limit of validation steps of one result. */
bool cw_call_is_result(cw_runtime_loop *rl, const cw_entry *entry, const cw_json *value);

/* The slot of a tool or method in the metrics. */
uint32_t cw_call_tool_slot(const cw_entry *entry);
/* Check the rate of lists and descriptions. CW_OK; CW_LIMIT with a text and retry_s, and a log
 * line. `peer` is the client's address. */
CW_MUST_USE cw_code cw_call_may_list(cw_runtime_loop *rl, const cw_view *view, cw_str peer,
                                     cw_call_error *refusal);

/* A call that was refused before a method was found. */
typedef struct cw_refusal_record {
    const cw_view *view;
    const char *door;
    cw_str peer;
    cw_str name;   /* as the client sent it; empty: not read yet */
    cw_str detail; /* empty: none */
    cw_verdict
        verdict; /* NEEDS_LOGIN or FORBIDDEN: a general permission; HIDDEN: unknown or hidden */
} cw_refusal_record;

/* The words of the audit: "timeout", "login". Static. */
const char *cw_call_fault_name(cw_fault fault);
const char *cw_call_verdict_name(cw_verdict verdict);

/* Write to the audit that a caller has read a kept result of a method, or a part of it, at `uri`. */
void cw_call_audit_read(cw_runtime_loop *rl, const cw_view *view, const char *door, cw_str peer,
                        cw_str method, cw_str uri);
/* An event of a task: created, answered, cancelled, completed, failed. */
typedef struct cw_task_record {
    const cw_view *view;
    const char *door;
    const char *outcome; /* static */
    cw_str peer;
    cw_str tool, method;
    cw_str id;
} cw_task_record;
/* Write it to the audit, with the beginning of the id: the whole id is a secret of its owner. */
void cw_call_audit_task(cw_runtime_loop *rl, const cw_task_record *record);
/* Write it to the log, and to the audit. */
void cw_call_audit_refused(cw_runtime_loop *rl, const cw_refusal_record *refused);

/* Validate the content of a form against its schema (JSON text). An invalid schema accepts
 * everything. CW_PARAMS with the problem; CW_NOMEM. */
CW_MUST_USE cw_code cw_elicitation_check(cw_runtime_loop *rl, cw_str form, const cw_json *content,
                                         cw_arena *arena, cw_err *err);

#endif
