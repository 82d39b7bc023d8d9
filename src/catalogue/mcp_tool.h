/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_tool.h - a tool as MCP clients read it.
 *
 * tool_json.h writes a tool like the Drupal original; the protocol has other names for some members.
 * Known hints stay among the annotations, hints with another name (`destructive`, `readOnly`, …) get the
 * protocol's, and the rest, including `auth`, moves to _meta:
 *
 *     "annotations":{"destructive":false,"category":"content"}
 *     "annotations":{"destructiveHint":false},
 *     "_meta":{"causeway/annotations":{"category":"content"}}
 *
 * Invalid declarations of headers are omitted (param_headers.h). For clients with fewer abilities,
 * names become aliases (alias.h) and references in schemas are inlined; a recursive one stays.
 *
 * Threads: no state.
 * Limits:  CW_TOOL_MAX_INLINED bytes of an inlined schema; a longer one stays as it is.
 */
#ifndef CW_CATALOGUE_MCP_TOOL_H
#define CW_CATALOGUE_MCP_TOOL_H

#include "catalogue/alias.h"
#include "catalogue/translate.h"

#define CW_TOOL_MAX_INLINED (1024u * 1024u)

typedef struct cw_tool_mcp_opts {
    cw_tool_form form;
    const cw_language *language; /* NULL: as it was written */
    bool is_aliased;             /* tools go by their aliases */
    bool is_inlined;             /* no references in schemas */
    cw_schema_draft draft;       /* of schemas without $schema */
} cw_tool_mcp_opts;

/* Append the tool object. Errors are sticky in `out`. */
void cw_tool_write_mcp(cw_buf *out, const cw_entry *tool, const cw_tool_mcp_opts *shape);

#endif
