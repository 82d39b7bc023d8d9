/* SPDX-License-Identifier: GPL-2.0-or-later */
/* outcome.c - sink functions that do nothing. */
#include "source/outcome.h"

void cw_sink_no_progress(cw_sink *sink, const cw_progress *progress)
{
    (void)sink;
    (void)progress;
}

void cw_sink_no_log(cw_sink *sink, cw_log_level level, cw_str message)
{
    (void)sink;
    (void)level;
    (void)message;
}
