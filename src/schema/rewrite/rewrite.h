/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rewrite.h - a schema rewritten without references, for clients that do not resolve them.
 *
 *     rc = cw_schema_write_inlined(s, &out, err);
 *
 * All other clients get the original bytes of the schema.
 *
 * Ownership: output is appended to the caller's buffer.
 * Threads:   as the schema: any number at the same time.
 * Limits:    the buffer's ceiling (CW_LIMIT): references that multiply end there.
 */
#ifndef CW_SCHEMA_REWRITE_REWRITE_H
#define CW_SCHEMA_REWRITE_REWRITE_H

#include "schema/schema.h"

/* The schema with every reference replaced by what it leads to, without $defs and identifiers.
 * Fails with CW_PARAMS, naming the place, when a schema contains itself or a $dynamicRef depends on
 * who uses it; CW_LIMIT; CW_NOMEM. */
CW_MUST_USE cw_code cw_schema_write_inlined(const cw_schema *s, cw_buf *out, cw_err *err);

#endif
