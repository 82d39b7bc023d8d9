/* SPDX-License-Identifier: GPL-2.0-or-later */
/* connect.h - where a server is, and sockets that are on their way there.
 *
 * What the HTTP client and channels share. A name is looked up in libuv's thread
 * pool; that cannot always be stopped, so a lookup is an object of its own that
 * may outlive who asked.
 *
 * Ownership: a lookup frees itself; who asked forgets it, or is told.
 * Threads:   one loop.
 */
#ifndef CW_NET_CONNECT_H
#define CW_NET_CONNECT_H

#include "net/listener.h"
#include "net/loop.h"

typedef struct cw_lookup cw_lookup;
/* `found` lives for the call; NULL where `status` (libuv's) is not 0. */
typedef void (*cw_lookup_fn)(void *ctx, int status, const struct addrinfo *found);

/* Begin to look a name up. `host` need not live longer than the call. */
CW_MUST_USE cw_code cw_lookup_start(cw_loop *loop, const char *host, cw_lookup_fn fn, void *ctx,
                                    cw_lookup **ret, cw_err *err);
/* fn will not be called. NULL is fine. A lookup that has begun keeps the loop alive. */
void cw_lookup_forget(cw_lookup *lookup);
/* Copy up to `max` addresses; returns how many there are. */
size_t cw_lookup_take(const struct addrinfo *found, uint16_t port, cw_address *out, size_t max);

/* The address of a unix socket. False: empty, too long, or with a NUL. */
bool cw_connect_unix(cw_str path, cw_address *ret);
/* A literal address of IPv4 or IPv6. False: it is a name. */
bool cw_connect_literal(const char *host, uint16_t port, cw_address *ret);
/* A non-blocking socket that is connected, or about to be (*ret_pending): it is then writable when
 * that has ended, and SO_ERROR says how. -1: errno says why not. */
int cw_connect_open(const cw_address *a, bool *ret_pending);
/* How connecting ended: 0 or an errno. */
int cw_connect_result(int fd);

#endif
