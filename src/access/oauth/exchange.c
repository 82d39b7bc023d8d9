/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exchange.c - checks and changes of the token and revocation endpoints. */
#include "access/oauth/exchange_int.h"

#include <sodium.h>

#include "access/oauth/assertion.h"
#include "access/oauth/dcr.h"
#include "access/oauth/keys.h"
#include "base/digits.h"
#include "base/log.h"
#include "base/random.h"
#include "json/write.h"

#define CLAIMS_MAX 8192u
#define VERIFIER_MIN 43u
#define VERIFIER_MAX 128u
#define CHALLENGE 43u /* characters: SHA-256 in base64url */

typedef cw_oauth_exchange_op exchange;

cw_code cw_oauth_exchange_refuse(const exchange *x, cw_oauth_error error, const char *description)
{
    x->ret->error = error;
    x->ret->description = description;
    return CW_OK;
}

/* ---- clients ---- */

static const cw_oauth_client *find_configured(const cw_oauth_settings *settings, cw_str id)
{
    for (size_t i = 0; i < settings->n_clients; i++) {
        if (cw_str_eq(settings->clients[i].id, id))
            return &settings->clients[i];
    }
    return NULL;
}

static cw_code read_row(const cw_db_oauth_client *row, cw_arena *arena, cw_oauth_client *ret,
                        cw_err *err)
{
    if (row->denied)
        return CW_NOTFOUND;
    cw_code rc = cw_oauth_client_parse(row->record, arena, ret, err);
    if (rc)
        return rc;
    ret->has_secret = row->has_secret;
    memcpy(ret->secret, row->secret, sizeof ret->secret);
    return CW_OK;
}

cw_code cw_oauth_client_find(cw_db *db, const cw_oauth_settings *settings, cw_str id,
                             cw_arena *arena, cw_oauth_client *ret, cw_err *err)
{
    cw_db_oauth_client *row = NULL;
    const cw_oauth_client *configured = find_configured(settings, id);
    if (id.n == 0 || id.n > CW_OAUTH_MAX_ID)
        return CW_NOTFOUND;
    cw_code rc = cw_db_find_oauth_client(db, id, arena, &row, err);
    if (rc)
        return rc;
    if (row)
        return read_row(row, arena, ret, err);
    if (configured) {
        *ret = *configured;
        return CW_OK;
    }
    if (cw_str_starts(id, CW_STR(CW_OAUTH_DYNAMIC_PREFIX)))
        return settings->is_dynamic ? cw_dcr_open(settings->seal, id, arena, ret) : CW_NOTFOUND;
    bool is_document =
        settings->has_documents && cw_str_starts(id, CW_STR(CW_OAUTH_DOCUMENT_PREFIX));
    return is_document ? CW_DECLINED : CW_NOTFOUND;
}

static bool is_confidential(const cw_oauth_client *client)
{
    return client->has_secret || client->jwks.n;
}

/* Whether the client authenticated as it is registered, its assertion aside. */
static bool has_authenticated(const cw_oauth_client *client, const cw_oauth_token_request *r)
{
    unsigned char digest[CW_DIGEST];
    cw_str secret = r->client_secret;
    if ((client->jwks.n > 0) != (r->assertion.n > 0))
        return false;
    if (!client->has_secret || !secret.n)
        return !client->has_secret && !secret.n;
    crypto_hash_sha256(digest, (const unsigned char *)secret.p, secret.n);
    return cw_secret_equal(digest, client->secret);
}

#define BAD_CLIENT "The client, its secret or its assertion is not known"

/* It is used up in any case: a client signs a new one for each request. */
static cw_code use_assertion(const exchange *x, cw_err *err)
{
    cw_assertion assertion;
    cw_err why = {0};
    cw_code rc = cw_assertion_check(x->request->assertion, &x->client, x->request->issuer, x->now,
                                    x->arena, &assertion, &why);
    if (!rc) {
        rc = cw_db_use_oauth_assertion(x->db, assertion.digest, assertion.until, x->now, err);
        if (rc == CW_DONE)
            rc = cw_fail(&why, CW_INVALID, "its \"jti\" was used before");
    }
    if (rc != CW_INVALID)
        return rc ? cw_fail(err, rc, "%s", why.msg[0] ? why.msg : cw_code_text(rc)) : CW_OK;
    cw_log(CW_LOG_DEBUG, "access", "a client assertion was rejected", CW_KV("client", x->client.id),
           CW_KV("why", cw_str_from(why.msg)));
    return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_CLIENT, BAD_CLIENT);
}

/* A document is not fetched here: the code or the grant has a copy of it, and only public clients have
 * one. */
cw_code cw_oauth_exchange_authenticate(exchange *x, cw_err *err)
{
    const cw_oauth_token_request *r = x->request;
    cw_code rc = cw_oauth_client_find(x->db, x->settings, r->client_id, x->arena, &x->client, err);
    if (rc == CW_DECLINED) {
        x->client = (cw_oauth_client){.kind = CW_OAUTH_DOCUMENT, .id = r->client_id};
        rc = CW_OK;
    }
    if (rc && rc != CW_NOTFOUND)
        return rc;
    x->ret->client_id = r->client_id;
    x->ret->is_registered = !rc && x->client.kind == CW_OAUTH_REGISTERED;
    if (rc || !has_authenticated(&x->client, r))
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_CLIENT, BAD_CLIENT);
    return x->client.jwks.n ? use_assertion(x, err) : CW_OK;
}

/* ---- scopes ---- */

static bool has_word(cw_str words, cw_str word)
{
    for (cw_str rest = words; rest.n;) {
        cw_str next = cw_str_cut(rest, ' ', &rest);
        if (cw_str_eq(next, word))
            return true;
    }
    return false;
}

/* Whether all scopes were granted. offline_access is not a scope of tokens. */
static bool is_within(cw_str scope, cw_str granted)
{
    for (cw_str rest = scope; rest.n;) {
        cw_str word = cw_str_cut(rest, ' ', &rest);
        if (word.n && !cw_str_is(word, "offline_access") && !has_word(granted, word))
            return false;
    }
    return true;
}

/* Whether scopes were asked for, and none of them was granted. */
static bool is_outside(cw_str scope, cw_str granted)
{
    bool is_any = false;
    for (cw_str rest = scope; rest.n;) {
        cw_str word = cw_str_cut(rest, ' ', &rest);
        if (!word.n || cw_str_is(word, "offline_access"))
            continue;
        if (has_word(granted, word))
            return false;
        is_any = true;
    }
    return is_any;
}

/* The scopes that were asked for, of those that were granted; all without a question. */
static cw_str narrow(const exchange *x, cw_str granted)
{
    cw_str asked = x->request->scope, none = {NULL, 0};
    if (!asked.n)
        return granted;
    char *out = cw_arena_alloc(x->arena, granted.n + 1);
    size_t n = 0;
    for (cw_str rest = granted; out && rest.n;) {
        cw_str word = cw_str_cut(rest, ' ', &rest);
        if (!word.n || !has_word(asked, word))
            continue;
        if (n)
            out[n++] = ' ';
        memcpy(out + n, word.p, word.n);
        n += word.n;
    }
    return out ? cw_str_make(out, n) : none;
}

/* ---- tokens ---- */

/* An opaque token, which means nothing to others. */
static cw_code make_opaque(const exchange *x, cw_db_oauth_token *row, cw_err *err)
{
    char *text = x->ret->access_token;
    cw_code rc = cw_access_token_make(CW_ACCESS_TOKEN_PREFIX, text, err);
    if (!rc && !cw_access_token_digest(CW_ACCESS_TOKEN_PREFIX, cw_str_from(text), row->hash))
        rc = cw_fail(err, CW_INTERNAL, "the new access token is malformed");
    return rc;
}

/* The audience of a token for the whole server is the issuer. */
static void write_claims(cw_json_writer *w, const exchange *x, const cw_db_oauth_grant *grant,
                         const cw_db_oauth_token *row, cw_str audience, cw_str id)
{
    char subject[CW_DIGITS_SIZE];
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("iss"), x->request->issuer);
    cw_json_add_string_member(w, CW_STR("aud"), audience);
    cw_json_add_string_member(w, CW_STR("sub"), cw_digits_i64(grant->account, subject));
    cw_json_add_string_member(w, CW_STR("client_id"), grant->client);
    cw_json_add_i64_member(w, CW_STR("iat"), x->now / 1000);
    cw_json_add_i64_member(w, CW_STR("exp"), row->expires / 1000);
    cw_json_add_string_member(w, CW_STR("jti"), id);
    if (row->scopes.n)
        cw_json_add_string_member(w, CW_STR("scope"), row->scopes);
    cw_json_close(w);
}

/* A JWT (RFC 9068). Here it is looked up like any other token, by the digest of all of it: so revocation
 * is instant. */
static cw_code make_jwt(const exchange *x, const cw_db_oauth_grant *grant, cw_db_oauth_token *row,
                        cw_err *err)
{
    char id[CW_ACCESS_TOKEN_LEN + 1];
    CW_CLEANUP(cw_buf_done) cw_buf claims;
    cw_json_writer w;
    cw_buf_init(&claims, CLAIMS_MAX);
    char *audience = cw_arena_printf(x->arena, "%.*s%.*s", CW_STR_ARG(x->request->issuer),
                                     CW_STR_ARG(grant->resource));
    if (!audience)
        return cw_arena_fail(x->arena, err);
    cw_code rc = cw_access_token_make("", id, err);
    if (rc)
        return rc;
    cw_json_writer_init(&w, &claims, CW_JSON_COMPACT);
    write_claims(&w, x, grant, row, cw_str_from(audience), cw_str_from(id));
    rc = cw_json_writer_end(&w, err);
    if (!rc)
        rc = cw_oauth_keys_sign(x->db, x->settings, cw_buf_str(&claims), x->now, x->arena,
                                &x->ret->jwt, err);
    if (!rc && !cw_access_token_digest_any(x->ret->jwt, row->hash))
        rc = cw_fail(err, CW_INTERNAL, "the new access token is malformed");
    return rc;
}

static cw_code add_access_token(const exchange *x, const cw_db_oauth_grant *grant, cw_str scopes,
                                cw_err *err)
{
    cw_oauth_tokens *ret = x->ret;
    int64_t expires = x->now + x->settings->access_ms;
    cw_db_oauth_token row = {.grant = grant->id,
                             .scopes = scopes,
                             .created = x->now,
                             .expires = expires < grant->expires ? expires : grant->expires};
    if (!scopes.p)
        return cw_arena_fail(x->arena, err);
    cw_code rc = x->settings->is_jwt ? make_jwt(x, grant, &row, err) : make_opaque(x, &row, err);
    if (rc)
        return rc;
    ret->expires_ms = row.expires - x->now;
    ret->scope = scopes;
    ret->grant = grant->id;
    bool has_ended = false;
    rc = cw_db_add_oauth_token(x->db, &row, x->settings->access_tokens, &has_ended, err);
    ret->has_ended_others = ret->has_ended_others || has_ended;
    return rc;
}

static void name_account(const exchange *x, int64_t account, cw_str name)
{
    x->ret->account = account;
    x->ret->account_name = name;
}

static cw_code add_grant(const exchange *x, cw_db_oauth_grant *grant, cw_err *err)
{
    const cw_oauth_grant_rules rules = {.idle_ms = x->settings->idle_ms,
                                        .per_account = x->settings->grants};
    grant->created = grant->used = grant->rotated = x->now;
    grant->expires = x->now + x->settings->life_ms;
    name_account(x, grant->account, grant->account_name);
    x->ret->event = CW_OAUTH_ISSUED;
    return cw_db_add_oauth_grant(x->db, grant, &rules, &x->ret->has_ended_others, err);
}

/* The number of a grant is known after it was added: the first token needs it. */
static cw_code add_refresh_token(const exchange *x, cw_db_oauth_grant *grant, cw_err *err)
{
    cw_refresh_token token = {.grant = grant->id, .generation = 1};
    cw_code rc = cw_random_bytes(token.secret, sizeof token.secret, err);
    if (rc)
        return rc;
    grant->generation = token.generation;
    grant->has_secret = true;
    cw_refresh_digest(&token, grant->secret);
    cw_refresh_format(x->settings->seal, &token, x->ret->refresh_token);
    sodium_memzero(&token, sizeof token);
    return cw_db_rotate_oauth_grant(x->db, grant, err);
}

/* The first tokens of a grant that was added. */
static cw_code add_tokens(const exchange *x, cw_db_oauth_grant *grant, bool may_refresh,
                          cw_err *err)
{
    cw_code rc = may_refresh ? add_refresh_token(x, grant, err) : CW_OK;
    return rc ? rc : add_access_token(x, grant, grant->scopes, err);
}

cw_code cw_oauth_exchange_issue(const exchange *x, cw_db_oauth_grant *grant, bool may_refresh,
                                cw_err *err)
{
    cw_code rc = add_grant(x, grant, err);
    return rc ? rc : add_tokens(x, grant, may_refresh, err);
}

/* ---- codes ---- */

static bool is_verifier(cw_str text)
{
    if (text.n < VERIFIER_MIN || text.n > VERIFIER_MAX)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool is_unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
        if (!is_unreserved)
            return false;
    }
    return true;
}

static bool matches_challenge(cw_str verifier, cw_str challenge)
{
    unsigned char digest[CW_DIGEST];
    char text[CHALLENGE + 1];
    crypto_hash_sha256(digest, (const unsigned char *)verifier.p, verifier.n);
    sodium_bin2base64(text, sizeof text, digest, sizeof digest,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return challenge.n == CHALLENGE && sodium_memcmp(text, challenge.p, CHALLENGE) == 0;
}

bool cw_oauth_exchange_is_other_resource(const exchange *x, cw_str granted)
{
    const cw_oauth_token_request *r = x->request;
    return r->is_foreign_resource || (r->resource.p && !cw_str_eq(r->resource, granted));
}

/* It came a second time, with everything right: the grant ends. */
static cw_code end_reused(const exchange *x, int64_t grant, int64_t account, cw_str name,
                          cw_err *err)
{
    cw_code rc = cw_db_remove_oauth_grant(x->db, 0, grant, err);
    if (rc && rc != CW_NOTFOUND)
        return rc;
    if (!rc) {
        x->ret->event = CW_OAUTH_REUSED;
        x->ret->grant = grant;
        name_account(x, account, name);
    }
    return CW_OK;
}

static cw_code redeem(exchange *x, const cw_db_oauth_code *code, cw_err *err)
{
    cw_db_oauth_grant grant = {
        .account = code->account,
        .account_name = code->account_name,
        .client = code->client,
        .record = code->record,
        .redirect_uri = code->redirect_uri,
        .resource = code->resource,
        .scopes = code->scopes,
    };
    cw_code rc = add_grant(x, &grant, err);
    if (!rc)
        rc = cw_db_use_oauth_code(x->db, code->hash, grant.id, err);
    return rc ? rc : add_tokens(x, &grant, code->may_refresh, err);
}

#define BAD_CODE "The code is not valid, has expired, or belongs to another client"

static cw_code exchange_code(exchange *x, cw_err *err)
{
    const cw_oauth_token_request *r = x->request;
    unsigned char hash[CW_DIGEST];
    cw_db_oauth_code *code = NULL;
    if (!is_verifier(r->code_verifier))
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_REQUEST,
                                        "code_verifier has 43 to 128 unreserved characters");
    if (!cw_access_token_digest(CW_CODE_PREFIX, r->code, hash))
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_GRANT, BAD_CODE);
    cw_code rc = cw_db_find_oauth_code(x->db, hash, x->arena, &code, err);
    if (rc)
        return rc;
    if (!code || !cw_str_eq(code->client, x->client.id))
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_GRANT, BAD_CODE);
    if (r->redirect_uri.p && !cw_str_eq(r->redirect_uri, code->redirect_uri))
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_GRANT,
                                        "redirect_uri is not the one of the code");
    if (cw_oauth_exchange_is_other_resource(x, code->resource))
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_TARGET,
                                        "resource is not the one of the code");
    if (!matches_challenge(r->code_verifier, code->challenge))
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_GRANT,
                                        "code_verifier does not match the code");
    if (x->now >= code->expires)
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_GRANT, BAD_CODE);
    if (!code->given)
        return redeem(x, code, err);
    rc = end_reused(x, code->given, code->account, code->account_name, err);
    return rc ? rc : cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_GRANT, BAD_CODE);
}

/* ---- refresh tokens ---- */

#define BAD_REFRESH "The refresh token is not valid or has expired"

/* The current token: the next one takes its place. */
static cw_code rotate(const exchange *x, cw_db_oauth_grant *grant, const cw_refresh_token *next,
                      cw_err *err)
{
    grant->generation = next->generation;
    grant->rotated = grant->used = x->now;
    cw_refresh_digest(next, grant->secret);
    return cw_db_rotate_oauth_grant(x->db, grant, err);
}

typedef enum refresh_state {
    REFRESH_CURRENT,
    REFRESH_REPEATED, /* the one before, within the grace */
    REFRESH_REUSED,
    REFRESH_UNKNOWN,
} refresh_state;

static refresh_state state_of(const exchange *x, const cw_db_oauth_grant *grant,
                              const cw_refresh_token *token, const cw_refresh_token *next)
{
    unsigned char own[CW_DIGEST], following[CW_DIGEST];
    int64_t age = x->now - grant->rotated;
    cw_refresh_digest(token, own);
    cw_refresh_digest(next, following);
    if (token->generation == grant->generation)
        return cw_secret_equal(own, grant->secret) ? REFRESH_CURRENT : REFRESH_UNKNOWN;
    if (next->generation == grant->generation && cw_secret_equal(following, grant->secret) &&
        age < x->settings->grace_ms)
        return REFRESH_REPEATED;
    return token->generation < grant->generation ? REFRESH_REUSED : REFRESH_UNKNOWN;
}

int64_t cw_oauth_grant_end(const cw_db_oauth_grant *grant, int64_t idle_ms)
{
    int64_t idle = grant->used + idle_ms;
    return idle < grant->expires ? idle : grant->expires;
}

static bool has_ended(const exchange *x, const cw_db_oauth_grant *grant)
{
    return x->now >= cw_oauth_grant_end(grant, x->settings->idle_ms);
}

static cw_code refresh_with(exchange *x, cw_db_oauth_grant *grant, const cw_refresh_token *token,
                            cw_err *err)
{
    cw_refresh_token next = cw_refresh_next(x->settings->seal, token);
    cw_code rc = CW_OK;
    switch (state_of(x, grant, token, &next)) {
    case REFRESH_CURRENT:
        rc = rotate(x, grant, &next, err);
        break;
    case REFRESH_REPEATED:
        rc = cw_db_touch_oauth_grant(x->db, grant->id, x->now, err);
        break;
    case REFRESH_REUSED:
        rc = end_reused(x, grant->id, grant->account, grant->account_name, err);
        return rc ? rc : cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_GRANT, BAD_REFRESH);
    case REFRESH_UNKNOWN:
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_GRANT, BAD_REFRESH);
    }
    if (rc)
        return rc;
    x->ret->event = CW_OAUTH_REFRESHED;
    name_account(x, grant->account, grant->account_name);
    cw_refresh_format(x->settings->seal, &next, x->ret->refresh_token);
    sodium_memzero(&next, sizeof next);
    return add_access_token(x, grant, narrow(x, grant->scopes), err);
}

static cw_code refresh(exchange *x, cw_err *err)
{
    const cw_oauth_token_request *r = x->request;
    cw_refresh_token token;
    cw_db_oauth_grant *grant = NULL;
    if (!cw_refresh_parse(x->settings->seal, r->refresh_token, &token))
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_GRANT, BAD_REFRESH);
    cw_code rc = cw_db_find_oauth_grant(x->db, token.grant, x->arena, &grant, err);
    if (rc)
        return rc;
    if (!grant || !grant->has_secret || !cw_str_eq(grant->client, x->client.id) ||
        has_ended(x, grant))
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_GRANT, BAD_REFRESH);
    if (cw_oauth_exchange_is_other_resource(x, grant->resource))
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_TARGET,
                                        "resource is not the one of the grant");
    if (!is_within(r->scope, grant->scopes))
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_SCOPE,
                                        "scope has more than was granted");
    rc = refresh_with(x, grant, &token, err);
    sodium_memzero(&token, sizeof token);
    return rc;
}

/* ---- client credentials ---- */

cw_str cw_oauth_join_scopes(cw_arena *arena, const cw_str *items, size_t n)
{
    size_t size = 1, at = 0;
    for (size_t i = 0; i < n; i++)
        size += items[i].n + 1;
    char *out = cw_arena_alloc(arena, size);
    for (size_t i = 0; out && i < n; i++) {
        if (at)
            out[at++] = ' ';
        memcpy(out + at, items[i].p, items[i].n);
        at += items[i].n;
    }
    return out ? cw_str_make(out, at) : (cw_str){NULL, 0};
}

/* One grant for all tokens of the client for a resource, so that the operator sees and ends it. */
static cw_code serve(exchange *x, const cw_account *account, cw_str scopes, cw_err *err)
{
    int64_t id = 0;
    cw_db_oauth_grant *found = NULL;
    cw_str resource = x->request->resource.p ? x->request->resource : CW_STR("");
    cw_db_oauth_grant grant = {.account = account->id,
                               .account_name = account->name,
                               .client = x->client.id,
                               .resource = resource,
                               .redirect_uri = CW_STR(""),
                               .scopes = scopes};
    cw_code rc = cw_db_find_oauth_grant_of(x->db, account->id, x->client.id, resource, &id, err);
    if (!rc && id)
        rc = cw_db_find_oauth_grant(x->db, id, x->arena, &found, err);
    if (rc)
        return rc;
    if (found && x->now + x->settings->access_ms < found->expires && !has_ended(x, found)) {
        name_account(x, account->id, account->name);
        rc = cw_db_touch_oauth_grant(x->db, id, x->now, err);
        return rc ? rc : add_access_token(x, found, narrow(x, scopes), err);
    }
    rc = cw_oauth_client_format(&x->client, x->arena, &grant.record, err);
    if (!rc)
        rc = add_grant(x, &grant, err);
    return rc ? rc : add_access_token(x, &grant, narrow(x, scopes), err);
}

static cw_code serve_client(exchange *x, cw_err *err)
{
    cw_account *account = NULL;
    const cw_oauth_client *client = &x->client;
    if (!is_confidential(client) || !client->account.n)
        return cw_oauth_exchange_refuse(x, CW_OAUTH_UNAUTHORIZED_CLIENT,
                                        "The client has no account of its own");
    cw_code rc = cw_db_find_account(x->db, client->account, x->arena, &account, err);
    if (rc)
        return rc;
    cw_str scopes = cw_oauth_join_scopes(x->arena, client->scopes, client->n_scopes);
    if (!scopes.p)
        return cw_arena_fail(x->arena, err);
    if (!account || account->is_blocked)
        return cw_oauth_exchange_refuse(x, CW_OAUTH_UNAUTHORIZED_CLIENT,
                                        "The client has no account of its own");
    if (x->request->is_foreign_resource)
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_TARGET, "resource is not here");
    /* Clients ask for all scopes that the metadata lists. They get those that they have. */
    if (scopes.n && is_outside(x->request->scope, scopes))
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_SCOPE,
                                        "scope has none that the client has");
    return serve(x, account, scopes, err);
}

/* ---- all ---- */

static cw_code run(exchange *x, cw_err *err)
{
    cw_code rc = cw_oauth_exchange_authenticate(x, err);
    if (rc || x->ret->error)
        return rc;
    switch (x->request->type) {
    case CW_OAUTH_AUTHORIZATION_CODE:
        return exchange_code(x, err);
    case CW_OAUTH_REFRESH_TOKEN:
        return refresh(x, err);
    case CW_OAUTH_CLIENT_CREDENTIALS:
        return serve_client(x, err);
    case CW_OAUTH_DEVICE_CODE:
        return cw_device_poll(x, err);
    }
    return cw_oauth_exchange_refuse(x, CW_OAUTH_UNSUPPORTED_GRANT_TYPE,
                                    "This grant type is not offered");
}

cw_code cw_oauth_exchange(cw_db *db, const cw_oauth_settings *settings,
                          const cw_oauth_token_request *request, int64_t now, cw_arena *arena,
                          cw_oauth_tokens *ret, cw_err *err)
{
    exchange x = {
        .db = db, .settings = settings, .request = request, .now = now, .arena = arena, .ret = ret};
    *ret = (cw_oauth_tokens){.grant = 0};
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, run(&x, err), err);
}

static cw_code revoke_grant(exchange *x, const cw_refresh_token *token, cw_err *err)
{
    cw_db_oauth_grant *grant = NULL;
    cw_code rc = cw_db_find_oauth_grant(x->db, token->grant, x->arena, &grant, err);
    if (rc || !grant || !cw_str_eq(grant->client, x->client.id))
        return rc;
    name_account(x, grant->account, grant->account_name);
    x->ret->event = CW_OAUTH_REVOKED;
    x->ret->grant = grant->id;
    return cw_db_remove_oauth_grant(x->db, 0, grant->id, err);
}

static cw_code revoke_access(exchange *x, const unsigned char hash[CW_DIGEST], cw_err *err)
{
    cw_db_oauth_token *token = NULL;
    cw_account *account = NULL;
    cw_code rc = cw_db_find_oauth_token(x->db, hash, x->arena, &token, &account, err);
    if (rc || !token || !cw_str_eq(token->client, x->client.id))
        return rc;
    name_account(x, account->id, account->name);
    x->ret->event = CW_OAUTH_REVOKED;
    x->ret->grant = token->grant;
    return cw_db_remove_oauth_token(x->db, hash, err);
}

static cw_code run_revoke(exchange *x, cw_str token, cw_err *err)
{
    cw_refresh_token refresh_token;
    unsigned char hash[CW_DIGEST];
    cw_code rc = cw_oauth_exchange_authenticate(x, err);
    if (rc || x->ret->error)
        return rc;
    if (cw_refresh_parse(x->settings->seal, token, &refresh_token))
        return revoke_grant(x, &refresh_token, err);
    if (cw_access_token_digest_any(token, hash))
        return revoke_access(x, hash, err);
    return CW_OK;
}

cw_code cw_oauth_revoke(cw_db *db, const cw_oauth_settings *settings,
                        const cw_oauth_token_request *request, int64_t now, cw_arena *arena,
                        cw_oauth_tokens *ret, cw_err *err)
{
    exchange x = {
        .db = db, .settings = settings, .request = request, .now = now, .arena = arena, .ret = ret};
    *ret = (cw_oauth_tokens){.grant = 0};
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, run_revoke(&x, request->token, err), err);
}
