/* SPDX-License-Identifier: GPL-2.0-or-later */
/* frame.c - reading and writing length-framed messages.
 *
 *     socket -> scratch: [frame][frame][fra     handed out in place; the rest goes to `in`
 *     socket -> scratch: me][frame]             completes the one in `in`, then in place again
 *
 * A write that finds the peer gone does not end the stream: what the peer wrote
 * before may still wait in the socket, and reading comes to the end by itself.
 */
#include "net/stream/frame.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Buffers that have grown beyond this are given back when they are empty. */
#define KEEP_BYTES (64u * 1024u)
/* Reads of one event: a peer that writes without end must not starve the others. */
#define TURN_READS 4u

static void end(cw_frames *f, cw_code why)
{
    if (f->ended || f->closing)
        return;
    f->ended = true;
    uv_poll_stop(&f->poll);
    cw_loop_cancel_deferred(&f->flush);
    f->ops->on_end(f, why);
}

/* ---- reading ---- */

static uint32_t body_length(const char *head)
{
    uint32_t n;
    memcpy(&n, head, sizeof n);
    return n;
}

/* False when the stream was closed or ended under it. */
static bool hand_out(cw_frames *f, const char *frame, size_t n_body)
{
    uint64_t id;
    memcpy(&id, frame + sizeof(uint32_t), sizeof id);
    f->ops->on_frame(f, id, cw_str_make(frame + CW_FRAME_HEAD, n_body));
    return !f->closing && !f->ended;
}

static bool fits(cw_frames *f, size_t n_body)
{
    if (n_body <= f->max_body)
        return true;
    end(f, CW_LIMIT);
    return false;
}

static bool hold(cw_frames *f, const char *p, size_t n)
{
    cw_buf_add_bytes(&f->in, p, n);
    if (!f->in.code)
        return true;
    end(f, f->in.code);
    return false;
}

/* Fill the part that waits in `in` up to `want` bytes. */
static bool fill(cw_frames *f, size_t want, const char **p, size_t *n)
{
    size_t missing = want > f->in.n ? want - f->in.n : 0;
    size_t take = missing < *n ? missing : *n;
    if (!hold(f, *p, take))
        return false;
    *p += take;
    *n -= take;
    return true;
}

/* Go on with the frame in `in`. False when the stream ended; *n is 0 when it is still a part. */
static bool complete(cw_frames *f, const char **p, size_t *n)
{
    if (!fill(f, CW_FRAME_HEAD, p, n))
        return false;
    if (f->in.n < CW_FRAME_HEAD)
        return true;
    size_t n_body = body_length(f->in.p);
    if (!fits(f, n_body) || !fill(f, CW_FRAME_HEAD + n_body, p, n))
        return false;
    if (f->in.n < CW_FRAME_HEAD + n_body)
        return true;
    if (!hand_out(f, f->in.p, n_body))
        return false;
    cw_buf_clear(&f->in);
    if (f->in.cap > KEEP_BYTES)
        cw_buf_release(&f->in);
    return true;
}

static bool take(cw_frames *f, const char *p, size_t n)
{
    if (f->in.n && !complete(f, &p, &n))
        return false;
    while (n >= CW_FRAME_HEAD) {
        size_t n_body = body_length(p);
        if (!fits(f, n_body))
            return false;
        if (n - CW_FRAME_HEAD < n_body)
            break;
        if (!hand_out(f, p, n_body))
            return false;
        p += CW_FRAME_HEAD + n_body;
        n -= CW_FRAME_HEAD + n_body;
    }
    return hold(f, p, n);
}

/* How many bytes came and were taken; 0: nothing now, or the stream has ended. */
static size_t read_once(cw_frames *f)
{
    ssize_t n;
    do
        n = recv(f->fd, f->loop->scratch, CW_LOOP_SCRATCH, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        return take(f, f->loop->scratch, (size_t)n) ? (size_t)n : 0;
    if (n < 0 && errno == EAGAIN)
        return 0;
    /* A reset is what a peer leaves that died with unread frames. */
    if (n == 0 || errno == ECONNRESET || errno == EPIPE)
        end(f, f->in.n ? CW_INVALID : CW_GONE);
    else
        end(f, CW_IO);
    return 0;
}

/* ---- writing ---- */

static void on_poll(uv_poll_t *poll, int status, int events);

static void poll_for(cw_frames *f, int events)
{
    if (f->events == events || f->ended)
        return;
    f->events = events;
    uv_poll_start(&f->poll, events, on_poll);
}

static void drop_sent(cw_frames *f)
{
    if (f->sent < f->out.n)
        return;
    f->sent = 0;
    cw_buf_clear(&f->out);
    if (f->out.cap > KEEP_BYTES)
        cw_buf_release(&f->out);
}

static void flush(cw_frames *f)
{
    while (f->sent < f->out.n) {
        ssize_t n =
            send(f->fd, f->out.p + f->sent, f->out.n - f->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) {
            f->sent += (size_t)n;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno == EAGAIN)
            break;
        f->deaf = true;
        f->sent = f->out.n;
    }
    drop_sent(f);
    poll_for(f, f->out.n ? UV_READABLE | UV_WRITABLE : UV_READABLE);
}

static void on_flush(cw_deferred *later)
{
    flush(CW_CONTAINER(later, cw_frames, flush));
}

/* ---- events ---- */

static void on_poll(uv_poll_t *poll, int status, int events)
{
    cw_frames *f = poll->data;
    if (status < 0) {
        /* libuv has stopped watching: a broken socket may still hold what came before. */
        cw_frames_drain(f);
        end(f, f->in.n ? CW_INVALID : CW_GONE);
        return;
    }
    if (events & UV_WRITABLE)
        flush(f);
    if (!(events & UV_READABLE))
        return;
    for (unsigned i = 0; i < TURN_READS && read_once(f) == CW_LOOP_SCRATCH; i++)
        ;
}

static void on_closed(uv_handle_t *handle)
{
    cw_frames *f = handle->data;
    cw_buf_done(&f->in);
    cw_buf_done(&f->out);
    f->ops->on_closed(f);
}

cw_code cw_frames_open(cw_frames *f, cw_loop *loop, int fd, size_t max_body, size_t max_queue,
                       const cw_frames_ops *ops, cw_err *err)
{
    *f = (cw_frames){.loop = loop, .ops = ops, .fd = fd, .max_body = max_body};
    f->flush.fn = on_flush;
    cw_buf_init(&f->in, max_body + CW_FRAME_HEAD);
    cw_buf_init(&f->out, max_queue);
    int rc = uv_poll_init(&loop->uv, &f->poll, fd);
    if (rc) {
        close(fd);
        f->fd = -1;
        return cw_fail(err, CW_IO, "framed stream: %s", uv_strerror(rc));
    }
    f->poll.data = f;
    poll_for(f, UV_READABLE);
    return CW_OK;
}

cw_code cw_frames_send(cw_frames *f, uint64_t id, const cw_str *pieces, size_t n)
{
    size_t n_body = 0;
    for (size_t i = 0; i < n; i++) {
        if (pieces[i].n > f->max_body - n_body)
            return CW_LIMIT;
        n_body += pieces[i].n;
    }
    if (f->ended || f->closing || f->deaf)
        return CW_OK; /* as if it had been lost on the way: the end of the stream tells */
    if (f->sent > 0 && n_body + CW_FRAME_HEAD > f->out.max - f->out.n) {
        cw_buf_consume(&f->out, f->sent);
        f->sent = 0;
    }
    char *p = cw_buf_reserve(&f->out, CW_FRAME_HEAD + n_body);
    if (!p) {
        cw_code rc = f->out.code;
        f->out.code = CW_OK;
        return rc;
    }
    uint32_t length = (uint32_t)n_body;
    memcpy(p, &length, sizeof length);
    memcpy(p + sizeof length, &id, sizeof id);
    p += CW_FRAME_HEAD;
    for (size_t i = 0; i < n; i++) {
        if (pieces[i].n)
            memcpy(p, pieces[i].p, pieces[i].n);
        p += pieces[i].n;
    }
    cw_buf_commit(&f->out, CW_FRAME_HEAD + n_body);
    if (!(f->events & UV_WRITABLE))
        cw_loop_defer(f->loop, &f->flush);
    return CW_OK;
}

void cw_frames_drain(cw_frames *f)
{
    int waiting = 0;
    if (f->ended || f->closing || ioctl(f->fd, FIONREAD, &waiting) < 0)
        return;
    /* Not what comes meanwhile: a peer that lives, or whose children do, may never stop to write.
     * One read more sees the end of one that is gone. */
    size_t left = waiting > 0 ? (size_t)waiting : 0;
    for (bool last = left == 0;; last = left == 0) {
        size_t n = read_once(f);
        if (n == 0 || last || f->ended || f->closing)
            return;
        left = n < left ? left - n : 0;
    }
}

void cw_frames_close(cw_frames *f)
{
    if (f->closing)
        return;
    f->closing = true;
    cw_loop_cancel_deferred(&f->flush);
    uv_close((uv_handle_t *)&f->poll, on_closed);
    close(f->fd);
    f->fd = -1;
}
