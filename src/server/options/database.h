/* SPDX-License-Identifier: GPL-2.0-or-later */
/* database.h - how the database of a configuration is opened.
 *
 * Ownership: the result borrows from the configuration.
 * Threads:   any.
 */
#ifndef CW_SERVER_OPTIONS_DATABASE_H
#define CW_SERVER_OPTIONS_DATABASE_H

#include "config/config.h"
#include "store/db.h"

/* Without may_create. `where` is empty without a database. */
cw_db_opts cw_database_opts(const cw_config *config, uint32_t busy_ms);

#endif
