/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tool_json.h - writes the tool object that clients read, from method and mark.
 *
 * Members in this order: name, description, inputSchema, outputSchema, title, annotations; the last three
 * are omitted when empty. inputSchema is {"type":"object","properties":{…}}, with `required` only when a
 * parameter is, and with `$schema` first when a parameter's schema has one. Schemas and annotations keep
 * every token, without the white space between tokens. References "#/…" of a schema are rewritten for its
 * place in the tool (schema_bundle.h). A method without usage is described by its title, else by its id:
 * clients reject a tool without a description.
 *
 * For clients that need an object, an outputSchema S whose root is not of type "object" becomes
 * {"type":"object","properties":{"result":S},"required":["result"],"x-fastmcp-wrap-result":true};
 * definitions stay inside S, `$schema` moves to the root.
 *
 * A tool is written on demand: lists are cached as a whole (page_cache.h), and the text of every tool
 * would double the size of the catalogue.
 *
 * Ownership: results live in the arena, or are the method's own.
 * Threads:   no state.
 */
#ifndef CW_CATALOGUE_TOOL_TOOL_JSON_H
#define CW_CATALOGUE_TOOL_TOOL_JSON_H

#include "base/buf.h"
#include "catalogue/snapshot.h"

/* The tool name of a method id: 1-128 of [A-Za-z0-9_.-]. An id within that is its own name; in any
 * other '/' becomes '.' ("textDocument/hover" -> "textDocument.hover"), each other byte outside the
 * set becomes _xHH, and so does a '_' that would read as such. Two ids may still meet ("a/b" and
 * "a.b"): the snapshot refuses that. CW_PARAMS with a reason when there is no name; CW_NOMEM. *ret
 * may be `id` itself. */
CW_MUST_USE cw_code cw_tool_name(cw_str id, cw_arena *arena, cw_str *ret, cw_err *err);

/* The two forms of a tool. They differ if cw_entry.wraps_output is set. */
typedef enum cw_tool_form {
    CW_TOOL_ANY_OUTPUT,    /* outputSchema as it is */
    CW_TOOL_OBJECT_OUTPUT, /* of type object */
} cw_tool_form;

/* Fill tool_name, wraps_output, returns_text, is_mirrored and tool_hash of an entry whose method has a mark, and
 * replace what is in `text` by the tool as CW_TOOL_ANY_OUTPUT. CW_PARAMS with a reason; CW_NOMEM.
 */
CW_MUST_USE cw_code cw_tool_json(cw_entry *entry, cw_arena *arena, cw_buf *text, cw_err *err);

/* Append the tool object of an entry with a tool name. Errors are sticky in `out`. */
void cw_tool_write(const cw_entry *entry, cw_tool_form form, cw_buf *out);

#endif
