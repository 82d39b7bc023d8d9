/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jose.h - strict parser for signed tokens in compact form (JWS, RFC 7515).
 *
 *     BASE64URL(header) "." BASE64URL(payload) "." BASE64URL(signature)
 *
 * The available libraries accept forgeries of the public test vectors. This parser accepts one
 * spelling of each token: base64url without padding and without bits behind the last byte, JSON
 * without duplicate members, exactly two dots.
 *
 * It reads only `alg`, `kid`, `typ` and `cty` of the header. It ignores the members that bring or
 * name a key (`jwk`, `jku`, `x5u`, `x5c`), and rejects any `crit`, because no extension is supported.
 *
 *     cw_jws jws;
 *     rc = cw_jws_parse(token, &arena, &jws, &reason);
 *     if (!rc)
 *         rc = cw_jwks_verify(keys, &jws, &reason);      (jwks.h)
 *
 * Not here: claims (jwt.h). Not supported: encryption, symmetric keys, "none".
 *
 * Ownership: what is returned lies in the arena or in the token, which must live as long.
 * Threads:   no state.
 * Limits:    CW_JWS_MAX_BYTES of a token, CW_JWS_MAX_HEADER of a header when decoded.
 */
#ifndef CW_ACCESS_JWT_JOSE_H
#define CW_ACCESS_JWT_JOSE_H

#include "json/json.h"

#define CW_JWS_MAX_BYTES 16384u
#define CW_JWS_MAX_HEADER 1024u
#define CW_JWS_MAX_KID 256u
#define CW_JWS_MAX_DEPTH 16u    /* of header and payload as JSON */
#define CW_JWS_MAX_MEMBERS 256u /* of one object in them */

/* The algorithms, as bits of a set. Symmetric ones and "none" have no place in it. */
typedef enum cw_jose_alg {
    CW_JOSE_RS256 = 1,
    CW_JOSE_PS256 = 2,
    CW_JOSE_ES256 = 4,
    CW_JOSE_ES384 = 8,
    CW_JOSE_EDDSA = 16, /* with Ed25519 only; also by its newer name "Ed25519" */
} cw_jose_alg;

#define CW_JOSE_ALL 31u

/* By exact name; false when it is none of ours. */
bool cw_jose_alg_parse(cw_str name, cw_jose_alg *ret);

/* Reasons to reject a token: name for programs, text for operators. The client only gets
 * invalid_token. */
#define CW_TOKEN_REASONS(X)                                                                        \
    X(NONE, "none", "nothing is wrong with it")                                                    \
    X(TOO_LONG, "too_long", "it is longer than a token may be")                                    \
    X(NOT_COMPACT, "not_compact", "it is not three parts with dots between them")                  \
    X(ENCRYPTED, "encrypted", "it is encrypted, which is not supported")                           \
    X(BASE64, "base64", "a part of it is not base64url in its one form, without padding")          \
    X(HEADER, "header", "its header is not a JSON object, or has a member twice")                  \
    X(CRIT, "crit", "its header has \"crit\": no extension is supported")                          \
    X(NO_ALG, "no_alg", "its header names no algorithm")                                           \
    X(ALG_NONE, "alg_none", "it is not signed (\"alg\": \"none\")")                                \
    X(ALG_SYMMETRIC, "alg_symmetric", "it claims a shared key (HS256 and the like)")               \
    X(ALG, "alg", "its algorithm is not one of those that are accepted")                           \
    X(KID, "kid", "the key id in its header is not a text, or too long")                           \
    X(TYP, "typ", "its type (\"typ\") is not that of an access token")                             \
    X(NESTED, "nested", "it has another token inside")                                             \
    X(NO_KEY, "no_key", "no key of the issuer has its key id")                                     \
    X(KEY_ALG, "key_alg", "the key that it names is not for its algorithm")                        \
    X(SIGNATURE_LENGTH, "signature_length", "its signature has not the length that is due")        \
    X(SIGNATURE, "signature", "its signature is wrong")                                            \
    X(SIGNATURE_NO_KID, "signature_no_kid",                                                        \
      "it names no key (\"kid\"), and its signature is not that of the first key that fits")       \
    X(CLAIMS, "claims", "its claims are not a JSON object, or one of them is there twice")         \
    X(NO_ISSUER, "no_issuer", "it names no issuer")                                                \
    X(ISSUER, "issuer", "it comes from another issuer")                                            \
    X(NO_AUDIENCE, "no_audience", "it names no audience (\"aud\")")                                \
    X(AUDIENCE, "audience", "it is for another audience (\"aud\")")                                \
    X(NO_EXPIRY, "no_expiry", "it has no time of expiry (\"exp\")")                                \
    X(TIME, "time", "one of its times is not a number of seconds since 1970")                      \
    X(EXPIRED, "expired", "it has expired")                                                        \
    X(NOT_YET, "not_yet", "it is not valid yet (\"nbf\")")                                         \
    X(FUTURE, "future", "it was issued in the future (\"iat\")")                                   \
    X(BOUND, "bound", "it is bound to a key of the client (\"cnf\"), which cannot be checked")     \
    X(ID_TOKEN, "id_token", "it looks like an ID token, which is no access token")                 \
    X(MISSING_CLAIM, "missing_claim", "a claim that an access token has (RFC 9068) is missing")    \
    X(SUBJECT, "subject", "its subject (\"sub\") is not a text that can be one, or too long")      \
    X(NO_SUBJECT, "no_subject", "it names no subject: no \"sub\" and no \"client_id\"")            \
    X(CLIENT, "client", "its client (\"client_id\" or \"azp\") is not a text that can be one")     \
    X(SCOPE, "scope", "its scopes are neither a text nor a list of them, or too many")             \
    X(ROLES, "roles", "a claim with roles is neither a text nor a list of them, or has too many")

typedef enum cw_token_reason {
#define CW_X(id, name, text) CW_TOKEN_##id,
    CW_TOKEN_REASONS(CW_X)
#undef CW_X
} cw_token_reason;

const char *cw_token_reason_name(cw_token_reason reason);
const char *cw_token_reason_text(cw_token_reason reason);

/* A token that has the right form. Its contents are not verified yet. */
typedef struct cw_jws {
    cw_jose_alg alg;
    cw_str kid;         /* .p is NULL when it has none */
    cw_str typ;         /* likewise */
    cw_str signed_part; /* header, dot and payload as they came */
    cw_str payload;     /* decoded */
    cw_str signature;   /* decoded */
    const cw_json *header;
} cw_jws;

/* CW_OK; CW_INVALID with *reason; CW_NOMEM, or CW_LIMIT when the arena's ceiling is reached. *ret
 * is filled as far as it was read, its header NULL when that could not be. */
CW_MUST_USE cw_code cw_jws_parse(cw_str token, cw_arena *arena, cw_jws *ret,
                                 cw_token_reason *reason);

/* Base64url without padding, into the arena with a NUL behind it. CW_PARSE for anything else,
 * CW_NOMEM or CW_LIMIT from the arena. */
CW_MUST_USE cw_code cw_base64url_decode(cw_str text, cw_arena *arena, cw_str *ret);

/* Parse a JSON object from a token or its issuer, with the limits above. CW_PARSE: not an object;
 * CW_NOMEM or CW_LIMIT from the arena. */
CW_MUST_USE cw_code cw_jose_read_object(cw_str text, cw_arena *arena, const cw_json **ret);

/* Store the reason and return CW_INVALID. */
cw_code cw_token_refuse(cw_token_reason *reason, cw_token_reason why);

#endif
