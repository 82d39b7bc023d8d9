/* SPDX-License-Identifier: GPL-2.0-or-later */
/* connect.c - opens a non-blocking connection to an address. */
#include "net/addr/connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

bool cw_connect_unix(cw_str path, cw_address *ret)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&ret->sa;
    if (path.n == 0 || path.n >= sizeof un->sun_path || memchr(path.p, 0, path.n))
        return false;
    memset(&ret->sa, 0, sizeof ret->sa);
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path.p, path.n);
    ret->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.n + 1);
    return true;
}

bool cw_connect_literal(const char *host, uint16_t port, cw_address *ret)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&ret->sa;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&ret->sa;
    memset(&ret->sa, 0, sizeof ret->sa);
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        ret->len = sizeof *v4;
        return true;
    }
    if (inet_pton(AF_INET6, host, &v6->sin6_addr) != 1)
        return false;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    ret->len = sizeof *v6;
    return true;
}

int cw_connect_open(const cw_address *a, bool *ret_pending)
{
    int fd = socket(a->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    int on = 1;
    if (a->sa.ss_family != AF_UNIX)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    int rc = connect(fd, (const struct sockaddr *)&a->sa, a->len);
    *ret_pending = rc < 0 && (errno == EINPROGRESS || errno == EINTR);
    if (rc == 0 || *ret_pending)
        return fd;
    int errnum = errno;
    close(fd);
    errno = errnum;
    return -1;
}

int cw_connect_result(int fd)
{
    int errnum = 0;
    socklen_t n = sizeof errnum;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &n) ? errno : errnum;
}
