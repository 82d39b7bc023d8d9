/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cimd.h - clients that are described by a document: their id is its URL.
 *
 * Such a client is known by the host that publishes its document. Nothing in a document is trusted
 * beyond that, and no other URL in it is fetched. cimd_cache.h fetches documents; this module judges ids
 * and documents (draft-ietf-oauth-client-id-metadata-document).
 *
 * Ownership: everything returned lives in the arena, or borrows from it and from the body.
 * Threads:   no state.
 * Limits:    CW_REDIRECT_MAX bytes of an id, CW_CIMD_MAX_BYTES of a document.
 */
#ifndef CW_ACCESS_OAUTH_CIMD_H
#define CW_ACCESS_OAUTH_CIMD_H

#include "access/oauth/client.h"
#include "access/oauth/redirect.h"

#define CW_CIMD_MAX_BYTES 5120u

/* Whether an id may be the URL of a document: NULL, or the reason (static). *ret_host (may be NULL) gets
 * its host, without the port. */
const char *cw_cimd_check_id(cw_str id, cw_str *ret_host);
/* Read the document of this id. CW_PARAMS with a reason: it does not describe a usable client; CW_NOMEM. */
CW_MUST_USE cw_code cw_cimd_read(cw_str id, cw_str body, const cw_redirect_rules *rules,
                                 cw_arena *arena, cw_oauth_client *ret, cw_err *err);

#endif
