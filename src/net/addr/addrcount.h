/* SPDX-License-Identifier: GPL-2.0-or-later */
/* addrcount.h - how many connections each peer address holds.
 *
 * IPv4 addresses count one by one. IPv6 addresses count by their /64, which is the least that one
 * customer has, and by /56 and /48, which have larger shares. Asked at accept and close only, so
 * one lock for all loops is cheap enough.
 *
 * Ownership: entries belong to the table; a connection keeps its key.
 * Threads:   any.
 */
#ifndef CW_NET_ADDR_ADDRCOUNT_H
#define CW_NET_ADDR_ADDRCOUNT_H

#include <pthread.h>

#include "base/map.h"
#include "net/addr/listener.h"

/* An address of IPv4, or the /64 of one of IPv6. */
typedef struct cw_addrkey {
    unsigned char bytes[8];
} cw_addrkey;

typedef struct cw_addrcount {
    pthread_mutex_t lock;
    cw_map map;
} cw_addrcount;

void cw_addrcount_init(cw_addrcount *c);
void cw_addrcount_done(cw_addrcount *c);
cw_addrkey cw_addrcount_key(const cw_address *peer);
/* Count one more connection. CW_LIMIT: its address has `each` already, its /56 four times as many,
 * or its /48 16 times as many; both at most half of `all`, but at least `each`. CW_NOMEM. */
CW_MUST_USE cw_code cw_addrcount_add(cw_addrcount *c, cw_addrkey key, uint32_t each, uint32_t all);
/* A connection that was counted has ended. */
void cw_addrcount_remove(cw_addrcount *c, cw_addrkey key);

#endif
