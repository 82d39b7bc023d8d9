/* SPDX-License-Identifier: GPL-2.0-or-later */
/* letter.h - messages of the door to another loop, of this server or of another one.
 *
 * A client's next request may arrive at another replica than the call that it belongs to. A place is a
 * loop of a replica: ids and sealed states name it. A message to a place of this process goes to the loop
 * (call/runtime.h), one to another replica becomes a letter (replica/replicas.h).
 *
 *     place: replica 10 bits | loop 7 bits       replica 0: this process
 *
 * A letter names the caller that causes it: callers take turns, and have a share each (base/fair.h).
 *
 * Every message begins with the address of the door, which the receiver replaces by its own. A change of a
 * message increases CW_LETTER_FORM: replicas of another form do not understand it.
 *
 * Threads: the loop, but cw_mcp_take_letter on the main one.
 * Limits:  CW_LETTER_MAX bytes; a longer message to another replica is lost.
 */
#ifndef CW_DOOR_MCP_LETTER_H
#define CW_DOOR_MCP_LETTER_H

#include "door/mcp/mcp_int.h"
#include "replica/replicas.h"

#define CW_MCP_PLACE_LOOP_BITS 7u
#define CW_MCP_PLACE_LOOP_MAX ((1u << CW_MCP_PLACE_LOOP_BITS) - 1)

typedef enum cw_mcp_letter_kind {
    CW_MCP_LETTER_ANSWER,  /* to a question: elicit.c */
    CW_MCP_LETTER_PARK,    /* between a parked call and the request that continues it: park.c */
    CW_MCP_LETTER_CANCEL,  /* a call: registry.c */
    CW_MCP_LETTER_CLOSING, /* streams of a session: registry.c */
    CW_MCP_LETTER_END,     /* of a session: legacy.c */
    CW_MCP_LETTER_TASK,    /* the row of a task has its end: door/mcp/task/task_away.c */
    CW_MCP_LETTER_INPUTS,  /* answers to questions of a task: door/mcp/task/task_away.c */
    CW_MCP_LETTERS,
} cw_mcp_letter_kind;

uint32_t cw_mcp_place_of(const cw_runtime_loop *rl);
/* Whether it is a loop of this process; *ret_loop is its index. */
bool cw_mcp_place_is_here(const cw_runtime_loop *rl, uint32_t place, uint32_t *ret_loop);
/* Send to a place. False: the message is lost. It may be so also later, on its way to another replica. */
bool cw_mcp_send(cw_runtime_loop *rl, uint32_t place, cw_mcp_letter_kind kind,
                 const cw_fair_key *by, cw_str bytes);
/* Send to a place of another replica, which identifies the caller of the request by these credentials. */
void cw_mcp_send_away(const cw_mcp_request *r, uint32_t place, cw_mcp_letter_kind kind,
                      cw_str credentials, cw_str bytes);
/* Send to all loops of this process, and of all other replicas. */
void cw_mcp_send_all(cw_runtime_loop *rl, cw_mcp_letter_kind kind, const cw_fair_key *by,
                     cw_str bytes);
/* Send a letter to all other replicas, also to those that start until then (wall clock, ms). */
void cw_mcp_send_lasting(cw_runtime_loop *rl, const cw_letter *letter, int64_t until);

/* Count an answer of a client. If more than 1 % go by letter, the load balancer is not sticky: that is
 * logged once. */
void cw_mcp_count_answer(bool is_letter);

/* The receivers, on a loop. */
void cw_mcp_on_park(cw_runtime_loop *rl, cw_str bytes);
/* On the main thread: a message of cw_mcp_on_park has reached no server. `has_no_receiver`: its server has
 * ended or has too many letters; else the database is away, and may have taken it all the same. */
void cw_mcp_park_returned(cw_mcp *door, cw_str bytes, bool has_no_receiver);
void cw_mcp_on_cancel(cw_runtime_loop *rl, cw_str bytes);
void cw_mcp_on_closing(cw_runtime_loop *rl, cw_str bytes);
void cw_mcp_on_end(cw_runtime_loop *rl, cw_str bytes);
void cw_mcp_on_task_ended(cw_runtime_loop *rl, cw_str bytes);
/* An answer from another replica, whose caller has logged in here; NULL: the anonymous one. */
void cw_mcp_take_answer(cw_runtime_loop *rl, cw_str bytes, cw_caller *caller);
void cw_mcp_take_inputs(cw_runtime_loop *rl, cw_str bytes, cw_caller *caller);

#endif
