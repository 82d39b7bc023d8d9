/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "door/resource.h"

#include <stdio.h>
#include <stdlib.h>

#include "access/scopes.h"
#include "door/rest_int.h"
#include "json/write.h"

#define WELLKNOWN "/.well-known/oauth-protected-resource"

static const cw_config *config_of(const cw_bridge_loop *bl)
{
    return cw_bridge_settings_of(bl)->config;
}

static bool has_issuers(const cw_bridge_loop *bl)
{
    const cw_accounts *accounts = cw_bridge_accounts(bl);
    return config_of(bl) && accounts && cw_accounts_has_issuers(accounts);
}

/* ---- addresses ---- */

/* The first value of a list: what the outermost of several proxies wrote. */
static cw_str first_of(const cw_http_req *req, cw_str name)
{
    cw_str rest;
    cw_str value = cw_http_req_header(req, name);
    return value.p ? cw_str_trim(cw_str_cut(value, ',', &rest)) : value;
}

cw_str cw_resource_base(cw_http_req *req, const cw_bridge_loop *bl, bool *ret_known)
{
    bool unused;
    bool *is_known = ret_known ? ret_known : &unused;
    const char *public_url = cw_bridge_settings_of(bl)->public_url;
    cw_str host = cw_http_req_header(req, CW_STR("Host"));
    const char *scheme = cw_http_req_is_tls(req) ? "https" : "http";
    *is_known = true;
    if (public_url[0])
        return cw_arena_dup_str(cw_http_req_arena(req), cw_str_from(public_url));
    if (cw_http_req_is_proxied(req)) {
        cw_str proto = first_of(req, CW_STR("X-Forwarded-Proto"));
        cw_str forwarded = first_of(req, CW_STR("X-Forwarded-Host"));
        if (cw_str_ieq(proto, CW_STR("https")))
            scheme = "https";
        if (forwarded.n && cw_http_req_allows_host(req, forwarded))
            host = forwarded;
    }
    if (!host.n)
        return CW_STR("");
    *is_known = cw_http_req_is_own_host(req, host);
    char *text = cw_arena_printf(cw_http_req_arena(req), "%s://%.*s", scheme, CW_STR_ARG(host));
    return text ? cw_str_from(text) : (cw_str){NULL, 0};
}

cw_str cw_resource_path(cw_str url)
{
    size_t at = 0, slashes = 0;
    for (; at < url.n && slashes < 3; at++)
        slashes += url.p[at] == '/';
    return slashes < 3 ? CW_STR("") : cw_str_make(url.p + at - 1, url.n - at + 1);
}

void cw_resource_add_link(cw_buf *out, cw_http_req *req, const cw_bridge_loop *bl, bool is_endpoint)
{
    if (!req || !has_issuers(bl))
        return;
    cw_str base = cw_resource_base(req, bl, NULL);
    if (!base.n)
        return;
    cw_str path = cw_resource_path(base);
    cw_buf_add(out, CW_STR(", resource_metadata=\""));
    cw_buf_add(out, cw_str_make(base.p, base.n - path.n));
    cw_buf_add(out, CW_STR(WELLKNOWN));
    cw_buf_add(out, path);
    if (is_endpoint)
        cw_buf_add(out, config_of(bl)->mcp.path);
    cw_buf_add_char(out, '"');
}

/* ---- scopes ---- */

typedef struct scope_list {
    cw_str *items;
    size_t n;
} scope_list;

static bool is_shown(cw_str scope)
{
    /* How long a login lasts is between the client and its authorization server. */
    return cw_scope_is_token(scope) && !cw_str_is(scope, "offline_access");
}

/* Those of all tools, or of the ones that everybody sees; a tool that asks for none has no say. */
static cw_code collect(cw_bridge_loop *bl, scope_list *list)
{
    cw_view *anonymous = cw_bridge_anonymous(bl);
    const cw_config *config = config_of(bl);
    size_t n, max = 0;
    const cw_needs *classes = cw_snapshot_classes(cw_view_snapshot(anonymous), &n);
    for (size_t i = 0; i < n; i++)
        max += classes[i].n_scopes;
    list->n = 0;
    list->items = calloc(max + 1, sizeof *list->items);
    if (!list->items)
        return CW_NOMEM;
    for (size_t i = 0; i < n; i++) {
        bool shows_all = config && config->access.shows_all_scopes;
        if (classes[i].level == CW_AUTH_NONE)
            continue;
        if (!shows_all &&
            cw_gate_judge(cw_view_caller(anonymous), &classes[i]) == CW_VERDICT_HIDDEN)
            continue;
        for (size_t j = 0; j < classes[i].n_scopes; j++) {
            if (is_shown(classes[i].scopes[j]))
                list->items[list->n++] = classes[i].scopes[j];
        }
    }
    list->n = cw_needs_sort(list->items, list->n);
    return CW_OK;
}

void cw_resource_add_scopes(cw_buf *out, cw_bridge_loop *bl, size_t max)
{
    scope_list list;
    size_t used = 0;
    if (collect(bl, &list)) {
        out->code = CW_NOMEM;
        return;
    }
    for (size_t i = 0; i < list.n && used + list.items[i].n + 1 <= max; i++) {
        if (used)
            cw_buf_add_char(out, ' ');
        cw_buf_add(out, list.items[i]);
        used += list.items[i].n + 1;
    }
    free(list.items);
}

/* ---- the document ---- */

typedef struct about {
    cw_bridge_loop *bl;
    cw_str base;
    bool is_endpoint;
} about;

static void write_issuers(cw_json_writer *w, const cw_config *config)
{
    cw_json_add_key(w, CW_STR("authorization_servers"));
    cw_json_open_array(w);
    for (size_t i = 0; i < config->access.issuers.n; i++)
        cw_json_add_string(w, config->access.issuers.items[i].issuer);
    cw_json_close(w);
}

static void write_scopes(cw_json_writer *w, cw_bridge_loop *bl)
{
    scope_list list;
    if (collect(bl, &list)) {
        w->out->code = CW_NOMEM;
        return;
    }
    if (list.n) {
        cw_json_add_key(w, CW_STR("scopes_supported"));
        cw_json_open_array(w);
        for (size_t i = 0; i < list.n; i++)
            cw_json_add_string(w, list.items[i]);
        cw_json_close(w);
    }
    free(list.items);
}

static void write_document(cw_buf *out, void *ctx)
{
    const about *a = ctx;
    const cw_config *config = config_of(a->bl);
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_rest_add_url(&w, CW_STR("resource"), a->base,
                    a->is_endpoint ? config->mcp.path : CW_STR(""));
    write_issuers(&w, config);
    write_scopes(&w, a->bl);
    cw_json_add_key(&w, CW_STR("bearer_methods_supported"));
    cw_json_open_array(&w);
    cw_json_add_string(&w, CW_STR("header"));
    cw_json_close(&w);
    if (config->mcp.title.n)
        cw_json_add_string_member(&w, CW_STR("resource_name"), config->mcp.title);
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, NULL);
    if (rc && !out->code)
        out->code = rc;
}

static void on_get(cw_http_req *req, void *self)
{
    const cw_resource_route *route = self;
    cw_bridge_loop *bl = cw_bridge_at(route->bridge, cw_http_req_loop(req));
    about a = {.bl = bl, .is_endpoint = route->is_endpoint};
    if (!has_issuers(bl)) {
        cw_rest_fail(req, 404, "not_found", "There is no authorization server");
        return;
    }
    cw_rest_document doc = {.key = {.kind = CW_STR("oauth-protected-resource"),
                                    .name = a.is_endpoint ? CW_STR("mcp") : CW_STR("")},
                            .write = write_document,
                            .ctx = &a,
                            .contexts = "url.site",
                            .is_public = true,
                            .is_open = true};
    if (!cw_rest_set_base(req, bl, &doc))
        return;
    a.base = doc.key.base;
    cw_rest_send(req, bl, &doc);
}

/* ---- routes ---- */

static cw_code add_route(cw_router *router, cw_resource_route *route)
{
    cw_code rc = cw_router_add(router, CW_HTTP_GET, route->path, on_get, route);
    if (!rc)
        cw_router_open(router, route->path);
    return rc;
}

cw_code cw_resource_add_routes(cw_router *router, cw_resource *r, cw_bridge *bridge,
                               const cw_config *config)
{
    cw_str paths[] = {CW_STR(""), cw_resource_path(config->public_url)};
    size_t n = 0;
    cw_code rc = CW_OK;
    for (size_t i = 0; i < CW_COUNT(paths) && !rc && (i == 0 || paths[i].n); i++) {
        for (int is_endpoint = 0; is_endpoint < 2 && !rc; is_endpoint++) {
            cw_resource_route *route = &r->routes[n];
            *route = (cw_resource_route){.bridge = bridge, .is_endpoint = is_endpoint};
            snprintf(route->path, sizeof route->path, WELLKNOWN "%.*s%s", CW_STR_ARG(paths[i]),
                     is_endpoint ? config->mcp.path.p : "");
            /* public_url may have the endpoint's path: then the one that is there says the same. */
            bool is_known = n == 2 && !strcmp(route->path, r->routes[1].path);
            if (is_known)
                continue;
            rc = add_route(router, route);
            n++;
        }
    }
    return rc;
}
