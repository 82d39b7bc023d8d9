/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arguments.h - arguments of a call from a command line.
 *
 *     --arg title=Hello --arg count=3 --arg 'tags=["a","b"]'
 *
 * A value is JSON where the schema of the parameter has types and no string is among them, else it
 * is a text as it stands.
 *
 * Threads: no state.
 */
#ifndef CW_CLI_TOOL_ARGUMENTS_H
#define CW_CLI_TOOL_ARGUMENTS_H

#include "base/buf.h"
#include "catalogue/method.h"

#define CW_TYPES_N 7u

/* The types that a schema allows, a bit for each, by `type`, `const`, `enum`, "#/…" references and
 * where all of `anyOf` or `oneOf` have some; 0: it does not say, or cannot be read. */
unsigned cw_cli_schema_types(cw_str schema);
/* "null", "boolean", "integer", "number", "string", "array", "object" by bit. */
const char *cw_cli_type_name_of(unsigned bit);

/* Append the arguments, an object. CW_PARAMS: one has no '=' or name, stands twice, or is no JSON
 * where that is wanted; CW_NOMEM. */
CW_MUST_USE cw_code cw_cli_arguments_make(const cw_method *method, const char *const *items,
                                          size_t n, cw_buf *out, cw_err *err);

#endif
