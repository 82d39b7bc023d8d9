/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceiling.h - the permissions that a grant can carry at most.
 *
 * A token without scopes has all permissions of its account, so a grant with few scopes may still allow
 * much. The ceiling bounds it: the permissions of the roles that the client or the server names, and
 * those of every anonymous caller. Without such roles it is everything but administration:
 *
 *     administer …      view audit      view arguments
 *
 * Threads: that of the database.
 */
#ifndef CW_ACCESS_OAUTH_CEILING_H
#define CW_ACCESS_OAUTH_CEILING_H

#include "access/oauth/settings.h"
#include "access/rights.h"

/* Remove the permissions above the ceiling. The roles are read as `rights` says. */
CW_MUST_USE cw_code cw_oauth_ceiling_apply(cw_rights *rights, const cw_oauth_settings *settings,
                                           const cw_oauth_client *client, cw_err *err);

#endif
