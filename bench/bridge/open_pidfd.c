/* SPDX-License-Identifier: GPL-2.0-or-later */
/* open_pidfd.c - opens a process descriptor for another process (pidfd.c).
 *
 *     open_pidfd PID
 *
 * Standard output is a Unix socket. It gets one byte, with the descriptor as ancillary data.
 */
#include <errno.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"

int main(int argc, char **argv)
{
    int fd = argc == 2 ? pidfd_open((pid_t)bench_parse_count(argv[1]), 0) : -1;
    if (fd < 0)
        bench_give_up("open_pidfd: no descriptor: %s", strerror(errno));
    char control[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec data = {.iov_base = (char[]){0}, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &data,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof control,
    };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    return sendmsg(STDOUT_FILENO, &message, MSG_NOSIGNAL) == 1 ? 0 : 1;
}
