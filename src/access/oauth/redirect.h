/* SPDX-License-Identifier: GPL-2.0-or-later */
/* redirect.h - redirect URIs of OAuth clients: which are accepted, and when two of them match.
 *
 * An authorization code is sent to such a URI. Browsers and URL libraries disagree about unusual
 * spellings, so a URI is judged by its bytes, and every spelling with a second meaning is rejected.
 * It is judged when a client is registered, and again when it is used.
 *
 *     https://host[:port]/path?query
 *     http:// for 127.0.0.1, [::1] and localhost, in these spellings
 *     a scheme with a dot in it (RFC 8252, 7.1), and URIs that the operator lists
 *     never: user names, fragments, dot segments, backslashes, unencoded bytes outside of ASCII
 *
 * A native program listens at a port that it learns late. So the port of an http URI does not count in a
 * match; everything else counts (RFC 8252, 7.3).
 *
 *     cw_redirect uri;
 *     const char *problem = cw_redirect_parse(text, &rules, &uri);
 *
 * Ownership: the parts borrow from the text.
 * Threads:   no state.
 * Limits:    CW_REDIRECT_MAX bytes; CW_REDIRECT_LIST of one client.
 */
#ifndef CW_ACCESS_OAUTH_REDIRECT_H
#define CW_ACCESS_OAUTH_REDIRECT_H

#include "base/str.h"

#define CW_REDIRECT_MAX 512u
#define CW_REDIRECT_LIST 10u

typedef enum cw_redirect_kind {
    CW_REDIRECT_HTTPS,
    CW_REDIRECT_LOOPBACK, /* http, a program on the computer of the browser */
    CW_REDIRECT_SCHEME,   /* a program that has registered the scheme there */
} cw_redirect_kind;

/* URIs with other schemes that are accepted as they are; zeroed: none. */
typedef struct cw_redirect_rules {
    const cw_str *listed;
    size_t n_listed;
} cw_redirect_rules;

typedef struct cw_redirect {
    cw_redirect_kind kind;
    cw_str scheme; /* without ':' */
    cw_str host;   /* with the brackets of IPv6, without the port; may be empty for a SCHEME */
    cw_str port;   /* digits; empty: none */
    cw_str rest;   /* path and query; of a SCHEME everything behind the ':' */
} cw_redirect;

/* NULL, or the reason why it is rejected (static, a part of a sentence: "it has a fragment"). */
const char *cw_redirect_parse(cw_str uri, const cw_redirect_rules *rules, cw_redirect *ret);
/* Whether a URI that was accepted may be used by a client with this registered one. */
bool cw_redirect_matches(cw_str registered, cw_str used);

/* Whether it is an https URL that can only be read in one way, with the rules above for bytes, host, port
 * and path. NULL, or the reason. For identifiers of clients. */
const char *cw_redirect_parse_https(cw_str url, cw_redirect *ret);

#endif
