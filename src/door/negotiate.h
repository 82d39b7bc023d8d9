/* SPDX-License-Identifier: GPL-2.0-or-later */
/* negotiate.h - content negotiation: encoding, ETag, event stream, language.
 *
 * Ownership: borrows; a language belongs to its translations.
 * Threads:   no state.
 * Limits:    CW_NEGOTIATE_RANGES members of Accept-Language.
 */
#ifndef CW_DOOR_NEGOTIATE_H
#define CW_DOOR_NEGOTIATE_H

#include "access/caller.h"
#include "catalogue/i18n/translations.h"
#include "net/server/request_api.h"

/* Whether Accept-Encoding has gzip, by name or as "*". Without the header it has not. */
bool cw_negotiate_gzip(const cw_http_req *req);
/* Whether If-None-Match has this tag, weak or not, or "*". `etag` has its quotes. */
bool cw_negotiate_has(const cw_http_req *req, cw_str etag);
/* Whether the client takes an event stream; without Accept it takes everything. */
bool cw_negotiate_events(const cw_http_req *req);
/* Whether all that Accept has is text/event-stream. */
bool cw_negotiate_only_events(const cw_http_req *req);
#define CW_NEGOTIATE_RANGES 32u
/* The language of the answer: that of the account, else the one that Accept-Language (`accept`; .p
 * NULL: none) prefers, else the default. NULL without translations.
 *
 * Accept-Language prefers the available language with the highest q, the first among equals. "*"
 * stands for the default. A language with q=0 is not used, unless it is the default and nothing else
 * is left. A member that is not a language or has an invalid q is ignored, and so are members after
 * CW_NEGOTIATE_RANGES. */
const cw_language *cw_negotiate_language(cw_str accept, const cw_translations *t,
                                         const cw_caller *caller);

#endif
