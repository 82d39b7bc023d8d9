/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search.h - find_tools and call_tool: a search in place of a list.
 *
 * Ownership: borrows the request, and appends to buffers of the caller.
 * Threads:   the loop of the request.
 */
#ifndef CW_DOOR_MCP_FEATURE_SEARCH_H
#define CW_DOOR_MCP_FEATURE_SEARCH_H

#include "door/mcp/mcp_int.h"

/* Whether a list has find_tools and call_tool in place of tools. */
bool cw_mcp_is_search(const cw_view *view);
/* Append "tools":[…] with them. Errors are sticky in `out`. */
void cw_mcp_search_write_list(cw_buf *out, const cw_mcp_request *r);
/* Answer a call of find_tools; `arguments` is an object, or NULL. */
void cw_mcp_search_find(const cw_mcp_request *r, const cw_json *arguments);

#endif
