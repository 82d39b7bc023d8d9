/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scopes.h - the scopes that are known by name.
 *
 * Tools may require other scopes. A token with an unknown scope is probably a typing error, so
 * `token create` warns.
 *
 * Threads: constant.
 */
#ifndef CW_ACCESS_SCOPES_H
#define CW_ACCESS_SCOPES_H

#include "base/str.h"

typedef struct cw_scope {
    cw_str name;
    cw_str label;
    cw_str description;
} cw_scope;

const cw_scope *cw_scopes(size_t *ret_n);
/* By exact name; NULL when it is not known. */
const cw_scope *cw_scope_find(cw_str name);
/* Whether it is a scope-token (RFC 6749, 3.3): printable ASCII characters without space, quote and
 * backslash, at least one. */
bool cw_scope_is_token(cw_str name);
/* Whether a token may have it: a scope-token of maximum 128 characters. */
bool cw_scope_is_valid(cw_str name);

#endif
