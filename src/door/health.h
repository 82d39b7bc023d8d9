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

#include <stdatomic.h>

#include "access/audit.h"
#include "net/router.h"

/* What is looked at; borrowed, and filled by others meanwhile. */
typedef struct cw_health {
    cw_audit *audit; /* NULL: none */
    /* Services: how many answer, are used by their last description, or are down. */
    const atomic_uint *ready, *stale, *down;
} cw_health;

/* An audit that cannot be written is told by both: the status is "degraded", with 200, since
 * everything else works. /readyz counts the services, without their names: one that is down is no
 * reason to send nobody here. */
CW_MUST_USE cw_code cw_health_add_routes(cw_router *router, cw_health *health);

#endif
