/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rest.h - the plain JSON doors: tools to list, describe and call, and the documents about them.
 *
 *     GET  /mcp/tools/list?cursor=
 *     GET  /mcp/tools/describe?name=
 *     POST /mcp/tools/invoke
 *     GET, POST /mcp/tools/{name}
 *     GET  /jsonrpc/methods, /{id}
 *
 * Threads: handlers run on the request's loop.
 */
#ifndef CW_DOOR_REST_REST_H
#define CW_DOOR_REST_REST_H

#include "call/runtime.h"
#include "net/server/router.h"

CW_MUST_USE cw_code cw_rest_add_routes(cw_router *router, cw_runtime *runtime);

#endif
