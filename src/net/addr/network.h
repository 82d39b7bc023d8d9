/* SPDX-License-Identifier: GPL-2.0-or-later */
/* network.h - the networks that an address belongs to.
 *
 * One customer has a whole IPv6 network: a /64 at least, often a /56, sometimes a /48. Limits that
 * count by address therefore count by these three. An IPv4 address is its own network on each
 * level.
 *
 *     level 0   203.0.113.9    2001:db8:1:2::        /64
 *     level 1   203.0.113.9    2001:db8:1::/56
 *     level 2   203.0.113.9    2001:db8:1::/48
 *
 * Threads: any.
 */
#ifndef CW_NET_ADDR_NETWORK_H
#define CW_NET_ADDR_NETWORK_H

#include "base/fair.h"

#define CW_NETWORK_LEVELS 3u
#define CW_NETWORK_TEXT 64u /* bytes of a network as text */

/* The network of an address as text; networks of different levels differ. Text that is no IP
 * address is returned as it is, on each level. The result points into `address` or `out`. */
cw_str cw_network_text(cw_str address, unsigned level, char out[CW_NETWORK_TEXT]);
/* The same as seeded hashes, for tables and queues. Two addresses with the same key of a level have
 * the same keys of all higher levels. */
typedef struct cw_network {
    uint64_t keys[CW_NETWORK_LEVELS];
} cw_network;

void cw_network_of(cw_str address, cw_network *ret);
cw_fair_key cw_network_key(const cw_network *network);
/* The place of an address among those who share something: its networks. */
cw_fair_key cw_network_fair_key(cw_str address);

#endif
