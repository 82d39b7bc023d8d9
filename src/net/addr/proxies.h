/* SPDX-License-Identifier: GPL-2.0-or-later */
/* proxies.h - the proxies whose headers about the client are trusted.
 *
 * A proxy in front of us says in X-Forwarded-For, -Proto and -Host whom it speaks for.
 * Any client can send these headers, so they count only from peers that are listed.
 *
 * Ownership: a list is immutable after cw_proxies_new; free with cw_proxies_free.
 * Threads:   may be shared.
 */
#ifndef CW_NET_ADDR_PROXIES_H
#define CW_NET_ADDR_PROXIES_H

#include "base/err.h"
#include "net/addr/listener.h"

typedef struct cw_proxies cw_proxies;

/* Entries: an address, a network such as "10.0.0.0/8", or "unix" for peers on unix sockets.
 * CW_PARAMS naming the bad one, CW_NOMEM. */
CW_MUST_USE cw_code cw_proxies_new(const cw_str *entries, size_t n, cw_proxies **ret, cw_err *err);
/* NULL is fine. */
void cw_proxies_free(cw_proxies *p);
/* NULL is an empty list. */
bool cw_proxies_has(const cw_proxies *p, const cw_address *peer);
/* The client that a list of X-Forwarded-For names: from its end on, the first that is no proxy of
 * ours. False when there is none, or something that is no address is met first. */
bool cw_proxies_client(const cw_proxies *p, cw_str forwarded_for, cw_address *ret);

#endif
