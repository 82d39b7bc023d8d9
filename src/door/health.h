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

#include "access/audit.h"
#include "net/router.h"

/* `audit` (borrowed; NULL: none) that cannot be written is told by both: the status is "degraded",
 * with 200, since everything else works. */
CW_MUST_USE cw_code cw_health_add_routes(cw_router *router, cw_audit *audit);

#endif
