/* SPDX-License-Identifier: GPL-2.0-or-later */
/* task_away.h - tasks that another server runs: the state is in their rows, answers go by letter.
 *
 *     tasks/get    ─► row ─► state, result
 *     tasks/cancel ─► row: cancelled ─► letter "the row has an end" ─► its server stops the call
 *     tasks/update ─► row: questions ─► letter with answers and credentials ─► its server checks the
 *                                       caller, the task and the answers again, and continues the call
 *
 * A letter about an end is a hint: the server that runs the task reads the row, and trusts that alone.
 *
 * Threads: the loop of the request; cw_mcp_follow_tasks on the main one.
 * Limits:  those of task/tasks.h and of letters (replica/replicas.h).
 */
#ifndef CW_DOOR_MCP_TASK_TASK_AWAY_H
#define CW_DOOR_MCP_TASK_TASK_AWAY_H

#include "door/mcp/task/task.h"

/* Read the row of a task, and with `cancels` end it, then call fn. A request for a row that does not
 * exist, or cannot be read now, is answered. */
void cw_mcp_task_look_up(const cw_mcp_request *r, cw_str id, bool cancels, cw_mcp_task_fn fn);
/* The tasks of other servers among those that a subscription names; borrowed. */
typedef struct cw_mcp_tasks_found {
    cw_task **tasks;
    uint32_t n;
} cw_mcp_tasks_found;

typedef void (*cw_mcp_tasks_fn)(const cw_mcp_request *r, const cw_mcp_tasks_found *found);
/* Whether a text of an array of ids is also before this place. */
bool cw_mcp_task_is_repeated(const cw_json *ids, const cw_json *at);
/* Read the rows of the tasks in an array of ids that this server does not have, and call fn, now or
 * later. A row that cannot be read is not found. */
void cw_mcp_tasks_gather(const cw_mcp_request *r, const cw_json *ids, cw_mcp_tasks_fn fn);
/* Send answers to the server of a task, and answer the request. They match the open questions. */
void cw_mcp_task_send_inputs(const cw_mcp_request *r, const cw_task *task,
                             const cw_json *responses);

/* task.c */

/* Whether this server has the task, and the caller may use it. */
bool cw_mcp_task_is_here(const cw_mcp_request *r, cw_str id);
/* The name of the owner of the caller's tasks; .p is NULL: it has none. */
cw_str cw_mcp_task_owner(const cw_view *view, const cw_responder *responder,
                         char out[CW_MCP_OWNER_MAX]);
/* Answer a request for a task that was not found, or could not be read. */
void cw_mcp_task_fail_unfound(const cw_mcp_request *r, cw_code rc, cw_str id);
/* Answer a request without a result. */
void cw_mcp_task_acknowledge(const cw_mcp_request *r);
/* Check the answer to a question, if it is open. */
CW_MUST_USE cw_code cw_mcp_task_check_answer(cw_runtime_loop *rl, cw_arena *arena, cw_task *task,
                                             const cw_json *key, cw_err *err);
/* Close the answered questions, and send their answers to the loop of the task. `caller` NULL: the
 * anonymous one. */
CW_MUST_USE cw_code cw_mcp_task_deliver(cw_mcp *door, cw_runtime_loop *rl, cw_caller *caller,
                                        cw_task *task, const cw_json *responses);
/* The subscribers of this loop: a task has changed. `bytes` is the door's address and the id. */
void cw_mcp_task_on_change(cw_runtime_loop *rl, cw_str bytes);

#endif
