/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exposed.h - resources and prompts: methods that clients see as something else than tools.
 *
 * A resource is a method that is read at an address; a template has variables in
 * its address, "test://item/{id}", which are params of the method; a prompt's
 * arguments are its method's params. The one path runs them like any other method.
 *
 * Ownership: what is returned lives in the arena.
 * Threads:   no state.
 * Limits:    CW_EXPOSED_MAX_VARIABLES variables in a template, CW_RESOURCE_MAX_URI bytes of an
 * address that it is compared with.
 */
#ifndef CW_CATALOGUE_EXPOSED_H
#define CW_CATALOGUE_EXPOSED_H

#include "catalogue/method.h"

#define CW_EXPOSED_MAX_VARIABLES 32u

/* Whether a template can be matched: variables {name} of RFC 6570 level 1, each a param of the
 * method, none twice, none touching another. CW_PARAMS with a reason. */
CW_MUST_USE cw_code cw_exposed_check(const cw_method *method, cw_err *err);
/* The variables of any template of RFC 6570, each once; at most CW_EXPOSED_MAX_VARIABLES go to
 * `names`. CW_PARAMS: it is none, or has none; CW_LIMIT: more of them. */
CW_MUST_USE cw_code cw_exposed_variables(cw_str template, cw_str names[CW_EXPOSED_MAX_VARIABLES],
                                         size_t *ret_n, cw_err *err);
/* Whether a URI is one of such a template, as far as that can be known without its values. A URI with
 * a segment "..", also an encoded one, is none: a server that resolves it would leave the template. */
bool cw_exposed_covers(cw_str template, cw_str uri);
/* The object that lists show: uri, uriTemplate or name, what the source says, description, and of a
 * prompt its arguments. CW_NOMEM. */
CW_MUST_USE cw_code cw_exposed_write(const cw_method *method, cw_arena *arena, cw_str *ret,
                                     cw_err *err);
/* Whether a URI is one of the template's, which one beyond the limit is not. Then *ret is the
 * object of its variables, as JSON text, percent-decoded; .p is NULL in it without memory. */
bool cw_exposed_match(cw_str template, cw_str uri, cw_arena *arena, cw_str *ret);

#endif
