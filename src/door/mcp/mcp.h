/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp.h - the Model Context Protocol, both eras, over Streamable HTTP and over standard input and output.
 *
 * The door keeps no conversation: a client carries its state itself, sealed (access/seal.h). A loop has a
 * registry of its running calls, so that they can be cancelled, and of open questions.
 *
 * Ownership: the door borrows the runtime, which must outlive it.
 * Threads:   new, add_routes and free on the main thread; receive on the loop of the responder.
 * Limits:    CW_MCP_MAX_ELICITATIONS questions in one answer; session_store.h for sessions.
 */
#ifndef CW_DOOR_MCP_MCP_H
#define CW_DOOR_MCP_MCP_H

#include "access/seal.h"
#include "call/runtime.h"
#include "door/responder.h"
#include "json/write.h"
#include "net/server/router.h"

#define CW_MCP_MAX_ELICITATIONS 32u
#define CW_MCP_PATH_MAX 128u

typedef struct cw_mcp cw_mcp;

/* The seal is borrowed. */
CW_MUST_USE cw_code cw_mcp_new(cw_runtime *runtime, unsigned n_loops, const cw_seal *seal,
                               cw_mcp **ret, cw_err *err);
/* Read the ends of sessions from a file, and write later ones to it. Before the loops start. Takes
 * the descriptor. CW_IO, CW_NOMEM: the file is not used. */
CW_MUST_USE cw_code cw_mcp_keep_ends(cw_mcp *door, int fd, cw_err *err);
/* Another process is about to use the same file, and does so until this one has ended. Main thread. */
void cw_mcp_yield_ends(cw_mcp *door);
/* Read the ends that the other process has added. Main thread. */
void cw_mcp_reread_ends(cw_mcp *door);
/* Add an array of what sessions have set, for a process that takes over, and restore it there. Main
 * thread; `states` may be NULL or anything. */
void cw_mcp_write_sessions(cw_mcp *door, cw_json_writer *w);
void cw_mcp_read_sessions(cw_mcp *door, const cw_json *states);
/* Deliver events to webhooks, on this loop, from now on (door/mcp/event/webhooks.h). */
void cw_mcp_start_webhooks(cw_mcp *door, cw_loop *loop);
/* Notify clients of changes of tasks that other servers run (task_away.h). `loop` is the main one;
 * `replicas` may be NULL. Before the loops start. */
void cw_mcp_follow_tasks(cw_mcp *door, cw_tasks *tasks, cw_replicas *replicas, cw_loop *loop);
/* After the loops have ended. NULL is fine. */
void cw_mcp_free(cw_mcp *door);
/* A letter of another server (replica/replicas.h). Main thread, while the loops run. */
void cw_mcp_take_letter(cw_mcp *door, const cw_letter *letter);
/* A letter of this door that has reached no server (cw_replicas_opts.on_returned). Likewise. */
void cw_mcp_take_returned(cw_mcp *door, const cw_letter *letter, bool has_no_receiver);

/* Process one message, or a batch, of the caller with this view. */
void cw_mcp_receive(cw_mcp *door, cw_responder *responder, cw_runtime_loop *rl, cw_view *view,
                    cw_str body);

/* Notify the client of changes: lists of its view, resources that it has subscribed to. Once per
 * connection, with a responder of its own that lasts as long; a modern client gets nothing there.
 * Uses the responder's listener. Ends with CW_RESPONDER_GONE or CW_RESPONDER_STOPPING; otherwise it
 * ends the responder only when a notification cannot be sent. CW_NOMEM; CW_LIMIT: too many
 * subscribers. */
CW_MUST_USE cw_code cw_mcp_subscribe_responder(cw_mcp *door, cw_responder *responder,
                                               cw_runtime_loop *rl, cw_view *view);

/* The endpoint at `path`, at the addresses of toolsets below it (door/toolset_path.h), (and at /mcp/tools/list, for clients that were given the address of the
 * list), its server card below it, and /.well-known/mcp.json. */
CW_MUST_USE cw_code cw_mcp_add_routes(cw_router *router, cw_mcp *door, cw_str path);

/* Append the server.json for a registry. CW_CONFIG without `public_url`, which a registry needs;
 * CW_NOMEM. */
CW_MUST_USE cw_code cw_mcp_write_registry(const cw_config *config, cw_buf *out, cw_err *err);

#endif
