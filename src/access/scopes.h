/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scopes.h - the scopes that are known by name.
 *
 * Tools may ask for any others; a token that is given one which nobody knows is most
 * likely a typing error, and its maker is warned.
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
/* What may stand in a scope (RFC 6749, 3.3): printable ASCII characters without space, quote and
 * backslash, at least one. */
bool cw_scope_is_token(cw_str name);
/* What a token may be given: one of at most 128 characters. */
bool cw_scope_is_valid(cw_str name);

#endif
