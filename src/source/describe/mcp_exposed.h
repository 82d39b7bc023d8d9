/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_exposed.h - prompts, resources and templates that an MCP server lists, as methods.
 *
 *     kind       id                     member of the method
 *     prompt     prompt:NAME            x-mcp-prompt
 *     resource   resource:URI           x-mcp-resource
 *     template   template:URI-TEMPLATE  x-mcp-resource-template
 *
 * Lists of several servers reach a client as one, and a client that does not understand one entry may
 * reject them all. So a member of a known name and of another type than the protocol's is left out,
 * and so is an entry without its address. Everything else stays as the server lists it; keys of _meta
 * that belong to one hop do not pass.
 *
 * Ownership: ids live in the arena.
 * Threads:   no state.
 * Limits:    CW_RESOURCE_MAX_URI bytes of an address; CW_DESCRIBE_EXPOSED_… entries of a server.
 */
#ifndef CW_SOURCE_DESCRIBE_MCP_EXPOSED_H
#define CW_SOURCE_DESCRIBE_MCP_EXPOSED_H

#include "source/describe/describe_ctx.h"

#define CW_DESCRIBE_EXPOSED_BYTES 262144u /* of an entry */
#define CW_DESCRIBE_EXPOSED_PROMPTS 2000u
#define CW_DESCRIBE_EXPOSED_TEMPLATES 500u /* each is compared with addresses that clients send */

/* In the order of their requests. */
typedef enum cw_describe_exposed_kind {
    CW_DESCRIBE_EXPOSED_PROMPT,
    CW_DESCRIBE_EXPOSED_RESOURCE,
    CW_DESCRIBE_EXPOSED_TEMPLATE,
} cw_describe_exposed_kind;

/* The id of an entry of a list; its text is undefined where err has a reason. */
cw_str cw_describe_exposed_id(cw_describe_exposed_kind kind, const cw_json *entry, cw_arena *arena,
                              cw_err *err);
/* Write the entry as a method; `room` is used in between. `view`: the hash of a view; NULL: it is
 * none. */
void cw_describe_exposed_write(cw_openrpc_writer *doc, cw_describe_exposed_kind kind,
                               const cw_json *entry, cw_str id, const char *view, cw_buf *room);
/* Append {"icons":…,"_meta":…} of a tool. False: it has neither. */
bool cw_describe_exposed_more(const cw_json *tool, cw_buf *out);

#endif
