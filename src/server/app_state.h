/* SPDX-License-Identifier: GPL-2.0-or-later */
/* app_state.h - the state that a server passes to the process that takes over: failed logins, and the
 * log levels and subscriptions of sessions.
 *
 *     {"version":1,"failures":{...},"sessions":[...]}
 *
 * It is a file in memory. All of it is optional: a process that does not understand it starts without.
 *
 * Threads: the main one.
 * Limits:  CW_APP_STATE_MAX bytes.
 */
#ifndef CW_SERVER_APP_STATE_H
#define CW_SERVER_APP_STATE_H

#include "server/app.h"

#define CW_APP_STATE_MAX ((size_t)64 << 20)

/* Write it to a file in memory, which the caller closes. CW_LIMIT, CW_IO, CW_NOMEM. */
CW_MUST_USE cw_code cw_app_state_save(cw_app *app, int *ret_fd, cw_err *err);
/* Add it to the state of this process. Takes the descriptor. CW_PARAMS: it is not such a file;
 * CW_LIMIT, CW_IO, CW_NOMEM. */
CW_MUST_USE cw_code cw_app_state_load(cw_app *app, int fd, cw_err *err);

#endif
