/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp.h - POST /mcp: the Model Context Protocol over Streamable HTTP, both eras at one address. */
#ifndef CW_DOOR_MCP_H
#define CW_DOOR_MCP_H

#include "call/bridge.h"
#include "net/router.h"

CW_MUST_USE cw_code cw_mcp_add_routes(cw_router *router, cw_bridge *bridge);

#endif
