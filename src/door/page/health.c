/* SPDX-License-Identifier: GPL-2.0-or-later */
/* health.c - GET /healthz and GET /readyz. */
#include "door/page/health.h"

#include <stdio.h>

#include "door/query.h"

static void answer(cw_http_req *req, unsigned status, cw_str body)
{
    static const cw_http_header headers[] = {
        {CW_STR_INIT("Cache-Control"), CW_STR_INIT("no-store")},
    };
    cw_http_reply(req, &(cw_http_response){.status = status,
                                           .body = body,
                                           .headers = headers,
                                           .n_headers = CW_COUNT(headers)});
}

static bool is_failing(const cw_health *health)
{
    return cw_audit_is_failing(health->audit);
}

static void healthz(cw_http_req *req, void *self)
{
    answer(req, 200,
           is_failing(self) ? CW_STR("{\"status\":\"degraded\",\"audit\":\"failing\"}")
                            : CW_STR("{\"status\":\"ok\"}"));
}

static bool asks_for_store(cw_http_req *req)
{
    cw_str value;
    return cw_query_param(req, CW_STR("store"), &value) == CW_PARAM_ONCE && cw_str_is(value, "1");
}

static void readyz(cw_http_req *req, void *self)
{
    const cw_health *health = self;
    if (atomic_load(&health->leaving) || cw_http_req_is_stopping(req)) {
        answer(req, 503, CW_STR("{\"status\":\"stopping\"}"));
        return;
    }
    unsigned ready = atomic_load(health->ready), stale = atomic_load(health->stale);
    unsigned down = atomic_load(health->down), withheld = atomic_load(health->withheld);
    unsigned plugins = atomic_load(health->plugins), failed = atomic_load(health->failed_plugins);
    bool failing = is_failing(health);
    bool is_useless = down + failed > 0 && ready + stale + plugins == 0;
    bool is_away = atomic_load(health->store_away);
    is_useless = is_useless || (is_away && asks_for_store(req));
    const char *status = is_useless                       ? "unavailable"
                         : failing || withheld || is_away ? "degraded"
                                                          : "ready";
    char text[256];
    size_t n = (size_t)snprintf(
        text, sizeof text, "{\"status\":\"%s\"%s%s%s", status, is_away ? ",\"store\":\"away\"" : "",
        failing ? ",\"audit\":\"failing\"" : "", withheld ? ",\"lock\":\"unusable\"" : "");
    if (ready + stale + down)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              ",\"sources\":{\"ready\":%u,\"stale\":%u,\"down\":%u}", ready, stale,
                              down);
    if (failed)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              ",\"plugins\":{\"loaded\":%u,\"failed\":%u}", plugins, failed);
    n += (size_t)snprintf(text + n, sizeof text - n, "}");
    answer(req, is_useless ? 503 : 200, cw_str_make(text, n));
}

cw_code cw_health_add_routes(cw_router *router, cw_health *health)
{
    cw_code rc = cw_router_add(router, CW_HTTP_GET, "/healthz", healthz, health);
    return rc ? rc : cw_router_add(router, CW_HTTP_GET, "/readyz", readyz, health);
}
