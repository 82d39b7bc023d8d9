/* SPDX-License-Identifier: GPL-2.0-or-later */
/* browser.h - cookies and the origin of a request, which a browser adds by itself.
 *
 * A browser sends the session cookie of a logged-in user (door/page/login.h) with every request to us,
 * including requests that another site's page makes. So the session counts only
 *
 *     GET, HEAD of a list      unless the browser reports another site's page
 *     everything else          from a page of ours (Sec-Fetch-Site or Origin), with the
 *                              session's proof in X-CSRF-Token (access/login/session.h)
 *
 * Browsers set Sec-Fetch-Site and Origin themselves: pages cannot.
 *
 * A browser sends a cookie to every port of its host. A server with a console therefore has sessions at the
 * host name of the console only, under a name of their own, and SameSite=Strict. There each request
 * with a session must be of the same origin by Sec-Fetch-Site, also one that only reads.
 *
 * Threads: the request's loop.
 */
#ifndef CW_DOOR_BROWSER_H
#define CW_DOOR_BROWSER_H

#include "access/login/session.h"
#include "call/runtime.h"
#include "net/server/request_api.h"

/* "__Host-": a browser takes such a cookie only with Secure and Path=/, for this very host. */
#define CW_BROWSER_FORM "__Host-causeway-login"
#define CW_BROWSER_ATTRIBUTES "; Path=/; Secure; HttpOnly; SameSite="
/* A value of Set-Cookie that removes it. */
#define CW_BROWSER_NO_FORM CW_BROWSER_FORM "=; Max-Age=0" CW_BROWSER_ATTRIBUTES "Strict"

#define CW_BROWSER_FORGED                                                                          \
    "A session needs a request of the same origin with the header X-CSRF-Token: see GET "          \
    "/session/token"

/* The cookie of a session; static. */
typedef struct cw_browser_session_cookie {
    const char *name;
    const char *same_site; /* value of the attribute */
    cw_str removal;        /* value of Set-Cookie that removes it */
} cw_browser_session_cookie;

const cw_browser_session_cookie *cw_browser_cookie_kind(const cw_runtime_loop *rl);
/* Whether the request was sent to the host name of the console. */
bool cw_browser_is_console(cw_http_req *req, const cw_runtime_loop *rl);
/* Whether this request belongs to the console of a server without logins: on this machine, under the
 * name of the console, and not through a proxy. */
bool cw_browser_is_guest(cw_http_req *req, const cw_runtime_loop *rl);
/* A cookie's value; .p is NULL when there is none, and it is empty when there are several. */
cw_str cw_browser_cookie(const cw_http_req *req, cw_str name);
/* Whether people can log in at the host of this request. */
bool cw_browser_may_have_session(cw_http_req *req, const cw_runtime_loop *rl);
/* The session of the browser; .p is NULL without one, or when there are no sessions. */
cw_str cw_browser_session(cw_http_req *req, const cw_runtime_loop *rl);
/* Whether a page sent the request without its user, so that it does not extend the session: a header
 * of the console. */
bool cw_browser_is_idle(const cw_http_req *req);
/* Whether passwords and sessions may be shown on this connection. */
bool cw_browser_is_private(const cw_http_req *req, const cw_runtime_loop *rl);
/* Whether a page of ours made the request. With `may_be_silent` it is enough that nothing says that
 * another one did. */
bool cw_browser_is_ours(cw_http_req *req, const cw_runtime_loop *rl, bool may_be_silent);
/* Whether the header has the session's proof. */
bool cw_browser_has_proof(const cw_http_req *req, cw_str session);

#endif
