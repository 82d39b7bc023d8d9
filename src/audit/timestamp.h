/* SPDX-License-Identifier: GPL-2.0-or-later */
/* timestamp.h - the times of audit records, read back.
 *
 * Threads: no state.
 */
#ifndef CW_AUDIT_TIMESTAMP_H
#define CW_AUDIT_TIMESTAMP_H

#include "base/str.h"

/* "2026-11-15", "2026-11-15T08:00", "…:00" or "….123", all with or without a "Z": UTC. As ms since
 * 1970. False and *ret untouched otherwise. */
bool cw_audit_parse_time(cw_str text, int64_t *ret_ms);

#endif
