/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options.h - the options of traces: those of the configuration, then OpenTelemetry's variables.
 *
 *     OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 causeway serve
 *
 * A value of the configuration counts before a variable, and a variable for traces (OTEL_EXPORTER_
 * OTLP_TRACES_…) before the one for all signals. A variable that cannot be read is logged and ignored.
 *
 * Ownership: texts live in the caller's arena, in the configuration, or in the environment.
 * Threads:   the main one.
 */
#ifndef CW_TRACE_OPTIONS_H
#define CW_TRACE_OPTIONS_H

#include "trace/tracer.h"

#define CW_TRACE_DEFAULT_RATIO 0.05
#define CW_TRACE_TIMEOUT_MS 10000u
#define CW_TRACE_DELAY_MS 5000u
#define CW_TRACE_GIVE_UP_MS 30000u
#define CW_TRACE_BATCH 512u
#define CW_TRACE_QUEUE 2048u

/* What the configuration has; members that are not set leave the choice to the environment. */
typedef struct cw_trace_config {
    bool has_mode, has_ratio;
    cw_trace_mode mode;
    double ratio;
    cw_str endpoint; /* the whole URL; empty: not set */
    const cw_http_header *headers;
    size_t n_headers;
    bool keeps_failures;
    uint32_t rate;
} cw_trace_config;

/* CW_NOMEM; CW_LIMIT: too many headers. */
CW_MUST_USE cw_code cw_trace_options_read(const cw_trace_config *config, cw_arena *arena,
                                          cw_trace_opts *ret, cw_err *err);

#endif
