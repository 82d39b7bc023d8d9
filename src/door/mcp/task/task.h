/* SPDX-License-Identifier: GPL-2.0-or-later */
/* task.h - calls of tools that outlive their requests: the extension io.modelcontextprotocol/tasks.
 *
 * A call becomes a task at once, or when its time of grace is over. Its request is answered with the
 * id of the task; the call then replies to a responder that belongs to the task, and so to its record
 * in the table (task/tasks.h). Questions of the method wait in the record too.
 *
 *     tools/call ─► call ─┬─ done in time ─► result
 *                         └─ grace over ──► {"resultType":"task","taskId":…}
 *                                │
 *     tasks/get ◄── record ◄─────┴─ call of the task ─► result, error, questions, progress
 *     tasks/update, tasks/cancel ─► message to the loop of the task
 *
 * Every use checks that the caller owns the task and may still call its tool. A task that fails one
 * of the checks is answered like an unknown one. A task of another server is read from its row
 * (task_away.h).
 *
 * Ownership: the running part of a task is on the heap, and ends with its call, its time or its loop.
 * Threads:   the running part belongs to the loop of its call; the record is shared.
 * Limits:    mcp.tasks; CW_MCP_TASK_WATCHES tasks of one subscription.
 */
#ifndef CW_DOOR_MCP_TASK_TASK_H
#define CW_DOOR_MCP_TASK_TASK_H

#include "door/mcp/elicit.h"
#include "task/tasks.h"

#define CW_MCP_TASK_WATCHES 256u

#define CW_MCP_TASKS CW_MCP_META("tasks") /* the extension */

typedef struct cw_mcp_task cw_mcp_task;

/* Whether the extension is offered to this client. */
bool cw_mcp_has_tasks(const cw_mcp_request *r);

/* ---- calls ---- */

/* The rule for calls of this target: NEVER also where server or client have no tasks. */
cw_task_mark cw_mcp_task_mark(const cw_mcp_request *r, const cw_mcp_target *target);
/* A tool that needs tasks, called without them. False: the message is answered. */
bool cw_mcp_task_check_required(const cw_mcp_request *r, const cw_entry *entry);
/* A place for the call in the table: a reference; NULL: there is none. */
cw_task *cw_mcp_task_reserve(const cw_mcp_call *call);
/* Make the running call a task, and answer its request. Takes the reference. False: without memory it
 * stays as it is. */
bool cw_mcp_task_begin(cw_mcp_call *call, cw_task *record);
/* Run its method again, with the answers. The task may be gone afterwards. */
void cw_mcp_task_run_again(cw_mcp_task *task);
/* The time of grace of a call, and the time of a task, are over; for the registry. */
void cw_mcp_task_on_grace(cw_deadline *d);
void cw_mcp_task_on_over(cw_deadline *d);
/* The call of a task reports progress. */
void cw_mcp_task_progress(cw_mcp_task *task, const cw_progress *progress);
/* It asks something. False: it cannot. */
bool cw_mcp_task_ask(cw_mcp_task *task, cw_str key, const cw_json *request);
/* It takes the question with this key back. */
void cw_mcp_task_take_back(cw_mcp_task *task, cw_str key);
/* It waits for no answer any more. */
void cw_mcp_task_withdraw(cw_mcp_task *task);

/* `task` is borrowed. `has_changed`: a cancel at another server succeeded. */
typedef void (*cw_mcp_task_fn)(const cw_mcp_request *r, cw_task *task, bool has_changed);
/* Call fn with the task that a request names, now or when its row was read; otherwise the request is
 * answered. The request may be a copy. */
void cw_mcp_with_task(const cw_mcp_request *r, cw_mcp_task_fn fn);
/* Whether the caller may still call the tool of a task. */
bool cw_mcp_task_is_allowed(const cw_view *view, const cw_task *task);
/* Write an event of a task to the audit. */
void cw_mcp_task_audit(const cw_mcp_request *r, const cw_task *task, const char *outcome);

/* ---- methods ---- */

void cw_mcp_get_task(const cw_mcp_request *r);
void cw_mcp_update_task(const cw_mcp_request *r);
void cw_mcp_cancel_task(const cw_mcp_request *r);
/* Cancel a task for tasks/cancel of either era, with a record of the audit. A task of another server is
 * cancelled there, and `away` answers the request; otherwise `here` does. Their `has_changed`: the task has
 * been cancelled, and had not ended before. */
void cw_mcp_task_cancel(const cw_mcp_request *r, cw_task *task, cw_mcp_task_fn here,
                        cw_mcp_task_fn away);

/* ---- subscriptions ---- */

/* A subscriber's interest in one task; embedded in its owner. */
typedef struct cw_mcp_task_watch {
    cw_mcp_registry_entry link;
    cw_task *task; /* a reference */
    void (*on_change)(struct cw_mcp_task_watch *watch);
    void *self;
    bool is_late; /* the owner's: a change was not sent */
} cw_mcp_task_watch;

/* Whether the request may name tasks. False: it is answered. */
bool cw_mcp_task_check_declared(const cw_mcp_request *r);
struct cw_mcp_tasks_found; /* task_away.h */
/* The caller's task of this id, of this server or among those that were found. False: there is none, or
 * too many tasks of other servers are followed. */
bool cw_mcp_task_watch_add(const cw_mcp_request *r, cw_str id,
                           const struct cw_mcp_tasks_found *found, cw_mcp_task_watch *watch);
/* The same for a task that is known; takes the reference. CW_LIMIT; CW_NOMEM. */
CW_MUST_USE cw_code cw_mcp_task_watch_enter(const cw_mcp_request *r, cw_task *task,
                                            cw_mcp_task_watch *watch);
/* Twice is fine. */
void cw_mcp_task_watch_remove(cw_mcp_task_watch *watch);

/* notify.c: send a message to the stream of a legacy session, if its caller may call this tool. */
void cw_mcp_notify_session(cw_mcp *door, cw_runtime_loop *rl, const cw_mcp_session *session,
                           cw_str tool, cw_str message);

#endif
