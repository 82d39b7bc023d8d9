/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child_output.c - lines of a pipe to lines of the log. */
#include "net/process/child_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"

#define MINUTE_MS 60000u
/* Reads at the end: a child of the child may still hold the pipe and write. */
#define LAST_READS 16u

struct cw_child_output {
    uv_poll_t poll;
    cw_child_output_log *log;
    cw_loop *loop;
    int fd;
    size_t n;
    char line[CW_CHILD_OUTPUT_LINE + 4]; /* so that the last character can be seen whole */
};

/* ---- the log ---- */

void cw_child_output_log_init(cw_child_output_log *log, const char *component, const char *what,
                              cw_str name, const cw_secrets *secrets, unsigned lines)
{
    *log = (cw_child_output_log){.component = component,
                                 .what = what,
                                 .name = name,
                                 .secrets = secrets,
                                 .lines = lines,
                                 .since = cw_clock_ms()};
    pthread_mutex_init(&log->lock, NULL);
}

static void report_left_out(const cw_child_output_log *log, uint64_t n)
{
    char text[64];
    if (n == 0)
        return;
    snprintf(text, sizeof text, "lines of %s left out", log->what);
    cw_log(CW_LOG_WARN, log->component, text, CW_KV(log->component, log->name), CW_KN("lines", n));
}

void cw_child_output_log_done(cw_child_output_log *log)
{
    report_left_out(log, log->left_out);
    pthread_mutex_destroy(&log->lock);
}

/* Whether this minute has room for another line. *ret_left_out is the count of the last one. */
static bool has_room(cw_child_output_log *log, uint64_t *ret_left_out)
{
    uint64_t now = cw_clock_ms();
    *ret_left_out = 0;
    pthread_mutex_lock(&log->lock);
    if (cw_clock_since(now, log->since) >= MINUTE_MS) {
        *ret_left_out = log->left_out;
        log->since = now;
        log->reported = 0;
        log->left_out = 0;
    }
    bool room = log->reported < log->lines;
    log->reported += room;
    log->left_out += !room;
    pthread_mutex_unlock(&log->lock);
    return room;
}

/* ---- lines ---- */

static void end_line(cw_child_output *o)
{
    cw_child_output_log *log = o->log;
    cw_str text = {o->line, o->n};
    text.n = cw_utf8_cut(text, CW_CHILD_OUTPUT_LINE);
    if (text.n < o->n)
        text.n = cw_secrets_cut(log->secrets, text);
    text = cw_str_trim(text);
    o->n = 0;
    if (text.n == 0)
        return;
    uint64_t left_out;
    bool room = has_room(log, &left_out);
    report_left_out(log, left_out);
    if (!room)
        return;
    CW_CLEANUP(cw_buf_done) cw_buf exposed;
    cw_buf_init(&exposed, CW_BUF_MAX);
    cw_secrets_write(log->secrets, text, &exposed);
    cw_log(CW_LOG_INFO, log->component, log->what, CW_KV(log->component, log->name),
           CW_KV("text", cw_buf_str(&exposed)));
}

static void add(cw_child_output *o, char c)
{
    if (o->n == sizeof o->line)
        return;
    bool is_control = (unsigned char)c < 0x20 || c == 0x7F;
    o->line[o->n++] = (char)(is_control ? ' ' : c);
}

static void add_bytes(cw_child_output *o, cw_str bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        if (bytes.p[i] == '\n')
            end_line(o);
        else
            add(o, bytes.p[i]);
    }
}

/* ---- the pipe ---- */

/* As read does. */
static ssize_t read_once(cw_child_output *o)
{
    char *scratch = o->loop->scratch;
    ssize_t n = read(o->fd, scratch, CW_LOOP_SCRATCH);
    if (n > 0)
        add_bytes(o, cw_str_make(scratch, (size_t)n));
    return n;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    cw_child_output *o = poll->data;
    (void)status;
    (void)events;
    ssize_t n = read_once(o);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        uv_poll_stop(poll);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static cw_code make_pipe(int fds[2], cw_err *err)
{
    if (pipe2(fds, O_CLOEXEC) == 0)
        return CW_OK;
    if (errno == EMFILE || errno == ENFILE)
        return cw_fail(err, CW_LIMIT, "pipe: %s", strerror(errno));
    return cw_fail_errno(err, errno, "pipe");
}

cw_code cw_child_output_open(cw_child_output_log *log, cw_loop *loop, cw_child_output **ret,
                             int *ret_fd, cw_err *err)
{
    int fds[2];
    cw_child_output *o = calloc(1, sizeof *o);
    cw_code rc = o ? make_pipe(fds, err) : cw_fail_nomem(err);
    if (rc) {
        free(o);
        return rc;
    }
    /* It becomes non-blocking; the end of the child is another file and stays as it is. */
    int status = uv_poll_init(&loop->uv, &o->poll, fds[0]);
    if (status) {
        close(fds[0]);
        close(fds[1]);
        free(o);
        return cw_fail(err, status == UV_ENOMEM ? CW_NOMEM : CW_IO, "poll: %s",
                       uv_strerror(status));
    }
    o->poll.data = o;
    o->log = log;
    o->loop = loop;
    o->fd = fds[0];
    uv_poll_start(&o->poll, UV_READABLE, on_readable);
    *ret = o;
    *ret_fd = fds[1];
    return CW_OK;
}

void cw_child_output_close(cw_child_output *o)
{
    if (!o)
        return;
    for (unsigned i = 0; i < LAST_READS && read_once(o) > 0; i++)
        continue;
    end_line(o);
    uv_close((uv_handle_t *)&o->poll, on_closed);
    close(o->fd);
}
