/* SPDX-License-Identifier: GPL-2.0-or-later */
/* relayed.h - a call of a tool, prompt or resource of an MCP server: its request, the messages
 * before its response, and the result.
 *
 * A result is passed on as it came (cw_outcome.relay). Beside that, callers that are no MCP clients
 * get its structured content, or else its blocks. A result with isError is an error. Progress and
 * log lines go to the sink of the call. A question does too, if the configuration allows it and the
 * client can answer it. Any other request gets an error.
 *
 * Ownership: texts of a request live in the arena of its call.
 * Limits:    CW_RELAYED_QUESTIONS and CW_RELAYED_LOGS of one call.
 * Threads:   the loop of the call.
 */
#ifndef CW_SOURCE_REMOTE_MCP_RELAYED_H
#define CW_SOURCE_REMOTE_MCP_RELAYED_H

#include "source/relay/relay.h"
#include "source/source.h"
#include "source/upstream/endpoint.h"

#define CW_RELAYED_QUESTIONS 64u
#define CW_RELAYED_LOGS 200u

typedef enum cw_relayed_kind {
    CW_RELAYED_TOOL,
    CW_RELAYED_PROMPT,
    CW_RELAYED_RESOURCE,
    CW_RELAYED_TEMPLATE,
} cw_relayed_kind;

/* The tool, prompt or resource of the server that a method stands for. */
typedef struct cw_relayed_target {
    cw_relayed_kind kind;
    cw_str name; /* or URI, or template of URIs */
    cw_str head; /* the beginning of its params: "name":"add","arguments": */
    /* A lock is in force: a view is passed on with this hash only (source/describe/view_hash.h). */
    bool has_lock;
    cw_str view; /* the hash; empty: no view is passed on */
} cw_relayed_target;

/* Make the target of a method as the server describes it; its texts are copied. */
CW_MUST_USE cw_code cw_relayed_target_make(const cw_method *m, cw_arena *arena,
                                           cw_relayed_target *ret, cw_err *err);

/* The request of a call. *ret_completes: it asks for values of an argument. */
CW_MUST_USE cw_code cw_relayed_request(const cw_endpoint *service, const cw_relayed_target *target,
                                       const cw_source_call *call, cw_str arguments,
                                       cw_relay_request *ret, bool *ret_completes, cw_err *err);
/* Whether a server requires arguments of the method in headers; and the headers of one call. */
bool cw_relayed_has_headers(const cw_method *method);
CW_MUST_USE cw_code cw_relayed_headers(const cw_source_call *call, cw_str arguments,
                                       cw_relay_request *request, cw_err *err);
/* The questions of one call; all zero: none was asked yet. In the arena of the call. */
typedef struct cw_relayed_questions {
    struct cw_relayed_question *first;
    uint32_t n;      /* asked so far */
    uint32_t n_logs; /* log lines so far */
} cw_relayed_questions;

/* Handle a message that belongs to a call and is no response. An immediate response to the server,
 * if one is needed, is appended to `reply`. */
void cw_relayed_receive(cw_source_call *call, unsigned asks, cw_relayed_questions *questions,
                        const cw_json *message, cw_buf *reply);
/* Append the answer to a question: `result` is JSON; empty: an error with this text. False: it is
 * not open. */
bool cw_relayed_answer(cw_relayed_questions *questions, uint32_t number, cw_str result,
                       cw_str problem, cw_buf *reply);

/* Replace the result of a response by the outcome of the call. `uri`: the address that was read.
 * `asks`: the questions that the request has allowed. */
void cw_relayed_result(const cw_relayed_target *target, cw_str uri, bool is_strict, unsigned asks,
                       cw_outcome *outcome);
/* The same for a request for values. It has none if the server does not complete. */
void cw_relayed_completion(cw_arena *arena, cw_outcome *outcome);

#endif
