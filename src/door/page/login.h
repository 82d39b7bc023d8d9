/* SPDX-License-Identifier: GPL-2.0-or-later */
/* login.h - the login page for browsers.
 *
 *     GET /login           a form; with a session: the account, and a button to log out
 *     GET /login?again     the form in any case: the password is confirmed
 *     POST /login          name, password, csrf, next: 303 with the cookie of a new session
 *     POST /logout         csrf, as a field or in X-CSRF-Token: the session ends
 *     GET /session/token   the proof that requests with the cookie need (door/browser.h)
 *
 * The form is bound to a cookie of its own, so that another page cannot log a browser in under another
 * name. The pages have no scripts, must not be framed, and are not stored. Failures have the same bytes
 * whether an account exists or not.
 *
 * Without a database, or with access.login.enabled off, every path is answered with 404. A server with
 * a console does so at every host name but that of the console.
 *
 * Threads: add_routes on the main thread; everything else on the loop of the request.
 * Limits:  CW_LOGIN_MAX_FORM bytes of a form.
 */
#ifndef CW_DOOR_PAGE_LOGIN_H
#define CW_DOOR_PAGE_LOGIN_H

#include "call/runtime.h"
#include "net/server/router.h"

#define CW_LOGIN_MAX_FORM 16384u
#define CW_LOGIN_MAX_PATH 1024u
#define CW_LOGIN_MAX_NEXT 7168u /* bytes of the path to return to */

typedef struct cw_login_pages {
    cw_runtime *runtime;
    char path[CW_LOGIN_MAX_PATH]; /* of the page */
} cw_login_pages;

/* `door` must outlive the router. CW_LIMIT: the path is too long. */
CW_MUST_USE cw_code cw_login_page_add_routes(cw_router *router, cw_login_pages *door,
                                             cw_runtime *runtime, cw_str path);

#endif
