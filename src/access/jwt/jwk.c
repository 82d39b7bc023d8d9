/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jwk.c - one JWK becomes one key of OpenSSL's, or a reason why not. */
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/param_build.h>

#include "access/jwt/jwks_int.h"

#define EXPONENT_MAX_BYTES 8u
#define COORDINATE_MAX_BYTES 48u

/* Nothing in these numbers can displease OpenSSL: it has no memory, which it often does not say. */
static cw_code made(const cw_jwk *key)
{
    ERR_clear_error();
    return key->key ? CW_OK : CW_NOMEM;
}

static cw_code leave_out(const char **why, const char *text)
{
    *why = text;
    return CW_DECLINED;
}

/* The bytes of a member. CW_PARSE when it is missing or not base64url. */
static cw_code read_bytes(const cw_json *source, cw_str name, cw_arena *scratch, cw_str *ret)
{
    const cw_json *v = cw_json_get(source, name);
    if (!cw_json_is(v, CW_JSON_STRING))
        return CW_PARSE;
    return cw_base64url_decode(cw_json_text(v), scratch, ret);
}

/* ---- RSA ---- */

static unsigned bits_of(cw_str number)
{
    unsigned bits = (unsigned)(number.n - 1) * 8;
    for (unsigned char top = (unsigned char)number.p[0]; top; top >>= 1)
        bits++;
    return bits;
}

/* RFC 7518, 2: as few bytes as possible. An even number is no modulus and no exponent. */
static bool is_odd_number(cw_str number)
{
    return number.n && number.p[0] && number.p[number.n - 1] & 1;
}

static OSSL_PARAM *rsa_params(const BIGNUM *n, const BIGNUM *e)
{
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    OSSL_PARAM *params = NULL;
    if (build && OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n) &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e))
        params = OSSL_PARAM_BLD_to_param(build);
    OSSL_PARAM_BLD_free(build);
    return params;
}

static EVP_PKEY *key_from(const char *type, OSSL_PARAM *params)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (!ctx || EVP_PKEY_fromdata_init(ctx) != 1 ||
        EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(ctx);
    return key;
}

static EVP_PKEY *rsa_key(cw_str n, cw_str e)
{
    BIGNUM *modulus = BN_bin2bn((const unsigned char *)n.p, (int)n.n, NULL);
    BIGNUM *exponent = BN_bin2bn((const unsigned char *)e.p, (int)e.n, NULL);
    OSSL_PARAM *params = modulus && exponent ? rsa_params(modulus, exponent) : NULL;
    EVP_PKEY *key = params ? key_from("RSA", params) : NULL;
    OSSL_PARAM_free(params);
    BN_free(modulus);
    BN_free(exponent);
    return key;
}

static cw_code make_rsa(const cw_json *source, cw_arena *scratch, cw_jwk *ret, const char **why)
{
    cw_str n, e;
    cw_code rc = read_bytes(source, CW_STR("n"), scratch, &n);
    if (!rc)
        rc = read_bytes(source, CW_STR("e"), scratch, &e);
    if (rc && rc != CW_PARSE)
        return rc;
    if (rc || !is_odd_number(n) || !is_odd_number(e))
        return leave_out(why, "its modulus or exponent is missing or malformed");
    if (bits_of(n) < CW_JWKS_RSA_MIN_BITS || bits_of(n) > CW_JWKS_RSA_MAX_BITS)
        return leave_out(why, "it has less than 2048 or more than 8192 bits");
    if (e.n > EXPONENT_MAX_BYTES || (e.n == 1 && e.p[0] == 1))
        return leave_out(why, "its exponent is 1 or too large");
    ret->algs = CW_JOSE_RS256 | CW_JOSE_PS256;
    ret->signature_bytes = n.n;
    ret->key = rsa_key(n, e);
    return made(ret);
}

/* ---- curves ---- */

typedef struct curve {
    const char *name;
    const char *group; /* OpenSSL's name */
    size_t bytes;      /* of a coordinate */
    cw_jose_alg alg;
} curve;

static const curve curves[] = {
    {"P-256", "prime256v1", 32, CW_JOSE_ES256},
    {"P-384", "secp384r1", COORDINATE_MAX_BYTES, CW_JOSE_ES384},
};

/* Whether OpenSSL found the point wrong, and not its memory short. */
static bool is_bad_point(void)
{
    bool is_bad = false;
    for (unsigned long e; (e = ERR_get_error());) {
        int why = ERR_GET_REASON(e);
        is_bad = is_bad || (ERR_GET_LIB(e) == ERR_LIB_EC &&
                            (why == EC_R_POINT_IS_NOT_ON_CURVE || why == EC_R_INVALID_ENCODING ||
                             why == EC_R_COORDINATES_OUT_OF_RANGE));
    }
    return is_bad;
}

static EVP_PKEY *curve_key(const curve *c, cw_str x, cw_str y)
{
    unsigned char point[1 + 2 * COORDINATE_MAX_BYTES] = {POINT_CONVERSION_UNCOMPRESSED};
    char group[16];
    memcpy(group, c->group, strlen(c->group) + 1); /* the params are not const */
    memcpy(point + 1, x.p, x.n);
    memcpy(point + 1 + x.n, y.p, y.n);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, 1 + x.n + y.n),
        OSSL_PARAM_construct_end(),
    };
    /* A point that is not on the curve is refused here. */
    return key_from("EC", params);
}

static const curve *find_curve(const cw_json *source)
{
    const cw_json *name = cw_json_get(source, CW_STR("crv"));
    for (size_t i = 0; i < CW_COUNT(curves) && cw_json_is(name, CW_JSON_STRING); i++) {
        if (cw_str_is(cw_json_text(name), curves[i].name))
            return &curves[i];
    }
    return NULL;
}

static cw_code make_ec(const cw_json *source, cw_arena *scratch, cw_jwk *ret, const char **why)
{
    cw_str x, y;
    const curve *c = find_curve(source);
    if (!c)
        return leave_out(why, "its curve is not supported");
    cw_code rc = read_bytes(source, CW_STR("x"), scratch, &x);
    if (!rc)
        rc = read_bytes(source, CW_STR("y"), scratch, &y);
    if (rc && rc != CW_PARSE)
        return rc;
    if (rc || x.n != c->bytes || y.n != c->bytes)
        return leave_out(why, "its point is missing or malformed");
    ret->algs = c->alg;
    ret->signature_bytes = 2 * c->bytes;
    ret->key = curve_key(c, x, y);
    if (!ret->key && is_bad_point())
        return leave_out(why, "its point is not on the curve");
    return made(ret);
}

static cw_code make_okp(const cw_json *source, cw_arena *scratch, cw_jwk *ret, const char **why)
{
    cw_str x;
    const cw_json *crv = cw_json_get(source, CW_STR("crv"));
    if (!cw_json_is(crv, CW_JSON_STRING) || !cw_str_is(cw_json_text(crv), "Ed25519"))
        return leave_out(why, "its curve is not supported");
    cw_code rc = read_bytes(source, CW_STR("x"), scratch, &x);
    if (rc && rc != CW_PARSE)
        return rc;
    if (rc || x.n != 32)
        return leave_out(why, "its point is missing or malformed");
    ret->algs = CW_JOSE_EDDSA;
    ret->signature_bytes = 64;
    ret->key =
        EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, (const unsigned char *)x.p, x.n);
    return made(ret);
}

/* ---- all kinds ---- */

static bool is_text(const cw_json *v, const char *text)
{
    return cw_json_is(v, CW_JSON_STRING) && cw_str_is(cw_json_text(v), text);
}

/* `key_ops` and `use` say what a key is for; both may be absent. */
static bool is_for_verifying(const cw_json *source)
{
    const cw_json *use = cw_json_get(source, CW_STR("use"));
    const cw_json *ops = cw_json_get(source, CW_STR("key_ops"));
    if (use && !is_text(use, "sig"))
        return false;
    if (!ops)
        return true;
    const cw_json *op = cw_json_is(ops, CW_JSON_ARRAY) ? cw_json_first(ops) : NULL;
    while (op && !is_text(op, "verify"))
        op = cw_json_next(op);
    return op != NULL;
}

/* What is wrong before looking at the numbers, or NULL. */
static const char *check_members(const cw_json *source, const cw_jwk *key)
{
    const cw_json *kid = cw_json_get(source, CW_STR("kid"));
    if (kid && (!key->kid.p || key->kid.n > CW_JWS_MAX_KID))
        return "its key id is not a text, or too long";
    if (!is_for_verifying(source))
        return "it is not for checking signatures";
    /* Whoever can read the set can sign with it. */
    if (cw_json_get(source, CW_STR("d")))
        return "it carries its private part";
    return NULL;
}

static cw_code make_key(const cw_json *source, cw_arena *scratch, cw_jwk *ret, const char **why)
{
    const cw_json *kty = cw_json_get(source, CW_STR("kty"));
    if (is_text(kty, "RSA"))
        return make_rsa(source, scratch, ret, why);
    if (is_text(kty, "EC"))
        return make_ec(source, scratch, ret, why);
    if (is_text(kty, "OKP"))
        return make_okp(source, scratch, ret, why);
    return leave_out(why, "its type is not supported");
}

/* Bind it to what it says itself and to what is allowed. */
static const char *restrict_algs(const cw_json *source, unsigned allowed, cw_jwk *key)
{
    const cw_json *alg = cw_json_get(source, CW_STR("alg"));
    cw_jose_alg own;
    if (alg) {
        if (!cw_json_is(alg, CW_JSON_STRING) || !cw_jose_alg_parse(cw_json_text(alg), &own))
            return "its algorithm is not supported";
        if (!(key->algs & own))
            return "its algorithm does not fit its type";
        key->algs = own;
    }
    key->algs &= allowed;
    return key->algs ? NULL : "its algorithm is not accepted for this issuer";
}

cw_code cw_jwk_make(const cw_json *source, unsigned allowed, cw_arena *scratch, cw_jwk *ret,
                    const char **why)
{
    *ret = (cw_jwk){0};
    if (!cw_json_is(source, CW_JSON_OBJECT))
        return leave_out(why, "it is not an object");
    const cw_json *kid = cw_json_get(source, CW_STR("kid"));
    if (cw_json_is(kid, CW_JSON_STRING))
        ret->kid = cw_json_text(kid);
    *why = check_members(source, ret);
    if (*why)
        return CW_DECLINED;
    cw_code rc = make_key(source, scratch, ret, why);
    if (rc)
        return rc;
    *why = restrict_algs(source, allowed, ret);
    if (!*why)
        return CW_OK;
    EVP_PKEY_free(ret->key);
    ret->key = NULL;
    return CW_DECLINED;
}
