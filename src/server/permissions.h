/* SPDX-License-Identifier: GPL-2.0-or-later */
/* permissions.h - which permissions roles have, and which something asks for.
 *
 * A permission is a text. One with a typing error opens nothing, or protects with a word that no
 * role has; both are reported with the nearest one that is known.
 *
 * Ownership: names live in their arena, which the caller inits and ends.
 * Threads:   main thread only.
 */
#ifndef CW_SERVER_PERMISSIONS_H
#define CW_SERVER_PERMISSIONS_H

#include "catalogue/snapshot.h"
#include "config/config.h"
#include "server/name_list.h"

/* Those of the roles of the configuration and of its database, where it has one that can be read,
 * and Causeway's own. *ret_known: there are roles at all. CW_NOMEM, CW_LIMIT. */
CW_MUST_USE cw_code cw_role_permissions_of_roles(const cw_config *config, cw_name_list *all,
                                                 bool *ret_known);
/* Those that overlays ask for, and Causeway's own. CW_NOMEM, CW_LIMIT. */
CW_MUST_USE cw_code cw_role_permissions_of_sources(const cw_config *config, cw_name_list *all);
/* Log the permissions of configured roles that no method of the catalogue and no overlay asks for:
 * a warning where one with nearly the same name is asked for. */
void cw_role_permissions_log_unused(const cw_config *config, const cw_snapshot *catalogue);
bool cw_role_permissions_has(const cw_name_list *all, cw_str name);
/* The nearest one, or an empty text. */
cw_str cw_role_permissions_nearest(const cw_name_list *all, cw_str name);

#endif
