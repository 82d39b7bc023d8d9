/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token.h - the endpoints of the built-in authorization server that programs use.
 *
 *     POST /token                                     a code or refresh token for an access token
 *     POST /revoke                                    the end of a token
 *     POST /device_authorization                      codes for a device without a browser
 *     GET /jwks                                       public keys of tokens that are JWTs
 *     GET /.well-known/oauth-authorization-server     metadata (RFC 8414)
 *     GET /.well-known/openid-configuration           404: this is no OpenID provider
 *
 * Pages of any origin may use them: a request carries its own credentials, and no cookie counts. The
 * rules of tokens are in access/oauth/exchange.h.
 *
 * Threads: add_routes on the main thread; everything else on the loop of the request.
 * Limits:  CW_OAUTH_MAX_FORM bytes of a form.
 */
#ifndef CW_DOOR_OAUTH_TOKEN_H
#define CW_DOOR_OAUTH_TOKEN_H

#include "call/runtime.h"
#include "net/server/router.h"

#define CW_OAUTH_MAX_FORM 16384u

/* Lives as long as the router. */
typedef struct cw_oauth_token_routes {
    char metadata[CW_HTTP_RESPONSE_HEAD]; /* with the path of the issuer */
} cw_oauth_token_routes;

/* They answer only while access.server.enabled (cw_router_set_switch). */
CW_MUST_USE cw_code cw_oauth_token_add_routes(cw_router *router, cw_oauth_token_routes *routes,
                                              cw_runtime *runtime, const cw_config *config);

#endif
