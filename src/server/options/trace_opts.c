/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_opts.c - the trace options of a configuration. */
#include "server/options/trace_opts.h"

#include "trace/options.h"

#define ARENA_MAX 65536u

static cw_trace_mode mode_of(cw_config_trace_mode mode)
{
    switch (mode) {
    case CW_CONFIG_TRACE_PROPAGATE:
        return CW_TRACE_PROPAGATE;
    case CW_CONFIG_TRACE_ON:
        return CW_TRACE_ON;
    case CW_CONFIG_TRACE_DEFAULT:
    case CW_CONFIG_TRACE_OFF:
        break;
    }
    return CW_TRACE_OFF;
}

cw_code cw_app_configure_traces(cw_tracer *t, const cw_config *config, cw_err *err)
{
    cw_http_header headers[CW_TRACE_MAX_HEADERS];
    cw_trace_opts opts;
    cw_trace_config c = {.has_mode = config->traces.mode != CW_CONFIG_TRACE_DEFAULT,
                         .has_ratio = config->traces.sample != CW_CONFIG_NO_SAMPLE,
                         .mode = mode_of(config->traces.mode),
                         .ratio = config->traces.sample / (double)CW_CONFIG_SAMPLE_ALL,
                         .endpoint = config->traces.endpoint,
                         .headers = headers,
                         .keeps_failures = config->traces.failures,
                         .rate = config->traces.spans_per_second};
    for (size_t i = 0; i < config->traces.headers.n && i < CW_TRACE_MAX_HEADERS; i++) {
        const cw_config_pair *pair = &config->traces.headers.items[i];
        headers[c.n_headers++] = (cw_http_header){pair->name, pair->value};
    }
    cw_arena arena;
    cw_arena_init(&arena, ARENA_MAX);
    cw_code rc = cw_trace_options_read(&c, &arena, &opts, err);
    if (!rc)
        rc = cw_tracer_configure(t, &opts, err);
    cw_arena_done(&arena);
    return rc && rc != CW_NOMEM ? cw_wrap(err, CW_CONFIG, "traces") : rc;
}
