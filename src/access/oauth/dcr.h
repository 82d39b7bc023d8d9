/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dcr.h - clients that register themselves (RFC 7591), without a table of them.
 *
 * The id of such a client is its registration, sealed:
 *
 *     "dcr." base64url( nonce | encrypted: method, name, redirect URIs | tag )
 *
 * So registering writes nothing, and no flood of registrations has to be removed later. Equal
 * registrations get equal ids. The secret of a client is derived from its id with the key of the server.
 * An id is valid as long as the server keeps its key.
 *
 * Ownership: everything returned lives in the arena.
 * Threads:   any.
 * Limits:    CW_DCR_MAX_BYTES of a registration, CW_OAUTH_MAX_ID of an id.
 */
#ifndef CW_ACCESS_OAUTH_DCR_H
#define CW_ACCESS_OAUTH_DCR_H

#include "access/oauth/client.h"
#include "access/oauth/redirect.h"
#include "access/seal.h"

#define CW_DCR_MAX_BYTES 4096u
#define CW_DCR_SECRET 43u /* characters of a secret: base64url */

/* Register the client of a request body. CW_PARAMS: *ret_error is the code of RFC 7591, and `err` has a
 * text for the client; CW_NOMEM. Redirect URIs that cannot be used are left out. */
CW_MUST_USE cw_code cw_dcr_register(const cw_seal *seal, cw_str body,
                                    const cw_redirect_rules *rules, cw_arena *arena,
                                    cw_oauth_client *ret, const char **ret_error, cw_err *err);
/* The client of an id. CW_NOTFOUND: this server did not make it; CW_NOMEM. */
CW_MUST_USE cw_code cw_dcr_open(const cw_seal *seal, cw_str id, cw_arena *arena,
                                cw_oauth_client *ret);
/* The secret of a client with has_secret, and a NUL. It follows from the key that has sealed the id. */
void cw_dcr_secret(const cw_oauth_client *client, char out[CW_DCR_SECRET + 1]);

#endif
