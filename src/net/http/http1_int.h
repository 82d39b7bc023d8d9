/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http1_int.h - shared by the files of the head parser only.
 *
 * Threads: no shared state.
 */
#ifndef CW_NET_HTTP_HTTP1_INT_H
#define CW_NET_HTTP_HTTP1_INT_H

#include "net/http/http1.h"

/* States that requests and answers share; each has those of its first line below them. */
#define CW_HTTP1_FIELD 8u      /* at the beginning of a header line */
#define CW_HTTP1_DONE 14u      /* behind the head */
#define CW_HTTP1_REFUSED 0xffu /* behind every refusal */

/* Bits of cw_http1_head.seen. */
enum {
    CW_HTTP1_SEEN_EXPECT = 1,
    CW_HTTP1_SEEN_CLOSE = 2,
    CW_HTTP1_SEEN_KEEP_ALIVE = 4,
};

/* Method names by cw_http_method; the first is empty. */
#define CW_HTTP_METHODS (CW_HTTP_TRACE + 1u)
extern const cw_str cw_http_methods[CW_HTTP_METHODS];

/* Record why the head is refused; returns CW_INVALID. */
cw_code cw_http1_refuse(cw_http1_head *h, unsigned status, const char *reason);

/* Go on with the header lines of `p`, of which bytes up to `end` may be looked at. CW_AGAIN, CW_OK
 * (size and keep_alive are set), or refused. */
cw_code cw_http1_parse_fields(cw_http1_head *h, const char *p, size_t end);

/* Take fields[n_fields], which is complete and of valid syntax, and count it. CW_OK, or refused. */
cw_code cw_http1_take_field(cw_http1_head *h, const char *p);

#endif
