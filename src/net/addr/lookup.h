/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lookup.h - from the name of a host to its addresses.
 *
 * The system's resolver cannot be stopped and may take half a minute over a name
 * whose servers are silent. Each lookup has a thread of its own for that reason: in a
 * pool such names would keep all others waiting, and the process from ending.
 *
 *     loop    cw_lookup_start ............... readable: fn
 *     thread                   getaddrinfo, eventfd
 *
 * Ownership: a lookup frees itself; who asked forgets it, or is told. Its thread may outlive both,
 *            and the loop.
 * Threads:   one loop, beside that.
 * Limits:    CW_LOOKUPS_MAX at a time in the process, those that were forgotten among them.
 */
#ifndef CW_NET_ADDR_LOOKUP_H
#define CW_NET_ADDR_LOOKUP_H

#include <netdb.h>

#include "net/addr/listener.h"
#include "net/loop/loop.h"

#define CW_LOOKUPS_MAX 256u

typedef struct cw_lookup cw_lookup;
/* `why` is NULL, or says why nothing was found. Both live for the call. */
typedef void (*cw_lookup_fn)(void *ctx, const char *why, const struct addrinfo *found);

/* Begin. `host` need not live longer than the call. CW_IO, CW_NOMEM. */
CW_MUST_USE cw_code cw_lookup_start(cw_loop *loop, const char *host, cw_lookup_fn fn, void *ctx,
                                    cw_lookup **ret, cw_err *err);
/* fn will not be called. NULL is fine. */
void cw_lookup_forget(cw_lookup *lookup);
/* Copy up to `max` addresses; returns how many there are. */
size_t cw_lookup_take(const struct addrinfo *found, uint16_t port, cw_address *out, size_t max);

#endif
