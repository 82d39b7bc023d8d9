/* SPDX-License-Identifier: GPL-2.0-or-later */
/* project.h - schemas and instances made to fit: for clients that know less, for callers that say
 * less.
 *
 *     rc = cw_schema_write_inlined(s, &out, err);       no references left
 *     rc = cw_schema_write_draft07(s, &out, err);       for a client that knows draft-07 only
 *     rc = cw_schema_prepare(s, value, &opts, &arena, &out, &changes, err);
 *
 * The schema that a client sees is elsewhere always the original bytes; these are for when it asks
 * for less.
 *
 * Ownership: output is appended to the caller's buffer, changes are in the caller's arena.
 * Threads:   as the schema: any number at the same time.
 * Limits:    the buffer's ceiling (CW_LIMIT): references that multiply end there.
 */
#ifndef CW_SCHEMA_PROJECT_H
#define CW_SCHEMA_PROJECT_H

#include "schema/schema.h"

/* The schema with every reference replaced by what it leads to, without $defs and identifiers.
 * Fails with CW_PARAMS, naming the place, when a schema contains itself or a $dynamicRef depends on
 * who uses it; CW_LIMIT; CW_NOMEM. */
CW_MUST_USE cw_code cw_schema_write_inlined(const cw_schema *s, cw_buf *out, cw_err *err);

/* The schema in the words of draft-07. What draft-07 cannot say (unevaluated keywords next to
 * logic, counts of contains, dynamic scope) is left out, so that the result accepts at least what
 * the original accepts. A draft-07 schema stays as it is. CW_LIMIT, CW_NOMEM. */
CW_MUST_USE cw_code cw_schema_write_draft07(const cw_schema *s, cw_buf *out, cw_err *err);

typedef struct cw_schema_prepare_opts {
    bool defaults; /* add members that are missing and have a default */
    bool coerce;   /* read "5" as 5, "true" as true, "null" as null where nothing else is allowed */
} cw_schema_prepare_opts;

/* What was done to the instance. */
typedef struct cw_schema_change {
    cw_str pointer;
    cw_str from; /* empty: the member was missing */
    cw_str to;
} cw_schema_change;

typedef struct cw_schema_changes {
    cw_schema_change *items;
    size_t n;
} cw_schema_changes;

/* Write the instance with defaults and coercions. Only what applies to a value in any case is
 * followed: properties, items, prefixItems, $ref and allOf; never a branch of anyOf, oneOf or if. A
 * string is read as something else only when the types that apply leave one reading and the string
 * is that value's JSON text. Nothing is validated. CW_LIMIT, CW_NOMEM. */
CW_MUST_USE cw_code cw_schema_prepare(const cw_schema *s, const cw_json *instance,
                                      const cw_schema_prepare_opts *opts, cw_arena *arena,
                                      cw_buf *out, cw_schema_changes *ret, cw_err *err);

#endif
