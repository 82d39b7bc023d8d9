/* SPDX-License-Identifier: GPL-2.0-or-later */
/* credentials.c - Argon2id hashes, random tokens, and the Authorization header. */
#include "access/credentials.h"

#include <sodium.h>
#include <stdio.h>

#include "base/random.h"
#include "base/utf8.h"

#define TOKEN_BYTES 32u
#define JWT_BEGIN "eyJ" /* base64url of {" */
#define JWT_MAX 16384u
#define OPS crypto_pwhash_argon2id_OPSLIMIT_INTERACTIVE
#define MEMORY crypto_pwhash_argon2id_MEMLIMIT_INTERACTIVE

#define KEPT_BYTES 32u
/* How the text form of such a hash begins; salt and hash follow. */
#define FORM "$argon2id$v=19$m=65536,t=2,p=1$"
/* The hash for an account that does not exist: no password matches it. */
#define NO_ACCOUNT FORM "AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static unsigned char digest_key[crypto_generichash_KEYBYTES];
static unsigned char tag_key[crypto_shorthash_siphashx24_KEYBYTES];

cw_code cw_secret_init(cw_err *err)
{
    static bool has_key;
    if (sodium_init() < 0)
        return cw_fail(err, CW_IO, "libsodium cannot be used on this system");
    cw_code rc = has_key ? CW_OK : cw_random_bytes(digest_key, sizeof digest_key, err);
    if (!rc && !has_key)
        rc = cw_random_bytes(tag_key, sizeof tag_key, err);
    has_key = !rc;
    return rc;
}

/* ---- passwords ---- */

cw_code cw_password_hash(cw_str password, char out[CW_PASSWORD_HASH], cw_err *err)
{
    _Static_assert(CW_PASSWORD_HASH == crypto_pwhash_argon2id_STRBYTES, "room for the text form");
    if (password.n == 0 || password.n > CW_PASSWORD_MAX)
        return cw_fail(err, CW_LIMIT, "a password has 1 to %u bytes", CW_PASSWORD_MAX);
    if (crypto_pwhash_argon2id_str(out, password.p, password.n, OPS, MEMORY))
        return cw_fail_nomem(err);
    return CW_OK;
}

typedef struct kept_hash {
    unsigned char salt[crypto_pwhash_argon2id_SALTBYTES];
    unsigned char hash[KEPT_BYTES];
} kept_hash;

/* Unpadded base64 up to `stop`; what follows it, or NULL when it is not `n` bytes. */
static const char *decode(const char *text, char stop, unsigned char *out, size_t n)
{
    const char *end;
    size_t got = 0;
    int rc = sodium_base642bin(out, n, text, strlen(text), NULL, &got, &end,
                               sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    return rc == 0 && got == n && *end == stop ? end + (stop != 0) : NULL;
}

/* False: it was not made with our parameters. */
static bool split_hash(const char *text, kept_hash *ret)
{
    _Static_assert(OPS == 2 && MEMORY == 65536 << 10, "FORM says so too");
    if (!cw_str_starts(cw_str_from(text), CW_STR(FORM)))
        return false;
    const char *rest = decode(text + sizeof FORM - 1, '$', ret->salt, sizeof ret->salt);
    return rest && decode(rest, 0, ret->hash, sizeof ret->hash);
}

/* Not crypto_pwhash_str_verify, where it can be helped: that one finds every password wrong when
 * there is no memory. */
cw_code cw_password_verify(const char *hash, cw_str password, bool *ret)
{
    const char *text = hash[0] ? hash : NO_ACCOUNT;
    kept_hash kept;
    unsigned char own[KEPT_BYTES];
    if (!split_hash(text, &kept)) {
        *ret = crypto_pwhash_argon2id_str_verify(text, password.p, password.n) == 0;
        return CW_OK;
    }
    if (crypto_pwhash_argon2id(own, sizeof own, password.p, password.n, kept.salt, OPS, MEMORY,
                               crypto_pwhash_argon2id_ALG_ARGON2ID13))
        return CW_NOMEM;
    *ret = sodium_memcmp(own, kept.hash, sizeof own) == 0 && hash[0];
    sodium_memzero(own, sizeof own);
    return CW_OK;
}

/* ---- tokens ---- */

static cw_code make(const char *prefix, char *out, size_t size, cw_err *err)
{
    unsigned char bytes[TOKEN_BYTES];
    cw_code rc = cw_random_bytes(bytes, sizeof bytes, err);
    if (rc)
        return rc;
    size_t n = (size_t)snprintf(out, size, "%s", prefix);
    sodium_bin2base64(out + n, size - n, bytes, sizeof bytes,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(bytes, sizeof bytes);
    return CW_OK;
}

/* False: another prefix, another length, or not base64url. */
static bool digest(const char *prefix, size_t length, cw_str token, unsigned char out[CW_DIGEST])
{
    unsigned char bytes[TOKEN_BYTES];
    size_t n = 0, begin = strlen(prefix);
    if (token.n != length || !cw_str_starts(token, cw_str_make(prefix, begin)))
        return false;
    if (sodium_base642bin(bytes, sizeof bytes, token.p + begin, token.n - begin, NULL, &n, NULL,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) ||
        n != sizeof bytes)
        return false;
    crypto_hash_sha256(out, (const unsigned char *)token.p, token.n);
    sodium_memzero(bytes, sizeof bytes);
    return true;
}

cw_code cw_token_make(char out[CW_TOKEN_LEN + 1], cw_err *err)
{
    return make(CW_TOKEN_PREFIX, out, CW_TOKEN_LEN + 1, err);
}

bool cw_token_digest(cw_str token, unsigned char out[CW_DIGEST])
{
    return digest(CW_TOKEN_PREFIX, CW_TOKEN_LEN, token, out);
}

cw_code cw_access_token_make(const char *prefix, char out[CW_ACCESS_TOKEN_LEN + 1], cw_err *err)
{
    return make(prefix, out, CW_ACCESS_TOKEN_LEN + 1, err);
}

bool cw_access_token_digest(const char *prefix, cw_str token, unsigned char out[CW_DIGEST])
{
    return digest(prefix, CW_ACCESS_TOKEN_LEN, token, out);
}

/* Whether it can be a JWT: a header, claims and a signature. */
static bool is_like_jwt(cw_str token)
{
    size_t dots = 0;
    if (token.n > JWT_MAX || !cw_str_starts(token, CW_STR(JWT_BEGIN)))
        return false;
    for (size_t i = 0; i < token.n; i++)
        dots += token.p[i] == '.';
    return dots == 2;
}

bool cw_access_token_digest_any(cw_str token, unsigned char out[CW_DIGEST])
{
    if (cw_access_token_digest(CW_ACCESS_TOKEN_PREFIX, token, out))
        return true;
    if (!is_like_jwt(token))
        return false;
    crypto_hash_sha256(out, (const unsigned char *)token.p, token.n);
    return true;
}

/* ---- headers ---- */

/* The text behind "SCHEME ", in any case; .p is NULL for another scheme. */
static cw_str after_scheme(cw_str header, cw_str scheme)
{
    if (header.n <= scheme.n || header.p[scheme.n] != ' ' ||
        !cw_str_ieq(cw_str_make(header.p, scheme.n), scheme))
        return (cw_str){NULL, 0};
    return cw_str_trim(cw_str_make(header.p + scheme.n, header.n - scheme.n));
}

static bool split_pair(cw_str pair, cw_credentials *ret)
{
    cw_str password;
    cw_str name = cw_str_cut(pair, ':', &password);
    if (!password.p || password.n > sizeof ret->password || !cw_account_name_is_valid(name))
        return false;
    memcpy(ret->name, name.p, name.n);
    memcpy(ret->password, password.p, password.n);
    ret->n_name = name.n;
    ret->n_password = password.n;
    return true;
}

static bool parse_basic(cw_str text, cw_credentials *ret)
{
    char pair[CW_DB_MAX_NAME + 1 + CW_PASSWORD_MAX];
    size_t n = 0;
    ret->kind = CW_CREDENTIALS_PASSWORD;
    int rc = sodium_base642bin((unsigned char *)pair, sizeof pair, text.p, text.n, NULL, &n, NULL,
                               sodium_base64_VARIANT_ORIGINAL);
    bool is_good = rc == 0 && split_pair(cw_str_make(pair, n), ret);
    sodium_memzero(pair, sizeof pair);
    return is_good;
}

bool cw_credentials_is_basic(cw_str header)
{
    return after_scheme(header, CW_STR("Basic")).p != NULL;
}

bool cw_credentials_basic_pair(cw_str header, cw_arena *arena, cw_str *ret_id, cw_str *ret_secret)
{
    cw_str text = after_scheme(header, CW_STR("Basic"));
    unsigned char *pair = text.p ? cw_arena_alloc(arena, text.n + 1) : NULL;
    size_t n = 0;
    if (!pair || sodium_base642bin(pair, text.n + 1, text.p, text.n, NULL, &n, NULL,
                                   sodium_base64_VARIANT_ORIGINAL))
        return false;
    *ret_id = cw_str_cut(cw_str_make((const char *)pair, n), ':', ret_secret);
    return ret_secret->p != NULL;
}

cw_str cw_credentials_bearer(cw_str header)
{
    return after_scheme(header, CW_STR("Bearer"));
}

bool cw_credentials_parse(cw_str header, cw_credentials *ret)
{
    cw_str basic = after_scheme(header, CW_STR("Basic"));
    if (basic.p)
        return parse_basic(basic, ret);
    cw_str token = after_scheme(header, CW_STR("Bearer"));
    ret->kind = CW_CREDENTIALS_ACCESS_TOKEN;
    if (token.p && cw_access_token_digest_any(token, ret->token))
        return true;
    ret->kind = CW_CREDENTIALS_TOKEN;
    return token.p && cw_token_digest(token, ret->token);
}

void cw_credentials_key(const cw_credentials *c, unsigned char out[CW_DIGEST])
{
    crypto_generichash_state state;
    const unsigned char kind = (unsigned char)c->kind;
    crypto_generichash_init(&state, digest_key, sizeof digest_key, CW_DIGEST);
    crypto_generichash_update(&state, &kind, 1);
    if (c->kind != CW_CREDENTIALS_PASSWORD) {
        crypto_generichash_update(&state, c->token, sizeof c->token);
    } else {
        /* No name has a colon, so that two pairs never have the same bytes. */
        crypto_generichash_update(&state, (const unsigned char *)c->name, c->n_name);
        crypto_generichash_update(&state, (const unsigned char *)":", 1);
        crypto_generichash_update(&state, (const unsigned char *)c->password, c->n_password);
    }
    crypto_generichash_final(&state, out, CW_DIGEST);
    sodium_memzero(&state, sizeof state);
}

void cw_credentials_wipe(cw_credentials *c)
{
    sodium_memzero(c, sizeof *c);
}

bool cw_account_name_is_valid(cw_str name)
{
    if (name.n == 0 || name.n > CW_DB_MAX_NAME || cw_str_is(name, "anonymous"))
        return false;
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (c < ' ' || c == 0x7F || c == ':')
            return false;
    }
    return cw_utf8_is_valid(name);
}

/* ---- digests ---- */

void cw_secret_tag(cw_str bytes, unsigned char out[CW_DIGEST])
{
    memset(out, 0, CW_DIGEST);
    crypto_shorthash_siphashx24(out, (const unsigned char *)bytes.p, bytes.n, tag_key);
}

void cw_secret_digest(cw_str bytes, unsigned char out[CW_DIGEST])
{
    crypto_generichash(out, CW_DIGEST, (const unsigned char *)bytes.p, bytes.n, digest_key,
                       sizeof digest_key);
}

void cw_password_id(cw_str stored, unsigned char out[CW_DIGEST])
{
    static const char purpose[] = "causeway password";
    crypto_hash_sha256_state id;
    crypto_hash_sha256_init(&id);
    crypto_hash_sha256_update(&id, (const unsigned char *)purpose, sizeof purpose);
    crypto_hash_sha256_update(&id, (const unsigned char *)stored.p, stored.n);
    crypto_hash_sha256_final(&id, out);
}

bool cw_secret_equal(const unsigned char a[CW_DIGEST], const unsigned char b[CW_DIGEST])
{
    return sodium_memcmp(a, b, CW_DIGEST) == 0;
}
