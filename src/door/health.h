/* SPDX-License-Identifier: GPL-2.0-or-later */
/* health.h - GET /healthz (the process answers) and GET /readyz (it wants new work).
 *
 * A stopping server is alive but not ready, so that a balancer sends new work
 * elsewhere while running calls end.
 *
 * Threads: handlers run on the request's loop and share nothing.
 */
#ifndef CW_DOOR_HEALTH_H
#define CW_DOOR_HEALTH_H

#include "net/router.h"

CW_MUST_USE cw_code cw_health_add_routes(cw_router *router);

#endif
