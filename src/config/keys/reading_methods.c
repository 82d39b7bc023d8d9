/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reading_methods.c - the list of administration methods that only read. */
#include "config/keys/reading_methods.h"

static const char *const reading[] = {
    "causeway.access.matrix",  "causeway.access.why",
    "causeway.accounts.list",  "causeway.audit.search",
    "causeway.calls.recent",   "causeway.calls.running",
    "causeway.clients.list",   "causeway.config.show",
    "causeway.grants.list",    "causeway.keys.list",
    "causeway.replicas.list",  "causeway.roles.list",
    "causeway.sessions.list",  "causeway.sources.approvals",
    "causeway.sources.diff",   "causeway.sources.list",
    "causeway.stats",          "causeway.status",
    "causeway.tasks.list",     "causeway.tokens.list",
    "causeway.tools.describe", "causeway.tools.list",
    "causeway.whoami",
};

bool cw_config_is_reading_method(cw_str name)
{
    for (size_t i = 0; i < CW_COUNT(reading); i++) {
        if (cw_str_is(name, reading[i]))
            return true;
    }
    return false;
}
