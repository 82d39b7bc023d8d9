/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html.c - frame, escapes and headers of the pages for people. */
#include "door/page/html.h"

#include "base/digits.h"
#include "door/oauth_challenge.h"
#include "door/page/assets.h"
#include "door/rpc_batch.h"

/* A page that uses nothing but the stylesheet and icon of the console (door/page/assets.h). */
#define POLICY_WITH(form_action)                                                                   \
    "default-src 'none'; style-src 'self'; img-src 'self'; " form_action                           \
    "base-uri 'none'; frame-ancestors 'none'"
#define POLICY POLICY_WITH("form-action 'self'; ")
#define POLICY_LEADS_AWAY POLICY_WITH("")
#define MAX_HEADERS 12u

/* ---- content ---- */

void cw_html_add_text(cw_buf *out, cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        switch (text.p[i]) {
        case '&':
            cw_buf_add(out, CW_STR("&amp;"));
            break;
        case '<':
            cw_buf_add(out, CW_STR("&lt;"));
            break;
        case '>':
            cw_buf_add(out, CW_STR("&gt;"));
            break;
        case '"':
            cw_buf_add(out, CW_STR("&quot;"));
            break;
        case '\'':
            cw_buf_add(out, CW_STR("&#39;"));
            break;
        default:
            cw_buf_add_char(out, text.p[i]);
        }
    }
}

void cw_html_add_hidden(cw_buf *out, const char *name, cw_str value)
{
    cw_buf_printf(out, "<input type=\"hidden\" name=\"%s\" value=\"", name);
    cw_html_add_text(out, value);
    cw_buf_add(out, CW_STR("\">\n"));
}

void cw_html_open_form(cw_buf *out, cw_str action)
{
    cw_buf_add(out, CW_STR("<form method=\"post\" action=\""));
    cw_html_add_text(out, action);
    cw_buf_add(out, CW_STR("\">\n"));
}

static void add_link(cw_buf *out, cw_str prefix, const char *rel, const char *file)
{
    cw_buf_printf(out, "<link rel=\"%s\" href=\"", rel);
    cw_html_add_text(out, prefix);
    cw_buf_printf(out, CW_ASSETS_PATH "%s/%s\">\n", cw_assets_hash, file);
}

void cw_html_open(cw_buf *out, const cw_runtime_loop *rl, const cw_html_page *page)
{
    cw_str prefix = cw_oauth_resource_path(cw_runtime_config(rl)->public_url);
    cw_str title = cw_runtime_config(rl)->mcp.title;
    title = title.n ? title : CW_STR("Causeway");
    cw_buf_init(out, CW_HTML_MAX_BYTES);
    cw_buf_printf(out,
                  "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<title>%s%s - ",
                  page->problem ? "Problem: " : "", page->heading);
    cw_html_add_text(out, title);
    cw_buf_add(out, CW_STR("</title>\n"));
    add_link(out, prefix, "icon", "icon.svg");
    add_link(out, prefix, "stylesheet", "style.css");
    cw_buf_add(out, CW_STR("</head>\n<body class=\"login\">\n<main>\n<h1>"));
    cw_html_add_text(out, title);
    cw_buf_printf(out, "</h1>\n<h2>%s</h2>\n", page->heading);
    if (!page->problem)
        return;
    cw_buf_add(out, CW_STR("<p class=\"notice\" role=\"alert\">"));
    cw_html_add_text(out, cw_str_from(page->problem));
    cw_buf_add(out, CW_STR("</p>\n"));
}

/* ---- answers ---- */

typedef struct header_list {
    cw_http_header items[MAX_HEADERS];
    size_t n;
} header_list;

static void add(header_list *list, cw_str name, cw_str value)
{
    if (value.n)
        list->items[list->n++] = (cw_http_header){name, value};
}

/* Headers of pages and redirects. With Referrer-Policy "no-referrer", browsers would send forms
 * with the origin "null". */
static header_list common_headers(const cw_str cookies[CW_HTML_COOKIES], bool leads_away)
{
    header_list list = {.n = 0};
    add(&list, CW_STR("Cache-Control"), CW_STR("no-store"));
    add(&list, CW_STR("Content-Security-Policy"),
        leads_away ? CW_STR(POLICY_LEADS_AWAY) : CW_STR(POLICY));
    add(&list, CW_STR("X-Frame-Options"), CW_STR("DENY"));
    add(&list, CW_STR("Referrer-Policy"), CW_STR("same-origin"));
    add(&list, CW_STR("Cross-Origin-Opener-Policy"), CW_STR("same-origin"));
    add(&list, CW_STR("Cross-Origin-Resource-Policy"), CW_STR("same-origin"));
    for (size_t i = 0; i < CW_HTML_COOKIES; i++)
        add(&list, CW_STR("Set-Cookie"), cookies[i]);
    return list;
}

void cw_html_fail_nomem(cw_http_req *req)
{
    cw_http_reply_error(req, 503, "unavailable", CW_STR("out of memory"));
}

void cw_html_send(cw_http_req *req, const cw_html_page *page, cw_buf *b)
{
    header_list headers = common_headers(page->cookies, page->leads_away);
    char seconds[CW_DIGITS_SIZE];
    if (page->retry_s)
        add(&headers, CW_STR("Retry-After"), cw_digits_u64(page->retry_s, seconds));
    cw_buf_add(b, CW_STR("</main>\n</body>\n</html>\n"));
    cw_str kept = cw_rpc_batch_keep(cw_http_req_arena(req), b);
    if (!kept.p) {
        cw_html_fail_nomem(req);
        return;
    }
    cw_http_reply(req, &(cw_http_response){.status = page->status,
                                           .type = CW_STR("text/html; charset=utf-8"),
                                           .body = kept,
                                           .headers = headers.items,
                                           .n_headers = headers.n});
}

void cw_html_redirect(cw_http_req *req, cw_str location, const cw_str cookies[CW_HTML_COOKIES])
{
    header_list headers = common_headers(cookies, /* leads_away= */ false);
    add(&headers, CW_STR("Location"), location);
    cw_http_reply(
        req, &(cw_http_response){.status = 303, .headers = headers.items, .n_headers = headers.n});
}

/* ---- requests ---- */

cw_str cw_html_path(cw_http_req *req, const cw_runtime_loop *rl, const char *path)
{
    cw_str base = cw_runtime_config(rl)->public_url;
    char *text = cw_arena_printf(cw_http_req_arena(req), "%.*s%s",
                                 CW_STR_ARG(cw_oauth_resource_path(base)), path);
    return text ? cw_str_from(text) : (cw_str){NULL, 0};
}

bool cw_html_is_form(const cw_http_req *req)
{
    cw_str rest;
    cw_str type = cw_http_req_header(req, CW_STR("Content-Type"));
    return cw_str_ieq(cw_str_trim(cw_str_cut(type, ';', &rest)), CW_STR(CW_HTML_FORM_TYPE));
}
