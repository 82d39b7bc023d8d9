/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child.c - a child that runs: watched by its pidfd, reaped once. The spawner is in spawn.c. */
#include "net/process/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/process/child_int.h"

static int status_of(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return (info->si_status & 0xFF) << 8;
    return (info->si_status & 0x7F) | (info->si_code == CLD_DUMPED ? 0x80 : 0);
}

void cw_child_end(pid_t pid, int pidfd, bool has_group)
{
    /* Our own child, which only we reap, so its pid cannot be another process's. By pid: waitid
     * does not wait on a pidfd that uv_poll made non-blocking. */
    kill(pid, SIGKILL);
    if (has_group)
        kill(-pid, SIGKILL);
    siginfo_t info;
    while (waitid(P_PID, (id_t)pid, &info, WEXITED) != 0 && errno == EINTR)
        ;
    if (pidfd >= 0)
        close(pidfd);
}

static void on_closed(uv_handle_t *handle)
{
    cw_child *child = handle->data;
    if (child->on_closed)
        child->on_closed(child, child->ctx);
}

/* The descriptor is closed behind its poll: libuv asks the kernel to forget that number, which may
 * be in use again as soon as it is free. */
static void release(cw_child *child)
{
    uv_close((uv_handle_t *)&child->poll, on_closed);
    close(child->pidfd);
    child->pidfd = -1;
}

static void on_pidfd(uv_poll_t *poll, int poll_status, int events)
{
    (void)poll_status;
    (void)events;
    cw_child *child = poll->data;
    siginfo_t info = {0};
    int rc = waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG | WNOWAIT);
    if (rc != 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (rc == 0 && info.si_pid == 0)
        return;
    if (child->has_group)
        kill(-child->pid, SIGKILL);
    waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG);
    uv_poll_stop(poll);
    child->exited = true;
    if (child->closing)
        release(child);
    else
        child->on_exit(child, status_of(&info), child->ctx);
}

/* All but the loop is set. */
static cw_code watch(cw_child *child, cw_loop *loop, cw_err *err)
{
    int rc = uv_poll_init(&loop->uv, &child->poll, child->pidfd);
    if (rc) {
        cw_child_end(child->pid, child->pidfd, child->has_group);
        child->pidfd = -1;
        return cw_fail(err, CW_IO, "watch a child: %s", uv_strerror(rc));
    }
    child->poll.data = child;
    uv_poll_start(&child->poll, UV_READABLE, on_pidfd);
    return CW_OK;
}

cw_code cw_child_watch(cw_child *child, cw_loop *loop, pid_t pid, int pidfd,
                       cw_child_exit_fn on_exit, void *ctx, cw_err *err)
{
    *child = (cw_child){.pid = pid, .pidfd = pidfd, .on_exit = on_exit, .ctx = ctx};
    return watch(child, loop, err);
}

cw_code cw_child_watch_group(cw_child *child, cw_loop *loop, pid_t pid, int pidfd,
                             cw_child_exit_fn on_exit, void *ctx, cw_err *err)
{
    *child =
        (cw_child){.pid = pid, .pidfd = pidfd, .on_exit = on_exit, .ctx = ctx, .has_group = true};
    return watch(child, loop, err);
}

void cw_child_signal(cw_child *child, int signum)
{
    if (child->exited || child->pidfd < 0)
        return;
    /* The group has its name as long as the child is not reaped. */
    if (child->has_group)
        kill(-child->pid, signum);
    else
        pidfd_send_signal(child->pidfd, signum, NULL, 0);
}

void cw_child_close(cw_child *child, void (*closed)(cw_child *child, void *ctx))
{
    if (child->closing)
        return;
    child->closing = true;
    child->on_closed = closed;
    if (child->exited)
        release(child);
    else
        cw_child_signal(child, SIGKILL);
}

const char *cw_child_status_text(int status, char *out, size_t n)
{
    if (WIFEXITED(status)) {
        snprintf(out, n, "exited with %d", WEXITSTATUS(status));
        return out;
    }
    const char *name = sigabbrev_np(WTERMSIG(status));
    if (name)
        snprintf(out, n, "killed by SIG%s", name);
    else
        snprintf(out, n, "killed by signal %d", WTERMSIG(status));
    return out;
}
