/* SPDX-License-Identifier: GPL-2.0-or-later */
/* static_resource.h - resources whose bytes the server has: files of skills, views of tools.
 *
 * No source is called for them: resources/read answers at once.
 *
 * Threads: the loop of the request.
 */
#ifndef CW_DOOR_MCP_FEATURE_STATIC_RESOURCE_H
#define CW_DOOR_MCP_FEATURE_STATIC_RESOURCE_H

#include "door/mcp/mcp_int.h"

#define CW_MCP_UI CW_MCP_META("ui") /* the extension */

extern const cw_str cw_mcp_data_view; /* the built-in view (views/data.html) */

typedef struct cw_mcp_static_resource {
    cw_str uri, mime_type;
    cw_str bytes;
    bool is_text; /* UTF-8; else they are sent as Base64 */
    cw_str ui;    /* of _meta: a JSON object; empty: none */
} cw_mcp_static_resource;

/* Whether the caller may read now: the general permission, and the rate of lists. False: the message
 * is answered. */
bool cw_mcp_may_read(const cw_mcp_request *r);
/* Check cw_mcp_may_read, write the audit, and answer. */
void cw_mcp_reply_static(const cw_mcp_request *r, const cw_mcp_static_resource *resource);
/* Append ttlMs and cacheScope of a modern result, each with a comma in front. */
void cw_mcp_add_lifetime(cw_buf *out, const cw_mcp_request *r);

/* Answer resources/read of a view that is a file or the built-in one. False: it is none that the
 * caller may read. */
bool cw_mcp_read_ui(const cw_mcp_request *r, cw_str uri);
/* What hosts must know of a view that a source serves: an object, or empty. */
cw_str cw_mcp_ui_meta(const cw_view *view, cw_str uri);

#endif
