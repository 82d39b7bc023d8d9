/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal.c - XChaCha20-Poly1305 over text that clients store. */
#include "access/seal.h"

#include <sodium.h>

#include "access/credentials.h"

#define NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG crypto_aead_xchacha20poly1305_ietf_ABYTES
#define ALPHABET sodium_base64_VARIANT_URLSAFE_NO_PADDING

cw_code cw_seal_init(cw_seal *seal, cw_err *err)
{
    cw_code rc = cw_secret_init(err);
    if (!rc)
        randombytes_buf(seal->key, sizeof seal->key);
    return rc;
}

void cw_seal_init_from(cw_seal *seal, cw_str secret)
{
    (void)crypto_generichash(seal->key, sizeof seal->key, (const unsigned char *)secret.p, secret.n,
                             NULL, 0);
}

/* Seal `plain` with the nonce at the beginning of `box`, which has room for everything. */
static cw_code encrypt(const cw_seal *seal, cw_str purpose, cw_str plain, unsigned char *box,
                       cw_arena *arena, cw_str *ret, cw_err *err)
{
    size_t n = NONCE + plain.n + TAG;
    size_t n_text = sodium_base64_encoded_len(n, ALPHABET);
    char *text = cw_arena_alloc(arena, n_text);
    if (!text)
        return cw_arena_fail(arena, err);
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt(
        box + NONCE, NULL, (const unsigned char *)plain.p, plain.n,
        (const unsigned char *)purpose.p, purpose.n, NULL, box, seal->key);
    sodium_bin2base64(text, n_text, box, n, ALPHABET);
    *ret = cw_str_make(text, n_text - 1);
    return CW_OK;
}

cw_code cw_seal_close(const cw_seal *seal, cw_str purpose, cw_str plain, cw_arena *arena,
                      cw_str *ret, cw_err *err)
{
    unsigned char *box = cw_arena_alloc(arena, NONCE + plain.n + TAG);
    if (!box)
        return cw_arena_fail(arena, err);
    randombytes_buf(box, NONCE);
    return encrypt(seal, purpose, plain, box, arena, ret, err);
}

/* The nonce is a keyed digest of the text, so different texts have different nonces. */
cw_code cw_seal_close_same(const cw_seal *seal, cw_str purpose, cw_str plain, cw_arena *arena,
                           cw_str *ret, cw_err *err)
{
    unsigned char digest[CW_SEAL_DIGEST];
    unsigned char *box = cw_arena_alloc(arena, NONCE + plain.n + TAG);
    if (!box)
        return cw_arena_fail(arena, err);
    cw_seal_derive(seal, purpose, plain, digest);
    memcpy(box, digest, NONCE);
    return encrypt(seal, purpose, plain, box, arena, ret, err);
}

/* Keyed BLAKE2b. A key of its own, and the length of the purpose in front: no two inputs are equal. */
void cw_seal_derive(const cw_seal *seal, cw_str purpose, cw_str text,
                    unsigned char out[CW_SEAL_DIGEST])
{
    static const unsigned char label[] = "causeway derived secrets";
    unsigned char key[CW_SEAL_DIGEST];
    uint64_t n = purpose.n;
    crypto_generichash_state state;
    (void)crypto_generichash(key, sizeof key, label, sizeof label, seal->key, sizeof seal->key);
    (void)crypto_generichash_init(&state, key, sizeof key, CW_SEAL_DIGEST);
    (void)crypto_generichash_update(&state, (const unsigned char *)&n, sizeof n);
    (void)crypto_generichash_update(&state, (const unsigned char *)purpose.p, purpose.n);
    (void)crypto_generichash_update(&state, (const unsigned char *)text.p, text.n);
    (void)crypto_generichash_final(&state, out, CW_SEAL_DIGEST);
    sodium_memzero(key, sizeof key);
    sodium_memzero(&state, sizeof state);
}

/* libsodium's decoder takes bytes beyond ASCII for digits: a text would have several spellings. */
static bool is_ascii(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] >= 0x80)
            return false;
    }
    return true;
}

cw_code cw_seal_open(const cw_seal *seal, cw_str purpose, cw_str text, cw_arena *arena, cw_str *ret)
{
    size_t n;
    if (text.n < sodium_base64_encoded_len(NONCE + TAG, ALPHABET) - 1 || !is_ascii(text))
        return CW_PARSE;
    unsigned char *box = cw_arena_alloc(arena, text.n);
    unsigned char *plain = cw_arena_alloc(arena, text.n);
    if (!box || !plain)
        return cw_arena_code(arena);
    const char *end;
    if (sodium_base642bin(box, text.n, text.p, text.n, NULL, &n, &end, ALPHABET) ||
        end != text.p + text.n || n < NONCE + TAG)
        return CW_PARSE;
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(plain, NULL, NULL, box + NONCE, n - NONCE,
                                                   (const unsigned char *)purpose.p, purpose.n, box,
                                                   seal->key))
        return CW_PARSE;
    *ret = cw_str_make((const char *)plain, n - NONCE - TAG);
    return CW_OK;
}

void cw_seal_digest(cw_str bytes, unsigned char out[CW_SEAL_DIGEST])
{
    (void)crypto_generichash(out, CW_SEAL_DIGEST, (const unsigned char *)bytes.p, bytes.n, NULL, 0);
}
