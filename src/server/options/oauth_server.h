/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oauth_server.h - the settings of the built-in authorization server from a configuration.
 *
 * Threads: the main thread.
 */
#ifndef CW_SERVER_OPTIONS_OAUTH_SERVER_H
#define CW_SERVER_OPTIONS_OAUTH_SERVER_H

#include "access/oauth/settings.h"
#include "config/config.h"
#include "store/store.h"

/* *ret is NULL when it is off. `seal` is that of the authorization server (access/seal_keys.h), borrowed. CW_CONFIG, CW_IO: the secret or the keys
 * of a client cannot be used. */
CW_MUST_USE cw_code cw_oauth_server_settings(const cw_config *config, const cw_seal *seal,
                                             cw_oauth_settings **ret, cw_err *err);
/* Check the secret or the keys of a client as cw_oauth_server_settings reads them. CW_CONFIG, CW_IO,
 * CW_LIMIT, CW_NOMEM. */
CW_MUST_USE cw_code cw_oauth_server_check_client(const cw_config_oauth_client *client, cw_err *err);
/* Check the tables: a clock that is behind their newest row is logged. If access tokens are JWTs, make the
 * keys that are missing. Waits for the store. CW_CONFIG: the keys in the database were sealed with another
 * key of the server. Other failures are logged: the first token tries again. */
CW_MUST_USE cw_code cw_oauth_server_check_store(cw_store *store, const cw_oauth_settings *settings,
                                                cw_err *err);

#endif
