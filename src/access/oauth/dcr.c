/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dcr.c - registrations as sealed ids. */
#include "access/oauth/dcr.h"

#include <sodium.h>

#include "access/oauth/registration.h"
#include "base/buf.h"

#define PURPOSE CW_STR("dcr")
#define PURPOSE_SECRET CW_STR("dcr secret")
#define BAD_METADATA "invalid_client_metadata"
#define BAD_REDIRECT "invalid_redirect_uri"
#define PLAIN_MAX CW_OAUTH_MAX_ID
#define PUBLIC 'p'
#define CONFIDENTIAL 's'

/* ---- ids ----
 *
 * Sealed is one letter for the authentication, the name, and the URIs, each behind a NUL. None of
 * them has control characters. */

static cw_code make_id(const cw_seal *seal, cw_oauth_client *client, cw_arena *arena, cw_err *err)
{
    cw_str text;
    cw_buf plain;
    cw_buf_init(&plain, PLAIN_MAX);
    cw_buf_add_char(&plain, client->has_secret ? CONFIDENTIAL : PUBLIC);
    cw_buf_add(&plain, client->name);
    for (size_t i = 0; i < client->n_redirect_uris; i++) {
        cw_buf_add_char(&plain, '\0');
        cw_buf_add(&plain, client->redirect_uris[i]);
    }
    client->key = cw_seal_get_current(seal);
    cw_code rc = plain.code == CW_LIMIT ? CW_PARAMS : plain.code;
    if (!rc)
        rc = cw_seal_close_same(client->key, PURPOSE, cw_buf_str(&plain), arena, &text, err);
    cw_buf_done(&plain);
    if (!rc && text.n + sizeof CW_OAUTH_DYNAMIC_PREFIX > CW_OAUTH_MAX_ID)
        rc = CW_PARAMS;
    if (rc == CW_PARAMS)
        return cw_fail(err, CW_PARAMS, "name and redirect_uris are too long altogether");
    if (rc)
        return cw_fail_nomem(err);
    char *id = cw_arena_printf(arena, CW_OAUTH_DYNAMIC_PREFIX "%.*s", CW_STR_ARG(text));
    client->id = cw_str_from(id);
    return id ? CW_OK : cw_arena_fail(arena, err);
}

void cw_dcr_secret(const cw_oauth_client *client, char out[CW_DCR_SECRET + 1])
{
    unsigned char digest[CW_SEAL_DIGEST];
    cw_seal_derive(client->key, PURPOSE_SECRET, client->id, digest);
    sodium_bin2base64(out, CW_DCR_SECRET + 1, digest, sizeof digest,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(digest, sizeof digest);
}

static void hash_secret(cw_oauth_client *client)
{
    char secret[CW_DCR_SECRET + 1];
    cw_dcr_secret(client, secret);
    crypto_hash_sha256(client->secret, (const unsigned char *)secret, CW_DCR_SECRET);
    sodium_memzero(secret, sizeof secret);
}

cw_code cw_dcr_open(const cw_seal *seal, cw_str id, cw_arena *arena, cw_oauth_client *ret)
{
    const cw_str prefix = CW_STR(CW_OAUTH_DYNAMIC_PREFIX);
    cw_str plain, rest;
    if (id.n > CW_OAUTH_MAX_ID || !cw_str_starts(id, prefix))
        return CW_NOTFOUND;
    const cw_seal_key *key = NULL;
    cw_code rc = cw_seal_open_with(seal, PURPOSE, cw_str_make(id.p + prefix.n, id.n - prefix.n),
                                   arena, &plain, &key);
    if (rc || plain.n == 0)
        return rc == CW_NOMEM || rc == CW_LIMIT ? CW_NOMEM : CW_NOTFOUND;
    cw_str *uris = cw_arena_calloc(arena, CW_REDIRECT_LIST, sizeof *uris);
    *ret = (cw_oauth_client){.kind = CW_OAUTH_DYNAMIC,
                             .id = cw_arena_dup_str(arena, id),
                             .has_secret = plain.p[0] == CONFIDENTIAL,
                             .key = key,
                             .may_refresh = true};
    if (!uris || !ret->id.p)
        return CW_NOMEM;
    ret->name = cw_str_cut(cw_str_make(plain.p + 1, plain.n - 1), '\0', &rest);
    while (rest.p && ret->n_redirect_uris < CW_REDIRECT_LIST)
        uris[ret->n_redirect_uris++] = cw_str_cut(rest, '\0', &rest);
    ret->redirect_uris = uris;
    if (ret->has_secret)
        hash_secret(ret);
    return CW_OK;
}

/* ---- registrations ---- */

/* RFC 7591 has client_secret_basic as the default. */
static cw_code read_method(const cw_json *metadata, cw_oauth_client *ret, cw_err *err)
{
    const cw_json *member = cw_json_get(metadata, CW_STR("token_endpoint_auth_method"));
    cw_str method = cw_json_is(member, CW_JSON_STRING) ? cw_json_text(member) : CW_STR("");
    ret->has_secret = !member || cw_str_is(method, "client_secret_basic") ||
                      cw_str_is(method, "client_secret_post");
    if (ret->has_secret || cw_str_is(method, "none"))
        return CW_OK;
    return cw_fail(err, CW_PARAMS,
                   "token_endpoint_auth_method must be none, client_secret_basic or "
                   "client_secret_post");
}

static cw_code read_redirects(const cw_json *metadata, const cw_redirect_rules *rules,
                              cw_arena *arena, cw_oauth_client *ret, cw_err *err)
{
    const char *problem;
    cw_code rc = cw_registration_redirects(metadata, rules, arena, ret, &problem, err);
    if (rc || ret->n_redirect_uris)
        return rc;
    return cw_fail(err, CW_PARAMS, "none of redirect_uris can be used; of the first one: %s",
                   problem);
}

cw_code cw_dcr_register(const cw_seal *seal, cw_str body, const cw_redirect_rules *rules,
                        cw_arena *arena, cw_oauth_client *ret, const char **ret_error, cw_err *err)
{
    const cw_json *metadata = NULL;
    *ret_error = BAD_METADATA;
    if (body.n > CW_DCR_MAX_BYTES)
        return cw_fail(err, CW_PARAMS, "the registration has more than %u bytes", CW_DCR_MAX_BYTES);
    cw_code rc = cw_json_read(body, NULL, arena, &metadata, NULL, NULL);
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    if (rc || !cw_json_is(metadata, CW_JSON_OBJECT))
        return cw_fail(err, CW_PARAMS, "the registration is no JSON object");
    *ret = (cw_oauth_client){.kind = CW_OAUTH_DYNAMIC, .may_refresh = true};
    rc = read_method(metadata, ret, err);
    if (rc)
        return rc;
    *ret_error = BAD_REDIRECT;
    rc = read_redirects(metadata, rules, arena, ret, err);
    if (rc)
        return rc;
    *ret_error = BAD_METADATA;
    ret->name = cw_registration_name(metadata, arena);
    rc = ret->name.p ? make_id(seal, ret, arena, err) : cw_arena_fail(arena, err);
    if (!rc && ret->has_secret)
        hash_secret(ret);
    return rc;
}
