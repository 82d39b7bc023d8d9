/* SPDX-License-Identifier: GPL-2.0-or-later */
/* app_anonymous.h - the caller of requests without credentials, for app.c.
 *
 * Its rights follow from the role of the configuration and, with a database, from that of the database.
 * For a program with one user it has the rights of an account, or of a token (cw_app_opts). The store's
 * thread reads them at each reload and after each change of the database:
 *
 *     cw_app_use_roles ─► store's thread ─► main loop: cw_app_publish, if they differ
 *
 * Ownership: all of it belongs to the cw_app.
 * Threads:   cw_app_on_store_change on the store's, the others on the main one.
 */
#ifndef CW_SERVER_APP_ANONYMOUS_H
#define CW_SERVER_APP_ANONYMOUS_H

#include "server/app.h"

/* Before the store, whose thread sends messages to the main loop. */
void cw_app_init_anonymous(cw_app *b);
/* Use this caller from the next cw_app_publish on. One with the same rights changes nothing. */
void cw_app_set_anonymous(cw_app *b, cw_caller *caller);
/* Use the roles of a configuration. With a database the anonymous role is read again, and until then it
 * stays as it is. True: cw_app_publish follows. */
bool cw_app_use_roles(cw_app *b, cw_caller *configured, cw_roles *roles);
/* For cw_store_opts.on_change; `ctx` is the cw_app. */
void cw_app_on_store_change(void *ctx);
/* Check the token again each CW_APP_TOKEN_MS. */
void cw_app_start_token_timer(cw_app *b);

/* app.c: publish the catalogue with callers and settings in force, unless all are published already. */
void cw_app_publish(cw_app *b);

#endif
