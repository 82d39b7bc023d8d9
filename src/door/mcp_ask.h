/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_ask.h - a method that runs for an MCP client, and what it wants to know of that client.
 *
 * A method that asks has ended without doing anything; it is run again with the
 * answers (docs/decisions/0011-questions-by-replay.md). In the modern era the client
 * calls again itself and brings the sealed state along; in the legacy one the
 * questions are requests of ours on the call's own stream, and the answers arrive as
 * requests of their own, on any loop.
 *
 *     start ─► run ─► ASKS ─┬─ modern: input_required ─► (client) ─► start with state
 *               ▲           └─ legacy: say requests, wait ─► answers ─┐
 *               └─────────────────────────────────────────────────────┘
 *
 * Ownership: a running call lives in its port's arena.
 * Threads:   the loop of its port.
 * Limits:    CW_MCP_ASKS questions at once, CW_MCP_ROUNDS rounds.
 */
#ifndef CW_DOOR_MCP_ASK_H
#define CW_DOOR_MCP_ASK_H

#include "door/mcp_int.h"

#define CW_MCP_ROUNDS 16u

typedef struct cw_mcp_running cw_mcp_running;

/* One question to a legacy client. */
typedef struct cw_mcp_question {
    cw_mcp_link link; /* by the id of our request */
    cw_mcp_running *call;
    cw_str key;    /* the method's name for it */
    cw_str method; /* what is asked */
    cw_str answer; /* JSON; empty: none yet */
} cw_mcp_question;

struct cw_mcp_running {
    cw_sink sink;
    cw_mcp_link link; /* for those who take their request back */
    cw_turn_item *item;
    cw_mcp *door;
    const cw_mcp_era *era;
    cw_mcp_job job; /* its entry lives as long as the view */
    cw_mcp_session session;
    cw_view *view; /* borrowed while it runs; a reference, held by the arena, once it has asked */
    cw_str token;  /* progressToken as it was sent; empty: no progress wanted */
    double reached;
    bool may_say;
    /* Questions. */
    bool holds_view;
    unsigned n_rounds;
    cw_str state;   /* what the method wants back */
    cw_str answers; /* a JSON object, or empty */
    cw_mcp_question *questions;
    size_t n_questions, n_open;
    cw_deadline wait;
};

/* Run it, again, with what is known by now. */
void cw_mcp_call_run(cw_mcp_running *call);
/* End it in a way that the client can read. */
void cw_mcp_call_fail(cw_mcp_running *call, const char *text);
/* The client has taken its request back; the link is that of a running call. */
void cw_mcp_call_cancel(cw_mcp_link *link);

/* The method has asked. */
void cw_mcp_ask(cw_mcp_running *call, const cw_outcome *outcome);
/* Nobody waits for the answers any more. */
void cw_mcp_ask_drop(cw_mcp_running *call);
void cw_mcp_ask_on_late(cw_deadline *d);
/* Take state and answers that a modern client has brought along. False: the message is answered. */
bool cw_mcp_ask_resume(const cw_mcp_request *r, cw_mcp_running *call);
/* A message that answers one of our requests. */
void cw_mcp_ask_answer(const cw_mcp_request *r, const cw_json *message);

#endif
