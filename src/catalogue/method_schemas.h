/* SPDX-License-Identifier: GPL-2.0-or-later */
/* method_schemas.h - the schemas of a source's methods, ready to check arguments and results.
 *
 * Every parameter and every result has its schema compiled on its own, as its
 * author wrote it: its dialect, its references and the pointers in messages are
 * the author's, and an argument is checked where it stands in the request, however
 * it was bound. What call/arguments.h says of names (required, unknown) is not asked again.
 *
 *     method ─► places ─► texts     one for each schema text that differs
 *                           └─► compiled at the first call that needs it
 *
 * All schemas are compiled once when the source is taken into a catalogue, so that
 * a bad one is found then; but what is compiled is many times larger than its text,
 * so it is let go and made again for methods that are called. Sources do not
 * change: the next catalogue takes the contracts of a source over.
 *
 * Ownership: reference counted; borrows the methods, whose source must live as long.
 * Threads:   made on one thread, then used by all; references are counted atomically.
 * Limits:    of schema/schema.h for each schema.
 */
#ifndef CW_CATALOGUE_METHOD_SCHEMAS_H
#define CW_CATALOGUE_METHOD_SCHEMAS_H

#include "catalogue/method.h"
#include "schema/schema.h"

typedef struct cw_method_schemas cw_method_schemas;

/* How schemas are read. All zero: the defaults. */
typedef struct cw_schema_policy {
    cw_schema_draft draft; /* of schemas that do not say */
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
