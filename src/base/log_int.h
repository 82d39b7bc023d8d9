/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log_int.h - what the parts of the log share: log.c (levels), log_format.c (one line) and
 * log_writer.c (queue, thread, descriptor). */
#ifndef CW_BASE_LOG_INT_H
#define CW_BASE_LOG_INT_H

#include "base/log.h"

/* One line with its newline into `out`; returns its length. It always fits. */
size_t cw_log_format(char out[CW_LOG_LINE_MAX], bool json, cw_log_level level,
                     const char *component, const char *message, const cw_log_field *fields);
const char *cw_log_level_name(cw_log_level level);

/* Queue one line, or write it at once when no writer thread runs. Never fails: a line that cannot
 * go anywhere is counted. */
void cw_log_put(const char *line, size_t n);
/* Use `fd` from the next batch on and close the one before it. -1 stands for standard error. */
void cw_log_use(int fd);
/* Whether lines are JSON. Readable from any thread. */
bool cw_log_is_json(void);

#endif
