/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metrics.h - GET /metrics, for Prometheus.
 *
 * The text is written on a thread of libuv's pool, so no loop waits for it. The form follows from
 * Accept: OpenMetrics 1.0, or the text format 0.0.4. A caller needs the permission "view metrics",
 * or the token of the configuration.
 *
 * Ownership: embedded in its owner, and lives as long as the router.
 * Threads: open and configure on the main thread; the rest on the request's loop and on the
 *          pool.
 * Limits:  CW_METRICS_MAX_SCRAPES at once, CW_METRICS_MAX_BYTES of a response.
 */
#ifndef CW_DOOR_PAGE_METRICS_H
#define CW_DOOR_PAGE_METRICS_H

#include <pthread.h>

#include "access/credentials.h"
#include "call/runtime.h"
#include "net/server/router.h"

typedef struct cw_metrics_page {
    cw_runtime *runtime; /* NULL: not opened */
    pthread_mutex_t lock;
    unsigned char token[CW_DIGEST]; /* under the lock: a digest of the token */
    bool has_token;                 /* likewise */
} cw_metrics_page;

/* Add the route, if metrics are on. CW_IO, CW_PARAMS: the token cannot be used. */
CW_MUST_USE cw_code cw_metrics_page_open(cw_metrics_page *page, cw_router *router,
                                         cw_runtime *runtime, const cw_config *config, cw_err *err);
/* Read the token of another configuration. On failure the old one stays. */
CW_MUST_USE cw_code cw_metrics_page_configure(cw_metrics_page *page, const cw_config *config,
                                              cw_err *err);

#endif
