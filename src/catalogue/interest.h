/* SPDX-License-Identifier: GPL-2.0-or-later */
/* interest.h - the resources that clients are subscribed to, over all doors.
 *
 * An MCP server sends updates of a resource only to those who have subscribed to it. So doors enter the
 * URI of each subscription here, and sources learn which of their resources are wanted.
 *
 *     cw_interest_enter(i, uri);        a client has subscribed
 *     cw_interest_leave(i, uri);        the subscription is over
 *     cw_interest_list(i, …);           what is wanted now
 *
 * Ownership: URIs are copied.
 * Threads:   any; a lock protects the table.
 * Limits:    CW_INTEREST_MAX different URIs. Subscriptions to others stay, but no server is told of them.
 */
#ifndef CW_CATALOGUE_INTEREST_H
#define CW_CATALOGUE_INTEREST_H

#include <pthread.h>

#include "base/arena.h"
#include "base/map.h"

#define CW_INTEREST_MAX 10000u

typedef struct cw_interest {
    pthread_mutex_t lock;
    cw_map uris;
    void (*changed)(void *ctx);
    void *ctx;
} cw_interest;

void cw_interest_init(cw_interest *i);
void cw_interest_done(cw_interest *i);

/* NULL is fine, for i. Without memory nothing is entered. */
void cw_interest_enter(cw_interest *i, cw_str uri);
void cw_interest_leave(cw_interest *i, cw_str uri);

/* Call `changed` when a URI was added or removed: on any thread, with the lock held, so that it must
 * not call back. NULL: not any more. */
void cw_interest_listen(cw_interest *i, void (*changed)(void *ctx), void *ctx);
/* Copies of all URIs, sorted. CW_NOMEM. */
CW_MUST_USE cw_code cw_interest_list(cw_interest *i, cw_arena *arena, cw_str **ret, size_t *ret_n);

#endif
