/* SPDX-License-Identifier: GPL-2.0-or-later */
/* grants.h - the page where people see which applications they have allowed, and end their access.
 *
 *     GET /account/grants     the grants of the account, with a button for each; ?before=NUMBER: older ones
 *     POST /account/grants    csrf, grant: its access ends at once
 *
 * Threads: add_routes on the main thread; everything else on the loop of the request.
 * Limits:  CW_GRANTS_PAGE_MAX_FORM bytes of a form.
 */
#ifndef CW_DOOR_PAGE_GRANTS_H
#define CW_DOOR_PAGE_GRANTS_H

#include "call/runtime.h"
#include "net/server/router.h"

#define CW_GRANTS_PAGE_PATH "/account/grants"
#define CW_GRANTS_PAGE_MAX_FORM 1024u

/* The runtime must outlive the router. */
CW_MUST_USE cw_code cw_grants_page_add_routes(cw_router *router, cw_runtime *runtime);

#endif
