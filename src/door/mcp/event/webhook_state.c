/* SPDX-License-Identifier: GPL-2.0-or-later */
/* webhook_state.c - the sealed state of a subscription, and signatures. */
#include "door/mcp/event/webhook_state.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>

#include "access/seal_rows.h"
#include "base/base64.h"
#include "base/hex.h"
#include "json/write.h"

#define DIGEST 32u
#define HASH_MAX 64u
#define ANSWER_MEMORY (1024u * 1024u)

cw_code cw_webhook_id(const cw_webhook_state *state, char out[CW_WEBHOOK_ID])
{
    CW_CLEANUP(cw_buf_done) cw_buf key;
    unsigned char digest[CW_SEAL_DIGEST];
    const cw_str parts[] = {state->owner, state->url, state->name, state->arguments};
    cw_buf_init(&key, CW_BUF_MAX);
    for (size_t i = 0; i < CW_COUNT(parts); i++) {
        cw_buf_add_u64(&key, parts[i].n);
        cw_buf_add_char(&key, ':');
        cw_buf_add(&key, parts[i]);
    }
    if (key.code)
        return key.code;
    cw_seal_digest(cw_buf_str(&key), digest);
    cw_hex_write(out, digest, sizeof digest);
    return CW_OK;
}

static void add_bytes(cw_json_writer *w, cw_str name, cw_str bytes)
{
    char text[CW_BASE64_TEXT(CW_WEBHOOK_SECRET_MAX)];
    size_t n = cw_base64_encode(bytes, text);
    cw_json_add_string_member(w, name, cw_str_make(text, n));
}

cw_code cw_webhook_seal(const cw_webhook_state *state, const cw_seal *seal, cw_arena *arena,
                        cw_str *ret, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_json_writer w;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("owner"), state->owner);
    cw_json_add_string_member(&w, CW_STR("url"), state->url);
    cw_json_add_string_member(&w, CW_STR("name"), state->name);
    cw_json_add_string_member(&w, CW_STR("arguments"), state->arguments);
    add_bytes(&w, CW_STR("secret"), state->secret);
    add_bytes(&w, CW_STR("old_secret"), state->old_secret);
    cw_json_add_string_member(&w, CW_STR("caller"), state->caller);
    cw_json_add_bool_member(&w, CW_STR("verified"), state->is_verified);
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, err);
    return rc ? rc : cw_seal_close(seal, CW_SEAL_WEBHOOK, cw_buf_str(&text), arena, ret, err);
}

static cw_str text_of(const cw_json *object, cw_str name)
{
    const cw_json *v = cw_json_get(object, name);
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
}

/* CW_PARSE: it is no base64; CW_NOMEM. */
static cw_code read_bytes(const cw_json *object, cw_str name, cw_arena *arena, cw_str *ret)
{
    cw_str text = text_of(object, name);
    size_t n;
    char *out = cw_arena_alloc(arena, CW_BASE64_BYTES(text.n) + 1);
    if (!out)
        return CW_NOMEM;
    if (!cw_base64_decode(text, CW_BASE64_PADDED, out, &n))
        return CW_PARSE;
    *ret = cw_str_make(out, n);
    return CW_OK;
}

cw_code cw_webhook_open(const cw_seal *seal, cw_str sealed, cw_arena *arena, cw_webhook_state *ret)
{
    cw_str plain;
    const cw_json *root;
    cw_code rc = cw_seal_open(seal, CW_SEAL_WEBHOOK, sealed, arena, &plain);
    if (!rc)
        rc = cw_json_read(plain, NULL, arena, &root, NULL, NULL);
    if (rc)
        return rc;
    *ret = (cw_webhook_state){
        .owner = text_of(root, CW_STR("owner")),
        .url = text_of(root, CW_STR("url")),
        .name = text_of(root, CW_STR("name")),
        .arguments = text_of(root, CW_STR("arguments")),
        .caller = text_of(root, CW_STR("caller")),
        .is_verified = cw_json_is(cw_json_get(root, CW_STR("verified")), CW_JSON_TRUE),
    };
    rc = read_bytes(root, CW_STR("secret"), arena, &ret->secret);
    return rc ? rc : read_bytes(root, CW_STR("old_secret"), arena, &ret->old_secret);
}

/* ---- callers ---- */

static void add_names(cw_json_writer *w, cw_str name, const cw_str *items, size_t n)
{
    cw_json_add_key(w, name);
    cw_json_open_array(w);
    for (size_t i = 0; i < n; i++)
        cw_json_add_string(w, items[i]);
    cw_json_close(w);
}

static void add_trust(cw_json_writer *w, cw_str name, const cw_trust *trust)
{
    char text[2 * CW_TRUST_ID + 1];
    if (!trust)
        return;
    cw_hex_write(text, trust->id, CW_TRUST_ID);
    cw_json_add_string_member(w, name, cw_str_from(text));
}

cw_str cw_webhook_caller_write(const cw_caller *caller, cw_arena *arena)
{
    const cw_caller_credential *c = cw_caller_credential_of(caller);
    CW_CLEANUP(cw_buf_done) cw_buf text;
    char hash[2 * HASH_MAX + 1];
    size_t n_scopes;
    const cw_str *scopes = cw_caller_scopes(caller, &n_scopes);
    cw_json_writer w;
    cw_hex_write(hash, (const unsigned char *)c->hash.p,
                 c->hash.n < HASH_MAX ? c->hash.n : HASH_MAX);
    cw_buf_init(&text, CW_BUF_MAX);
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("id"), cw_caller_id(caller));
    cw_json_add_string_member(&w, CW_STR("name"), cw_caller_name(caller));
    cw_json_add_i64_member(&w, CW_STR("kind"), (int64_t)c->kind);
    cw_json_add_string_member(&w, CW_STR("hash"), cw_str_from(hash));
    cw_json_add_string_member(&w, CW_STR("resource"), c->resource);
    cw_json_add_bool_member(&w, CW_STR("token"), cw_caller_has_token(caller));
    cw_json_add_i64_member(&w, CW_STR("expires"), cw_caller_expires(caller));
    add_trust(&w, CW_STR("issuer"), c->issuer);
    add_trust(&w, CW_STR("key"), c->key);
    add_names(&w, CW_STR("scopes"), scopes, n_scopes);
    add_names(&w, CW_STR("roles"), c->roles, c->n_roles);
    add_names(&w, CW_STR("granted"), c->granted, c->n_granted);
    cw_json_close(&w);
    if (cw_json_writer_end(&w, NULL))
        return (cw_str){NULL, 0};
    return cw_arena_dup_str(arena, cw_buf_str(&text));
}

/* CW_PARSE: it is no list of texts, or it is too long; CW_NOMEM. */
static cw_code read_names(const cw_json *object, cw_str name, cw_arena *arena, const cw_str **ret,
                          size_t *ret_n)
{
    const cw_json *list = cw_json_get(object, name);
    if (!cw_json_is(list, CW_JSON_ARRAY) || cw_json_count(list) > CW_CALLER_MAX_PERMISSIONS)
        return CW_PARSE;
    cw_str *items = cw_arena_calloc(arena, cw_json_count(list), sizeof *items);
    size_t n = 0;
    if (!items)
        return CW_NOMEM;
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) {
        if (!cw_json_is(v, CW_JSON_STRING))
            return CW_PARSE;
        items[n++] = cw_json_text(v);
    }
    *ret = items;
    *ret_n = n;
    return CW_OK;
}

/* CW_PARSE: it is no text of hexadecimal digits; CW_NOMEM. */
static cw_code read_hash(cw_str hex, cw_arena *arena, cw_str *ret)
{
    char *out = cw_arena_alloc(arena, hex.n / 2 + 1);
    if (!out)
        return CW_NOMEM;
    for (size_t i = 0; i + 1 < hex.n; i += 2) {
        int high = cw_hex_value(hex.p[i]), low = cw_hex_value(hex.p[i + 1]);
        if (high < 0 || low < 0)
            return CW_PARSE;
        out[i / 2] = (char)(high << 4 | low);
    }
    *ret = cw_str_make(out, hex.n / 2);
    return CW_OK;
}

static bool read_number(const cw_json *object, cw_str name, int64_t *ret)
{
    const cw_json *v = cw_json_get(object, name);
    return v && cw_json_to_i64(v, ret);
}

static cw_code read_credential(const cw_json *root, cw_arena *arena, cw_caller_credential *ret)
{
    int64_t kind;
    if (!read_number(root, CW_STR("kind"), &kind))
        return CW_PARSE;
    *ret = (cw_caller_credential){.kind = (cw_credential_kind)kind,
                                  .resource = text_of(root, CW_STR("resource"))};
    cw_code rc = read_hash(text_of(root, CW_STR("hash")), arena, &ret->hash);
    if (!rc)
        rc = read_names(root, CW_STR("roles"), arena, &ret->roles, &ret->n_roles);
    return rc ? rc : read_names(root, CW_STR("granted"), arena, &ret->granted, &ret->n_granted);
}

/* Set references to the trusts of a token of an issuer. A row without their ids is not trusted. */
static cw_code find_trust(const cw_json *root, cw_accounts *accounts, cw_arena *arena,
                          cw_caller_credential *ret)
{
    cw_str issuer, key;
    if (ret->kind != CW_CREDENTIAL_ISSUED_ACCOUNT && ret->kind != CW_CREDENTIAL_ISSUED_CLAIMS)
        return CW_OK;
    cw_code rc = read_hash(text_of(root, CW_STR("issuer")), arena, &issuer);
    if (!rc)
        rc = read_hash(text_of(root, CW_STR("key")), arena, &key);
    if (rc)
        return rc;
    if (issuer.n != CW_TRUST_ID || (key.n && key.n != CW_TRUST_ID))
        return CW_NOTFOUND;
    return cw_accounts_find_trust(accounts, (const unsigned char *)issuer.p,
                                  key.n ? (const unsigned char *)key.p : NULL, &ret->issuer,
                                  &ret->key);
}

cw_code cw_webhook_caller_read(cw_str text, cw_accounts *accounts, cw_arena *arena, cw_caller **ret)
{
    const cw_json *root;
    cw_caller_opts opts = {0};
    cw_code rc = cw_json_read(text, NULL, arena, &root, NULL, NULL);
    if (rc)
        return rc;
    opts.id = text_of(root, CW_STR("id"));
    opts.name = text_of(root, CW_STR("name"));
    opts.has_token = cw_json_is(cw_json_get(root, CW_STR("token")), CW_JSON_TRUE);
    rc = read_number(root, CW_STR("expires"), &opts.expires) ? CW_OK : (cw_code)CW_PARSE;
    if (!rc)
        rc = read_names(root, CW_STR("scopes"), arena, &opts.scopes, &opts.n_scopes);
    if (!rc)
        rc = read_credential(root, arena, &opts.credential);
    if (!rc)
        rc = find_trust(root, accounts, arena, &opts.credential);
    if (!rc)
        rc = cw_caller_new(&opts, ret, NULL);
    cw_trust_unref(opts.credential.issuer);
    cw_trust_unref(opts.credential.key);
    return rc;
}

/* ---- signatures ---- */

bool cw_webhook_secret_read(cw_str text, char out[CW_WEBHOOK_SECRET_MAX], size_t *ret_n)
{
    const cw_str prefix = CW_STR("whsec_");
    char bytes[CW_BASE64_BYTES(CW_BASE64_TEXT(CW_WEBHOOK_SECRET_MAX))];
    size_t n;
    if (!cw_str_starts(text, prefix) || text.n > prefix.n + CW_BASE64_TEXT(CW_WEBHOOK_SECRET_MAX) ||
        !cw_base64_decode(cw_str_make(text.p + prefix.n, text.n - prefix.n), CW_BASE64_OPTIONAL,
                          bytes, &n) ||
        n < CW_WEBHOOK_SECRET_MIN || n > CW_WEBHOOK_SECRET_MAX)
        return false;
    memcpy(out, bytes, n);
    *ret_n = n;
    return true;
}

bool cw_webhook_is_echo(cw_str answer, cw_str challenge)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    const cw_json *root;
    cw_arena_init(&arena, ANSWER_MEMORY);
    if (cw_json_read(answer, NULL, &arena, &root, NULL, NULL))
        return false;
    cw_str text = text_of(root, CW_STR("challenge"));
    return text.n == challenge.n && CRYPTO_memcmp(text.p, challenge.p, text.n) == 0;
}

bool cw_webhook_sign(cw_str secret, cw_str id, int64_t seconds, cw_str body,
                     char out[CW_WEBHOOK_SIGNATURE])
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n_digest = 0;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_buf_add(&text, id);
    cw_buf_printf(&text, ".%lld.", (long long)seconds);
    cw_buf_add(&text, body);
    if (text.code || !HMAC(EVP_sha256(), secret.p, (int)secret.n, (const unsigned char *)text.p,
                           text.n, digest, &n_digest))
        return false;
    memcpy(out, "v1,", 3);
    size_t n = cw_base64_encode(cw_str_make((const char *)digest, DIGEST), out + 3);
    out[3 + n] = '\0';
    return true;
}
