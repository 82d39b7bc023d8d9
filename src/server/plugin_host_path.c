/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_host_path.c - finding causeway-plugin-host, and running it as a child. */
#include "server/plugin_host_path.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/paths.h"

#define PROGRAM "causeway-plugin-host"
#define PATH_BYTES 4096u
#define OUTPUT_MAX_BYTES (64u * 1024u * 1024u)
#define READ_BYTES 65536u
#define LOOK_MS 20u /* how often to look whether the child has exited */

/* ---- where it is ---- */

cw_code cw_plugin_host_own_directory(char *out, size_t n, cw_err *err)
{
    ssize_t got = readlink("/proc/self/exe", out, n - 1);
    if (got < 0)
        return cw_fail_errno(err, errno, "/proc/self/exe");
    out[got] = '\0';
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
    return CW_OK;
}

static cw_code look_up(char *out, size_t n, cw_err *err)
{
    static const char *const below[] = {"", "/src/host"};
    char folder[PATH_BYTES];
    cw_code rc = cw_plugin_host_own_directory(folder, sizeof folder, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < CW_COUNT(below); i++) {
        int length = snprintf(out, n, "%s%s/" PROGRAM, folder, below[i]);
        if (length > 0 && (size_t)length < n && access(out, X_OK) == 0)
            return CW_OK;
    }
    snprintf(out, n, "%s", CW_HOST_INSTALLED);
    return CW_OK;
}

cw_code cw_plugin_host_find(const cw_config *config, bool is_needed, char **ret, cw_err *err)
{
    char path[PATH_BYTES];
    if (config->plugins.host.n) {
        snprintf(path, sizeof path, "%s", config->plugins.host.p);
    } else {
        cw_code rc = look_up(path, sizeof path, err);
        if (rc)
            return rc;
    }
    if (is_needed && access(path, X_OK) != 0)
        return cw_fail(err, CW_NOTFOUND, "%s: %s; plugins.host says where " PROGRAM " is", path,
                       strerror(errno));
    *ret = strdup(path);
    return *ret ? CW_OK : cw_fail_nomem(err);
}

/* ---- running it ---- */

typedef struct pipes {
    int out[2], err[2];
} pipes;

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_pipes(pipes *p)
{
    for (int i = 0; i < 2; i++) {
        close_fd(&p->out[i]);
        close_fd(&p->err[i]);
    }
}

/* In a process group of its own: what it starts ends with it. */
static int spawn_group(const char *const *argv, const posix_spawn_file_actions_t *actions,
                       char *const *env, pid_t *ret_pid)
{
    posix_spawnattr_t attr;
    int errnum = posix_spawnattr_init(&attr);
    if (errnum)
        return errnum;
    errnum = posix_spawnattr_setpgroup(&attr, 0);
    if (!errnum)
        errnum = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
    if (!errnum)
        errnum = posix_spawn(ret_pid, argv[0], actions, &attr, (char *const *)(uintptr_t)argv, env);
    posix_spawnattr_destroy(&attr);
    return errnum;
}

static cw_code spawn(const char *const *argv, pipes *p, pid_t *ret_pid, cw_err *err)
{
    /* Code that is not ours gets no secrets: neither our environment nor our descriptors. */
    static char path[] = "PATH=/usr/bin:/bin", locale[] = "LANG=C.UTF-8";
    char *env[] = {path, locale, NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions))
        return cw_fail_nomem(err);
    int errnum = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!errnum)
        errnum = posix_spawn_file_actions_adddup2(&actions, p->out[1], STDOUT_FILENO);
    if (!errnum)
        errnum = posix_spawn_file_actions_adddup2(&actions, p->err[1], STDERR_FILENO);
    if (!errnum)
        errnum = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    if (!errnum)
        errnum = spawn_group(argv, &actions, env, ret_pid);
    posix_spawn_file_actions_destroy(&actions);
    return errnum ? cw_fail_errno(err, errnum, "start '%s'", argv[0]) : CW_OK;
}

/* Read once; closes the descriptor at the end of the output, or when there is too much of it. */
static void read_some(int *fd, cw_buf *to)
{
    char *room = cw_buf_reserve(to, READ_BYTES);
    ssize_t n = room ? read(*fd, room, READ_BYTES) : 0;
    if (n < 0 && errno == EINTR)
        return;
    if (n <= 0)
        close_fd(fd);
    else
        cw_buf_commit(to, (size_t)n);
}

/* It is not reaped: its number stays that of its group. */
static bool has_exited(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
}

/* Until both pipes have ended. A child of the child may hold them for longer than it lives: when it
 * has exited, so does its group. */
static void read_until(pipes *p, pid_t pid, cw_plugin_host_child *child, uint64_t end)
{
    while (p->out[0] >= 0 || p->err[0] >= 0) {
        uint64_t now = cw_clock_ms();
        child->is_late = now >= end;
        if (child->is_late)
            return;
        if (has_exited(pid))
            kill(-pid, SIGKILL);
        struct pollfd fds[] = {{p->out[0], POLLIN, 0}, {p->err[0], POLLIN, 0}};
        if (poll(fds, 2, (int)(end - now < LOOK_MS ? end - now : LOOK_MS)) < 0)
            continue;
        if (fds[0].revents)
            read_some(&p->out[0], &child->out);
        if (fds[1].revents)
            read_some(&p->err[0], &child->err);
    }
}

/* A child may close its output and live on. */
static void reap(pid_t pid, cw_plugin_host_child *child, uint64_t end)
{
    while (!child->is_late && !has_exited(pid)) {
        if (cw_clock_ms() >= end)
            child->is_late = true;
        else
            usleep(1000);
    }
    kill(-pid, SIGKILL);
    while (waitpid(pid, &child->status, 0) < 0 && errno == EINTR)
        continue;
}

cw_code cw_plugin_host_run(const char *const *argv, unsigned ms, cw_plugin_host_child *ret,
                           cw_err *err)
{
    *ret = (cw_plugin_host_child){0};
    cw_buf_init(&ret->out, OUTPUT_MAX_BYTES);
    cw_buf_init(&ret->err, OUTPUT_MAX_BYTES);
    pipes p = {{-1, -1}, {-1, -1}};
    if (pipe2(p.out, O_CLOEXEC) || pipe2(p.err, O_CLOEXEC)) {
        cw_code rc = cw_fail_errno(err, errno, "pipe");
        close_pipes(&p);
        return rc;
    }
    uint64_t end = cw_clock_ms() + ms;
    pid_t pid;
    cw_code rc = spawn(argv, &p, &pid, err);
    close_fd(&p.out[1]);
    close_fd(&p.err[1]);
    if (!rc) {
        read_until(&p, pid, ret, end);
        close_pipes(&p);
        reap(pid, ret, end);
        if (ret->out.code == CW_NOMEM || ret->err.code == CW_NOMEM)
            rc = cw_fail_nomem(err);
    }
    close_pipes(&p);
    return rc;
}

void cw_plugin_host_child_done(cw_plugin_host_child *child)
{
    cw_buf_done(&child->out);
    cw_buf_done(&child->err);
}
