/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "routes.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "json/write.h"
#include "net/server/server_int.h"

#define PARKED_MAX 16u

static atomic_uint gone;
static atomic_uint canaries;
/* Requests that wait for /release; each loop has its own thread. */
static _Thread_local cw_http_req *parked[PARKED_MAX];
static _Thread_local size_t n_parked;
static char two_k[2048];
static char block[2000]; /* of a flood: with its frame it fits into half of the smallest queue */

static uint64_t query_number(cw_http_req *req, uint64_t fallback)
{
    uint64_t n;
    cw_str query = cw_http_req_query(req);
    return query.p && cw_str_to_u64(query, &n) ? n : fallback;
}

static void get_2k(cw_http_req *req, void *self)
{
    (void)self;
    cw_http_reply(req, &(cw_http_response){.status = 200, .body = {two_k, sizeof two_k}});
}

static void echo(cw_http_req *req, void *self)
{
    (void)self;
    static const char *const names[] = {"host", "content-type", "x-test", "x-trailer"};
    cw_buf out;
    cw_json_writer w;
    cw_buf_init(&out, 64u << 20);
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("method"),
                              cw_str_from(cw_http_method_name(cw_http_req_method(req))));
    cw_json_add_string_member(&w, CW_STR("path"), req->target.path);
    cw_json_add_string_member(&w, CW_STR("peer"), cw_http_req_peer(req));
    bool is_known;
    bool is_tls = cw_str_starts(cw_http_req_origin(req, &is_known), CW_STR("https:"));
    cw_json_add_bool_member(&w, CW_STR("tls"), is_tls);
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        cw_str value = cw_http_req_header(req, cw_str_from(names[i]));
        if (value.p)
            cw_json_add_string_member(&w, cw_str_from(names[i]), value);
    }
    cw_json_add_string_member(&w, CW_STR("body"), cw_http_req_body(req));
    cw_json_close(&w);
    cw_str text = {NULL, 0};
    if (!cw_json_writer_end(&w, NULL))
        text = cw_arena_dup_str(cw_http_req_arena(req), cw_buf_str(&out));
    cw_buf_done(&out);
    if (text.p)
        cw_http_reply(req, &(cw_http_response){.status = 200, .body = text});
    else
        cw_http_reply_error(req, 503, "unavailable", CW_STR("out of memory"));
}

/* A job that outlives the handler. It ends with its request (on_job_event). */
typedef struct job {
    uv_timer_t timer;
    cw_http_req *req;
    uint64_t left;
} job;

static void job_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void job_end(job *j)
{
    uv_close((uv_handle_t *)&j->timer, job_closed);
}

static void on_job_event(cw_http_req *req, cw_http_event event, void *ctx)
{
    job *j = ctx;
    if (event == CW_HTTP_GONE) {
        atomic_fetch_add(&gone, 1);
        job_end(j);
    }
    if (event == CW_HTTP_STOPPING && j->left == UINT64_MAX) {
        job_end(j);
        cw_http_stream_close(req);
    }
}

static job *job_new(cw_http_req *req)
{
    job *j = calloc(1, sizeof *j);
    if (!j) {
        cw_http_reply_error(req, 503, "unavailable", CW_STR("out of memory"));
        return NULL;
    }
    j->req = req;
    uv_timer_init(&cw_http_req_loop(req)->uv, &j->timer);
    j->timer.data = j;
    cw_http_listen(req, on_job_event, j);
    return j;
}

static void on_later(uv_timer_t *timer)
{
    job *j = timer->data;
    cw_http_reply(j->req, &(cw_http_response){.status = 200, .body = CW_STR("{\"later\":true}")});
    job_end(j);
}

static void start_later(cw_http_req *req, uv_timer_cb then)
{
    job *j = job_new(req);
    if (j)
        uv_timer_start(&j->timer, then, query_number(req, 100), 0);
}

static void later(cw_http_req *req, void *self)
{
    (void)self;
    cw_http_cancel_on_eof(req);
    start_later(req, on_later);
}

/* Also for a client that has ended its side. */
static void later_anyway(cw_http_req *req, void *self)
{
    (void)self;
    start_later(req, on_later);
}

static void on_mind(uv_timer_t *timer)
{
    const job *j = timer->data;
    cw_http_cancel_on_eof(j->req);
    uv_timer_start(timer, on_later, 60000, 0);
}

/* Thinks first and then wants to know of a client that has left meanwhile. */
static void mind_later(cw_http_req *req, void *self)
{
    (void)self;
    start_later(req, on_mind);
}

static void on_tick(uv_timer_t *timer)
{
    job *j = timer->data;
    cw_http_req *req = j->req;
    char text[64];
    snprintf(text, sizeof text, "tick\n%llu", (unsigned long long)j->left);
    cw_code rc = cw_sse_send(req, CW_STR("tick"), CW_STR(""), cw_str_from(text));
    (void)rc;
    if (j->left != UINT64_MAX && --j->left == 0) {
        cw_http_stream_close(req);
        job_end(j);
    }
}

static void events(cw_http_req *req, void *self)
{
    (void)self;
    job *j = job_new(req);
    if (!j)
        return;
    j->left = query_number(req, UINT64_MAX);
    cw_sse_open(req, NULL, 0);
    /* 0 events: a silent stream, which only keep-alive comments cross. */
    if (j->left == 0)
        j->left = UINT64_MAX;
    else
        uv_timer_start(&j->timer, on_tick, 10, 10);
}

static void on_held(uv_timer_t *timer)
{
    job *j = timer->data;
    if (!cw_http_stream_write(j->req, CW_STR("b")))
        cw_http_stream_close(j->req);
    job_end(j);
}

static void hold(cw_http_req *req, void *self)
{
    (void)self;
    job *j = job_new(req);
    if (!j)
        return;
    cw_http_stream_open(req, &(cw_http_response){.status = 200, .type = CW_STR("text/plain")});
    if (!cw_http_stream_write(req, CW_STR("a")))
        uv_timer_start(&j->timer, on_held, query_number(req, 100), 0);
}

static void piece(cw_http_req *req, void *self)
{
    (void)self;
    size_t n = (size_t)query_number(req, 1);
    char *p = cw_arena_alloc(cw_http_req_arena(req), n ? n : 1);
    if (!p) {
        cw_http_reply_error(req, 503, "unavailable", CW_STR("out of memory"));
        return;
    }
    memset(p, 'p', n);
    cw_http_stream_open(req, &(cw_http_response){.status = 200, .type = CW_STR("text/plain")});
    if (cw_http_stream_write(req, cw_str_make(p, n)) == CW_LIMIT)
        (void)!cw_http_stream_write(req, CW_STR("refused"));
    cw_http_stream_close(req);
}

typedef struct flood_state {
    uint64_t left;
} flood_state;

static void pour(cw_http_req *req, flood_state *f)
{
    while (f->left) {
        size_t n = f->left < sizeof block ? (size_t)f->left : sizeof block;
        cw_code rc = cw_http_stream_write(req, cw_str_make(block, n));
        if (rc != CW_OK && rc != CW_AGAIN)
            return;
        f->left -= n;
        if (rc == CW_AGAIN)
            return;
    }
    cw_http_stream_close(req);
}

static void on_flood_event(cw_http_req *req, cw_http_event event, void *ctx)
{
    if (event == CW_HTTP_GONE)
        atomic_fetch_add(&gone, 1);
    if (event == CW_HTTP_DRAINED)
        pour(req, ctx);
}

static void flood(cw_http_req *req, void *self)
{
    (void)self;
    flood_state *f = cw_arena_calloc(cw_http_req_arena(req), 1, sizeof *f);
    if (!f) {
        cw_http_reply_error(req, 503, "unavailable", CW_STR("out of memory"));
        return;
    }
    f->left = query_number(req, 1 << 20);
    cw_http_listen(req, on_flood_event, f);
    cw_http_stream_open(req, &(cw_http_response){.status = 200, .type = CW_STR("text/plain")});
    pour(req, f);
}

static void on_refilled(cw_http_req *req, cw_http_event event, void *ctx)
{
    (void)ctx;
    if (event == CW_HTTP_DRAINED)
        cw_http_stream_close(req);
}

/* Fills the queue, and keeps the loop from polling until writes have emptied it. */
static void refill(cw_http_req *req, void *self)
{
    (void)self;
    cw_http_listen(req, on_refilled, NULL);
    cw_http_stream_open(req, &(cw_http_response){.status = 200, .type = CW_STR("text/plain")});
    cw_code rc = CW_OK;
    while (rc == CW_OK)
        rc = cw_http_stream_write(req, cw_str_make(block, sizeof block));
    for (unsigned tries = 0; tries < 1000 && req->out.n && rc != CW_LIMIT; tries++) {
        usleep(10000);
        rc = cw_http_stream_write(req, CW_STR("."));
    }
}

static void big(cw_http_req *req, void *self)
{
    (void)self;
    size_t n = (size_t)query_number(req, 1 << 20);
    char *p = cw_arena_alloc(cw_http_req_arena(req), n);
    if (!p) {
        cw_http_reply_error(req, 503, "unavailable", CW_STR("out of memory"));
        return;
    }
    memset(p, 'y', n);
    cw_http_reply(req,
                  &(cw_http_response){.status = 200, .type = CW_STR("text/plain"), .body = {p, n}});
}

/* Three parts of this length: a, b and c. */
static void parts(cw_http_req *req, void *self)
{
    (void)self;
    size_t n = (size_t)query_number(req, 1000);
    char *p = cw_arena_alloc(cw_http_req_arena(req), 3 * n);
    if (!p) {
        cw_http_reply_error(req, 503, "unavailable", CW_STR("out of memory"));
        return;
    }
    for (size_t i = 0; i < 3; i++)
        memset(p + i * n, (int)('a' + i), n);
    cw_http_reply(req, &(cw_http_response){.status = 200,
                                           .type = CW_STR("text/plain"),
                                           .body = {p, n},
                                           .more = (const cw_str[]){{p + n, n}, {p + 2 * n, n}}});
}

static void on_parked_event(cw_http_req *req, cw_http_event event, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; event == CW_HTTP_GONE && i < n_parked; i++) {
        if (parked[i] == req)
            parked[i] = parked[--n_parked];
    }
}

static void park(cw_http_req *req, void *self)
{
    (void)self;
    if (n_parked == PARKED_MAX) {
        cw_http_reply_error(req, 503, "unavailable", CW_STR("too many are parked"));
        return;
    }
    parked[n_parked++] = req;
    cw_http_listen(req, on_parked_event, NULL);
}

static void release(cw_http_req *req, void *self)
{
    (void)self;
    while (n_parked) {
        cw_http_req *other = parked[--n_parked];
        cw_http_reply(other, &(cw_http_response){.status = 200, .body = CW_STR("\"parked\"")});
    }
    cw_http_reply(req, &(cw_http_response){.status = 200, .body = CW_STR("\"released\"")});
}

static void get_gone(cw_http_req *req, void *self)
{
    (void)self;
    char *text = cw_arena_printf(cw_http_req_arena(req), "{\"gone\":%u}", atomic_load(&gone));
    cw_http_reply(req, &(cw_http_response){.status = 200, .body = cw_str_from(text)});
}

static void item(cw_http_req *req, void *self)
{
    (void)self;
    cw_http_reply(req, &(cw_http_response){.status = 200, .body = cw_http_req_param(req)});
}

static void bad_header(cw_http_req *req, void *self)
{
    (void)self;
    cw_http_header header = {CW_STR("X-Bad"), CW_STR("a\r\nSet-Cookie: b")};
    cw_http_reply(req, &(cw_http_response){.status = 200, .headers = &header, .n_headers = 1});
}

/* A header as the body names it: "name=value". */
static void given_header(cw_http_req *req, void *self)
{
    (void)self;
    cw_http_header header = {.value = CW_STR("")};
    header.name = cw_str_cut(cw_http_req_body(req), '=', &header.value);
    cw_http_reply(req, &(cw_http_response){.status = 200, .headers = &header, .n_headers = 1});
}

static void canary(cw_http_req *req, void *self)
{
    (void)self;
    atomic_fetch_add(&canaries, 1);
    cw_http_reply(req, &(cw_http_response){.status = 200, .body = cw_http_req_param(req)});
}

static void get_canaries(cw_http_req *req, void *self)
{
    (void)self;
    char *text =
        cw_arena_printf(cw_http_req_arena(req), "{\"canaries\":%u}", atomic_load(&canaries));
    cw_http_reply(req, &(cw_http_response){.status = 200, .body = cw_str_from(text)});
}

static void fill(void)
{
    memset(block, 'x', sizeof block);
    memset(two_k, 'a', sizeof two_k);
    const cw_str head = CW_STR("{\"data\":\""), tail = CW_STR("\"}");
    memcpy(two_k, head.p, head.n);
    memcpy(two_k + sizeof two_k - tail.n, tail.p, tail.n);
}

cw_code test_routes_add(cw_router *router)
{
    const struct {
        cw_http_method method;
        const char *path;
        cw_http_handler handler;
    } all[] = {
        {CW_HTTP_GET, "/2k", get_2k},
        {CW_HTTP_GET, "/echo", echo},
        {CW_HTTP_POST, "/echo", echo},
        {CW_HTTP_PUT, "/echo", echo},
        {CW_HTTP_GET, "/later", later},
        {CW_HTTP_GET, "/later-anyway", later_anyway},
        {CW_HTTP_GET, "/mind-later", mind_later},
        {CW_HTTP_GET, "/gone", get_gone},
        {CW_HTTP_GET, "/events", events},
        {CW_HTTP_GET, "/flood", flood},
        {CW_HTTP_GET, "/refill", refill},
        {CW_HTTP_GET, "/big", big},
        {CW_HTTP_GET, "/parts", parts},
        {CW_HTTP_GET, "/item/{id}", item},
        {CW_HTTP_GET, "/badheader", bad_header},
        {CW_HTTP_POST, "/badheader", given_header},
        {CW_HTTP_POST, "/later", later},
        {CW_HTTP_GET, "/hold", hold},
        {CW_HTTP_GET, "/piece", piece},
        {CW_HTTP_GET, "/canary/{id}", canary},
        {CW_HTTP_POST, "/canary/{id}", canary},
        {CW_HTTP_GET, "/canaries", get_canaries},
        {CW_HTTP_GET, "/park", park},
        {CW_HTTP_GET, "/release", release},
    };
    fill();
    cw_code rc = CW_OK;
    for (size_t i = 0; i < CW_COUNT(all) && !rc; i++)
        rc = cw_router_add(router, all[i].method, all[i].path, all[i].handler, NULL);
    return rc;
}
