/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_jwt.c - tokens and key sets. The first byte says what the rest is:
 *
 *   'k'   a key set
 *   'c'   a header and claims as JSON, with a line end between them: a token is made of them
 *   else  a token
 *
 * These hold:
 *
 *   - nothing is accepted: nobody here has signed anything
 *   - a token that can be read is, written again, the same bytes
 *   - what is refused has a reason and a sentence, what is not has none
 *   - a key that is in a set is counted, as used or as left out
 */
#include "fuzz.h"

#include <sodium.h>
#include <string.h>

#include "access/jwt/jwt.h"

#define VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

/* Public keys whose private parts nobody has kept. */
static const char known[] = "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"ec\","
                            "\"x\":\"D7x84rbueOBN2PZFn4IWlVvaaeWzCvFaytV2Esf3Ack\","
                            "\"y\":\"YCibv3NDkL_pvr9LmouCBLD5yZw-mcjARuq50uMvynk\"},"
                            "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"ed\","
                            "\"x\":\"vTsWGJVzDPBPWPjV2ZTkOYX6_ebSMArcQYodi7eBInU\"}]}";

static const cw_str audiences[] = {CW_STR_INIT("a")};
static const cw_str roles[] = {CW_STR_INIT("/r"), CW_STR_INIT("/r/0")};

static void add_part(cw_str bytes, bool is_last, char *out, size_t *n)
{
    sodium_bin2base64(out + *n, sodium_base64_encoded_len(bytes.n, VARIANT),
                      (const unsigned char *)bytes.p, bytes.n, VARIANT);
    *n += sodium_base64_encoded_len(bytes.n, VARIANT) - 1;
    if (!is_last)
        out[(*n)++] = '.';
}

/* The payload and signature decode to bytes that have one spelling. */
static void check_spelling(cw_str token, const cw_jws *jws)
{
    static char again[2 * CW_JWS_MAX_BYTES];
    size_t n = 0;
    const char *dot = memchr(token.p, '.', token.n);
    CHECK(dot);
    add_part(jws->payload, /* is_last= */ false, again, &n);
    add_part(jws->signature, /* is_last= */ true, again, &n);
    size_t rest = token.n - (size_t)(dot + 1 - token.p);
    CHECK(n == rest && memcmp(again, dot + 1, n) == 0);
    CHECK(jws->signed_part.p == token.p && jws->signed_part.n < token.n);
}

static void check_names(const cw_jwt *jwt)
{
    CHECK(jwt->n_scopes <= CW_JWT_MAX_SCOPES && jwt->n_roles <= CW_JWT_MAX_ROLES);
    for (size_t i = 0; i < jwt->n_scopes; i++)
        CHECK(jwt->scopes[i].n > 0 && !memchr(jwt->scopes[i].p, ' ', jwt->scopes[i].n));
    for (size_t i = 0; i < jwt->n_roles; i++)
        CHECK(jwt->roles[i].n > 0 && jwt->roles[i].n <= CW_JWT_MAX_ROLE);
    CHECK(jwt->subject.n <= CW_JWT_MAX_SUBJECT && jwt->client.n <= CW_JWT_MAX_CLIENT);
    CHECK(jwt->expires_ms > 0);
}

static void judge(cw_str token, const cw_jwks *keys, cw_arena *arena)
{
    const cw_jwt_rules rules = {CW_STR("i"), audiences, 1, roles, 2, CW_JOSE_ALL, 60, true, false};
    cw_jwt jwt;
    cw_err err = {0};
    cw_code rc = cw_jwt_parse(token, arena, &jwt, &err);
    CHECK(rc == CW_OK || rc == CW_INVALID);
    CHECK((rc == CW_OK) == (jwt.reason == CW_TOKEN_NONE) && (rc == CW_OK) == !err.msg[0]);
    if (rc)
        return;
    check_spelling(token, &jwt.jws);
    CHECK(cw_jwt_check_signature(&jwt, keys, &err) == CW_INVALID);
    CHECK(jwt.reason != CW_TOKEN_NONE && err.msg[0]);
    jwt.reason = CW_TOKEN_NONE;
    rc = cw_jwt_check_claims(&jwt, &rules, INT64_C(1000000), arena, &err);
    CHECK(rc == CW_OK || (rc == CW_INVALID && jwt.reason != CW_TOKEN_NONE));
    if (!rc)
        check_names(&jwt);
}

static void read_set(cw_str text)
{
    cw_jwks *set;
    size_t n;
    cw_code rc = cw_jwks_parse(text, CW_JOSE_ALL, &set, NULL);
    CHECK(rc == CW_OK || rc == CW_PARSE || rc == CW_LIMIT);
    if (rc)
        return;
    const cw_jwks_left_out *left_out = cw_jwks_left_out_keys(set, &n);
    CHECK(cw_jwks_count(set) + n <= CW_JWKS_MAX_KEYS);
    for (size_t i = 0; i < n; i++)
        CHECK(left_out[i].why && left_out[i].kid.n <= CW_JWS_MAX_KID);
    cw_jwks_unref(set);
}

static cw_str make_token(cw_str text, char out[CW_JWS_MAX_BYTES * 2])
{
    static const char signature[64];
    cw_str claims;
    size_t n = 0;
    cw_str header = cw_str_cut(text, '\n', &claims);
    add_part(header, /* is_last= */ false, out, &n);
    add_part(claims.p ? claims : CW_STR("{}"), /* is_last= */ false, out, &n);
    add_part(cw_str_make(signature, sizeof signature), /* is_last= */ true, out, &n);
    return cw_str_make(out, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char made[CW_JWS_MAX_BYTES * 2];
    static cw_jwks *keys;
    cw_arena arena;
    if (!keys)
        CHECK(cw_jwks_parse(cw_str_from(known), CW_JOSE_ALL, &keys, NULL) == CW_OK);
    if (size == 0)
        return 0;
    cw_str rest = cw_str_make((const char *)data + 1, size - 1);
    cw_arena_init(&arena, CW_JWT_MEMORY);
    if (data[0] == 'k')
        read_set(rest);
    else if (data[0] == 'c' && rest.n <= CW_JWS_MAX_BYTES)
        judge(make_token(rest, made), keys, &arena);
    else
        judge(cw_str_make((const char *)data, size), keys, &arena);
    cw_arena_done(&arena);
    return 0;
}
