/* SPDX-License-Identifier: GPL-2.0-or-later */
/* router.c - finds the handler of a method and a path. */
#include "net/server/router.h"
#include "metrics/names.h"

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

/* The parts of a path; everything else of the route is 0. */
static cw_route split(const char *path)
{
    const char *open = strchr(path, '{'), *end = open ? strchr(open, '}') : NULL;
    return (cw_route){.prefix = open ? cw_str_make(path, (size_t)(open - path)) : cw_str_from(path),
                      .suffix = end ? cw_str_from(end + 1) : CW_STR(""),
                      .variable = open != NULL};
}

static cw_route *find_same(const cw_router *r, const char *path)
{
    cw_route wanted = split(path);
    for (size_t i = 0; i < r->n; i++) {
        cw_route *route = r->routes[i];
        if (route->variable == wanted.variable && cw_str_eq(route->prefix, wanted.prefix) &&
            cw_str_eq(route->suffix, wanted.suffix))
            return route;
    }
    return NULL;
}

static cw_route *new_route(cw_router *r, const char *path)
{
    cw_route *route = calloc(1, sizeof *route);
    if (!route)
        return NULL;
    *route = split(path);
    route->at = CW_AT_CLIENTS | CW_AT_LOCAL | CW_AT_CONSOLE;
    route->is_on = r->is_on;
    if (!route->variable && cw_map_put(&r->exact, route->prefix, route, NULL)) {
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
    cw_route *route = find_same(r, path);
    if (route && route->handlers[method])
        return CW_PARAMS;
    if (!route && r->n == CW_ROUTER_MAX)
        return CW_LIMIT;
    if (!route)
        route = new_route(r, path);
    if (!route)
        return CW_NOMEM;
    route->path = path;
    route->slot = cw_metrics_slot(CW_METRICS_ROUTE, cw_str_from(path));
    route->handlers[method] = handler;
    route->selves[method] = self;
    rebuild_allow(route);
    return CW_OK;
}

void cw_router_open(cw_router *r, const char *path)
{
    cw_route *route = find_same(r, path);
    if (route)
        route->is_open = true;
}

void cw_router_set_listeners(cw_router *r, const char *path, unsigned at)
{
    cw_route *route = find_same(r, path);
    if (route)
        route->at = (uint8_t)at;
}

void cw_router_set_switch(cw_router *r, const atomic_bool *is_on)
{
    r->is_on = is_on;
}

void cw_router_set_errors(cw_router *r, const char *path, cw_route_error write_error)
{
    cw_route *route = find_same(r, path);
    if (route)
        route->write_error = write_error;
}

void cw_router_set_protocol(cw_router *r, const char *path, const cw_route_protocol *protocol,
                            void *self)
{
    cw_route *route = find_same(r, path);
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
        size_t fixed = route->prefix.n + route->suffix.n;
        if (!route->variable || path.n <= fixed || !cw_str_starts(path, route->prefix) ||
            !cw_str_ends(path, route->suffix))
            continue;
        cw_str rest = cw_str_make(path.p + route->prefix.n, path.n - fixed);
        if (memchr(rest.p, '/', rest.n))
            continue;
        *ret_param = rest;
        return route;
    }
    return NULL;
}
