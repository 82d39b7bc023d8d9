/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit_search.h - reads the options of a search in the audit.
 *
 * Threads: no state.
 */
#ifndef CW_ADMIN_AUDIT_SEARCH_H
#define CW_ADMIN_AUDIT_SEARCH_H

#include "audit/filter.h"

/* "2026-11-15T08:00:00Z", or how long ago: "90m", "7d". False: it is neither. */
bool cw_admin_parse_since(cw_str text, char out[CW_CLOCK_ISO_LEN + 1]);

#endif
