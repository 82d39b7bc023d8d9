/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pidfd.c - process descriptors under valgrind, which does not have these system calls before 3.21.
 *
 * Preloaded into a process that valgrind runs. pidfd_open runs the program that the environment
 * names in BENCH_PIDFD (open_pidfd.c). valgrind does not trace children, so that the program can
 * make the call and send the descriptor back. The wait and poll calls work on it as they are.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_FD 1024
#define EXPORTED __attribute__((visibility("default")))

static pid_t pids[MAX_FD]; /* by descriptor */

static pid_t start_program(pid_t of, int out)
{
    char *path = getenv("BENCH_PIDFD");
    char number[16];
    char *argv[] = {path, number, NULL};
    char *env[] = {NULL};
    pid_t pid = -1;
    posix_spawn_file_actions_t actions;
    snprintf(number, sizeof number, "%d", (int)of);
    if (!path || posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    if (posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO) != 0 ||
        posix_spawn(&pid, path, &actions, NULL, argv, env) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

static int receive(int from)
{
    char byte;
    int fd = -1;
    char control[CMSG_SPACE(sizeof fd)];
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &data,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof control,
    };
    if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) != 1)
        return -1;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(head), sizeof fd);
    return fd;
}

EXPORTED int pidfd_open(pid_t of, unsigned int flags)
{
    (void)flags;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    pid_t program = start_program(of, pair[1]);
    close(pair[1]);
    int fd = program > 0 ? receive(pair[0]) : -1;
    close(pair[0]);
    if (program > 0)
        waitpid(program, NULL, 0);
    if (fd < 0 || fd >= MAX_FD) {
        errno = ENOSYS;
        return -1;
    }
    pids[fd] = of;
    return fd;
}

EXPORTED int pidfd_send_signal(int fd, int signum, siginfo_t *info, unsigned int flags)
{
    (void)info;
    (void)flags;
    return kill(pids[fd], signum);
}
