/* SPDX-License-Identifier: GPL-2.0-or-later */
/* health.h - GET /healthz (the process answers) and GET /readyz (it accepts new work).
 *
 * A stopping server is alive but not ready, so that a load balancer sends new work elsewhere while
 * running calls end.
 *
 * Threads: handlers run on the request's loop and share nothing.
 */
#ifndef CW_DOOR_PAGE_HEALTH_H
#define CW_DOOR_PAGE_HEALTH_H

#include <stdatomic.h>

#include "audit/audit.h"
#include "net/server/router.h"

/* The state that health checks read; borrowed. Other code updates it. */
typedef struct cw_health {
    cw_audit *audit; /* NULL: none */
    /* Services: how many answer, are used by their last description, or are down; and those of
     * the last that show no tool because the lock file is lost. */
    const atomic_uint *ready, *stale, *down, *withheld;
    const atomic_uint *plugins;        /* plugins that are loaded */
    const atomic_uint *failed_plugins; /* plugins that could not be loaded */
    const atomic_bool *store_away;
    atomic_bool leaving; /* the server stops soon */
} cw_health;

/* An audit that cannot be written is reported by both: the status is "degraded", with 200, since
 * everything else works. /readyz counts the services, and the plugins if one failed, without their
 * names. One that is down is no reason to send no work here. If all are down, services and plugins,
 * the status is "unavailable", with 503. A lost lock file makes it "degraded" at least.
 *
 * A database that is away is reported with 200: it is away from all servers, and none would be left.
 * /readyz?store=1 returns 503 then. */
CW_MUST_USE cw_code cw_health_add_routes(cw_router *router, cw_health *health);

#endif
