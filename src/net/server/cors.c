/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cors.c - what browsers must be told before a page of another origin may read an answer.
 *
 * Which origins may call is decided where Origin is judged (request.c): nothing here
 * grants access. Credentials that browsers add on their own are never allowed; a
 * page that has a token sends it itself.
 */
#include "net/server/server_int.h"

#define ORIGIN CW_STR("Access-Control-Allow-Origin")
/* The headers that clients may have to send. */
#define ALLOWED                                                                                    \
    "Authorization, Content-Type, Accept-Language, MCP-Protocol-Version, Mcp-Method, Mcp-Name, "   \
    "Mcp-Session-Id, Last-Event-ID"
#define EXPOSED "Mcp-Session-Id, WWW-Authenticate"
#define PARAM "mcp-param-"
#define MAX_AGE "600" /* seconds; browsers cap it themselves */

static bool says_origin(const cw_http_response *a)
{
    for (size_t i = 0; i < a->n_headers; i++) {
        if (cw_str_ieq(a->headers[i].name, ORIGIN))
            return true;
    }
    return false;
}

/* A cache must not give the answer for one origin to another. */
static bool may_be_cached(const cw_http_req *req, const cw_http_response *a)
{
    if (req->head.method != CW_HTTP_GET && req->head.method != CW_HTTP_HEAD)
        return false;
    for (size_t i = 0; i < a->n_headers; i++) {
        if (cw_str_ieq(a->headers[i].name, CW_STR("Cache-Control")))
            return !cw_str_starts(a->headers[i].value, CW_STR("no-store"));
    }
    return true;
}

size_t cw_cors_headers(const cw_http_req *req, const cw_http_response *a,
                       cw_http_header out[CW_CORS_MAX])
{
    bool varies = req->from_page || may_be_cached(req, a);
    if (!varies || says_origin(a))
        return 0;
    out[0] = (cw_http_header){CW_STR("Vary"), CW_STR("Origin")};
    if (!req->from_page)
        return 1;
    out[1] = (cw_http_header){ORIGIN, cw_http_req_header(req, CW_STR("Origin"))};
    out[2] = (cw_http_header){CW_STR("Access-Control-Expose-Headers"), CW_STR(EXPOSED)};
    return 3;
}

static bool is_param(cw_str name)
{
    const cw_str prefix = CW_STR(PARAM);
    return name.n > prefix.n && cw_str_ieq(cw_str_make(name.p, prefix.n), prefix) &&
           cw_http_is_token(name);
}

/* The headers that can be named beforehand, and those of arguments that were asked for. */
static cw_str allowed_headers(cw_http_req *req)
{
    cw_str rest = cw_http_req_header(req, CW_STR("Access-Control-Request-Headers"));
    cw_str allowed = CW_STR(ALLOWED);
    cw_buf b;
    cw_buf_init(&b, CW_HTTP_RESPONSE_HEAD / 2);
    cw_buf_add(&b, allowed);
    while (rest.p) {
        cw_str name = cw_str_trim(cw_str_cut(rest, ',', &rest));
        if (!is_param(name))
            continue;
        cw_buf_add(&b, CW_STR(", "));
        cw_buf_add(&b, name);
    }
    cw_str all = b.code ? (cw_str){NULL, 0} : cw_arena_dup_str(&req->arena, cw_buf_str(&b));
    cw_buf_done(&b);
    return all.p ? all : allowed;
}

size_t cw_cors_preflight(cw_http_req *req, const char *allow, cw_http_header out[CW_CORS_MAX])
{
    cw_str wanted = cw_http_req_header(req, CW_STR("Access-Control-Request-Method"));
    if (!req->from_page || !wanted.p)
        return 0;
    out[0] = (cw_http_header){CW_STR("Access-Control-Allow-Methods"), cw_str_from(allow)};
    out[1] = (cw_http_header){CW_STR("Access-Control-Allow-Headers"), allowed_headers(req)};
    out[2] = (cw_http_header){CW_STR("Access-Control-Max-Age"), CW_STR(MAX_AGE)};
    return 3;
}
