/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jsonrpc.h - /jsonrpc: JSON-RPC 2.0 to the letter; single, batch, notification.
 *
 * POST has the message as its body, GET as the parameter `query`; a GET runs only
 * what is marked as reading only. The address of a tool (door/rest/rest.c) is the same
 * with one method that can be called.
 *
 * Threads: the request's loop.
 */
#ifndef CW_DOOR_JSONRPC_JSONRPC_H
#define CW_DOOR_JSONRPC_JSONRPC_H

#include "door/authenticate.h"
#include "net/server/router.h"

/* Refusals of this door. */
extern const cw_auth_error_bodies cw_authenticate_jsonrpc;

CW_MUST_USE cw_code cw_jsonrpc_add_routes(cw_router *router, cw_runtime *runtime);

typedef struct cw_jsonrpc_in {
    cw_runtime_loop *rl;
    cw_view *view;
    const cw_entry *only; /* the one tool of this address; NULL: any method */
    bool is_get;
} cw_jsonrpc_in;

/* Read what the request carries, run it and answer. */
void cw_jsonrpc_receive(cw_http_req *req, const cw_jsonrpc_in *in);

#endif
