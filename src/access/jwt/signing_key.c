/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signing_key.c - private keys of OpenSSL, their public form as JWK, and signatures. */
#include "access/jwt/signing_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <sodium.h>

#define RSA_BITS 2048u
#define COORDINATE 32 /* bytes, of P-256 */
#define NUMBER_MAX 256u
#define SIGNATURE_MAX 256u

const char *cw_signing_key_alg_name(cw_jose_alg alg)
{
    return alg == CW_JOSE_ES256 ? "ES256" : "RS256";
}

static cw_code fail(cw_err *err)
{
    char text[128];
    ERR_error_string_n(ERR_get_error(), text, sizeof text);
    ERR_clear_error();
    return cw_fail(err, CW_INTERNAL, "a signing key cannot be used: %s", text);
}

/* .p is NULL without memory. */
static cw_str base64url(const void *bytes, size_t n, cw_arena *arena)
{
    size_t size = sodium_base64_encoded_len(n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    char *text = cw_arena_alloc(arena, size);
    if (text)
        sodium_bin2base64(text, size, bytes, n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return cw_str_make(text, text ? size - 1 : 0);
}

/* ---- a new key ---- */

/* A number of the key: padded to `width` bytes, or (0) as short as it can be. */
static cw_str number_of(EVP_PKEY *key, const char *name, int width, cw_arena *arena)
{
    BIGNUM *number = NULL;
    unsigned char bytes[NUMBER_MAX];
    if (!EVP_PKEY_get_bn_param(key, name, &number))
        return (cw_str){NULL, 0};
    int n = width ? width : BN_num_bytes(number);
    bool is_good = n <= (int)sizeof bytes && BN_bn2binpad(number, bytes, n) == n;
    BN_free(number);
    return is_good ? base64url(bytes, (size_t)n, arena) : (cw_str){NULL, 0};
}

/* The members of the key in the order of RFC 7638, without braces. */
static char *members_of(EVP_PKEY *key, cw_jose_alg alg, cw_arena *arena)
{
    bool is_ec = alg == CW_JOSE_ES256;
    cw_str a = number_of(key, is_ec ? OSSL_PKEY_PARAM_EC_PUB_X : OSSL_PKEY_PARAM_RSA_E,
                         is_ec ? COORDINATE : 0, arena);
    cw_str b = number_of(key, is_ec ? OSSL_PKEY_PARAM_EC_PUB_Y : OSSL_PKEY_PARAM_RSA_N,
                         is_ec ? COORDINATE : 0, arena);
    if (!a.p || !b.p)
        return NULL;
    return is_ec ? cw_arena_printf(arena,
                                   "\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"%s\",\"y\":\"%s\"",
                                   a.p, b.p)
                 : cw_arena_printf(arena, "\"e\":\"%s\",\"kty\":\"RSA\",\"n\":\"%s\"", a.p, b.p);
}

static cw_str thumbprint(const char *members, cw_arena *arena)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    char *text = cw_arena_printf(arena, "{%s}", members);
    if (!text)
        return (cw_str){NULL, 0};
    crypto_hash_sha256(digest, (const unsigned char *)text, strlen(text));
    return base64url(digest, sizeof digest, arena);
}

static cw_str der_of(EVP_PKEY *key, cw_arena *arena)
{
    PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key);
    int n = info ? i2d_PKCS8_PRIV_KEY_INFO(info, NULL) : 0;
    unsigned char *bytes = n > 0 ? cw_arena_alloc(arena, (size_t)n) : NULL;
    unsigned char *p = bytes;
    if (bytes)
        n = i2d_PKCS8_PRIV_KEY_INFO(info, &p);
    PKCS8_PRIV_KEY_INFO_free(info);
    return cw_str_make((const char *)bytes, bytes ? (size_t)n : 0);
}

static cw_code describe(EVP_PKEY *key, cw_arena *arena, cw_signing_key *ret, cw_err *err)
{
    const char *members = members_of(key, ret->alg, arena);
    ret->id = members ? thumbprint(members, arena) : (cw_str){NULL, 0};
    ret->secret = der_of(key, arena);
    char *jwk = ret->id.p
                    ? cw_arena_printf(arena, "{%s,\"kid\":\"%s\",\"alg\":\"%s\",\"use\":\"sig\"}",
                                      members, ret->id.p, cw_signing_key_alg_name(ret->alg))
                    : NULL;
    ret->jwk = cw_str_from(jwk);
    if (jwk && ret->secret.p)
        return CW_OK;
    return arena->failed ? cw_arena_fail(arena, err) : fail(err);
}

cw_code cw_signing_key_make(cw_jose_alg alg, cw_arena *arena, cw_signing_key *ret, cw_err *err)
{
    EVP_PKEY *key = alg == CW_JOSE_ES256 ? EVP_EC_gen("P-256") : EVP_RSA_gen(RSA_BITS);
    *ret = (cw_signing_key){.alg = alg};
    cw_code rc = key ? describe(key, arena, ret, err) : fail(err);
    EVP_PKEY_free(key);
    return rc;
}

/* ---- signatures ---- */

/* DER to r and s of equal length. */
static bool to_raw(unsigned char *signature, size_t *n)
{
    const unsigned char *p = signature;
    ECDSA_SIG *both = d2i_ECDSA_SIG(NULL, &p, (long)*n);
    bool is_good =
        both && BN_bn2binpad(ECDSA_SIG_get0_r(both), signature, COORDINATE) == COORDINATE &&
        BN_bn2binpad(ECDSA_SIG_get0_s(both), signature + COORDINATE, COORDINATE) == COORDINATE;
    ECDSA_SIG_free(both);
    *n = 2 * COORDINATE;
    return is_good;
}

static bool sign_text(const cw_signing_key *key, const char *text, unsigned char *out, size_t *n)
{
    const unsigned char *der = (const unsigned char *)key->secret.p;
    EVP_PKEY *own = d2i_AutoPrivateKey(NULL, &der, (long)key->secret.n);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool is_good = own && ctx &&
                   EVP_DigestSignInit_ex(ctx, NULL, "SHA256", NULL, NULL, own, NULL) == 1 &&
                   EVP_DigestSign(ctx, out, n, (const unsigned char *)text, strlen(text)) == 1;
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(own);
    return is_good && (key->alg != CW_JOSE_ES256 || to_raw(out, n));
}

cw_code cw_signing_key_sign(const cw_signing_key *key, const char *typ, cw_str claims,
                            cw_arena *arena, cw_str *ret, cw_err *err)
{
    unsigned char signature[SIGNATURE_MAX];
    size_t n = sizeof signature;
    char *header = cw_arena_printf(arena, "{\"alg\":\"%s\",\"typ\":\"%s\",\"kid\":\"%.*s\"}",
                                   cw_signing_key_alg_name(key->alg), typ, CW_STR_ARG(key->id));
    if (!header)
        return cw_arena_fail(arena, err);
    cw_str first = base64url(header, strlen(header), arena);
    cw_str second = base64url(claims.p, claims.n, arena);
    char *text = first.p && second.p ? cw_arena_printf(arena, "%s.%s", first.p, second.p) : NULL;
    if (!text)
        return cw_arena_fail(arena, err);
    if (!sign_text(key, text, signature, &n))
        return fail(err);
    cw_str third = base64url(signature, n, arena);
    char *token = third.p ? cw_arena_printf(arena, "%s.%s", text, third.p) : NULL;
    *ret = cw_str_from(token);
    return token ? CW_OK : cw_arena_fail(arena, err);
}
