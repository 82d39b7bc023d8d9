/* SPDX-License-Identifier: GPL-2.0-or-later */
/* app_callers.h - callers that no credentials name: users of the machine, and guests of a demo.
 *
 * Ownership: *ret is a reference.
 * Threads:   the main one.
 */
#ifndef CW_SERVER_APP_CALLERS_H
#define CW_SERVER_APP_CALLERS_H

#include <sys/types.h>

#include "access/caller.h"
#include "config/config.h"

/* The caller of a user of this machine on the local socket: administration, nothing else. */
CW_MUST_USE cw_code cw_app_new_operator(uid_t uid, cw_caller **ret, cw_err *err);
/* The user of the console of a demo: the anonymous caller, who sees the traffic as well. */
CW_MUST_USE cw_code cw_app_new_guest(const cw_config *config, cw_caller **ret, cw_err *err);

#endif
