/* SPDX-License-Identifier: GPL-2.0-or-later */
/* outcome.h - the sink that a running call reports to, so that a source does not depend on doors.
 *
 * A source gets a sink with every call and reports to it: any number of
 * progress reports and log lines, then exactly one done. The implementation of
 * the sink (the exchange, src/call) decides how they are used. A question to the client
 * is an end too: no call waits for a user (docs/decisions/0011).
 *
 * Ownership: arguments live for the call of the function only, except an outcome's result and
 *            data, which live in the call's arena (source/source.h).
 * Threads:   the loop on which the call was started.
 */
#ifndef CW_SOURCE_OUTCOME_H
#define CW_SOURCE_OUTCOME_H

#include "base/err.h"
#include "base/log.h"
#include "base/str.h"

struct cw_json;
typedef struct cw_sink cw_sink;

typedef struct cw_progress {
    double progress;
    double total;   /* NaN: unknown */
    cw_str message; /* empty: none */
} cw_progress;

typedef enum cw_outcome_kind {
    CW_OUTCOME_RESULT,         /* the method returned `result` */
    CW_OUTCOME_ERROR,          /* the method reported an error: code, message, data */
    CW_OUTCOME_FAILED,         /* it could not be run to its end: reason, message */
    CW_OUTCOME_INPUT_REQUIRED, /* it needs input of the client and has ended without an effect:
                                repeat it with the answers */
} cw_outcome_kind;

/* Why a call could not be run to its end. */
typedef enum cw_fault {
    CW_FAULT_NONE,
    CW_FAULT_UNAVAILABLE, /* not reached, or rejected by a breaker: not started */
    CW_FAULT_DIED,        /* the worker or connection ended while it ran */
    CW_FAULT_TIMEOUT,
    CW_FAULT_PROTOCOL, /* the response was invalid, or too large */
    CW_FAULT_NOMEM,
    CW_FAULT_SCHEMA, /* the result does not match its schema */
    CW_FAULT_FULL,   /* rejected by a full queue: not started, and may be tried again soon */
} cw_fault;

typedef struct cw_outcome {
    cw_outcome_kind kind;
    const struct cw_json *result;  /* RESULT */
    const struct cw_json *content; /* RESULT: blocks for people and models, or NULL */
    const struct cw_json *relay; /* RESULT, ERROR: the result of a tool of an MCP server as it came,
                                      for MCP clients; or NULL */
    const struct cw_json *whole; /* RESULT: `result` is a part of this; NULL: it is all */
    bool is_unchecked;           /* RESULT: it is not compared with its schema */
    const struct cw_json *asks;  /* INPUT_REQUIRED: {key: {"method":…,"params":{…}}} */
    cw_str state;                /* INPUT_REQUIRED: to be returned with the answers; may be empty */
    int64_t code;                /* ERROR: JSON-RPC error code; FAILED: likewise, or 0 */
    const struct cw_json *data;  /* ERROR: or NULL */
    cw_fault fault;              /* FAILED */
    cw_str message;              /* ERROR: the method's; FAILED: fit for the caller's eyes */
    cw_str detail;               /* for the log only, may be empty; ERROR: the original */
} cw_outcome;

/* A question that a running call asks its client; the call goes on with the answer. */
typedef struct cw_question {
    uint32_t number;               /* of the question among those of the call */
    const struct cw_json *request; /* {"method":…,"params":{…}} */
} cw_question;

/* A sink of cw_call_start may leave out all but `done`. */
typedef struct cw_sink_ops {
    void (*progress)(cw_sink *sink, const cw_progress *progress);
    void (*log)(cw_sink *sink, cw_log_level level, cw_str message);
    /* The call is over; neither sink nor call may be touched afterwards. */
    void (*done)(cw_sink *sink, const cw_outcome *outcome);
    /* The source waits for an answer (cw_source_ops.answer). */
    void (*ask)(cw_sink *sink, const cw_question *question);
    /* The source no longer waits for the answer to this question. */
    void (*withdraw)(cw_sink *sink, uint32_t number);
    /* The call takes long: make it a task now. CW_OK: it is one; CW_DECLINED: it is not, and
     * continues unchanged; CW_DONE: it was cancelled, and is freed. */
    cw_code (*become_task)(cw_sink *sink);
} cw_sink_ops;

/* Embedded in its implementation. */
struct cw_sink {
    const cw_sink_ops *ops;
};

#endif
