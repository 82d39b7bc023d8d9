/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "door/page/login_page.h"

#include "base/digits.h"
#include "door/rpc_batch.h"

#define PAGE_MAX_BYTES 65536u
/* A page that uses nothing but this style, named by its hash; a test counts it again. */
#define STYLE                                                                                      \
    "body{font:1.1em/1.5 sans-serif;max-width:24em;margin:3em auto;padding:0 1em}"                 \
    "label,input,button{display:block;font:inherit}"                                               \
    "input{width:100%;box-sizing:border-box;margin:0 0 1em;padding:.4em}"                          \
    "button{padding:.4em 1.5em}"                                                                   \
    "[role=alert]{border-left:.3em solid #b00;padding-left:.7em}"
#define STYLE_HASH "RmifVi5srnAiHlMIrbyMUj7koAWEFANxe6C3xWZTnYI="
#define POLICY                                                                                     \
    "default-src 'none'; style-src 'sha256-" STYLE_HASH "'; form-action 'self'; base-uri 'none'; " \
    "frame-ancestors 'none'"

/* Text between tags and in quoted attributes. */
static void add_text(cw_buf *out, cw_str text)
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

static void add_hidden(cw_buf *out, const char *name, cw_str value)
{
    cw_buf_printf(out, "<input type=\"hidden\" name=\"%s\" value=\"", name);
    add_text(out, value);
    cw_buf_add(out, CW_STR("\">\n"));
}

static void open_form(cw_buf *out, const cw_login_page *page)
{
    cw_buf_add(out, CW_STR("<form method=\"post\" action=\""));
    add_text(out, page->action);
    cw_buf_add(out, CW_STR("\">\n"));
    add_hidden(out, "csrf", page->proof);
}

static void add_account(cw_buf *out, const cw_login_page *page)
{
    cw_buf_add(out, CW_STR("<p>You are logged in as <strong>"));
    add_text(out, page->account);
    cw_buf_add(out, CW_STR("</strong>.</p>\n"));
    open_form(out, page);
    cw_buf_add(out, CW_STR("<button>Log out</button>\n</form>\n"));
}

static void add_form(cw_buf *out, const cw_login_page *page)
{
    open_form(out, page);
    if (page->next.n)
        add_hidden(out, "next", page->next);
    cw_buf_add(out, CW_STR("<label for=\"name\">Name</label>\n"
                           "<input id=\"name\" name=\"name\" autocomplete=\"username\" "
                           "autocapitalize=\"none\" spellcheck=\"false\" maxlength=\"128\" "
                           "required autofocus>\n"
                           "<label for=\"password\">Password</label>\n"
                           "<input id=\"password\" name=\"password\" type=\"password\" "
                           "autocomplete=\"current-password\" maxlength=\"1024\" required>\n"
                           "<button>Log in</button>\n</form>\n"));
}

static void write_page(cw_buf *out, const cw_login_page *page, cw_str title)
{
    const char *heading = page->account.n ? "Logged in" : "Log in";
    cw_buf_printf(out,
                  "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<title>%s%s - ",
                  page->problem ? "Problem: " : "", heading);
    add_text(out, title);
    cw_buf_printf(out, "</title>\n<style>%s</style>\n</head>\n<body>\n<main>\n<h1>", STYLE);
    add_text(out, title);
    cw_buf_printf(out, "</h1>\n<h2>%s</h2>\n", heading);
    if (page->problem) {
        cw_buf_add(out, CW_STR("<p role=\"alert\">"));
        add_text(out, cw_str_from(page->problem));
        cw_buf_add(out, CW_STR("</p>\n"));
    }
    if (page->account.n)
        add_account(out, page);
    else if (page->proof.n)
        add_form(out, page);
    cw_buf_add(out, CW_STR("</main>\n</body>\n</html>\n"));
}

/* ---- answers ---- */

#define MAX_HEADERS 12u

typedef struct header_list {
    cw_http_header items[MAX_HEADERS];
    size_t n;
} header_list;

static void add(header_list *list, cw_str name, cw_str value)
{
    if (value.n)
        list->items[list->n++] = (cw_http_header){name, value};
}

/* Of pages and redirects. Referrer-Policy: with "no-referrer" browsers would send forms with the
 * origin "null". */
static header_list common_headers(const cw_str cookies[2])
{
    header_list list = {.n = 0};
    add(&list, CW_STR("Cache-Control"), CW_STR("no-store"));
    add(&list, CW_STR("Content-Security-Policy"), CW_STR(POLICY));
    add(&list, CW_STR("X-Frame-Options"), CW_STR("DENY"));
    add(&list, CW_STR("X-Content-Type-Options"), CW_STR("nosniff"));
    add(&list, CW_STR("Referrer-Policy"), CW_STR("same-origin"));
    add(&list, CW_STR("Cross-Origin-Opener-Policy"), CW_STR("same-origin"));
    add(&list, CW_STR("Cross-Origin-Resource-Policy"), CW_STR("same-origin"));
    for (size_t i = 0; i < 2; i++)
        add(&list, CW_STR("Set-Cookie"), cookies[i]);
    return list;
}

void cw_login_page_send(cw_http_req *req, const cw_runtime_loop *rl, const cw_login_page *page)
{
    const cw_config *config = cw_runtime_settings_of(rl)->config;
    header_list headers = common_headers(page->cookies);
    char seconds[CW_DIGITS_SIZE];
    cw_buf b;
    if (page->retry_s)
        add(&headers, CW_STR("Retry-After"), cw_digits_u64(page->retry_s, seconds));
    cw_buf_init(&b, PAGE_MAX_BYTES);
    write_page(&b, page, config && config->mcp.title.n ? config->mcp.title : CW_STR("Causeway"));
    cw_str kept = cw_rpc_batch_keep(cw_http_req_arena(req), &b);
    if (!kept.p) {
        cw_http_reply_error(req, 503, "unavailable", CW_STR("out of memory"));
        return;
    }
    cw_http_reply(req, &(cw_http_response){.status = page->status,
                                           .type = CW_STR("text/html; charset=utf-8"),
                                           .body = kept,
                                           .headers = headers.items,
                                           .n_headers = headers.n});
}

void cw_login_page_go(cw_http_req *req, cw_str location, const cw_str cookies[2])
{
    header_list headers = common_headers(cookies);
    add(&headers, CW_STR("Location"), location);
    cw_http_reply(
        req, &(cw_http_response){.status = 303, .headers = headers.items, .n_headers = headers.n});
}
