/* SPDX-License-Identifier: GPL-2.0-or-later */
/* worker.c - one host process: its start, its socket, its end.
 *
 *     STARTING --$/ready--> READY --end of its socket--> ENDING --exit--> DEAD --> CLOSED
 *
 * Three things may be open, in any combination: the requested start, the socket and
 * the process. The memory may be freed when none is. The socket ends a moment before
 * the exit, which has the reason. So the exit is awaited, briefly.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "metrics/process.h"
#include "source/plugin/plugin_int.h"

/* Room for requests that the socket cannot take immediately, besides one of the largest. */
#define QUEUE_BYTES (1024u * 1024u)

static void check_closed(cw_worker *w)
{
    if (w->state == CW_WORKER_CLOSED && !w->is_spawning && !w->has_frames && !w->has_child)
        w->ops->on_closed(w);
}

CW_PRINTF(2, 3) static void die(cw_worker *w, const char *fmt, ...)
{
    if (w->state >= CW_WORKER_DEAD)
        return;
    w->state = CW_WORKER_DEAD;
    cw_deadline_clear(&w->wait);
    char pid[16] = "";
    if (w->child.pid)
        snprintf(pid, sizeof pid, "%d ", (int)w->child.pid);
    int n = snprintf(w->detail, sizeof w->detail, "%.*s: worker %s",
                     CW_STR_ARG(w->plugin->base.name), pid);
    if (n > 0 && (size_t)n < sizeof w->detail) {
        va_list args;
        va_start(args, fmt);
        vsnprintf(w->detail + n, sizeof w->detail - (size_t)n, fmt, args);
        va_end(args);
    }
    cw_log(CW_LOG_DEBUG, "plugin", w->detail);
    w->ops->on_dead(w);
    cw_worker_close(w, /* now= */ true);
}

/* ---- the process ---- */

/* Close the descriptors of the process: it has copies by now, or was not started. */
static void close_given(cw_worker *w)
{
    close(w->host_fd);
    close(w->stdio[STDOUT_FILENO]);
    w->host_fd = -1;
}

static void close_output(cw_worker *w)
{
    cw_child_output_close(w->output);
    w->output = NULL;
}

static void on_child_closed(cw_child *child, void *ctx)
{
    (void)child;
    cw_worker *w = ctx;
    close_output(w);
    cw_spawner_sweep(w->spawner, w->spawn.mark);
    cw_spawner_unref(w->spawner);
    w->has_child = false;
    check_closed(w);
}

static void on_child_exit(cw_child *child, int status, void *ctx)
{
    cw_worker *w = ctx;
    cw_metrics_child_remove(child->pid);
    close_output(w);
    if (w->state == CW_WORKER_CLOSED) {
        cw_deadline_clear(&w->wait);
        cw_child_close(child, on_child_closed);
        return;
    }
    w->ran_out = !w->killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    /* Responses that it sent before it died count. */
    cw_frames_drain(&w->frames);
    char text[64];
    die(w, "%s%s", w->frames.in.n ? "ended inside a frame, " : "",
        cw_child_status_text(status, text, sizeof text));
}

static void on_spawned(cw_spawn *job)
{
    cw_worker *w = job->ctx;
    w->is_spawning = false;
    close_given(w);
    cw_err err;
    cw_code rc = job->code;
    if (rc) {
        err = job->err;
    } else {
        rc = cw_child_watch(&w->child, job, on_child_exit, w, &err);
        w->has_child = !rc;
        if (w->has_child)
            cw_metrics_child_add(cw_source_slot(&w->plugin->base), w->child.pid);
    }
    if (rc)
        close_output(w);
    else
        w->spawner = cw_spawner_ref(w->plugin->opts.spawner);
    if (w->state == CW_WORKER_CLOSED) {
        if (w->has_child)
            cw_child_close(&w->child, on_child_closed);
        check_closed(w);
        return;
    }
    if (rc) {
        w->refused = true;
        die(w, "cannot be started: %s", err.msg);
    }
}

/* ---- the socket ---- */

/* The problems of a $/failed, one a line. */
static void log_problems(cw_worker *w, const cw_json *params)
{
    cw_buf text;
    cw_buf_init(&text, 64u * 1024u);
    const cw_json *list = cw_json_get(params, CW_STR("problems"));
    for (const cw_json *v = list ? cw_json_first(list) : NULL; v; v = cw_json_next(v)) {
        if (text.n)
            cw_buf_add_char(&text, '\n');
        cw_buf_add(&text, cw_json_text(v));
    }
    if (w->ops->on_failed)
        w->ops->on_failed(w, cw_buf_str(&text), cw_json_get(params, CW_STR("partial")));
    die(w, "cannot load the plugin: %.*s", (int)(text.n < 160 ? text.n : 160),
        text.n ? text.p : "");
    cw_buf_done(&text);
}

static void on_ready(cw_worker *w)
{
    w->state = CW_WORKER_READY;
    w->was_ready = true;
    cw_deadline_clear(&w->wait);
    w->ops->on_ready(w);
}

/* A message that belongs to no call. */
static void on_message(cw_worker *w, cw_str body)
{
    cw_arena arena;
    cw_arena_init(&arena, 16u * body.n + 128u * 1024u);
    const cw_json *root;
    cw_code rc = cw_json_read(body, NULL, &arena, &root, NULL, NULL);
    const cw_json *method = rc ? NULL : cw_json_get(root, CW_STR("method"));
    cw_str name = method ? cw_json_text(method) : CW_STR("");
    const cw_json *params = rc ? NULL : cw_json_get(root, CW_STR("params"));
    bool starting = w->state == CW_WORKER_STARTING;
    if (rc == CW_NOMEM)
        die(w, "sent a message for which there was no memory");
    else if (starting && cw_str_is(name, "$/ready"))
        on_ready(w);
    else if (starting && cw_str_is(name, "$/failed"))
        log_problems(w, params);
    else if ((starting && !cw_str_is(name, "$/log")) ||
             !cw_plugin_read_change(w->plugin, name, params))
        die(w, "sent a frame that means nothing");
    cw_arena_done(&arena);
}

static void on_frame(cw_frames *f, uint64_t id, cw_str body)
{
    cw_worker *w = CW_CONTAINER(f, cw_worker, frames);
    if (id == 0)
        on_message(w, body);
    else if (w->state == CW_WORKER_READY)
        w->ops->on_frame(w, id, body);
    else
        die(w, "sent a frame before it was ready");
}

static void on_end(cw_frames *f, cw_code why)
{
    cw_worker *w = CW_CONTAINER(f, cw_worker, frames);
    if (why == CW_LIMIT) {
        die(w, "sent a frame of more than %zu bytes", f->max_body);
        return;
    }
    if (why != CW_GONE && why != CW_INVALID) {
        die(w, "lost its connection: %s", cw_code_text(why));
        return;
    }
    w->state = CW_WORKER_ENDING;
    if (!w->has_child || !w->child.exited)
        cw_loop_set_deadline(w->loop, &w->wait, &w->timers->linger);
}

static void on_frames_closed(cw_frames *f)
{
    cw_worker *w = CW_CONTAINER(f, cw_worker, frames);
    w->has_frames = false;
    check_closed(w);
}

static const cw_frames_ops frames_ops = {on_frame, on_end, on_frames_closed};

/* ---- time limits ---- */

static void on_load_expired(cw_deadline *d)
{
    cw_worker *w = CW_CONTAINER(d, cw_worker, wait);
    w->is_late = true;
    die(w, "did not answer within %u ms", (unsigned)w->plugin->opts.load_ms);
}

static void on_linger_expired(cw_deadline *d)
{
    cw_worker *w = CW_CONTAINER(d, cw_worker, wait);
    die(w, "%s", w->frames.in.n ? "ended inside a frame" : "closed its socket");
}

static void on_leave_expired(cw_deadline *d)
{
    cw_worker *w = CW_CONTAINER(d, cw_worker, wait);
    cw_child_close(&w->child, on_child_closed);
}

void cw_worker_timers_init(cw_worker_timers *t, cw_loop *loop, const cw_plugin_opts *opts)
{
    cw_deadline_list_init(&t->load, opts->load_ms, on_load_expired);
    cw_deadline_list_init(&t->linger, CW_PLUGIN_LINGER_MS, on_linger_expired);
    cw_deadline_list_init(&t->leave, opts->grace_ms, on_leave_expired);
    cw_loop_watch(loop, &t->load);
    cw_loop_watch(loop, &t->linger);
    cw_loop_watch(loop, &t->leave);
}

void cw_worker_timers_done(cw_worker_timers *t, cw_loop *loop)
{
    cw_loop_unwatch(loop, &t->load);
    cw_loop_unwatch(loop, &t->linger);
    cw_loop_unwatch(loop, &t->leave);
}

/* ---- start and end ---- */

static cw_code make_pair(int *ret_ours, int *ret_theirs, cw_err *err)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return errno == EMFILE || errno == ENFILE
                   ? cw_fail(err, CW_LIMIT, "socketpair: %s", strerror(errno))
                   : cw_fail_errno(err, errno, "socketpair");
    /* The other end stays blocking: the host waits in read. */
    if (fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0) {
        int errnum = errno;
        close(fds[0]);
        close(fds[1]);
        return cw_fail_errno(err, errnum, "fcntl");
    }
    *ret_ours = fds[0];
    *ret_theirs = fds[1];
    return CW_OK;
}

cw_code cw_worker_start(cw_worker *w, cw_plugin *p, cw_loop *loop, cw_worker_timers *timers,
                        const cw_worker_ops *ops, cw_err *err)
{
    w->plugin = p;
    w->loop = loop;
    w->timers = timers;
    w->ops = ops;
    w->sent.prev = w->sent.next = &w->sent;
    w->child.pidfd = -1;
    int ours;
    cw_code rc = make_pair(&ours, &w->host_fd, err);
    if (rc)
        return rc;
    w->stdio[STDIN_FILENO] = -1;
    rc = cw_child_output_open(&p->output, loop, &w->output, &w->stdio[STDOUT_FILENO], err);
    if (rc) {
        close(ours);
        close(w->host_fd);
        return rc;
    }
    w->stdio[STDERR_FILENO] = w->stdio[STDOUT_FILENO];
    w->spawn = (cw_spawn){
        .path = p->opts.host,
        .argv = p->argv,
        .env = p->env,
        .fds = {w->host_fd, p->file},
        .n_fds = 2,
        .stdio = w->stdio,
        .has_own_group = true,
        .is_launcher = true,
        .loop = loop,
        .done = on_spawned,
        .ctx = w,
    };
    rc = cw_spawner_ask(p->opts.spawner, &w->spawn, err);
    if (rc) {
        close(ours);
        close_given(w);
        close_output(w);
        return rc;
    }
    rc = cw_frames_open(&w->frames, loop, ours, p->opts.frame_size,
                        p->opts.frame_size + QUEUE_BYTES, &frames_ops, err);
    if (rc) {
        cw_spawner_cancel(p->opts.spawner, &w->spawn);
        close_given(w);
        close_output(w);
        return rc;
    }
    w->has_frames = w->is_spawning = true;
    cw_loop_set_deadline(loop, &w->wait, &timers->load);
    return CW_OK;
}

void cw_worker_fail(cw_worker *w, const char *why)
{
    die(w, "%s", why);
}

void cw_worker_close(cw_worker *w, bool now)
{
    bool first = w->state != CW_WORKER_CLOSED;
    w->state = CW_WORKER_CLOSED;
    if (first || now)
        cw_deadline_clear(&w->wait);
    if (first && w->has_frames)
        cw_frames_close(&w->frames);
    if (now && w->is_spawning) {
        cw_spawner_cancel(w->plugin->opts.spawner, &w->spawn);
        close_given(w);
        close_output(w);
        w->is_spawning = false;
    }
    if (w->has_child && (now || w->child.exited))
        cw_child_close(&w->child, on_child_closed);
    else if (w->has_child && first)
        cw_loop_set_deadline(w->loop, &w->wait, &w->timers->leave);
    check_closed(w);
}
