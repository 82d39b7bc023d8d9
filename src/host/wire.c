/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wire.c - reads and writes frames on the socket to the server. */
#include "host/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/clock.h"

#define OUT_FIRST 4096u
#define LOOK_NS UINT64_C(1000000)
#define CANCELS_MAX (64u * 1024u) /* bytes: 8192 of them */

static const cw_str cancel_body = CW_STR_INIT("{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel\"}");

static void read_head(const char *p, uint32_t *ret_n, uint64_t *ret_id)
{
    memcpy(ret_n, p, sizeof(*ret_n));
    memcpy(ret_id, p + sizeof(*ret_n), sizeof(*ret_id));
}

/* Give most of an unusually large buffer back. Shrinking cannot fail in a way that matters. */
static void shrink(cw_buf *b)
{
    if (b->cap <= CW_WIRE_KEEP || b->n >= CW_WIRE_READ)
        return;
    char *p = realloc(b->p, CW_WIRE_READ);
    if (!p)
        return;
    b->p = p;
    b->cap = CW_WIRE_READ;
}

/* One recv; the number of bytes, 0 at the end of the stream, -1 with errno. */
static ssize_t receive(const cw_wire *w, void *p, size_t n, int flags)
{
    for (;;) {
        ssize_t got = recv(w->fd, p, n, flags);
        if (got >= 0 || errno != EINTR)
            return got;
    }
}

/* Forget the frame that was in use, so that pos is where the next one begins. */
static void advance(cw_wire *w)
{
    w->at += w->frame;
    if (w->is_moved) {
        cw_buf used = w->in;
        w->in = w->ahead;
        w->ahead = used;
        cw_buf_clear(&w->ahead);
        shrink(&w->ahead);
        w->pos = 0;
        w->is_moved = false;
    } else {
        w->pos += w->frame;
    }
    w->frame = 0;
    if (w->pos == w->in.n) {
        cw_buf_clear(&w->in);
        w->pos = 0;
        shrink(&w->in);
    }
}

static cw_code fail_read(ssize_t got, const cw_wire *w, cw_err *err)
{
    if (got < 0 && errno != ECONNRESET)
        return cw_fail_errno(err, errno, "reading from the socket");
    if (w->in.n == w->pos)
        return CW_DONE;
    return cw_fail(err, CW_INVALID, "the socket was closed inside a frame");
}

/* There is no memory for a frame of `n` bytes: read past it. */
static cw_code skip(cw_wire *w, size_t n, cw_err *err)
{
    size_t left = n - (w->in.n - w->pos);
    w->at += n;
    cw_buf_clear(&w->in);
    w->pos = 0;
    while (left > 0) {
        size_t room = w->in.cap < left ? w->in.cap : left;
        ssize_t got = receive(w, w->in.p, room, 0);
        if (got <= 0)
            return cw_fail(err, CW_INVALID, "the socket was closed inside a frame");
        left -= (size_t)got;
    }
    return CW_NOMEM;
}

/* Read at least one byte of a frame that needs `need` bytes from pos on. */
static cw_code fill(cw_wire *w, size_t need, cw_err *err)
{
    cw_wire_flush(w);
    cw_buf_consume(&w->in, w->pos);
    w->pos = 0;
    /* As much as there is room for, so that memory is asked for only when the frame needs it. */
    char *to = cw_buf_reserve(&w->in, need - w->in.n);
    if (!to) {
        w->in.code = CW_OK;
        return CW_NOMEM;
    }
    ssize_t got = receive(w, to, w->in.cap - 1 - w->in.n, 0);
    if (got <= 0)
        return fail_read(got, w, err);
    cw_buf_commit(&w->in, (size_t)got);
    return CW_OK;
}

cw_code cw_wire_init(cw_wire *w, int fd, size_t max_body, cw_err *err)
{
    *w = (cw_wire){.fd = fd, .max_body = max_body};
    size_t one = max_body + CW_WIRE_HEAD;
    /* The two change places. */
    cw_buf_init(&w->in, one + CW_WIRE_AHEAD + CW_WIRE_READ);
    cw_buf_init(&w->ahead, one + CW_WIRE_AHEAD + CW_WIRE_READ);
    cw_buf_init(&w->out, one + CW_WIRE_SLACK);
    cw_buf_init(&w->side, one);
    cw_buf_init(&w->content, one);
    cw_buf_init(&w->cancels, CANCELS_MAX);
    if (cw_buf_reserve(&w->in, CW_WIRE_READ) && cw_buf_reserve(&w->out, OUT_FIRST))
        return CW_OK;
    cw_wire_done(w);
    return cw_fail_nomem(err);
}

void cw_wire_done(cw_wire *w)
{
    cw_buf_done(&w->in);
    cw_buf_done(&w->ahead);
    cw_buf_done(&w->out);
    cw_buf_done(&w->side);
    cw_buf_done(&w->content);
    cw_buf_done(&w->cancels);
}

cw_code cw_wire_next(cw_wire *w, uint64_t *ret_id, cw_str *ret_body, cw_err *err)
{
    advance(w);
    for (;;) {
        size_t have = w->in.n - w->pos;
        size_t need = CW_WIRE_HEAD;
        if (have >= CW_WIRE_HEAD) {
            uint32_t n;
            uint64_t id;
            read_head(w->in.p + w->pos, &n, &id);
            if (n > w->max_body)
                return cw_fail(err, CW_LIMIT, "a frame of %u bytes; the limit is %zu", n,
                               w->max_body);
            *ret_id = id;
            need += n;
            if (have >= need) {
                w->frame = need;
                *ret_body = cw_str_make(w->in.p + w->pos + CW_WIRE_HEAD, n);
                return CW_OK;
            }
        }
        cw_code rc = fill(w, need, err);
        if (rc == CW_NOMEM)
            return skip(w, need, err);
        if (rc)
            return rc;
    }
}

bool cw_wire_has_more(const cw_wire *w)
{
    return w->is_moved ? w->ahead.n > 0 : w->in.n > w->pos + w->frame;
}

/* Copy what is behind the frame in use to `ahead`, where more can be added to it; but only when
 * there is more. */
static bool move_rest(cw_wire *w)
{
    char byte;
    ssize_t got = receive(w, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    if (got <= 0) {
        w->has_ended = got == 0 || errno != EAGAIN;
        return false;
    }
    size_t end = w->pos + w->frame;
    cw_buf_clear(&w->ahead);
    cw_buf_add_bytes(&w->ahead, w->in.p + end, w->in.n - end);
    w->is_moved = !w->ahead.code;
    return w->is_moved;
}

void cw_wire_look(cw_wire *w, size_t max_waiting)
{
    uint64_t now = cw_clock_ns();
    size_t waiting = w->is_moved ? w->ahead.n : w->in.n - w->pos - w->frame;
    if (w->fd < 0 || w->has_ended || waiting > max_waiting || now - w->looked_ns < LOOK_NS)
        return;
    w->looked_ns = now;
    if (!w->is_moved && !move_rest(w))
        return;
    char *to = cw_buf_reserve(&w->ahead, CW_WIRE_READ);
    ssize_t got = to ? receive(w, to, CW_WIRE_READ, MSG_DONTWAIT) : -1;
    if (got > 0)
        cw_buf_commit(&w->ahead, (size_t)got);
    else if (to)
        w->has_ended = got == 0 || errno != EAGAIN;
    /* Without memory the rest waits in the socket. */
    w->ahead.code = CW_OK;
}

/* Whether a frame is a $/cancel, however it is spaced. Nothing else looks like it, so there is no
 * need to parse frames whose turn has not come. */
static bool is_cancel(cw_str body)
{
    size_t k = 0;
    if (body.n > 2 * cancel_body.n)
        return false;
    for (size_t i = 0; i < body.n; i++) {
        if (body.p[i] == ' ')
            continue;
        if (k == cancel_body.n || body.p[i] != cancel_body.p[k++])
            return false;
    }
    return k == cancel_body.n;
}

/* Note the cancels among what was read since the last look. Each frame is looked at once, however
 * many calls wait. */
static void scan(cw_wire *w)
{
    const cw_buf *b = w->is_moved ? &w->ahead : &w->in;
    uint64_t behind = w->at + w->frame;
    uint64_t begin = w->is_moved ? behind : w->at - w->pos; /* of the buffer, in the stream */
    size_t pos = (size_t)((w->scanned > behind ? w->scanned : behind) - begin);
    while (b->n - pos >= CW_WIRE_HEAD) {
        uint32_t n;
        uint64_t id;
        read_head(b->p + pos, &n, &id);
        if (n > w->max_body || b->n - pos - CW_WIRE_HEAD < n)
            break;
        if (is_cancel(cw_str_make(b->p + pos + CW_WIRE_HEAD, n)))
            cw_buf_add_bytes(&w->cancels, &id, sizeof(id));
        pos += CW_WIRE_HEAD + n;
    }
    w->scanned = begin + pos;
    /* One that could not be noted is not seen: the grace period ends that call. */
    w->cancels.code = CW_OK;
}

bool cw_wire_has_cancel(cw_wire *w, uint64_t id)
{
    scan(w);
    for (size_t i = 0; i < w->cancels.n; i += sizeof(id))
        if (memcmp(w->cancels.p + i, &id, sizeof(id)) == 0)
            return true;
    return false;
}

void cw_wire_drop_cancel(cw_wire *w, uint64_t id)
{
    cw_buf *b = &w->cancels;
    for (size_t i = 0; i < b->n; i += sizeof(id)) {
        if (memcmp(b->p + i, &id, sizeof(id)) != 0)
            continue;
        b->n -= sizeof(id);
        memmove(b->p + i, b->p + b->n, sizeof(id));
        return;
    }
}

size_t cw_wire_open_frame(cw_buf *b, uint64_t id)
{
    size_t start = b->n;
    char head[CW_WIRE_HEAD] = {0};
    memcpy(head + 4, &id, sizeof(id));
    cw_buf_add_bytes(b, head, sizeof(head));
    return start;
}

void cw_wire_close_frame(cw_buf *b, size_t start)
{
    if (b->code)
        return;
    uint32_t n = (uint32_t)(b->n - start - CW_WIRE_HEAD);
    memcpy(b->p + start, &n, sizeof(n));
}

void cw_wire_send(cw_wire *w, size_t end, cw_str more)
{
    struct iovec iov[2] = {
        {.iov_base = w->out.p + w->sent, .iov_len = end - w->sent},
        /* sendmsg only reads; iovec has no const. */
        {.iov_base = (char *)(uintptr_t)more.p, .iov_len = more.n},
    };
    w->sent = end;
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
    while (w->fd >= 0 && iov[0].iov_len + iov[1].iov_len > 0) {
        /* The kernel takes one range noticeably quicker than a list of them. */
        ssize_t n = iov[1].iov_len == 0 ? send(w->fd, iov[0].iov_base, iov[0].iov_len, MSG_NOSIGNAL)
                                        : sendmsg(w->fd, &msg, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            w->has_ended = true;
            return;
        }
        for (int i = 0; i < 2; i++) {
            size_t part = (size_t)n < iov[i].iov_len ? (size_t)n : iov[i].iov_len;
            iov[i].iov_base = (char *)iov[i].iov_base + part;
            iov[i].iov_len -= part;
            n -= (ssize_t)part;
        }
    }
}

void cw_wire_flush(cw_wire *w)
{
    if (w->out.n > w->sent)
        cw_wire_send(w, w->out.n, CW_STR(""));
    cw_buf_clear(&w->out);
    w->sent = 0;
    shrink(&w->out);
    shrink(&w->side);
    shrink(&w->content);
}
