/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "door/health.h"

static void answer(cw_http_req *req, unsigned status, cw_str body)
{
    static const cw_http_header headers[] = {
        {CW_STR_INIT("Cache-Control"), CW_STR_INIT("no-store")},
    };
    cw_http_reply(req, &(cw_http_answer){.status = status,
                                         .body = body,
                                         .headers = headers,
                                         .n_headers = CW_COUNT(headers)});
}

#define DEGRADED CW_STR("{\"status\":\"degraded\",\"audit\":\"failing\"}")

static void healthz(cw_http_req *req, void *self)
{
    if (cw_audit_is_failing(self))
        answer(req, 200, DEGRADED);
    else
        answer(req, 200, CW_STR("{\"status\":\"ok\"}"));
}

static void readyz(cw_http_req *req, void *self)
{
    if (cw_http_req_is_stopping(req))
        answer(req, 503, CW_STR("{\"status\":\"stopping\"}"));
    else if (cw_audit_is_failing(self))
        answer(req, 200, DEGRADED);
    else
        answer(req, 200, CW_STR("{\"status\":\"ready\"}"));
}

cw_code cw_health_add_routes(cw_router *router, cw_audit *audit)
{
    cw_code rc = cw_router_add(router, CW_HTTP_GET, "/healthz", healthz, audit);
    return rc ? rc : cw_router_add(router, CW_HTTP_GET, "/readyz", readyz, audit);
}
