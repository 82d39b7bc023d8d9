/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gzip.c - compression by zlib. */
#include "base/gzip.h"

#include <zlib.h>

#define WINDOW (15 + 16) /* 15 bits, and zlib is to write gzip's frame */
#define MEMORY 8

cw_code cw_gzip(cw_str bytes, size_t room, cw_buf *out)
{
    z_stream z = {0};
    if (bytes.n > UINT32_MAX || room > UINT32_MAX)
        return CW_LIMIT;
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return CW_NOMEM;
    char *to = cw_buf_reserve(out, room);
    cw_code rc = to ? CW_LIMIT : out->code;
    out->code = CW_OK;
    z.next_in = (Bytef *)(uintptr_t)bytes.p;
    z.avail_in = (uInt)bytes.n;
    z.next_out = (Bytef *)to;
    z.avail_out = (uInt)room;
    if (to && deflate(&z, Z_FINISH) == Z_STREAM_END) {
        cw_buf_commit(out, z.total_out);
        rc = CW_OK;
    }
    deflateEnd(&z);
    return rc;
}
