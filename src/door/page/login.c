/* SPDX-License-Identifier: GPL-2.0-or-later */
/* login.c - the login page for browsers: its form, its cookies, logging in and out. */
#include "door/page/login.h"

#include <stdio.h>

#include "door/authenticate.h"
#include "door/browser.h"
#include "door/page/grants.h"
#include "door/page/html.h"
#include "metrics/metrics.h"
#include "net/http/target.h"

/* What a login page shows: who has logged in; else the form, when it has a proof; else neither. */
typedef struct login_page {
    cw_html_page html;
    cw_str account;
    cw_str proof;  /* of the form, or of the session */
    cw_str action; /* where the form goes; a path */
    cw_str next;   /* where to go after logging in; may be empty */
    cw_str grants; /* of the page with the applications of the account; empty: there is none */
} login_page;

static void open_form(cw_buf *out, const login_page *page)
{
    cw_html_open_form(out, page->action);
    cw_html_add_hidden(out, "csrf", page->proof);
}

static void add_account(cw_buf *out, const login_page *page)
{
    cw_buf_add(out, CW_STR("<p>You are logged in as <strong>"));
    cw_html_add_text(out, page->account);
    cw_buf_add(out, CW_STR("</strong>.</p>\n"));
    if (page->grants.n) {
        cw_buf_add(out, CW_STR("<p><a href=\""));
        cw_html_add_text(out, page->grants);
        cw_buf_add(out, CW_STR("\">Allowed applications</a></p>\n"));
    }
    open_form(out, page);
    cw_buf_add(out, CW_STR("<button class=\"main\">Log out</button>\n</form>\n"));
}

static void add_form(cw_buf *out, const login_page *page)
{
    open_form(out, page);
    if (page->next.n)
        cw_html_add_hidden(out, "next", page->next);
    cw_buf_add(out, CW_STR("<label for=\"name\">Name</label>\n"
                           "<input id=\"name\" name=\"name\" autocomplete=\"username\" "
                           "autocapitalize=\"none\" spellcheck=\"false\" maxlength=\"128\" "
                           "required autofocus>\n"
                           "<label for=\"password\">Password</label>\n"
                           "<input id=\"password\" name=\"password\" type=\"password\" "
                           "autocomplete=\"current-password\" maxlength=\"1024\" required>\n"
                           "<button class=\"main\">Log in</button>\n</form>\n"));
}

static void send_page(cw_http_req *req, const cw_runtime_loop *rl, login_page *page)
{
    cw_buf b;
    page->html.heading = page->account.n ? "Logged in" : "Log in";
    cw_html_open(&b, rl, &page->html);
    if (page->account.n)
        add_account(&b, page);
    else if (page->proof.n)
        add_form(&b, page);
    cw_html_send(req, &page->html, &b);
}

#define FORM_LIFETIME_S "3600"

#define CLEAR_TEXT "Logging in needs an encrypted connection (https)."
#define EXPIRED "This form has expired, or came from another site. Please try again."
#define INCOMPLETE "Please enter a name and a password."
#define WRONG "The name or the password is wrong."
#define TOO_MANY "Too many attempts to log in. Please wait a moment."
#define UNAVAILABLE "Logging in is not possible at the moment."

/* One request to one of the pages; in its arena. */
typedef struct visit {
    cw_login_waiter waiter;
    cw_http_req *req;
    cw_login_pages *door;
    cw_runtime_loop *rl;
    cw_str session;     /* the browser's; .p is NULL: none */
    cw_str form_secret; /* of the form's cookie, which may be new */
    cw_str next;        /* checked; empty: back to the page */
    cw_str name;        /* that was entered */
    cw_str password;
    cw_str csrf;
    void (*then)(struct visit *v, const cw_login *login);
} visit;

/* ---- addresses ---- */

/* Whether a browser stays on this site when it is sent there: one slash, then nothing that it might
 * read as the beginning of a host, and no byte that it leaves out. */
static bool is_local(cw_str path)
{
    if (path.n == 0 || path.n > CW_LOGIN_MAX_NEXT || path.p[0] != '/')
        return false;
    for (size_t i = 0; i < path.n; i++) {
        char c = path.p[i];
        if (c <= ' ' || c >= 0x7F || c == '\\')
            return false;
    }
    return path.n == 1 || path.p[1] != '/';
}

/* ---- pages ---- */

static cw_str cookie(const visit *v, const char *name, cw_str value, const char *more)
{
    char *text = cw_arena_printf(cw_http_req_arena(v->req), "%s=%.*s" CW_BROWSER_ATTRIBUTES "%s",
                                 name, CW_STR_ARG(value), more);
    return text ? cw_str_from(text) : CW_STR("");
}

static void show_message(const visit *v, unsigned status, const char *problem)
{
    send_page(v->req, v->rl, &(login_page){.html = {.status = status, .problem = problem}});
}

/* The form, with a cookie that it is bound to: the one that the browser has, or a new one. */
static void show_form(visit *v, unsigned status, const char *problem, uint32_t retry_s)
{
    char proof[CW_SESSION_LEN + 1];
    login_page page = {.html = {.status = status, .problem = problem, .retry_s = retry_s},
                       .next = v->next};
    if (!cw_session_is_secret(v->form_secret)) {
        char *secret = cw_arena_alloc(cw_http_req_arena(v->req), CW_SESSION_LEN + 1);
        if (!secret || cw_session_secret(secret, NULL)) {
            cw_html_fail_nomem(v->req);
            return;
        }
        v->form_secret = cw_str_from(secret);
    }
    cw_session_csrf_token(v->form_secret, proof);
    page.proof = cw_str_from(proof);
    page.action = cw_html_path(v->req, v->rl, v->door->path);
    page.html.cookies[0] =
        cookie(v, CW_BROWSER_FORM, v->form_secret, "Strict; Max-Age=" FORM_LIFETIME_S);
    if (v->session.p)
        page.html.cookies[1] = cw_browser_cookie_kind(v->rl)->removal;
    if (page.action.p && page.html.cookies[0].n)
        send_page(v->req, v->rl, &page);
    else
        cw_html_fail_nomem(v->req);
}

static void show_account(const visit *v, const cw_caller *caller)
{
    char proof[CW_SESSION_LEN + 1];
    login_page page = {.html = {.status = 200}, .account = cw_caller_name(caller)};
    cw_session_csrf_token(v->session, proof);
    page.proof = cw_str_from(proof);
    page.action = cw_html_path(v->req, v->rl, "/logout");
    if (cw_accounts_has_oauth(cw_runtime_accounts(v->rl)))
        page.grants = cw_html_path(v->req, v->rl, CW_GRANTS_PAGE_PATH);
    if (page.action.p)
        send_page(v->req, v->rl, &page);
    else
        cw_html_fail_nomem(v->req);
}

static void go(const visit *v, cw_str location, cw_str cookie1, cw_str cookie2)
{
    const cw_str cookies[2] = {cookie1, cookie2};
    cw_str there = location.n ? location : cw_html_path(v->req, v->rl, v->door->path);
    if (there.p)
        cw_html_redirect(v->req, there, cookies);
    else
        cw_html_fail_nomem(v->req);
}

/* ---- waiting ---- */

static void on_login(cw_login_waiter *waiter, const cw_login *login)
{
    visit *v = CW_CONTAINER(waiter, visit, waiter);
    v->then(v, login);
}

static cw_str peer_of(cw_login_waiter *waiter)
{
    return cw_http_req_peer(CW_CONTAINER(waiter, visit, waiter)->req);
}

static void on_event(cw_http_req *req, cw_http_event event, void *ctx)
{
    visit *v = ctx;
    (void)req;
    if (event == CW_HTTP_GONE)
        cw_login_cancel(&v->waiter);
}

static void wait_or_go_on(visit *v, const cw_login *login)
{
    if (login->status == CW_LOGIN_PENDING)
        cw_http_listen(v->req, on_event, v);
    else
        v->then(v, login);
}

static void resume(visit *v, void (*then)(visit *v, const cw_login *login))
{
    cw_accounts *accounts = cw_runtime_accounts(v->rl);
    v->then = then;
    cw_login login = cw_session_resume(accounts, cw_http_req_loop(v->req), v->session, &v->waiter);
    wait_or_go_on(v, &login);
}

/* Record a login on the page: its outcome, and its caller or the name that a client claimed. */
static void audit_login(const cw_http_req *req, const cw_runtime_loop *rl, const char *outcome,
                        const cw_caller *caller, cw_str name)
{
    cw_audit_record r = {.kind = CW_AUDIT_LOGIN,
                         .door = "login",
                         .outcome = outcome,
                         .is_anonymous = !caller,
                         .address = cw_http_req_peer(req),
                         .caller = caller ? cw_caller_name(caller) : name,
                         .detail = CW_STR("password")};
    if (caller)
        r.caller_id = cw_caller_id(caller);
    cw_metrics_count(CW_METRIC_LOGINS, cw_metrics_value(CW_METRIC_LOGINS, 0, CW_STR("password")),
                     cw_metrics_value(CW_METRIC_LOGINS, 1, cw_str_from(outcome)), 0);
    if (cw_audit_is_on(cw_runtime_audit(rl)))
        cw_audit_add(cw_runtime_audit(rl), &r);
}

/* The common start of all pages; NULL: the request is answered. */
static visit *begin(cw_http_req *req, cw_login_pages *door)
{
    cw_runtime_loop *rl = cw_runtime_at(door->runtime, cw_http_req_loop(req));
    visit *v = cw_arena_calloc(cw_http_req_arena(req), 1, sizeof *v);
    if (!cw_browser_may_have_session(req, rl)) {
        cw_http_reply_error(req, 404, "not_found", CW_STR("There is nothing at this path"));
        return NULL;
    }
    if (!v) {
        cw_http_reply_error(req, 503, "unavailable", CW_STR("out of memory"));
        return NULL;
    }
    *v = (visit){.waiter = {.peer = peer_of, .fn = on_login},
                 .req = req,
                 .door = door,
                 .rl = rl,
                 .session = cw_browser_session(req, rl),
                 .form_secret = cw_browser_cookie(req, CW_STR(CW_BROWSER_FORM))};
    if (cw_browser_is_private(req, rl))
        return v;
    audit_login(req, rl, "clear_text", NULL, CW_STR(""));
    show_message(v, 403, CLEAR_TEXT);
    return NULL;
}

/* ---- GET /login ---- */

static void read_next(visit *v, cw_str given)
{
    if (is_local(given))
        v->next = given;
}

static void show(visit *v, const cw_login *login)
{
    if (login->status == CW_LOGIN_OK)
        show_account(v, login->caller);
    else if (login->status == CW_LOGIN_UNAVAILABLE)
        show_message(v, 503, UNAVAILABLE);
    else
        show_form(v, 200, NULL, 0);
}

static void on_page(cw_http_req *req, void *self)
{
    cw_str rest = cw_http_req_query(req), name, value;
    visit *v = begin(req, self);
    if (!v)
        return;
    bool is_again = false;
    /* The last of several fields counts; each of them is checked. */
    while (rest.p && !cw_query_next(&rest, cw_http_req_arena(req), &name, &value)) {
        if (cw_str_is(name, "next"))
            read_next(v, value);
        is_again = is_again || cw_str_is(name, "again");
    }
    /* A page that asks for the password again: the session stays until the form has been sent. */
    if (is_again)
        v->session = (cw_str){NULL, 0};
    if (v->session.p)
        resume(v, show);
    else
        show_form(v, 200, NULL, 0);
}

/* ---- forms ---- */

/* The fields of the body. CW_PARAMS: a field is repeated or ill-formed; CW_NOMEM. */
static cw_code read_fields(visit *v)
{
    cw_str next = {NULL, 0};
    const struct {
        const char *name;
        cw_str *value;
    } fields[] = {
        {"name", &v->name}, {"password", &v->password}, {"csrf", &v->csrf}, {"next", &next}};
    cw_str rest = cw_http_req_body(v->req), name, value;
    cw_code rc = CW_OK;
    while (rest.n && !(rc = cw_query_next(&rest, cw_http_req_arena(v->req), &name, &value))) {
        for (size_t i = 0; i < CW_COUNT(fields); i++) {
            if (!cw_str_is(name, fields[i].name))
                continue;
            if (fields[i].value->p)
                return CW_PARAMS;
            *fields[i].value = value;
        }
    }
    read_next(v, next);
    if (rc == CW_OK || rc == CW_DONE)
        return CW_OK;
    return rc == CW_INVALID ? CW_PARAMS : CW_NOMEM;
}

/* False: it is answered. */
static bool take_form(visit *v)
{
    if (!cw_html_is_form(v->req)) {
        show_message(v, 415, "Forms are sent as " CW_HTML_FORM_TYPE ".");
        return false;
    }
    if (cw_http_req_body(v->req).n > CW_LOGIN_MAX_FORM) {
        show_message(v, 413, "The form is too large.");
        return false;
    }
    cw_code rc = read_fields(v);
    if (rc == CW_NOMEM)
        cw_html_fail_nomem(v->req);
    else if (rc)
        show_form(v, 400, INCOMPLETE, 0);
    return !rc;
}

/* A form that was not issued to this browser: count it as a failed login, and record it. Returns
 * the delay in seconds that the network must keep; 0: none. */
static uint32_t count_forged(visit *v)
{
    cw_login login = cw_session_forged(cw_runtime_accounts(v->rl), &v->waiter);
    bool must_wait = login.status == CW_LOGIN_TOO_MANY;
    audit_login(v->req, v->rl, must_wait ? cw_authenticate_outcome(login.status) : "forged", NULL,
                v->name);
    return must_wait ? login.retry_s : 0;
}

/* ---- POST /login ---- */

static void opened(visit *v, const cw_login *login)
{
    bool is_ok = login->status == CW_LOGIN_OK;
    audit_login(v->req, v->rl, cw_authenticate_outcome(login->status), is_ok ? login->caller : NULL,
                v->name);
    /* A failed login does not end an existing session. */
    v->session = (cw_str){NULL, 0};
    if (is_ok) {
        const cw_browser_session_cookie *kind = cw_browser_cookie_kind(v->rl);
        cw_str set = cookie(v, kind->name, cw_str_from(login->session), kind->same_site);
        if (set.n)
            go(v, v->next, set, CW_STR(CW_BROWSER_NO_FORM));
        else
            cw_html_fail_nomem(v->req);
    } else if (login->status == CW_LOGIN_WRONG) {
        show_form(v, 403, WRONG, 0);
    } else if (login->status == CW_LOGIN_TOO_MANY) {
        show_form(v, 429, TOO_MANY, login->retry_s);
    } else {
        show_form(v, 503, UNAVAILABLE, 1);
    }
}

static void on_form(cw_http_req *req, void *self)
{
    visit *v = begin(req, self);
    if (!v || !take_form(v))
        return;
    if (!cw_browser_is_ours(req, v->rl, /* may_be_silent= */ false) ||
        !cw_session_is_secret(v->form_secret) ||
        !cw_session_csrf_matches(v->form_secret, v->csrf)) {
        uint32_t retry_s = count_forged(v);
        v->session = (cw_str){NULL, 0};
        v->form_secret = (cw_str){NULL, 0};
        show_form(v, retry_s ? 429 : 403, retry_s ? TOO_MANY : EXPIRED, retry_s);
        return;
    }
    if (!v->name.n || !v->password.n) {
        show_form(v, 400, INCOMPLETE, 0);
        return;
    }
    v->then = opened;
    cw_login login = cw_session_open(cw_runtime_accounts(v->rl), cw_http_req_loop(req), v->name,
                                     v->password, v->session, &v->waiter);
    wait_or_go_on(v, &login);
}

/* ---- POST /logout ---- */

static void ended(visit *v, const cw_login *login)
{
    if (login->status == CW_LOGIN_OK)
        go(v, CW_STR(""), cw_browser_cookie_kind(v->rl)->removal, CW_STR(""));
    else
        show_message(v, 503, "Logging out is not possible at the moment.");
}

static void leave(visit *v, const cw_login *login)
{
    if (login->status == CW_LOGIN_UNAVAILABLE) {
        ended(v, login);
        return;
    }
    if (login->status == CW_LOGIN_OK)
        audit_login(v->req, v->rl, "logout", login->caller, CW_STR(""));
    v->then = ended;
    cw_login end = cw_session_end(cw_runtime_accounts(v->rl), cw_http_req_loop(v->req), v->session,
                                  &v->waiter);
    wait_or_go_on(v, &end);
}

static void on_logout(cw_http_req *req, void *self)
{
    visit *v = begin(req, self);
    if (!v)
        return;
    bool has_proof = v->session.p && cw_browser_has_proof(req, v->session);
    if (!has_proof && !take_form(v))
        return;
    has_proof = has_proof || (v->session.p && cw_session_csrf_matches(v->session, v->csrf));
    if (!v->session.p) {
        go(v, CW_STR(""), CW_STR(""), CW_STR(""));
        return;
    }
    if (!has_proof || !cw_browser_is_ours(req, v->rl, /* may_be_silent= */ false)) {
        uint32_t retry_s = count_forged(v);
        show_message(v, retry_s ? 429 : 403, retry_s ? TOO_MANY : EXPIRED);
        return;
    }
    resume(v, leave);
}

/* ---- GET /session/token ---- */

static void send_token(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    static const cw_http_header no_store = {CW_STR_INIT("Cache-Control"), CW_STR_INIT("no-store")};
    cw_str session = cw_browser_session(req, rl);
    char *proof = cw_arena_alloc(cw_http_req_arena(req), CW_SESSION_LEN + 1);
    (void)view;
    (void)self;
    if (!session.p || cw_http_req_header(req, CW_STR("Authorization")).p) {
        cw_http_reply_error(req, 403, "access_denied",
                            CW_STR("There is no session: only requests with its cookie need this"));
        return;
    }
    if (!proof) {
        cw_http_reply_error(req, 503, "unavailable", CW_STR("out of memory"));
        return;
    }
    cw_session_csrf_token(session, proof);
    cw_http_reply(req, &(cw_http_response){.status = 200,
                                           .type = CW_STR("text/plain; charset=utf-8"),
                                           .body = cw_str_from(proof),
                                           .headers = &no_store,
                                           .n_headers = 1});
}

static void on_token(cw_http_req *req, void *self)
{
    cw_login_pages *door = self;
    if (cw_browser_may_have_session(req, cw_runtime_at(door->runtime, cw_http_req_loop(req))))
        cw_authenticate(req, door->runtime, &cw_authenticate_rest, send_token, door);
    else
        cw_http_reply_error(req, 404, "not_found", CW_STR("There is nothing at this path"));
}

cw_code cw_login_page_add_routes(cw_router *router, cw_login_pages *door, cw_runtime *runtime,
                                 cw_str path)
{
    if (path.n >= sizeof door->path)
        return CW_LIMIT;
    door->runtime = runtime;
    snprintf(door->path, sizeof door->path, "%.*s", CW_STR_ARG(path));
    const struct {
        cw_http_method method;
        const char *path;
        cw_http_handler handler;
    } routes[] = {
        {CW_HTTP_GET, door->path, on_page},
        {CW_HTTP_POST, door->path, on_form},
        {CW_HTTP_POST, "/logout", on_logout},
        {CW_HTTP_GET, "/session/token", on_token},
    };
    for (size_t i = 0; i < CW_COUNT(routes); i++) {
        cw_code rc =
            cw_router_add(router, routes[i].method, routes[i].path, routes[i].handler, door);
        if (rc)
            return rc;
    }
    return CW_OK;
}
