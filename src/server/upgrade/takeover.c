/* SPDX-License-Identifier: GPL-2.0-or-later */
/* takeover.c - the old process of a take-over: starts its successor and hands its listeners over. */
#include "server/upgrade/takeover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "server/upgrade/packet.h"

#define COMMAND_MAX ((size_t)4 << 20)

extern char **environ;

/* ---- the program ---- */

static cw_code split_arguments(cw_program *p, size_t n, cw_err *err)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        count += p->bytes[i] == '\0';
    p->argv = calloc(count + 1, sizeof *p->argv);
    if (!p->argv)
        return cw_fail_nomem(err);
    for (size_t i = 0; i < count; i++) {
        p->argv[i] = p->bytes + at;
        at += strlen(p->argv[i]) + 1;
    }
    return count ? CW_OK : cw_fail(err, CW_IO, "the command line of this process is not known");
}

/* A name without "/" is searched in $PATH when the program is started. */
static cw_code complete_path(cw_program *p, cw_err *err)
{
    const char *name = p->argv[0];
    char folder[4096];
    bool is_relative = name[0] != '/' && strchr(name, '/');
    if (!is_relative)
        p->path = strdup(name);
    else if (!getcwd(folder, sizeof folder))
        return cw_fail_errno(err, errno, "the working directory");
    else if (asprintf(&p->path, "%s/%s", folder, name) < 0)
        p->path = NULL;
    return p->path ? CW_OK : cw_fail_nomem(err);
}

cw_code cw_program_read(cw_program *p, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    *p = (cw_program){0};
    cw_buf_init(&text, COMMAND_MAX);
    cw_code rc = cw_file_read("/proc/self/cmdline", CW_FILE_ANY, &text, err);
    if (rc)
        return rc;
    p->bytes = malloc(text.n + 1);
    if (!p->bytes)
        return cw_fail_nomem(err);
    memcpy(p->bytes, text.p, text.n);
    p->bytes[text.n] = '\0';
    rc = split_arguments(p, text.n, err);
    if (!rc)
        rc = complete_path(p, err);
    if (rc)
        cw_program_done(p);
    return rc;
}

void cw_program_done(cw_program *p)
{
    free(p->path);
    free(p->argv);
    free(p->bytes);
    *p = (cw_program){0};
}

/* ---- one take-over ---- */

typedef enum state { STARTING, WAITING_HELLO, WAITING_READY, WAITING_STARTED, OVER } state;

struct cw_takeover {
    cw_takeover_opts opts;
    cw_takeover_result result;
    state state;
    int fd;       /* ours */
    int child_fd; /* the other end, until the child has it; -1 */
    const char **env;
    cw_spawn job;
    cw_child child;
    uv_poll_t poll;
    uv_timer_t timer;
    unsigned n_open; /* handles that are not closed, and the child */
    bool has_child, is_closing;
};

static void free_if_closed(cw_takeover *t)
{
    if (!t->is_closing || t->n_open)
        return;
    free(t->env);
    free(t);
}

static void on_handle_closed(uv_handle_t *handle)
{
    cw_takeover *t = handle->data;
    t->n_open--;
    free_if_closed(t);
}

static void on_child_closed(cw_child *child, void *ctx)
{
    (void)child;
    cw_takeover *t = ctx;
    t->n_open--;
    free_if_closed(t);
}

/* The end of both handles and of the socket; the new process sees that. */
static void close_handles(cw_takeover *t)
{
    if (t->fd < 0)
        return;
    uv_close((uv_handle_t *)&t->poll, on_handle_closed);
    uv_close((uv_handle_t *)&t->timer, on_handle_closed);
    close(t->fd);
    t->fd = -1;
    if (t->child_fd >= 0)
        close(t->child_fd);
    t->child_fd = -1;
}

/* `done` comes last: it may close the take-over. */
static void finish(cw_takeover *t, pid_t pid)
{
    if (t->state == OVER)
        return;
    t->state = OVER;
    t->result.pid = pid;
    uv_poll_stop(&t->poll);
    uv_timer_stop(&t->timer);
    t->opts.done(&t->result, t->opts.ctx);
}

static void fail(cw_takeover *t, cw_str problem)
{
    size_t n = problem.n < CW_TAKEOVER_PROBLEM ? problem.n : CW_TAKEOVER_PROBLEM - 1;
    if (t->state == OVER)
        return;
    memcpy(t->result.problem, problem.p, n);
    t->result.problem[n] = '\0';
    finish(t, 0);
}

static void fail_because(cw_takeover *t, const cw_err *err)
{
    fail(t, cw_str_from(err->msg));
}

/* ---- messages ---- */

static cw_code send_listener(const cw_takeover *t, const cw_listener *l, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf buf;
    cw_json_writer w;
    cw_buf_init(&buf, CW_PACKET_MAX);
    cw_packet_open(&w, &buf, "listener");
    cw_json_add_string_member(&w, CW_STR("configured"), cw_str_from(l->configured));
    cw_json_add_bool_member(&w, CW_STR("local"), l->is_local);
    cw_json_add_bool_member(&w, CW_STR("inherited"), l->inherited);
    cw_json_add_bool_member(&w, CW_STR("file"), l->has_file);
    cw_json_add_i64_member(&w, CW_STR("major"), (int64_t)major(l->file_dev));
    cw_json_add_i64_member(&w, CW_STR("minor"), (int64_t)minor(l->file_dev));
    cw_json_add_i64_member(&w, CW_STR("inode"), (int64_t)l->file_ino);
    return cw_packet_send(t->fd, &w, &buf, l->fds, l->n_fds, err);
}

/* The state that follows later has hashes in it. */
static cw_code send_end(const cw_takeover *t, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf buf;
    cw_json_writer w;
    uint64_t seed[2];
    cw_buf_init(&buf, CW_PACKET_MAX);
    cw_packet_open(&w, &buf, "end");
    cw_hash_secret(seed);
    cw_json_add_i64_member(&w, CW_STR("seed0"), (int64_t)seed[0]);
    cw_json_add_i64_member(&w, CW_STR("seed1"), (int64_t)seed[1]);
    cw_code rc = cw_packet_send(t->fd, &w, &buf, NULL, 0, err);
    explicit_bzero(seed, sizeof seed);
    return rc;
}

static void on_hello(cw_takeover *t, const cw_packet *p)
{
    cw_err err = {0};
    size_t n = 0;
    cw_str version = cw_packet_text(p, "version");
    if (cw_packet_number(p, "protocol") != CW_PACKET_PROTOCOL) {
        fail(t, CW_STR("the new program is of a version that cannot take over"));
        return;
    }
    snprintf(t->result.version, sizeof t->result.version, "%.*s", CW_STR_ARG(version));
    const cw_listener *all = cw_server_listeners(t->opts.server, &n);
    cw_code rc = CW_OK;
    for (size_t i = 0; i < n && !rc; i++)
        rc = send_listener(t, &all[i], &err);
    if (!rc)
        rc = send_end(t, &err);
    if (rc)
        fail_because(t, &err);
    else
        t->state = WAITING_READY;
}

static void on_ready(cw_takeover *t)
{
    cw_err err = {0};
    if (cw_packet_send_type(t->fd, "go", &err))
        fail_because(t, &err);
    else
        t->state = WAITING_STARTED;
}

static void on_packet(cw_takeover *t, const cw_packet *p)
{
    if (cw_str_is(p->type, "failed"))
        fail(t, cw_packet_text(p, "problem"));
    else if (cw_str_is(p->type, "hello") && t->state == WAITING_HELLO)
        on_hello(t, p);
    else if (cw_str_is(p->type, "ready") && t->state == WAITING_READY)
        on_ready(t);
    else if (cw_str_is(p->type, "started") && t->state == WAITING_STARTED)
        finish(t, t->child.pid);
    else
        fail(t, CW_STR("the new program sent an unexpected message"));
}

static void receive_all(cw_takeover *t)
{
    cw_packet p;
    cw_err err = {0};
    while (t->state != OVER) {
        cw_code rc = cw_packet_receive(t->fd, &p, &err);
        if (rc == CW_GONE)
            uv_poll_stop(&t->poll); /* its exit tells more, or the timer ends it */
        else if (rc && rc != CW_AGAIN)
            fail_because(t, &err);
        if (rc)
            return;
        on_packet(t, &p);
        cw_packet_done(&p);
    }
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    receive_all(poll->data);
}

/* ---- the child ---- */

static void on_exit_of_child(cw_child *child, int status, void *ctx)
{
    cw_takeover *t = ctx;
    char how[64], problem[128];
    (void)child;
    receive_all(t); /* it may have sent a reason just before */
    snprintf(problem, sizeof problem, "the new process %s; its log may have the reason",
             cw_child_status_text(status, how, sizeof how));
    fail(t, cw_str_from(problem));
}

static void on_spawned(cw_spawn *job)
{
    cw_takeover *t = job->ctx;
    cw_err err = {0};
    close(t->child_fd);
    t->child_fd = -1;
    if (job->code) {
        fail_because(t, &job->err);
        return;
    }
    if (cw_child_watch(&t->child, job, on_exit_of_child, t, &err)) {
        fail_because(t, &err);
        return;
    }
    t->has_child = true;
    t->n_open++;
    t->state = WAITING_HELLO;
    uv_poll_start(&t->poll, UV_READABLE, on_readable);
}

static void on_late(uv_timer_t *timer)
{
    cw_takeover *t = timer->data;
    fail(t, t->state == WAITING_HELLO
                ? CW_STR("the new program does not take over: it is of an older version, or hangs")
                : CW_STR("the new process was not ready in time"));
}

/* ---- begin and end ---- */

/* Variables that are meant for this process alone. */
static bool is_own(const char *variable)
{
    static const char *const names[] = {"CAUSEWAY_TAKEOVER=", "WATCHDOG_PID=",   "LISTEN_PID=",
                                        "LISTEN_FDS=",        "LISTEN_FDNAMES=", "CAUSEWAY_CHILD="};
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

static cw_code make_environment(cw_takeover *t, cw_err *err)
{
    size_t n = 0, count = 0;
    while (environ[n])
        n++;
    t->env = calloc(n + 2, sizeof *t->env);
    if (!t->env)
        return cw_fail_nomem(err);
    for (size_t i = 0; i < n; i++) {
        if (!is_own(environ[i]))
            t->env[count++] = environ[i];
    }
    t->env[count] = "CAUSEWAY_TAKEOVER=3";
    return CW_OK;
}

static cw_code open_sockets(cw_takeover *t, cw_err *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
        return cw_fail_errno(err, errno, "a pair of sockets");
    int rc = uv_poll_init(&t->opts.loop->uv, &t->poll, ends[0]);
    if (rc) {
        close(ends[0]);
        close(ends[1]);
        return cw_fail(err, CW_IO, "watch a socket: %s", uv_strerror(rc));
    }
    t->fd = ends[0];
    t->child_fd = ends[1];
    uv_timer_init(&t->opts.loop->uv, &t->timer);
    t->poll.data = t->timer.data = t;
    t->n_open = 2;
    return CW_OK;
}

static cw_code ask_for_child(cw_takeover *t, cw_err *err)
{
    static const int stdio[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    const cw_program *program = t->opts.program;
    t->job = (cw_spawn){.path = program->path,
                        .argv = (const char *const *)program->argv,
                        .env = t->env,
                        .fds = {t->child_fd},
                        .n_fds = 1,
                        .stdio = stdio,
                        .searches_path = true,
                        .is_independent = true,
                        .loop = t->opts.loop,
                        .done = on_spawned,
                        .ctx = t};
    cw_code rc = cw_spawner_ask(t->opts.spawner, &t->job, err);
    if (!rc)
        uv_timer_start(&t->timer, on_late, t->opts.timeout_ms, 0);
    return rc;
}

cw_code cw_takeover_start(const cw_takeover_opts *opts, cw_takeover **ret, cw_err *err)
{
    cw_takeover *t = calloc(1, sizeof *t);
    if (!t)
        return cw_fail_nomem(err);
    *t = (cw_takeover){.opts = *opts, .fd = -1, .child_fd = -1};
    cw_code rc = make_environment(t, err);
    if (!rc)
        rc = open_sockets(t, err);
    if (!rc)
        rc = ask_for_child(t, err);
    if (!rc) {
        *ret = t;
        return CW_OK;
    }
    t->state = OVER;
    cw_takeover_close(t);
    return rc;
}

int cw_takeover_let_go(cw_takeover *t, int state_fd)
{
    CW_CLEANUP(cw_buf_done) cw_buf buf;
    cw_json_writer w;
    cw_err err = {0};
    cw_buf_init(&buf, CW_PACKET_MAX);
    cw_packet_open(&w, &buf, "done");
    if (cw_packet_send(t->fd, &w, &buf, &state_fd, state_fd >= 0, &err))
        cw_log_err(CW_LOG_WARN, "serve", "the new process does not listen", &err);
    return fcntl(t->fd, F_DUPFD_CLOEXEC, 0);
}

void cw_takeover_signal(cw_takeover *t, int signum)
{
    if (t->has_child)
        cw_child_signal(&t->child, signum);
}

void cw_takeover_write_result(const cw_takeover_result *result, cw_json_writer *out)
{
    cw_json_add_bool_member(out, CW_STR("upgraded"), result->pid != 0);
    if (result->pid) {
        cw_json_add_i64_member(out, CW_STR("pid"), result->pid);
        cw_json_add_string_member(out, CW_STR("version"), cw_str_from(result->version));
    } else {
        cw_json_add_string_member(out, CW_STR("problem"), cw_str_from(result->problem));
    }
}

void cw_takeover_close(cw_takeover *t)
{
    if (!t || t->is_closing)
        return;
    t->is_closing = true;
    cw_spawner_cancel(t->opts.spawner, &t->job);
    fail(t, CW_STR("the server is stopping"));
    close_handles(t);
    if (t->has_child && t->result.pid)
        cw_child_release(&t->child, on_child_closed);
    else if (t->has_child)
        cw_child_close(&t->child, on_child_closed);
    free_if_closed(t);
}
