/* SPDX-License-Identifier: GPL-2.0-or-later */
/* router.c - finds the handler of a method and a path. */
#include "net/server/router.h"

#include <stdio.h>
#include <stdlib.h>

static void rebuild_allow(cw_route *route)
{
    size_t n = 0;
    route->allow[0] = 0;
    for (cw_http_method m = CW_HTTP_GET; m < CW_ROUTE_METHODS; m++) {
        bool head = m == CW_HTTP_HEAD && route->handlers[CW_HTTP_GET];
        if (route->handlers[m] || head || m == CW_HTTP_OPTIONS)
            n += (size_t)snprintf(route->allow + n, sizeof route->allow - n, "%s%s", n ? ", " : "",
                                  cw_http_method_name(m));
    }
}

static cw_route *find_same(const cw_router *r, cw_str prefix, bool variable)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->routes[i]->variable == variable && cw_str_eq(r->routes[i]->prefix, prefix))
            return r->routes[i];
    }
    return NULL;
}

static cw_route *new_route(cw_router *r, cw_str prefix, bool variable)
{
    cw_route *route = calloc(1, sizeof *route);
    if (!route)
        return NULL;
    route->prefix = prefix;
    route->variable = variable;
    if (!variable && cw_map_put(&r->exact, prefix, route, NULL)) {
        free(route);
        return NULL;
    }
    r->routes[r->n++] = route;
    return route;
}

void cw_router_init(cw_router *r)
{
    *r = (cw_router){0};
    cw_map_init(&r->exact, CW_ROUTER_MAX);
}

void cw_router_done(cw_router *r)
{
    cw_map_done(&r->exact);
    for (size_t i = 0; i < r->n; i++)
        free(r->routes[i]);
    r->n = 0;
}

cw_code cw_router_add(cw_router *r, cw_http_method method, const char *path,
                      cw_http_handler handler, void *self)
{
    const char *brace = strchr(path, '{');
    cw_str prefix = brace ? cw_str_make(path, (size_t)(brace - path)) : cw_str_from(path);
    cw_route *route = find_same(r, prefix, brace != NULL);
    if (route && route->handlers[method])
        return CW_PARAMS;
    if (!route && r->n == CW_ROUTER_MAX)
        return CW_LIMIT;
    if (!route)
        route = new_route(r, prefix, brace != NULL);
    if (!route)
        return CW_NOMEM;
    route->handlers[method] = handler;
    route->selves[method] = self;
    rebuild_allow(route);
    return CW_OK;
}

void cw_router_open(cw_router *r, const char *path)
{
    cw_route *route = find_same(r, cw_str_from(path), /* variable= */ false);
    if (route)
        route->is_open = true;
}

void cw_router_set_protocol(cw_router *r, const char *path, const cw_route_protocol *protocol,
                            void *self)
{
    cw_route *route = find_same(r, cw_str_from(path), /* variable= */ false);
    if (!route)
        return;
    route->protocol = protocol;
    route->protocol_self = self;
}

const cw_route *cw_router_match(const cw_router *r, cw_str path, cw_str *ret_param)
{
    *ret_param = CW_STR("");
    const cw_route *exact = cw_map_find(&r->exact, path);
    if (exact)
        return exact;
    for (size_t i = 0; i < r->n; i++) {
        const cw_route *route = r->routes[i];
        if (!route->variable || !cw_str_starts(path, route->prefix))
            continue;
        cw_str rest = cw_str_make(path.p + route->prefix.n, path.n - route->prefix.n);
        if (rest.n == 0 || memchr(rest.p, '/', rest.n))
            continue;
        *ret_param = rest;
        return route;
    }
    return NULL;
}
