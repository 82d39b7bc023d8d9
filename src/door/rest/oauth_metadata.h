/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oauth_metadata.h - OAuth's protected resource metadata (RFC 9728).
 *
 *     /.well-known/oauth-protected-resource              all that we serve
 *     /.well-known/oauth-protected-resource/mcp          the endpoint for MCP clients
 *     /.well-known/oauth-protected-resource/mcp/x/NAME   a toolset, also with /readonly
 *
 * If public_url has a path, all of them also exist behind that path. They differ in `resource` only.
 * Without an issuer they are 404, and so are the documents of an authorization server. The body is an
 * OAuth error whose description names another way to log in. /register and /token are then 400 with the
 * same description, and /authorize is a page for people. With an issuer these paths do not exist.
 *
 * Threads: add_routes on the main thread; everything else on the loop of the request.
 */
#ifndef CW_DOOR_REST_OAUTH_METADATA_H
#define CW_DOOR_REST_OAUTH_METADATA_H

#include "call/runtime.h"
#include "net/server/router.h"

#define CW_OAUTH_METADATA_PATH_MAX 1024u
#define CW_OAUTH_METADATA_ROUTES 8u

typedef struct cw_oauth_metadata cw_oauth_metadata;

typedef struct cw_oauth_metadata_route {
    cw_runtime *runtime;
    bool is_endpoint; /* of MCP, or a toolset */
    const char *end;  /* of a toolset's path, behind its name; NULL: no toolset */
    char path[CW_OAUTH_METADATA_PATH_MAX];
} cw_oauth_metadata_route;

struct cw_oauth_metadata {
    cw_oauth_metadata_route routes[CW_OAUTH_METADATA_ROUTES];
};

/* `r` must outlive the router. */
CW_MUST_USE cw_code cw_oauth_metadata_add_routes(cw_router *router, cw_oauth_metadata *r,
                                                 cw_runtime *runtime, const cw_config *config);

#endif
