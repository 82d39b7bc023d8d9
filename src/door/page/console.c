/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console.c - the pages of the console: one document, its files, and the page at "/". */
#include "door/page/console.h"

#include <stdio.h>

#include "door/browser.h"
#include "door/negotiate.h"
#include "door/oauth_challenge.h"
#include "door/page/assets.h"
#include "door/rpc_batch.h"

#define DOCUMENT_MAX 16384u
/* Trusted Types with no policy: a text never becomes markup or code. */
#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "                \
    "img-src 'self' blob:; media-src blob:; form-action 'self'; base-uri 'none'; "                 \
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

static void reply_missing(cw_http_req *req)
{
    cw_http_reply_error(req, 404, "not_found", CW_STR("There is nothing at this path"));
}

/* ---- files ---- */

static const cw_asset *find_asset(cw_str name)
{
    for (size_t i = 0; i < cw_assets_n; i++) {
        if (cw_str_eq(cw_assets[i].name, name))
            return &cw_assets[i];
    }
    return NULL;
}

static void on_asset(cw_http_req *req, void *self)
{
    const cw_asset *asset = find_asset(cw_http_req_param(req));
    bool is_packed = cw_negotiate_gzip(req);
    const cw_http_header headers[] = {
        {CW_STR("Cache-Control"), CW_STR("public, max-age=31536000, immutable")},
        {CW_STR("Vary"), CW_STR("Accept-Encoding")},
        {CW_STR("Cross-Origin-Resource-Policy"), CW_STR("same-origin")},
        {CW_STR("Content-Encoding"), CW_STR("gzip")},
    };
    (void)self;
    /* The document is a template. */
    if (!asset || cw_str_ends(asset->name, CW_STR(".html"))) {
        reply_missing(req);
        return;
    }
    cw_http_reply(req, &(cw_http_response){.status = 200,
                                           .type = asset->type,
                                           .body = is_packed ? asset->gzip : asset->plain,
                                           .headers = headers,
                                           .n_headers = CW_COUNT(headers) - (is_packed ? 0 : 1)});
}

/* ---- the document ---- */

static cw_str value_of(const cw_console *door, const cw_runtime_loop *rl, cw_str name)
{
    if (cw_str_is(name, "prefix"))
        return cw_oauth_resource_path(cw_runtime_config(rl)->public_url);
    if (cw_str_is(name, "hash"))
        return cw_str_from(cw_assets_hash);
    if (cw_str_is(name, "console"))
        return cw_str_from(door->path);
    if (cw_str_is(name, "login"))
        return cw_str_from(door->login_path);
    if (cw_str_is(name, "mcp"))
        return cw_str_from(door->mcp_path);
    /* The proof of the session is fetched while the script is; the demo has no sessions. */
    if (cw_str_is(name, "early"))
        return cw_str_from(cw_runtime_guest(rl) ? "" : "preload");
    return cw_str_from(cw_runtime_guest(rl) ? "demo" : "login");
}

/* {{name}} stands for a value that needs no escapes: paths of the configuration have none. */
static void write_document(cw_buf *out, const cw_console *door, const cw_runtime_loop *rl)
{
    cw_str left = find_asset(CW_STR("index.html"))->plain;
    while (left.n) {
        const char *at = memmem(left.p, left.n, "{{", 2);
        const char *end = at ? memmem(at, left.n - (size_t)(at - left.p), "}}", 2) : NULL;
        size_t n = end ? (size_t)(at - left.p) : left.n;
        cw_buf_add(out, cw_str_make(left.p, n));
        if (!end)
            return;
        cw_buf_add(out, value_of(door, rl, cw_str_make(at + 2, (size_t)(end - at) - 2)));
        n = (size_t)(end - left.p) + 2;
        left = cw_str_make(left.p + n, left.n - n);
    }
}

static void on_page(cw_http_req *req, void *self)
{
    cw_console *door = self;
    cw_runtime_loop *rl = cw_runtime_at(door->runtime, cw_http_req_loop(req));
    static const cw_http_header headers[] = {
        {CW_STR_INIT("Cache-Control"), CW_STR_INIT("no-store")},
        {CW_STR_INIT("Content-Security-Policy"), CW_STR_INIT(POLICY)},
        {CW_STR_INIT("X-Frame-Options"), CW_STR_INIT("DENY")},
        {CW_STR_INIT("Referrer-Policy"), CW_STR_INIT("same-origin")},
        {CW_STR_INIT("Cross-Origin-Opener-Policy"), CW_STR_INIT("same-origin")},
        {CW_STR_INIT("Cross-Origin-Resource-Policy"), CW_STR_INIT("same-origin")},
    };
    bool is_ours = cw_runtime_guest(rl)
                       ? cw_browser_is_guest(req, rl)
                       : cw_browser_is_console(req, rl) && cw_browser_is_private(req, rl);
    if (!is_ours) {
        reply_missing(req);
        return;
    }
    cw_buf b;
    cw_buf_init(&b, DOCUMENT_MAX);
    write_document(&b, door, rl);
    cw_str kept = cw_rpc_batch_keep(cw_http_req_arena(req), &b);
    if (!kept.p) {
        cw_http_reply_error(req, 503, "unavailable", CW_STR("out of memory"));
        return;
    }
    cw_http_reply(req, &(cw_http_response){.status = 200,
                                           .type = CW_STR("text/html; charset=utf-8"),
                                           .body = kept,
                                           .headers = headers,
                                           .n_headers = CW_COUNT(headers)});
}

/* ---- "/" ---- */

/* ":8080" of the Host header; empty: the port of the scheme. */
static cw_str port_of(const cw_http_req *req)
{
    cw_str host = cw_http_req_header(req, CW_STR("Host"));
    for (size_t i = host.n; i-- > 0 && host.p[i] != ']';) {
        if (host.p[i] == ':')
            return cw_str_make(host.p + i, host.n - i);
    }
    return CW_STR("");
}

static void redirect_to_console(cw_http_req *req, const cw_console *door, const cw_runtime_loop *rl)
{
    bool is_known;
    cw_arena *arena = cw_http_req_arena(req);
    cw_str origin = cw_http_req_origin(req, &is_known);
    char *place =
        cw_browser_is_console(req, rl)
            ? cw_arena_printf(arena, "%.*s%s/", CW_STR_ARG(origin), door->path)
            : cw_arena_printf(arena, "http://%.*s%.*s%s/", CW_STR_ARG(cw_runtime_console_host(rl)),
                              CW_STR_ARG(port_of(req)), door->path);
    if (!place) {
        cw_http_reply_error(req, 503, "unavailable", CW_STR("out of memory"));
        return;
    }
    const cw_http_header headers[] = {{CW_STR("Cache-Control"), CW_STR("no-store")},
                                      {CW_STR("Location"), cw_str_from(place)}};
    cw_http_reply(req, &(cw_http_response){
                           .status = 302, .headers = headers, .n_headers = CW_COUNT(headers)});
}

static void on_root(cw_http_req *req, void *self)
{
    cw_console *door = self;
    cw_runtime_loop *rl = cw_runtime_at(door->runtime, cw_http_req_loop(req));
    static const cw_http_header no_store = {CW_STR_INIT("Cache-Control"), CW_STR_INIT("no-store")};
    if (cw_runtime_guest(rl) || cw_browser_is_console(req, rl)) {
        redirect_to_console(req, door, rl);
        return;
    }
    char *text = cw_arena_printf(cw_http_req_arena(req),
                                 "Causeway: JSON-RPC methods as tools for MCP clients.\n\n"
                                 "  %s                 MCP clients connect here (POST)\n"
                                 "  /jsonrpc             JSON-RPC 2.0 (POST)\n"
                                 "  /mcp/tools/list      tools as JSON (GET)\n"
                                 "  /healthz, /readyz    state of this server (GET)\n",
                                 door->mcp_path);
    if (!text) {
        cw_http_reply_error(req, 503, "unavailable", CW_STR("out of memory"));
        return;
    }
    cw_http_reply(req, &(cw_http_response){.status = 200,
                                           .type = CW_STR("text/plain; charset=utf-8"),
                                           .body = cw_str_from(text),
                                           .headers = &no_store,
                                           .n_headers = 1});
}

/* Addresses of the console's own: the others have no pages for browsers. The pages of the authorization
 * server are for people who come from clients, and they log in where they are. */
static void set_listeners(cw_router *router, const cw_console *door, const cw_config *config)
{
    if (!config->console.listen.n)
        return;
    for (size_t i = 0; i < CW_CONSOLE_PAGES; i++)
        cw_router_set_listeners(router, door->pages[i], CW_AT_CONSOLE);
    if (config->access.server.enabled)
        return;
    cw_router_set_listeners(router, door->login_path, CW_AT_CONSOLE);
    cw_router_set_listeners(router, "/logout", CW_AT_CONSOLE);
    cw_router_set_listeners(router, "/session/token", CW_AT_CONSOLE);
}

cw_code cw_console_add_routes(cw_router *router, cw_console *door, cw_runtime *runtime,
                              const cw_config *config)
{
    static const char *const pages[CW_CONSOLE_PAGES] = {
        "",       "/",      "/sources", "/sources/{name}",   "/tools", "/tools/{name}", "/who",
        "/calls", "/audit", "/access",  "/access/{section}", "/about",
    };
    door->runtime = runtime;
    snprintf(door->path, sizeof door->path, "%.*s", CW_STR_ARG(config->console.path));
    snprintf(door->login_path, sizeof door->login_path, "%.*s",
             CW_STR_ARG(config->access.login.path));
    snprintf(door->mcp_path, sizeof door->mcp_path, "%.*s", CW_STR_ARG(config->mcp.path));
    snprintf(door->assets_path, sizeof door->assets_path, CW_ASSETS_PATH "%s/{file}",
             cw_assets_hash);
    cw_code rc = cw_router_add(router, CW_HTTP_GET, "/", on_root, door);
    if (!rc)
        rc = cw_router_add(router, CW_HTTP_GET, door->assets_path, on_asset, door);
    for (size_t i = 0; i < CW_COUNT(pages) && !rc; i++) {
        snprintf(door->pages[i], sizeof door->pages[i], "%s%s", door->path, pages[i]);
        rc = cw_router_add(router, CW_HTTP_GET, door->pages[i], on_page, door);
    }
    if (!rc)
        set_listeners(router, door, config);
    return rc;
}
