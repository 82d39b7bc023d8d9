/* SPDX-License-Identifier: GPL-2.0-or-later */
/* router.h - method and path to handler.
 *
 * A path is exact ("/healthz") or has one variable segment ("/mcp/tools/{name}"), which something
 * fixed may follow ("/mcp/x/{name}/readonly"); exact paths win. HEAD is served by the GET handler,
 * OPTIONS by the router itself. A protocol may answer in its own form (cw_route_protocol).
 *
 * Ownership: paths and handlers are borrowed (static).
 * Threads:   built before the loops start, read by all.
 * Limits:    CW_ROUTER_MAX paths.
 */
#ifndef CW_NET_SERVER_ROUTER_H
#define CW_NET_SERVER_ROUTER_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/map.h"
#include "net/server/request_api.h"

#define CW_ROUTER_MAX 128u
#define CW_ROUTE_METHODS (CW_HTTP_TRACE + 1)

/* The error bodies of a path that carries another protocol over HTTP. */
typedef struct cw_route_protocol {
    /* The body of an error that is found before the handler is asked, in place of
     * {"error":{"code":…,"message":…}}; returns its Content-Type. Errors are sticky in `out`. `id`
     * is that of the JSON-RPC request, from a body that was not kept (json/id_scan.h); .p NULL:
     * none. */
    cw_str (*write_error)(cw_buf *out, unsigned status, cw_str message, cw_str id);
    /* The methods that there are for this request, as in Allow; static. HEAD is not among them, and
     * not answered. */
    const char *(*allow)(cw_http_req *req, void *self);
} cw_route_protocol;

/* The body of an error that is found before the handler is asked, in place of the server's own form; it is
 * JSON. Errors are sticky in `out`. */
typedef void (*cw_route_error)(cw_buf *out, unsigned status, cw_str message);

/* Listeners that know a route, as bits. */
#define CW_AT_CLIENTS 1u /* those of the configuration */
#define CW_AT_LOCAL 2u   /* the local socket */
#define CW_AT_METRICS 4u /* those of metrics alone */
#define CW_AT_CONSOLE 8u /* those of the console */

typedef struct cw_route {
    const char *path; /* as it was added; borrowed */
    cw_str prefix;    /* the path, or what stands before {name} */
    cw_str suffix;    /* what stands behind {name} */
    bool variable;
    uint32_t slot; /* in the metrics */
    bool is_open;  /* pages of every origin may ask for it */
    uint8_t at;    /* CW_AT_*; at first all but those of metrics */
    cw_http_handler handlers[CW_ROUTE_METHODS];
    void *selves[CW_ROUTE_METHODS];
    char allow[64];                    /* "GET, HEAD, OPTIONS" */
    const cw_route_protocol *protocol; /* or NULL */
    void *protocol_self;
    cw_route_error write_error; /* or NULL; not with a protocol */
    const atomic_bool *is_on;   /* NULL: always; while false, there is nothing at the path */
} cw_route;

typedef struct cw_router {
    cw_map exact;
    cw_route *routes[CW_ROUTER_MAX];
    size_t n;
    const atomic_bool *is_on; /* of routes that are added */
} cw_router;

void cw_router_init(cw_router *r);
void cw_router_done(cw_router *r);
/* CW_LIMIT when full, CW_NOMEM; the same method and path twice is CW_PARAMS. */
CW_MUST_USE cw_code cw_router_add(cw_router *r, cw_http_method method, const char *path,
                                  cw_http_handler handler, void *self);
/* Let pages of every origin ask for a path that was added: its content is the same for all
 * callers and public. Its handler sends Access-Control-Allow-Origin. */
void cw_router_open(cw_router *r, const char *path);
/* Set the listeners that know a path that was added: the others answer 404. */
void cw_router_set_listeners(cw_router *r, const char *path, unsigned at);
/* Paths that are added from now on exist only while *is_on, which is borrowed; NULL: always. */
void cw_router_set_switch(cw_router *r, const atomic_bool *is_on);
/* Whether the path exists at the moment. */
CW_INLINE bool cw_route_is_on(const cw_route *route)
{
    return !route->is_on || atomic_load_explicit(route->is_on, memory_order_acquire);
}
/* Set the form of errors of a path that was added. */
void cw_router_set_errors(cw_router *r, const char *path, cw_route_error write_error);
/* Set the protocol of a path that was added; it is borrowed. */
void cw_router_set_protocol(cw_router *r, const char *path, const cw_route_protocol *protocol,
                            void *self);
/* The route of a path, or NULL; *ret_param gets what stands for {name}. */
const cw_route *cw_router_match(const cw_router *r, cw_str path, cw_str *ret_param);

#endif
