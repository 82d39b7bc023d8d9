/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_server.c - accept connections in a thread and follow the script of each. */
#include "support/fake_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static ssize_t receive(const struct fake_conn *c, void *p, size_t n)
{
    return c->tls ? c->server->transport->recv(c, p, n) : recv(c->fd, p, n, 0);
}

/* Wait for bytes, an end, or the end of the test. */
static bool wait_readable(struct fake_conn *c)
{
    if (c->tls && c->server->transport->has_more(c))
        return true;
    struct pollfd fds[] = {{c->fd, POLLIN, 0}, {c->server->stop[0], POLLIN, 0}};
    while (poll(fds, 2, -1) < 0)
        continue;
    return !fds[1].revents;
}

/* False: the client is gone or the test over. */
static bool read_request(struct fake_conn *c)
{
    static _Thread_local char buf[65536], wanted[FAKE_REQUEST_MAX];
    fake_server *s = c->server;
    size_t n = 0;
    char *end = NULL;
    while (!end) {
        if (n == sizeof buf - 1 || !wait_readable(c))
            return false;
        ssize_t k = receive(c, buf + n, sizeof buf - 1 - n);
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
    memcpy(wanted, buf, keep);
    while (have < body) {
        if (!wait_readable(c))
            return false;
        ssize_t k = receive(c, buf, sizeof buf);
        if (k <= 0) {
            atomic_fetch_add(&s->gone, 1);
            return false;
        }
        for (ssize_t i = 0; i < k && keep < FAKE_REQUEST_MAX - 1; i++)
            wanted[keep++] = buf[i];
        have += (size_t)k;
    }
    wanted[keep] = 0;
    pthread_mutex_lock(&s->lock);
    memcpy(s->last, wanted, keep + 1);
    pthread_mutex_unlock(&s->lock);
    atomic_fetch_add(&s->body_bytes, have);
    atomic_fetch_add(&s->requests, 1);
    return true;
}

static bool send_all(const struct fake_conn *c, const char *p, size_t n)
{
    while (n) {
        ssize_t k = c->tls ? c->server->transport->send(c, p, n) : send(c->fd, p, n, MSG_NOSIGNAL);
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

static bool send_zeros(const struct fake_conn *c, size_t n)
{
    static const char zeros[4096];
    while (n) {
        size_t k = n < sizeof zeros ? n : sizeof zeros;
        if (!send_all(c, zeros, k))
            return false;
        n -= k;
    }
    return true;
}

static bool wait_released(const struct fake_conn *c)
{
    fake_server *s = c->server;
    struct pollfd fd = {s->stop[0], POLLIN, 0};
    unsigned ticket = atomic_fetch_add(&s->held, 1);
    while (atomic_load(&s->released) <= ticket) {
        if (poll(&fd, 1, 1) > 0)
            return false;
    }
    return true;
}

/* False: go no further. */
static bool run_step(struct fake_conn *c, const fake_step *step)
{
    size_t n = step->n ? step->n : step->text ? strlen(step->text) : 0;
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    switch (step->what) {
    case FAKE_READ:
        return read_request(c);
    case FAKE_SEND:
        return send_all(c, step->text, n);
    case FAKE_BYTES:
        for (size_t i = 0; i < n; i++) {
            if (!send_all(c, step->text + i, 1))
                return false;
            usleep(200);
        }
        return true;
    case FAKE_FILL:
        return send_zeros(c, n);
    case FAKE_PAUSE:
        usleep((useconds_t)n * 1000);
        return true;
    case FAKE_RESET:
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        return false;
    case FAKE_HOLD:
        return wait_released(c);
    case FAKE_CLOSE:
    case FAKE_CUT:
    case FAKE_REPEAT:
    case FAKE_END:
        break;
    }
    return false;
}

static void *conn_main(void *arg)
{
    struct fake_conn *c = arg;
    const fake_step *step = c->script;
    const fake_transport *transport = c->server->transport;
    if (transport && !transport->open(c)) {
        atomic_fetch_add(&c->server->failed, 1);
        close(c->fd);
        return NULL;
    }
    while (step->what) {
        if (step->what == FAKE_REPEAT)
            step = c->script;
        if (!run_step(c, step))
            break;
        step++;
    }
    char byte;
    if (!step->what && wait_readable(c) && receive(c, &byte, 1) <= 0)
        atomic_fetch_add(&c->server->gone, 1);
    if (transport)
        transport->close(c, step->what != FAKE_RESET && step->what != FAKE_CUT);
    close(c->fd);
    atomic_fetch_add(&c->server->ended, 1);
    return NULL;
}

static void *accept_main(void *arg)
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
        if (pthread_create(&c->thread, NULL, conn_main, c)) {
            close(c->fd);
            break;
        }
        n++;
    }
    for (size_t i = 0; i < n; i++)
        pthread_join(s->conns[i].thread, NULL);
    return NULL;
}

static void bind_to(fake_server *s, const char *unix_path)
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

void fake_server_start_with(fake_server *s, const char *unix_path, const fake_transport *transport,
                            void *transport_ctx, const fake_step *const *scripts, size_t n)
{
    memset(s, 0, sizeof *s);
    s->transport = transport;
    s->transport_ctx = transport_ctx;
    s->scripts = scripts;
    s->n_scripts = n;
    s->unix_path = unix_path;
    bind_to(s, unix_path);
    assert_int_equal(listen(s->fd, 128), 0);
    assert_int_equal(pipe(s->stop), 0);
    pthread_mutex_init(&s->lock, NULL);
    assert_int_equal(pthread_create(&s->thread, NULL, accept_main, s), 0);
}

void fake_server_start_unix(fake_server *s, const char *unix_path, const fake_step *const *scripts,
                            size_t n)
{
    fake_server_start_with(s, unix_path, NULL, NULL, scripts, n);
}

void fake_server_start(fake_server *s, const fake_step *const *scripts, size_t n)
{
    fake_server_start_unix(s, NULL, scripts, n);
}

const char *fake_server_last_request(fake_server *s)
{
    if (s->is_stopped)
        return s->last;           /* its threads have ended, and the lock is gone */
    pthread_mutex_lock(&s->lock); /* it is whole */
    pthread_mutex_unlock(&s->lock);
    return s->last;
}

void fake_server_release(fake_server *s)
{
    atomic_fetch_add(&s->released, 1);
}

void fake_server_stop(fake_server *s)
{
    assert_int_equal(write(s->stop[1], "x", 1), 1);
    pthread_join(s->thread, NULL);
    close(s->fd);
    close(s->stop[0]);
    close(s->stop[1]);
    pthread_mutex_destroy(&s->lock);
    s->is_stopped = true;
    if (s->unix_path)
        unlink(s->unix_path);
}

uint16_t unused_port(void)
{
    fake_server s = {0};
    bind_to(&s, NULL);
    close(s.fd);
    return s.port;
}
