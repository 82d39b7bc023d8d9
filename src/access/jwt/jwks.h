/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jwks.h - the public keys of an issuer (JWK Set, RFC 7517), and checking signatures with them.
 *
 * Reading the set binds each key to its algorithms: by its type, by its `alg` if present, and by the
 * algorithms allowed for the issuer. The header of a token selects a key; it does not decide how the
 * key is used.
 *
 *     kty RSA, 2048 to 8192 bits     RS256, PS256
 *     kty EC, P-256 / P-384          ES256 / ES384
 *     kty OKP, Ed25519               EdDSA
 *
 * Unsupported and invalid keys, keys for other purposes (`use`, `key_ops`) and keys with their
 * private part are left out, each with its reason. The other keys of the issuer stay usable.
 *
 * Verification uses OpenSSL's EVP directly; see jose.h.
 * Not here: fetching, and when to fetch again.
 *
 * Ownership: immutable, reference counted; keeps nothing of the text. Each key has a trust, which
 *            callers share with it.
 * Threads:   a set may be used by all loops at once.
 * Limits:    CW_JWKS_MAX_BYTES, CW_JWKS_MAX_KEYS; one key is tried for a token, also for one
 *            without a key id: the first of the set that fits.
 */
#ifndef CW_ACCESS_JWT_JWKS_H
#define CW_ACCESS_JWT_JWKS_H

#include "access/jwt/jose.h"
#include "access/trust.h"

#define CW_JWKS_MAX_BYTES 65536u
#define CW_JWKS_MAX_KEYS 50u
#define CW_JWKS_RSA_MIN_BITS 2048u
#define CW_JWKS_RSA_MAX_BITS 8192u

typedef struct cw_jwks cw_jwks; /* opaque */

/* A key that was left out. */
typedef struct cw_jwks_left_out {
    size_t index;    /* in `keys`, from 0 */
    cw_str kid;      /* empty without one; not to be trusted for printing */
    const char *why; /* "its type is not supported" */
} cw_jwks_left_out;

/* Read a set; `allowed` is a set of cw_jose_alg. A set without a usable key is a set: it verifies
 * nothing. CW_PARSE when it is no JSON with a list `keys`, CW_LIMIT, CW_NOMEM. */
CW_MUST_USE cw_code cw_jwks_parse(cw_str text, unsigned allowed, cw_jwks **ret, cw_err *err);
cw_jwks *cw_jwks_ref(cw_jwks *set);
/* NULL is fine. */
void cw_jwks_unref(cw_jwks *set);

/* How many keys can be used; the others. */
size_t cw_jwks_count(const cw_jwks *set);
const cw_jwks_left_out *cw_jwks_left_out_keys(const cw_jwks *set, size_t *ret_n);

/* Whether a key fits: by its id and algorithm; without an id, by algorithm and length of signature.
 * Costs no signature check. CW_OK; CW_INVALID with *reason, as of cw_jwks_verify. */
CW_MUST_USE cw_code cw_jwks_has_key(const cw_jwks *set, const cw_jws *jws, cw_token_reason *reason);
/* Check a signature with the one key that fits. CW_OK; CW_INVALID with *reason (CW_TOKEN_NO_KEY:
 * another set may have it); CW_NOMEM: not checked. (If OpenSSL runs out of memory during a check
 * without reporting it, the reason is CW_TOKEN_SIGNATURE.) */
CW_MUST_USE cw_code cw_jwks_verify(const cw_jwks *set, const cw_jws *jws, cw_token_reason *reason);
/* A reference to the trust of the key that fits; NULL: no key fits. */
cw_trust *cw_jwks_trust(const cw_jwks *set, const cw_jws *jws);
/* A reference to the trust with this id; NULL: no key of the set has it. */
cw_trust *cw_jwks_find_trust(const cw_jwks *set, const unsigned char id[CW_TRUST_ID]);
/* Replace `old` by `fresh`, before other threads use `fresh`: equal keys keep their trust, and the
 * trust of the other old keys is withdrawn. NULL is fine for both: a set without keys. */
void cw_jwks_succeed(cw_jwks *fresh, const cw_jwks *old);

#endif
