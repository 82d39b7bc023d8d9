/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stream_expiry.h - streams that end with the credentials that opened them.
 *
 * Tokens expire by the wall clock, each at its own time. One deadline of the loop waits for the
 * earliest of them.
 *
 * Ownership: an entry is embedded in its owner, which removes it.
 * Threads:   one loop.
 * Limits:    none of its own; a wall clock that is set is noticed within a minute.
 */
#ifndef CW_DOOR_MCP_STREAM_EXPIRY_H
#define CW_DOOR_MCP_STREAM_EXPIRY_H

#include "base/list.h"
#include "net/loop/loop.h"

typedef struct cw_mcp_expiry {
    cw_list node;                                     /* in no list: not added */
    int64_t at;                                       /* wall clock, ms */
    void (*on_expired)(struct cw_mcp_expiry *expiry); /* it is removed before the call */
} cw_mcp_expiry;

/* Those of one loop. */
typedef struct cw_mcp_expiries {
    cw_loop *loop;
    cw_list ring;
    cw_deadline_list list; /* of one: */
    cw_deadline check;
    int64_t next; /* what `check` waits for */
} cw_mcp_expiries;

/* Watched until the loop ends. */
void cw_mcp_expiries_init(cw_mcp_expiries *all, cw_loop *loop);
/* `at` and `on_expired` are set. */
void cw_mcp_expiry_add(cw_mcp_expiries *all, cw_mcp_expiry *expiry);
/* Removing one that was not added is fine. */
void cw_mcp_expiry_remove(cw_mcp_expiry *expiry);

#endif
