/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp.h - the Model Context Protocol, both eras, over Streamable HTTP and over lines.
 *
 * The door keeps no conversation: what a client has to bring back, it carries itself,
 * sealed (access/seal.h). Only what runs is known here: a loop knows its calls, so
 * that they can be cancelled, and the questions that it has sent to clients.
 *
 * Ownership: the door borrows the bridge, which must outlive it.
 * Threads:   new, add_routes and free on the main thread; take on the loop of the port.
 * Limits:    CW_MCP_MAX_ELICITATIONS questions in one answer; session_store.h says how much is
 *            remembered of sessions.
 */
#ifndef CW_DOOR_MCP_MCP_H
#define CW_DOOR_MCP_MCP_H

#include "access/seal.h"
#include "call/runtime.h"
#include "door/responder.h"
#include "net/server/router.h"

#define CW_MCP_MAX_ELICITATIONS 32u
#define CW_MCP_PATH_MAX 128u

typedef struct cw_mcp cw_mcp;

/* The seal is copied. */
CW_MUST_USE cw_code cw_mcp_new(cw_runtime *runtime, unsigned n_loops, const cw_seal *seal,
                               cw_mcp **ret, cw_err *err);
/* After the loops have ended. NULL is fine. */
void cw_mcp_free(cw_mcp *door);

/* Take one message, or a batch, that came through a port for a caller whose view this is. */
void cw_mcp_receive(cw_mcp *door, cw_responder *responder, cw_runtime_loop *rl, cw_view *view,
                    cw_str body);

/* Tell the client of a port with a session of what changes: lists of its view, resources that it
 * has subscribed to. Once per connection, with a port of its own that lasts as long as the
 * connection; a client of the modern era is told nothing there. The port's listener is taken. It
 * ends with CW_RESPONDER_GONE or CW_RESPONDER_STOPPING; the port is never ended from here unless
 * something that it must not miss cannot be said. CW_NOMEM; CW_LIMIT: too many are told. */
CW_MUST_USE cw_code cw_mcp_subscribe_responder(cw_mcp *door, cw_responder *responder,
                                               cw_runtime_loop *rl, cw_view *view);

/* The endpoint at `path` (and at /mcp/tools/list, for clients that were given the address of the
 * list), its server card below it, and /.well-known/mcp.json. */
CW_MUST_USE cw_code cw_mcp_add_routes(cw_router *router, cw_mcp *door, cw_str path);

/* Append the server.json that a registry wants. CW_CONFIG without `public_url`: a registry has to
 * know where the server is; CW_NOMEM. */
CW_MUST_USE cw_code cw_mcp_write_registry(const cw_config *config, cw_buf *out, cw_err *err);

#endif
