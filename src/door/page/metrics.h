/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metrics.h - GET /metrics, for Prometheus.
 *
 * The text is written on a thread of libuv's pool, so no loop waits for it. The form follows from
 * Accept: OpenMetrics 1.0, or the text format 0.0.4. A caller needs the permission "view metrics".
 *
 * Threads: add_routes on the main thread; the rest on the request's loop and on the pool.
 * Limits:  CW_METRICS_MAX_SCRAPES at once, CW_METRICS_MAX_BYTES of a response.
 */
#ifndef CW_DOOR_PAGE_METRICS_H
#define CW_DOOR_PAGE_METRICS_H

#include "call/runtime.h"
#include "net/server/router.h"

CW_MUST_USE cw_code cw_metrics_page_add_routes(cw_router *router, cw_runtime *runtime);

#endif
