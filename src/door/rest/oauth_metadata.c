/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oauth_metadata.c - the documents of OAuth's protected resource metadata, and their routes. */
#include "door/rest/oauth_metadata.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/toolset_path.h"
#include "door/authenticate.h"
#include "door/oauth_challenge.h"
#include "door/rest/reply.h"
#include "json/write.h"

typedef struct about {
    cw_runtime_loop *rl;
    cw_str base;
    cw_str path; /* of the endpoint or a toolset; empty: all that we serve */
} about;

static void write_issuers(cw_json_writer *w, const about *a)
{
    const cw_config *config = cw_runtime_config(a->rl);
    cw_json_add_key(w, CW_STR("authorization_servers"));
    cw_json_open_array(w);
    /* Some clients use the first entry only. */
    if (cw_accounts_has_oauth(cw_runtime_accounts(a->rl)))
        cw_rest_add_url_item(w, a->base, CW_STR(""));
    for (size_t i = 0; i < config->access.issuers.n; i++)
        cw_json_add_string(w, config->access.issuers.items[i].issuer);
    cw_json_close(w);
}

static void write_scopes(cw_json_writer *w, cw_runtime_loop *rl)
{
    cw_oauth_scope_list list;
    if (cw_oauth_resource_scopes(rl, &list)) {
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
    const cw_config *config = cw_runtime_config(a->rl);
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_rest_add_url(&w, CW_STR("resource"), a->base, a->path);
    write_issuers(&w, a);
    write_scopes(&w, a->rl);
    cw_json_add_key(&w, CW_STR("bearer_methods_supported"));
    cw_json_open_array(&w);
    cw_json_add_string(&w, CW_STR("header"));
    cw_json_close(&w);
    if (config->mcp.title.n)
        cw_json_add_string_member(&w, CW_STR("resource_name"), config->mcp.title);
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, NULL);
    if (rc)
        out->code = rc;
}

/* ---- servers without an authorization server ----
 *
 * After a 401 OAuth clients look for one, try to register, and show the description of the error.
 */

#define SEND_TOKEN                                                                                 \
    "This server has no OAuth login. Send an API token or a password of an account in the "        \
    "Authorization header."
#define NO_LOGIN                                                                                   \
    "This server has no logins. Connect without credentials, or ask its operator to configure "    \
    "accounts or an authorization server."

static void reply_no_oauth(cw_http_req *req, const cw_runtime_loop *rl, unsigned status,
                           const char *error)
{
    static const cw_http_header headers[] = {
        {CW_STR_INIT("Cache-Control"), CW_STR_INIT("no-store")},
    };
    const char *text = cw_runtime_has_logins(rl) ? SEND_TOKEN : NO_LOGIN;
    char *body = cw_arena_printf(cw_http_req_arena(req),
                                 "{\"error\":\"%s\",\"error_description\":\"%s\"}", error, text);
    if (!body) {
        cw_http_reply_error(req, 503, "unavailable", CW_STR("out of memory"));
        return;
    }
    cw_http_reply(req, &(cw_http_response){.status = status,
                                           .body = cw_str_from(body),
                                           .headers = headers,
                                           .n_headers = CW_COUNT(headers)});
}

/* The paths at which clients expect an authorization server that is part of this server. */
static void on_absent(cw_http_req *req, void *self)
{
    cw_runtime_loop *rl = cw_runtime_at(self, cw_http_req_loop(req));
    bool is_post = cw_http_req_method(req) == CW_HTTP_POST;
    if (cw_oauth_resource_has_issuers(rl))
        cw_rest_fail(req, 404, "not_found", "There is nothing at this address");
    else
        reply_no_oauth(req, rl, is_post ? 400 : 404, is_post ? "invalid_request" : "not_found");
}

/* A page for people. It repeats nothing of the request and redirects nowhere. */
static void on_authorize(cw_http_req *req, void *self)
{
    static const cw_http_header headers[] = {
        {CW_STR_INIT("Cache-Control"), CW_STR_INIT("no-store")},
        {CW_STR_INIT("Content-Security-Policy"),
         CW_STR_INIT("default-src 'none'; frame-ancestors 'none'")},
    };
    cw_runtime_loop *rl = cw_runtime_at(self, cw_http_req_loop(req));
    cw_str page = CW_STR("<!doctype html><html lang=\"en\"><title>No login here</title>"
                         "<h1>No login here</h1><p>" NO_LOGIN "</p></html>\n");
    if (cw_runtime_has_logins(rl))
        page = CW_STR("<!doctype html><html lang=\"en\"><title>No OAuth login here</title>"
                      "<h1>No OAuth login here</h1><p>" SEND_TOKEN "</p></html>\n");
    if (cw_oauth_resource_has_issuers(rl))
        cw_rest_fail(req, 404, "not_found", "There is nothing at this address");
    else
        cw_http_reply(req, &(cw_http_response){.status = 404,
                                               .type = CW_STR("text/html; charset=utf-8"),
                                               .body = page,
                                               .headers = headers,
                                               .n_headers = CW_COUNT(headers)});
}

static cw_code add_absent_routes(cw_router *router, cw_runtime *runtime)
{
    static const struct {
        cw_http_method method;
        const char *path;
        cw_http_handler handler;
    } routes[] = {
        {CW_HTTP_GET, "/.well-known/oauth-authorization-server", on_absent},
        {CW_HTTP_GET, "/.well-known/oauth-authorization-server/{path}", on_absent},
        {CW_HTTP_GET, "/.well-known/openid-configuration", on_absent},
        {CW_HTTP_GET, "/.well-known/openid-configuration/{path}", on_absent},
        {CW_HTTP_POST, "/register", on_absent},
        {CW_HTTP_POST, "/token", on_absent},
        {CW_HTTP_GET, "/authorize", on_authorize},
    };
    cw_code rc = CW_OK;
    for (size_t i = 0; i < CW_COUNT(routes) && !rc; i++)
        rc = cw_router_add(router, routes[i].method, routes[i].path, routes[i].handler, runtime);
    return rc;
}

/* ---- protected resource metadata ---- */

/* The path of the address that a document is about. CW_NOTFOUND: there is no such toolset. */
static cw_code path_of(cw_http_req *req, const cw_oauth_metadata_route *route,
                       const cw_config *config, cw_str *ret)
{
    cw_str name = cw_http_req_param(req);
    *ret = route->is_endpoint ? config->mcp.path : CW_STR("");
    if (!route->end)
        return CW_OK;
    if (!cw_config_toolset_path_is_known(config, name))
        return CW_NOTFOUND;
    char *path = cw_arena_printf(cw_http_req_arena(req), "%.*s" CW_CONFIG_TOOLSET_PATH "%.*s%s",
                                 CW_STR_ARG(config->mcp.path), CW_STR_ARG(name), route->end);
    if (!path)
        return CW_NOMEM;
    *ret = cw_str_from(path);
    return CW_OK;
}

static void on_get(cw_http_req *req, void *self)
{
    const cw_oauth_metadata_route *route = self;
    cw_runtime_loop *rl = cw_runtime_at(route->runtime, cw_http_req_loop(req));
    about a = {.rl = rl};
    cw_code rc = path_of(req, route, cw_runtime_config(rl), &a.path);
    if (rc == CW_NOMEM) {
        cw_door_fail_nomem_all(req, &cw_door_rest);
        return;
    }
    if (rc) {
        cw_rest_fail(req, 404, "not_found", "There is no toolset at this address");
        return;
    }
    if (!cw_oauth_resource_has_issuers(rl)) {
        reply_no_oauth(req, rl, 404, "not_found");
        return;
    }
    cw_rest_document doc = {.key = {.kind = CW_STR("oauth-protected-resource"), .name = a.path},
                            .write = write_document,
                            .ctx = &a,
                            .contexts = "url.site",
                            .is_public = true,
                            .is_open = true};
    if (!cw_rest_set_base(req, rl, &doc))
        return;
    a.base = doc.key.base;
    cw_rest_send(req, rl, &doc);
}

/* ---- routes ---- */

static cw_code add_route(cw_router *router, cw_oauth_metadata_route *route)
{
    cw_code rc = cw_router_add(router, CW_HTTP_GET, route->path, on_get, route);
    if (!rc)
        cw_router_open(router, route->path);
    return rc;
}

/* Behind the path of the endpoint. */
static const struct {
    const char *pattern;
    const char *end; /* of a toolset's path */
} addresses[] = {
    {"", NULL},
    {CW_CONFIG_TOOLSET_PATH "{name}", ""},
    {CW_CONFIG_TOOLSET_PATH "{name}" CW_CONFIG_TOOLSET_READ_ONLY, CW_CONFIG_TOOLSET_READ_ONLY},
};

/* The documents of the endpoint and of toolsets, behind `path`. */
static cw_code add_endpoint_routes(cw_router *router, cw_oauth_metadata *r, size_t *n,
                                   cw_runtime *runtime, const char *path)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < CW_COUNT(addresses) && !rc; i++) {
        cw_oauth_metadata_route *route = &r->routes[(*n)++];
        *route = (cw_oauth_metadata_route){
            .runtime = runtime, .is_endpoint = true, .end = addresses[i].end};
        snprintf(route->path, sizeof route->path, "%s%s", path, addresses[i].pattern);
        rc = add_route(router, route);
    }
    return rc;
}

cw_code cw_oauth_metadata_add_routes(cw_router *router, cw_oauth_metadata *r, cw_runtime *runtime,
                                     const cw_config *config)
{
    cw_str paths[] = {CW_STR(""), cw_oauth_resource_path(config->public_url)};
    size_t n = 0;
    cw_code rc = config->access.server.enabled ? CW_OK : add_absent_routes(router, runtime);
    for (size_t i = 0; i < CW_COUNT(paths) && !rc && (i == 0 || paths[i].n); i++) {
        cw_oauth_metadata_route *route = &r->routes[n];
        *route = (cw_oauth_metadata_route){.runtime = runtime};
        snprintf(route->path, sizeof route->path, CW_OAUTH_RESOURCE_WELLKNOWN "%.*s",
                 CW_STR_ARG(paths[i]));
        /* If public_url has the endpoint's path, the existing route has the same document. */
        bool is_known = i == 1 && !strcmp(route->path, r->routes[1].path);
        if (!is_known) {
            rc = add_route(router, route);
            n++;
        }
        char path[CW_OAUTH_METADATA_PATH_MAX];
        snprintf(path, sizeof path, CW_OAUTH_RESOURCE_WELLKNOWN "%.*s%s", CW_STR_ARG(paths[i]),
                 config->mcp.path.p);
        if (!rc)
            rc = add_endpoint_routes(router, r, &n, runtime, path);
    }
    return rc;
}
