/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reply.h - answers of the authorization server to programs: JSON that no cache stores.
 *
 * Threads: the request's loop.
 */
#ifndef CW_DOOR_OAUTH_REPLY_H
#define CW_DOOR_OAUTH_REPLY_H

#include "base/buf.h"
#include "net/server/request_api.h"

/* A JSON body with no-store; static, or in the request's arena. */
void cw_oauth_reply(cw_http_req *req, unsigned status, cw_str body);
/* {"error":…,"error_description":…}; both texts are printable ASCII without quotes and backslashes. */
void cw_oauth_reply_error(cw_http_req *req, unsigned status, const char *error,
                          const char *description);
/* The same with Retry-After, for 429 and 503: temporarily_unavailable. */
void cw_oauth_reply_later(cw_http_req *req, unsigned status, uint32_t seconds);
/* The same form for errors that the server finds before a handler is asked (net/server/router.h). */
void cw_oauth_reply_write_error(cw_buf *out, unsigned status, cw_str message);

#endif
