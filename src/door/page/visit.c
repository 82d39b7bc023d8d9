/* SPDX-License-Identifier: GPL-2.0-or-later */
/* visit.c - sessions and waits of the pages of the authorization server. */
#include "door/page/visit.h"

#include "access/fair_key.h"
#include "base/percent.h"
#include "door/browser.h"
#include "door/page/html.h"
#include "door/rpc_batch.h"

#define CLEAR_TEXT "Logging in needs an encrypted connection (https)."
#define UNAVAILABLE "This is not possible at the moment. Please try again."
#define LOCATION_MAX 8192u

void cw_visit_refuse(cw_visit *v, unsigned status, const char *problem)
{
    cw_html_page page = {.status = status, .heading = v->heading, .problem = problem};
    cw_buf b;
    if (status == 503 || status == 429)
        page.retry_s = 1;
    cw_html_open(&b, v->rl, &page);
    cw_html_send(v->req, &page, &b);
}

static void drop_settings(void *settings)
{
    cw_oauth_settings_unref(settings);
}

static cw_str peer_of(cw_login_waiter *waiter)
{
    return cw_http_req_peer(CW_CONTAINER(waiter, cw_visit, login)->req);
}

static void take_login(cw_visit *v, const cw_login *login)
{
    uint64_t id = 0;
    if (login->status == CW_LOGIN_TOO_MANY || login->status == CW_LOGIN_UNAVAILABLE) {
        cw_visit_refuse(v, login->status == CW_LOGIN_TOO_MANY ? 429 : 503, UNAVAILABLE);
        return;
    }
    if (login->status == CW_LOGIN_OK) {
        (void)cw_str_to_u64(cw_caller_id(login->caller), &id);
        v->account = (int64_t)id;
        v->name = cw_arena_dup_str(cw_http_req_arena(v->req), cw_caller_name(login->caller));
        if (!v->name.p) {
            cw_html_fail_nomem(v->req);
            return;
        }
    }
    v->then(v, login);
}

static void on_login(cw_login_waiter *waiter, const cw_login *login)
{
    take_login(CW_CONTAINER(waiter, cw_visit, login), login);
}

static void on_event(cw_http_req *req, cw_http_event event, void *ctx)
{
    cw_visit *v = ctx;
    (void)req;
    if (event != CW_HTTP_GONE)
        return;
    cw_login_cancel(&v->login);
    cw_oauth_cancel(&v->grants);
    cw_cimd_cache_cancel(&v->document);
}

void cw_visit_wait(cw_visit *v)
{
    cw_http_listen(v->req, on_event, v);
}

bool cw_visit_begin(cw_visit *v, cw_http_req *req, cw_runtime *runtime, const char *heading)
{
    cw_runtime_loop *rl = cw_runtime_at(runtime, cw_http_req_loop(req));
    cw_accounts *accounts = cw_runtime_accounts(rl);
    cw_oauth_settings *settings = accounts ? cw_accounts_take_oauth(accounts) : NULL;
    if (!settings) {
        cw_http_reply_error(req, 404, "not_found", CW_STR("There is nothing at this path"));
        return false;
    }
    if (cw_arena_hold(cw_http_req_arena(req), settings, drop_settings)) {
        cw_html_fail_nomem(req);
        return false;
    }
    *v = (cw_visit){.login = {.peer = peer_of, .fn = on_login},
                    .grants = {.by = cw_caller_fair_key(NULL, cw_http_req_peer(req))},
                    .req = req,
                    .rl = rl,
                    .settings = settings,
                    .heading = heading,
                    .session = cw_browser_session(req, rl)};
    if (cw_browser_is_private(req, rl))
        return true;
    cw_visit_refuse(v, 403, CLEAR_TEXT);
    return false;
}

void cw_visit_resume(cw_visit *v, void (*then)(cw_visit *v, const cw_login *login))
{
    cw_login login = {.status = CW_LOGIN_WRONG};
    v->then = then;
    if (v->session.p)
        login = cw_session_resume(cw_runtime_accounts(v->rl), cw_http_req_loop(v->req), v->session,
                                  &v->login);
    if (login.status == CW_LOGIN_PENDING)
        cw_visit_wait(v);
    else
        take_login(v, &login);
}

void cw_visit_log_in(cw_visit *v, cw_str next)
{
    static const cw_str no_cookies[CW_HTML_COOKIES] = {CW_STR_INIT(""), CW_STR_INIT("")};
    cw_str prefix = cw_html_path(v->req, v->rl, "");
    cw_str login = cw_html_path(v->req, v->rl, cw_runtime_config(v->rl)->access.login.path.p);
    cw_buf b;
    cw_buf_init(&b, LOCATION_MAX);
    cw_buf_add(&b, login);
    cw_buf_add(&b, CW_STR("?next="));
    cw_percent_encode(&b, prefix);
    cw_percent_encode(&b, next);
    cw_str location = cw_rpc_batch_keep(cw_http_req_arena(v->req), &b);
    if (login.p && prefix.p && location.p)
        cw_html_redirect(v->req, location, no_cookies);
    else
        cw_html_fail_nomem(v->req);
}

void cw_visit_go_to_console(cw_visit *v, cw_str next)
{
    static const cw_str no_cookies[CW_HTML_COOKIES] = {CW_STR_INIT(""), CW_STR_INIT("")};
    bool is_known;
    cw_str host, port, origin = cw_http_req_origin(v->req, &is_known);
    cw_str scheme = cw_str_cut(origin, ':', &host);
    const char *colon = host.p ? memrchr(host.p, ':', host.n) : NULL;
    bool has_port = colon && !memchr(colon, ']', host.n - (size_t)(colon - host.p));
    port = has_port ? cw_str_make(colon, host.n - (size_t)(colon - host.p)) : CW_STR("");
    cw_str path = cw_html_path(v->req, v->rl, next.p);
    char *place = cw_arena_printf(cw_http_req_arena(v->req), "%.*s://%.*s%.*s%.*s",
                                  CW_STR_ARG(scheme), CW_STR_ARG(cw_runtime_console_host(v->rl)),
                                  CW_STR_ARG(port), CW_STR_ARG(path));
    if (place && path.p)
        cw_html_redirect(v->req, cw_str_from(place), no_cookies);
    else
        cw_html_fail_nomem(v->req);
}
