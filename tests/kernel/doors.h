/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doors.h - a server with the JSON-RPC, MCP and REST doors and the login page over a fake source,
 * and a client for it. */
#ifndef CW_TESTS_DOORS_H
#define CW_TESTS_DOORS_H

#include "call/call.h"
#include "door/login.h"
#include "door/mcp.h"
#include "fake.h"
#include "net/server.h"

typedef struct doors {
    cw_loop main_loop;
    cw_router router;
    cw_server *server;
    cw_bridge *bridge;
    cw_mcp *mcp;
    cw_login_door login;
    cw_address address;
    fake *source;
    cw_caller *caller;
    cw_bridge_settings settings;
} doors;

/* Asserts that all goes well. */
void doors_open(doors *d, uint32_t call_ms, bool may_discover, bool may_call);
/* The same with people who can log in; borrowed, until after doors_close. */
void doors_open_accounts(doors *d, uint32_t call_ms, cw_accounts *accounts);
void doors_close(doors *d);
/* Publish the source's first n methods. */
void doors_publish(doors *d, size_t n_methods);

typedef struct response {
    int status;
    char head[4096];
    char *body; /* without chunks, NUL-terminated; until the next response */
    size_t n;
} response;

int doors_connect(const doors *d);
/* Write a POST; `headers` are whole lines. */
void doors_send(int fd, const char *path, const char *headers, const char *body);
/* Read to the end of the connection. */
void doors_read(int fd, response *ret);
/* All of it. A connection that was closed without an answer has status
 * 0. */
void doors_post(const doors *d, const char *path, const char *headers, const char *body,
                response *ret);
void doors_get(const doors *d, const char *path, const char *headers, response *ret);
/* Wait until *count is `value`, at most two seconds. */
void doors_wait(const atomic_uint *count, unsigned value);

#endif
