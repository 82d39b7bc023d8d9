/* SPDX-License-Identifier: GPL-2.0-or-later */
/* param_headers.h - arguments that clients repeat in headers, for proxies that route without reading
 * bodies.
 *
 * A property of inputSchema with "x-mcp-header": "Region" is also sent as Mcp-Param-Region. Clients drop
 * a tool with an invalid declaration, so such a tool is listed without any. A valid declaration is a
 * token that is unique in the tool (case-insensitive), on a property of type string, integer or boolean
 * that is reached through `properties` alone.
 *
 * Ownership: borrows.
 * Threads:   no state.
 * Limits:    CW_PARAM_HEADERS_MAX declarations in a tool.
 */
#ifndef CW_CATALOGUE_TOOL_PARAM_HEADERS_H
#define CW_CATALOGUE_TOOL_PARAM_HEADERS_H

#include "base/buf.h"
#include "catalogue/method.h"

#define CW_PARAM_HEADERS_KEYWORD "x-mcp-header"
#define CW_PARAM_HEADERS_MAX 64u

typedef struct cw_param_headers {
    cw_str header;        /* what follows "Mcp-Param-"; in the arena */
    const cw_json *value; /* the argument, or NULL */
} cw_param_headers;

/* The declarations of a method and what `arguments` (an object, or NULL) says there, in the arena.
 * CW_PARAMS with a reason when one is not right; CW_NOMEM. */
CW_MUST_USE cw_code cw_param_headers_find(const cw_method *method, const cw_json *arguments,
                                          cw_arena *arena, const cw_param_headers **ret,
                                          size_t *ret_n, cw_err *err);
/* Whether a schema's text can have the keyword at all. */
bool cw_param_headers_may_be_in(cw_str schema);
/* Append a schema, which was read from text without white space, without the keyword. Errors are
 * sticky in `out`. */
void cw_param_headers_write_without(cw_buf *out, const cw_json *schema);

#endif
