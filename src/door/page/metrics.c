/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metrics.c - GET /metrics. */
#include "door/page/metrics.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/gzip.h"
#include "base/limits.h"
#include "door/authenticate.h"
#include "door/error.h"
#include "door/negotiate.h"
#include "metrics/metrics.h"

#define PATH "/metrics"
#define TOKEN_MIN 16u
#define TOKEN_MAX 4096u
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

static void run(cw_http_req *req)
{
    static const cw_http_header soon = {CW_STR_INIT("Retry-After"), CW_STR_INIT("1")};
    if (atomic_fetch_add(&n_running, 1) < CW_METRICS_MAX_SCRAPES && start(req))
        return;
    atomic_fetch_sub(&n_running, 1);
    cw_http_reply(req, &(cw_http_response){.status = 503, .headers = &soon, .n_headers = 1});
}

static void on_identified(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    (void)self;
    cw_verdict verdict = cw_gate_permission(cw_view_caller(view), CW_PERMISSION_METRICS);
    if (verdict == CW_VERDICT_ALLOW)
        run(req);
    else
        cw_door_refuse_all(req, &cw_door_rest, rl, view, verdict, NULL);
}

/* ---- the token ---- */

/* A wrong one is left to the login, which counts and slows guesses. */
static bool has_token(cw_metrics_page *page, const cw_http_req *req)
{
    unsigned char digest[CW_DIGEST];
    cw_str given = cw_credentials_bearer(cw_http_req_authorization(req));
    if (!given.p)
        return false;
    cw_secret_digest(given, digest);
    pthread_mutex_lock(&page->lock);
    bool is_equal = page->has_token && cw_secret_equal(digest, page->token);
    pthread_mutex_unlock(&page->lock);
    return is_equal;
}

static void on_get(cw_http_req *req, void *self)
{
    cw_metrics_page *page = self;
    if (has_token(page, req))
        run(req);
    else
        cw_authenticate(req, page->runtime, &cw_authenticate_rest, on_identified, NULL);
}

/* The first line of the file. */
static cw_code read_token(const char *path, unsigned char out[CW_DIGEST], cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, TOKEN_MAX);
    cw_code rc = cw_file_read(path, CW_FILE_PLAIN, &text, err);
    cw_str rest, token = cw_str_trim(cw_str_cut(cw_buf_str(&text), '\n', &rest));
    if (!rc && token.n < TOKEN_MIN)
        rc = cw_fail(err, CW_PARAMS, "'%s' has fewer than %u characters", path, TOKEN_MIN);
    if (!rc)
        cw_secret_digest(token, out);
    if (text.p)
        explicit_bzero(text.p, text.n);
    return rc;
}

cw_code cw_metrics_page_configure(cw_metrics_page *page, const cw_config *config, cw_err *err)
{
    unsigned char token[CW_DIGEST] = {0};
    bool is_set = config->metrics.token_file.n > 0;
    if (!page->runtime)
        return CW_OK;
    cw_code rc = is_set ? cw_secret_init(err) : CW_OK;
    if (!rc && is_set)
        rc = read_token(config->metrics.token_file.p, token, err);
    if (rc)
        return cw_wrap(err, rc, "metrics.token_file");
    pthread_mutex_lock(&page->lock);
    memcpy(page->token, token, sizeof token);
    page->has_token = is_set;
    pthread_mutex_unlock(&page->lock);
    return CW_OK;
}

cw_code cw_metrics_page_open(cw_metrics_page *page, cw_router *router, cw_runtime *runtime,
                             const cw_config *config, cw_err *err)
{
    if (!config->metrics.enabled)
        return CW_OK;
    page->runtime = runtime;
    pthread_mutex_init(&page->lock, NULL);
    cw_code rc = cw_router_add(router, CW_HTTP_GET, PATH, on_get, page);
    if (rc)
        return cw_fail(err, rc, "%s: %s", PATH, cw_code_text(rc));
    if (config->metrics.listen.n)
        cw_router_set_listeners(router, PATH, CW_AT_METRICS | CW_AT_LOCAL);
    return cw_metrics_page_configure(page, config, err);
}
