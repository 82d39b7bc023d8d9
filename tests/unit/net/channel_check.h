/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel_check.h - a channel on a loop of this thread that remembers what it was told, and the
 * other side of a socket; with OVER_TLS, of one with TLS. */
#ifndef CW_TESTS_CHANNEL_CHECK_H
#define CW_TESTS_CHANNEL_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef OVER_TLS
#include <openssl/err.h>

#include "fake_tls.h"
#endif
#include "../support/patience.h"
#include "net/channel.h"
#include "oom.h"

#define PATIENCE_MS 10000u
#define SEEN_TEXT 4096u

typedef struct seen {
    unsigned opens, messages, ends, closes;
    cw_code code;
    char why[256];
    char text[SEEN_TEXT]; /* messages, '|' behind each; of a long one its length */
    cw_channel *channel;
    bool is_awaiting; /* an answer */
    /* Within a callback. */
    void (*on_open)(struct seen *s);
    void (*on_message)(struct seen *s);
    void (*on_end)(struct seen *s);
} seen;

static cw_loop loop;
static uv_timer_t tick; /* so that a turn always ends */
static cw_spawner *spawner;

static inline void seen_open(cw_channel *ch, void *ctx)
{
    seen *s = ctx;
    assert_ptr_equal(ch, s->channel);
    assert_int_equal(s->opens + s->ends + s->closes, 0);
    s->opens++;
    if (s->on_open)
        s->on_open(s);
}

static inline void seen_message(cw_channel *ch, cw_str message, void *ctx)
{
    seen *s = ctx;
    size_t n = strlen(s->text);
    assert_ptr_equal(ch, s->channel);
    assert_int_equal(s->opens, 1);
    assert_int_equal(s->ends + s->closes, 0);
    s->messages++;
    if (message.n < 200)
        snprintf(s->text + n, SEEN_TEXT - n, "%.*s|", CW_STR_ARG(message));
    else
        snprintf(s->text + n, SEEN_TEXT - n, "%zu|", message.n);
    if (s->on_message)
        s->on_message(s);
}

static inline void seen_end(cw_channel *ch, cw_code code, const char *why, void *ctx)
{
    seen *s = ctx;
    assert_ptr_equal(ch, s->channel);
    assert_int_equal(s->ends + s->closes, 0);
    assert_true(*why);
    s->ends++;
    s->code = code;
    snprintf(s->why, sizeof s->why, "%s", why);
    if (s->on_end)
        s->on_end(s);
}

static inline void seen_closed(void *ctx)
{
    seen *s = ctx;
    assert_int_equal(s->closes, 0);
    s->closes++;
    s->channel = NULL;
}

static inline bool seen_awaited(void *ctx)
{
    return ((seen *)ctx)->is_awaiting;
}

static const cw_channel_ops seen_ops = {seen_open, seen_message, seen_end, seen_closed,
                                        seen_awaited};

static inline void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

static inline int set_up_loop(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(cw_loop_init(&loop, 256, NULL), CW_OK);
    uv_timer_init(&loop.uv, &tick);
    uv_timer_start(&tick, on_tick, 1, 1);
    return 0;
}

static inline int tear_down_loop(void **state)
{
    (void)state;
    if (!uv_is_closing((uv_handle_t *)&tick))
        uv_close((uv_handle_t *)&tick, NULL);
    cw_loop_end(&loop);
    cw_loop_run(&loop);
    cw_loop_done(&loop);
    return 0;
}

static inline void turn(void)
{
    uv_run(&loop.uv, UV_RUN_ONCE);
}

#define run_until(cond)                                                                            \
    do {                                                                                           \
        uint64_t until_ = cw_clock_ms() + PATIENCE_MS;                                             \
        while (!(cond)) {                                                                          \
            if (cw_clock_ms() > until_)                                                            \
                fail_msg("waited in vain for %s", #cond);                                          \
            turn();                                                                                \
        }                                                                                          \
    } while (0)

static inline cw_code open_channel(seen *s, cw_channel_opts opts)
{
    opts.ops = &seen_ops;
    opts.ctx = s;
    opts.spawner = spawner;
    opts.name = CW_STR("probe");
    if (!opts.max_message)
        opts.max_message = 4u << 20;
    if (!opts.max_queue)
        opts.max_queue = 8u << 20;
    cw_code rc = cw_channel_open(&loop, &opts, &s->channel, NULL);
    assert_int_equal(s->opens + s->ends + s->closes, 0);
    return rc;
}

static inline void close_channel(seen *s)
{
    cw_channel *ch = s->channel;
    unsigned before = s->opens + s->messages + s->ends;
    uint64_t began = cw_clock_ms();
    cw_channel_close(ch);
    assert_int_equal(s->closes, 0);
    cw_channel_close(ch);
    assert_true(cw_clock_ms() - began < patience(100));
    run_until(s->closes);
    assert_int_equal(s->opens + s->messages + s->ends, before);
}

static inline cw_code send_text(seen *s, const char *text)
{
    cw_str piece = cw_str_from(text);
    return cw_channel_send(s->channel, &piece, 1);
}

static inline void assert_ended(const seen *s, cw_code code, const char *part)
{
    assert_int_equal(s->ends, 1);
    if (s->code != code || !strstr(s->why, part))
        fail_msg("ended with %d, '%s' instead of %d, '%s'", s->code, s->why, code, part);
}

/* ---- the other side of a socket ---- */

static inline int listen_tcp(uint16_t *ret_port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof in;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof in), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &n), 0);
    *ret_port = ntohs(in.sin_port);
    return fd;
}

#ifdef OVER_TLS

static SSL_CTX *peer_context; /* NULL: a good one */
static SSL *peer_tls;         /* of the peer that was accepted last */

static inline ssize_t peer_result(int rc)
{
    int error = SSL_get_error(peer_tls, rc);
    errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
    ERR_clear_error();
    return rc > 0 ? rc : error == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

static inline ssize_t peer_put(int fd, const void *p, size_t n)
{
    (void)fd;
    return peer_result(SSL_write(peer_tls, p, (int)n));
}

static inline ssize_t peer_take(int fd, void *p, size_t n)
{
    (void)fd;
    return peer_result(SSL_read(peer_tls, p, (int)n));
}

static inline void peer_close(int fd)
{
    SSL_shutdown(peer_tls);
    SSL_free(peer_tls);
    peer_tls = NULL;
    close(fd);
}

/* -1: nobody comes, or not yet. The handshake is made by whatever comes first, reading or writing.
 */
static inline int accept_now(int listening)
{
    int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return -1;
    fake_tls_ready();
    peer_tls = SSL_new(peer_context ? peer_context : fake_pki.context);
    assert_true(peer_tls && SSL_set_fd(peer_tls, fd));
    SSL_set_mode(peer_tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_set_accept_state(peer_tls);
    return fd;
}

#else

static inline ssize_t peer_put(int fd, const void *p, size_t n)
{
    return send(fd, p, n, MSG_NOSIGNAL);
}

static inline ssize_t peer_take(int fd, void *p, size_t n)
{
    return recv(fd, p, n, 0);
}

static inline void peer_close(int fd)
{
    close(fd);
}

static inline int accept_now(int listening)
{
    return accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

#endif

static inline int accept_one(int listening)
{
    int fd = -1;
    run_until((fd = accept_now(listening)) >= 0);
    return fd;
}

static inline void peer_send(int fd, const void *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t k = peer_put(fd, (const char *)p + at, n - at);
        if (k > 0)
            at += (size_t)k;
        else
            assert_true(k < 0 && errno == EAGAIN);
        turn();
    }
}

static inline void peer_say(int fd, const char *text)
{
    peer_send(fd, text, strlen(text));
}

/* Until `n` bytes came. */
static inline void peer_read(int fd, char *out, size_t n)
{
    uint64_t until = cw_clock_ms() + PATIENCE_MS;
    for (size_t at = 0; at < n;) {
        ssize_t k = peer_take(fd, out + at, n - at);
        if (k > 0)
            at += (size_t)k;
        else if (k == 0 || errno != EAGAIN || cw_clock_ms() > until)
            fail_msg("%zu of %zu bytes came", at, n);
        turn();
    }
}

static inline void assert_peer_gets(int fd, const char *text)
{
    char got[512] = "";
    peer_read(fd, got, strlen(text));
    assert_string_equal(got, text);
}

static inline bool peer_is_closed(int fd)
{
    char byte;
    ssize_t n = peer_take(fd, &byte, 1);
    assert_true(n <= 0);
    return n == 0 || errno != EAGAIN;
}

#endif
