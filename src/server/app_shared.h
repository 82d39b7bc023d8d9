/* SPDX-License-Identifier: GPL-2.0-or-later */
/* app_shared.h - the state that a server shares with others of its database, for app.c.
 *
 * Ownership: all of it belongs to the cw_app.
 * Threads:   cw_app_on_news on the store's, the others on the main one.
 */
#ifndef CW_SERVER_APP_SHARED_H
#define CW_SERVER_APP_SHARED_H

#include "server/app.h"

/* Make b->replicas, before the store, whose thread uses it. */
CW_MUST_USE cw_code cw_app_open_replicas(cw_app *b, const cw_config *config, cw_err *err);
/* For cw_store_opts.on_news; `ctx` is the cw_app. */
bool cw_app_on_news(void *ctx, cw_db *db, bool is_new);
/* Make b->changes, with the runtime. */
CW_MUST_USE cw_code cw_app_share_changes(cw_app *b, cw_err *err);
/* For changes that sources report: here, and to other servers if there are some. Any thread may use it. */
cw_change_sink *cw_app_changes(cw_app *b);
/* Other approvals were read; `ctx` is the cw_app. */
void cw_app_on_approvals(void *ctx);
/* Read the approvals of the database, if the configuration has them there. */
void cw_app_use_approvals(cw_app *b, const cw_config *config);

#endif
