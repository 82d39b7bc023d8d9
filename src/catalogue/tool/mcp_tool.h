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
 * _meta["causeway/name"] are the tool's own name. Portable schemas (schema/rewrite/portable.h) are
 * made once per snapshot; the description then ends with the rules that they do not show. A tool in
 * another language has other descriptions in its schema, which is rewritten for each page.
 *
 * Threads: no state.
 */
#ifndef CW_CATALOGUE_TOOL_MCP_TOOL_H
#define CW_CATALOGUE_TOOL_MCP_TOOL_H

#include "catalogue/tool/portable_name.h"
#include "catalogue/translate.h"
#include "schema/rewrite/portable.h"

typedef struct cw_tool_mcp_opts {
    cw_tool_form form;
    const cw_language *language; /* NULL: as it was written */
    bool has_portable_names;     /* tools go by their portable names */
    bool has_portable_schemas;   /* inputSchema is one that every model API accepts */
    bool has_structured_text;    /* outputSchema also of tools that return text */
    bool omits_output_schemas;   /* lean lists: no outputSchema */
    bool has_short_descriptions; /* and first sentences (short_text.h) */
    bool has_signatures;         /* and signatures in place of input schemas (signature.h) */
    bool has_task_support;       /* execution.taskSupport, as version 2025-11-25 has it */
    cw_schema_draft draft;       /* of schemas without $schema */
} cw_tool_mcp_opts;

/* Append the tool object. Errors are sticky in `out`. */
void cw_tool_write_mcp(cw_buf *out, const cw_entry *tool, const cw_tool_mcp_opts *shape);

/* The portable inputSchema of a tool, whose text (tool_json.h) is `tool`, in the arena; NULL in
 * *ret: it is portable as it is. `trees` is for temporary values. CW_NOMEM. */
CW_MUST_USE cw_code cw_tool_make_portable(const cw_entry *entry, cw_str tool, cw_schema_draft draft,
                                          cw_arena *trees, cw_arena *arena,
                                          const cw_schema_portable **ret);
/* A copy in another arena. CW_NOMEM. */
CW_MUST_USE cw_code cw_tool_copy_portable(const cw_schema_portable *from, cw_arena *arena,
                                          const cw_schema_portable **ret);
/* Whether clients see the same; either may be NULL. */
bool cw_tool_same_portable(const cw_schema_portable *a, const cw_schema_portable *b);
/* Whether an annotation is a hint of the protocol, or another name of one. */
bool cw_tool_is_hint(cw_str annotation);

#endif
