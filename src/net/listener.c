/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKLOG 4096

static cw_code fail_listen(cw_err *err, const cw_address *a, int errnum)
{
    char text[CW_ADDRESS_TEXT];
    cw_address_format(a, text, sizeof text);
    return cw_fail_errno(err, errnum, "cannot listen on %s", text);
}

static int new_socket(const cw_address *a, bool share)
{
    int fd = socket(a->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd < 0)
        return -1;
    if (a->sa.ss_family != AF_UNIX) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (share)
            setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    }
    if (a->sa.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)&a->sa, a->len) == 0)
        return fd;
    int errnum = errno;
    close(fd);
    errno = errnum;
    return -1;
}

/* A second server would bind with SO_REUSEPORT without complaint and take half of the first one's
 * connections; binding once without it shows whether the address is free. */
static cw_code probe(cw_address *a, cw_err *err)
{
    int fd = new_socket(a, /* share= */ false);
    if (fd < 0 || listen(fd, 1) < 0) {
        int errnum = errno;
        if (fd >= 0)
            close(fd);
        return fail_listen(err, a, errnum);
    }
    getsockname(fd, (struct sockaddr *)&a->sa, &a->len);
    close(fd);
    return CW_OK;
}

static cw_code open_tcp(cw_listener *l, size_t n, cw_err *err)
{
    cw_code rc = probe(&l->address, err);
    if (rc)
        return rc;
    for (; l->n_fds < n; l->n_fds++) {
        int fd = new_socket(&l->address, /* share= */ true);
        if (fd < 0 || listen(fd, BACKLOG) < 0) {
            int errnum = errno;
            if (fd >= 0)
                close(fd);
            return fail_listen(err, &l->address, errnum);
        }
        l->fds[l->n_fds] = fd;
    }
    return CW_OK;
}

static cw_code duplicate(cw_listener *l, int fd, size_t n, cw_err *err)
{
    for (; l->n_fds < n; l->n_fds++) {
        l->fds[l->n_fds] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (l->fds[l->n_fds] < 0)
            return fail_listen(err, &l->address, errno);
    }
    return CW_OK;
}

/* A socket file that nobody answers on is left from a killed server and may go. */
static void remove_stale(const cw_address *a)
{
    const char *path = ((const struct sockaddr_un *)&a->sa)->sun_path;
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)&a->sa, a->len) < 0 && errno == ECONNREFUSED)
        unlink(path);
    close(fd);
}

static cw_code open_unix(cw_listener *l, size_t n, cw_err *err)
{
    remove_stale(&l->address);
    int fd = new_socket(&l->address, /* share= */ false);
    if (fd < 0)
        return fail_listen(err, &l->address, errno);
    /* Owner and group only: who may connect is then a matter of the folder and the group. */
    chmod(((const struct sockaddr_un *)&l->address.sa)->sun_path, 0660);
    if (listen(fd, BACKLOG) < 0) {
        int errnum = errno;
        close(fd);
        return fail_listen(err, &l->address, errnum);
    }
    cw_code rc = duplicate(l, fd, n, err);
    close(fd);
    return rc;
}

static cw_code allocate(cw_listener *l, size_t n, cw_err *err)
{
    l->fds = calloc(n, sizeof *l->fds);
    return l->fds ? CW_OK : cw_fail_nomem(err);
}

cw_code cw_listener_open(cw_listener *l, cw_str address, size_t n, cw_err *err)
{
    cw_code rc = cw_address_parse(address, &l->address, err);
    if (rc)
        return rc;
    rc = allocate(l, n, err);
    if (!rc)
        rc = l->address.sa.ss_family == AF_UNIX ? open_unix(l, n, err) : open_tcp(l, n, err);
    if (rc)
        cw_listener_close(l);
    return rc;
}

cw_code cw_listener_inherit(cw_listener *l, int fd, size_t n, cw_err *err)
{
    int listening = 0;
    socklen_t len = sizeof listening;
    l->address.len = sizeof l->address.sa;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) < 0 || !listening)
        return cw_fail(err, CW_PARAMS, "inherited descriptor %d is no listening socket", fd);
    if (getsockname(fd, (struct sockaddr *)&l->address.sa, &l->address.len) < 0)
        return cw_fail_errno(err, errno, "inherited descriptor %d", fd);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    l->inherited = true;
    cw_code rc = allocate(l, n, err);
    if (!rc)
        rc = duplicate(l, fd, n, err);
    if (rc)
        cw_listener_close(l);
    else
        close(fd);
    return rc;
}

void cw_listener_close(cw_listener *l)
{
    for (size_t i = 0; i < l->n_fds; i++) {
        if (l->fds[i] >= 0)
            close(l->fds[i]);
    }
    if (l->n_fds && l->address.sa.ss_family == AF_UNIX && !l->inherited)
        unlink(((const struct sockaddr_un *)&l->address.sa)->sun_path);
    free(l->fds);
    l->fds = NULL;
    l->n_fds = 0;
}

int cw_listener_inherited(void)
{
    const char *pid = getenv("LISTEN_PID");
    const char *fds = getenv("LISTEN_FDS");
    uint64_t for_pid, n = 0;
    bool ours = pid && fds && cw_str_to_u64(cw_str_from(pid), &for_pid) &&
                for_pid == (uint64_t)getpid() && cw_str_to_u64(cw_str_from(fds), &n) && n <= 64;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (!ours)
        return 0;
    for (int i = 0; i < (int)n; i++)
        fcntl(CW_LISTENER_FIRST_FD + i, F_SETFD, FD_CLOEXEC);
    return (int)n;
}
