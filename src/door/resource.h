/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resource.h - what we are to an OAuth client: a protected resource (RFC 9728).
 *
 *     /.well-known/oauth-protected-resource              all that we serve
 *     /.well-known/oauth-protected-resource/mcp          the endpoint for MCP clients
 *
 * With a path in public_url the same with that path in front. Both say the same but
 * for `resource`. Without an issuer there is nothing to say, and they are 404.
 *
 * Addresses are those of public_url; without it, of the request's Host, which was checked, or of
 * what a trusted proxy says that it was (cw_resource_base).
 *
 * Threads: add_routes on the main thread; everything else on the loop of the request.
 */
#ifndef CW_DOOR_RESOURCE_H
#define CW_DOOR_RESOURCE_H

#include "call/bridge.h"
#include "net/router.h"

#define CW_RESOURCE_PATH_MAX 1024u
#define CW_RESOURCE_ROUTES 4u

typedef struct cw_resource cw_resource;

typedef struct cw_resource_route {
    cw_bridge *bridge;
    bool is_endpoint; /* of MCP */
    char path[CW_RESOURCE_PATH_MAX];
} cw_resource_route;

struct cw_resource {
    cw_resource_route routes[CW_RESOURCE_ROUTES];
};

/* `r` must outlive the router. */
CW_MUST_USE cw_code cw_resource_add_routes(cw_router *router, cw_resource *r, cw_bridge *bridge,
                                           const cw_config *config);

/* Where clients reach us, without a final slash; empty for a client of HTTP/1.0 that names no host.
 * .p is NULL without memory. *ret_known (may be NULL) tells whether it is one of few, which the
 * configuration decides; any other is one of many that clients can make up. */
cw_str cw_resource_base(cw_http_req *req, const cw_bridge_loop *bl, bool *ret_known);
/* The path of such an address, behind scheme and host; may be empty. Borrowed. */
cw_str cw_resource_path(cw_str url);
/* Append ', resource_metadata="…"' where there is something to find. */
void cw_resource_add_link(cw_buf *out, cw_http_req *req, const cw_bridge_loop *bl,
                          bool is_endpoint);
/* Append the scopes that are worth having, sorted, with spaces between them; as many as have room
 * in `max` bytes. */
void cw_resource_add_scopes(cw_buf *out, cw_bridge_loop *bl, size_t max);

#endif
