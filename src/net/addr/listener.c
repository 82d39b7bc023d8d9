/* SPDX-License-Identifier: GPL-2.0-or-later */
/* listener.c - binds and inherits listening sockets. */
#include "net/addr/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "net/addr/handed.h"

#define BACKLOG 4096
/* Seconds, seconds, probes: a dead peer is noticed within two minutes. */
#define KEEPALIVE_IDLE 60
#define KEEPALIVE_INTERVAL 15
#define KEEPALIVE_COUNT 4

/* The remedy of a failure, or "". */
static const char *remedy_of(const cw_address *a, int errnum)
{
    bool is_unix = a->sa.ss_family == AF_UNIX;
    if (errnum == EADDRINUSE)
        return is_unix ? "; another program has this file: end it, or choose another path"
                       : "; another program listens there: end it, or choose another address, "
                         "for example with --listen 127.0.0.1:0";
    if (errnum == EACCES || errnum == EPERM)
        return is_unix ? "; let this user write to the folder, or choose another path"
                       : "; ports below 1024 need CAP_NET_BIND_SERVICE: choose a higher one";
    if (errnum == EADDRNOTAVAIL)
        return "; this machine has no such address";
    return errnum == ENOENT && is_unix ? "; make the folder first" : "";
}

static cw_code fail_listen(cw_err *err, const cw_address *a, int errnum)
{
    char text[CW_ADDRESS_TEXT];
    cw_err why = {0};
    cw_address_format(a, text, sizeof text);
    cw_code rc = cw_fail_errno(&why, errnum, "cannot listen on %s", text);
    return cw_fail(err, rc, "%s%s", why.msg, remedy_of(a, errnum));
}

/* Accepted connections inherit these options. Keep-alive probes find peers that vanished, even if
 * no deadline runs: during a call, or on a silent stream. A client that reads slowly must not make
 * the kernel hold more than it can send soon. */
static void set_options(int fd, int family)
{
    int on = 1, idle = KEEPALIVE_IDLE, interval = KEEPALIVE_INTERVAL, count = KEEPALIVE_COUNT;
    int unsent = CW_HTTP_MAX_UNSENT;
    if (family == AF_UNIX)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
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
    set_options(fd, a->sa.ss_family);
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
        l->n_listening++;
    }
    return CW_OK;
}

static cw_code duplicate(cw_listener *l, int fd, size_t n, cw_err *err)
{
    for (; l->n_fds < n; l->n_fds++) {
        l->fds[l->n_fds] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (l->fds[l->n_fds] < 0)
            return fail_listen(err, &l->address, errno);
        l->n_listening++;
    }
    return CW_OK;
}

static const char *unix_path(const cw_address *a)
{
    return ((const struct sockaddr_un *)&a->sa)->sun_path;
}

/* A socket file without a listener is left from a killed server: remove it. */
static void remove_stale(const cw_address *a)
{
    const char *path = unix_path(a);
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return;
    /* Not blocking: a living server with a full queue would make us wait. */
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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
    struct stat st;
    const char *path = unix_path(&l->address);
    l->has_file = lstat(path, &st) == 0;
    if (l->has_file) {
        l->file_dev = st.st_dev;
        l->file_ino = st.st_ino;
    }
    /* Owner and group only: who may connect is then a matter of the folder and the group. */
    mode_t mode = l->is_local ? 0600 : 0660;
    if (!l->has_file || chmod(path, mode) < 0 || listen(fd, BACKLOG) < 0) {
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
    if (address.n < sizeof l->configured)
        memcpy(l->configured, address.p, address.n);
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
    set_options(fd, l->address.sa.ss_family);
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

/* ---- adopting ---- */

static bool is_shared(int fd)
{
    int on = 0;
    socklen_t len = sizeof on;
    return getsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, &len) == 0 && on;
}

/* More loops than sockets. The manager's sockets are all that may be open of their address. */
static cw_code add_sockets(cw_listener *l, size_t n, cw_err *err)
{
    bool is_tcp = l->address.sa.ss_family != AF_UNIX;
    if (!is_tcp || l->inherited || !is_shared(l->fds[0]))
        return duplicate(l, l->fds[0], n, err);
    for (; l->n_fds < n; l->n_fds++) {
        l->fds[l->n_fds] = new_socket(&l->address, /* share= */ true);
        if (l->fds[l->n_fds] < 0)
            return fail_listen(err, &l->address, errno);
    }
    return CW_OK;
}

cw_code cw_listener_adopt(cw_listener *l, cw_handed_listener *from, size_t n, cw_err *err)
{
    cw_code rc = allocate(l, n > from->n_fds ? n : from->n_fds, err);
    if (rc)
        return rc;
    l->address = from->address;
    l->is_local = from->is_local;
    l->inherited = from->inherited;
    l->owes_file = from->has_file;
    l->file_dev = from->file_dev;
    l->file_ino = from->file_ino;
    memcpy(l->configured, from->configured, sizeof l->configured);
    memcpy(l->fds, from->fds, from->n_fds * sizeof *l->fds);
    l->n_fds = l->n_listening = from->n_fds;
    rc = add_sockets(l, n, err);
    if (!rc) {
        from->n_fds = 0;
        return CW_OK;
    }
    /* Those of the other process stay in `from`. */
    for (size_t i = 0; i < from->n_fds; i++)
        l->fds[i] = -1;
    cw_listener_close(l);
    return rc;
}

cw_code cw_listener_listen(cw_listener *l, cw_err *err)
{
    for (; l->n_listening < l->n_fds; l->n_listening++) {
        if (listen(l->fds[l->n_listening], BACKLOG) < 0)
            return fail_listen(err, &l->address, errno);
    }
    return CW_OK;
}

/* ---- the end ---- */

void cw_listener_unlink(cw_listener *l)
{
    struct stat st;
    const char *path = unix_path(&l->address);
    if (!l->has_file)
        return;
    l->has_file = false;
    if (lstat(path, &st) == 0 && st.st_dev == l->file_dev && st.st_ino == l->file_ino)
        unlink(path);
}

void cw_listener_close(cw_listener *l)
{
    for (size_t i = 0; i < l->n_fds; i++) {
        if (l->fds[i] >= 0)
            close(l->fds[i]);
    }
    cw_listener_unlink(l);
    free(l->fds);
    l->fds = NULL;
    l->n_fds = 0;
}

/* The next of the names that are separated by ":". */
static bool next_is_stored(cw_str *names)
{
    cw_str name = cw_str_cut(*names, ':', names);
    return name.p && cw_str_starts(name, CW_STR(CW_LISTENER_STORED));
}

int cw_listener_inherited(bool ret_stored[CW_LISTENER_MAX_INHERITED])
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    const char *list = getenv("LISTEN_FDNAMES");
    uint64_t for_pid, n = 0;
    bool ours = pid && fds && cw_str_to_u64(cw_str_from(pid), &for_pid) &&
                for_pid == (uint64_t)getpid() && cw_str_to_u64(cw_str_from(fds), &n) &&
                n <= CW_LISTENER_MAX_INHERITED;
    cw_str names = cw_str_from(list ? list : "");
    for (size_t i = 0; ours && i < n; i++) {
        fcntl(CW_LISTENER_FIRST_FD + (int)i, F_SETFD, FD_CLOEXEC);
        ret_stored[i] = next_is_stored(&names);
    }
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return ours ? (int)n : 0;
}
