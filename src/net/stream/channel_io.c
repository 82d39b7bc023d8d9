/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel_io.c - the bytes of a channel.
 *
 *     descriptor -> scratch: [message][message][mes      handed out in place; the rest goes to
 *     descriptor -> `input`: [mes|sage][message]         `input`, and reading goes on there
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/stream/channel_int.h"

/* Buffers that have grown beyond this are given back when they are empty. */
#define KEEP_BYTES (64u * 1024u)
/* Reads of one event: who writes without end must not starve the others. */
#define TURN_READS 4u
/* With TLS a read gives a record at most. It takes all of one, so what is left is in the socket,
 * which tells again. */
#define TURN_RECORDS (TURN_READS * CW_LOOP_SCRATCH / CW_TLS_CLIENT_RECORD)
_Static_assert(CW_LOOP_SCRATCH >= CW_TLS_CLIENT_RECORD, "room for a record");

/* ---- ends ---- */

static void on_end_closed(uv_handle_t *handle)
{
    cw_channel_end *end = handle->data;
    cw_channel *ch = end->channel;
    free(end);
    ch->n_ends--;
    cw_channel_settle(ch);
}

cw_code cw_channel_add_end(cw_channel *ch, int fd, cw_channel_end **ret, cw_err *err)
{
    cw_channel_end *end = calloc(1, sizeof *end);
    if (!end) {
        close(fd);
        return cw_fail_nomem(err);
    }
    int rc = uv_poll_init(&ch->loop->uv, &end->poll, fd);
    if (rc) {
        close(fd);
        free(end);
        return cw_fail(err, rc == UV_ENOMEM ? CW_NOMEM : CW_IO, "poll: %s", uv_strerror(rc));
    }
    end->poll.data = end;
    end->channel = ch;
    end->fd = fd;
    ch->n_ends++;
    *ret = end;
    return CW_OK;
}

void cw_channel_close_end(cw_channel_end **at)
{
    cw_channel_end *end = *at;
    if (!end)
        return;
    cw_channel *ch = end->channel;
    if (ch->out == end)
        ch->out = NULL;
    *at = NULL;
    cw_tls_client_end(ch->link);
    ch->link = NULL;
    uv_close((uv_handle_t *)&end->poll, on_end_closed);
    close(end->fd);
}

/* ---- reading ---- */

static bool is_live(const cw_channel *ch)
{
    return (ch->state == CHANNEL_OPEN || ch->state == CHANNEL_GREETING) && !ch->closing;
}

static void refuse(cw_channel *ch, cw_code rc)
{
    char why[96];
    bool is_ws = ch->opts.websocket.n;
    if (is_ws && ch->frames.status)
        cw_channel_ws_send_close(ch, ch->frames.status);
    if (rc == CW_LIMIT)
        snprintf(why, sizeof why, "a message has more than %zu bytes", ch->opts.max_message);
    else if (rc == CW_INVALID)
        snprintf(why, sizeof why, "%s",
                 is_ws ? "what came is not framed as a WebSocket"
                       : "it sent something that is no JSON-RPC message in this framing");
    else
        snprintf(why, sizeof why, "%s", cw_code_text(rc));
    cw_channel_ended(ch, rc, why);
}

/* Hand out what `bytes` have; returns how many are done with. */
static size_t take(cw_channel *ch, cw_str bytes)
{
    size_t at = 0;
    while (at < bytes.n && is_live(ch)) {
        cw_str rest = {bytes.p + at, bytes.n - at}, message = {NULL, 0};
        size_t used = 0;
        cw_code rc = ch->opts.websocket.n ? cw_channel_ws_read(ch, rest, &message, &used)
                                          : cw_framing_next(&ch->cutter, rest, &message, &used);
        at += used;
        if (rc == CW_AGAIN)
            break;
        if (rc)
            refuse(ch, rc);
        else if (message.n && is_live(ch))
            ch->opts.ops->on_message(ch, message, ch->opts.ctx);
    }
    return at;
}

static void take_scratch(cw_channel *ch, size_t n)
{
    const char *p = ch->loop->scratch;
    size_t used = take(ch, cw_str_make(p, n));
    if (!is_live(ch))
        return;
    cw_buf_add_bytes(&ch->input, p + used, n - used);
    if (ch->input.code)
        refuse(ch, ch->input.code);
}

static void take_input(cw_channel *ch, size_t n)
{
    cw_buf_commit(&ch->input, n);
    cw_buf_consume(&ch->input, take(ch, cw_buf_str(&ch->input)));
    if (ch->input.n == 0 && ch->input.cap > KEEP_BYTES)
        cw_buf_release(&ch->input);
}

static void come_to_end(cw_channel *ch, int errnum)
{
    char why[256];
    if (ch->opts.command) {
        cw_channel_close_end(&ch->in);
        cw_channel_on_output_closed(ch);
        return;
    }
    const char *problem = cw_tls_client_problem(ch->link);
    if (!problem)
        problem = errnum ? strerror(errnum) : "";
    snprintf(why, sizeof why, "the connection was closed%s%s%s",
             ch->input.n ? " inside a message" : "", *problem ? ": " : "", problem);
    /* Nothing of the caller's was sent before a WebSocket was agreed on. */
    cw_channel_ended(ch, ch->state == CHANNEL_GREETING ? CW_IO : CW_GONE, why);
}

/* How many bytes came and were taken; 0: nothing now, or the end. */
static size_t read_once(cw_channel *ch)
{
    char *room = ch->loop->scratch;
    bool is_part = is_live(ch) && ch->input.n > 0;
    if (is_part && !(room = cw_buf_reserve(&ch->input, CW_LOOP_SCRATCH))) {
        refuse(ch, ch->input.code);
        return 0;
    }
    ssize_t n;
    do
        n = ch->link ? cw_tls_client_recv(ch->link, room, CW_LOOP_SCRATCH)
                     : read(ch->in->fd, room, CW_LOOP_SCRATCH);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n <= 0) {
        come_to_end(ch, n < 0 ? errno : 0);
        return 0;
    }
    ch->received_at = cw_loop_now(ch->loop);
    /* A program that is told to end may still write: that is read, so that it does not wait, and
     * dropped. */
    if (is_part)
        take_input(ch, (size_t)n);
    else if (is_live(ch))
        take_scratch(ch, (size_t)n);
    return (size_t)n;
}

static bool can_read(const cw_channel *ch)
{
    return ch->in && (is_live(ch) || (ch->closing && ch->opts.command));
}

void cw_channel_drain(cw_channel *ch)
{
    int waiting = 0;
    if (!can_read(ch) || ioctl(ch->in->fd, FIONREAD, &waiting) < 0)
        return;
    for (size_t left = waiting > 0 ? (size_t)waiting : 0; left && can_read(ch);) {
        size_t n = read_once(ch);
        if (n == 0)
            return;
        left = n < left ? left - n : 0;
    }
}

/* ---- writing ---- */

static void drop_sent(cw_channel *ch)
{
    if (ch->sent < ch->output.n)
        return;
    ch->sent = 0;
    cw_buf_clear(&ch->output);
    if (ch->output.cap > KEEP_BYTES)
        cw_buf_release(&ch->output);
}

static ssize_t write_some(cw_channel *ch)
{
    const char *p = ch->output.p + ch->sent;
    size_t n = ch->output.n - ch->sent;
    if (ch->opts.command)
        return write(ch->out->fd, p, n);
    if (ch->link)
        return cw_channel_tls_send(ch, p, n);
    return send(ch->out->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void cw_channel_flush(cw_channel *ch)
{
    while (ch->out && ch->sent < ch->output.n) {
        ssize_t n = write_some(ch);
        if (n >= 0) {
            ch->sent += (size_t)n;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno == EAGAIN)
            break;
        /* Bytes that the peer wrote before may still wait: reading reaches the end. */
        ch->is_deaf = true;
        ch->sent = ch->output.n;
        if (ch->opts.command)
            cw_channel_on_output_closed(ch);
    }
    drop_sent(ch);
    cw_channel_watch(ch);
}

cw_code cw_channel_queue(cw_channel *ch, cw_str before, const cw_str *pieces, size_t n,
                         cw_str behind, char **ret_message)
{
    size_t size = before.n + behind.n;
    for (size_t i = 0; i < n; i++)
        size += pieces[i].n;
    if (ch->sent > 0 && size > ch->output.max - ch->output.n) {
        cw_buf_consume(&ch->output, ch->sent);
        ch->sent = 0;
    }
    char *p = cw_buf_reserve(&ch->output, size);
    if (!p) {
        cw_code rc = ch->output.code;
        ch->output.code = CW_OK;
        return rc;
    }
    cw_buf_add(&ch->output, before);
    for (size_t i = 0; i < n; i++)
        cw_buf_add(&ch->output, pieces[i]);
    cw_buf_add(&ch->output, behind);
    *ret_message = p + before.n;
    if (ch->out && !(ch->out->events & UV_WRITABLE))
        cw_loop_defer(ch->loop, &ch->flush);
    return CW_OK;
}

/* ---- events ---- */

static void read_turn(cw_channel *ch)
{
    size_t most = ch->link ? TURN_RECORDS : TURN_READS;
    size_t full = ch->link ? 1 : CW_LOOP_SCRATCH; /* there may be more */
    for (size_t i = 0; i < most && can_read(ch) && read_once(ch) >= full; i++)
        ;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    cw_channel_end *end = poll->data;
    cw_channel *ch = end->channel;
    /* libuv has stopped watching; reading and writing tell what is wrong. */
    if (status < 0)
        end->events = 0;
    if (ch->state == CHANNEL_CONNECTING && !ch->closing) {
        cw_channel_on_connected(ch);
        return;
    }
    if (end == ch->out && (status < 0 || events & UV_WRITABLE))
        cw_channel_flush(ch);
    if (end != ch->in || !can_read(ch) || !(status < 0 || events & UV_READABLE))
        return;
    read_turn(ch);
    /* A broken descriptor is not watched again by itself. */
    if (status < 0 && can_read(ch))
        come_to_end(ch, EIO);
}

static void poll_for(cw_channel_end *end, int events)
{
    if (!end || end->events == events)
        return;
    end->events = events;
    if (events)
        uv_poll_start(&end->poll, events, on_poll);
    else
        uv_poll_stop(&end->poll);
}

void cw_channel_watch(cw_channel *ch)
{
    int reading = can_read(ch) ? UV_READABLE : 0;
    bool is_writing = ch->sent < ch->output.n && is_live(ch) && !ch->is_deaf;
    int writing = is_writing || ch->state == CHANNEL_CONNECTING ? UV_WRITABLE : 0;
    if (ch->in == ch->out) {
        poll_for(ch->in, reading | writing);
        return;
    }
    poll_for(ch->in, reading);
    poll_for(ch->out, writing);
}
