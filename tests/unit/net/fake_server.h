/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_server.h - a server on loopback that does what a script says, connection by connection.
 *
 *     static const fake_step good[] = {DO_READ, DO_SEND("HTTP/1.1 200 OK\r\n..."), DO_END};
 *     fake_server s;
 *     fake_start(&s, (const fake_step *[]){good}, 1);
 *     ... s.port ...
 *     fake_stop(&s);
 *
 * The n-th connection follows the n-th script, later ones the last; behind its last step a
 * connection waits until the client closes it. Every connection has a thread. Nothing is allocated
 * here, so that allocations of the code under test can be counted.
 */
#ifndef CW_TESTS_FAKE_SERVER_H
#define CW_TESTS_FAKE_SERVER_H

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

typedef enum fake_what {
    FAKE_END,
    FAKE_READ,   /* one request, by its Content-Length */
    FAKE_SEND,   /* text */
    FAKE_BYTES,  /* text, a byte at a time */
    FAKE_FILL,   /* n bytes */
    FAKE_PAUSE,  /* n ms */
    FAKE_CLOSE,  /* politely */
    FAKE_CUT,    /* of TLS: without a word */
    FAKE_RESET,  /* with an RST */
    FAKE_HOLD,   /* until fake_let_go */
    FAKE_REPEAT, /* from the first step */
} fake_what;

typedef struct fake_step {
    fake_what what;
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

/* How bytes travel, where not as they are: fake_tls.h. */
struct fake_conn;
typedef struct fake_wire {
    bool (*open)(struct fake_conn *c);
    ssize_t (*recv)(const struct fake_conn *c, void *p, size_t n);
    ssize_t (*send)(const struct fake_conn *c, const void *p, size_t n);
    bool (*has_more)(const struct fake_conn *c); /* that the socket does not tell of */
    void (*close)(struct fake_conn *c, bool politely);
} fake_wire;

typedef struct fake_server {
    int fd;
    uint16_t port;
    const char *unix_path;
    int stop[2];
    pthread_t thread;
    const fake_step *const *scripts;
    size_t n_scripts;
    const fake_wire *wire;
    void *wire_ctx;
    atomic_uint handshakes, resumed, failed; /* of TLS */
    atomic_uint accepted, requests, gone;    /* gone: closed by the client */
    atomic_uint held, let_go;
    atomic_size_t body_bytes;
    pthread_mutex_t lock;
    char last[FAKE_REQUEST_MAX]; /* fake_last */
    struct fake_conn {
        struct fake_server *server;
        int fd;
        const fake_step *script;
        void *tls;
        pthread_t thread;
    } conns[FAKE_CONNECTIONS];
} fake_server;

static inline ssize_t fake_recv(const struct fake_conn *c, void *p, size_t n)
{
    return c->tls ? c->server->wire->recv(c, p, n) : recv(c->fd, p, n, 0);
}

/* Wait for bytes, an end, or the end of the test. */
static inline bool fake_wait(struct fake_conn *c)
{
    if (c->tls && c->server->wire->has_more(c))
        return true;
    struct pollfd fds[] = {{c->fd, POLLIN, 0}, {c->server->stop[0], POLLIN, 0}};
    while (poll(fds, 2, -1) < 0)
        continue;
    return !fds[1].revents;
}

/* False: the client is gone or the test over. */
static inline bool fake_read(struct fake_conn *c)
{
    static _Thread_local char buf[65536], kept[FAKE_REQUEST_MAX];
    fake_server *s = c->server;
    size_t n = 0;
    char *end = NULL;
    while (!end) {
        if (n == sizeof buf - 1 || !fake_wait(c))
            return false;
        ssize_t k = fake_recv(c, buf + n, sizeof buf - 1 - n);
        if (k <= 0) {
            atomic_fetch_add(&s->gone, 1);
            return false;
        }
        n += (size_t)k;
        buf[n] = 0;
        end = strstr(buf, "\r\n\r\n");
    }
    const char *length = strstr(buf, "Content-Length: ");
    size_t body = length && length < end ? strtoul(length + 16, NULL, 10) : 0;
    size_t have = n - (size_t)(end + 4 - buf);
    size_t keep = n < FAKE_REQUEST_MAX - 1 ? n : FAKE_REQUEST_MAX - 1;
    memcpy(kept, buf, keep);
    while (have < body) {
        if (!fake_wait(c))
            return false;
        ssize_t k = fake_recv(c, buf, sizeof buf);
        if (k <= 0) {
            atomic_fetch_add(&s->gone, 1);
            return false;
        }
        for (ssize_t i = 0; i < k && keep < FAKE_REQUEST_MAX - 1; i++)
            kept[keep++] = buf[i];
        have += (size_t)k;
    }
    kept[keep] = 0;
    pthread_mutex_lock(&s->lock);
    memcpy(s->last, kept, keep + 1);
    pthread_mutex_unlock(&s->lock);
    atomic_fetch_add(&s->body_bytes, have);
    atomic_fetch_add(&s->requests, 1);
    return true;
}

static inline bool fake_send(const struct fake_conn *c, const char *p, size_t n)
{
    while (n) {
        ssize_t k = c->tls ? c->server->wire->send(c, p, n) : send(c->fd, p, n, MSG_NOSIGNAL);
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

static inline bool fake_fill(const struct fake_conn *c, size_t n)
{
    static const char zeros[4096];
    while (n) {
        size_t k = n < sizeof zeros ? n : sizeof zeros;
        if (!fake_send(c, zeros, k))
            return false;
        n -= k;
    }
    return true;
}

static inline bool fake_hold(const struct fake_conn *c)
{
    fake_server *s = c->server;
    struct pollfd fd = {s->stop[0], POLLIN, 0};
    unsigned ticket = atomic_fetch_add(&s->held, 1);
    while (atomic_load(&s->let_go) <= ticket) {
        if (poll(&fd, 1, 1) > 0)
            return false;
    }
    return true;
}

/* False: go no further. */
static inline bool fake_do(struct fake_conn *c, const fake_step *step)
{
    size_t n = step->n ? step->n : step->text ? strlen(step->text) : 0;
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    switch (step->what) {
    case FAKE_READ:
        return fake_read(c);
    case FAKE_SEND:
        return fake_send(c, step->text, n);
    case FAKE_BYTES:
        for (size_t i = 0; i < n; i++) {
            if (!fake_send(c, step->text + i, 1))
                return false;
            usleep(200);
        }
        return true;
    case FAKE_FILL:
        return fake_fill(c, n);
    case FAKE_PAUSE:
        usleep((useconds_t)n * 1000);
        return true;
    case FAKE_RESET:
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        return false;
    case FAKE_HOLD:
        return fake_hold(c);
    case FAKE_CLOSE:
    case FAKE_CUT:
    case FAKE_REPEAT:
    case FAKE_END:
        break;
    }
    return false;
}

static inline void *fake_conn_main(void *arg)
{
    struct fake_conn *c = arg;
    const fake_step *step = c->script;
    const fake_wire *wire = c->server->wire;
    if (wire && !wire->open(c)) {
        atomic_fetch_add(&c->server->failed, 1);
        close(c->fd);
        return NULL;
    }
    while (step->what) {
        if (step->what == FAKE_REPEAT)
            step = c->script;
        if (!fake_do(c, step))
            break;
        step++;
    }
    char byte;
    if (!step->what && fake_wait(c) && fake_recv(c, &byte, 1) <= 0)
        atomic_fetch_add(&c->server->gone, 1);
    if (wire)
        wire->close(c, step->what != FAKE_RESET && step->what != FAKE_CUT);
    close(c->fd);
    return NULL;
}

static inline void *fake_main(void *arg)
{
    fake_server *s = arg;
    size_t n = 0;
    struct pollfd fds[] = {{s->fd, POLLIN, 0}, {s->stop[0], POLLIN, 0}};
    while (n < FAKE_CONNECTIONS) {
        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[1].revents)
            break;
        struct fake_conn *c = &s->conns[n];
        c->fd = accept(s->fd, NULL, NULL);
        if (c->fd < 0)
            continue;
        c->server = s;
        c->script = s->scripts[n < s->n_scripts ? n : s->n_scripts - 1];
        atomic_fetch_add(&s->accepted, 1);
        if (pthread_create(&c->thread, NULL, fake_conn_main, c)) {
            close(c->fd);
            break;
        }
        n++;
    }
    for (size_t i = 0; i < n; i++)
        pthread_join(s->conns[i].thread, NULL);
    return NULL;
}

static inline void fake_listen(fake_server *s, const char *unix_path)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    socklen_t n = sizeof in;
    s->fd = socket(unix_path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s->fd >= 0);
    if (unix_path) {
        snprintf(un.sun_path, sizeof un.sun_path, "%s", unix_path);
        assert_int_equal(bind(s->fd, (struct sockaddr *)&un, sizeof un), 0);
    } else {
        assert_int_equal(bind(s->fd, (struct sockaddr *)&in, sizeof in), 0);
        assert_int_equal(getsockname(s->fd, (struct sockaddr *)&in, &n), 0);
    }
    s->port = ntohs(in.sin_port);
}

static inline void fake_start_with(fake_server *s, const char *unix_path, const fake_wire *wire,
                                   void *wire_ctx, const fake_step *const *scripts, size_t n)
{
    memset(s, 0, sizeof *s);
    s->wire = wire;
    s->wire_ctx = wire_ctx;
    s->scripts = scripts;
    s->n_scripts = n;
    s->unix_path = unix_path;
    fake_listen(s, unix_path);
    assert_int_equal(listen(s->fd, 128), 0);
    assert_int_equal(pipe(s->stop), 0);
    pthread_mutex_init(&s->lock, NULL);
    assert_int_equal(pthread_create(&s->thread, NULL, fake_main, s), 0);
}

static inline void fake_start_at(fake_server *s, const char *unix_path,
                                 const fake_step *const *scripts, size_t n)
{
    fake_start_with(s, unix_path, NULL, NULL, scripts, n);
}

static inline void fake_start(fake_server *s, const fake_step *const *scripts, size_t n)
{
    fake_start_at(s, NULL, scripts, n);
}

/* The beginning of the last request. */
static inline const char *fake_last(fake_server *s)
{
    pthread_mutex_lock(&s->lock); /* it is whole */
    pthread_mutex_unlock(&s->lock);
    return s->last;
}

/* Let one more held connection go on. */
static inline void fake_let_go(fake_server *s)
{
    atomic_fetch_add(&s->let_go, 1);
}

static inline void fake_stop(fake_server *s)
{
    assert_int_equal(write(s->stop[1], "x", 1), 1);
    pthread_join(s->thread, NULL);
    close(s->fd);
    close(s->stop[0]);
    close(s->stop[1]);
    pthread_mutex_destroy(&s->lock);
    if (s->unix_path)
        unlink(s->unix_path);
}

/* A port where nobody listens. */
static inline uint16_t fake_free_port(void)
{
    fake_server s = {0};
    fake_listen(&s, NULL);
    close(s.fd);
    return s.port;
}

#endif
