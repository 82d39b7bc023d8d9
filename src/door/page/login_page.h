/* SPDX-License-Identifier: GPL-2.0-or-later */
/* login_page.h - the HTML of the login page.
 *
 * Threads: the request's loop.
 */
#ifndef CW_DOOR_PAGE_LOGIN_PAGE_H
#define CW_DOOR_PAGE_LOGIN_PAGE_H

#include "call/runtime.h"
#include "net/server/request_api.h"

typedef struct cw_login_page {
    unsigned status;
    const char *problem; /* NULL: none */
    /* One of three: who has logged in; else the form, when it has a proof; else neither. */
    cw_str account;
    cw_str proof;      /* of the form, or of the session */
    cw_str action;     /* where the form goes; a path */
    cw_str next;       /* where to go after logging in; may be empty */
    cw_str cookies[2]; /* values of Set-Cookie; empty: none */
    uint32_t retry_s;  /* 0: not said */
} cw_login_page;

/* Answer with it. */
void cw_login_page_send(cw_http_req *req, const cw_runtime_loop *rl, const cw_login_page *page);
/* Answer 303 with such cookies. */
void cw_login_page_go(cw_http_req *req, cw_str location, const cw_str cookies[2]);

#endif
