/* SPDX-License-Identifier: GPL-2.0-or-later */
/* register.h - POST /register: clients register themselves (RFC 7591), and nothing is stored.
 *
 * Pages of every origin may register a client: no cookie and no other ambient authority counts here.
 *
 * Threads: init and done on the main thread; everything else on the loop of the request.
 * Limits:  CW_DCR_MAX_BYTES of a registration; CW_OAUTH_REGISTER_PER_MINUTE registrations of a network.
 */
#ifndef CW_DOOR_OAUTH_REGISTER_H
#define CW_DOOR_OAUTH_REGISTER_H

#include "access/oauth/per_minute.h"
#include "call/runtime.h"
#include "net/server/router.h"

#define CW_OAUTH_REGISTER_PATH "/register"
#define CW_OAUTH_REGISTER_PER_MINUTE 60u

typedef struct cw_oauth_register {
    cw_runtime *runtime;
    cw_per_minute rates; /* of networks */
} cw_oauth_register;

/* `door` must outlive the router; cw_oauth_register_done ends it. */
CW_MUST_USE cw_code cw_oauth_register_add_routes(cw_router *router, cw_oauth_register *door,
                                                 cw_runtime *runtime);
void cw_oauth_register_done(cw_oauth_register *door);

#endif
