/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replicas.h - this server among those that share its database.
 *
 * A server has a row in the database (store/replica.h) from its start to its end, and renews it. The
 * row shows operators which servers run, and whether they have the same configuration and the same
 * catalogue. It also gives the server a short number, for ids that have no room for the id of the node.
 *
 *     cw_replicas_new ─► tick: row written, number known ─► tick … ─► cw_replicas_leave
 *
 * Ownership: borrows the store, which ends before cw_replicas_free.
 * Threads:   cw_replicas_number from any, the others on the main one.
 * Limits:    CW_REPLICAS_MAX servers have a number.
 */
#ifndef CW_REPLICA_REPLICAS_H
#define CW_REPLICA_REPLICAS_H

#include "store/store.h"

#define CW_REPLICAS_TICK_MS 1000u
#define CW_REPLICAS_DIGEST 32u
#define CW_REPLICAS_MAX 1023u

typedef struct cw_replicas cw_replicas;

typedef struct cw_replicas_opts {
    cw_store *store;
    /* Renewals of a row in a file write to the disk, and the processes of one machine see each other:
     * one a minute is enough. */
    bool is_file;
    const char *version; /* of the program; a constant */
} cw_replicas_opts;

CW_MUST_USE cw_code cw_replicas_new(const cw_replicas_opts *opts, cw_replicas **ret, cw_err *err);
/* NULL is fine. */
void cw_replicas_free(cw_replicas *replicas);

/* What the row shows. A change is written with the next tick. */
typedef struct cw_replicas_shown {
    cw_str name;
    unsigned char config[CW_REPLICAS_DIGEST], catalogue[CW_REPLICAS_DIGEST];
} cw_replicas_shown;

void cw_replicas_show(cw_replicas *replicas, const cw_replicas_shown *shown);
/* Each CW_REPLICAS_TICK_MS. */
void cw_replicas_tick(cw_replicas *replicas);
/* Remove the row: the server ends. Waits for at most `ms`. */
void cw_replicas_leave(cw_replicas *replicas, uint32_t ms);
/* The number of this server; 0: it has none, or none yet. */
uint32_t cw_replicas_number(const cw_replicas *replicas);

#endif
