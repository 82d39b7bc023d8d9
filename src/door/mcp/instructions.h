/* SPDX-License-Identifier: GPL-2.0-or-later */
/* instructions.h - the text for models about the server.
 *
 * Ownership: borrows the request, and appends to buffers of the caller.
 * Threads:   the loop of the request.
 */
#ifndef CW_DOOR_MCP_INSTRUCTIONS_H
#define CW_DOOR_MCP_INSTRUCTIONS_H

#include "door/mcp/mcp_int.h"

/* Append a line for each source of the tools that the caller sees, the largest first; at most
 * CW_CONFIG_MAX_INSTRUCTIONS bytes; nothing without tools. Errors are sticky in `out`. */
void cw_mcp_add_summary(cw_buf *out, const cw_mcp_request *r);
/* Append the member `instructions` with a comma in front; nothing where there is nothing to tell.
 * Errors are sticky in `out`. */
void cw_mcp_add_instructions(cw_buf *out, const cw_mcp_request *r);

#endif
