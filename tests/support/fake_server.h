/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_server.h - a server on loopback that follows a script for each connection.
 *
 *     static const fake_step good[] = {DO_READ, DO_SEND("HTTP/1.1 200 OK\r\n..."), DO_END};
 *     fake_server s;
 *     fake_server_start(&s, SCRIPTS(good), 1);
 *     ... s.port ...
 *     fake_server_stop(&s);
 *
 * The n-th connection follows the n-th script; later ones follow the last script. After its last
 * step a connection waits until the client closes it.
 *
 * Ownership: scripts and `unix_path` are borrowed until fake_server_stop.
 * Threads:   one for each connection. The counters are atomic; start and stop are for one thread.
 * Limits:    FAKE_CONNECTIONS connections; of a request the first FAKE_REQUEST_MAX - 1 bytes.
 * Memory:    nothing is allocated here, so that a test can count the allocations of the code that
 *            it tests.
 */
#ifndef CW_TESTS_FAKE_SERVER_H
#define CW_TESTS_FAKE_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "support/test.h"

typedef enum fake_action {
    FAKE_END,
    FAKE_READ,   /* one request, by its Content-Length */
    FAKE_SEND,   /* text */
    FAKE_BYTES,  /* text, a byte at a time */
    FAKE_FILL,   /* n bytes */
    FAKE_PAUSE,  /* n ms */
    FAKE_CLOSE,  /* with TLS: after a close_notify */
    FAKE_CUT,    /* with TLS: without a close_notify */
    FAKE_RESET,  /* with an RST */
    FAKE_HOLD,   /* until fake_server_release */
    FAKE_REPEAT, /* from the first step */
} fake_action;

typedef struct fake_step {
    fake_action what;
    const char *text;
    size_t n;
} fake_step;

/* clang-format off */
#define DO_READ {FAKE_READ, NULL, 0}
#define DO_SEND(text) {FAKE_SEND, (text), 0}
#define DO_BYTES(text) {FAKE_BYTES, (text), 0}
#define DO_FILL(size) {FAKE_FILL, NULL, (size)}
#define DO_PAUSE(ms) {FAKE_PAUSE, NULL, (ms)}
#define DO_CLOSE {FAKE_CLOSE, NULL, 0}
#define DO_CUT {FAKE_CUT, NULL, 0}
#define DO_RESET {FAKE_RESET, NULL, 0}
#define DO_HOLD {FAKE_HOLD, NULL, 0}
#define DO_REPEAT {FAKE_REPEAT, NULL, 0}
#define DO_END {FAKE_END, NULL, 0}
/* clang-format on */

#define FAKE_CONNECTIONS 256
#define FAKE_REQUEST_MAX 8192

#define SCRIPTS(...)                                                                               \
    (const fake_step *const[])                                                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* How the bytes of a connection travel; NULL: as they are. fake_tls.h has TLS. */
struct fake_conn;
typedef struct fake_transport {
    bool (*open)(struct fake_conn *c);
    ssize_t (*recv)(const struct fake_conn *c, void *p, size_t n);
    ssize_t (*send)(const struct fake_conn *c, const void *p, size_t n);
    bool (*has_more)(const struct fake_conn *c); /* buffered; the socket does not show it */
    void (*close)(struct fake_conn *c, bool notify);
} fake_transport;

typedef struct fake_server {
    int fd;
    uint16_t port;
    const char *unix_path;
    int stop[2];
    pthread_t thread;
    const fake_step *const *scripts;
    size_t n_scripts;
    const fake_transport *transport;
    void *transport_ctx;
    atomic_uint handshakes, resumed, failed; /* of TLS */
    atomic_uint accepted, requests, gone;    /* gone: closed by the client */
    atomic_uint held, released;
    atomic_uint ended; /* connections that this server has closed */
    atomic_size_t body_bytes;
    pthread_mutex_t lock; /* while it runs */
    bool is_stopped;
    char last[FAKE_REQUEST_MAX]; /* fake_server_last_request */
    struct fake_conn {
        struct fake_server *server;
        int fd;
        const fake_step *script;
        void *tls;
        pthread_t thread;
    } conns[FAKE_CONNECTIONS];
} fake_server;

/* Start a server on a free port of 127.0.0.1, which is then s->port. */
void fake_server_start(fake_server *s, const fake_step *const *scripts, size_t n);
/* Start a server on a unix socket. */
void fake_server_start_unix(fake_server *s, const char *unix_path, const fake_step *const *scripts,
                            size_t n);
/* Start a server with a transport. `unix_path` NULL: a free port; `transport` NULL: plain bytes. */
void fake_server_start_with(fake_server *s, const char *unix_path, const fake_transport *transport,
                            void *transport_ctx, const fake_step *const *scripts, size_t n);
/* End all connections and threads, and remove the unix socket. */
void fake_server_stop(fake_server *s);

/* The beginning of the last request, NUL-terminated; valid until the next one. Works after the stop
 * too. */
const char *fake_server_last_request(fake_server *s);
/* Let one more connection leave FAKE_HOLD. */
void fake_server_release(fake_server *s);

/* A port of 127.0.0.1 on which no program listens. */
uint16_t unused_port(void);

#endif
