/* SPDX-License-Identifier: GPL-2.0-or-later */
/* visit.h - a request for a page of the authorization server: its session, and its waits.
 *
 *     typedef struct asked { cw_visit visit; … } asked;        in the arena of the request
 *
 *     if (!cw_visit_begin(&a->visit, req, runtime, "Allow access"))
 *         return;                                              it is answered
 *     cw_visit_resume(&a->visit, with_session);
 *
 * Ownership: the arena of the request owns a visit. When the client disconnects, what it waits for is
 *            cancelled.
 * Threads:   the loop of the request.
 */
#ifndef CW_DOOR_PAGE_VISIT_H
#define CW_DOOR_PAGE_VISIT_H

#include "access/login/grants.h"
#include "access/oauth/cimd_cache.h"
#include "call/runtime.h"
#include "net/server/request_api.h"

typedef struct cw_visit cw_visit;
struct cw_visit {
    cw_login_waiter login;
    cw_oauth_waiter grants;
    cw_cimd_waiter document;
    cw_http_req *req;
    cw_runtime_loop *rl;
    const cw_oauth_settings *settings;
    const char *heading; /* of its pages; static */
    cw_str session;      /* the browser's; .p is NULL: none */
    /* Who has logged in, after cw_visit_resume: */
    int64_t account;
    cw_str name;
    void (*then)(cw_visit *v, const cw_login *login);
};

/* Whether the request may be for such a page: the authorization server is on, and the connection is private.
 * False: it is answered. Whether logins exist at this host is for the caller to check. */
bool cw_visit_begin(cw_visit *v, cw_http_req *req, cw_runtime *runtime, const char *heading);
/* Find the account of the session, then call `then`, now or later, with the login; its caller is borrowed
 * for the callback. Without a session the status is CW_LOGIN_WRONG. Not for CW_LOGIN_TOO_MANY and
 * CW_LOGIN_UNAVAILABLE: they are answered. */
void cw_visit_resume(cw_visit *v, void (*then)(cw_visit *v, const cw_login *login));
/* Tell the visit that it waits for one of its waiters. */
void cw_visit_wait(cw_visit *v);
/* Answer with a page that has only a problem. */
void cw_visit_refuse(cw_visit *v, unsigned status, const char *problem);
/* Send the browser to the login page, which leads back to `next`, a path behind the server's address. */
void cw_visit_log_in(cw_visit *v, cw_str next);
/* To the same page, `next` as above and with a NUL, at the host name of the console, with the port of this
 * request: there people can log in. */
void cw_visit_go_to_console(cw_visit *v, cw_str next);

#endif
