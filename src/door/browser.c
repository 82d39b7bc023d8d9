/* SPDX-License-Identifier: GPL-2.0-or-later */
/* browser.c - session cookies, and the check that a request comes from our own page. */
#include "door/browser.h"

#include "door/oauth_challenge.h"

/* One of several cookies with one name may have been planted by another site. None of them is
 * used. */
cw_str cw_browser_cookie(const cw_http_req *req, cw_str name)
{
    cw_str found = {NULL, 0};
    size_t at = 0;
    for (cw_str rest; (rest = cw_http_req_header_next(req, CW_STR("Cookie"), &at)).p;) {
        while (rest.p) {
            cw_str value;
            cw_str pair = cw_str_trim(cw_str_cut(rest, ';', &rest));
            if (!cw_str_eq(cw_str_cut(pair, '=', &value), name) || !value.p)
                continue;
            found = found.p ? CW_STR("") : value;
        }
    }
    return found;
}

static bool has_login(const cw_runtime_loop *rl)
{
    const cw_accounts *accounts = cw_runtime_accounts(rl);
    return accounts && cw_session_is_on(accounts);
}

#define NO_COOKIE(name, same_site) CW_STR_INIT(name "=; Max-Age=0" CW_BROWSER_ATTRIBUTES same_site)

const cw_browser_session_cookie *cw_browser_cookie_kind(const cw_runtime_loop *rl)
{
    static const cw_browser_session_cookie plain = {"__Host-causeway", "Lax",
                                                    NO_COOKIE("__Host-causeway", "Lax")};
    static const cw_browser_session_cookie console = {
        "__Host-causeway-console", "Strict", NO_COOKIE("__Host-causeway-console", "Strict")};
    return cw_runtime_console_host(rl).n ? &console : &plain;
}

bool cw_browser_is_console(cw_http_req *req, const cw_runtime_loop *rl)
{
    bool is_known;
    cw_str host = cw_runtime_console_host(rl), rest;
    if (!host.n)
        return false;
    /* "https://name:port" */
    cw_str origin = cw_http_req_origin(req, &is_known);
    (void)cw_str_cut(origin, ':', &rest);
    if (!rest.p || rest.n < 2)
        return false;
    cw_str name = cw_str_cut(cw_str_make(rest.p + 2, rest.n - 2), ':', &rest);
    return cw_str_ieq(name, host);
}

bool cw_browser_is_guest(cw_http_req *req, const cw_runtime_loop *rl)
{
    static const cw_str of_proxies[] = {
        CW_STR_INIT("Forwarded"),          CW_STR_INIT("Via"),
        CW_STR_INIT("X-Real-IP"),          CW_STR_INIT("X-Forwarded-For"),
        CW_STR_INIT("X-Forwarded-Host"),   CW_STR_INIT("X-Forwarded-Proto"),
        CW_STR_INIT("X-Forwarded-Port"),   CW_STR_INIT("X-Forwarded-Prefix"),
        CW_STR_INIT("X-Forwarded-Server"),
    };
    if (!cw_runtime_guest(rl) || !cw_browser_is_console(req, rl) || !cw_http_req_is_private(req))
        return false;
    for (size_t i = 0; i < CW_COUNT(of_proxies); i++) {
        if (cw_http_req_header(req, of_proxies[i]).p)
            return false;
    }
    return true;
}

bool cw_browser_may_have_session(cw_http_req *req, const cw_runtime_loop *rl)
{
    return has_login(rl) && (!cw_runtime_console_host(rl).n || cw_browser_is_console(req, rl));
}

cw_str cw_browser_session(cw_http_req *req, const cw_runtime_loop *rl)
{
    if (!cw_browser_may_have_session(req, rl))
        return (cw_str){NULL, 0};
    return cw_browser_cookie(req, cw_str_from(cw_browser_cookie_kind(rl)->name));
}

bool cw_browser_is_idle(const cw_http_req *req)
{
    return cw_http_req_header(req, CW_STR("Causeway-Idle")).p != NULL;
}

bool cw_browser_is_private(const cw_http_req *req, const cw_runtime_loop *rl)
{
    return cw_runtime_config(rl)->access.allow_plaintext_passwords || cw_http_req_is_private(req);
}

/* Without a port that browsers leave out. */
static cw_str origin_of(cw_str url)
{
    cw_str origin = cw_str_make(url.p, url.n - cw_oauth_resource_path(url).n);
    cw_str responder = cw_str_starts(origin, CW_STR("https:")) ? CW_STR(":443") : CW_STR(":80");
    if (cw_str_ends(origin, responder))
        origin.n -= responder.n;
    return origin;
}

bool cw_browser_is_ours(cw_http_req *req, const cw_runtime_loop *rl, bool may_be_silent)
{
    bool repeats;
    cw_str site = cw_http_req_header_once(req, CW_STR("Sec-Fetch-Site"), &repeats);
    cw_str origin = cw_http_req_header(req, CW_STR("Origin"));
    if (repeats)
        return false;
    if (cw_browser_is_console(req, rl))
        return cw_str_is(site, "same-origin");
    /* "none": the user typed the address. Only reading is allowed. */
    if (site.p)
        return cw_str_is(site, "same-origin") || (may_be_silent && cw_str_is(site, "none"));
    if (!origin.p)
        return may_be_silent;
    cw_str base = cw_oauth_resource_base(req, rl, NULL);
    return base.n && cw_str_ieq(origin, origin_of(base));
}

bool cw_browser_has_proof(const cw_http_req *req, cw_str session)
{
    bool repeats;
    cw_str proof = cw_http_req_header_once(req, CW_STR("X-CSRF-Token"), &repeats);
    return proof.p && !repeats && cw_session_csrf_matches(session, proof);
}
