/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uri.h - just enough of RFC 3986 for identifiers and references. */
#ifndef CW_SCHEMA_MODEL_URI_H
#define CW_SCHEMA_MODEL_URI_H

#include "base/arena.h"

/* The part before '#'; *ret_fragment gets the part behind it, with .p NULL when there is no '#'. */
cw_str cw_schema_uri_cut(cw_str uri, cw_str *ret_fragment);
/* Section 5.2: `ref` (without fragment) as seen from `base`, which may be empty or relative. .p is
 * NULL when the arena gave nothing. May give `base` or `ref` itself. */
cw_str cw_schema_uri_resolve(cw_arena *arena, cw_str base, cw_str ref);
/* %XX decoded; what is not two hexadecimal digits stays. .p is NULL when the arena gave nothing. */
cw_str cw_schema_uri_decode(cw_arena *arena, cw_str text);

#endif
