/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client_check.h - a client on a loop of this thread, and requests that remember what they got. */
#ifndef CW_TESTS_CLIENT_CHECK_H
#define CW_TESTS_CLIENT_CHECK_H

#include "fake_hole.h"
#include "fake_server.h"
#include "fake_tls.h"
#include "net/client_int.h"
#include "oom.h"

/* The same tests, without TLS and with it. */
#ifdef OVER_TLS
#define SCHEME "https"
#define serve(s, ...) fake_start_tls(s, __VA_ARGS__)
#else
#define SCHEME "http"
#define serve(s, ...) fake_start(s, __VA_ARGS__)
#endif

#define PATIENCE_MS 10000u
#define ANSWER_MAX 100000u

/* Requests that run or wait. */
static inline size_t requests_of(const cw_client *c)
{
    size_t n = c->n_waiting;
    for (const cw_link *l = c->links.next; l != &c->links; l = l->next)
        n += l->req != NULL;
    return n;
}

typedef struct asked {
    cw_client_req req;
    unsigned calls; /* of on_done */
    cw_client_end end;
    unsigned status;
    char type[64];
    char body[256]; /* its beginning */
    size_t n;
    char why[256];
    char kept[CW_CLIENT_KEPT][64];
    bool has_kept[CW_CLIENT_KEPT];
    char cookies[CW_CLIENT_KEPT_MAX + 1];
    bool spoils;                   /* says that the answer is none */
    void (*then)(struct asked *a); /* within on_done */
} asked;

typedef struct bench {
    cw_loop loop;
    uv_timer_t tick; /* so that a turn always ends */
    cw_client *client;
    bool closed;
} bench;

static inline void on_asked(cw_client_req *req, cw_client_end end, const cw_client_answer *answer,
                            const char *why)
{
    asked *a = req->ctx;
    a->calls++;
    a->end = end;
    snprintf(a->why, sizeof a->why, "%s", why);
    if (end == CW_CLIENT_OK) {
        a->status = answer->status;
        if (a->spoils)
            *answer->is_spoiled = true;
        a->n = answer->body.n;
        snprintf(a->type, sizeof a->type, "%.*s", CW_STR_ARG(answer->type));
        memcpy(a->body, answer->body.p, a->n < sizeof a->body ? a->n : sizeof a->body);
        for (size_t i = 0; i < CW_CLIENT_KEPT; i++) {
            a->has_kept[i] = answer->kept[i].p != NULL;
            snprintf(a->kept[i], sizeof a->kept[i], "%.*s", CW_STR_ARG(answer->kept[i]));
        }
        snprintf(a->cookies, sizeof a->cookies, "%.*s", CW_STR_ARG(answer->cookies));
    } else {
        assert_null(answer);
        assert_true(*why);
    }
    if (a->then)
        a->then(a);
}

static inline void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

static inline void on_client_closed(void *ctx)
{
    ((bench *)ctx)->closed = true;
}

static inline void bench_loop(bench *b)
{
    memset(b, 0, sizeof *b);
    assert_int_equal(cw_loop_init(&b->loop, 1024, NULL), CW_OK);
    uv_timer_init(&b->loop.uv, &b->tick);
    uv_timer_start(&b->tick, on_tick, 1, 1);
}

static inline cw_code bench_client(bench *b, const char *url, cw_client_opts opts)
{
    assert_int_equal(cw_client_url_parse(cw_str_from(url), &opts.url, NULL), CW_OK);
    if (opts.url.is_tls && !opts.tls.ca_file.n)
        opts.tls.ca_file = cw_str_from(fake_tls_ca());
    if (!opts.answer_size)
        opts.answer_size = ANSWER_MAX;
    return cw_client_new(&b->loop, &opts, &b->client, NULL);
}

static inline void bench_open_with(bench *b, uint16_t port, cw_client_opts opts)
{
    char url[64];
    snprintf(url, sizeof url, SCHEME "://127.0.0.1:%u/rpc", port);
    bench_loop(b);
    assert_int_equal(bench_client(b, url, opts), CW_OK);
}

static inline void bench_open(bench *b, uint16_t port)
{
    bench_open_with(b, port, (cw_client_opts){0});
}

static inline void turn(bench *b)
{
    uv_run(&b->loop.uv, UV_RUN_ONCE);
}

#define run_until(b, cond)                                                                         \
    do {                                                                                           \
        uint64_t until_ = cw_clock_ms() + PATIENCE_MS;                                             \
        while (!(cond)) {                                                                          \
            if (cw_clock_ms() > until_)                                                            \
                fail_msg("waited in vain for %s", #cond);                                          \
            turn(b);                                                                               \
        }                                                                                          \
    } while (0)

static inline void run_for(bench *b, uint64_t ms)
{
    for (uint64_t until = cw_clock_ms() + ms; cw_clock_ms() < until;)
        turn(b);
}

static inline void close_client(bench *b)
{
    if (!b->client)
        return;
    cw_client_close(b->client, on_client_closed, b);
    run_until(b, b->closed);
    b->client = NULL;
}

static inline void bench_close(bench *b)
{
    close_client(b);
    uv_close((uv_handle_t *)&b->tick, NULL);
    cw_loop_end(&b->loop);
    cw_loop_run(&b->loop);
    cw_loop_done(&b->loop);
}

static const cw_str small_body = CW_STR_INIT("{\"id\":1}");

static inline cw_code begin_ask(bench *b, asked *a)
{
    a->req.method = a->req.method ? a->req.method : CW_HTTP_POST;
    a->req.on_done = on_asked;
    a->req.ctx = a;
    if (!a->req.body && a->req.method == CW_HTTP_POST) {
        a->req.body = &small_body;
        a->req.n_body = 1;
    }
    return cw_client_send(b->client, &a->req, NULL);
}

/* Ask and wait. Not reached at once is the same as not reached. */
static inline void ask(bench *b, asked *a)
{
    cw_code rc = begin_ask(b, a);
    if (rc == CW_IO) {
        a->calls++;
        a->end = CW_CLIENT_CONNECT;
        return;
    }
    assert_int_equal(rc, CW_OK);
    assert_int_equal(a->calls, 0);
    run_until(b, a->calls);
    assert_int_equal(a->calls, 1);
}

static inline void assert_answer(const asked *a, unsigned status, const char *body)
{
    if (a->end != CW_CLIENT_OK)
        fail_msg("no answer: %d, %s", a->end, a->why);
    assert_int_equal(a->status, status);
    assert_int_equal(a->n, strlen(body));
    assert_memory_equal(a->body, body, a->n < sizeof a->body ? a->n : sizeof a->body);
}

#define SCRIPTS(...)                                                                               \
    (const fake_step *const[])                                                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

#endif
