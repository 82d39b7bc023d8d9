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
 * another replica, and then letters replace the messages. A letter that reaches no server comes back, and
 * the request gets an error.
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

/* The running call asks its modern client: park it, and answer the request. False: it cannot be
 * parked. */
bool cw_mcp_park(cw_mcp_call *call, const cw_question *question);
/* The request brings answers (a JSON object, by question) to the park of this id at a place
 * (letter.h). It is answered later. */
void cw_mcp_park_resume(cw_mcp_call *call, cw_str id, uint32_t place, cw_str answers);
/* The time of a parked call is up; for the registry. */
void cw_mcp_park_on_late(cw_deadline *d);
/* The call that waits for a park ends: the parked call is cancelled. Fine for one that does not. */
void cw_mcp_park_leave(cw_mcp_call *call);

#endif
