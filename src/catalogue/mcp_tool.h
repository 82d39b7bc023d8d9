/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_tool.h - a tool as MCP clients read it.
 *
 * What tool_json.h writes is what the original shows; the protocol has words of its
 * own for some of it. Of the annotations, the hints that it knows stay, those that
 * go by another name (`destructive`, `readOnly`, …) get the protocol's, and the rest,
 * `auth` among it, moves to _meta:
 *
 *     "annotations":{"destructive":false,"category":"content"}
 *     "annotations":{"destructiveHint":false},
 *     "_meta":{"causeway/annotations":{"category":"content"}}
 *
 * Declarations of headers that are not right are left out (param_headers.h). For clients
 * that know less, names become aliases (alias.h) and schemas lose their references;
 * one that contains itself cannot, and stays.
 *
 * Threads: no state.
 * Limits:  CW_TOOL_MAX_INLINED bytes of a schema without references; a longer one stays as it is.
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
    cw_schema_draft draft;       /* of schemas that do not say */
} cw_tool_mcp_opts;

/* Append the tool object. Errors are sticky in `out`. */
void cw_tool_write_mcp(cw_buf *out, const cw_entry *tool, const cw_tool_mcp_opts *shape);

#endif
