/* SPDX-License-Identifier: GPL-2.0-or-later */
/* target.h - a request target taken apart, and percent-decoding, which happens here and only here.
 *
 * Origin form ("/a/b?x=1"), absolute form ("http://host/a", host checked against
 * Host by the caller) and asterisk form ("*", OPTIONS only) are accepted; dot
 * segments, encoded slashes, NUL, controls, ill-formed UTF-8 and bad escapes are
 * refused, so that a path has exactly one spelling behind this function.
 *
 * Ownership: decoded text is in the arena, or borrowed from the target when nothing was encoded.
 */
#ifndef CW_NET_HTTP_TARGET_H
#define CW_NET_HTTP_TARGET_H

#include "base/arena.h"

typedef struct cw_target {
    cw_str path;      /* decoded; "*" for the asterisk form */
    cw_str query;     /* as sent, without '?'; .p NULL when absent */
    cw_str authority; /* of the absolute form; .p NULL otherwise */
} cw_target;

/* Fails with CW_INVALID and a static reason, or CW_NOMEM / CW_LIMIT of the arena. */
CW_MUST_USE cw_code cw_target_parse(cw_str raw, cw_arena *arena, cw_target *ret,
                                    const char **ret_reason);

/* Next `name=value` of a query, decoded ('+' is a space). Start with *rest = query. CW_DONE at the
 * end, CW_INVALID for a bad escape, control or ill-formed UTF-8. */
CW_MUST_USE cw_code cw_query_next(cw_str *rest, cw_arena *arena, cw_str *ret_name,
                                  cw_str *ret_value);

#endif
