/* SPDX-License-Identifier: GPL-2.0-or-later */
/* normalise.h - method and mark to the tool object that clients read.
 *
 * Fields in this order: name, description, inputSchema, outputSchema, title,
 * annotations; the last three only when there is something in them. inputSchema
 * is {"type":"object","properties":{…}} with `required` only when a parameter is.
 *
 * Ownership: what is returned lives in the arena.
 * Threads:   no state.
 */
#ifndef CW_CATALOGUE_NORMALISE_H
#define CW_CATALOGUE_NORMALISE_H

#include "catalogue/snapshot.h"

/* The tool name of a method id: 1-128 of [A-Za-z0-9_.-]. An id outside that is mapped reversibly
 * ("textDocument/hover" -> "textDocument.hover"). CW_PARAMS with a reason when there is none. */
CW_MUST_USE cw_code cw_tool_name(cw_str id, cw_arena *arena, cw_str *ret, cw_err *err);

/* Fill tool_name, tool_json, tool_object and wraps_output of an entry whose method has a mark.
 * CW_PARAMS with a reason; CW_NOMEM. */
CW_MUST_USE cw_code cw_normalise(cw_entry *entry, cw_arena *arena, cw_err *err);

#endif
