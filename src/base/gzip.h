/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gzip.h - bytes in the format of gzip.
 *
 * Threads: no state.
 */
#ifndef CW_BASE_GZIP_H
#define CW_BASE_GZIP_H

#include "base/buf.h"

/* Add the compressed bytes to `out`, if they fit into `room` bytes. CW_LIMIT: they do not, or there
 * are more than zlib counts; CW_NOMEM. On failure nothing is added, and `out` has no error. */
CW_MUST_USE cw_code cw_gzip(cw_str bytes, size_t room, cw_buf *out);

#endif
