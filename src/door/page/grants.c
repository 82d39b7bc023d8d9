/* SPDX-License-Identifier: GPL-2.0-or-later */
/* grants.c - the page of the applications that a person has allowed. */
#include "door/page/grants.h"

#include "base/clock.h"
#include "door/browser.h"
#include "door/page/consent.h"
#include "door/page/html.h"
#include "net/http/target.h"

#define HEADING "Allowed applications"
#define UNAVAILABLE "This is not possible at the moment. Please try again."
#define FORGED "This form has expired, or came from another site. Please try again."
#define DATE_LEN 10u /* of an ISO date and time */

/* Limits of one page. It shows fewer than CW_OAUTH_GRANTS_LISTED, so a link to the rest is known. */
#define MAX_SHOWN 100u
#define MAX_BYTES (CW_HTML_MAX_BYTES / 2)

typedef struct shown {
    cw_visit visit;
    int64_t grant; /* to be ended; of a list: older ones are shown; 0: all */
} shown;

/* ---- GET ---- */

static void add_date(cw_buf *out, const char *label, int64_t at)
{
    char text[CW_CLOCK_ISO_LEN + 1];
    cw_clock_format_iso(at, text);
    cw_buf_printf(out, "%s %.*s", label, (int)DATE_LEN, text);
}

static void add_grant(cw_buf *out, const cw_oauth_grant *grant, cw_str action, cw_str csrf)
{
    cw_str id;
    char digits[CW_DIGITS_SIZE];
    id = cw_digits_i64(grant->id, digits);
    cw_buf_add(out, CW_STR("<li>\n<p>"));
    cw_consent_add_client(out, &grant->client);
    cw_buf_add(out, CW_STR(".<br>\n"));
    add_date(out, "Allowed", grant->created);
    add_date(out, ", last used", grant->used);
    add_date(out, ", ends", grant->expires);
    if (grant->scopes.n) {
        cw_buf_add(out, CW_STR(".<br>\nScopes: "));
        cw_html_add_text(out, grant->scopes);
    }
    cw_buf_add(out, CW_STR("</p>\n"));
    cw_html_open_form(out, action);
    cw_html_add_hidden(out, "csrf", csrf);
    cw_html_add_hidden(out, "grant", id);
    cw_buf_add(out, CW_STR("<button>End access</button>\n</form>\n</li>\n"));
}

static void add_grants(cw_buf *out, const cw_oauth_result *result, cw_str action, cw_str csrf)
{
    size_t i = 0;
    if (!result->n_grants) {
        cw_buf_add(out, CW_STR("<p>You have not allowed any application.</p>\n"));
        return;
    }
    cw_buf_add(out, CW_STR("<ul>\n"));
    while (i < result->n_grants && i < MAX_SHOWN && out->n < MAX_BYTES)
        add_grant(out, &result->grants[i++], action, csrf);
    cw_buf_add(out, CW_STR("</ul>\n"));
    if (i == result->n_grants)
        return;
    cw_buf_add(out, CW_STR("<p><a href=\""));
    cw_html_add_text(out, action);
    cw_buf_printf(out, "?before=%lld\">Applications that you allowed earlier</a></p>\n",
                  (long long)result->grants[i - 1].id);
}

static void on_list(cw_oauth_waiter *waiter, const cw_oauth_result *result)
{
    cw_visit *v = CW_CONTAINER(waiter, cw_visit, grants);
    cw_html_page page = {.status = 200, .heading = HEADING};
    char csrf[CW_SESSION_LEN + 1];
    cw_str action = cw_html_path(v->req, v->rl, CW_GRANTS_PAGE_PATH);
    cw_buf b;
    if (result->rc || !action.p) {
        cw_visit_refuse(v, 503, UNAVAILABLE);
        return;
    }
    cw_session_csrf_token(v->session, csrf);
    cw_html_open(&b, v->rl, &page);
    cw_buf_add(&b, CW_STR("<p>You are logged in as <strong>"));
    cw_html_add_text(&b, v->name);
    cw_buf_add(&b, CW_STR("</strong>.</p>\n"));
    add_grants(&b, result, action, cw_str_from(csrf));
    cw_html_send(v->req, &page, &b);
}

static void list(cw_visit *v, const cw_login *login)
{
    if (login->status != CW_LOGIN_OK) {
        cw_visit_log_in(v, CW_STR(CW_GRANTS_PAGE_PATH));
        return;
    }
    v->grants.fn = on_list;
    cw_visit_wait(v);
    if (cw_oauth_list_grants(cw_runtime_accounts(v->rl), cw_http_req_loop(v->req), v->account,
                             CW_CONTAINER(v, shown, visit)->grant, &v->grants))
        cw_visit_refuse(v, 503, UNAVAILABLE);
}

/* NULL: it is answered. A server with a console has these pages at its host name only. */
static shown *begin(cw_http_req *req, cw_runtime *runtime)
{
    shown *s = cw_arena_calloc(cw_http_req_arena(req), 1, sizeof *s);
    if (!s) {
        cw_html_fail_nomem(req);
        return NULL;
    }
    if (!cw_visit_begin(&s->visit, req, runtime, HEADING))
        return NULL;
    if (cw_browser_may_have_session(req, s->visit.rl))
        return s;
    cw_http_reply_error(req, 404, "not_found", CW_STR("There is nothing at this path"));
    return NULL;
}

/* The parameter `before`; 0: none, or not such a number. */
static int64_t read_before(cw_http_req *req)
{
    cw_str rest = cw_http_req_query(req), name, value;
    uint64_t before = 0;
    while (rest.p && !cw_query_next(&rest, cw_http_req_arena(req), &name, &value)) {
        if (cw_str_is(name, "before") && !cw_str_to_u64(value, &before))
            return 0;
    }
    return before <= INT64_MAX ? (int64_t)before : 0;
}

static void on_get(cw_http_req *req, void *self)
{
    shown *s = begin(req, self);
    if (!s)
        return;
    s->grant = read_before(req);
    cw_visit_resume(&s->visit, list);
}

/* ---- POST ---- */

static void audit(const shown *s)
{
    char id[CW_DIGITS_SIZE], grant[CW_DIGITS_SIZE];
    const cw_visit *v = &s->visit;
    cw_audit *log = cw_runtime_audit(v->rl);
    if (cw_audit_is_on(log))
        (void)cw_audit_add(log, &(cw_audit_record){.kind = CW_AUDIT_GRANT,
                                                   .door = "account",
                                                   .outcome = "revoked",
                                                   .caller = v->name,
                                                   .caller_id = cw_digits_i64(v->account, id),
                                                   .method = cw_digits_i64(s->grant, grant),
                                                   .address = cw_http_req_peer(v->req)});
}

/* One that has ended already is no problem. */
static void on_ended(cw_oauth_waiter *waiter, const cw_oauth_result *result)
{
    static const cw_str no_cookies[CW_HTML_COOKIES] = {CW_STR_INIT(""), CW_STR_INIT("")};
    cw_visit *v = CW_CONTAINER(waiter, cw_visit, grants);
    cw_str back = cw_html_path(v->req, v->rl, CW_GRANTS_PAGE_PATH);
    if (!result->rc)
        audit(CW_CONTAINER(v, shown, visit));
    if ((result->rc && result->rc != CW_NOTFOUND) || !back.p)
        cw_visit_refuse(v, 503, UNAVAILABLE);
    else
        cw_html_redirect(v->req, back, no_cookies);
}

static void end(cw_visit *v, const cw_login *login)
{
    shown *s = CW_CONTAINER(v, shown, visit);
    if (login->status != CW_LOGIN_OK) {
        cw_visit_log_in(v, CW_STR(CW_GRANTS_PAGE_PATH));
        return;
    }
    v->grants.fn = on_ended;
    cw_visit_wait(v);
    if (cw_oauth_end_grant(cw_runtime_accounts(v->rl), cw_http_req_loop(v->req), v->account,
                           s->grant, &v->grants))
        cw_visit_refuse(v, 503, UNAVAILABLE);
}

/* Whether the form has the session's proof and the number of a grant. */
static bool read_form(shown *s)
{
    cw_http_req *req = s->visit.req;
    cw_str rest = cw_http_req_body(req), name, value;
    bool has_proof = false;
    uint64_t grant = 0;
    if (!cw_html_is_form(req) || rest.n > CW_GRANTS_PAGE_MAX_FORM || !s->visit.session.p)
        return false;
    while (rest.n && !cw_query_next(&rest, cw_http_req_arena(req), &name, &value)) {
        if (cw_str_is(name, "csrf"))
            has_proof = cw_session_csrf_matches(s->visit.session, value);
        if (cw_str_is(name, "grant") && !cw_str_to_u64(value, &grant))
            return false;
    }
    s->grant = (int64_t)grant;
    return has_proof && grant && grant <= INT64_MAX;
}

static void on_post(cw_http_req *req, void *self)
{
    shown *s = begin(req, self);
    if (!s)
        return;
    if (read_form(s) && cw_browser_is_ours(req, s->visit.rl, /* may_be_silent= */ false))
        cw_visit_resume(&s->visit, end);
    else
        cw_visit_refuse(&s->visit, 403, FORGED);
}

cw_code cw_grants_page_add_routes(cw_router *router, cw_runtime *runtime)
{
    cw_code rc = cw_router_add(router, CW_HTTP_GET, CW_GRANTS_PAGE_PATH, on_get, runtime);
    return rc ? rc : cw_router_add(router, CW_HTTP_POST, CW_GRANTS_PAGE_PATH, on_post, runtime);
}
