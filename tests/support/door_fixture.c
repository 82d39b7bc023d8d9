/* SPDX-License-Identifier: GPL-2.0-or-later */
/* door_fixture.c - a server with every door over a fake source, and a blocking client. */
#include "support/door_fixture.h"

#include <unistd.h>

#include "door/jsonrpc/jsonrpc.h"
#include "door/mcp/mcp.h"
#include "door/rest/rest.h"
#include "support/config_fixture.h"
#include "support/test.h"

#define CONFIG                                                                                     \
    "limits: {batch: 5, subscriptions: 50, cache_size: 1MB}\n"                                     \
    "mcp: {elicitation_timeout: 60s, page_size: 1000}\n"

static cw_err err;

void door_fixture_publish(door_fixture *d, size_t n_methods)
{
    cw_snapshot *snapshot;
    size_t all = d->source->base.n_methods;
    d->source->base.n_methods = n_methods ? n_methods : all;
    assert_int_equal(fake_source_snapshot(d->source, &snapshot, &err), CW_OK);
    d->source->base.n_methods = all;
    assert_int_equal(
        cw_runtime_publish(d->runtime, snapshot, d->caller, &d->settings, NULL, 0, &err), CW_OK);
}

void door_fixture_configure(door_fixture *d, const char *text)
{
    cw_config *old = d->settings.config;
    d->settings.config = config_of(text);
    door_fixture_publish(d, 0);
    cw_config_unref(old);
}

static void open_doors(door_fixture *d, uint32_t call_ms, bool may_discover, bool may_call,
                       const cw_runtime_opts *opts)
{
    *d = (door_fixture){
        .settings = {.calls = 100, .list_ttl_ms = 60000, .config = config_of(CONFIG)}};
    assert_int_equal(cw_loop_init(&d->main_loop, 64, &err), CW_OK);
    d->source = fake_source_new(call_ms);
    assert_non_null(d->source);
    assert_int_equal(fake_caller(may_discover, may_call, &d->caller, &err), CW_OK);
    cw_router_init(&d->router);
    assert_int_equal(cw_server_new(&d->router, 1, &d->server, &err), CW_OK);
    cw_runtime_opts runtime = *opts;
    runtime.n_loops = 1;
    assert_int_equal(cw_runtime_new(&runtime, &d->runtime, &err), CW_OK);
    cw_loop *loops[] = {cw_server_loop_at(d->server, 0)};
    cw_runtime_attach(d->runtime, loops);
    door_fixture_publish(d, 0);
    assert_int_equal(cw_jsonrpc_add_routes(&d->router, d->runtime), CW_OK);
    assert_int_equal(cw_seal_init(&d->seal, &err), CW_OK);
    assert_int_equal(cw_mcp_new(d->runtime, 1, &d->seal, &d->mcp, &err), CW_OK);
    assert_int_equal(cw_mcp_add_routes(&d->router, d->mcp, CW_STR("/mcp")), CW_OK);
    assert_int_equal(cw_rest_add_routes(&d->router, d->runtime), CW_OK);
    assert_int_equal(
        cw_oauth_metadata_add_routes(&d->router, &d->metadata, d->runtime, d->settings.config),
        CW_OK);
    assert_int_equal(cw_login_page_add_routes(&d->router, &d->login, d->runtime, CW_STR("/login")),
                     CW_OK);
    assert_int_equal(cw_server_listen(d->server, CW_STR("127.0.0.1:0"), false, &err), CW_OK);
    cw_server_opts server = CW_SERVER_DEFAULTS;
    server.drain_ms = 300;
    assert_int_equal(cw_server_configure(d->server, &server, &err), CW_OK);
    assert_int_equal(cw_server_start(d->server, &err), CW_OK);
    cw_runtime_started(d->runtime);
    size_t n;
    d->address = cw_server_listeners(d->server, &n)[0].address;
}

void door_fixture_open(door_fixture *d, uint32_t call_ms, bool may_discover, bool may_call)
{
    open_doors(d, call_ms, may_discover, may_call, &(cw_runtime_opts){0});
}

void door_fixture_open_accounts(door_fixture *d, uint32_t call_ms, cw_accounts *accounts)
{
    door_fixture_open_with(d, call_ms, &(cw_runtime_opts){.accounts = accounts});
}

void door_fixture_open_with(door_fixture *d, uint32_t call_ms, const cw_runtime_opts *opts)
{
    open_doors(d, call_ms, true, true, opts);
}

void door_fixture_close(door_fixture *d)
{
    cw_server_free(d->server);
    cw_router_done(&d->router);
    cw_loop_end(&d->main_loop);
    cw_loop_run(&d->main_loop);
    cw_mcp_free(d->mcp);
    cw_runtime_free(d->runtime);
    cw_caller_unref(d->caller);
    cw_source_unref(&d->source->base);
    cw_loop_done(&d->main_loop);
    cw_config_unref(d->settings.config);
}

int door_fixture_connect(const door_fixture *d)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct timeval limit = {.tv_sec = 10};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(connect(fd, (const struct sockaddr *)&d->address.sa, d->address.len), 0);
    return fd;
}

void door_fixture_send(int fd, const char *path, const char *headers, const char *body)
{
    char head[8192];
    int n = snprintf(head, sizeof head,
                     "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s"
                     "Content-Length: %zu\r\n\r\n",
                     path, headers, strlen(body));
    assert_true(n > 0 && (size_t)n < sizeof head);
    /* A server without memory may have closed the connection; the answer tells. */
    (void)!send(fd, head, (size_t)n, MSG_NOSIGNAL);
    (void)!send(fd, body, strlen(body), MSG_NOSIGNAL);
}

static size_t dechunk(char *p, size_t n)
{
    size_t in = 0, out = 0;
    for (;;) {
        char *end;
        size_t size = strtoul(p + in, &end, 16);
        in = (size_t)(end - p) + 2;
        if (size == 0 || in + size > n)
            return out;
        memmove(p + out, p + in, size);
        out += size;
        in += size + 2;
    }
}

void door_fixture_read(int fd, http_response *ret)
{
    /* Not counted by the wrappers of oom.h while they fail: one block, from before. */
    static char bytes[16 << 20];
    size_t n = 0;
    ssize_t got;
    *ret = (http_response){0};
    while ((got = recv(fd, bytes + n, sizeof bytes - 1 - n, 0)) > 0)
        n += (size_t)got;
    close(fd);
    bytes[n] = 0;
    char *body = strstr(bytes, "\r\n\r\n");
    if (!body || sscanf(bytes, "HTTP/1.1 %d ", &ret->status) != 1)
        return;
    body += 4;
    snprintf(ret->head, sizeof ret->head, "%.*s", (int)(body - bytes), bytes);
    ret->n = n - (size_t)(body - bytes);
    if (strstr(ret->head, "Transfer-Encoding: chunked"))
        ret->n = dechunk(body, ret->n);
    body[ret->n] = 0;
    ret->body = body;
}

void door_fixture_post(const door_fixture *d, const char *path, const char *headers,
                       const char *body, http_response *ret)
{
    int fd = door_fixture_connect(d);
    door_fixture_send(fd, path, headers, body);
    door_fixture_read(fd, ret);
}

void door_fixture_get(const door_fixture *d, const char *path, const char *headers,
                      http_response *ret)
{
    char head[8192];
    const char *host = strncmp(headers, "Host:", 5) ? "Host: localhost\r\n" : "";
    int n = snprintf(head, sizeof head, "GET %s HTTP/1.1\r\n%sConnection: close\r\n%s\r\n", path,
                     host, headers);
    assert_true(n > 0 && (size_t)n < sizeof head);
    int fd = door_fixture_connect(d);
    (void)!send(fd, head, (size_t)n, MSG_NOSIGNAL);
    door_fixture_read(fd, ret);
}

void door_fixture_wait(const atomic_uint *count, unsigned value)
{
    for (int i = 0; i < 30000 && atomic_load(count) != value; i++)
        usleep(1000);
    assert_int_equal(atomic_load(count), value);
}
