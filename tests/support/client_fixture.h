/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client_fixture.h - an HTTP client on a loop of the test's thread, and requests that record their
 * outcome.
 *
 *     fake_server s;
 *     client_fixture f;
 *     client_exchange e = {0};
 *     serve(&s, SCRIPTS(script), 1);
 *     client_fixture_open(&f, s.port);
 *     client_request(&f, &e);
 *     assert_response(&e, 200, "{}");
 *     client_fixture_done(&f);
 *     fake_server_stop(&s);
 *
 * A program that defines OVER_TLS before this header runs its tests over TLS. One that defines IN_TURN
 * reads each answer when its turn comes: each turn of the loop is used up before its polls.
 *
 * Threads: a fixture belongs to one thread.
 */
#ifndef CW_TESTS_CLIENT_FIXTURE_H
#define CW_TESTS_CLIENT_FIXTURE_H

#include "net/client/client_int.h"
#include "net/loop/run_queue.h"
#include "support/blackhole.h"
#include "support/fake_server.h"
#include "support/fake_tls.h"
#include "support/oom.h"
#include "support/patience.h"

#ifdef OVER_TLS
#define SCHEME "https"
#define serve(s, ...) fake_server_start_tls(s, __VA_ARGS__)
#else
#define SCHEME "http"
#define serve(s, ...) fake_server_start(s, __VA_ARGS__)
#endif

#ifdef IN_TURN
#define READS_IN_TURN true
#else
#define READS_IN_TURN false
#endif

#define CLIENT_WAIT_MS 10000u
#define CLIENT_BODY_MAX 100000u

typedef struct client_fixture {
    cw_loop loop;
    uv_timer_t tick; /* so that a turn of the loop always ends */
    cw_run_queue queue;
    cw_client *client;
    bool closed;
} client_fixture;

/* A request and its outcome. Members of `req` that are zero get defaults when it is sent. */
typedef struct client_exchange {
    cw_client_req req;
    unsigned calls; /* of on_done */
    cw_client_end end;
    unsigned status;
    char type[64];
    char body[256]; /* its beginning */
    size_t n;
    char why[256];
    char wanted[CW_CLIENT_WANTED][64];
    bool has_kept[CW_CLIENT_WANTED];
    char cookies[CW_CLIENT_WANTED_MAX + 1];
    bool spoils;                             /* reports the response as unusable */
    void (*then)(struct client_exchange *e); /* called at the end of on_done, or NULL */
} client_exchange;

/* ---- the loop and the client ---- */

/* The loop alone. */
void client_fixture_init_at(client_fixture *f, bool reads_in_turn);
#define client_fixture_init(f) client_fixture_init_at(f, READS_IN_TURN)
/* Start the timer of a loop that the test initialised itself, as tests of failed allocations do. */
void client_fixture_start_tick(client_fixture *f);
/* The client. A missing ca_file or answer_size gets a default. Fails as cw_client_new does. */
cw_code client_fixture_new_client(client_fixture *f, const char *url, cw_client_opts opts);
/* Both, for SCHEME://127.0.0.1:PORT/rpc. */
void client_fixture_open_on(client_fixture *f, const char *scheme, uint16_t port,
                            cw_client_opts opts, bool reads_in_turn);
#define client_fixture_open_at(f, scheme, port, ...)                                               \
    client_fixture_open_on(f, scheme, port, __VA_ARGS__, READS_IN_TURN)
#define client_fixture_open_with(f, port, ...) client_fixture_open_at(f, SCHEME, port, __VA_ARGS__)
#define client_fixture_open(f, port) client_fixture_open_at(f, SCHEME, port, (cw_client_opts){0})
/* Close the client and wait until it is closed. */
void client_fixture_close_client(client_fixture *f);
/* The callback that it gives to cw_client_close; `ctx` is the fixture. */
void client_fixture_on_closed(void *ctx);
/* Close the client and the loop. */
void client_fixture_done(client_fixture *f);

/* One turn of the loop, a millisecond at most. */
void client_fixture_turn(client_fixture *f);
void client_run_for(client_fixture *f, uint64_t ms);
/* Run the loop until the condition holds; fails the test after CLIENT_WAIT_MS. */
#define client_run_until(f, cond)                                                                  \
    do {                                                                                           \
        uint64_t until_ = cw_clock_ms() + patience(CLIENT_WAIT_MS);                                \
        while (!(cond)) {                                                                          \
            if (cw_clock_ms() > until_)                                                            \
                fail_msg("waited in vain for %s", #cond);                                          \
            client_fixture_turn(f);                                                                \
        }                                                                                          \
    } while (0)

/* ---- requests ---- */

/* Send; the outcome is recorded in `e`. Fails as cw_client_send does. */
cw_code client_send(client_fixture *f, client_exchange *e);
/* Send and wait. A connection that fails at once counts as one that could not be made. */
void client_request(client_fixture *f, client_exchange *e);
void assert_response(const client_exchange *e, unsigned status, const char *body);
/* Requests that run or wait. */
size_t count_requests(const cw_client *c);

#endif
