/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elicit_kind.h - the kinds of questions that a method can ask, and the check of their answers.
 *
 * A question is {"method":"elicitation/create","params":{…}}.
 *
 * Ownership: a kind is static; texts live as long as the question.
 * Threads:   the loop of the cw_runtime_loop.
 */
#ifndef CW_DOOR_MCP_ELICIT_KIND_H
#define CW_DOOR_MCP_ELICIT_KIND_H

#include "door/mcp/mcp_int.h"
#include "json/write.h"

typedef struct cw_mcp_elicit_kind {
    cw_str method;
    unsigned ability;       /* CW_MCP_CAN_… */
    const char *capability; /* as an object: what the client would have to declare */
    bool (*is_answer)(const cw_json *answer);
} cw_mcp_elicit_kind;

/* NULL: it is none of the protocol's. */
const cw_mcp_elicit_kind *cw_mcp_elicit_kind_of(const cw_json *question);
/* Whether the user is sent to a page. */
bool cw_mcp_elicit_is_url(const cw_json *question);
/* The schema that the content of an answer has to match; empty: none. */
cw_str cw_mcp_elicit_form(const cw_json *question);
/* The capability that a client with these lacks for the questions, as an object; NULL: none, "": a
 * question is of an unknown kind. */
const char *cw_mcp_elicit_missing(unsigned capabilities, const cw_json *asks);
/* Write a question as an input request, {"method":…,"params":…}. A service may have sent more, as its own
 * id. */
void cw_mcp_elicit_write(cw_json_writer *w, const cw_json *question);
/* Append an object of questions so. */
void cw_mcp_elicit_add_all(cw_buf *out, const cw_json *asks);
/* Check an answer, and count it. CW_PARAMS, CW_NOMEM. */
CW_MUST_USE cw_code cw_mcp_elicit_check(cw_runtime_loop *rl, const cw_mcp_elicit_kind *kind,
                                        cw_str form, const cw_json *answer, cw_arena *arena,
                                        cw_err *err);
/* Count an answer in the metrics by its outcome. */
void cw_mcp_elicit_count(cw_str outcome);

#endif
