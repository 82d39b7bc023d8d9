/* SPDX-License-Identifier: GPL-2.0-or-later */
/* openrpc_int.h - functions that the parts of the OpenRPC reader share: openrpc.c (methods, marks,
 * resources and prompts), input.c (x-input) and refs.c (references). */
#ifndef CW_SOURCE_OPENRPC_OPENRPC_INT_H
#define CW_SOURCE_OPENRPC_OPENRPC_INT_H

#include "base/buf.h"
#include "source/openrpc/openrpc.h"

/* CW_PARAMS: "expected EXPECTED, got TYPE". */
cw_code cw_openrpc_wrong(cw_err *err, const char *expected, const cw_json *got);

/* Make a schema stand alone: the schemas that it refers to elsewhere in the document are copied
 * into its "$defs". A schema without such references is not changed. The bytes written are
 * subtracted from *left, also on failure; CW_LIMIT: *left is too small. */
CW_MUST_USE cw_code cw_openrpc_bundle(const cw_json *doc, cw_json_pointer_index *index,
                                      const cw_json **schema, cw_arena *arena, size_t *left,
                                      cw_err *err);

#endif
