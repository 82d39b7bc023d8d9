/* SPDX-License-Identifier: GPL-2.0-or-later */
/* refresh.c - refresh tokens: text, tag, and the step to the next one. */
#include "access/oauth/refresh.h"

#include <sodium.h>
#include <stdio.h>

#define GRANT 8u
#define GENERATION 4u
#define TAG 8u
#define BODY (GRANT + GENERATION + CW_REFRESH_SECRET)
#define HEAD (GRANT + GENERATION)

/* One key for each use, made of the server's key. */
static void key_for(const cw_seal_key *key, const char *use,
                    unsigned char out[crypto_auth_hmacsha256_KEYBYTES])
{
    crypto_generichash(out, crypto_auth_hmacsha256_KEYBYTES, (const unsigned char *)use,
                       strlen(use), key->bytes, sizeof key->bytes);
}

static void hmac(const cw_seal_key *from, const char *use, const unsigned char *bytes, size_t n,
                 unsigned char out[crypto_auth_hmacsha256_BYTES])
{
    unsigned char key[crypto_auth_hmacsha256_KEYBYTES];
    key_for(from, use, key);
    crypto_auth_hmacsha256(out, bytes, n, key);
    sodium_memzero(key, sizeof key);
}

static void write_number(uint64_t value, size_t n, unsigned char *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)(value >> (8 * (n - 1 - i)));
}

static uint64_t read_number(const unsigned char *p, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | p[i];
    return value;
}

static void write_body(const cw_refresh_token *token, unsigned char out[BODY])
{
    write_number((uint64_t)token->grant, GRANT, out);
    write_number(token->generation, GENERATION, out + GRANT);
    memcpy(out + HEAD, token->secret, CW_REFRESH_SECRET);
}

static void tag_of(const cw_seal_key *key, const unsigned char body[BODY],
                   unsigned char out[crypto_auth_hmacsha256_BYTES])
{
    hmac(key, "causeway refresh tag", body, BODY, out);
}

void cw_refresh_format(const cw_seal *seal, const cw_refresh_token *token,
                       char out[CW_REFRESH_LEN + 1])
{
    unsigned char bytes[BODY + TAG], tag[crypto_auth_hmacsha256_BYTES];
    write_body(token, bytes);
    tag_of(cw_seal_get_current(seal), bytes, tag);
    memcpy(bytes + BODY, tag, TAG);
    size_t n = (size_t)snprintf(out, CW_REFRESH_LEN + 1, "%s", CW_REFRESH_PREFIX);
    sodium_bin2base64(out + n, CW_REFRESH_LEN + 1 - n, bytes, sizeof bytes,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(bytes, sizeof bytes);
}

/* The key that has made the tag. NULL: none of the seal. */
static const cw_seal_key *find_key(const cw_seal *seal, const unsigned char bytes[BODY + TAG])
{
    unsigned char tag[crypto_auth_hmacsha256_BYTES];
    size_t n;
    const cw_seal_key *keys = cw_seal_get_keys(seal, &n);
    for (size_t i = 0; i < n; i++) {
        tag_of(&keys[i], bytes, tag);
        if (!sodium_memcmp(tag, bytes + BODY, TAG))
            return &keys[i];
    }
    return NULL;
}

bool cw_refresh_parse(const cw_seal *seal, cw_str text, cw_refresh_token *ret)
{
    unsigned char bytes[BODY + TAG];
    cw_str prefix = cw_str_from(CW_REFRESH_PREFIX);
    size_t n = 0;
    if (text.n != CW_REFRESH_LEN || !cw_str_starts(text, prefix) ||
        sodium_base642bin(bytes, sizeof bytes, text.p + prefix.n, text.n - prefix.n, NULL, &n, NULL,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) ||
        n != sizeof bytes)
        return false;
    ret->key = find_key(seal, bytes);
    if (!ret->key)
        return false;
    ret->grant = (int64_t)read_number(bytes, GRANT);
    ret->generation = (uint32_t)read_number(bytes + GRANT, GENERATION);
    memcpy(ret->secret, bytes + HEAD, CW_REFRESH_SECRET);
    sodium_memzero(bytes, sizeof bytes);
    return true;
}

cw_refresh_token cw_refresh_next(const cw_seal *seal, const cw_refresh_token *token)
{
    _Static_assert(CW_REFRESH_SECRET == crypto_auth_hmacsha256_BYTES, "a secret is one HMAC");
    cw_refresh_token next = *token;
    unsigned char body[BODY];
    next.generation++;
    write_body(&next, body);
    hmac(token->key ? token->key : cw_seal_get_current(seal), "causeway refresh secret", body,
         sizeof body, next.secret);
    sodium_memzero(body, sizeof body);
    return next;
}

void cw_refresh_digest(const cw_refresh_token *token, unsigned char out[CW_DIGEST])
{
    crypto_hash_sha256(out, token->secret, sizeof token->secret);
}
