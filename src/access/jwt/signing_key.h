/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signing_key.h - keys that sign JWTs: made, described, used.
 *
 *     cw_signing_key key;
 *     rc = cw_signing_key_make(CW_JOSE_ES256, &arena, &key, err);
 *     ... store key.id, key.jwk, and key.secret sealed ...
 *     rc = cw_signing_key_sign(&key, header, claims, &arena, &token, err);
 *
 * The id is the thumbprint of the key (RFC 7638).
 *
 * Ownership: everything lives in the arena. Its owner wipes it: `secret` is the private key.
 * Threads:   no state.
 */
#ifndef CW_ACCESS_JWT_SIGNING_KEY_H
#define CW_ACCESS_JWT_SIGNING_KEY_H

#include "access/jwt/jose.h"

typedef struct cw_signing_key {
    cw_jose_alg alg; /* CW_JOSE_ES256 or CW_JOSE_RS256 */
    cw_str id;
    cw_str jwk;    /* the public key as JSON, with kid, alg and use */
    cw_str secret; /* the private key: DER */
} cw_signing_key;

/* "ES256" or "RS256". */
const char *cw_signing_key_alg_name(cw_jose_alg alg);
/* A new key. An RSA key takes a fraction of a second. CW_NOMEM, CW_INTERNAL. */
CW_MUST_USE cw_code cw_signing_key_make(cw_jose_alg alg, cw_arena *arena, cw_signing_key *ret,
                                        cw_err *err);
/* A token with this type and these claims (a JSON object). CW_NOMEM, CW_INTERNAL. */
CW_MUST_USE cw_code cw_signing_key_sign(const cw_signing_key *key, const char *typ, cw_str claims,
                                        cw_arena *arena, cw_str *ret, cw_err *err);

#endif
