/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_conn_fixture.h - a shared connection to a service on a unix socket, and calls over it.
 *
 * The test plays the service itself, in the same thread:
 *
 *     shared_conn_open(&f, shared_conn_config());
 *     service_listen(&f);
 *     shared_conn_send(&f, &call);
 *     service_expect(&f, CALL(1));
 *     service_send(&f, REPLY(1));
 *     shared_conn_expect(&f, &call, CW_CLIENT_OK, "result");
 *     shared_conn_close(&f);
 *
 * service_path_setup is the setup of the group.
 *
 * Threads: a fixture belongs to one thread; one service at a time.
 */
#ifndef CW_TESTS_SHARED_CONN_FIXTURE_H
#define CW_TESTS_SHARED_CONN_FIXTURE_H

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "source/upstream/shared_conn_int.h"
#include "support/client_fixture.h"

#define SERVICE_INPUT_MAX 16384u
#define SHARED_CONN_BODY_MAX 20000u

typedef struct shared_conn_fixture {
    client_fixture client; /* its loop */
    cw_endpoint *endpoint;
    cw_shared_conn *conn;
    cw_upstream *upstream;
    int listener, peer;         /* of the service; -1: none */
    char in[SERVICE_INPUT_MAX]; /* bytes that the service received and the test has not read */
    size_t n;
    bool ended; /* the client closed the connection */
    unsigned announced;
    unsigned lists; /* that were announced */
} shared_conn_fixture;

/* A call and its outcome. */
typedef struct shared_conn_call {
    cw_upstream_req req;
    cw_str body[CW_REQUEST_TEMPLATE_PIECES];
    char room[CW_REQUEST_TEMPLATE_ROOM];
    cw_request_template template;
    cw_arena arena;
    unsigned calls; /* of on_done */
    cw_client_end end;
    char text[128]; /* the response, when there is one */
    char why[256];
} shared_conn_call;

extern char service_path[64]; /* of the unix socket */

int service_path_setup(void **state);

/* ---- the service ---- */

#define CALL(id) "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"m\",\"params\":[" #id "]}"
#define REPLY(id) "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":" #id "}\n"

void service_listen(shared_conn_fixture *f);
/* Accept a connection unless there is one. False: none yet. */
bool service_accept(shared_conn_fixture *f);
void service_hang_up(shared_conn_fixture *f);
void service_send(shared_conn_fixture *f, const char *text);
/* The next line, without its end; NULL: not yet. Valid until the next call. */
const char *service_next_line(shared_conn_fixture *f);
/* Wait for the next line, which must be this one. */
void service_expect(shared_conn_fixture *f, const char *expected);

/* ---- the client ---- */

/* A configuration for the service at service_path, with a timeout of 5 s. */
cw_config_remote shared_conn_config(void);
void shared_conn_open(shared_conn_fixture *f, cw_config_remote config);
void shared_conn_close(shared_conn_fixture *f);
/* Send a call of method m with its own number as the only param. Fails as cw_upstream_send does. */
cw_code shared_conn_send_on(shared_conn_fixture *f, cw_upstream *upstream, shared_conn_call *call);
/* The same on the upstream of the fixture; an error fails the test. */
void shared_conn_send(shared_conn_fixture *f, shared_conn_call *call);
/* Records the outcome: the callback of each call, whose context is the shared_conn_call. */
void shared_conn_on_done(cw_upstream_req *req, const cw_upstream_reply *reply);
/* Wait for the outcome, whose text or reason must contain `text`. */
void shared_conn_expect(shared_conn_fixture *f, shared_conn_call *call, cw_client_end end,
                        const char *text);

#endif
