/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metrics.c - GET /metrics. */
#include "door/page/metrics.h"

#include <stdlib.h>

#include "base/gzip.h"
#include "base/limits.h"
#include "door/authenticate.h"
#include "door/error.h"
#include "door/negotiate.h"
#include "metrics/metrics.h"

#define TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Frees itself: the pool cannot be called back when the client disconnects. */
typedef struct scrape {
    uv_work_t work;
    cw_http_req *req; /* NULL: the client is gone */
    cw_metrics_form form;
    bool wants_gzip, is_packed;
    cw_buf text, packed;
} scrape;

static atomic_uint n_running;

static void free_scrape(void *self)
{
    scrape *s = self;
    cw_buf_done(&s->text);
    cw_buf_done(&s->packed);
    free(s);
}

/* Whether a media range of Accept names OpenMetrics. Its version is the only one. */
static bool accepts_openmetrics(const cw_http_req *req)
{
    size_t at = 0;
    for (cw_str field; (field = cw_http_req_header_next(req, CW_STR("Accept"), &at)).p;) {
        for (cw_str rest = field; rest.p;) {
            cw_str range = cw_str_trim(cw_str_cut(rest, ',', &rest));
            cw_str type = cw_str_trim(cw_str_cut(range, ';', &range));
            if (cw_str_ieq(type, CW_STR("application/openmetrics-text")))
                return true;
        }
    }
    return false;
}

/* ---- on the pool ---- */

static void on_work(uv_work_t *work)
{
    scrape *s = work->data;
    cw_metrics_write(s->form, &s->text);
    s->is_packed = s->wants_gzip && !s->text.code &&
                   cw_gzip(cw_buf_str(&s->text), s->text.n, &s->packed) == CW_OK;
}

/* ---- on the loop ---- */

static void reply(scrape *s)
{
    const cw_http_header headers[] = {
        {CW_STR("Cache-Control"), CW_STR("no-store")},
        {CW_STR("Vary"), CW_STR("Accept, Accept-Encoding")},
        {CW_STR("Content-Encoding"), CW_STR("gzip")},
    };
    cw_http_req *req = s->req;
    cw_http_response answer = {.status = 200,
                               .type = s->form == CW_METRICS_OPENMETRICS ? CW_STR(OPENMETRICS_TYPE)
                                                                         : CW_STR(TEXT_TYPE),
                               .body = cw_buf_str(s->is_packed ? &s->packed : &s->text),
                               .headers = headers,
                               .n_headers = CW_COUNT(headers) - (s->is_packed ? 0 : 1)};
    cw_http_listen(req, NULL, NULL);
    if (s->text.code) {
        cw_http_reply_error(req, 500, "internal_error", cw_str_from(cw_code_text(s->text.code)));
        free_scrape(s);
    } else if (cw_arena_hold(cw_http_req_arena(req), s, free_scrape)) {
        cw_http_reply_error(req, 500, "internal_error", CW_STR("out of memory"));
    } else {
        cw_http_reply(req, &answer);
    }
}

static void on_done(uv_work_t *work, int status)
{
    scrape *s = work->data;
    (void)status;
    atomic_fetch_sub(&n_running, 1);
    if (s->req)
        reply(s);
    else
        free_scrape(s);
}

static void on_event(cw_http_req *req, cw_http_event event, void *ctx)
{
    scrape *s = ctx;
    (void)req;
    if (event == CW_HTTP_GONE)
        s->req = NULL;
}

static bool start(cw_http_req *req)
{
    scrape *s = calloc(1, sizeof *s);
    if (!s)
        return false;
    s->req = req;
    s->form = accepts_openmetrics(req) ? CW_METRICS_OPENMETRICS : CW_METRICS_TEXT;
    s->wants_gzip = cw_negotiate_gzip(req);
    s->work.data = s;
    cw_buf_init(&s->text, CW_METRICS_MAX_BYTES);
    cw_buf_init(&s->packed, CW_METRICS_MAX_BYTES);
    if (uv_queue_work(&cw_http_req_loop(req)->uv, &s->work, on_work, on_done)) {
        free_scrape(s);
        return false;
    }
    cw_http_listen(req, on_event, s);
    return true;
}

static void on_identified(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    static const cw_http_header soon = {CW_STR_INIT("Retry-After"), CW_STR_INIT("1")};
    (void)self;
    cw_verdict verdict = cw_gate_permission(cw_view_caller(view), CW_PERMISSION_METRICS);
    if (verdict != CW_VERDICT_ALLOW) {
        cw_door_refuse_all(req, &cw_door_rest, rl, view, verdict, NULL);
        return;
    }
    if (atomic_fetch_add(&n_running, 1) < CW_METRICS_MAX_SCRAPES && start(req))
        return;
    atomic_fetch_sub(&n_running, 1);
    cw_http_reply(req, &(cw_http_response){.status = 503, .headers = &soon, .n_headers = 1});
}

static void on_get(cw_http_req *req, void *self)
{
    cw_authenticate(req, self, &cw_authenticate_rest, on_identified, NULL);
}

cw_code cw_metrics_page_add_routes(cw_router *router, cw_runtime *runtime)
{
    return cw_router_add(router, CW_HTTP_GET, "/metrics", on_get, runtime);
}
