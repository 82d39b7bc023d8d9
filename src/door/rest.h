/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rest.h - the plain JSON doors: tools to list, describe and call, and what clients find us by.
 *
 *     GET  /mcp/tools/list?cursor=        rest_list.c
 *     GET  /mcp/tools/describe?name=      rest_list.c
 *     POST /mcp/tools/invoke              rest_invoke.c
 *     GET, POST /mcp/tools/{name}         rest_tool.c
 *     GET  /jsonrpc/methods, /{id}        discovery.c
 *
 * Threads: handlers run on the request's loop.
 */
#ifndef CW_DOOR_REST_H
#define CW_DOOR_REST_H

#include "call/bridge.h"
#include "net/router.h"

CW_MUST_USE cw_code cw_rest_add_routes(cw_router *router, cw_runtime *runtime);

#endif
