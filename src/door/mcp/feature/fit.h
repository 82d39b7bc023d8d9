/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fit.h - results of tools that are too large for a client (docs/toolsets.md).
 *
 * Ownership: a result in a form that fits lives in the arena of the responder.
 * Threads:   the loop of the request.
 * Limits:    cw_method.result_size; mcp.kept_results.
 */
#ifndef CW_DOOR_MCP_FEATURE_FIT_H
#define CW_DOOR_MCP_FEATURE_FIT_H

#include "door/mcp/elicit.h"

/* Whether a result is too large for the client, or is a part of a larger one. */
bool cw_mcp_is_large(const cw_mcp_call *call, const cw_outcome *outcome);
/* The outcome in a form that fits, for the client, in the responder's arena. */
void cw_mcp_fit(cw_mcp_call *call, const cw_outcome *outcome, cw_outcome *ret);

/* Read a part of a kept result. False: there is none at this URI for this caller. */
bool cw_mcp_read_kept(const cw_mcp_request *r, cw_str uri);

/* For the registry of a loop: drop results that were kept when their time is over. */
void cw_mcp_kept_on_over(cw_deadline *d);

#endif
