/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal.c - rings of keys, and XChaCha20-Poly1305 over text that clients store. */
#include "access/seal.h"

#include <sodium.h>
#include <stdlib.h>

#include "access/credentials.h"
#include "base/clock.h"

#define NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG crypto_aead_xchacha20poly1305_ietf_ABYTES
#define ALPHABET sodium_base64_VARIANT_URLSAFE_NO_PADDING

/* ---- keys ---- */

static const cw_seal_ring *ring_of(const cw_seal *seal)
{
    const cw_seal_ring *ring = atomic_load_explicit(&seal->ring, memory_order_acquire);
    return ring ? ring : &seal->first;
}

cw_code cw_seal_init(cw_seal *seal, cw_err *err)
{
    cw_code rc = cw_secret_init(err);
    if (rc)
        return rc;
    seal->first = (cw_seal_ring){.n = 1};
    atomic_init(&seal->ring, NULL);
    randombytes_buf(seal->first.keys[0].bytes, CW_SEAL_KEY);
    return CW_OK;
}

cw_seal_key cw_seal_make_key(cw_str secret)
{
    cw_seal_key key = {.seals_from = 0};
    (void)crypto_generichash(key.bytes, sizeof key.bytes, (const unsigned char *)secret.p, secret.n,
                             NULL, 0);
    return key;
}

/* A time that has come is left out of the next ring: then sealing need not read the clock. */
static bool has_keys(const cw_seal_ring *ring, const cw_seal_key *keys, size_t n)
{
    bool is_same = ring->n == n;
    for (size_t i = 0; is_same && i < n; i++)
        is_same = memcmp(ring->keys[i].bytes, keys[i].bytes, CW_SEAL_KEY) == 0 &&
                  !ring->keys[i].seals_from == !keys[i].seals_from;
    return is_same;
}

cw_code cw_seal_set_keys(cw_seal *seal, const cw_seal_key *keys, size_t n, cw_err *err)
{
    if (has_keys(ring_of(seal), keys, n))
        return CW_OK;
    cw_seal_ring *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return cw_fail_nomem(err);
    fresh->n = n;
    memcpy(fresh->keys, keys, n * sizeof *keys);
    fresh->replaced = atomic_load_explicit(&seal->ring, memory_order_relaxed);
    atomic_store_explicit(&seal->ring, fresh, memory_order_release);
    return CW_OK;
}

void cw_seal_done(cw_seal *seal)
{
    cw_seal_ring *ring = atomic_load(&seal->ring);
    while (ring) {
        cw_seal_ring *older = ring->replaced;
        sodium_memzero(ring, sizeof *ring);
        free(ring);
        ring = older;
    }
    atomic_store(&seal->ring, NULL);
    sodium_memzero(&seal->first, sizeof seal->first);
}

const cw_seal_key *cw_seal_get_keys(const cw_seal *seal, size_t *ret_n)
{
    const cw_seal_ring *ring = ring_of(seal);
    *ret_n = ring->n;
    return ring->keys;
}

const cw_seal_key *cw_seal_get_current(const cw_seal *seal)
{
    const cw_seal_ring *ring = ring_of(seal);
    size_t i = 0;
    while (i + 1 < ring->n && ring->keys[i].seals_from && ring->keys[i].seals_from > cw_clock_ms())
        i++;
    return &ring->keys[i];
}

/* ---- texts ---- */

/* Seal `plain` with the nonce at the beginning of `box`, which has room for everything. */
static cw_code encrypt(const cw_seal_key *key, cw_str purpose, cw_str plain, unsigned char *box,
                       cw_arena *arena, cw_str *ret, cw_err *err)
{
    size_t n = NONCE + plain.n + TAG;
    size_t n_text = sodium_base64_encoded_len(n, ALPHABET);
    char *text = cw_arena_alloc(arena, n_text);
    if (!text)
        return cw_arena_fail(arena, err);
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt(
        box + NONCE, NULL, (const unsigned char *)plain.p, plain.n,
        (const unsigned char *)purpose.p, purpose.n, NULL, box, key->bytes);
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
    return encrypt(cw_seal_get_current(seal), purpose, plain, box, arena, ret, err);
}

/* The nonce is a keyed digest of the text, so different texts have different nonces. */
cw_code cw_seal_close_same(const cw_seal_key *key, cw_str purpose, cw_str plain, cw_arena *arena,
                           cw_str *ret, cw_err *err)
{
    unsigned char digest[CW_SEAL_DIGEST];
    unsigned char *box = cw_arena_alloc(arena, NONCE + plain.n + TAG);
    if (!box)
        return cw_arena_fail(arena, err);
    cw_seal_derive(key, purpose, plain, digest);
    memcpy(box, digest, NONCE);
    return encrypt(key, purpose, plain, box, arena, ret, err);
}

/* Keyed BLAKE2b. A key of its own, and the length of the purpose in front: no two inputs are equal. */
void cw_seal_derive(const cw_seal_key *key, cw_str purpose, cw_str text,
                    unsigned char out[CW_SEAL_DIGEST])
{
    static const unsigned char label[] = "causeway derived secrets";
    unsigned char own[CW_SEAL_DIGEST];
    uint64_t n = purpose.n;
    crypto_generichash_state state;
    (void)crypto_generichash(own, sizeof own, label, sizeof label, key->bytes, sizeof key->bytes);
    (void)crypto_generichash_init(&state, own, sizeof own, CW_SEAL_DIGEST);
    (void)crypto_generichash_update(&state, (const unsigned char *)&n, sizeof n);
    (void)crypto_generichash_update(&state, (const unsigned char *)purpose.p, purpose.n);
    (void)crypto_generichash_update(&state, (const unsigned char *)text.p, text.n);
    (void)crypto_generichash_final(&state, out, CW_SEAL_DIGEST);
    sodium_memzero(own, sizeof own);
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

/* The key of the ring that opens the box. NULL: none does. */
static const cw_seal_key *decrypt(const cw_seal_ring *ring, cw_str purpose,
                                  const unsigned char *box, size_t n, unsigned char *plain)
{
    for (size_t i = 0; i < ring->n; i++) {
        if (!crypto_aead_xchacha20poly1305_ietf_decrypt(plain, NULL, NULL, box + NONCE, n - NONCE,
                                                        (const unsigned char *)purpose.p, purpose.n,
                                                        box, ring->keys[i].bytes))
            return &ring->keys[i];
    }
    return NULL;
}

cw_code cw_seal_open_with(const cw_seal *seal, cw_str purpose, cw_str text, cw_arena *arena,
                          cw_str *ret, const cw_seal_key **ret_key)
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
    const cw_seal_key *key = decrypt(ring_of(seal), purpose, box, n, plain);
    if (!key)
        return CW_PARSE;
    *ret = cw_str_make((const char *)plain, n - NONCE - TAG);
    *ret_key = key;
    return CW_OK;
}

cw_code cw_seal_open(const cw_seal *seal, cw_str purpose, cw_str text, cw_arena *arena, cw_str *ret)
{
    const cw_seal_key *key;
    return cw_seal_open_with(seal, purpose, text, arena, ret, &key);
}

void cw_seal_digest(cw_str bytes, unsigned char out[CW_SEAL_DIGEST])
{
    (void)crypto_generichash(out, CW_SEAL_DIGEST, (const unsigned char *)bytes.p, bytes.n, NULL, 0);
}
