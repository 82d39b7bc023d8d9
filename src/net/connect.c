/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

struct cw_lookup {
    uv_getaddrinfo_t req;
    cw_lookup_fn fn; /* NULL: nobody wants to know any more */
    void *ctx;
};

static void on_found(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
    cw_lookup *lookup = req->data;
    cw_lookup_fn fn = lookup->fn;
    void *ctx = lookup->ctx;
    free(lookup);
    if (fn)
        fn(ctx, status, status ? NULL : found);
    uv_freeaddrinfo(found);
}

cw_code cw_lookup_start(cw_loop *loop, const char *host, cw_lookup_fn fn, void *ctx,
                        cw_lookup **ret, cw_err *err)
{
    cw_lookup *lookup = calloc(1, sizeof *lookup);
    if (!lookup)
        return cw_fail_nomem(err);
    lookup->fn = fn;
    lookup->ctx = ctx;
    lookup->req.data = lookup;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int rc = uv_getaddrinfo(&loop->uv, &lookup->req, on_found, host, NULL, &hints);
    if (rc) {
        free(lookup);
        return rc == UV_ENOMEM ? cw_fail_nomem(err)
                               : cw_fail(err, CW_IO, "look up '%s': %s", host, uv_strerror(rc));
    }
    *ret = lookup;
    return CW_OK;
}

void cw_lookup_forget(cw_lookup *lookup)
{
    if (!lookup)
        return;
    lookup->fn = NULL;
    uv_cancel((uv_req_t *)&lookup->req); /* where it has not begun; else it ends by itself */
}

size_t cw_lookup_take(const struct addrinfo *found, uint16_t port, cw_address *out, size_t max)
{
    size_t n = 0;
    for (; found && n < max; found = found->ai_next) {
        cw_address *a = &out[n];
        if (found->ai_family != AF_INET && found->ai_family != AF_INET6)
            continue;
        memset(&a->sa, 0, sizeof a->sa);
        memcpy(&a->sa, found->ai_addr, found->ai_addrlen);
        a->len = found->ai_addrlen;
        if (found->ai_family == AF_INET)
            ((struct sockaddr_in *)&a->sa)->sin_port = htons(port);
        else
            ((struct sockaddr_in6 *)&a->sa)->sin6_port = htons(port);
        n++;
    }
    return n;
}

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
