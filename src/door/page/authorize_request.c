/* SPDX-License-Identifier: GPL-2.0-or-later */
/* authorize_request.c - parameters of an authorization request. */
#include "door/page/authorize_request.h"

#include "access/scopes.h"
#include "base/ascii.h"
#include "door/oauth_challenge.h"
#include "door/page/sealed_fields.h"
#include "net/http/target.h"

#define PURPOSE CW_STR("authorize")
#define CHALLENGE_LEN 43u
#define N_FIELDS 9u

#define UNREADABLE "The address of this page is incomplete or was changed."
#define EXPIRED "This request to log in has expired. Please start again in the application."
#define TOO_LONG "The application has sent a request that is too long."
#define NO_MEMORY "The server is short of memory. Please try again."

/* ---- sealing ---- */

static void list_fields(cw_authorize_request *r, cw_str *fields[N_FIELDS])
{
    cw_str *all[N_FIELDS] = {&r->issuer, &r->client_id, &r->redirect_uri,
                             &r->state,  &r->challenge, &r->resource,
                             &r->scope,  &r->error,     &r->description};
    memcpy(fields, all, sizeof all);
}

cw_code cw_authorize_request_seal(const cw_authorize_request *request,
                                  const cw_oauth_settings *settings, cw_arena *arena, cw_str *ret)
{
    cw_authorize_request copy = *request;
    cw_str *places[N_FIELDS], fields[N_FIELDS];
    list_fields(&copy, places);
    for (size_t i = 0; i < N_FIELDS; i++)
        fields[i] = *places[i];
    cw_code rc = cw_sealed_fields_close(settings->seal, PURPOSE, fields, N_FIELDS, arena, ret);
    return rc ? rc : ret->n > CW_AUTHORIZE_MAX_SEALED ? CW_LIMIT : CW_OK;
}

static const char *open_sealed(const cw_oauth_settings *settings, cw_str text, cw_arena *arena,
                               cw_authorize_request *ret)
{
    cw_str *places[N_FIELDS], fields[N_FIELDS];
    cw_code rc = cw_sealed_fields_open(settings->seal, PURPOSE, text, CW_AUTHORIZE_LIFETIME_MS,
                                       arena, fields, N_FIELDS);
    if (rc)
        return rc == CW_NOMEM ? NO_MEMORY : rc == CW_TIMEOUT ? EXPIRED : UNREADABLE;
    list_fields(ret, places);
    for (size_t i = 0; i < N_FIELDS; i++)
        *places[i] = fields[i];
    return NULL;
}

/* ---- parameters ---- */

typedef struct params {
    cw_str sealed, client_id, redirect_uri, state;
    cw_str response_type, response_mode, challenge, method, scope;
    cw_str resource; /* the path; .p is NULL: none was given */
    bool is_resource_wrong;
    const char *repeated; /* a parameter that may stand there only once; NULL: none */
} params;

static void set_error(cw_authorize_request *r, const char *error, const char *description)
{
    if (r->error.n)
        return;
    r->error = cw_str_from(error);
    r->description = cw_str_from(description);
}

/* RFC 8707 allows several; all of them must be the same part of this server. */
static void take_resource(cw_http_req *req, const cw_runtime_loop *rl, params *p, cw_str value)
{
    cw_str path = {NULL, 0};
    bool is_ours = !cw_oauth_resource_match(req, rl, value, &path);
    if (!is_ours || (p->resource.p && !cw_str_eq(p->resource, path)))
        p->is_resource_wrong = true;
    else
        p->resource = path;
}

static bool take_param(params *p, cw_str name, cw_str value)
{
    const struct {
        const char *name;
        cw_str *value;
    } known[] = {
        {"r", &p->sealed},
        {"client_id", &p->client_id},
        {"redirect_uri", &p->redirect_uri},
        {"state", &p->state},
        {"response_type", &p->response_type},
        {"response_mode", &p->response_mode},
        {"code_challenge", &p->challenge},
        {"code_challenge_method", &p->method},
        {"scope", &p->scope},
    };
    for (size_t i = 0; i < CW_COUNT(known); i++) {
        if (!cw_str_is(name, known[i].name))
            continue;
        if (known[i].value->p)
            p->repeated = known[i].name;
        else
            *known[i].value = value;
        return true;
    }
    return false;
}

/* An empty parameter counts as absent, an unknown one is ignored (RFC 6749, 3.1). */
static const char *read_params(cw_http_req *req, const cw_runtime_loop *rl, params *p)
{
    cw_str rest = cw_http_req_query(req), name, value;
    if (rest.n > CW_AUTHORIZE_MAX_QUERY + CW_AUTHORIZE_MAX_SEALED)
        return TOO_LONG;
    while (rest.p) {
        cw_code rc = cw_query_next(&rest, cw_http_req_arena(req), &name, &value);
        if (rc == CW_DONE)
            break;
        if (rc)
            return rc == CW_INVALID ? UNREADABLE : NO_MEMORY;
        if (!value.n || take_param(p, name, value))
            continue;
        if (cw_str_is(name, "resource"))
            take_resource(req, rl, p, value);
    }
    return NULL;
}

/* ---- checks ---- */

static bool is_challenge(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!cw_is_alnum(text.p[i]) && text.p[i] != '-' && text.p[i] != '_')
            return false;
    }
    return text.n == CHALLENGE_LEN;
}

static bool are_scopes(cw_str scope)
{
    while (scope.n) {
        cw_str one = cw_str_cut(scope, ' ', &scope);
        if (one.n && !cw_scope_is_valid(one))
            return false;
    }
    return true;
}

static void check(const params *p, cw_authorize_request *r)
{
    if (p->repeated)
        set_error(r, "invalid_request", "a parameter is repeated");
    if (!p->response_type.n)
        set_error(r, "invalid_request", "response_type is missing");
    else if (!cw_str_is(p->response_type, "code"))
        set_error(r, "unsupported_response_type", "response_type must be code");
    if (p->response_mode.n && !cw_str_is(p->response_mode, "query"))
        set_error(r, "invalid_request", "response_mode must be query");
    if (!is_challenge(p->challenge))
        set_error(r, "invalid_request",
                  "code_challenge must be the base64url text of a SHA-256 digest");
    if (!cw_str_is(p->method, "S256"))
        set_error(r, "invalid_request", "code_challenge_method must be S256");
    if (p->is_resource_wrong)
        set_error(r, "invalid_target", "resource is not an address of this server");
    if (p->scope.n > CW_AUTHORIZE_MAX_SCOPE || !are_scopes(p->scope))
        set_error(r, "invalid_scope", "scope is too long, or is no list of scopes");
}

/* Whether a parameter that an answer would need is ambiguous. */
static bool is_ambiguous(const params *p)
{
    return p->repeated && (!strcmp(p->repeated, "client_id") || !strcmp(p->repeated, "state") ||
                           !strcmp(p->repeated, "redirect_uri") || !strcmp(p->repeated, "r"));
}

const char *cw_authorize_request_read(cw_http_req *req, const cw_runtime_loop *rl,
                                      const cw_oauth_settings *settings, cw_authorize_request *ret)
{
    params p = {0};
    const char *problem = read_params(req, rl, &p);
    *ret = (cw_authorize_request){0};
    if (problem)
        return problem;
    if (is_ambiguous(&p))
        return "The application has sent a parameter more than once.";
    if (p.sealed.n)
        return open_sealed(settings, p.sealed, cw_http_req_arena(req), ret);
    if (!p.client_id.n)
        return "The application has not sent its client_id.";
    if (p.client_id.n > CW_OAUTH_MAX_ID || p.state.n > CW_AUTHORIZE_MAX_STATE ||
        cw_http_req_query(req).n > CW_AUTHORIZE_MAX_QUERY)
        return TOO_LONG;
    ret->issuer = cw_oauth_resource_base(req, rl, NULL);
    if (!ret->issuer.p)
        return NO_MEMORY;
    ret->client_id = p.client_id;
    ret->redirect_uri = p.redirect_uri;
    ret->state = p.state;
    ret->challenge = p.challenge;
    ret->scope = p.scope;
    ret->resource = p.resource.p ? p.resource : cw_runtime_config(rl)->mcp.path;
    check(&p, ret);
    if (ret->error.n)
        ret->challenge = ret->scope = CW_STR("");
    return NULL;
}
