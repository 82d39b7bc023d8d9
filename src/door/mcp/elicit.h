/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elicit.h - a running method of an MCP client, and its questions to that client.
 *
 * A tool of a legacy MCP server asks while it runs, and goes on with the answer (park.h has the modern
 * client's side of that). Any other method that asks has ended without side effects; it is run again with the answers
 * (docs/decisions/0011-questions-by-replay.md). A modern client calls again itself and brings the sealed
 * state. A legacy client gets the questions as requests on the call's own stream, and its answers arrive
 * as requests, on any loop.
 *
 *     start ─► run ─► INPUT_REQUIRED ─┬─ modern: input_required ─► (client) ─► start with state
 *               ▲                     └─ legacy: send requests, wait ─► answers ─┐
 *               └──────────────────────────────────────────────────────────────┘
 *
 * Ownership: a running call lives in its responder's arena.
 * Threads:   the loop of its responder.
 * Limits:    CW_MCP_MAX_ELICITATIONS questions at once, CW_MCP_ROUNDS rounds; on one loop as many
 *            calls wait for clients as may run (cw_runtime_settings.calls).
 */
#ifndef CW_DOOR_MCP_ELICIT_H
#define CW_DOOR_MCP_ELICIT_H

#include "door/mcp/elicit_kind.h"

#define CW_MCP_ROUNDS 16u

typedef struct cw_mcp_call cw_mcp_call;

/* One question to a legacy client. */
/* 128 bits as hexadecimal digits, and their end. */
#define CW_MCP_OUTSIDE_ID 33u

typedef struct cw_mcp_elicitation {
    cw_mcp_registry_entry link; /* by the id of our request */
    cw_mcp_call *call;
    cw_str key; /* the method's name for it */
    const cw_mcp_elicit_kind *kind;
    cw_str form;                     /* the schema that an answer has to match; empty: none */
    cw_str answer;                   /* JSON; empty: none yet */
    char outside[CW_MCP_OUTSIDE_ID]; /* elicitationId, for what happens outside of the client */
    /* For a call that runs on: the next such question, and its number there. */
    struct cw_mcp_elicitation *next;
    uint32_t number;
    bool is_running;
} cw_mcp_elicitation;

struct cw_mcp_call {
    cw_sink sink;
    cw_mcp_registry_entry link; /* for those who take their request back */
    cw_login_watch called_by;   /* the session of a browser, if it was one */
    cw_rpc_item *item;
    cw_mcp *door;
    cw_runtime_loop *rl;
    cw_responder *responder;
    const cw_mcp_era *era;
    cw_mcp_target target; /* its entry lives as long as the view */
    cw_mcp_session session;
    cw_view *view; /* borrowed while it runs; a reference, held by the arena, once it has asked */
    cw_str token;  /* progressToken as it was sent; empty: no progress wanted */
    double reached;
    const cw_json *meta; /* params._meta as it was sent; or NULL */
    const char *problem; /* of the request, reported after the gate; or NULL */
    bool may_stream;
    /* Questions. */
    bool holds_view;
    unsigned n_rounds;
    cw_str state;   /* the method's own state */
    cw_str answers; /* a JSON object, or empty */
    /* Answers that came with a first call, before any question; NULL: none. */
    const cw_json *early;
    cw_mcp_elicitation *questions;
    size_t n_questions, n_open;
    bool is_waiting; /* for answers, counted in the registry */
    cw_deadline wait;
    /* Questions of a call that runs on (cw_question). */
    cw_mcp_elicitation *asked;
    size_t n_asked; /* that are open */
    /* A modern client's request: the park that it made, or continues (park.h). */
    cw_mcp_registry_entry resumed;
    cw_str park;          /* empty: none */
    uint32_t park_place;  /* letter.h */
    cw_deadline check;    /* while it waits */
    unsigned n_silent;    /* checks that were sent since the last message of the park */
    uint64_t waits_until; /* ms of the loop: the parked call must be over */
    bool repeats_answers; /* the database may not have taken them */
    /* Whether it may become a task, when, and the task that it is (door/mcp/task/task.h). */
    cw_task_mark task_mark;
    cw_deadline grace;
    struct cw_mcp_task *task; /* NULL: none */
};

/* Run it, again, with what is known by now. `params` are its arguments, an object or NULL; they are not
 * used afterwards. */
void cw_mcp_call_run(cw_mcp_call *call, const cw_json *params);
/* End it in a way that the client can read. */
void cw_mcp_call_fail(cw_mcp_call *call, const char *text);
/* End the call: the registry no longer finds it, and its item can be answered. */
void cw_mcp_call_close(cw_mcp_call *call);

/* Keep its view until the arena of its responder ends. False: out of memory. */
bool cw_mcp_call_hold_view(cw_mcp_call *call);

/* An answer, by the method's name for the question. */
typedef struct cw_mcp_elicit_reply {
    cw_str key;
    cw_str json; /* empty: none */
} cw_mcp_elicit_reply;

/* The method has asked. */
void cw_mcp_elicit(cw_mcp_call *call, const cw_outcome *outcome);
/* The method asks, and runs on. */
void cw_mcp_elicit_ask(cw_mcp_call *call, const cw_question *question);
/* Answer a modern client's request with the questions of an outcome. */
void cw_mcp_elicit_reply_input(cw_mcp_call *call, const cw_outcome *outcome);
/* The method that runs on takes this question back. */
void cw_mcp_elicit_take_back(cw_mcp_call *call, uint32_t number);
/* Cancel the open questions at the client. */
void cw_mcp_elicit_withdraw(cw_mcp_call *call, const char *why);
/* Answer the open questions of a method that runs on: the client will not. */
void cw_mcp_elicit_refuse(cw_mcp_call *call, const char *why);
/* Drop the open questions. */
void cw_mcp_elicit_drop(cw_mcp_call *call);
void cw_mcp_elicit_on_late(cw_deadline *d);
/* Take state and answers that a modern client has brought along, or set call->problem. False: the
 * message is answered. */
bool cw_mcp_elicit_resume(const cw_mcp_request *r, cw_mcp_call *call);
/* An answer to a question of a task's call, by its key in the task; it was checked. `view` is that of
 * the caller who answered. The call may be gone afterwards. */
void cw_mcp_elicit_take(cw_mcp_call *call, cw_view *view, cw_str key, const cw_json *answer);
/* A message that answers one of our requests. */
void cw_mcp_elicit_answer(const cw_mcp_request *r, const cw_json *message);

#endif
