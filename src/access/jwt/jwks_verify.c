/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jwks_verify.c - a signature against the keys of a set.
 *
 * A key is shared by all loops: nothing of it changes, what one check needs is made for it.
 */
#include <openssl/rsa.h>

#include "access/jwt/jwks_int.h"

#define COORDINATE_MAX 48u
/* SEQUENCE { INTEGER, INTEGER }, each with a byte in front that keeps it positive: below 128 bytes,
 * so that every length is one byte. */
#define DER_MAX (2u + 2u * (2u + 1u + COORDINATE_MAX))

static const char *digest_of(cw_jose_alg alg)
{
    switch (alg) {
    case CW_JOSE_RS256:
    case CW_JOSE_PS256:
    case CW_JOSE_ES256:
        return "SHA256";
    case CW_JOSE_ES384:
        return "SHA384";
    case CW_JOSE_EDDSA:
        return NULL; /* it has its own inside */
    }
    return NULL;
}

/* One number of `n` bytes as DER: the fewest bytes, and the first below 0x80. */
static size_t add_integer(unsigned char *out, const unsigned char *number, size_t n)
{
    while (n > 1 && !*number) {
        number++;
        n--;
    }
    size_t pad = *number >> 7;
    out[0] = 0x02;
    out[1] = (unsigned char)(n + pad);
    out[2] = 0;
    memcpy(out + 2 + pad, number, n);
    return 2 + pad + n;
}

/* r || s, whose length was checked, as OpenSSL wants it. */
static size_t to_der(cw_str raw, unsigned char out[DER_MAX])
{
    _Static_assert(DER_MAX - 2 < 128, "lengths of one byte");
    const unsigned char *r = (const unsigned char *)raw.p;
    size_t half = raw.n / 2;
    size_t n = add_integer(out + 2, r, half);
    n += add_integer(out + 2 + n, r + half, half);
    out[0] = 0x30;
    out[1] = (unsigned char)n;
    return 2 + n;
}

static bool set_pss(EVP_PKEY_CTX *ctx)
{
    return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, RSA_PSS_SALTLEN_DIGEST) == 1;
}

/* Forget OpenSSL's errors, of which other users of this thread must see nothing. */
static bool was_nomem(void)
{
    bool was = false;
    for (unsigned long e; (e = ERR_get_error());)
        was = was || ERR_GET_REASON(e) == ERR_R_MALLOC_FAILURE;
    return was;
}

/* Everything that does not depend on the token: it fails only without memory. */
static bool prepare(EVP_MD_CTX *ctx, const cw_jwk *key, cw_jose_alg alg)
{
    EVP_PKEY_CTX *options = NULL;
    return ctx &&
           EVP_DigestVerifyInit_ex(ctx, &options, digest_of(alg), NULL, NULL, key->key, NULL) ==
               1 &&
           (alg != CW_JOSE_PS256 || set_pss(options));
}

static bool check(EVP_MD_CTX *ctx, const cw_jws *jws)
{
    unsigned char der[DER_MAX];
    const unsigned char *signature = (const unsigned char *)jws->signature.p;
    size_t n = jws->signature.n;
    if (jws->alg & (CW_JOSE_ES256 | CW_JOSE_ES384)) {
        n = to_der(jws->signature, der);
        signature = der;
    }
    return EVP_DigestVerify(ctx, signature, n, (const unsigned char *)jws->signed_part.p,
                            jws->signed_part.n) == 1;
}

static cw_code verify_with(const cw_jwk *key, const cw_jws *jws, cw_token_reason *reason)
{
    /* Before anything is copied: the room for it depends on this length. */
    if (jws->signature.n != key->signature_bytes)
        return cw_token_refuse(reason, CW_TOKEN_SIGNATURE_LENGTH);
    ERR_clear_error();
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool is_ready = prepare(ctx, key, jws->alg);
    bool is_right = is_ready && check(ctx, jws);
    EVP_MD_CTX_free(ctx);
    if (was_nomem() || !is_ready)
        return CW_NOMEM;
    return is_right ? CW_OK : cw_token_refuse(reason, CW_TOKEN_SIGNATURE);
}

/* NULL with *reason: none. */
static const cw_jwk *find_by_id(const cw_jwks *set, const cw_jws *jws, cw_token_reason *reason)
{
    *reason = CW_TOKEN_NO_KEY;
    for (size_t i = 0; i < set->n; i++) {
        const cw_jwk *key = &set->keys[i];
        if (!key->kid.p || !cw_str_eq(key->kid, jws->kid))
            continue;
        if (key->algs & jws->alg)
            return key;
        *reason = CW_TOKEN_KEY_ALG;
    }
    return NULL;
}

/* The first that fits. To try more would let one made-up token cost as much as many. */
static const cw_jwk *find_first(const cw_jwks *set, const cw_jws *jws, cw_token_reason *reason,
                                bool *ret_is_only)
{
    const cw_jwk *first = NULL;
    *reason = CW_TOKEN_NO_KEY;
    *ret_is_only = true;
    for (size_t i = 0; i < set->n; i++) {
        const cw_jwk *key = &set->keys[i];
        if (!(key->algs & jws->alg))
            continue;
        bool is_fit = key->signature_bytes == jws->signature.n;
        if (is_fit && first)
            *ret_is_only = false;
        if (is_fit && !first)
            first = key;
        *reason = CW_TOKEN_SIGNATURE_LENGTH;
    }
    return first;
}

static const cw_jwk *find_key(const cw_jwks *set, const cw_jws *jws, cw_token_reason *reason,
                              bool *ret_is_only)
{
    *ret_is_only = true;
    return jws->kid.p ? find_by_id(set, jws, reason) : find_first(set, jws, reason, ret_is_only);
}

cw_code cw_jwks_has_key(const cw_jwks *set, const cw_jws *jws, cw_token_reason *reason)
{
    bool is_only;
    if (!find_key(set, jws, reason, &is_only))
        return CW_INVALID;
    *reason = CW_TOKEN_NONE;
    return CW_OK;
}

cw_code cw_jwks_verify(const cw_jwks *set, const cw_jws *jws, cw_token_reason *reason)
{
    bool is_only;
    const cw_jwk *key = find_key(set, jws, reason, &is_only);
    if (!key)
        return CW_INVALID;
    *reason = CW_TOKEN_NONE;
    cw_code rc = verify_with(key, jws, reason);
    if (rc == CW_INVALID && *reason == CW_TOKEN_SIGNATURE && !is_only)
        *reason = CW_TOKEN_SIGNATURE_NO_KID;
    return rc;
}
