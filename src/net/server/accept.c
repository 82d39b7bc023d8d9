/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accept.c - accepts connections and pauses without descriptors. */
#include <errno.h>
#include <netinet/in.h>
#include <unistd.h>

#include "base/log.h"
#include "net/server/server_int.h"

/* Connections taken per wake-up, so that a flood of them does not starve the others. */
#define BATCH 64
/* Batches taken before closing: as many connections as can wait. */
#define LAST_BATCHES 64

static const char full_answer[] = "HTTP/1.1 503 Service Unavailable\r\n"
                                  "Content-Type: application/json\r\n"
                                  "Content-Length: 76\r\n"
                                  "Retry-After: 1\r\n"
                                  "Connection: close\r\n\r\n"
                                  "{\"error\":{\"code\":\"unavailable\","
                                  "\"message\":\"Too many connections, try later\"}}";

/* Refuse without a connection object: what is full must not grow. */
static void refuse(int fd, bool tls)
{
    if (!tls && send(fd, full_answer, sizeof full_answer - 1, MSG_NOSIGNAL) > 0)
        shutdown(fd, SHUT_WR);
    close(fd);
}

static bool count_address(cw_server_loop *sl, const cw_address *peer, cw_addrkey *key,
                          bool *ret_counted)
{
    uint32_t max = sl->settings->opts.per_address;
    *ret_counted = max > 0 || !cw_address_is_loopback(peer);
    if (!*ret_counted)
        return true;
    *key = cw_addrcount_key(peer);
    return !cw_addrcount_add(&sl->server->addresses, *key, max ? max : CW_HTTP_MAX_PER_ADDRESS);
}

static void admit(cw_acceptor *a, int fd, const cw_address *peer)
{
    cw_server_loop *sl = a->sl;
    cw_server *server = sl->server;
    cw_addrkey key = {{0}};
    bool counted;
    uint32_t before = atomic_fetch_add_explicit(&server->connections, 1, memory_order_relaxed);
    if (before >= sl->settings->opts.connections || !count_address(sl, peer, &key, &counted)) {
        atomic_fetch_sub_explicit(&server->connections, 1, memory_order_relaxed);
        cw_log(CW_LOG_DEBUG, "net", "connection refused: too many");
        refuse(fd, a->tls);
        return;
    }
    cw_conn_new(sl, fd, peer, a->tls, counted, key);
}

/* Out of descriptors or memory: the waiting connection would wake us at once, for ever. */
static void pause_accepting(cw_acceptor *a)
{
    uv_poll_stop(&a->poll);
    cw_loop_set_deadline(&a->sl->loop, &a->pause, &a->sl->pause);
}

/* True when more may be waiting. */
static bool accept_batch(cw_acceptor *a)
{
    for (int i = 0; i < BATCH; i++) {
        cw_address peer = {.len = sizeof peer.sa};
        int fd =
            accept4(a->fd, (struct sockaddr *)&peer.sa, &peer.len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            admit(a, fd, &peer);
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return false;
        cw_log(CW_LOG_DEBUG, "net", "accept failed, pausing",
               CW_KV("why", cw_str_from(strerror(errno))));
        pause_accepting(a);
        return false;
    }
    return true;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    (void)events;
    cw_acceptor *a = poll->data;
    if (status < 0)
        pause_accepting(a);
    else
        accept_batch(a);
}

void cw_acceptor_on_pause_over(cw_deadline *d)
{
    cw_acceptor *a = CW_CONTAINER(d, cw_acceptor, pause);
    if (a->open)
        uv_poll_start(&a->poll, UV_READABLE, on_connection);
}

cw_code cw_acceptor_start(cw_acceptor *a, cw_server_loop *sl, int fd, bool tls, cw_err *err)
{
    *a = (cw_acceptor){.sl = sl, .fd = fd, .tls = tls};
    int rc = uv_poll_init(&sl->loop.uv, &a->poll, fd);
    if (rc == 0)
        rc = uv_poll_start(&a->poll, UV_READABLE, on_connection);
    if (rc)
        return cw_fail(err, CW_IO, "poll a listener: %s", uv_strerror(rc));
    a->poll.data = a;
    a->open = true;
    return CW_OK;
}

void cw_acceptor_stop(cw_acceptor *a)
{
    if (!a->open)
        return;
    /* Connections that the kernel has accepted are served: closing would reset them. */
    for (int i = 0; i < LAST_BATCHES && accept_batch(a); i++)
        ;
    a->open = false;
    cw_deadline_clear(&a->pause);
    uv_close((uv_handle_t *)&a->poll, NULL);
}
