/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk.h - a document, or part of one, back to text. */
#ifndef CW_JSON_WALK_H
#define CW_JSON_WALK_H

#include "json/write.h"

/* Append `v`. Strings and numbers keep the spelling of their source; white space is the style's,
 * for a value that stands at `depth`. Any depth of its own; failures are the buffer's. */
void cw_json_walk(cw_buf *out, const cw_json *v, cw_json_style style, uint32_t depth);

#endif
