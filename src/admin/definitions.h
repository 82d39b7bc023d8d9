/* SPDX-License-Identifier: GPL-2.0-or-later */
/* definitions.h - reads the definitions of tools from services, for a review.
 *
 * Each service is asked as for a refresh, over a connection of its own. The running sources stay as
 * they are.
 *
 *     cw_admin_definitions_load(c, on_loaded, err) ──► … ──► on_loaded(c, definitions, n)
 *
 * Ownership: a load holds its sources until on_loaded returns. It outlives nothing: the end of the
 *            server cancels it.
 * Threads:   the main one.
 */
#ifndef CW_ADMIN_DEFINITIONS_H
#define CW_ADMIN_DEFINITIONS_H

#include "admin/server.h"

/* The definitions of one service. */
typedef struct cw_admin_definitions {
    const cw_config_remote *config;
    cw_source *source; /* NULL: it could not be read */
    const cw_remote_definition *items;
    size_t n;
    cw_str problem; /* without a source; may have several lines */
} cw_admin_definitions;

/* Called once, later. The function ends the call with c->finish, now or later. */
typedef void (*cw_admin_definitions_fn)(cw_admin_call *c, const cw_admin_definitions *all,
                                        size_t n);

/* Read the definitions of the services in the param `names`, or of all, in the order of the
 * configuration. CW_OK: fn follows. CW_NOTFOUND: the configuration has no such service. */
CW_MUST_USE cw_code cw_admin_definitions_load(cw_admin_call *c, cw_admin_definitions_fn fn,
                                              cw_err *err);
/* Cancel all loads: their functions are not called. */
void cw_admin_definitions_close(cw_admin_server *server);

#endif
