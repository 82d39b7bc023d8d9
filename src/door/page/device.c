/* SPDX-License-Identifier: GPL-2.0-or-later */
/* device.c - the page for the codes of devices. */
#include "door/page/device.h"

#include "access/oauth/device.h"
#include "door/browser.h"
#include "door/oauth_challenge.h"
#include "door/page/consent.h"
#include "door/page/html.h"
#include "net/http/target.h"

#define HEADING "Log in a device"
#define MAX_CODE_FORM 1024u
#define UNAVAILABLE "This is not possible at the moment. Please try again."
#define FORGED "This form has expired, or came from another site. Please try again."
#define WRONG_CODE "No device waits for this code. It may have expired, or been used already."
#define TOO_MANY "There were too many wrong codes. Please wait a minute, then try again."
#define GONE "The code has expired. Please start again on the device."

typedef struct asked {
    cw_visit visit;
    char code[CW_DEVICE_USER_CODE + 1]; /* that was entered; empty: not such a code */
    cw_consent consent;
    bool is_allowed;
} asked;

static asked *from_visit(cw_visit *v)
{
    return CW_CONTAINER(v, asked, visit);
}

/* ---- the field for the code ---- */

static void show_field(cw_visit *v, const char *problem, uint32_t wait_s)
{
    cw_html_page page = {.status = wait_s    ? 429
                                   : problem ? 400
                                             : 200,
                         .heading = HEADING,
                         .problem = problem,
                         .retry_s = wait_s};
    char csrf[CW_SESSION_LEN + 1];
    cw_str action = cw_html_path(v->req, v->rl, CW_DEVICE_PAGE_PATH);
    cw_buf b;
    if (!action.p) {
        cw_html_fail_nomem(v->req);
        return;
    }
    cw_session_csrf_token(v->session, csrf);
    cw_html_open(&b, v->rl, &page);
    cw_buf_add(&b, CW_STR("<p>You are logged in as <strong>"));
    cw_html_add_text(&b, v->name);
    cw_buf_add(&b, CW_STR("</strong>. Enter the code that your device shows. Enter no code that "
                          "someone else has sent to you.</p>\n"));
    cw_html_open_form(&b, action);
    cw_html_add_hidden(&b, "csrf", cw_str_from(csrf));
    cw_buf_add(&b, CW_STR("<p><label for=\"user_code\">Code</label>\n<input id=\"user_code\" "
                          "name=\"user_code\" autocomplete=\"off\" autocapitalize=\"characters\" "
                          "spellcheck=\"false\" maxlength=\"20\" required autofocus></p>\n"
                          "<p><button class=\"main\">Continue</button></p>\n</form>\n"));
    cw_html_send(v->req, &page, &b);
}

static void with_session(cw_visit *v, const cw_login *login)
{
    if (login->status == CW_LOGIN_OK)
        show_field(v, NULL, 0);
    else
        cw_visit_log_in(v, CW_STR(CW_DEVICE_PAGE_PATH));
}

static asked *begin(cw_http_req *req, cw_runtime *runtime)
{
    asked *a = cw_arena_calloc(cw_http_req_arena(req), 1, sizeof *a);
    if (!a) {
        cw_html_fail_nomem(req);
        return NULL;
    }
    return cw_visit_begin(&a->visit, req, runtime, HEADING) ? a : NULL;
}

static void on_get(cw_http_req *req, void *self)
{
    asked *a = begin(req, self);
    if (!a)
        return;
    if (cw_browser_may_have_session(req, a->visit.rl))
        cw_visit_resume(&a->visit, with_session);
    else if (cw_runtime_console_host(a->visit.rl).n)
        cw_visit_go_to_console(&a->visit, CW_STR(CW_DEVICE_PAGE_PATH));
    else
        cw_visit_refuse(&a->visit, 503, UNAVAILABLE);
}

/* ---- the code is entered ---- */

static void on_device(cw_oauth_waiter *waiter, const cw_oauth_result *result)
{
    cw_visit *v = CW_CONTAINER(waiter, cw_visit, grants);
    asked *a = from_visit(v);
    const cw_device *device = result->device;
    cw_consent *consent = &a->consent;
    if (result->rc == CW_NOTFOUND) {
        show_field(v, WRONG_CODE, 0);
        return;
    }
    if (result->rc == CW_AGAIN) {
        show_field(v, TOO_MANY, result->wait_s);
        return;
    }
    if (result->rc) {
        cw_visit_refuse(v, 503, UNAVAILABLE);
        return;
    }
    consent->client = device->client;
    consent->issuer = cw_oauth_resource_base(v->req, v->rl, NULL);
    consent->redirect_uri = consent->state = consent->challenge = consent->again = CW_STR("");
    consent->resource = device->resource;
    consent->device = cw_str_from(a->code);
    consent->device_address = device->address;
    consent->device_asked = device->created;
    for (cw_str rest = device->scopes; rest.n && consent->n_scopes < CW_CONSENT_MAX_SCOPES;)
        consent->scopes[consent->n_scopes++] = cw_str_cut(rest, ' ', &rest);
    if (consent->issuer.p)
        cw_consent_show(v, consent);
    else
        cw_html_fail_nomem(v->req);
}

static void find_device(cw_visit *v, const cw_login *login)
{
    asked *a = from_visit(v);
    uint32_t wait_s = 0;
    if (login->status != CW_LOGIN_OK) {
        cw_visit_log_in(v, CW_STR(CW_DEVICE_PAGE_PATH));
        return;
    }
    /* It costs no guess. */
    if (!a->code[0]) {
        show_field(v, "A code has eight letters, such as BCDF-GHJK.", 0);
        return;
    }
    cw_consent_count_tools(v, login->caller, &a->consent.n_tools, &a->consent.n_changing);
    v->grants.fn = on_device;
    cw_visit_wait(v);
    cw_code rc = cw_oauth_find_device(cw_runtime_accounts(v->rl), cw_http_req_loop(v->req),
                                      cw_str_from(a->code), v->account, cw_http_req_peer(v->req),
                                      &wait_s, &v->grants);
    if (rc == CW_AGAIN)
        show_field(v, TOO_MANY, wait_s);
    else if (rc)
        cw_visit_refuse(v, 503, UNAVAILABLE);
}

/* ---- the decision ---- */

static void show_end(asked *a)
{
    cw_html_page page = {.status = 200, .heading = HEADING};
    cw_buf b;
    cw_html_open(&b, a->visit.rl, &page);
    cw_buf_add(&b, a->is_allowed
                       ? CW_STR("<p role=\"status\">The device is logged in. You can close this "
                                "page.</p>\n")
                       : CW_STR("<p role=\"status\">The device has no access. You can close this "
                                "page.</p>\n"));
    cw_html_send(a->visit.req, &page, &b);
}

static void on_decided(cw_oauth_waiter *waiter, const cw_oauth_result *result)
{
    cw_visit *v = CW_CONTAINER(waiter, cw_visit, grants);
    asked *a = from_visit(v);
    if (result->rc == CW_NOTFOUND) {
        cw_visit_refuse(v, 400, GONE);
        return;
    }
    if (result->rc) {
        cw_visit_refuse(v, result->rc == CW_GONE ? 403 : 503,
                        result->rc == CW_GONE ? CW_CONSENT_FORGED : UNAVAILABLE);
        return;
    }
    cw_consent_audit(v, &a->consent, "device", a->is_allowed ? "allowed" : "denied");
    show_end(a);
}

static void decided(cw_visit *v, const cw_login *login)
{
    const asked *a = from_visit(v);
    const cw_oauth_device_decision decision = {.user_code = a->consent.device,
                                               .is_allowed = a->is_allowed,
                                               .account = v->account,
                                               .session = v->session,
                                               .scopes = a->consent.scopes,
                                               .n_scopes = a->consent.n_scopes};
    if (login->status != CW_LOGIN_OK || !a->consent.device.n) {
        cw_visit_refuse(v, 403, CW_CONSENT_FORGED);
        return;
    }
    v->grants.fn = on_decided;
    cw_visit_wait(v);
    if (cw_oauth_decide_device(cw_runtime_accounts(v->rl), cw_http_req_loop(v->req), &decision,
                               &v->grants))
        cw_visit_refuse(v, 503, UNAVAILABLE);
}

/* ---- POST ---- */

/* The form with a code: whether it has the session's proof. */
static bool read_code(asked *a)
{
    cw_http_req *req = a->visit.req;
    cw_str rest = cw_http_req_body(req), name, value;
    bool has_proof = false;
    if (!cw_html_is_form(req) || rest.n > MAX_CODE_FORM || !a->visit.session.p)
        return false;
    while (rest.n && !cw_query_next(&rest, cw_http_req_arena(req), &name, &value)) {
        if (cw_str_is(name, "csrf"))
            has_proof = cw_session_csrf_matches(a->visit.session, value);
        if (cw_str_is(name, "user_code") && !cw_device_read_code(value, a->code))
            a->code[0] = '\0';
    }
    return has_proof && cw_browser_is_ours(req, a->visit.rl, /* may_be_silent= */ false);
}

static void on_post(cw_http_req *req, void *self)
{
    asked *a = begin(req, self);
    if (!a)
        return;
    if (!cw_str_starts(cw_http_req_body(req), CW_STR("consent="))) {
        if (read_code(a))
            cw_visit_resume(&a->visit, find_device);
        else
            cw_visit_refuse(&a->visit, 403, FORGED);
    } else if (cw_consent_receive(&a->visit, &a->consent, &a->is_allowed)) {
        cw_visit_resume(&a->visit, decided);
    }
}

cw_code cw_device_page_add_routes(cw_router *router, cw_runtime *runtime)
{
    cw_code rc = cw_router_add(router, CW_HTTP_GET, CW_DEVICE_PAGE_PATH, on_get, runtime);
    return rc ? rc : cw_router_add(router, CW_HTTP_POST, CW_DEVICE_PAGE_PATH, on_post, runtime);
}
