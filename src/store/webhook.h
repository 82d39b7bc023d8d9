/* SPDX-License-Identifier: GPL-2.0-or-later */
/* webhook.h - rows of webhook subscriptions (door/mcp/event/webhooks.h), which survive a restart.
 *
 * Ownership, threads, failures: as db.h says.
 */
#ifndef CW_STORE_WEBHOOK_H
#define CW_STORE_WEBHOOK_H

#include "store/db.h"

typedef struct cw_db_webhook {
    cw_str id, owner;
    cw_str state;    /* sealed: everything else */
    int64_t expires; /* ms since 1970 */
} cw_db_webhook;

typedef struct cw_db_webhook_limits {
    int64_t all, per_owner;
} cw_db_webhook_limits;

typedef cw_code (*cw_db_webhook_fn)(const cw_db_webhook *row, void *ctx, cw_err *err);

/* Add a row, or replace that of the same id. CW_LIMIT: the owner, or all, have too many others. */
CW_MUST_USE cw_code cw_db_put_webhook(cw_db *db, const cw_db_webhook *row, int64_t now,
                                      const cw_db_webhook_limits *limits, cw_err *err);
/* Replace the state of this row. Nothing changes if it was removed, or replaced by one that expires at
 * another time: by a refresh, of any server. */
CW_MUST_USE cw_code cw_db_update_webhook(cw_db *db, const cw_db_webhook *row, cw_err *err);
/* Remove the row of this id, if there is one, and those that have expired. */
CW_MUST_USE cw_code cw_db_remove_webhook(cw_db *db, cw_str id, int64_t now, cw_err *err);
/* The same, unless it was replaced by one that expires at another time. */
CW_MUST_USE cw_code cw_db_remove_webhook_as(cw_db *db, cw_str id, int64_t expires, int64_t now,
                                            cw_err *err);
/* Within a change: replace the state of the row of this id, which means the same. */
CW_MUST_USE cw_code cw_db_reseal_webhook(cw_db *db, cw_str id, cw_str state, cw_err *err);
/* Those that have not expired; cw_db_each_webhook_id gives their ids alone. */
CW_MUST_USE cw_code cw_db_each_webhook(cw_db *db, int64_t now, cw_db_webhook_fn fn, void *ctx,
                                       cw_err *err);
CW_MUST_USE cw_code cw_db_each_webhook_id(cw_db *db, int64_t now, cw_db_webhook_fn fn, void *ctx,
                                          cw_err *err);

#endif
