/* SPDX-License-Identifier: GPL-2.0-or-later */
/* permissions.h - the permissions that roles have, and the permissions that methods require.
 *
 * A permission is a text. A typing error in a role gives nothing; one in a method requires a
 * permission that no role has. Both are reported with the nearest known permission.
 *
 * Ownership: names live in their arena, which the caller inits and ends.
 * Threads:   main thread only.
 */
#ifndef CW_SERVER_OPTIONS_PERMISSIONS_H
#define CW_SERVER_OPTIONS_PERMISSIONS_H

#include "catalogue/snapshot.h"
#include "config/config.h"
#include "server/options/name_list.h"

/* The permissions of all roles of the configuration and of its database, if that can be read, and
 * Causeway's own. *ret_known: any role exists. CW_NOMEM, CW_LIMIT. */
CW_MUST_USE cw_code cw_role_permissions_of_roles(const cw_config *config, cw_name_list *all,
                                                 bool *ret_known);
/* The permissions that overlays and administration methods require, and Causeway's own. CW_NOMEM, CW_LIMIT. */
CW_MUST_USE cw_code cw_role_permissions_of_sources(const cw_config *config, cw_name_list *all);
/* Log the permissions of configured roles that no method and no overlay requires: as a warning if one
 * with nearly the same name is required. */
void cw_role_permissions_log_unused(const cw_config *config, const cw_snapshot *catalogue);
/* Whether `name` is in the list. If not, *ret_nearest is the name that differs least, or empty. */
bool cw_role_permissions_find(const cw_name_list *all, cw_str name, cw_str *ret_nearest);

#endif
