/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostcheck.h - Host and Origin allow-lists: the defence against DNS rebinding.
 *
 * Checked before routing, for every path. By default only loopback names pass
 * (localhost, 127.0.0.1, [::1], with any port), so a web page that points its
 * own name at 127.0.0.1 reaches nothing.
 *
 * Entries: "name" (any port), "name:port", "*.example.org" (one or more labels
 * in front), "*" (everything; the operator's explicit choice). Names compare
 * without ASCII case and without one trailing dot; IPv6 addresses compare by
 * value. Origins are "scheme://host[:port]", or "null" if listed as such; one
 * without a port is that of its scheme's default port, as in a browser.
 *
 * Ownership: a list is immutable after cw_hostlist_new; free with cw_hostlist_free.
 * Threads:   may be shared.
 */
#ifndef CW_NET_HTTP_HOSTCHECK_H
#define CW_NET_HTTP_HOSTCHECK_H

#include "base/err.h"
#include "base/str.h"

typedef struct cw_hostlist cw_hostlist;

/* Compile entries; no hosts at all means the loopback names. Fails with CW_PARAMS naming the bad
 * entry, or CW_NOMEM. */
CW_MUST_USE cw_code cw_hostlist_new(const cw_str *hosts, size_t n_hosts, const cw_str *origins,
                                    size_t n_origins, cw_hostlist **ret, cw_err *err);
void cw_hostlist_free(cw_hostlist *list);

/* Whether a Host value ("name", "name:port", "[::1]:8080") has valid syntax (RFC 9110 7.2). */
bool cw_host_is_valid(cw_str host);
/* Whether two Host values mean the same (absolute-form target against Host). */
bool cw_host_eq(cw_str a, cw_str b);
bool cw_hostlist_allows_host(const cw_hostlist *list, cw_str host);
/* Whether `host` is spelt as an entry is, without a port, or with the entry's or one of `ports`.
 * Few texts pass, however many clients make up, so each may have something of its own. */
bool cw_hostlist_has_spelling(const cw_hostlist *list, cw_str host, const uint16_t *ports,
                              size_t n_ports);
/* An origin passes when it is listed, or when it is that of the request: its scheme is https or http
 * as is_https tells, its host passes the host list, and `host` (the request's Host) names the same
 * host and port. */
bool cw_hostlist_allows_origin(const cw_hostlist *list, cw_str origin, bool is_https, cw_str host);
/* Whether an origin has the scheme of such a request. */
bool cw_origin_has_scheme(cw_str origin, bool is_https);

#endif
