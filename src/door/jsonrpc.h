/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jsonrpc.h - POST /jsonrpc: JSON-RPC 2.0 to the letter; single, batch, notification. */
#ifndef CW_DOOR_JSONRPC_H
#define CW_DOOR_JSONRPC_H

#include "call/bridge.h"
#include "net/router.h"

CW_MUST_USE cw_code cw_jsonrpc_add_routes(cw_router *router, cw_bridge *bridge);

#endif
