/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal_rows.h - sealed rows of the database that outlive the key that has sealed them.
 *
 * Clients get new texts while they use a server. The keys that sign access tokens, and webhook
 * subscriptions, stay in the database as they were sealed. So they are sealed again with the current key
 * before their key leaves the ring of the seal (access/seal.h).
 *
 * Ownership: texts live in the arena, which has plain secrets afterwards: wipe it.
 * Threads:   that of the database.
 */
#ifndef CW_ACCESS_SEAL_ROWS_H
#define CW_ACCESS_SEAL_ROWS_H

#include "access/seal.h"
#include "store/db.h"

/* The purposes of their seals. */
#define CW_SEAL_SIGNING_KEY CW_STR("signing key")
#define CW_SEAL_WEBHOOK CW_STR("webhook")

/* Within a change: the current and the next key for access tokens. Rows that the seal cannot open stay as they
 * are: their reader reports them. */
CW_MUST_USE cw_code cw_seal_renew_signing_keys(cw_db *db, const cw_seal *seal, cw_arena *arena,
                                               cw_err *err);
/* Within a change: webhook subscriptions that have not expired, likewise. */
CW_MUST_USE cw_code cw_seal_renew_webhooks(cw_db *db, const cw_seal *seal, int64_t now,
                                           cw_arena *arena, cw_err *err);

#endif
