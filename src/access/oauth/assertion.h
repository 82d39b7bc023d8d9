/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assertion.h - a client proves its identity with a JWT that it signs (private_key_jwt, RFC 7523).
 *
 *     iss, sub     the id of the client
 *     aud          the issuer, or with `is_for_endpoint` the token endpoint; no second value
 *     exp          at most CW_ASSERTION_LIFE_S ahead; nbf and iat not in the future
 *     jti          there; each is accepted once, which the caller checks with the digest
 *     typ          none, JWT, or client-authentication+jwt: no token of another kind
 *
 * The keys of the client decide the algorithm. Symmetric ones and "none" do not exist here (jose.h).
 *
 * Ownership: texts live in the arena.
 * Threads:   any.
 * Limits:    those of jose.h; CW_ASSERTION_MAX_ID bytes of a jti.
 */
#ifndef CW_ACCESS_OAUTH_ASSERTION_H
#define CW_ACCESS_OAUTH_ASSERTION_H

#include "access/oauth/client.h"

#define CW_ASSERTION_TYPE "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
#define CW_ASSERTION_LIFE_S 300u
#define CW_ASSERTION_LEEWAY_S 60u
#define CW_ASSERTION_MAX_ID 256u

typedef struct cw_assertion {
    unsigned char digest[CW_DIGEST]; /* of the client and the jti */
    int64_t until;                   /* ms since 1970: for so long it would be accepted again */
} cw_assertion;

/* The client that an assertion names, not verified. .p is NULL: it names none. */
cw_str cw_assertion_client(cw_str text, cw_arena *arena);
/* Check an assertion of this client, which has keys. CW_INVALID: rejected, with the reason for the
 * log; CW_NOMEM, CW_LIMIT: not checked. */
CW_MUST_USE cw_code cw_assertion_check(cw_str text, const cw_oauth_client *client, cw_str issuer,
                                       int64_t wall_ms, cw_arena *arena, cw_assertion *ret,
                                       cw_err *err);

#endif
