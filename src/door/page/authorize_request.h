/* SPDX-License-Identifier: GPL-2.0-or-later */
/* authorize_request.h - an authorization request: read from a query, and carried through the login.
 *
 * The request is read once, when it arrives. An error stays in it, because an error may be
 * reported to a client only when its redirect URI is known to be its own. Then it is sealed into one
 * parameter, with the issuer as this client knows it.
 *
 *     /authorize?response_type=code&client_id=…   ─►   /login?next=/authorize?r=SEALED   ─►   /authorize?r=SEALED
 *
 * Ownership: texts live in the arena of the request.
 * Threads:   the loop of the request.
 * Limits:    CW_AUTHORIZE_MAX_QUERY, CW_AUTHORIZE_MAX_STATE; a sealed request fits a Location header.
 */
#ifndef CW_DOOR_PAGE_AUTHORIZE_REQUEST_H
#define CW_DOOR_PAGE_AUTHORIZE_REQUEST_H

#include "access/oauth/settings.h"
#include "call/runtime.h"
#include "net/server/request_api.h"

#define CW_AUTHORIZE_PATH "/authorize"
#define CW_AUTHORIZE_MAX_QUERY 6144u
#define CW_AUTHORIZE_MAX_STATE 2048u
#define CW_AUTHORIZE_MAX_SCOPE 1024u
#define CW_AUTHORIZE_MAX_SEALED 6800u
#define CW_AUTHORIZE_LIFETIME_MS 600000

/* Empty texts are absent. */
typedef struct cw_authorize_request {
    cw_str issuer;
    cw_str client_id;
    cw_str redirect_uri;
    cw_str state;
    cw_str challenge;
    cw_str resource; /* path behind the server's address */
    cw_str scope;
    cw_str error;       /* code of what is wrong with the request; empty: nothing */
    cw_str description; /* of the error */
} cw_authorize_request;

/* Read the query of `req`, also a sealed one. NULL, or a text for people: it cannot be continued, and the
 * client must not be told (static). */
const char *cw_authorize_request_read(cw_http_req *req, const cw_runtime_loop *rl,
                                      const cw_oauth_settings *settings, cw_authorize_request *ret);
/* Seal it for the parameter `r`. CW_LIMIT: it is too long; CW_NOMEM. */
CW_MUST_USE cw_code cw_authorize_request_seal(const cw_authorize_request *request,
                                              const cw_oauth_settings *settings, cw_arena *arena,
                                              cw_str *ret);

#endif
