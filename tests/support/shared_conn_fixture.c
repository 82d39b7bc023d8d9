/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_conn_fixture.c - play the service at the other end of a shared connection. */
#include "support/shared_conn_fixture.h"

char service_path[64];

int service_path_setup(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    snprintf(service_path, sizeof service_path, "%s/cw-conn-XXXXXX", P_tmpdir);
    int fd = mkstemp(service_path);
    return fd < 0 ? -1 : close(fd) || unlink(service_path);
}

void service_listen(shared_conn_fixture *f)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    snprintf(un.sun_path, sizeof un.sun_path, "%s", service_path);
    unlink(service_path);
    f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(f->listener >= 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&un, sizeof un), 0);
    assert_int_equal(listen(f->listener, 8), 0);
}

bool service_accept(shared_conn_fixture *f)
{
    if (f->peer < 0 && f->listener >= 0) {
        f->peer = accept4(f->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        f->n = 0;
        f->ended = false;
    }
    return f->peer >= 0;
}

void service_hang_up(shared_conn_fixture *f)
{
    close(f->peer);
    f->peer = -1;
}

void service_send(shared_conn_fixture *f, const char *text)
{
    assert_int_equal(send(f->peer, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

const char *service_next_line(shared_conn_fixture *f)
{
    static char text[SERVICE_INPUT_MAX];
    ssize_t k = recv(f->peer, f->in + f->n, sizeof f->in - f->n, 0);
    if (k == 0)
        f->ended = true;
    if (k > 0)
        f->n += (size_t)k;
    const char *end = memchr(f->in, '\n', f->n);
    if (!end)
        return NULL;
    size_t n = (size_t)(end - f->in);
    memcpy(text, f->in, n);
    text[n] = 0;
    f->n -= n + 1;
    memmove(f->in, end + 1, f->n);
    return text;
}

void service_expect(shared_conn_fixture *f, const char *expected)
{
    const char *got = NULL;
    client_run_until(&f->client, service_accept(f));
    client_run_until(&f->client, (got = service_next_line(f)) || f->ended);
    assert_non_null(got);
    assert_string_equal(got, expected);
}

void shared_conn_on_done(cw_upstream_req *req, const cw_upstream_reply *reply)
{
    shared_conn_call *call = req->ctx;
    call->calls++;
    call->end = reply->end;
    snprintf(call->why, sizeof call->why, "%s", reply->why);
    if (reply->end == CW_CLIENT_OK)
        snprintf(call->text, sizeof call->text, "%.*s", CW_STR_ARG(reply->answer->body));
}

static void on_announced(void *ctx, unsigned lists)
{
    shared_conn_fixture *f = ctx;
    f->announced++;
    f->lists |= lists;
}

cw_config_remote shared_conn_config(void)
{
    static char url[80];
    snprintf(url, sizeof url, "unix:%s", service_path);
    return (cw_config_remote){.name = CW_STR("db"),
                              .url = cw_str_from(url),
                              .timeout_ms = 5000,
                              .connections = 1,
                              .queue = 10};
}

void shared_conn_open(shared_conn_fixture *f, cw_config_remote config)
{
    cw_err err = {0};
    memset(f, 0, sizeof *f);
    f->peer = f->listener = -1;
    client_fixture_init(&f->client);
    cw_shared_conn_opts opts = {.loop = &f->client.loop,
                                .answer_size = SHARED_CONN_BODY_MAX,
                                .announced = on_announced,
                                .ctx = f};
    if (cw_endpoint_new(&config, NULL, &f->endpoint, &err) ||
        cw_shared_conn_new(f->endpoint, &opts, &f->conn, &err) ||
        cw_upstream_open(f->endpoint, f->conn, &f->client.loop, SHARED_CONN_BODY_MAX, &f->upstream,
                         &err))
        fail_msg("%s", err.msg);
}

void shared_conn_close(shared_conn_fixture *f)
{
    if (f->upstream)
        cw_upstream_close(f->upstream, NULL, NULL);
    cw_shared_conn_close(f->conn, false);
    cw_endpoint_unref(f->endpoint);
    client_run_for(&f->client, 20); /* for replies that are still on their way */
    client_fixture_done(&f->client);
    if (f->peer >= 0)
        close(f->peer);
    if (f->listener >= 0)
        close(f->listener);
    unlink(service_path);
}

cw_code shared_conn_send_on(shared_conn_fixture *f, cw_upstream *upstream, shared_conn_call *call)
{
    char params[32];
    cw_arena_init(&call->arena, 1 << 20);
    call->req.id = cw_upstream_next_id(upstream, false);
    snprintf(params, sizeof params, "[%u]", (unsigned)call->req.id);
    cw_str copy = cw_arena_dup_str(&call->arena, cw_str_from(params));
    cw_code rc = copy.p ? cw_request_template_make(&f->endpoint->protocol, CW_STR("m"),
                                                   &call->arena, &call->template, NULL)
                        : CW_NOMEM;
    if (rc)
        return rc;
    cw_request_template_write(&f->endpoint->protocol, &call->template, call->req.id, copy,
                              call->room, call->body);
    call->req.body = call->body;
    call->req.n_body = CW_REQUEST_TEMPLATE_PIECES;
    call->req.on_done = shared_conn_on_done;
    call->req.ctx = call;
    if (call->req.is_notice)
        cw_request_template_drop_id(&f->endpoint->protocol, call->body);
    rc = cw_upstream_send(upstream, &call->req, NULL);
    cw_arena_done(&call->arena); /* the connection has a copy */
    return rc;
}

void shared_conn_send(shared_conn_fixture *f, shared_conn_call *call)
{
    assert_int_equal(shared_conn_send_on(f, f->upstream, call), CW_OK);
    assert_int_equal(call->calls, 0);
}

void shared_conn_expect(shared_conn_fixture *f, shared_conn_call *call, cw_client_end end,
                        const char *text)
{
    client_run_until(&f->client, call->calls);
    assert_int_equal(call->calls, 1);
    if (call->end != end)
        fail_msg("%d: %s", call->end, call->why);
    const char *got = end == CW_CLIENT_OK ? call->text : call->why;
    if (!strstr(got, text))
        fail_msg("\"%s\" without \"%s\"", got, text);
}
