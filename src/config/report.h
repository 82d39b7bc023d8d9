/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.h - problems that are found after a file was read, at the line of the key they concern.
 *
 * The configuration keeps no positions. So the file is read again for each report: reports are few
 * (CW_CONFIG_MAX_PROBLEMS), and a start without problems pays nothing.
 *
 *     const cw_place root = {0};
 *     const cw_place tls = {.up = &root, .name = CW_STR("tls")};
 *     const cw_place key = {.up = &tls, .name = CW_STR("key")};
 *     rc = cw_config_report(&problems, "causeway.yaml", &key, "cannot open '%s'", path);
 *
 * Threads: one thread at a time.
 */
#ifndef CW_CONFIG_REPORT_H
#define CW_CONFIG_REPORT_H

#include "config/syntax/check.h"

/* Add "FILE:LINE:COLUMN: PATH: MESSAGE". The position is that of the value at `place`, or of the
 * nearest one around it that stands in the file. `file` NULL: no file, no position. CW_NOMEM. */
CW_PRINTF(4, 5)
CW_MUST_USE cw_code cw_config_report(cw_config_problems *problems, const char *file,
                                     const cw_place *place, const char *fmt, ...);

#endif
