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
/* A member that is a string; *ret stays as it is when the member is missing or null. */
CW_MUST_USE cw_code cw_openrpc_text(const cw_json *object, cw_str member, cw_str *ret, cw_err *err);

/* Append a value without white space between its tokens. */
void cw_openrpc_write(const cw_json *v, cw_buf *out);

/* Read {"permissions": […], "auth": {…}, "visibility": …} into *needs. */
CW_MUST_USE cw_code cw_openrpc_access(const cw_json *access, cw_arena *arena,
                                      cw_requirements *needs, cw_err *err);

/* Read `x-input` of a method whose params are read, and make method->input of it. Trees live in
 * `scratch`, the text in `arena`. Without one nothing happens. */
CW_MUST_USE cw_code cw_openrpc_input(const cw_json *object, cw_arena *scratch, cw_arena *arena,
                                     cw_method *method, cw_err *err);

/* Read what makes a method a resource, a template or a prompt, when something does. */
CW_MUST_USE cw_code cw_openrpc_exposed(const cw_json *object, cw_arena *arena, cw_method *method,
                                       cw_err *err);

/* Make a schema stand alone: the schemas that it refers to elsewhere in the document are copied into
 * its "$defs". One without such references stays what it is. The bytes written are subtracted from *left,
 * also on failure; CW_LIMIT: *left is too small. */
CW_MUST_USE cw_code cw_openrpc_bundle(const cw_json *doc, cw_json_pointer_index *index,
                                      const cw_json **schema, cw_arena *arena, size_t *left,
                                      cw_err *err);

#endif
