/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lines.c - reading and writing lines.
 *
 *     buffer: [handed out][line\n line\n par       `looked` bytes at its begin are known to
 *                          ▲ at the next turn       have no line break
 *
 * A line that is too long is dropped piece by piece, and reading goes on behind its
 * end. Nothing is handed out from within a call of the user's: lines that wait in the
 * buffer when the pause ends come from `again`.
 */
#include "net/stream/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define READ_BYTES (64u * 1024u)
/* A buffer that has grown beyond this is given back when it is empty. */
#define KEEP_BYTES (128u * 1024u)
#define WRITE_LINES 32u

/* ---- descriptors ---- */

/* The same file as `fd` with flags of its own, or -1: a socket, or not allowed. */
static int reopen(int fd, bool is_input)
{
    char path[32];
    struct stat st;
    if (fstat(fd, &st) != 0 || S_ISSOCK(st.st_mode))
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, (is_input ? O_RDONLY : O_WRONLY) | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

/* A file must keep its position, so it is never opened anew. */
static bool can_wait(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(fd));
}

static cw_code copy_end(cw_lines_end *e, int fd, bool is_input, cw_err *err)
{
    *e = (cw_lines_end){.fd = -1, .shared = -1, .is_plain = !can_wait(fd)};
    if (!e->is_plain)
        e->fd = reopen(fd, is_input);
    if (e->fd >= 0)
        return CW_OK;
    e->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (e->fd < 0)
        return cw_fail_errno(err, errno, is_input ? "standard input" : "standard output");
    e->flags = fcntl(fd, F_GETFL);
    if (!e->is_plain && e->flags >= 0 && !(e->flags & O_NONBLOCK))
        e->shared = fd;
    return CW_OK;
}

static void release_end(cw_lines_end *e)
{
    if (e->fd >= 0)
        close(e->fd);
    if (e->shared >= 0)
        (void)fcntl(e->shared, F_SETFL, e->flags);
    e->fd = e->shared = -1;
}

static cw_code open_end(cw_lines *l, cw_lines_end *e, cw_err *err)
{
    if (e->is_plain)
        return CW_OK;
    int rc = uv_poll_init(&l->loop->uv, &e->poll, e->fd);
    if (rc == UV_EPERM) {
        e->is_plain = true;
        return CW_OK;
    }
    if (rc)
        return cw_fail(err, CW_IO, "standard input and output: %s", uv_strerror(rc));
    e->poll.data = l;
    e->is_open = true;
    l->open_handles++;
    return CW_OK;
}

/* ---- the input ---- */

static void watch_input(cw_lines *l);

/* Drop what is there of a line, and the rest of it when it comes. */
static void drop_line(cw_lines *l, cw_code why)
{
    l->is_skipping = true;
    l->is_too_long = why == CW_LIMIT;
    if (l->is_too_long)
        l->ops->on_skipped(l, cw_buf_str(&l->buffer));
    l->looked = 0;
    cw_buf_release(&l->buffer);
    if (!l->is_too_long)
        l->ops->on_dropped(l, why);
}

/* The end of a line that is skipped; `text` is the rest of it. */
static void end_skip(cw_lines *l, cw_str text)
{
    bool is_too_long = l->is_too_long;
    l->is_skipping = l->is_too_long = false;
    if (!is_too_long)
        return;
    l->ops->on_skipped(l, text);
    l->ops->on_dropped(l, CW_LIMIT);
}

/* Nothing but what JSON may have between its values. */
static bool is_blank(cw_str text)
{
    size_t i = 0;
    while (i < text.n && (text.p[i] == ' ' || text.p[i] == '\t' || text.p[i] == '\r'))
        i++;
    return i == text.n;
}

static void hand_out(cw_lines *l, cw_str text)
{
    if (l->is_skipping) {
        end_skip(l, text);
        return;
    }
    if (text.n && text.p[text.n - 1] == '\r')
        text.n--;
    if (text.n > l->max_line) {
        l->ops->on_skipped(l, text);
        l->ops->on_dropped(l, CW_LIMIT);
    } else if (!is_blank(text))
        l->ops->on_line(l, text);
}

/* Hand out what the buffer has, until it is empty or the lines are paused. */
static void split(cw_lines *l)
{
    size_t at = 0;
    while (!l->is_paused && !l->is_closing && at < l->buffer.n) {
        const char *from = l->buffer.p + at;
        size_t n = l->buffer.n - at;
        const char *end = n > l->looked ? memchr(from + l->looked, '\n', n - l->looked) : NULL;
        if (!end) {
            l->looked = n;
            break;
        }
        l->looked = 0;
        at += (size_t)(end - from) + 1;
        hand_out(l, cw_str_make(from, (size_t)(end - from)));
    }
    if (l->is_closing)
        return;
    cw_buf_consume(&l->buffer, at);
    if (l->is_skipping && l->looked == l->buffer.n) {
        if (l->is_too_long)
            l->ops->on_skipped(l, cw_buf_str(&l->buffer));
        cw_buf_clear(&l->buffer);
        l->looked = 0;
    }
    if (l->looked > l->max_line + 1 && l->looked == l->buffer.n)
        drop_line(l, CW_LIMIT);
    if (l->buffer.n == 0 && l->buffer.cap > KEEP_BYTES)
        cw_buf_release(&l->buffer);
}

static void come_to_end(cw_lines *l)
{
    /* A file's last line may lack its end. */
    if (l->buffer.n && !l->is_paused) {
        l->looked = 0;
        cw_buf_add_char(&l->buffer, '\n');
        if (l->buffer.code)
            drop_line(l, CW_NOMEM);
        split(l);
    }
    if (l->is_paused || l->is_ended || l->is_closing)
        return;
    if (l->is_skipping)
        end_skip(l, CW_STR(""));
    if (l->is_closing)
        return;
    l->is_ended = true;
    l->ops->on_end(l, CW_GONE);
}

/* Go on with what is there. */
static void proceed(cw_lines *l)
{
    split(l);
    if (l->is_last && !l->is_closing && !l->is_paused)
        come_to_end(l);
    if (!l->is_closing)
        watch_input(l);
}

static void send_last(cw_lines *l)
{
    l->is_last = true;
    l->ops->on_last(l);
}

/* Bytes that there is no memory for. The line breaks in them are lost with them, which makes the
 * next line part of this one. */
static void lose(cw_lines *l, cw_str bytes)
{
    const char *end = memchr(bytes.p, '\n', bytes.n);
    if (l->is_too_long && end)
        end_skip(l, cw_str_make(bytes.p, (size_t)(end - bytes.p)));
    else if (l->is_too_long)
        l->ops->on_skipped(l, bytes);
    l->is_skipping = bytes.p[bytes.n - 1] != '\n';
}

static void read_some(cw_lines *l)
{
    char *room = cw_buf_reserve(&l->buffer, READ_BYTES);
    bool is_short = !room;
    if (is_short) {
        /* No memory: this line cannot be had, but what follows it may. */
        bool was_skipping = l->is_skipping;
        l->buffer.code = CW_OK;
        room = l->loop->scratch;
        if (!was_skipping)
            drop_line(l, CW_NOMEM);
        if (l->is_closing)
            return;
    }
    ssize_t n = read(l->in.fd, room, is_short ? CW_LOOP_SCRATCH : READ_BYTES);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        watch_input(l);
        return;
    }
    if (n <= 0)
        send_last(l);
    else if (is_short)
        lose(l, cw_str_make(room, (size_t)n));
    else
        cw_buf_commit(&l->buffer, (size_t)n);
    if (!l->is_closing)
        proceed(l);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    cw_lines *l = poll->data;
    (void)events;
    /* libuv stops watching what is broken; reading tells what is wrong. */
    if (status < 0)
        l->in.is_polled = false;
    read_some(l);
}

/* Whether the buffer has a line that may be handed out, or its end may be told. */
static bool has_lines(const cw_lines *l)
{
    return !l->is_paused && !l->is_ended && (l->is_last || l->looked < l->buffer.n);
}

static void on_again(uv_idle_t *again)
{
    cw_lines *l = again->data;
    uv_idle_stop(again);
    if (has_lines(l))
        proceed(l);
    else if (l->in.is_plain && !l->is_last)
        read_some(l);
}

/* While others are busy with the lines before, one more line is read ahead and not two. */
static bool wants_more(const cw_lines *l)
{
    return !l->is_last && (!l->is_paused || l->buffer.n <= l->max_line);
}

static void watch_input(cw_lines *l)
{
    bool more = wants_more(l);
    if (has_lines(l) || (more && l->in.is_plain))
        uv_idle_start(&l->again, on_again);
    if (l->in.is_plain || more == l->in.is_polled)
        return;
    l->in.is_polled = more;
    if (more)
        uv_poll_start(&l->in.poll, UV_READABLE, on_readable);
    else
        uv_poll_stop(&l->in.poll);
}

/* ---- the output ---- */

static size_t collect(const cw_lines *l, struct iovec *parts)
{
    static char end[] = "\n";
    size_t n = 0, skip = l->sent;
    for (const cw_line *line = l->first; line && n < 2u * WRITE_LINES; line = line->next) {
        char *text = (char *)(uintptr_t)line->text.p;
        if (skip < line->text.n)
            parts[n++] = (struct iovec){text + skip, line->text.n - skip};
        parts[n++] = (struct iovec){end, 1};
        skip = 0;
    }
    return n;
}

static void leave_first(cw_lines *l)
{
    cw_line *line = l->first;
    l->first = line->next;
    if (!l->first)
        l->last = &l->first;
    l->sent = 0;
    line->on_left(line);
}

static void take_off(cw_lines *l, size_t n)
{
    l->queued -= n;
    l->sent += n;
    while (l->first && l->sent > l->first->text.n) {
        size_t over = l->sent - l->first->text.n - 1;
        leave_first(l);
        l->sent = over;
    }
}

static void drop_queue(cw_lines *l)
{
    while (l->first)
        leave_first(l);
    l->queued = 0;
}

static void on_writable(uv_poll_t *poll, int status, int events);

static void watch_output(cw_lines *l)
{
    bool wants = l->first && !l->is_deaf;
    if (l->out.is_plain || wants == l->out.is_polled)
        return;
    l->out.is_polled = wants;
    if (wants)
        uv_poll_start(&l->out.poll, UV_WRITABLE, on_writable);
    else
        uv_poll_stop(&l->out.poll);
}

/* The reader is gone (or the disk is full): drop the lines that wait. */
static void go_deaf(cw_lines *l)
{
    if (l->is_deaf)
        return;
    l->is_deaf = true;
    drop_queue(l);
    watch_output(l);
    if (!l->is_closing)
        l->ops->on_end(l, CW_IO);
}

static void flush(cw_lines *l)
{
    struct iovec parts[2u * WRITE_LINES + 1];
    if (l->is_deaf)
        drop_queue(l);
    while (l->first && !l->is_deaf) {
        ssize_t n = writev(l->out.fd, parts, (int)collect(l, parts));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            go_deaf(l);
            return;
        }
        take_off(l, (size_t)n);
    }
    watch_output(l);
    if (!l->was_full || cw_lines_is_full(l))
        return;
    l->was_full = false;
    l->ops->on_drained(l);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    cw_lines *l = poll->data;
    (void)events;
    /* As above: writing tells what is wrong. */
    if (status < 0)
        l->out.is_polled = false;
    flush(l);
}

static void on_flush(cw_deferred *later)
{
    flush(CW_CONTAINER(later, cw_lines, flush));
}

void cw_lines_send(cw_lines *l, cw_line *line)
{
    line->next = NULL;
    *l->last = line;
    l->last = &line->next;
    l->queued += line->text.n + 1;
    if (cw_lines_is_full(l))
        l->was_full = true;
    cw_loop_defer(l->loop, &l->flush);
}

bool cw_lines_is_full(const cw_lines *l)
{
    return l->queued >= l->max_queue;
}

bool cw_lines_has_queue(const cw_lines *l)
{
    return l->first != NULL;
}

/* ---- both ---- */

void cw_lines_pause(cw_lines *l, bool is_paused)
{
    if (l->is_paused == is_paused || l->is_closing)
        return;
    l->is_paused = is_paused;
    watch_input(l);
}

bool cw_lines_is_paused(const cw_lines *l)
{
    return l->is_paused;
}

bool cw_lines_is_file(const cw_lines *l)
{
    return l->in.is_plain;
}

static void on_closed(uv_handle_t *handle)
{
    cw_lines *l = handle->data;
    if (--l->open_handles > 0)
        return;
    cw_buf_done(&l->buffer);
    if (l->ops)
        l->ops->on_closed(l);
}

static void close_end(cw_lines_end *e)
{
    if (e->is_open)
        uv_close((uv_handle_t *)&e->poll, on_closed);
    e->is_open = false;
    release_end(e);
}

void cw_lines_close(cw_lines *l)
{
    if (l->is_closing)
        return;
    l->is_closing = true;
    cw_loop_cancel_deferred(&l->flush);
    drop_queue(l);
    uv_close((uv_handle_t *)&l->again, on_closed);
    close_end(&l->in);
    close_end(&l->out);
}

cw_code cw_lines_open(cw_lines *l, cw_loop *loop, const cw_lines_opts *opts,
                      const cw_lines_ops *ops, cw_err *err)
{
    *l = (cw_lines){.loop = loop, .max_line = opts->max_line, .max_queue = opts->max_queue};
    l->in.fd = l->in.shared = l->out.fd = l->out.shared = -1;
    l->last = &l->first;
    l->flush.fn = on_flush;
    cw_buf_init(&l->buffer, CW_BUF_MAX);
    cw_code rc = copy_end(&l->in, opts->in, /* is_input= */ true, err);
    if (!rc)
        rc = copy_end(&l->out, opts->out, /* is_input= */ false, err);
    uv_idle_init(&loop->uv, &l->again);
    l->again.data = l;
    l->open_handles = 1;
    if (!rc)
        rc = open_end(l, &l->in, err);
    if (!rc)
        rc = open_end(l, &l->out, err);
    l->ops = ops;
    if (!rc)
        watch_input(l);
    return rc;
}
