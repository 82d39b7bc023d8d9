/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jwt.h - JWT access tokens of an issuer: parsed, then checked (RFC 7519, 9068, 8725).
 *
 * Two steps, because the token names its issuer:
 *
 *     cw_jwt jwt;
 *     rc = cw_jwt_parse(token, &arena, &jwt, &err);
 *     ... find the rules and keys of the issuer that jwt.issuer claims to be ...
 *     if (!rc)
 *         rc = cw_jwt_check(&jwt, rules, keys, cw_clock_wall_ms(), &arena, &err);
 *     if (rc == CW_INVALID)
 *         log(err.msg), answer invalid_token
 *
 * The contents of the struct are verified only after cw_jwt_check has returned CW_OK.
 *
 *     typ                  at+jwt or application/at+jwt; with allow_missing_typ also JWT or none, and
 *                          then whatever looks like an ID token is refused
 *     iss                  equal to the rule's, byte by byte
 *     aud                  one of ours, alone or in a list
 *     exp                  there, and not past; nbf and iat not in the future; all with leeway
 *     cnf                  rejected: the binding cannot be checked
 *     sub, client_id, iat, jti    there, unless allow_missing_typ; azp may stand for client_id
 *                          sub or client_id in any case, unless names_account
 *     scope, scp           a text with spaces, or a list; both add up
 *
 * Not here: the rights of scopes and roles, and caching (access/issuer/token_cache.h).
 *
 * Ownership: everything lies in the arena or in the token, which must live as long.
 * Threads:   no state; keys and rules are only read.
 * Limits:    those of jose.h and below. The arena needs CW_JWT_MEMORY bytes at most.
 */
#ifndef CW_ACCESS_JWT_JWT_H
#define CW_ACCESS_JWT_JWT_H

#include "access/jwt/jwks.h"

#define CW_JWT_LEEWAY_S 60u
#define CW_JWT_MAX_AUDIENCES 64u
#define CW_JWT_MAX_SCOPES 128u
#define CW_JWT_MAX_ROLES 128u
#define CW_JWT_MAX_ROLE 128u    /* bytes of one */
#define CW_JWT_MAX_SUBJECT 256u /* bytes */
#define CW_JWT_MAX_CLIENT 512u  /* bytes: it may be a URL */
#define CW_JWT_MEMORY (512u * 1024u)

/* The rules for tokens of an issuer. */
typedef struct cw_jwt_rules {
    cw_str issuer;
    const cw_str *audiences; /* our resource identifiers */
    size_t n_audiences;
    const cw_str *roles; /* JSON pointers to claims with names of roles; may be NULL */
    size_t n_roles;
    unsigned algs; /* a set of cw_jose_alg */
    uint32_t leeway_s;
    bool allow_missing_typ;
    bool names_account; /* another claim says whose it is, so that `sub` may be missing */
} cw_jwt_rules;

typedef struct cw_jwt {
    cw_token_reason reason; /* why it was refused */
    cw_jws jws;
    const cw_json *claims; /* NULL when they could not be read */
    cw_str issuer;         /* the texts: .p is NULL when there is none */
    cw_str subject;
    cw_str client;
    int64_t expires_ms; /* since 1970, without leeway */
    cw_str *scopes;     /* each once */
    size_t n_scopes;
    cw_str *roles; /* likewise */
    size_t n_roles;
} cw_jwt;

/* All of these return CW_OK; CW_INVALID (rejected: jwt->reason, and a sentence in err with nothing of
 * the token but numbers); CW_NOMEM or CW_LIMIT of the arena (not checked). */
CW_MUST_USE cw_code cw_jwt_parse(cw_str token, cw_arena *arena, cw_jwt *ret, cw_err *err);
/* Signature, then everything else. */
CW_MUST_USE cw_code cw_jwt_check(cw_jwt *jwt, const cw_jwt_rules *rules, const cw_jwks *keys,
                                 int64_t wall_ms, cw_arena *arena, cw_err *err);

/* Whether there is a key to check its signature with; cheap, and means nothing else. */
CW_MUST_USE cw_code cw_jwt_find_key(cw_jwt *jwt, const cw_jwks *keys, cw_err *err);

/* The two halves of cw_jwt_check, for `token inspect`. A token is valid only if both succeed. */
CW_MUST_USE cw_code cw_jwt_check_signature(cw_jwt *jwt, const cw_jwks *keys, cw_err *err);
CW_MUST_USE cw_code cw_jwt_check_claims(cw_jwt *jwt, const cw_jwt_rules *rules, int64_t wall_ms,
                                        cw_arena *arena, cw_err *err);
/* The times alone, of a JWT of another kind; sets expires_ms. */
CW_MUST_USE cw_code cw_jwt_check_times(cw_jwt *jwt, uint32_t leeway_s, int64_t wall_ms,
                                       cw_err *err);

#endif
