/* SPDX-License-Identifier: GPL-2.0-or-later */
/* notifysocket.c - a service manager for tests: prints the messages of sd_notify(3), a line each.
 *
 *     notifysocket PATH            PATH may begin with "@": an abstract name
 *     1234: READY=1|STATUS=serving 3 tools fds=0
 *
 * The number is the process that sent the message. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FDS_MAX 253

static int open_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    int on = 1, fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (n >= sizeof address.sun_path || fd < 0)
        return -1;
    memcpy(address.sun_path, path, n);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    if (bind(fd, (const struct sockaddr *)&address, length) ||
        setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on))
        return -1;
    return fd;
}

/* Close the descriptors of a message and count them; find its sender. */
static int look_at_control(struct msghdr *message, int *ret_pid)
{
    int n_fds = 0;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(message); h; h = CMSG_NXTHDR(message, h)) {
        if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_CREDENTIALS) {
            struct ucred from;
            memcpy(&from, CMSG_DATA(h), sizeof from);
            *ret_pid = from.pid;
        } else if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS) {
            size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (size_t i = 0; i < n; i++, n_fds++) {
                int fd;
                memcpy(&fd, CMSG_DATA(h) + i * sizeof fd, sizeof fd);
                close(fd);
            }
        }
    }
    return n_fds;
}

static int print_next(int fd)
{
    char text[4096];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec iov = {text, sizeof text - 1};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    if (n < 0)
        return -1;
    int pid = 0, n_fds = look_at_control(&message, &pid);
    text[n] = '\0';
    for (char *p = text; *p; p++) {
        if (*p == '\n')
            *p = '|';
    }
    printf("%d: %s fds=%d\n", pid, text, n_fds);
    return fflush(stdout);
}

int main(int argc, char **argv)
{
    int fd = argc == 2 ? open_socket(argv[1]) : -1;
    if (fd < 0) {
        perror("notifysocket");
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
    while (print_next(fd) == 0)
        ;
    return 1;
}
