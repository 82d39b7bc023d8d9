/* SPDX-License-Identifier: GPL-2.0-or-later */
/* packet.c - messages between a server and its successor. */
#include "server/upgrade/packet.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define ARENA_MAX (256u * 1024u)
#define DEPTH 4u

typedef union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(CW_PACKET_FDS * sizeof(int))];
} control;

/* ---- sending ---- */

void cw_packet_open(cw_json_writer *w, cw_buf *buf, const char *type)
{
    cw_json_writer_init(w, buf, CW_JSON_COMPACT);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("type"), cw_str_from(type));
}

static void attach(struct msghdr *message, control *c, const int *fds, size_t n_fds)
{
    message->msg_control = c->bytes;
    message->msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
    memcpy(CMSG_DATA(header), fds, n_fds * sizeof(int));
}

cw_code cw_packet_send(int fd, cw_json_writer *w, cw_buf *buf, const int *fds, size_t n_fds,
                       cw_err *err)
{
    control c = {.bytes = {0}};
    cw_json_close(w);
    cw_code rc = cw_json_writer_end(w, err);
    if (rc)
        return rc;
    if (buf->n > CW_PACKET_MAX || n_fds > CW_PACKET_FDS)
        return cw_fail(err, CW_LIMIT, "a message to the other process is too long");
    struct iovec iov = {buf->p, buf->n};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (n_fds)
        attach(&message, &c, fds, n_fds);
    if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0)
        return cw_fail_errno(err, errno, "send to the other process");
    return CW_OK;
}

cw_code cw_packet_send_type(int fd, const char *type, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf buf;
    cw_json_writer w;
    cw_buf_init(&buf, CW_PACKET_MAX);
    cw_packet_open(&w, &buf, type);
    return cw_packet_send(fd, &w, &buf, NULL, 0, err);
}

/* ---- receiving ---- */

static void take_descriptors(struct msghdr *message, cw_packet *p)
{
    for (struct cmsghdr *h = CMSG_FIRSTHDR(message); h; h = CMSG_NXTHDR(message, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n && p->n_fds < CW_PACKET_FDS; i++)
            memcpy(&p->fds[p->n_fds++], CMSG_DATA(h) + i * sizeof(int), sizeof(int));
    }
}

static cw_code parse(cw_packet *p, size_t n, cw_err *err)
{
    cw_json_opts opts = {.max_bytes = CW_PACKET_MAX, .max_depth = DEPTH};
    cw_code rc = cw_json_read(cw_str_make(p->bytes, n), &opts, &p->arena, &p->root, NULL, NULL);
    if (!rc)
        p->type = cw_packet_text(p, "type");
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    return rc || !p->type.n ? cw_fail(err, CW_PARAMS, "the other process sent no message") : CW_OK;
}

cw_code cw_packet_receive(int fd, cw_packet *ret, cw_err *err)
{
    control c;
    ret->n_fds = 0;
    ret->root = NULL;
    struct iovec iov = {ret->bytes, sizeof ret->bytes};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = c.bytes, .msg_controllen = sizeof c.bytes};
    ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return CW_AGAIN;
    if (n < 0 && errno != ECONNRESET)
        return cw_fail_errno(err, errno, "receive from the other process");
    cw_arena_init(&ret->arena, ARENA_MAX);
    if (n > 0)
        take_descriptors(&message, ret);
    cw_code rc;
    if (n <= 0)
        rc = cw_fail(err, CW_GONE, "the other process has closed the connection");
    else if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        rc = cw_fail(err, CW_PARAMS, "a message of the other process is too long");
    else
        rc = parse(ret, (size_t)n, err);
    if (rc)
        cw_packet_done(ret);
    return rc;
}

cw_code cw_packet_wait(int fd, uint64_t ms, cw_packet *ret, cw_err *err)
{
    uint64_t end = cw_clock_ms() + ms;
    for (;;) {
        cw_code rc = cw_packet_receive(fd, ret, err);
        if (rc != CW_AGAIN)
            return rc;
        uint64_t now = cw_clock_ms();
        if (now >= end)
            return cw_fail(err, CW_TIMEOUT, "the other process does not answer");
        struct pollfd waiting = {.fd = fd, .events = POLLIN};
        (void)!poll(&waiting, 1, (int)(end - now));
    }
}

cw_str cw_packet_text(const cw_packet *p, const char *name)
{
    const cw_json *v = cw_json_get(p->root, cw_str_from(name));
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
}

int64_t cw_packet_number(const cw_packet *p, const char *name)
{
    int64_t n = 0;
    const cw_json *v = cw_json_get(p->root, cw_str_from(name));
    return v && cw_json_to_i64(v, &n) ? n : 0;
}

bool cw_packet_flag(const cw_packet *p, const char *name)
{
    return cw_json_is(cw_json_get(p->root, cw_str_from(name)), CW_JSON_TRUE);
}

void cw_packet_done(cw_packet *p)
{
    for (size_t i = 0; i < p->n_fds; i++)
        close(p->fds[i]);
    p->n_fds = 0;
    cw_arena_done(&p->arena);
}
