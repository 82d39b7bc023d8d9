/* SPDX-License-Identifier: GPL-2.0-or-later */
/* webhook_rows.h - the rows of webhook subscriptions: read and changed by the thread of the store, for the
 * loop that delivers (webhooks.h).
 *
 * Ownership: texts are copied; rows that were read live until the function returns.
 * Threads:   the loop that delivers.
 */
#ifndef CW_DOOR_MCP_EVENT_WEBHOOK_ROWS_H
#define CW_DOOR_MCP_EVENT_WEBHOOK_ROWS_H

#include "access/login/accounts.h"
#include "store/webhook.h"

typedef struct cw_webhook_rows {
    cw_db_webhook *items;
    size_t n;
    cw_code rc; /* why there may be more */
} cw_webhook_rows;

typedef void (*cw_webhook_rows_fn)(void *ctx, const cw_webhook_rows *rows);

/* Replace the state of a row, or remove it where `state` is empty. A row that a request has removed or
 * refreshed meanwhile stays as it is; another server may have answered that request. Without memory, or if
 * the store is too busy, it stays too: it expires. */
void cw_webhook_rows_change(cw_store *store, const cw_db_webhook *row);

/* Read all rows, or with `only_ids` their ids, and call fn on the loop of `home`, unless that ends. Changes
 * that the store has made before come to that loop before. CW_NOMEM; CW_LIMIT: the store is too busy. */
CW_MUST_USE cw_code cw_webhook_rows_read(cw_store *store, cw_accounts_loop *home, bool only_ids,
                                         cw_webhook_rows_fn fn, void *ctx);

#endif
