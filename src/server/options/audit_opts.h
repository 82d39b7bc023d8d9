/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit_opts.h - the audit options of a configuration.
 *
 * Threads: main thread only.
 */
#ifndef CW_SERVER_OPTIONS_AUDIT_OPTS_H
#define CW_SERVER_OPTIONS_AUDIT_OPTS_H

#include "audit/audit.h"
#include "config/config.h"

/* Borrows from the configuration. */
cw_audit_opts cw_app_audit_opts(const cw_config *config);

#endif
