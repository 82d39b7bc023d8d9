/* SPDX-License-Identifier: GPL-2.0-or-later */
/* notify.c - datagrams to the service manager, and the watchdog. */
#include "server/upgrade/notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"

/* Descriptors of one message: the manager takes no more (SCM_MAX_FD of the kernel). */
#define FDS_MAX 253u
#define NAME_MAX_BYTES 200u

/* ---- the socket ---- */

static bool parse_address(cw_notify *n, const char *path)
{
    size_t length = path ? strlen(path) : 0;
    bool is_abstract = length && path[0] == '@';
    if (length < 2 || length >= sizeof n->address.sun_path || (path[0] != '/' && !is_abstract))
        return false;
    n->address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(n->address.sun_path, path, length);
    if (is_abstract)
        n->address.sun_path[0] = '\0';
    n->address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    return true;
}

/* The interval is meant for the process that $WATCHDOG_PID names, or for any. */
static uint64_t watchdog_interval(void)
{
    const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    uint64_t interval = 0, for_pid = 0;
    if (!us || !cw_str_to_u64(cw_str_from(us), &interval))
        return 0;
    if (pid && (!cw_str_to_u64(cw_str_from(pid), &for_pid) || for_pid != (uint64_t)getpid()))
        return 0;
    return interval;
}

void cw_notify_init(cw_notify *n)
{
    *n = (cw_notify){.fd = -1};
    const char *path = getenv("NOTIFY_SOCKET"), *store = getenv("FDSTORE");
    if (!path)
        return;
    if (parse_address(n, path))
        n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (n->fd < 0) {
        cw_log(CW_LOG_WARN, "serve", "NOTIFY_SOCKET cannot be used",
               CW_KV("path", cw_str_from(path)));
        return;
    }
    n->watchdog_us = watchdog_interval();
    n->stores = !store || strcmp(store, "0") != 0;
}

static void send_message(cw_notify *n, char *text, size_t length, const int *fds, size_t n_fds)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec iov = {.iov_len = length};
    iov.iov_base = text;
    struct msghdr message = {
        .msg_name = &n->address, .msg_namelen = n->address_len, .msg_iov = &iov, .msg_iovlen = 1};
    if (n_fds) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        struct cmsghdr *header = &control.align; /* the first of them */
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(header), fds, n_fds * sizeof(int));
    }
    if (sendmsg(n->fd, &message, MSG_NOSIGNAL) < 0)
        cw_log(CW_LOG_DEBUG, "serve", "the service manager cannot be notified");
}

void cw_notify_send(cw_notify *n, const char *fmt, ...)
{
    char text[CW_NOTIFY_MAX];
    va_list args;
    if (n->fd < 0)
        return;
    va_start(args, fmt);
    int length = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (length > 0 && (size_t)length < sizeof text)
        send_message(n, text, (size_t)length, NULL, 0);
}

void cw_notify_status(cw_notify *n, const char *what, cw_str why)
{
    char text[CW_NOTIFY_STATUS_MAX];
    snprintf(text, sizeof text, "%s%.*s", what, CW_STR_ARG(why));
    for (char *p = text; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = ' ';
    }
    cw_notify_send(n, "STATUS=%s", text);
}

/* ---- sockets that outlive a crash ---- */

/* A name of the manager has printable ASCII characters without ":". */
static void name_of(const cw_address *address, char out[NAME_MAX_BYTES])
{
    char text[CW_ADDRESS_TEXT];
    cw_address_format(address, text, sizeof text);
    snprintf(out, NAME_MAX_BYTES, "%s%s", CW_LISTENER_STORED, text);
    for (char *p = out; *p; p++) {
        if (*p == ':' || *p <= ' ' || *p > '~')
            *p = '_';
    }
}

/* A unix socket is not stored: its file is removed and made again, so that its owner is certain. */
static bool is_worth_storing(const cw_listener *l)
{
    return l->address.sa.ss_family != AF_UNIX && !l->inherited && l->n_fds;
}

void cw_notify_store_listeners(cw_notify *n, const cw_server *server)
{
    char name[NAME_MAX_BYTES], text[CW_NOTIFY_MAX];
    size_t n_listeners = 0;
    const cw_listener *all = cw_server_listeners(server, &n_listeners);
    for (size_t i = 0; n->fd >= 0 && n->stores && i < n_listeners; i++) {
        if (!is_worth_storing(&all[i]))
            continue;
        name_of(&all[i].address, name);
        int length = snprintf(text, sizeof text, "FDSTORE=1\nFDNAME=%s", name);
        size_t n_fds = all[i].n_fds < FDS_MAX ? all[i].n_fds : FDS_MAX;
        send_message(n, text, (size_t)length, all[i].fds, n_fds);
    }
}

void cw_notify_unstore(cw_notify *n, const cw_handed *handed)
{
    char name[NAME_MAX_BYTES];
    for (size_t i = 0; i < handed->n; i++) {
        const cw_handed_listener *l = &handed->items[i];
        if (!l->n_fds || l->inherited || l->address.sa.ss_family == AF_UNIX)
            continue;
        name_of(&l->address, name);
        cw_notify_send(n, "FDSTOREREMOVE=1\nFDNAME=%s", name);
    }
}

/* ---- watchdog ---- */

/* On the loop's thread, or where the loop ends. */
static void on_ping(cw_message *message)
{
    cw_notify_ping *ping = CW_CONTAINER(message, cw_notify_ping, message);
    atomic_fetch_sub(&ping->notify->n_waiting, 1);
}

static void on_tick(uv_timer_t *timer)
{
    cw_notify *n = timer->data;
    if (atomic_load(&n->n_waiting))
        return;
    cw_notify_send(n, "WATCHDOG=1");
    atomic_store(&n->n_waiting, n->n_pings);
    for (unsigned i = 0; i < n->n_pings; i++)
        cw_loop_post(cw_server_loop_at(n->server, i), &n->pings[i].message);
}

cw_code cw_notify_watch(cw_notify *n, cw_loop *loop, cw_server *server, cw_err *err)
{
    if (n->fd < 0 || !n->watchdog_us || n->loop)
        return CW_OK;
    unsigned n_loops = cw_server_n_loops(server);
    n->pings = calloc(n_loops, sizeof *n->pings);
    if (!n->pings)
        return cw_fail_nomem(err);
    for (unsigned i = 0; i < n_loops; i++) {
        n->pings[i].message.fn = n->pings[i].message.drop = on_ping;
        n->pings[i].notify = n;
    }
    n->n_pings = n_loops;
    n->loop = loop;
    n->server = server;
    uint64_t ms = n->watchdog_us / 2000;
    uv_timer_init(&loop->uv, &n->timer);
    n->timer.data = n;
    uv_timer_start(&n->timer, on_tick, 0, ms ? ms : 1);
    return CW_OK;
}

void cw_notify_close(cw_notify *n)
{
    if (n->loop && !uv_is_closing((uv_handle_t *)&n->timer))
        uv_close((uv_handle_t *)&n->timer, NULL);
    if (n->fd >= 0)
        close(n->fd);
    n->fd = -1;
}

void cw_notify_done(cw_notify *n)
{
    cw_notify_close(n);
    free(n->pings);
    n->pings = NULL;
    n->n_pings = 0;
}
