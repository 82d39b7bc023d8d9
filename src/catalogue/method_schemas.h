/* SPDX-License-Identifier: GPL-2.0-or-later */
/* method_schemas.h - the schemas of a source's methods, for validation of arguments and results.
 *
 * The schema of each parameter and each result is compiled on its own, as its author wrote it: dialect,
 * references and the pointers in messages are the author's. An argument is checked in place in the
 * request. Names (required, unknown) are checked by call/arguments.h.
 *
 *     method ─► places ─► texts     one for each different schema text
 *                           └─► compiled at the first call that needs it
 *
 * All schemas are compiled once when a source enters a catalogue, to find invalid ones. A compiled schema
 * is many times larger than its text, so it is freed and compiled again for methods that are called.
 * Sources do not change: the next catalogue takes over the schemas of a source.
 *
 * Ownership: reference counted; borrows the methods, whose source must live as long.
 * Threads:   made on one thread, then used by all; references are counted atomically.
 * Limits:    those of schema/schema.h for each schema.
 */
#ifndef CW_CATALOGUE_METHOD_SCHEMAS_H
#define CW_CATALOGUE_METHOD_SCHEMAS_H

#include "catalogue/method.h"
#include "schema/schema.h"

typedef struct cw_method_schemas cw_method_schemas;

/* How schemas are read. All zero: the defaults. */
typedef struct cw_schema_policy {
    cw_schema_draft draft; /* of schemas without $schema */
    bool annotate_formats; /* `format` refuses nothing */
} cw_schema_policy;

/* Compile every schema of the methods. CW_PARAMS with "method 'a.b': param 'x': schema: /minimum:
 * expected number, got string" when one is not valid; CW_NOMEM. */
CW_MUST_USE cw_code cw_method_schemas_new(const cw_method *methods, size_t n,
                                          const cw_schema_policy *policy, cw_method_schemas **ret,
                                          cw_err *err);
cw_method_schemas *cw_method_schemas_ref(cw_method_schemas *c);
/* NULL is fine. */
void cw_method_schemas_unref(cw_method_schemas *c);
/* Whether they were made for these methods and so. */
bool cw_method_schemas_fit(const cw_method_schemas *c, const cw_method *methods, size_t n,
                           const cw_schema_policy *policy);

/* The compiled schema of a parameter; NULL in *ret: anything goes. CW_NOMEM, or what compiling
 * gives. The schema lives as long as the contracts. */
CW_MUST_USE cw_code cw_method_schemas_param(cw_method_schemas *c, const cw_method *method,
                                            size_t param, const cw_schema **ret, cw_err *err);
/* The same for all arguments together (cw_method.input). */
CW_MUST_USE cw_code cw_method_schemas_input(cw_method_schemas *c, const cw_method *method,
                                            const cw_schema **ret, cw_err *err);
/* The same for the result. */
CW_MUST_USE cw_code cw_method_schemas_result(cw_method_schemas *c, const cw_method *method,
                                             const cw_schema **ret, cw_err *err);

#endif
