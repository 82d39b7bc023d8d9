/* SPDX-License-Identifier: GPL-2.0-or-later */
/* negotiate.h - in which form a client wants a document, and whether it has it already.
 *
 * Threads: no state.
 */
#ifndef CW_DOOR_NEGOTIATE_H
#define CW_DOOR_NEGOTIATE_H

#include "net/http.h"

/* Whether Accept-Encoding has gzip, by name or as "*". Without the header it has not. */
bool cw_negotiate_gzip(const cw_http_req *req);
/* Whether If-None-Match has this tag, weak or not, or "*". `etag` has its quotes. */
bool cw_negotiate_has(const cw_http_req *req, cw_str etag);
/* Whether all that Accept has is text/event-stream. */
bool cw_negotiate_only_events(const cw_http_req *req);

#endif
