/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hub_check.h - what tests of hubs share: a service on a unix socket, which is the test itself, in
 * the same thread, and calls to it. */
#ifndef CW_TESTS_HUB_CHECK_H
#define CW_TESTS_HUB_CHECK_H

#include <fcntl.h>
#include <signal.h>

#include "../net/client_check.h"
#include "source/hub_int.h"

#define IN_MAX 16384u
#define ANSWER_SIZE 20000u

typedef struct line {
    bench b;
    cw_service *service;
    cw_hub *hub;
    cw_way *way;
    int listener, peer;
    char in[IN_MAX]; /* what the service got and nobody has looked at */
    size_t n;
    bool ended; /* by us, for the service */
    unsigned announced;
} line;

typedef struct sent {
    cw_way_req req;
    cw_str body[CW_WIRE_PIECES];
    char room[CW_WIRE_ROOM];
    cw_wire wire;
    cw_arena arena;
    unsigned calls;
    cw_client_end end;
    char text[128];
    char why[256];
} sent;

static char path[64];

static inline int make_path(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    snprintf(path, sizeof path, "%s/cw-hub-XXXXXX", P_tmpdir);
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd) || unlink(path);
}

/* ---- the service's side ---- */

static inline void listen_at_path(line *l)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    snprintf(un.sun_path, sizeof un.sun_path, "%s", path);
    unlink(path);
    l->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(l->listener >= 0);
    assert_int_equal(bind(l->listener, (struct sockaddr *)&un, sizeof un), 0);
    assert_int_equal(listen(l->listener, 8), 0);
}

static inline bool take_peer(line *l)
{
    if (l->peer < 0 && l->listener >= 0) {
        l->peer = accept4(l->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        l->n = 0;
        l->ended = false;
    }
    return l->peer >= 0;
}

static inline void hang_up(line *l)
{
    close(l->peer);
    l->peer = -1;
}

static inline void say(line *l, const char *text)
{
    assert_int_equal(send(l->peer, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* The next line that came, without its end; NULL: not yet. */
static inline const char *next_line(line *l)
{
    static char text[IN_MAX];
    ssize_t k = recv(l->peer, l->in + l->n, sizeof l->in - l->n, 0);
    if (k == 0)
        l->ended = true;
    if (k > 0)
        l->n += (size_t)k;
    const char *end = memchr(l->in, '\n', l->n);
    if (!end)
        return NULL;
    size_t n = (size_t)(end - l->in);
    memcpy(text, l->in, n);
    text[n] = 0;
    l->n -= n + 1;
    memmove(l->in, end + 1, l->n);
    return text;
}

static inline void hear(line *l, const char *expected)
{
    const char *got = NULL;
    run_until(&l->b, take_peer(l));
    run_until(&l->b, (got = next_line(l)) || l->ended);
    assert_non_null(got);
    assert_string_equal(got, expected);
}

#define CALL(id) "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"m\",\"params\":[" #id "]}"
#define REPLY(id) "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":" #id "}\n"

/* ---- ours ---- */

static inline void on_sent(cw_way_req *req, const cw_reply *reply)
{
    sent *s = req->ctx;
    s->calls++;
    s->end = reply->end;
    snprintf(s->why, sizeof s->why, "%s", reply->why);
    if (reply->end == CW_CLIENT_OK)
        snprintf(s->text, sizeof s->text, "%.*s", CW_STR_ARG(reply->answer->body));
}

static inline void on_announced(void *ctx)
{
    ((line *)ctx)->announced++;
}

static inline cw_config_remote usual(void)
{
    static char url[80];
    snprintf(url, sizeof url, "unix:%s", path);
    return (cw_config_remote){.name = CW_STR("db"),
                              .url = cw_str_from(url),
                              .timeout_ms = 5000,
                              .connections = 1,
                              .queue = 10};
}

static inline void open_line(line *l, cw_config_remote config)
{
    cw_err err = {0};
    memset(l, 0, sizeof *l);
    l->peer = l->listener = -1;
    bench_loop(&l->b);
    cw_hub_opts opts = {
        .loop = &l->b.loop, .answer_size = ANSWER_SIZE, .announced = on_announced, .ctx = l};
    if (cw_service_new(&config, NULL, &l->service, &err) ||
        cw_hub_new(l->service, &opts, &l->hub, &err) ||
        cw_way_open(l->service, l->hub, &l->b.loop, ANSWER_SIZE, &l->way, &err))
        fail_msg("%s", err.msg);
}

static inline void close_line(line *l)
{
    if (l->way)
        cw_way_close(l->way, NULL, NULL);
    cw_hub_close(l->hub, false);
    cw_service_unref(l->service);
    run_for(&l->b, 20); /* whoever is on the way comes home */
    bench_close(&l->b);
    if (l->peer >= 0)
        close(l->peer);
    if (l->listener >= 0)
        close(l->listener);
    unlink(path);
}

static inline cw_code begin_on(line *l, cw_way *way, sent *s)
{
    char params[32];
    cw_arena_init(&s->arena, 1 << 20);
    s->req.id = cw_way_number(way, false);
    snprintf(params, sizeof params, "[%u]", (unsigned)s->req.id);
    cw_str copy = cw_arena_dup_str(&s->arena, cw_str_from(params));
    cw_code rc = copy.p ? cw_wire_make(&l->service->speech, CW_STR("m"), &s->arena, &s->wire, NULL)
                        : CW_NOMEM;
    if (rc)
        return rc;
    cw_wire_write(&l->service->speech, &s->wire, s->req.id, copy, s->room, s->body);
    s->req.body = s->body;
    s->req.n_body = CW_WIRE_PIECES;
    s->req.on_done = on_sent;
    s->req.ctx = s;
    if (s->req.is_notice)
        cw_wire_drop_id(&l->service->speech, s->body);
    rc = cw_way_send(way, &s->req, NULL);
    cw_arena_done(&s->arena); /* the hub has a copy */
    return rc;
}

static inline void begin(line *l, sent *s)
{
    assert_int_equal(begin_on(l, l->way, s), CW_OK);
    assert_int_equal(s->calls, 0);
}

static inline void wait_for(line *l, sent *s, cw_client_end end, const char *text)
{
    run_until(&l->b, s->calls);
    assert_int_equal(s->calls, 1);
    if (s->end != end)
        fail_msg("%d: %s", s->end, s->why);
    const char *got = end == CW_CLIENT_OK ? s->text : s->why;
    if (!strstr(got, text))
        fail_msg("\"%s\" without \"%s\"", got, text);
}

#endif
