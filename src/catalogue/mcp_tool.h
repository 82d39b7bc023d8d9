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
 * A tool that returns text has no outputSchema, unless has_structured_text is set: clients would show
 * the text as a quoted string.
 *
 * Invalid declarations of headers are omitted (param_headers.h). For clients whose models accept few
 * characters, names are portable (portable_name.h): then `title`, if the tool has none, and
 * _meta["causeway/name"] are the tool's own name. References in schemas can be inlined; a recursive
 * one stays.
 *
 * Threads: no state.
 * Limits:  CW_TOOL_MAX_INLINED bytes of an inlined schema; a longer one stays as it is.
 */
#ifndef CW_CATALOGUE_MCP_TOOL_H
#define CW_CATALOGUE_MCP_TOOL_H

#include "catalogue/portable_name.h"
#include "catalogue/translate.h"

#define CW_TOOL_MAX_INLINED (1024u * 1024u)

typedef struct cw_tool_mcp_opts {
    cw_tool_form form;
    const cw_language *language; /* NULL: as it was written */
    bool has_portable_names;     /* tools go by their portable names */
    bool has_portable_schemas;   /* no references in schemas */
    bool has_structured_text;    /* outputSchema also of tools that return text */
    cw_schema_draft draft;       /* of schemas without $schema */
} cw_tool_mcp_opts;

/* Append the tool object. Errors are sticky in `out`. */
void cw_tool_write_mcp(cw_buf *out, const cw_entry *tool, const cw_tool_mcp_opts *shape);

#endif
