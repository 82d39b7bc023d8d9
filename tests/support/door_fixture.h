/* SPDX-License-Identifier: GPL-2.0-or-later */
/* door_fixture.h - a server with the JSON-RPC, MCP and REST doors and the login page over a fake
 * source, and a blocking HTTP client for it.
 *
 *     door_fixture_open(&d, 1000, true, true);
 *     door_fixture_post(&d, "/jsonrpc", "Content-Type: application/json\r\n", body, &got);
 *     assert_int_equal(got.status, 200);
 *     door_fixture_close(&d);
 *
 * Threads: the server has a thread of its own; the functions are for the thread of the test.
 */
#ifndef CW_TESTS_DOOR_FIXTURE_H
#define CW_TESTS_DOOR_FIXTURE_H

#include "call/call.h"
#include "door/mcp/mcp.h"
#include "door/page/login.h"
#include "door/rest/oauth_metadata.h"
#include "net/server/server.h"
#include "support/fake_source.h"

typedef struct door_fixture {
    cw_loop main_loop;
    cw_router router;
    cw_server *server;
    cw_runtime *runtime;
    cw_mcp *mcp;
    cw_seal seal;
    cw_login_pages login;
    cw_oauth_metadata metadata;
    cw_address address;
    fake_source *source;
    cw_caller *caller;
    cw_runtime_settings settings;
} door_fixture;

/* Open a server on a free port; a failure fails the test. */
void door_fixture_open(door_fixture *d, uint32_t call_ms, bool may_discover, bool may_call);
/* The same with accounts, borrowed until after door_fixture_close. */
void door_fixture_open_accounts(door_fixture *d, uint32_t call_ms, cw_accounts *accounts);
/* The same with other parts of the runtime too: accounts, tasks. They are borrowed likewise. */
void door_fixture_open_with(door_fixture *d, uint32_t call_ms, const cw_runtime_opts *opts);
void door_fixture_close(door_fixture *d);
/* Publish another configuration. */
void door_fixture_configure(door_fixture *d, const char *text);
/* Publish the source's first n methods. */
void door_fixture_publish(door_fixture *d, size_t n_methods);

typedef struct http_response {
    int status;
    char head[4096];
    char *body; /* without chunks, NUL-terminated; until the next response */
    size_t n;
} http_response;

int door_fixture_connect(const door_fixture *d);
/* Write a POST; `headers` are whole lines. */
void door_fixture_send(int fd, const char *path, const char *headers, const char *body);
/* Read to the end of the connection. */
void door_fixture_read(int fd, http_response *ret);
/* Connect, send and read. A connection that was closed without a response has status 0. */
void door_fixture_post(const door_fixture *d, const char *path, const char *headers,
                       const char *body, http_response *ret);
void door_fixture_get(const door_fixture *d, const char *path, const char *headers,
                      http_response *ret);
/* Wait until *count is `value`, at most two seconds. */
void door_fixture_wait(const atomic_uint *count, unsigned value);

#endif
