/* SPDX-License-Identifier: GPL-2.0-or-later */
/* required_permissions.h - the permissions that a role can usefully have.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_ACCOUNT_REQUIRED_PERMISSIONS_H
#define CW_CLI_ACCOUNT_REQUIRED_PERMISSIONS_H

#include "server/permissions.h"

/* Those that plugins of the folder and overlays ask for, and Causeway's own. Each plugin is loaded
 * in a process of its own. CW_NOMEM, CW_LIMIT. */
CW_MUST_USE cw_code cw_required_permissions(const cw_config *config, cw_name_list *all);

#endif
