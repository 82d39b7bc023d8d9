/* SPDX-License-Identifier: GPL-2.0-or-later */
/* postgres_listen.h - notifications of a PostgreSQL server, which save waiting for the next poll.
 *
 * A thread with a connection of its own listens to the channel "causeway". A notification is a hint: the
 * store reads what has changed, and polls in any case. Poolers accept LISTEN and drop notifications of
 * others. So the thread notifies itself, with its node as the payload, first from another connection. It
 * counts as listening only while that arrives.
 *
 *     connect ─► LISTEN ─► NOTIFY itself ─► received: is listening ─► hint … every 30 s: NOTIFY itself
 *        ▲                                             │ not received for 60 s, connection lost
 *        └──────────────── pause ──────────────────────┘
 *
 * Ownership: copies its texts.
 * Threads:   `on_hint` runs on the thread of the listener, the functions here on any.
 */
#ifndef CW_STORE_POSTGRES_POSTGRES_LISTEN_H
#define CW_STORE_POSTGRES_POSTGRES_LISTEN_H

#include "store/db.h"

typedef struct cw_postgres_listener cw_postgres_listener;

#define CW_POSTGRES_PROBE_MS 30000u

typedef struct cw_postgres_listener_opts {
    cw_db_opts db;
    uint32_t
        probe_ms; /* between notifications to itself; after twice that in silence it connects again */
    void (*on_hint)(void *ctx);
    void *ctx;
} cw_postgres_listener_opts;

CW_MUST_USE cw_code cw_postgres_listener_new(const cw_postgres_listener_opts *opts,
                                             cw_postgres_listener **ret, cw_err *err);
/* Ends the thread. NULL is fine. */
void cw_postgres_listener_free(cw_postgres_listener *listener);
/* Whether notifications arrive. NULL: no. */
bool cw_postgres_listener_is_alive(const cw_postgres_listener *listener);

#endif
