/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html.h - the parts that pages for people have in common: frame, escapes, headers, redirects.
 *
 * The pages have no scripts, must not be framed, and are not stored.
 *
 *     cw_html_page page = {.status = 200, .heading = "Log in"};
 *     cw_buf b;
 *     cw_html_open(&b, rl, &page);
 *     cw_html_add_text(&b, name);
 *     cw_html_send(req, &page, &b);
 *
 * Ownership: cw_html_open initialises the buffer, and cw_html_send ends it.
 * Threads:   the loop of the request.
 * Limits:    CW_HTML_MAX_BYTES of a page.
 */
#ifndef CW_DOOR_PAGE_HTML_H
#define CW_DOOR_PAGE_HTML_H

#include "call/runtime.h"
#include "net/server/request_api.h"

#define CW_HTML_MAX_BYTES 131072u
#define CW_HTML_COOKIES 2u
#define CW_HTML_FORM_TYPE "application/x-www-form-urlencoded"

typedef struct cw_html_page {
    unsigned status;
    const char *heading;
    const char *problem; /* NULL: none */
    /* Its form is answered with a redirect to another site. Browsers apply form-action to it too, so the
     * policy has none. */
    bool leads_away;
    cw_str cookies[CW_HTML_COOKIES]; /* values of Set-Cookie; empty: none */
    uint32_t retry_s;                /* 0: omitted */
} cw_html_page;

/* Begin a page: everything up to its heading and the problem. */
void cw_html_open(cw_buf *out, const cw_runtime_loop *rl, const cw_html_page *page);
/* Text between tags and in quoted attributes. */
void cw_html_add_text(cw_buf *out, cw_str text);
/* A hidden field of a form. */
void cw_html_add_hidden(cw_buf *out, const char *name, cw_str value);
/* Begin a form that is sent to this address. */
void cw_html_open_form(cw_buf *out, cw_str action);
/* End the page and answer with it. */
void cw_html_send(cw_http_req *req, const cw_html_page *page, cw_buf *b);
/* 303, with cookies as in a page. */
void cw_html_redirect(cw_http_req *req, cw_str location, const cw_str cookies[CW_HTML_COOKIES]);
/* 503 without memory. */
void cw_html_fail_nomem(cw_http_req *req);

/* A path on this server as the browser sees it; .p is NULL without memory. */
cw_str cw_html_path(cw_http_req *req, const cw_runtime_loop *rl, const char *path);
/* Whether the body is a form. */
bool cw_html_is_form(const cw_http_req *req);

#endif
