/* SPDX-License-Identifier: GPL-2.0-or-later */
/* task_legacy.h - tasks of protocol version 2025-11-25, by the same table as those of the extension
 * (task.h). Off by default: mcp.tasks.legacy.
 *
 * A client asks for a task with params.task of tools/call. Every tool that may be a task is shown as
 * "optional", never as "required", which clients without tasks cannot call. There is no tasks/list, and
 * such a task asks its client nothing.
 *
 *     tools/call {task:{}}  ->  {"task":{"taskId":…,"status":"working",…}}
 *     tasks/get             ->  the same members, without a result
 *     tasks/result          ->  waits for the end: the result, or the error
 *     tasks/cancel          ->  the task, cancelled
 *     notifications/tasks/status on the stream of the session
 *
 * Threads: the loop of the request; the loop of the task for notifications.
 */
#ifndef CW_DOOR_MCP_TASK_TASK_LEGACY_H
#define CW_DOOR_MCP_TASK_TASK_LEGACY_H

#include "door/mcp/task/task.h"

#define CW_MCP_LEGACY_TASKS CW_STR("2025-11-25") /* the version that has them */

/* Whether the server has them, and the client of this request speaks their version. */
bool cw_mcp_has_legacy_tasks(const cw_mcp_request *r);
/* Whether this tools/call asks for one. */
bool cw_mcp_wants_legacy_task(const cw_mcp_request *r);
/* The answer of such a call. */
void cw_mcp_reply_legacy_created(cw_rpc_item *item, const cw_config *config, cw_task *record);
/* Tell the stream of the session that the task has changed. */
void cw_mcp_notify_legacy_task(cw_mcp *door, cw_runtime_loop *rl, const cw_mcp_session *session,
                               cw_task *record);

void cw_mcp_get_legacy_task(const cw_mcp_request *r);
void cw_mcp_cancel_legacy_task(const cw_mcp_request *r);
void cw_mcp_await_legacy_task(const cw_mcp_request *r);

#endif
