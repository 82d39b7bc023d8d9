/* SPDX-License-Identifier: GPL-2.0-or-later */
/* park.h - a running call that asks a modern client, and waits for its next request.
 *
 * A legacy MCP server asks while its tool runs. A modern client is asked by the end of its request,
 * and answers with another one. In between the call runs on without a client: it is parked.
 *
 *     loop A: call ─► question ─► park ─► input_required with the sealed id of the park
 *     loop B: request with the answers ─► message to A ─► the call goes on
 *     loop A: result, progress, question ─► message to B ─► the request is answered
 *
 * Nothing runs twice. The sealed state names caller, method and arguments (elicit.c), so a park is
 * found only by the request that continues it. A park lives in one process; the request may arrive at
 * another replica, and then letters replace the messages. Answers that reach no server come back, and
 * the request gets an error. A letter to a server that was killed, or has none of the sender's keys, does
 * not come back, and an outcome may be lost too. So the request that waits asks for its park from time to
 * time:
 *
 *     loop B: every CW_MCP_PARK_CHECK_MS ─► message to A ─► the park has this request: "present" to B
 *                                        │               └► else nothing
 *                                        └► the database is away for B: "unsent" to B
 *
 * CW_MCP_PARK_SILENT checks in a row without a message from A end the request. The call may run all the
 * same, so it is cancelled. An unsent check does not count. So a request also ends when the call must be
 * over: after the longest time that it may take, and that of the checks, without a message from A.
 *
 * A database that seemed to be away may have taken the answers, so they are not an error then. The next
 * checks bring them again, until A sends a message. Answers that A has got are not taken twice.
 *
 * Ownership: a park is on the heap, and ends with its call, its time limit or its loop. A request
 *            that waits lives in its responder's arena.
 * Threads:   each loop has its own parks; loops exchange messages.
 * Limits:    parks count as calls that wait for clients; mcp.elicitation_timeout for each question.
 *            CW_MCP_PARKED_BYTES of large questions and of outcomes wait, at most half of them for one
 *            caller. An outcome that has no room is lost, and the client may call again.
 */
#ifndef CW_DOOR_MCP_PARK_H
#define CW_DOOR_MCP_PARK_H

#include "door/mcp/elicit.h"

#define CW_MCP_PARKED_BYTES (64u * 1024u * 1024u)
#define CW_MCP_PARK_CHECK_MS 10000u
#define CW_MCP_PARK_SILENT 3u

/* The running call asks its modern client: park it, and answer the request. False: it cannot be
 * parked. */
bool cw_mcp_park(cw_mcp_call *call, const cw_question *question);
/* The request brings call->answers to the park of this id at a place (letter.h). It is answered later. */
void cw_mcp_park_resume(cw_mcp_call *call, cw_str id, uint32_t place);
/* The time of a parked call is up; for the registry. */
void cw_mcp_park_on_late(cw_deadline *d);
/* A request that waits asks for its park; for the registry. */
void cw_mcp_park_on_check(cw_deadline *d);
/* The call that waits for a park ends: the parked call is cancelled, unless another request waits for it.
 * Fine for a call that does not wait. */
void cw_mcp_park_leave(cw_mcp_call *call);

#endif
