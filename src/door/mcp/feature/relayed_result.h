/* SPDX-License-Identifier: GPL-2.0-or-later */
/* relayed_result.h - a result that came from an MCP server, as it is passed on.
 *
 * Members stay as they came. _meta loses the keys of the last hop and gets those of ours.
 *
 * Ownership: errors are sticky in `out`.
 * Threads:   no state.
 */
#ifndef CW_DOOR_MCP_FEATURE_RELAYED_RESULT_H
#define CW_DOOR_MCP_FEATURE_RELAYED_RESULT_H

#include "door/mcp/mcp_int.h"

/* Append ,"_meta":{…} of such a result, or nothing. */
void cw_mcp_add_relayed_meta(cw_buf *out, const cw_mcp_era *era, const cw_json *meta);
/* Append the answer with the result of a prompt or a resource. `is_cacheable`: it may be kept as long
 * as the server says, for this caller only: another one may not see it. */
void cw_mcp_write_relayed(cw_buf *out, const cw_mcp_era *era, const cw_json *result,
                          bool is_cacheable, cw_str id);

#endif
