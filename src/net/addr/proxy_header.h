/* SPDX-License-Identifier: GPL-2.0-or-later */
/* proxy_header.h - the header of the PROXY protocol, versions 1 and 2.
 *
 * A balancer that passes bytes through sends one header before those of its client. It contains the
 * address of the client:
 *
 *     version 1   "PROXY TCP4 203.0.113.9 192.0.2.1 56324 443\r\n"
 *     version 2   signature (12 bytes), version and command, family, length, addresses, TLVs
 *
 * The parser is strict: a header that differs from the specification is invalid. It decides as soon
 * as the bytes allow it, so that a client without a header does not wait.
 *
 *     cw_proxy_header h;
 *     const char *why;
 *     cw_code rc = cw_proxy_header_parse(p, n, &h, &why);   CW_AGAIN: read more
 *
 * Not here: whose headers are accepted (net/server/conn_proxy.c).
 *
 * Threads:   no state.
 * Limits:    CW_PROXY_HEADER_MAX bytes.
 */
#ifndef CW_NET_ADDR_PROXY_HEADER_H
#define CW_NET_ADDR_PROXY_HEADER_H

#include "net/addr/listener.h"

/* The minimum that the specification asks receivers of version 2 to support. */
#define CW_PROXY_HEADER_MAX 536u
/* Version 1, with its CR LF. */
#define CW_PROXY_HEADER_V1_MAX 107u

typedef struct cw_proxy_header {
    size_t size;       /* bytes of the header; the client's follow */
    bool has_client;   /* false: of the balancer itself, or of a client without an IP address */
    cw_address client; /* an IPv4 address within IPv6 is one of IPv4 */
} cw_proxy_header;

/* Parse the header at the front of `p`. CW_AGAIN: all bytes belong to a header that is incomplete;
 * never with CW_PROXY_HEADER_MAX bytes or more. CW_INVALID: *ret_why is a constant text. */
CW_MUST_USE cw_code cw_proxy_header_parse(const char *p, size_t n, cw_proxy_header *ret,
                                          const char **ret_why);

#endif
