/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jose.c - base64url, algorithms, and the three parts of a JWS. */
#include "access/jwt/jose.h"

#include <sodium.h>

static const struct {
    const char *name;
    cw_jose_alg alg;
} algorithms[] = {
    {"RS256", CW_JOSE_RS256}, {"PS256", CW_JOSE_PS256}, {"ES256", CW_JOSE_ES256},
    {"ES384", CW_JOSE_ES384}, {"EdDSA", CW_JOSE_EDDSA}, {"Ed25519", CW_JOSE_EDDSA},
};

bool cw_jose_alg_parse(cw_str name, cw_jose_alg *ret)
{
    for (size_t i = 0; i < CW_COUNT(algorithms); i++) {
        if (!cw_str_is(name, algorithms[i].name))
            continue;
        *ret = algorithms[i].alg;
        return true;
    }
    return false;
}

/* ---- reasons ---- */

static const struct {
    const char *name;
    const char *text;
} reasons[] = {
#define CW_X(id, name, text) {name, text},
    CW_TOKEN_REASONS(CW_X)
#undef CW_X
};

const char *cw_token_reason_name(cw_token_reason reason)
{
    return reasons[reason].name;
}

const char *cw_token_reason_text(cw_token_reason reason)
{
    return reasons[reason].text;
}

cw_code cw_token_refuse(cw_token_reason *reason, cw_token_reason why)
{
    *reason = why;
    return CW_INVALID;
}

/* ---- reading ---- */

/* libsodium's decoder takes neither padding nor bits behind the last byte in this variant, and
 * without a place for the end it takes nothing behind the text; but it takes bytes beyond ASCII for
 * '_' (1.0.18). */
static bool decode(cw_str text, unsigned char *out, size_t *ret_n)
{
    unsigned char seen = 0;
    for (size_t i = 0; i < text.n; i++)
        seen |= (unsigned char)text.p[i];
    return seen < 0x80 && sodium_base642bin(out, text.n, text.p, text.n, NULL, ret_n, NULL,
                                            sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0;
}

cw_code cw_base64url_decode(cw_str text, cw_arena *arena, cw_str *ret)
{
    size_t n = 0;
    unsigned char *bytes = cw_arena_alloc(arena, text.n + 1);
    if (!bytes)
        return cw_arena_code(arena);
    if (text.n && !decode(text, bytes, &n))
        return CW_PARSE;
    bytes[n] = 0;
    *ret = cw_str_make((const char *)bytes, n);
    return CW_OK;
}

cw_code cw_jose_read_object(cw_str text, cw_arena *arena, const cw_json **ret)
{
    static const cw_json_opts opts = {.max_depth = CW_JWS_MAX_DEPTH,
                                      .max_members = CW_JWS_MAX_MEMBERS};
    const cw_json *root;
    /* The reader's own ceilings and the arena's are the same code; the arena knows its own. */
    cw_code before = arena->failed;
    arena->failed = CW_OK;
    cw_code rc = cw_json_read(text, &opts, arena, &root, NULL, NULL);
    bool is_arena = arena->failed != CW_OK;
    arena->failed = is_arena ? arena->failed : before;
    if (rc)
        return is_arena ? rc : CW_PARSE;
    if (!cw_json_is(root, CW_JSON_OBJECT))
        return CW_PARSE;
    *ret = root;
    return CW_OK;
}

/* The reason for a token without three parts: five parts are an encrypted token. */
static cw_token_reason check_parts(cw_str token)
{
    size_t dots = 0;
    for (size_t i = 0; i < token.n; i++)
        dots += token.p[i] == '.';
    return dots == 4 ? CW_TOKEN_ENCRYPTED : CW_TOKEN_NOT_COMPACT;
}

static cw_code read_alg(const cw_json *header, cw_jose_alg *ret, cw_token_reason *reason)
{
    const cw_json *alg = cw_json_get(header, CW_STR("alg"));
    if (!cw_json_is(alg, CW_JSON_STRING))
        return cw_token_refuse(reason, CW_TOKEN_NO_ALG);
    cw_str name = cw_json_text(alg);
    if (cw_jose_alg_parse(name, ret))
        return CW_OK;
    if (cw_str_ieq(name, CW_STR("none")))
        return cw_token_refuse(reason, CW_TOKEN_ALG_NONE);
    return cw_token_refuse(reason, cw_str_starts(name, CW_STR("HS")) ? CW_TOKEN_ALG_SYMMETRIC
                                                                     : CW_TOKEN_ALG);
}

/* An optional text. False when it is there and no text. */
static bool read_text(const cw_json *header, cw_str name, cw_str *ret)
{
    const cw_json *v = cw_json_get(header, name);
    *ret = cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : (cw_str){NULL, 0};
    return !v || ret->p;
}

static cw_code read_header(cw_jws *jws, cw_token_reason *reason)
{
    cw_str cty;
    if (cw_json_get(jws->header, CW_STR("crit")))
        return cw_token_refuse(reason, CW_TOKEN_CRIT);
    cw_code rc = read_alg(jws->header, &jws->alg, reason);
    if (rc)
        return rc;
    if (!read_text(jws->header, CW_STR("kid"), &jws->kid) || jws->kid.n > CW_JWS_MAX_KID)
        return cw_token_refuse(reason, CW_TOKEN_KID);
    if (!read_text(jws->header, CW_STR("typ"), &jws->typ))
        return cw_token_refuse(reason, CW_TOKEN_TYP);
    if (!read_text(jws->header, CW_STR("cty"), &cty))
        return cw_token_refuse(reason, CW_TOKEN_HEADER);
    /* RFC 7519, 5.2: this is how a token inside a token says so. */
    if (cty.p && cw_str_ieq(cty, CW_STR("JWT")))
        return cw_token_refuse(reason, CW_TOKEN_NESTED);
    return CW_OK;
}

/* The codes of the two readers above: what the token is to blame for becomes a reason. */
static cw_code blame(cw_code rc, cw_token_reason *reason, cw_token_reason why)
{
    return rc == CW_PARSE ? cw_token_refuse(reason, why) : rc;
}

cw_code cw_jws_parse(cw_str token, cw_arena *arena, cw_jws *ret, cw_token_reason *reason)
{
    cw_str rest, signature, none, header = {NULL, 0};
    *ret = (cw_jws){0};
    *reason = CW_TOKEN_NONE;
    if (token.n > CW_JWS_MAX_BYTES)
        return cw_token_refuse(reason, CW_TOKEN_TOO_LONG);
    cw_str first = cw_str_cut(token, '.', &rest);
    cw_str second = rest.p ? cw_str_cut(rest, '.', &signature) : rest;
    if (!rest.p || !signature.p || cw_str_cut(signature, '.', &none).n != signature.n || !first.n)
        return cw_token_refuse(reason, check_parts(token));
    cw_code rc = cw_base64url_decode(first, arena, &header);
    if (rc)
        return blame(rc, reason, CW_TOKEN_BASE64);
    rc = header.n > CW_JWS_MAX_HEADER ? CW_PARSE : cw_jose_read_object(header, arena, &ret->header);
    if (rc)
        return blame(rc, reason, CW_TOKEN_HEADER);
    rc = cw_base64url_decode(second, arena, &ret->payload);
    if (!rc)
        rc = cw_base64url_decode(signature, arena, &ret->signature);
    if (rc)
        return blame(rc, reason, CW_TOKEN_BASE64);
    ret->signed_part = cw_str_make(token.p, first.n + 1 + second.n);
    return read_header(ret, reason);
}
