/* SPDX-License-Identifier: GPL-2.0-or-later */
/* relayed_task.h - a call that an MCP server has made a task (io.modelcontextprotocol/tasks): its
 * state is read until it ends, its questions go to the client of the call.
 *
 *     tools/call ─► {"resultType":"task","taskId":…} ─► tasks/get ─► … ─► result
 *                        questions ◄──────────────────────┤
 *                        answers ─► tasks/update          └─ tasks/cancel ◄─ cancel
 *
 * The id of the server's task is not passed on. A client that gets a task gets one of Causeway.
 *
 * Ownership: on the heap, with its follower.
 * Threads:   the loop of the call.
 * Limits:    CW_RELAYED_QUESTIONS questions of one task.
 */
#ifndef CW_SOURCE_REMOTE_MCP_RELAYED_TASK_H
#define CW_SOURCE_REMOTE_MCP_RELAYED_TASK_H

#include "source/remote/follow.h"
#include "source/remote/mcp/relayed.h"

typedef struct cw_relayed_task cw_relayed_task;

/* `self` of a follower is a cw_relayed_task. */
extern const cw_follow_ops cw_relayed_task_ops;

/* Whether a result is a task; *ret_start gets its id and its interval. */
bool cw_relayed_is_task(const cw_json *result, cw_follow_start *ret_start);
/* The state of a task for a follower; `asks`: what the client can answer. NULL without memory. */
cw_relayed_task *cw_relayed_task_new(const cw_relayed_target *target, const cw_relay_request *call,
                                     bool is_strict);
void cw_relayed_task_free(cw_relayed_task *task);

#endif
