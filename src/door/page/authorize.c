/* SPDX-License-Identifier: GPL-2.0-or-later */
/* authorize.c - the authorization endpoint: requests, and the decisions of people. */
#include "door/page/authorize.h"

#include "access/oauth/cimd.h"
#include "base/percent.h"
#include "door/browser.h"
#include "door/oauth_challenge.h"
#include "door/page/consent.h"
#include "door/page/device.h"
#include "door/page/grants.h"
#include "door/page/html.h"
#include "door/rpc_batch.h"
#include "net/http/target.h"

#define HEADING "Allow access"
#define LOCATION_MAX 8000u

#define UNAVAILABLE "This is not possible at the moment. Please try again."
#define NO_NAVIGATION "This page must be opened in a browser window of its own."
#define UNKNOWN_CLIENT "This server does not know the application."
#define NO_DOCUMENT                                                                                \
    "The description of the application could not be used. Please try again later, or ask the "    \
    "operator of this server."
#define BAD_REDIRECT                                                                               \
    "The application has not registered the address that the answer would be sent to."

typedef struct asked {
    cw_visit visit;
    cw_authorize_pages *door;
    cw_authorize_request request;
    size_t n_tools, n_changing;
    /* a decision */
    cw_consent consent;
    bool is_allowed;
} asked;

static asked *from_visit(cw_visit *v)
{
    return CW_CONTAINER(v, asked, visit);
}

/* ---- answers to the client ---- */

typedef struct answer {
    cw_str redirect_uri, state, issuer;
    cw_str code;               /* or: */
    cw_str error, description; /* the description may be empty */
} answer;

static void add_param(cw_buf *out, bool *is_first, const char *name, cw_str value)
{
    if (!value.n)
        return;
    if (!*is_first)
        cw_buf_add_char(out, '&');
    *is_first = false;
    cw_buf_printf(out, "%s=", name);
    cw_percent_encode(out, value);
}

/* The address that the answer is sent to; an existing query is kept byte for byte. .p is NULL without
 * memory, or if it is too long. */
static cw_str location_of(cw_http_req *req, const answer *a)
{
    cw_buf b;
    bool has_query = memchr(a->redirect_uri.p, '?', a->redirect_uri.n) != NULL;
    bool is_first = !has_query || cw_str_ends(a->redirect_uri, CW_STR("?")) ||
                    cw_str_ends(a->redirect_uri, CW_STR("&"));
    cw_buf_init(&b, LOCATION_MAX);
    cw_buf_add(&b, a->redirect_uri);
    if (!has_query)
        cw_buf_add_char(&b, '?');
    add_param(&b, &is_first, "code", a->code);
    add_param(&b, &is_first, "error", a->error);
    add_param(&b, &is_first, "error_description", a->description);
    add_param(&b, &is_first, "state", a->state);
    add_param(&b, &is_first, "iss", a->issuer);
    return cw_rpc_batch_keep(cw_http_req_arena(req), &b);
}

static void redirect(asked *a, const answer *to)
{
    static const cw_str no_cookies[CW_HTML_COOKIES] = {CW_STR_INIT(""), CW_STR_INIT("")};
    cw_str location = location_of(a->visit.req, to);
    if (location.p)
        cw_html_redirect(a->visit.req, location, no_cookies);
    else
        cw_html_fail_nomem(a->visit.req);
}

/* An error of the request, with a link that reports it to the client. */
static void show_error(asked *a, cw_str error, cw_str description)
{
    cw_visit *v = &a->visit;
    cw_html_page page = {.status = 400,
                         .heading = HEADING,
                         .problem = "The application has sent a request that is not valid."};
    const answer to = {.redirect_uri = a->request.redirect_uri,
                       .state = a->request.state,
                       .issuer = a->request.issuer,
                       .error = error,
                       .description = description};
    cw_str location = location_of(v->req, &to);
    if (!location.p) {
        cw_html_fail_nomem(v->req);
        return;
    }
    cw_buf b;
    cw_html_open(&b, v->rl, &page);
    cw_buf_add(&b, CW_STR("<p>"));
    cw_html_add_text(&b, error);
    cw_buf_add(&b, CW_STR(": "));
    cw_html_add_text(&b, description);
    cw_buf_add(&b, CW_STR("</p>\n<p><a href=\""));
    cw_html_add_text(&b, location);
    cw_buf_add(&b, CW_STR("\">Return to the application</a></p>\n"));
    cw_html_send(v->req, &page, &b);
}

/* ---- scopes and tools ---- */

/* The scopes that the client asks for and that exist. False: it asks for others only, or there is no
 * memory; it is answered. */
static bool choose_scopes(asked *a, cw_consent *consent)
{
    cw_oauth_asked_scopes asked_for;
    cw_code rc = cw_oauth_resource_choose_scopes(a->visit.rl, a->request.scope,
                                                 cw_http_req_arena(a->visit.req), &asked_for);
    if (rc == CW_NOTFOUND)
        show_error(a, CW_STR("invalid_scope"), CW_STR("none of the scopes exists"));
    else if (rc)
        cw_html_fail_nomem(a->visit.req);
    if (rc)
        return false;
    consent->is_offline = asked_for.is_offline;
    for (size_t i = 0; i < asked_for.n && i < CW_CONSENT_MAX_SCOPES; i++)
        consent->scopes[consent->n_scopes++] = asked_for.items[i];
    return true;
}

/* ---- the client is known ---- */

static cw_redirect_rules redirect_rules(const cw_visit *v)
{
    const cw_config_strings *listed = &cw_runtime_config(v->rl)->access.server.redirect_uris;
    return (cw_redirect_rules){listed->items, listed->n};
}

/* Whether the request names a redirect URI of the client, or the client has only one. */
static bool choose_redirect(asked *a, const cw_oauth_client *client, cw_redirect *ret)
{
    cw_redirect_rules rules = redirect_rules(&a->visit);
    cw_str used = a->request.redirect_uri;
    if (!used.n && client->n_redirect_uris == 1)
        used = cw_arena_dup_str(cw_http_req_arena(a->visit.req), client->redirect_uris[0]);
    if (!used.p || cw_redirect_parse(used, &rules, ret))
        return false;
    a->request.redirect_uri = used;
    for (size_t i = 0; i < client->n_redirect_uris; i++) {
        if (cw_redirect_matches(client->redirect_uris[i], used))
            return true;
    }
    return false;
}

static void show_consent(asked *a, const cw_oauth_client *client)
{
    cw_visit *v = &a->visit;
    cw_consent *consent = &a->consent;
    *consent = (cw_consent){.client = *client};
    if (!choose_redirect(a, client, &consent->to)) {
        cw_visit_refuse(v, 400, BAD_REDIRECT);
        return;
    }
    if (a->request.error.n) {
        show_error(a, a->request.error, a->request.description);
        return;
    }
    if (!choose_scopes(a, consent))
        return;
    consent->issuer = a->request.issuer;
    consent->redirect_uri = a->request.redirect_uri;
    consent->state = a->request.state;
    consent->challenge = a->request.challenge;
    consent->resource = a->request.resource;
    consent->n_tools = a->n_tools;
    consent->n_changing = a->n_changing;
    if (cw_authorize_request_seal(&a->request, v->settings, cw_http_req_arena(v->req),
                                  &consent->again))
        cw_html_fail_nomem(v->req);
    else
        cw_consent_show(v, consent);
}

static void on_document(cw_cimd_waiter *waiter, cw_code rc, cw_str body)
{
    cw_visit *v = CW_CONTAINER(waiter, cw_visit, document);
    asked *a = from_visit(v);
    cw_redirect_rules rules = redirect_rules(v);
    cw_oauth_client client;
    cw_err err = {0};
    if (rc == CW_LIMIT || rc == CW_NOMEM) {
        cw_visit_refuse(v, rc == CW_LIMIT ? 429 : 503, UNAVAILABLE);
        return;
    }
    if (!rc)
        rc = cw_cimd_read(a->request.client_id, body, &rules, cw_http_req_arena(v->req), &client,
                          &err);
    if (rc == CW_PARAMS)
        cw_cimd_cache_reject(a->door->documents, a->request.client_id, err.msg);
    if (rc)
        cw_visit_refuse(v, 400, NO_DOCUMENT);
    else
        show_consent(a, &client);
}

/* Whether documents of this host may be used. */
static bool is_listed_host(const cw_visit *v, cw_str host)
{
    const cw_config_strings *hosts = &cw_runtime_config(v->rl)->access.server.client_document_hosts;
    for (size_t i = 0; i < hosts->n; i++) {
        if (cw_str_matches(hosts->items[i], host, CW_STR_ANY_CASE))
            return true;
    }
    return hosts->n == 0;
}

static void find_document(asked *a)
{
    cw_visit *v = &a->visit;
    cw_str host;
    if (!v->settings->has_documents || cw_cimd_check_id(a->request.client_id, &host) ||
        !is_listed_host(v, host)) {
        cw_visit_refuse(v, 400, UNKNOWN_CLIENT);
        return;
    }
    v->document.fn = on_document;
    cw_visit_wait(v);
    cw_cimd_cache_find(a->door->documents, cw_http_req_loop(v->req), a->request.client_id, v->name,
                       &v->document);
}

static void on_client(cw_oauth_waiter *waiter, const cw_oauth_result *result)
{
    cw_visit *v = CW_CONTAINER(waiter, cw_visit, grants);
    if (result->rc == CW_DECLINED)
        find_document(from_visit(v));
    else if (result->rc == CW_NOTFOUND)
        cw_visit_refuse(v, 400, UNKNOWN_CLIENT);
    else if (result->rc)
        cw_visit_refuse(v, 503, UNAVAILABLE);
    else
        show_consent(from_visit(v), result->client);
}

/* ---- GET /authorize ---- */

/* The request as the only parameter of a path on this server. False: it is answered. */
static bool seal_request(asked *a, cw_str *ret)
{
    cw_visit *v = &a->visit;
    cw_str sealed;
    cw_code rc =
        cw_authorize_request_seal(&a->request, v->settings, cw_http_req_arena(v->req), &sealed);
    if (rc == CW_LIMIT) {
        cw_visit_refuse(v, 400, "The application has sent a request that is too long.");
        return false;
    }
    char *path = rc ? NULL
                    : cw_arena_printf(cw_http_req_arena(v->req), CW_AUTHORIZE_PATH "?r=%.*s",
                                      CW_STR_ARG(sealed));
    if (!path)
        cw_html_fail_nomem(v->req);
    *ret = cw_str_from(path);
    return path != NULL;
}

/* Whether the browser may have a session that it did not send: the cookie of the console is strict, and
 * another site opened this page. */
static bool may_lack_cookie(const cw_visit *v)
{
    return cw_runtime_console_host(v->rl).n && !cw_browser_session(v->req, v->rl).p &&
           cw_str_is(cw_http_req_header(v->req, CW_STR("Sec-Fetch-Site")), "cross-site");
}

/* A page of ours that opens the same address again: then the browser sends the cookie, if it has one. */
static void open_again(cw_visit *v, cw_str next)
{
    const cw_html_page page = {.status = 200, .heading = HEADING};
    cw_str path = cw_html_path(v->req, v->rl, next.p);
    cw_buf b;
    if (!path.p) {
        cw_html_fail_nomem(v->req);
        return;
    }
    cw_html_open(&b, v->rl, &page);
    cw_buf_add(&b, CW_STR("<meta http-equiv=\"refresh\" content=\"0; url="));
    cw_html_add_text(&b, path);
    cw_buf_add(&b, CW_STR("\"><p><a href=\""));
    cw_html_add_text(&b, path);
    cw_buf_add(&b, CW_STR("\">Continue</a></p>"));
    cw_html_send(v->req, &page, &b);
}

/* The login comes before the client is looked up: strangers cannot make this server fetch a document. */
static void with_session(cw_visit *v, const cw_login *login)
{
    asked *a = from_visit(v);
    cw_str next;
    if (login->status != CW_LOGIN_OK) {
        if (!seal_request(a, &next))
            return;
        if (may_lack_cookie(v))
            open_again(v, next);
        else
            cw_visit_log_in(v, next);
        return;
    }
    cw_consent_count_tools(v, login->caller, &a->n_tools, &a->n_changing);
    v->grants.fn = on_client;
    cw_visit_wait(v);
    if (cw_oauth_find_client(cw_runtime_accounts(v->rl), cw_http_req_loop(v->req),
                             a->request.client_id, &v->grants))
        cw_visit_refuse(v, 503, UNAVAILABLE);
}

/* Whether a browser opens this as a page. One that loads it ahead, in a frame or by a script gets
 * nothing; programs without these headers may. */
static bool is_navigation(const cw_http_req *req)
{
    cw_str dest = cw_http_req_header(req, CW_STR("Sec-Fetch-Dest"));
    cw_str mode = cw_http_req_header(req, CW_STR("Sec-Fetch-Mode"));
    return (!dest.p || cw_str_is(dest, "document")) && (!mode.p || cw_str_is(mode, "navigate")) &&
           !cw_http_req_header(req, CW_STR("Sec-Purpose")).p;
}

static void go_to_console(asked *a)
{
    cw_str next;
    if (seal_request(a, &next))
        cw_visit_go_to_console(&a->visit, next);
}

static asked *begin(cw_http_req *req, cw_authorize_pages *door)
{
    asked *a = cw_arena_calloc(cw_http_req_arena(req), 1, sizeof *a);
    if (!a) {
        cw_html_fail_nomem(req);
        return NULL;
    }
    a->door = door;
    return cw_visit_begin(&a->visit, req, door->runtime, HEADING) ? a : NULL;
}

static void on_get(cw_http_req *req, void *self)
{
    asked *a = begin(req, self);
    if (!a)
        return;
    if (!is_navigation(req)) {
        cw_visit_refuse(&a->visit, 403, NO_NAVIGATION);
        return;
    }
    const char *problem =
        cw_authorize_request_read(req, a->visit.rl, a->visit.settings, &a->request);
    if (problem)
        cw_visit_refuse(&a->visit, 400, problem);
    else if (cw_browser_may_have_session(req, a->visit.rl))
        cw_visit_resume(&a->visit, with_session);
    else if (cw_runtime_console_host(a->visit.rl).n && !cw_browser_is_console(req, a->visit.rl))
        go_to_console(a);
    else
        cw_visit_refuse(&a->visit, 503, UNAVAILABLE);
}

/* ---- POST /authorize ---- */

static answer answer_to(const asked *a)
{
    return (answer){.redirect_uri = a->consent.redirect_uri,
                    .state = a->consent.state,
                    .issuer = a->consent.issuer};
}

static void on_code(cw_oauth_waiter *waiter, const cw_oauth_result *result)
{
    cw_visit *v = CW_CONTAINER(waiter, cw_visit, grants);
    asked *a = from_visit(v);
    answer to = answer_to(a);
    if (result->rc == CW_GONE) {
        cw_visit_refuse(v, 403, CW_CONSENT_FORGED);
        return;
    }
    if (result->rc) {
        cw_visit_refuse(v, 503, UNAVAILABLE);
        return;
    }
    cw_consent_audit(v, &a->consent, "authorize", "allowed");
    to.code = result->code;
    redirect(a, &to);
}

static void issue(asked *a)
{
    cw_visit *v = &a->visit;
    const cw_consent *c = &a->consent;
    const cw_oauth_code_request request = {.account = v->account,
                                           .account_name = v->name,
                                           .session = v->session,
                                           .client = &c->client,
                                           .redirect_uri = c->redirect_uri,
                                           .code_challenge = c->challenge,
                                           .resource = c->resource,
                                           .scopes = c->scopes,
                                           .n_scopes = c->n_scopes,
                                           .is_offline = c->is_offline};
    v->grants.fn = on_code;
    cw_visit_wait(v);
    if (cw_oauth_issue_code(cw_runtime_accounts(v->rl), cw_http_req_loop(v->req), &request,
                            &v->grants))
        cw_visit_refuse(v, 503, UNAVAILABLE);
}

static void decided(cw_visit *v, const cw_login *login)
{
    asked *a = from_visit(v);
    answer to = answer_to(a);
    if (login->status != CW_LOGIN_OK || a->consent.device.n) {
        cw_visit_refuse(v, 403, CW_CONSENT_FORGED);
        return;
    }
    if (a->is_allowed) {
        issue(a);
        return;
    }
    cw_consent_audit(v, &a->consent, "authorize", "denied");
    to.error = CW_STR("access_denied");
    redirect(a, &to);
}

static void on_post(cw_http_req *req, void *self)
{
    asked *a = begin(req, self);
    if (a && cw_consent_receive(&a->visit, &a->consent, &a->is_allowed))
        cw_visit_resume(&a->visit, decided);
}

cw_code cw_authorize_add_routes(cw_router *router, cw_authorize_pages *door, cw_runtime *runtime,
                                cw_cimd_cache *documents)
{
    door->runtime = runtime;
    door->documents = documents;
    cw_code rc = cw_router_add(router, CW_HTTP_GET, CW_AUTHORIZE_PATH, on_get, door);
    if (!rc)
        rc = cw_router_add(router, CW_HTTP_POST, CW_AUTHORIZE_PATH, on_post, door);
    if (!rc)
        rc = cw_grants_page_add_routes(router, runtime);
    return rc ? rc : cw_device_page_add_routes(router, runtime);
}
