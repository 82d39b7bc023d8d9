/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel_fixture.c - record the events of a channel, and play its peer with or without TLS. */
#include "support/channel_fixture.h"

#include <openssl/err.h>

cw_loop channel_loop;
uv_timer_t channel_tick;
cw_spawner *channel_spawner;
bool peer_uses_tls;
SSL *peer_tls;

static void record_open(cw_channel *ch, void *ctx)
{
    channel_record *s = ctx;
    assert_ptr_equal(ch, s->channel);
    assert_int_equal(s->opens + s->ends + s->closes, 0);
    s->opens++;
    if (s->on_open)
        s->on_open(s);
}

static void record_message(cw_channel *ch, cw_str message, void *ctx)
{
    channel_record *s = ctx;
    size_t n = strlen(s->text);
    assert_ptr_equal(ch, s->channel);
    assert_int_equal(s->opens, 1);
    assert_int_equal(s->ends + s->closes, 0);
    s->messages++;
    if (message.n < 200)
        snprintf(s->text + n, CHANNEL_TEXT_MAX - n, "%.*s|", CW_STR_ARG(message));
    else
        snprintf(s->text + n, CHANNEL_TEXT_MAX - n, "%zu|", message.n);
    if (s->on_message)
        s->on_message(s);
}

static void record_end(cw_channel *ch, cw_code code, const char *why, void *ctx)
{
    channel_record *s = ctx;
    assert_ptr_equal(ch, s->channel);
    assert_int_equal(s->ends + s->closes, 0);
    assert_true(*why);
    s->ends++;
    s->code = code;
    snprintf(s->why, sizeof s->why, "%s", why);
    if (s->on_end)
        s->on_end(s);
}

static void record_closed(void *ctx)
{
    channel_record *s = ctx;
    assert_int_equal(s->closes, 0);
    s->closes++;
    s->channel = NULL;
}

static bool record_awaited(void *ctx)
{
    return ((channel_record *)ctx)->is_awaiting;
}

static const cw_channel_ops record_ops = {record_open, record_message, record_end, record_closed,
                                          record_awaited};

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

int channel_fixture_setup(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(cw_loop_init(&channel_loop, 256, NULL), CW_OK);
    uv_timer_init(&channel_loop.uv, &channel_tick);
    uv_timer_start(&channel_tick, on_tick, 1, 1);
    return 0;
}

int channel_fixture_teardown(void **state)
{
    (void)state;
    if (!uv_is_closing((uv_handle_t *)&channel_tick))
        uv_close((uv_handle_t *)&channel_tick, NULL);
    cw_loop_end(&channel_loop);
    cw_loop_run(&channel_loop);
    cw_loop_done(&channel_loop);
    return 0;
}

void channel_turn(void)
{
    uv_run(&channel_loop.uv, UV_RUN_ONCE);
}

cw_code open_channel(channel_record *s, cw_channel_opts opts)
{
    opts.ops = &record_ops;
    opts.ctx = s;
    opts.spawner = channel_spawner;
    opts.name = CW_STR("probe");
    if (!opts.max_message)
        opts.max_message = 4u << 20;
    if (!opts.max_queue)
        opts.max_queue = 8u << 20;
    cw_code rc = cw_channel_open(&channel_loop, &opts, &s->channel, NULL);
    assert_int_equal(s->opens + s->ends + s->closes, 0);
    return rc;
}

void close_channel(channel_record *s)
{
    cw_channel *ch = s->channel;
    unsigned before = s->opens + s->messages + s->ends;
    uint64_t began = cw_clock_ms();
    cw_channel_close(ch);
    assert_int_equal(s->closes, 0);
    cw_channel_close(ch);
    assert_true(cw_clock_ms() - began < patience(100));
    channel_run_until(s->closes);
    assert_int_equal(s->opens + s->messages + s->ends, before);
}

cw_code channel_send_text(channel_record *s, const char *text)
{
    cw_str piece = cw_str_from(text);
    return cw_channel_send(s->channel, &piece, 1);
}

void assert_channel_ended(const channel_record *s, cw_code code, const char *part)
{
    assert_int_equal(s->ends, 1);
    if (s->code != code || !strstr(s->why, part))
        fail_msg("ended with %d, '%s' instead of %d, '%s'", s->code, s->why, code, part);
}

int peer_listen(uint16_t *ret_port)
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

static ssize_t tls_result(int rc)
{
    int error = SSL_get_error(peer_tls, rc);
    errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
    ERR_clear_error();
    return rc > 0 ? rc : error == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

ssize_t peer_write(int fd, const void *p, size_t n)
{
    if (peer_uses_tls)
        return tls_result(SSL_write(peer_tls, p, (int)n));
    return send(fd, p, n, MSG_NOSIGNAL);
}

ssize_t peer_recv(int fd, void *p, size_t n)
{
    if (peer_uses_tls)
        return tls_result(SSL_read(peer_tls, p, (int)n));
    return recv(fd, p, n, 0);
}

void peer_close(int fd)
{
    if (peer_uses_tls) {
        SSL_shutdown(peer_tls);
        SSL_free(peer_tls);
        peer_tls = NULL;
    }
    close(fd);
}

int peer_try_accept(int listening)
{
    int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 || !peer_uses_tls)
        return fd;
    fake_tls_init();
    peer_tls = SSL_new(fake_pki.context);
    assert_true(peer_tls && SSL_set_fd(peer_tls, fd));
    SSL_set_mode(peer_tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_set_accept_state(peer_tls);
    return fd;
}

int peer_accept(int listening)
{
    int fd = -1;
    channel_run_until((fd = peer_try_accept(listening)) >= 0);
    return fd;
}

void peer_send(int fd, const void *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t k = peer_write(fd, (const char *)p + at, n - at);
        if (k > 0)
            at += (size_t)k;
        else
            assert_true(k < 0 && errno == EAGAIN);
        channel_turn();
    }
}

void peer_send_text(int fd, const char *text)
{
    peer_send(fd, text, strlen(text));
}

void peer_read(int fd, char *out, size_t n)
{
    uint64_t until = cw_clock_ms() + CHANNEL_WAIT_MS;
    for (size_t at = 0; at < n;) {
        ssize_t k = peer_recv(fd, out + at, n - at);
        if (k > 0)
            at += (size_t)k;
        else if (k == 0 || errno != EAGAIN || cw_clock_ms() > until)
            fail_msg("%zu of %zu bytes came", at, n);
        channel_turn();
    }
}

void assert_peer_reads(int fd, const char *text)
{
    char got[512] = "";
    peer_read(fd, got, strlen(text));
    assert_string_equal(got, text);
}

bool peer_is_closed(int fd)
{
    char byte;
    ssize_t n = peer_recv(fd, &byte, 1);
    assert_true(n <= 0);
    return n == 0 || errno != EAGAIN;
}
