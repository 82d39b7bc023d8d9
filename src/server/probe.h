/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probe.h - the metrics of a server that a scrape reads: loops, memory of bodies, audit, log.
 *
 * Ownership: borrows its parts, which must live until cw_server_probe_stop.
 * Threads:   start and stop on the main thread; the rest on that of a scrape.
 */
#ifndef CW_SERVER_PROBE_H
#define CW_SERVER_PROBE_H

#include "audit/audit.h"
#include "metrics/metrics.h"
#include "net/server/server.h"
#include "trace/tracer.h"

typedef struct cw_server_probe {
    cw_metrics_probe base;
    cw_loop *main_loop;
    cw_server *server; /* its loops run */
    cw_audit *audit;   /* NULL: none */
    cw_tracer *tracer; /* NULL: none */
} cw_server_probe;

void cw_server_probe_start(cw_server_probe *probe);
/* A probe that was not started is fine. */
void cw_server_probe_stop(cw_server_probe *probe);

#endif
