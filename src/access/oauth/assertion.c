/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assertion.c - the checks of a client assertion. */
#include "access/oauth/assertion.h"

#include <sodium.h>

#include "access/jwt/jwt.h"

#define TOKEN_PATH "/token"

static cw_str claimed_text(const cw_jwt *jwt, const char *name)
{
    const cw_json *v = cw_json_get(jwt->claims, cw_str_from(name));
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : (cw_str){NULL, 0};
}

cw_str cw_assertion_client(cw_str text, cw_arena *arena)
{
    const cw_str none = {NULL, 0};
    cw_jwt jwt;
    return cw_jwt_parse(text, arena, &jwt, NULL) ? none : claimed_text(&jwt, "sub");
}

/* The only value of "aud". */
static cw_str audience_of(const cw_jwt *jwt)
{
    const cw_json *aud = cw_json_get(jwt->claims, CW_STR("aud"));
    if (cw_json_is(aud, CW_JSON_ARRAY) && cw_json_count(aud) == 1)
        aud = cw_json_first(aud);
    return cw_json_is(aud, CW_JSON_STRING) ? cw_json_text(aud) : (cw_str){NULL, 0};
}

static bool is_for_us(const cw_oauth_client *client, cw_str audience, cw_str issuer)
{
    cw_str path = CW_STR(TOKEN_PATH);
    if (!issuer.n || !client->is_for_endpoint)
        return issuer.n && cw_str_eq(audience, issuer);
    return audience.n == issuer.n + path.n && cw_str_starts(audience, issuer) &&
           cw_str_ends(audience, path);
}

static bool is_client_typ(cw_str typ)
{
    return !typ.p || cw_str_ieq(typ, CW_STR("JWT")) ||
           cw_str_ieq(typ, CW_STR("client-authentication+jwt"));
}

static void digest_of(cw_str client, cw_str id, unsigned char out[CW_DIGEST])
{
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const unsigned char *)client.p, client.n);
    /* An id of a client has no NUL. */
    crypto_hash_sha256_update(&state, (const unsigned char *)"", 1);
    crypto_hash_sha256_update(&state, (const unsigned char *)id.p, id.n);
    crypto_hash_sha256_final(&state, out);
}

static cw_code check_claims(cw_jwt *jwt, const cw_oauth_client *client, cw_str issuer,
                            int64_t wall_ms, cw_assertion *ret, cw_err *err)
{
    cw_str id = claimed_text(jwt, "jti");
    if (!is_client_typ(jwt->jws.typ))
        return cw_fail(err, CW_INVALID, "its type (\"typ\") is not that of a client assertion");
    if (!cw_str_eq(jwt->issuer, client->id) || !cw_str_eq(claimed_text(jwt, "sub"), client->id))
        return cw_fail(err, CW_INVALID, "its \"iss\" and \"sub\" are not the id of the client");
    if (!is_for_us(client, audience_of(jwt), issuer))
        return cw_fail(err, CW_INVALID, "its \"aud\" is not the %s alone",
                       client->is_for_endpoint ? "token endpoint" : "issuer");
    if (id.n == 0 || id.n > CW_ASSERTION_MAX_ID)
        return cw_fail(err, CW_INVALID, "its \"jti\" has 1 to %u bytes", CW_ASSERTION_MAX_ID);
    cw_code rc = cw_jwt_check_times(jwt, CW_ASSERTION_LEEWAY_S, wall_ms, err);
    if (rc)
        return rc;
    int64_t life_ms = 1000 * (int64_t)(CW_ASSERTION_LIFE_S + CW_ASSERTION_LEEWAY_S);
    if (jwt->expires_ms > wall_ms + life_ms)
        return cw_fail(err, CW_INVALID, "it expires more than %u s ahead", CW_ASSERTION_LIFE_S);
    ret->until = jwt->expires_ms + 1000 * (int64_t)CW_ASSERTION_LEEWAY_S;
    digest_of(client->id, id, ret->digest);
    return CW_OK;
}

cw_code cw_assertion_check(cw_str text, const cw_oauth_client *client, cw_str issuer,
                           int64_t wall_ms, cw_arena *arena, cw_assertion *ret, cw_err *err)
{
    cw_jwt jwt;
    cw_jwks *keys = NULL;
    cw_code rc = cw_jwt_parse(text, arena, &jwt, err);
    if (!rc)
        rc = cw_jwks_parse(client->jwks, CW_JOSE_ALL, &keys, err);
    if (!rc)
        rc = cw_jwt_check_signature(&jwt, keys, err);
    cw_jwks_unref(keys);
    return rc ? rc : check_claims(&jwt, client, issuer, wall_ms, ret, err);
}
