/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit_opts.c - the audit options of a configuration. */
#include "server/options/audit_opts.h"

cw_audit_opts cw_app_audit_opts(const cw_config *config)
{
    return (cw_audit_opts){
        .path = config->audit.path.n ? config->audit.path.p : NULL,
        .rotate_bytes = config->audit.rotate_size,
        .rotate_ms = config->audit.rotate_ms,
        .files = config->audit.files,
        .room = config->audit.queue,
        .arguments = config->audit.arguments ? config->audit.arguments_size : 0,
        .redact = config->audit.redact.items,
        .n_redact = config->audit.redact.n,
    };
}
