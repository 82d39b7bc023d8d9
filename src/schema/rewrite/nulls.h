/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nulls.h - a value without the nulls that stand for members that were left out.
 *
 * Some model APIs make every property required, so that a model sends null for what it leaves out.
 *
 *     {"properties":{"a":{"type":"string"},"b":{"type":"object"}},"required":["b"]}
 *     {"a":null,"b":{},"c":null}  ->  {"b":{},"c":null}
 *
 * A member is left out if `properties` declares it, `required` does not name it, and its schema does
 * not accept null. Items of arrays, and members that only additionalProperties or patternProperties
 * know, stay. Branches of anyOf and oneOf declare members too, but only rules that apply to each
 * value can require one: the caller validates the result.
 *
 * Ownership: output is appended to the caller's buffer.
 * Threads:   as the schema: any number at the same time.
 */
#ifndef CW_SCHEMA_REWRITE_NULLS_H
#define CW_SCHEMA_REWRITE_NULLS_H

#include "schema/schema.h"

/* Whether the schema may accept null. False is sure. *steps is reduced by the work. */
bool cw_schema_takes_null(const cw_schema *s, int64_t *steps);
/* Append the value without such members, whose number is added to *n. *steps is reduced by the work;
 * below 0 it is CW_LIMIT. CW_NOMEM. */
CW_MUST_USE cw_code cw_schema_write_without_nulls(const cw_schema *s, const cw_json *value,
                                                  cw_buf *out, uint32_t *n, int64_t *steps);

#endif
