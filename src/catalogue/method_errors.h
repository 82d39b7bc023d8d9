/* SPDX-License-Identifier: GPL-2.0-or-later */
/* method_errors.h - all that is wrong with the schemas that methods declare, not only the first.
 *
 *     method 'a.b': param 'nid': schema: /minimum: expected number, got string
 *     method 'a.b': param 'limit': default: expected integer, got string
 *
 * method_schemas.h refuses a source at its first mistake; this says all of them to the author.
 *
 * Threads: no state.
 */
#ifndef CW_CATALOGUE_METHOD_ERRORS_H
#define CW_CATALOGUE_METHOD_ERRORS_H

#include "catalogue/method_schemas.h"

typedef enum cw_method_errors_of {
    CW_METHOD_ERRORS_ALL,
    CW_METHOD_ERRORS_DEFAULTS, /* only defaults that their schema does not accept */
} cw_method_errors_of;

/* Append a line for each, with '\n' behind it. CW_NOMEM. */
CW_MUST_USE cw_code cw_method_errors_list(const cw_method *methods, size_t n,
                                          const cw_schema_policy *policy, cw_method_errors_of which,
                                          cw_buf *out);

/* Check the default of a param, which has one. CW_PARAMS: its schema does not accept it, with the
 * reason in `err`. An invalid schema accepts all, and so does one that reaches a limit. CW_NOMEM.
 * *steps is reduced by the cost, and is below 0 if the check was not finished; NULL: only the limit
 * of the schema holds. */
CW_MUST_USE cw_code cw_method_check_default(const cw_param *param, const cw_schema_policy *policy,
                                            int64_t *steps, cw_err *err);

#endif
