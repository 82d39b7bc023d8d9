/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oauth_challenge.h - where OAuth clients find us, and which scopes they need.
 *
 * Addresses are those of public_url; without it, of the request's Host, which was checked, or of
 * what a trusted proxy says that it was (cw_oauth_resource_base). door/rest/oauth_metadata.h has
 * the documents.
 *
 * Threads: the loop of the request.
 */
#ifndef CW_DOOR_OAUTH_CHALLENGE_H
#define CW_DOOR_OAUTH_CHALLENGE_H

#include "call/runtime.h"
#include "net/server/request_api.h"

#define CW_OAUTH_RESOURCE_WELLKNOWN "/.well-known/oauth-protected-resource"

typedef struct cw_oauth_scope_list {
    cw_str *items; /* borrowed from the catalogue; the array is the caller's to free */
    size_t n;
} cw_oauth_scope_list;

/* Whether tokens of an issuer, or of this server, are accepted, so that metadata exists. */
bool cw_oauth_resource_has_issuers(const cw_runtime_loop *rl);
/* The scopes that are worth having, sorted. CW_NOMEM. */
CW_MUST_USE cw_code cw_oauth_resource_scopes(cw_runtime_loop *rl, cw_oauth_scope_list *list);
/* The part of a requested scope that exists. */
typedef struct cw_oauth_asked_scopes {
    cw_str *items; /* in the order of the request, each once; the texts are those of the request */
    size_t n;
    bool is_offline; /* offline_access was asked for; it is not among the items */
} cw_oauth_asked_scopes;

/* Find the scopes of `asked`, which are separated by spaces; the items are in the arena. CW_NOTFOUND: it
 * asks for others only; CW_LIMIT, CW_NOMEM. */
CW_MUST_USE cw_code cw_oauth_resource_choose_scopes(cw_runtime_loop *rl, cw_str asked,
                                                    cw_arena *arena, cw_oauth_asked_scopes *ret);
/* The base URL of the server, without a final slash; empty for an HTTP/1.0 client without Host. .p
 * is NULL without memory. *ret_known (may be NULL): whether it is one of the few that the
 * configuration determines; clients can make up any other. */
cw_str cw_oauth_resource_base(cw_http_req *req, const cw_runtime_loop *rl, bool *ret_known);
/* The path of the address that a request of an MCP client is for: the endpoint, or a toolset. */
cw_str cw_oauth_resource_endpoint(const cw_http_req *req, const cw_config *config);
/* The path of a resource that a client names by its URL: empty for the whole server, the endpoint, or a
 * toolset. CW_INVALID: it is not here; CW_NOMEM. Without public_url all names of this machine are the
 * same. */
CW_MUST_USE cw_code cw_oauth_resource_match(cw_http_req *req, const cw_runtime_loop *rl, cw_str url,
                                            cw_str *ret_path);
/* Whether a token for a resource is valid at the path of a request: one for a toolset is valid there
 * only. */
bool cw_oauth_resource_covers(const cw_config *config, cw_str resource, cw_str path);
/* The path of such an address, behind scheme and host; may be empty. Borrowed. */
cw_str cw_oauth_resource_path(cw_str url);

#endif
