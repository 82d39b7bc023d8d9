/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probe.c - sets the metrics that are read at a scrape. */
#include "server/probe.h"

#include "base/clock.h"
#include "base/log.h"

static void set_audit(cw_audit *audit)
{
    size_t calls = 0, security = 0;
    cw_audit_queued(audit, &calls, &security);
    cw_metrics_set(CW_METRIC_AUDIT_FAILING, 0, 0, 0, cw_audit_is_failing(audit));
    cw_metrics_set(CW_METRIC_AUDIT_QUEUE, CW_LANE_CALLS, 0, 0, (int64_t)calls);
    cw_metrics_set(CW_METRIC_AUDIT_QUEUE, CW_LANE_SECURITY, 0, 0, (int64_t)security);
}

static void set_spans(const cw_tracer *tracer)
{
    cw_trace_counts counts = {0};
    if (tracer)
        cw_tracer_counts(tracer, &counts);
    const uint64_t all[] = {counts.sent,  counts.full,   counts.limited,
                            counts.large, counts.failed, counts.rejected};
    for (uint32_t i = 0; i < CW_COUNT(all); i++)
        cw_metrics_set(CW_METRIC_SPANS, i, 0, 0, (int64_t)all[i]);
}

static void on_scrape(cw_metrics_probe *base)
{
    cw_server_probe *probe = CW_CONTAINER(base, cw_server_probe, base);
    uint64_t now = cw_clock_ns();
    cw_loop_set_metrics(probe->main_loop, now);
    for (unsigned i = 0; i < cw_server_n_loops(probe->server); i++)
        cw_loop_set_metrics(cw_server_loop_at(probe->server, i), now);
    cw_metrics_set(CW_METRIC_BODY_MEMORY, 0, 0, 0, (int64_t)cw_server_body_bytes(probe->server));
    cw_metrics_set(CW_METRIC_LOG_DROPPED, 0, 0, 0, (int64_t)cw_log_dropped());
    set_audit(probe->audit);
    set_spans(probe->tracer);
}

void cw_server_probe_start(cw_server_probe *probe)
{
    probe->base.fn = on_scrape;
    cw_metrics_probe_add(&probe->base);
}

void cw_server_probe_stop(cw_server_probe *probe)
{
    cw_metrics_probe_remove(&probe->base);
}
