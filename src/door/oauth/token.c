/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token.c - /token and /revoke: forms of clients, answers, records; and the metadata. */
#include "door/oauth/token.h"

#include <stdio.h>
#include <stdlib.h>

#include "access/credentials.h"
#include "access/fair_key.h"
#include "access/login/grants.h"
#include "access/oauth/assertion.h"
#include "base/digits.h"
#include "door/error.h"
#include "door/oauth/reply.h"
#include "door/oauth_challenge.h"
#include "door/rpc_batch.h"
#include "json/write.h"
#include "net/http/target.h"

#define FORM_TYPE "application/x-www-form-urlencoded"
#define TWICE "The client authenticates twice"
#define UNAVAILABLE_S 1u
#define METADATA "/.well-known/oauth-authorization-server"
#define OPENID "/.well-known/openid-configuration"

/* A request on its way; in its arena. */
typedef struct exchange {
    cw_oauth_waiter waiter;
    cw_http_req *req;
    cw_runtime_loop *rl;
    bool is_basic; /* the client authenticated with a header */
    bool is_revoke;
    cw_oauth_token_request request;
    cw_str grant_type, token, device_code;
    cw_str assertion_type;
} exchange;

/* ---- reading a form ---- */

static bool is_form(const cw_http_req *req)
{
    cw_str rest;
    bool repeats = false;
    cw_str type = cw_http_req_header_once(req, CW_STR("Content-Type"), &repeats);
    return !repeats && type.p && !memchr(type.p, ',', type.n) &&
           cw_str_ieq(cw_str_trim(cw_str_cut(type, ';', &rest)), CW_STR(FORM_TYPE));
}

/* Several resources must be the same one. */
static void add_resource(exchange *x, cw_str text)
{
    cw_str path = {NULL, 0};
    cw_code rc = cw_oauth_resource_match(x->req, x->rl, text, &path);
    bool differs = x->request.resource.p && !cw_str_eq(x->request.resource, path);
    if (rc || differs)
        x->request.is_foreign_resource = true;
    else
        x->request.resource = path;
}

/* False: the request is answered. */
static bool take_field(exchange *x, cw_str name, cw_str value)
{
    cw_oauth_token_request *r = &x->request;
    const struct {
        const char *name;
        cw_str *value;
    } fields[] = {
        {"grant_type", &x->grant_type},
        {"client_id", &r->client_id},
        {"client_secret", &r->client_secret},
        {"client_assertion", &r->assertion},
        {"client_assertion_type", &x->assertion_type},
        {"code", &r->code},
        {"device_code", &x->device_code},
        {"code_verifier", &r->code_verifier},
        {"redirect_uri", &r->redirect_uri},
        {"refresh_token", &r->refresh_token},
        {"scope", &r->scope},
        {"token", &x->token},
    };
    if (!value.n)
        return true;
    if (cw_str_is(name, "resource")) {
        add_resource(x, value);
        return true;
    }
    for (size_t i = 0; i < CW_COUNT(fields); i++) {
        if (!cw_str_is(name, fields[i].name))
            continue;
        if (fields[i].value->p) {
            cw_oauth_reply_error(x->req, 400, "invalid_request", "A parameter is there twice");
            return false;
        }
        *fields[i].value = value;
    }
    return true;
}

static bool read_fields(exchange *x)
{
    cw_str rest = cw_http_req_body(x->req), name, value;
    cw_code rc = CW_OK;
    while (rest.n && !(rc = cw_query_next(&rest, cw_http_req_arena(x->req), &name, &value))) {
        if (!take_field(x, name, value))
            return false;
    }
    if (rc == CW_OK || rc == CW_DONE)
        return true;
    if (rc == CW_INVALID)
        cw_oauth_reply_error(x->req, 400, "invalid_request", "The form is ill-formed");
    else
        cw_oauth_reply_later(x->req, 503, UNAVAILABLE_S);
    return false;
}

/* Clients send the parts of a Basic header raw or form-encoded: for valid ids and secrets both are
 * the same, except for what encoding turned into %XX. */
static cw_str decode(exchange *x, cw_str text)
{
    cw_str rest = text, name, value;
    bool is_plain = !memchr(text.p, '&', text.n) && !memchr(text.p, '=', text.n);
    if (!text.n || !is_plain || cw_query_next(&rest, cw_http_req_arena(x->req), &name, &value))
        return text;
    return name;
}

static bool read_basic(exchange *x)
{
    cw_oauth_token_request *r = &x->request;
    cw_str header = cw_http_req_authorization(x->req), id, secret;
    if (!header.p)
        return true;
    x->is_basic = true;
    if (!cw_credentials_basic_pair(header, cw_http_req_arena(x->req), &id, &secret)) {
        cw_oauth_reply_error(x->req, 400, "invalid_request",
                             "The Authorization header is not Basic");
        return false;
    }
    id = decode(x, id);
    if (r->client_secret.p || (r->client_id.p && !cw_str_eq(r->client_id, id))) {
        cw_oauth_reply_error(x->req, 400, "invalid_request", TWICE);
        return false;
    }
    r->client_id = id;
    r->client_secret = decode(x, secret);
    return true;
}

/* The client is the one that the assertion names, unless the form names it too. False: the request is
 * answered. */
static bool read_assertion(exchange *x)
{
    cw_oauth_token_request *r = &x->request;
    if (!r->assertion.p && !x->assertion_type.p)
        return true;
    if (!r->assertion.p || !cw_str_is(x->assertion_type, CW_ASSERTION_TYPE)) {
        cw_oauth_reply_error(x->req, 400, "invalid_request",
                             "client_assertion needs client_assertion_type " CW_ASSERTION_TYPE);
        return false;
    }
    if (r->client_secret.p || x->is_basic) {
        cw_oauth_reply_error(x->req, 400, "invalid_request", TWICE);
        return false;
    }
    if (!r->client_id.p)
        r->client_id = cw_assertion_client(r->assertion, cw_http_req_arena(x->req));
    return true;
}

/* False: the request is answered. */
static bool read_form(exchange *x)
{
    cw_http_req *req = x->req;
    if (!is_form(req)) {
        cw_oauth_reply_error(req, 400, "invalid_request", "The body must be " FORM_TYPE);
        return false;
    }
    if (cw_http_req_body(req).n > CW_OAUTH_MAX_FORM) {
        cw_oauth_reply_error(req, 413, "invalid_request", "The form is too large");
        return false;
    }
    if (!read_fields(x) || !read_basic(x) || !read_assertion(x))
        return false;
    if (!x->request.client_id.p) {
        cw_oauth_reply_error(req, 400, "invalid_request", "client_id is missing");
        return false;
    }
    return true;
}

/* ---- answers ---- */

static const struct {
    const char *name;
    unsigned status;
} errors[] = {
    [CW_OAUTH_INVALID_REQUEST] = {"invalid_request", 400},
    [CW_OAUTH_INVALID_CLIENT] = {"invalid_client", 401},
    [CW_OAUTH_INVALID_GRANT] = {"invalid_grant", 400},
    [CW_OAUTH_UNAUTHORIZED_CLIENT] = {"unauthorized_client", 400},
    [CW_OAUTH_UNSUPPORTED_GRANT_TYPE] = {"unsupported_grant_type", 400},
    [CW_OAUTH_INVALID_SCOPE] = {"invalid_scope", 400},
    [CW_OAUTH_INVALID_TARGET] = {"invalid_target", 400},
    [CW_OAUTH_AUTHORIZATION_PENDING] = {"authorization_pending", 400},
    [CW_OAUTH_SLOW_DOWN] = {"slow_down", 400},
    [CW_OAUTH_ACCESS_DENIED] = {"access_denied", 400},
    [CW_OAUTH_EXPIRED_TOKEN] = {"expired_token", 400},
};

static void audit(const exchange *x, const cw_oauth_tokens *tokens)
{
    static const char *const outcomes[] = {
        [CW_OAUTH_ISSUED] = "issued",
        [CW_OAUTH_REFRESHED] = "refreshed",
        [CW_OAUTH_REUSED] = "reused",
        [CW_OAUTH_REVOKED] = "revoked",
    };
    char id[CW_DIGITS_SIZE], grant[CW_DIGITS_SIZE];
    cw_audit *log = cw_runtime_audit(x->rl);
    if (tokens->event == CW_OAUTH_NO_EVENT || !cw_audit_is_on(log))
        return;
    cw_audit_add(log, &(cw_audit_record){.kind = CW_AUDIT_GRANT,
                                         .door = "oauth",
                                         .outcome = outcomes[tokens->event],
                                         .caller = tokens->account_name,
                                         .caller_id = cw_digits_i64(tokens->account, id),
                                         .method = cw_digits_i64(tokens->grant, grant),
                                         .address = cw_http_req_peer(x->req),
                                         .detail = tokens->client_id});
}

/* A client that could not prove who it is, or what it was granted. */
static void audit_failure(const exchange *x, const char *outcome, const char *detail)
{
    cw_audit *log = cw_runtime_audit(x->rl);
    if (cw_audit_is_on(log))
        cw_audit_add(log, &(cw_audit_record){.kind = CW_AUDIT_LOGIN,
                                             .door = "oauth",
                                             .outcome = outcome,
                                             .is_anonymous = true,
                                             .caller = cw_door_excerpt(x->request.client_id),
                                             .address = cw_http_req_peer(x->req),
                                             .detail = cw_str_from(detail)});
}

/* A failure that ends a grant has a record of its own, of the grant. */
static void audit_result(const exchange *x, const cw_oauth_result *result)
{
    cw_oauth_error error = result->rc ? CW_OAUTH_NO_ERROR : result->tokens->error;
    if (result->rc == CW_AGAIN)
        audit_failure(x, "too_many", "client");
    else if (result->rc)
        audit_failure(x, "unavailable", "client");
    else if (result->tokens->event == CW_OAUTH_NO_EVENT &&
             (error == CW_OAUTH_INVALID_CLIENT || error == CW_OAUTH_INVALID_GRANT))
        audit_failure(x, "wrong", errors[error].name);
    else
        audit(x, result->tokens);
}

static void send_invalid_client(const exchange *x, const cw_oauth_tokens *tokens)
{
    char *body = cw_arena_printf(cw_http_req_arena(x->req),
                                 "{\"error\":\"invalid_client\",\"error_description\":\"%s\"}",
                                 tokens->description);
    cw_http_header headers[] = {
        {CW_STR("Access-Control-Allow-Origin"), CW_STR("*")},
        {CW_STR("Cache-Control"), CW_STR("no-store")},
        {CW_STR("WWW-Authenticate"), CW_STR("Basic realm=\"OAuth clients\"")}};
    if (!body)
        cw_oauth_reply_later(x->req, 503, UNAVAILABLE_S);
    else
        cw_http_reply(x->req, &(cw_http_response){.status = 401,
                                                  .body = cw_str_from(body),
                                                  .headers = headers,
                                                  .n_headers = x->is_basic ? 3 : 2});
}

static void send_tokens(const exchange *x, const cw_oauth_tokens *tokens)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_json_writer w;
    cw_buf_init(&out, CW_OAUTH_MAX_FORM);
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("access_token"),
                              tokens->jwt.n ? tokens->jwt : cw_str_from(tokens->access_token));
    cw_json_add_string_member(&w, CW_STR("token_type"), CW_STR("Bearer"));
    cw_json_add_i64_member(&w, CW_STR("expires_in"), tokens->expires_ms / 1000);
    if (tokens->refresh_token[0])
        cw_json_add_string_member(&w, CW_STR("refresh_token"), cw_str_from(tokens->refresh_token));
    cw_json_add_string_member(&w, CW_STR("scope"), tokens->scope);
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, NULL);
    cw_str body =
        rc ? (cw_str){NULL, 0} : cw_arena_dup_str(cw_http_req_arena(x->req), cw_buf_str(&out));
    if (body.p)
        cw_oauth_reply(x->req, 200, body);
    else
        cw_oauth_reply_later(x->req, 503, UNAVAILABLE_S);
}

/* Whether the request failed and is answered. */
static bool send_failure(const exchange *x, const cw_oauth_result *result)
{
    const cw_oauth_tokens *tokens = result->tokens;
    if (result->rc == CW_AGAIN)
        cw_oauth_reply_later(x->req, 429, result->wait_s);
    else if (result->rc)
        cw_oauth_reply_later(x->req, 503, UNAVAILABLE_S);
    else if (tokens->error == CW_OAUTH_INVALID_CLIENT)
        send_invalid_client(x, tokens);
    else if (tokens->error)
        cw_oauth_reply_error(x->req, errors[tokens->error].status, errors[tokens->error].name,
                             tokens->description);
    return result->rc || tokens->error;
}

static void on_result(cw_oauth_waiter *waiter, const cw_oauth_result *result)
{
    exchange x = *CW_CONTAINER(waiter, exchange, waiter);
    const cw_oauth_tokens *tokens = result->tokens;
    audit_result(&x, result);
    if (send_failure(&x, result))
        return;
    if (x.is_revoke)
        cw_oauth_reply(x.req, 200, CW_STR("{}"));
    else
        send_tokens(&x, tokens);
}

static void on_event(cw_http_req *req, cw_http_event event, void *ctx)
{
    exchange *x = ctx;
    (void)req;
    if (event == CW_HTTP_GONE)
        cw_oauth_cancel(&x->waiter);
}

/* ---- requests ---- */

/* NULL: the request is answered. */
static exchange *begin(cw_http_req *req, cw_runtime *runtime)
{
    exchange *x = cw_arena_calloc(cw_http_req_arena(req), 1, sizeof *x);
    if (!x) {
        cw_oauth_reply_later(req, 503, UNAVAILABLE_S);
        return NULL;
    }
    x->req = req;
    x->rl = cw_runtime_at(runtime, cw_http_req_loop(req));
    x->waiter.fn = on_result;
    x->waiter.by = cw_caller_fair_key(NULL, cw_http_req_peer(req));
    x->request.issuer = cw_oauth_resource_base(req, x->rl, NULL);
    return read_form(x) ? x : NULL;
}

static void reply_throttled(const exchange *x, uint32_t wait_s)
{
    if (x->request.client_id.p)
        audit_failure(x, "too_many", "client");
    cw_oauth_reply_later(x->req, 429, wait_s);
}

static void wait_for(exchange *x, cw_code rc, uint32_t wait_s)
{
    if (!rc)
        cw_http_listen(x->req, on_event, x);
    else if (rc == CW_AGAIN)
        reply_throttled(x, wait_s);
    else
        cw_oauth_reply_later(x->req, 503, UNAVAILABLE_S);
}

/* False: the request is answered. */
static bool read_grant_type(exchange *x)
{
    const struct {
        const char *name;
        cw_oauth_grant_type type;
        cw_str needed[2]; /* parameters */
    } types[] = {
        {"authorization_code",
         CW_OAUTH_AUTHORIZATION_CODE,
         {x->request.code, x->request.code_verifier}},
        {"refresh_token",
         CW_OAUTH_REFRESH_TOKEN,
         {x->request.refresh_token, x->request.refresh_token}},
        {"client_credentials", CW_OAUTH_CLIENT_CREDENTIALS, {CW_STR("-"), CW_STR("-")}},
        {CW_DEVICE_GRANT_TYPE, CW_OAUTH_DEVICE_CODE, {x->device_code, x->device_code}},
    };
    if (!x->grant_type.p) {
        cw_oauth_reply_error(x->req, 400, "invalid_request", "grant_type is missing");
        return false;
    }
    for (size_t i = 0; i < CW_COUNT(types); i++) {
        if (!cw_str_is(x->grant_type, types[i].name))
            continue;
        x->request.type = types[i].type;
        if (types[i].type == CW_OAUTH_DEVICE_CODE)
            x->request.code = x->device_code;
        if (types[i].needed[0].p && types[i].needed[1].p)
            return true;
        cw_oauth_reply_error(x->req, 400, "invalid_request", "A parameter is missing");
        return false;
    }
    cw_oauth_reply_error(x->req, 400, "unsupported_grant_type", "This grant type is not offered");
    return false;
}

static void on_token(cw_http_req *req, void *self)
{
    uint32_t wait_s = 0;
    exchange *x = begin(req, self);
    if (!x || !read_grant_type(x))
        return;
    cw_code rc = cw_oauth_ask_tokens(cw_runtime_accounts(x->rl), cw_http_req_loop(req), &x->request,
                                     cw_http_req_peer(req), &wait_s, &x->waiter);
    wait_for(x, rc, wait_s);
}

static void on_revoke(cw_http_req *req, void *self)
{
    uint32_t wait_s = 0;
    exchange *x = begin(req, self);
    if (!x)
        return;
    x->is_revoke = true;
    if (!x->token.p) {
        cw_oauth_reply_error(req, 400, "invalid_request", "token is missing");
        return;
    }
    cw_code rc = cw_oauth_ask_revoke(cw_runtime_accounts(x->rl), cw_http_req_loop(req), &x->request,
                                     x->token, cw_http_req_peer(req), &wait_s, &x->waiter);
    wait_for(x, rc, wait_s);
}

/* The address of a path, as a string. */
static void add_text(cw_json_writer *w, cw_str base, cw_str path)
{
    cw_buf url;
    cw_buf_init(&url, CW_HTTP_RESPONSE_HEAD);
    cw_buf_add(&url, base);
    cw_buf_add(&url, path);
    if (url.code)
        w->out->code = url.code;
    cw_json_add_string(w, cw_buf_str(&url));
    cw_buf_done(&url);
}

static void add_url(cw_json_writer *w, const char *name, cw_str base, cw_str path)
{
    cw_json_add_key(w, cw_str_from(name));
    add_text(w, base, path);
}

/* ---- devices ---- */

static void write_codes(cw_json_writer *w, cw_str issuer, const cw_device_codes *codes)
{
    char shown[CW_DEVICE_USER_CODE + 2];
    snprintf(shown, sizeof shown, "%.4s-%.4s", codes->user_code, codes->user_code + 4);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("device_code"), cw_str_from(codes->device_code));
    cw_json_add_string_member(w, CW_STR("user_code"), cw_str_from(shown));
    add_url(w, "verification_uri", issuer, CW_STR("/device"));
    cw_json_add_i64_member(w, CW_STR("expires_in"), CW_DEVICE_LIFE_MS / 1000);
    cw_json_add_i64_member(w, CW_STR("interval"), CW_DEVICE_PAUSE_MS / 1000);
    cw_json_close(w);
}

static void on_codes(cw_oauth_waiter *waiter, const cw_oauth_result *result)
{
    exchange x = *CW_CONTAINER(waiter, exchange, waiter);
    cw_json_writer w;
    cw_buf out;
    audit_result(&x, result);
    if (send_failure(&x, result))
        return;
    cw_buf_init(&out, CW_OAUTH_MAX_FORM);
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    write_codes(&w, x.request.issuer, result->codes);
    (void)!cw_json_writer_end(&w, NULL);
    cw_str body = cw_rpc_batch_keep(cw_http_req_arena(x.req), &out);
    if (body.p)
        cw_oauth_reply(x.req, 200, body);
    else
        cw_oauth_reply_later(x.req, 503, UNAVAILABLE_S);
}

/* The scopes that were asked for and exist. False: none of them does, or there is no memory; it is
 * answered. */
static bool choose_scopes(exchange *x)
{
    cw_oauth_asked_scopes asked = {0};
    cw_arena *arena = cw_http_req_arena(x->req);
    cw_buf out;
    cw_code rc = cw_oauth_resource_choose_scopes(x->rl, x->request.scope, arena, &asked);
    cw_buf_init(&out, CW_OAUTH_MAX_FORM);
    for (size_t i = 0; i < asked.n && !rc; i++)
        cw_buf_printf(&out, "%s%.*s", out.n ? " " : "", CW_STR_ARG(asked.items[i]));
    cw_str scope = cw_rpc_batch_keep(arena, &out);
    if (rc == CW_NOTFOUND) {
        cw_oauth_reply_error(x->req, 400, "invalid_scope", "None of the scopes exists");
        return false;
    }
    if (rc || !scope.p) {
        cw_oauth_reply_later(x->req, 503, UNAVAILABLE_S);
        return false;
    }
    x->request.scope = scope;
    return true;
}

static void on_device(cw_http_req *req, void *self)
{
    uint32_t wait_s = 0;
    exchange *x = begin(req, self);
    if (!x || !choose_scopes(x))
        return;
    x->waiter.fn = on_codes;
    cw_code rc = cw_oauth_begin_device(cw_runtime_accounts(x->rl), cw_http_req_loop(req),
                                       &x->request, cw_http_req_peer(req), &wait_s, &x->waiter);
    wait_for(x, rc, wait_s);
}

/* ---- metadata ---- */

static void add_list(cw_json_writer *w, const char *name, const char *const *items)
{
    cw_json_add_key(w, cw_str_from(name));
    cw_json_open_array(w);
    for (size_t i = 0; items[i]; i++)
        cw_json_add_string(w, cw_str_from(items[i]));
    cw_json_close(w);
}

static void add_scopes(cw_json_writer *w, cw_runtime_loop *rl)
{
    cw_oauth_scope_list list;
    if (cw_oauth_resource_scopes(rl, &list)) {
        w->out->code = CW_NOMEM;
        return;
    }
    cw_json_add_key(w, CW_STR("scopes_supported"));
    cw_json_open_array(w);
    for (size_t i = 0; i < list.n; i++)
        cw_json_add_string(w, list.items[i]);
    cw_json_add_string(w, CW_STR("offline_access"));
    cw_json_close(w);
    free(list.items);
}

/* Optional features of which a configured client makes use. */
typedef struct features {
    bool has_accounts; /* client_credentials */
    bool has_keys;     /* private_key_jwt */
    bool has_devices;
} features;

static features features_of(const cw_oauth_settings *settings)
{
    features used = {0};
    for (size_t i = 0; i < settings->n_clients; i++) {
        used.has_accounts = used.has_accounts || settings->clients[i].account.n;
        used.has_keys = used.has_keys || settings->clients[i].jwks.n;
        used.has_devices = used.has_devices || settings->clients[i].may_use_device;
    }
    return used;
}

static void add_grants(cw_json_writer *w, const features *used)
{
    cw_json_add_key(w, CW_STR("grant_types_supported"));
    cw_json_open_array(w);
    cw_json_add_string(w, CW_STR("authorization_code"));
    cw_json_add_string(w, CW_STR("refresh_token"));
    if (used->has_accounts)
        cw_json_add_string(w, CW_STR("client_credentials"));
    if (used->has_devices)
        cw_json_add_string(w, CW_STR(CW_DEVICE_GRANT_TYPE));
    cw_json_close(w);
}

/* How clients authenticate at an endpoint. */
static void add_methods(cw_json_writer *w, const char *const names[2], const features *used)
{
    static const char *const methods[] = {"none", "client_secret_basic", "client_secret_post",
                                          NULL};
    static const char *const signing[] = {"none", "client_secret_basic", "client_secret_post",
                                          "private_key_jwt", NULL};
    static const char *const algs[] = {"ES256", "ES384", "RS256", "PS256", "EdDSA", NULL};
    add_list(w, names[0], used->has_keys ? signing : methods);
    if (used->has_keys)
        add_list(w, names[1], algs);
}

static void write_metadata(cw_json_writer *w, cw_runtime_loop *rl, cw_str issuer,
                           const cw_oauth_settings *settings)
{
    static const char *const code[] = {"code", NULL}, *const query[] = {"query", NULL},
                             *const s256[] = {"S256", NULL};
    static const char *const token_methods[] = {"token_endpoint_auth_methods_supported",
                                                "token_endpoint_auth_signing_alg_values_supported"};
    static const char *const revocation_methods[] = {
        "revocation_endpoint_auth_methods_supported",
        "revocation_endpoint_auth_signing_alg_values_supported"};
    const features used = features_of(settings);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("issuer"), issuer);
    add_url(w, "authorization_endpoint", issuer, CW_STR("/authorize"));
    add_url(w, "token_endpoint", issuer, CW_STR("/token"));
    if (settings->is_dynamic)
        add_url(w, "registration_endpoint", issuer, CW_STR("/register"));
    add_url(w, "revocation_endpoint", issuer, CW_STR("/revoke"));
    if (used.has_devices)
        add_url(w, "device_authorization_endpoint", issuer, CW_STR("/device_authorization"));
    cw_json_add_key(w, CW_STR("protected_resources"));
    cw_json_open_array(w);
    add_text(w, issuer, cw_runtime_config(rl)->mcp.path);
    cw_json_close(w);
    add_scopes(w, rl);
    add_list(w, "response_types_supported", code);
    add_list(w, "response_modes_supported", query);
    add_grants(w, &used);
    add_list(w, "code_challenge_methods_supported", s256);
    add_methods(w, token_methods, &used);
    add_methods(w, revocation_methods, &used);
    cw_json_add_bool_member(w, CW_STR("authorization_response_iss_parameter_supported"), true);
    if (settings->has_documents)
        cw_json_add_bool_member(w, CW_STR("client_id_metadata_document_supported"), true);
    if (settings->is_jwt)
        add_url(w, "jwks_uri", issuer, CW_STR("/jwks"));
    cw_json_close(w);
}

/* A document that is the same for all. */
static void send_public(cw_http_req *req, cw_str body)
{
    static const cw_http_header headers[] = {
        {CW_STR_INIT("Access-Control-Allow-Origin"), CW_STR_INIT("*")},
        {CW_STR_INIT("Cache-Control"), CW_STR_INIT("max-age=300")}};
    cw_http_reply(
        req, &(cw_http_response){
                 .status = 200, .body = body, .headers = headers, .n_headers = CW_COUNT(headers)});
}

static void on_metadata(cw_http_req *req, void *self)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_json_writer w;
    cw_runtime_loop *rl = cw_runtime_at(self, cw_http_req_loop(req));
    cw_str issuer = cw_oauth_resource_base(req, rl, NULL);
    cw_oauth_settings *settings = cw_accounts_take_oauth(cw_runtime_accounts(rl));
    cw_buf_init(&out, CW_BUF_MAX);
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    if (settings && issuer.n)
        write_metadata(&w, rl, issuer, settings);
    cw_code rc = settings && issuer.n ? cw_json_writer_end(&w, NULL) : CW_IO;
    cw_oauth_settings_unref(settings);
    cw_str body =
        rc ? (cw_str){NULL, 0} : cw_arena_dup_str(cw_http_req_arena(req), cw_buf_str(&out));
    if (body.p)
        send_public(req, body);
    else
        cw_oauth_reply_later(req, 503, UNAVAILABLE_S);
}

/* ---- keys ---- */

static void on_keys(cw_oauth_waiter *waiter, const cw_oauth_result *result)
{
    const exchange *x = CW_CONTAINER(waiter, exchange, waiter);
    cw_http_req *req = x->req;
    cw_str body =
        result->rc ? (cw_str){NULL, 0} : cw_arena_dup_str(cw_http_req_arena(req), result->keys);
    if (result->rc == CW_NOTFOUND)
        cw_oauth_reply_error(req, 404, "not_found", "There is nothing at this address");
    else if (body.p)
        send_public(req, body);
    else
        cw_oauth_reply_later(req, 503, UNAVAILABLE_S);
}

static void on_jwks(cw_http_req *req, void *self)
{
    uint32_t wait_s = 0;
    exchange *x = cw_arena_calloc(cw_http_req_arena(req), 1, sizeof *x);
    if (!x) {
        cw_oauth_reply_later(req, 503, UNAVAILABLE_S);
        return;
    }
    x->req = req;
    x->rl = cw_runtime_at(self, cw_http_req_loop(req));
    x->waiter.fn = on_keys;
    x->waiter.by = cw_caller_fair_key(NULL, cw_http_req_peer(req));
    cw_code rc = cw_oauth_ask_keys(cw_runtime_accounts(x->rl), cw_http_req_loop(req),
                                   cw_http_req_peer(req), &wait_s, &x->waiter);
    wait_for(x, rc, wait_s);
}

static void on_absent(cw_http_req *req, void *self)
{
    (void)self;
    cw_oauth_reply_error(req, 404, "not_found", "There is nothing at this address");
}

/* ---- routes ---- */

static cw_code add(cw_router *router, cw_http_method method, const char *path,
                   cw_http_handler handler, cw_runtime *runtime)
{
    cw_code rc = cw_router_add(router, method, path, handler, runtime);
    if (!rc)
        cw_router_open(router, path);
    if (!rc && method == CW_HTTP_POST)
        cw_router_set_errors(router, path, cw_oauth_reply_write_error);
    return rc;
}

cw_code cw_oauth_token_add_routes(cw_router *router, cw_oauth_token_routes *routes,
                                  cw_runtime *runtime, const cw_config *config)
{
    cw_str base = cw_oauth_resource_path(config->public_url);
    cw_code rc = add(router, CW_HTTP_POST, "/token", on_token, runtime);
    if (!rc)
        rc = add(router, CW_HTTP_POST, "/revoke", on_revoke, runtime);
    if (!rc)
        rc = add(router, CW_HTTP_POST, "/device_authorization", on_device, runtime);
    if (!rc)
        rc = add(router, CW_HTTP_GET, "/jwks", on_jwks, runtime);
    if (!rc)
        rc = add(router, CW_HTTP_GET, METADATA, on_metadata, runtime);
    snprintf(routes->metadata, sizeof routes->metadata, METADATA "%.*s", CW_STR_ARG(base));
    if (!rc && base.n)
        rc = add(router, CW_HTTP_GET, routes->metadata, on_metadata, runtime);
    if (!rc)
        rc = add(router, CW_HTTP_GET, METADATA "/{path}", on_absent, runtime);
    if (!rc)
        rc = add(router, CW_HTTP_GET, OPENID, on_absent, runtime);
    if (!rc)
        rc = add(router, CW_HTTP_GET, OPENID "/{path}", on_absent, runtime);
    return rc;
}
