/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_opts.h - the trace options of a configuration.
 *
 * Threads: main thread only.
 */
#ifndef CW_SERVER_OPTIONS_TRACE_OPTS_H
#define CW_SERVER_OPTIONS_TRACE_OPTS_H

#include "config/config.h"
#include "trace/tracer.h"

/* Configure the tracer: the configuration first, then the environment (trace/options.h). CW_CONFIG
 * with a reason: the old options stay. */
CW_MUST_USE cw_code cw_app_configure_traces(cw_tracer *t, const cw_config *config, cw_err *err);

#endif
