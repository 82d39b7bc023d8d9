/* SPDX-License-Identifier: GPL-2.0-or-later */
/* openrpc_int.h - what the parts of the OpenRPC reader share: openrpc.c (methods), mark.c
 * (x-mcp-tool and x-access), input.c (x-input), exposed.c (resources and prompts) and
 * refs.c (references). */
#ifndef CW_SOURCE_OPENRPC_OPENRPC_INT_H
#define CW_SOURCE_OPENRPC_OPENRPC_INT_H

#include "base/buf.h"
#include "source/openrpc/openrpc.h"

/* CW_PARAMS: "expected EXPECTED, got TYPE". */
cw_code cw_openrpc_wrong(cw_err *err, const char *expected, const cw_json *got);

/* Read `x-input` of a method whose params are read, and make method->input of it. Trees live in
 * `scratch`, the text in `arena`. Without one nothing happens. */
CW_MUST_USE cw_code cw_openrpc_input(const cw_json *object, cw_arena *scratch, cw_arena *arena,
                                     cw_method *method, cw_err *err);

/* Make a schema stand alone: the schemas that it refers to elsewhere in the document are copied into
 * its "$defs". One without such references stays what it is. The bytes written are subtracted from *left,
 * also on failure; CW_LIMIT: *left is too small. */
CW_MUST_USE cw_code cw_openrpc_bundle(const cw_json *doc, cw_json_pointer_index *index,
                                      const cw_json **schema, cw_arena *arena, size_t *left,
                                      cw_err *err);

#endif
