/* SPDX-License-Identifier: GPL-2.0-or-later */
/* percent.h - percent-encoding (RFC 3986): what may stand in a query, or in a form, as one value.
 *
 * Decoding happens in net/http/target.h alone.
 *
 * Threads: no state.
 */
#ifndef CW_BASE_PERCENT_H
#define CW_BASE_PERCENT_H

#include "base/buf.h"

/* Append `text`; all but A-Z a-z 0-9 '-' '.' '_' '~' as %XX. */
void cw_percent_encode(cw_buf *out, cw_str text);

#endif
