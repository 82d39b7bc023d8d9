/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lookup.c - looks names up on the thread pool of libuv. */
#include "net/addr/lookup.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"

#define HOST_MAX 256u

/* refs of a place: */
#define FREE 0u
#define LAST 1u  /* being cleared */
#define TAKEN 3u /* by the thread, and by the loop until `poll` is closed */

struct cw_lookup {
    atomic_uint refs;
    int fd;     /* readable when the thread is done with the three below */
    int status; /* getaddrinfo's */
    int errnum;
    struct addrinfo *found;
    uv_poll_t poll;
    cw_lookup_fn fn;
    void *ctx;
    char host[HOST_MAX];
};

/* A thread that hangs keeps its place, and no memory is needed. */
static cw_lookup places[CW_LOOKUPS_MAX];

static cw_lookup *take_place(void)
{
    for (size_t i = 0; i < CW_LOOKUPS_MAX; i++) {
        unsigned expected = FREE;
        if (atomic_compare_exchange_strong(&places[i].refs, &expected, TAKEN))
            return &places[i];
    }
    return NULL;
}

static void unref(cw_lookup *lookup)
{
    if (atomic_fetch_sub(&lookup->refs, 1) != LAST + 1)
        return;
    if (lookup->found)
        freeaddrinfo(lookup->found);
    if (lookup->fd >= 0)
        close(lookup->fd);
    atomic_store(&lookup->refs, FREE);
}

static void *thread_main(void *arg)
{
    cw_lookup *lookup = arg;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    lookup->status = getaddrinfo(lookup->host, NULL, &hints, &found);
    lookup->errnum = errno;
    lookup->found = lookup->status ? NULL : found;
    const uint64_t one = 1;
    ssize_t n = write(lookup->fd, &one, sizeof one); /* an eventfd takes it */
    (void)n;
    unref(lookup);
    return NULL;
}

static void on_closed(uv_handle_t *handle)
{
    unref(handle->data);
}

static void on_done(uv_poll_t *poll, int status, int events)
{
    cw_lookup *lookup = poll->data;
    const char *why = NULL;
    uint64_t n;
    (void)events;
    if (status == 0 && read(lookup->fd, &n, sizeof n) != sizeof n)
        return; /* not yet */
    if (status)
        why = uv_strerror(status);
    else if (lookup->status)
        why =
            lookup->status == EAI_SYSTEM ? strerror(lookup->errnum) : gai_strerror(lookup->status);
    uv_close((uv_handle_t *)poll, on_closed);
    lookup->fn(lookup->ctx, why, why ? NULL : lookup->found);
}

/* The loop's part. */
static cw_code watch(cw_loop *loop, cw_lookup *lookup, cw_err *err)
{
    lookup->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (lookup->fd < 0)
        return cw_fail_errno(err, errno, "look up '%s'", lookup->host);
    int rc = uv_poll_init(&loop->uv, &lookup->poll, lookup->fd);
    if (rc)
        return cw_fail(err, rc == UV_ENOMEM ? CW_NOMEM : CW_IO, "look up '%s': %s", lookup->host,
                       uv_strerror(rc));
    lookup->poll.data = lookup;
    uv_poll_start(&lookup->poll, UV_READABLE, on_done);
    return CW_OK;
}

cw_code cw_lookup_start(cw_loop *loop, const char *host, cw_lookup_fn fn, void *ctx,
                        cw_lookup **ret, cw_err *err)
{
    pthread_t thread;
    size_t n = strlen(host);
    if (n >= HOST_MAX)
        return cw_fail(err, CW_IO, "look up: a name of more than %u bytes", HOST_MAX - 1);
    cw_lookup *lookup = take_place();
    if (!lookup)
        return cw_fail(err, CW_IO, "look up '%s': too many lookups have not ended", host);
    memcpy(lookup->host, host, n + 1);
    lookup->found = NULL;
    lookup->fn = fn;
    lookup->ctx = ctx;
    cw_code rc = watch(loop, lookup, err);
    if (rc) {
        unref(lookup); /* of the thread that is not */
        unref(lookup);
        return rc;
    }
    int errnum = cw_thread_start(&thread, thread_main, lookup);
    if (errnum) {
        unref(lookup);
        cw_lookup_forget(lookup);
        return cw_fail_errno(err, errnum, "look up '%s'", host);
    }
    pthread_detach(thread);
    *ret = lookup;
    return CW_OK;
}

void cw_lookup_forget(cw_lookup *lookup)
{
    if (lookup)
        uv_close((uv_handle_t *)&lookup->poll, on_closed);
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
