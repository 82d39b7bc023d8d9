/* SPDX-License-Identifier: GPL-2.0-or-later */
/* authorize.h - the authorization endpoint of the built-in authorization server (RFC 6749, 3.1).
 *
 *     GET /authorize?…     the consent page (consent.h), after a login
 *     POST /authorize      the decision: 303 to the client, with a code or an error
 *
 * A redirect to another site is sent only as the answer to a decision. Everything else is a page; where the
 * client should get an error, the page has a link. So a link to this server cannot be used to
 * send a browser to a stranger's address.
 *
 * With a console, people log in at its host name only, so requests at other names are sent there.
 *
 * Threads: add_routes on the main thread; everything else on the loop of the request.
 * Limits:  CW_AUTHORIZE_MAX_FORM bytes of a form, and those of authorize_request.h.
 */
#ifndef CW_DOOR_PAGE_AUTHORIZE_H
#define CW_DOOR_PAGE_AUTHORIZE_H

#include "access/oauth/cimd_cache.h"
#include "call/runtime.h"
#include "net/server/router.h"

#define CW_AUTHORIZE_MAX_FORM 65536u

typedef struct cw_authorize_pages {
    cw_runtime *runtime;
    cw_cimd_cache *documents;
} cw_authorize_pages;

/* Also those of grants.h and device.h. `door` must outlive the router, and `documents` the loops. */
CW_MUST_USE cw_code cw_authorize_add_routes(cw_router *router, cw_authorize_pages *door,
                                            cw_runtime *runtime, cw_cimd_cache *documents);

#endif
