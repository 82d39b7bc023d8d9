/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token_signer.c - make keys, key sets and signed tokens with OpenSSL. */
#include "support/token_signer.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/rsa.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(what)                                                                                 \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "signer: %s failed\n", #what);                                         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

const char *token_signer_alg_name(cw_jose_alg alg)
{
    switch (alg) {
    case CW_JOSE_RS256:
        return "RS256";
    case CW_JOSE_PS256:
        return "PS256";
    case CW_JOSE_ES256:
        return "ES256";
    case CW_JOSE_ES384:
        return "ES384";
    case CW_JOSE_EDDSA:
        return "EdDSA";
    }
    abort();
}

void token_signer_init(token_signer *s, cw_jose_alg alg, const char *kid)
{
    *s = (token_signer){.alg = alg, .kid = kid};
    if (alg & (CW_JOSE_RS256 | CW_JOSE_PS256))
        s->key = EVP_RSA_gen(2048);
    else if (alg == CW_JOSE_EDDSA)
        s->key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    else
        s->key = EVP_EC_gen(alg == CW_JOSE_ES256 ? "P-256" : "P-384");
    MUST(s->key);
}

void token_signer_done(token_signer *s)
{
    EVP_PKEY_free(s->key);
    s->key = NULL;
}

cw_str token_signer_text(cw_arena *arena, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = cw_arena_vprintf(arena, fmt, args);
    va_end(args);
    MUST(text);
    return cw_str_from(text);
}

cw_str token_signer_base64url(cw_str bytes, cw_arena *arena)
{
    size_t n = sodium_base64_encoded_len(bytes.n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    char *text = cw_arena_alloc(arena, n);
    MUST(text);
    sodium_bin2base64(text, n, (const unsigned char *)bytes.p, bytes.n,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return cw_str_make(text, n - 1);
}

/* A number of the key in base64url: padded to `width` bytes, or as short as it can be. */
static const char *number_of(const token_signer *s, const char *name, int width, cw_arena *arena)
{
    BIGNUM *number = NULL;
    unsigned char bytes[1024];
    MUST(EVP_PKEY_get_bn_param(s->key, name, &number));
    int n = width ? width : BN_num_bytes(number);
    MUST(BN_bn2binpad(number, bytes, n) == n);
    BN_free(number);
    return token_signer_base64url(cw_str_make((const char *)bytes, (size_t)n), arena).p;
}

cw_str token_signer_jwk(const token_signer *s, const char *more, cw_arena *arena)
{
    unsigned char raw[32];
    size_t n = sizeof raw;
    if (s->alg & (CW_JOSE_RS256 | CW_JOSE_PS256))
        return token_signer_text(arena,
                                 "{\"kty\":\"RSA\",\"kid\":\"%s\",\"n\":\"%s\",\"e\":\"%s\"%s}",
                                 s->kid, number_of(s, OSSL_PKEY_PARAM_RSA_N, 0, arena),
                                 number_of(s, OSSL_PKEY_PARAM_RSA_E, 0, arena), more);
    if (s->alg == CW_JOSE_EDDSA) {
        MUST(EVP_PKEY_get_raw_public_key(s->key, raw, &n));
        cw_str x = token_signer_base64url(cw_str_make((const char *)raw, n), arena);
        return token_signer_text(
            arena, "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"%s\",\"x\":\"%s\"%s}", s->kid,
            x.p, more);
    }
    int width = s->alg == CW_JOSE_ES256 ? 32 : 48;
    return token_signer_text(
        arena, "{\"kty\":\"EC\",\"crv\":\"%s\",\"kid\":\"%s\",\"x\":\"%s\",\"y\":\"%s\"%s}",
        s->alg == CW_JOSE_ES256 ? "P-256" : "P-384", s->kid,
        number_of(s, OSSL_PKEY_PARAM_EC_PUB_X, width, arena),
        number_of(s, OSSL_PKEY_PARAM_EC_PUB_Y, width, arena), more);
}

cw_str token_signer_key_set(const token_signer *all, size_t n, const char *more, cw_arena *arena)
{
    cw_str set = CW_STR("{\"keys\":[");
    for (size_t i = 0; i < n; i++)
        set = token_signer_text(arena, "%.*s%s%s", CW_STR_ARG(set), i ? "," : "",
                                token_signer_jwk(&all[i], more, arena).p);
    return token_signer_text(arena, "%.*s]}", CW_STR_ARG(set));
}

/* DER to r || s. */
static cw_str raw_of(cw_str der, int half, cw_arena *arena)
{
    const unsigned char *p = (const unsigned char *)der.p;
    ECDSA_SIG *both = d2i_ECDSA_SIG(NULL, &p, (long)der.n);
    unsigned char *raw = cw_arena_alloc(arena, (size_t)half * 2);
    MUST(both && raw);
    MUST(BN_bn2binpad(ECDSA_SIG_get0_r(both), raw, half) == half);
    MUST(BN_bn2binpad(ECDSA_SIG_get0_s(both), raw + half, half) == half);
    ECDSA_SIG_free(both);
    return cw_str_make((const char *)raw, (size_t)half * 2);
}

cw_str token_signer_sign(const token_signer *s, cw_str text, cw_arena *arena)
{
    static unsigned char out[1024];
    size_t n = sizeof out;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *options;
    const char *digest = s->alg == CW_JOSE_EDDSA   ? NULL
                         : s->alg == CW_JOSE_ES384 ? "SHA384"
                                                   : "SHA256";
    MUST(EVP_DigestSignInit_ex(ctx, &options, digest, NULL, NULL, s->key, NULL) == 1);
    if (s->alg == CW_JOSE_PS256) {
        MUST(EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1);
        MUST(EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) == 1);
    }
    MUST(EVP_DigestSign(ctx, out, &n, (const unsigned char *)text.p, text.n) == 1);
    EVP_MD_CTX_free(ctx);
    cw_str signature = cw_arena_dup_str(arena, cw_str_make((const char *)out, n));
    MUST(signature.p);
    if (s->alg & (CW_JOSE_ES256 | CW_JOSE_ES384))
        return raw_of(signature, s->alg == CW_JOSE_ES256 ? 32 : 48, arena);
    return signature;
}

cw_str token_signer_token(const token_signer *s, cw_str header, cw_str payload, cw_arena *arena)
{
    cw_str first = token_signer_base64url(header, arena),
           second = token_signer_base64url(payload, arena);
    cw_str text = token_signer_text(arena, "%s.%s", first.p, second.p);
    cw_str signature = token_signer_base64url(token_signer_sign(s, text, arena), arena);
    return token_signer_text(arena, "%s.%s", text.p, signature.p);
}
