/* SPDX-License-Identifier: GPL-2.0-or-later */
/* connect.h - where a server is, and sockets that are on their way there.
 *
 * Shared by the HTTP client and channels; lookup.h resolves names.
 *
 * Threads:   no state.
 */
#ifndef CW_NET_ADDR_CONNECT_H
#define CW_NET_ADDR_CONNECT_H

#include "net/addr/listener.h"
#include "net/loop/loop.h"

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
