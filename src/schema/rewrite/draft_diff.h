/* SPDX-License-Identifier: GPL-2.0-or-later */
/* draft_diff.h - the places where a draft-07 schema has another meaning in 2020-12.
 *
 * Schemas are published as they were written. A client that knows 2020-12 only, or
 * does not look at $schema, reads some of draft-07's keywords otherwise, or not at
 * all; and ones that draft-07 does not know suddenly count. The author is told where.
 *
 *     {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}
 *     -> "/items", "items": "an array is not allowed in 2020-12, which has prefixItems"
 *
 * Not here: what means the same to both but is checked more or less strictly (format).
 *
 * Ownership: what fn is given lives as long as the call of fn.
 * Threads:   no state.
 */
#ifndef CW_SCHEMA_REWRITE_DRAFT_DIFF_H
#define CW_SCHEMA_REWRITE_DRAFT_DIFF_H

#include "schema/schema.h"

typedef struct cw_schema_difference {
    cw_str pointer; /* of the keyword: "/properties/tags/items" */
    cw_str keyword; /* "items" */
    const char *text;
} cw_schema_difference;

/* False: it has heard enough. */
typedef bool (*cw_schema_difference_fn)(const cw_schema_difference *d, void *ctx);

/* Whether the schema has keywords that may differ, wherever they stand: quick, and before it is
 * compiled. False: cw_schema_differences would find none. */
bool cw_schema_may_differ(const cw_json *doc);
/* Call fn for each difference until it has heard enough, in the order of the document. Parts in
 * 2020-12 have none. CW_NOMEM. */
CW_MUST_USE cw_code cw_schema_differences(const cw_schema *s, cw_schema_difference_fn fn,
                                          void *ctx);

#endif
