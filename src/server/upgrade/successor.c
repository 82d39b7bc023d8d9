/* SPDX-License-Identifier: GPL-2.0-or-later */
/* successor.c - the new process of a take-over. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "server/upgrade/packet.h"
#include "server/upgrade/takeover.h"

#define ANSWER_MS 10000u
#define GO_MS 60000u
#define LET_GO_MS 5000u

/* The descriptor that the variable names: a socket of packets whose other end is our parent. */
static int find_socket(void)
{
    const char *text = getenv("CAUSEWAY_TAKEOVER");
    uint64_t fd = 0;
    int type = 0;
    socklen_t len = sizeof type;
    bool is_number = text && cw_str_to_u64(cw_str_from(text), &fd) && fd <= 1024;
    unsetenv("CAUSEWAY_TAKEOVER");
    if (!is_number || getsockopt((int)fd, SOL_SOCKET, SO_TYPE, &type, &len) ||
        type != SOCK_SEQPACKET)
        return -1;
    fcntl((int)fd, F_SETFD, FD_CLOEXEC);
    return (int)fd;
}

static cw_code send_hello(int fd, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf buf;
    cw_json_writer w;
    cw_buf_init(&buf, CW_PACKET_MAX);
    cw_packet_open(&w, &buf, "hello");
    cw_json_add_i64_member(&w, CW_STR("protocol"), CW_PACKET_PROTOCOL);
    cw_json_add_string_member(&w, CW_STR("version"), CW_STR(CW_VERSION));
    return cw_packet_send(fd, &w, &buf, NULL, 0, err);
}

static cw_code take_listener(cw_packet *p, cw_handed *listeners, cw_err *err)
{
    cw_handed_listener l = {.is_local = cw_packet_flag(p, "local"),
                            .inherited = cw_packet_flag(p, "inherited"),
                            .has_file = cw_packet_flag(p, "file"),
                            .file_ino = (ino_t)cw_packet_number(p, "inode")};
    cw_str configured = cw_packet_text(p, "configured");
    l.file_dev =
        makedev((unsigned)cw_packet_number(p, "major"), (unsigned)cw_packet_number(p, "minor"));
    if (configured.n < sizeof l.configured)
        memcpy(l.configured, configured.p, configured.n);
    memcpy(l.fds, p->fds, p->n_fds * sizeof l.fds[0]);
    l.n_fds = p->n_fds;
    p->n_fds = 0;
    return cw_handed_add(listeners, &l, err);
}

/* Without it, the hashes in the state of the old process match nothing here. */
static void use_seed(const cw_packet *p)
{
    uint64_t seed[2] = {(uint64_t)cw_packet_number(p, "seed0"),
                        (uint64_t)cw_packet_number(p, "seed1")};
    if ((seed[0] || seed[1]) && !cw_hash_use_secret(seed))
        cw_log(CW_LOG_DEBUG, "serve", "failed logins are counted anew");
}

static cw_code take_listeners(int fd, cw_handed *listeners, cw_err *err)
{
    cw_packet p;
    for (;;) {
        cw_code rc = cw_packet_wait(fd, ANSWER_MS, &p, err);
        if (rc)
            return rc;
        bool is_end = cw_str_is(p.type, "end");
        if (is_end)
            use_seed(&p);
        if (cw_str_is(p.type, "listener"))
            rc = take_listener(&p, listeners, err);
        cw_packet_done(&p);
        if (rc || is_end)
            return rc;
    }
}

cw_code cw_successor_begin(cw_successor *s, cw_handed *listeners, cw_err *err)
{
    cw_err why = {0};
    s->fd = find_socket();
    if (s->fd < 0)
        return CW_OK;
    cw_code rc = send_hello(s->fd, &why);
    if (!rc)
        rc = take_listeners(s->fd, listeners, &why);
    return rc ? cw_fail(err, rc, "take over from the running server: %s", why.msg) : CW_OK;
}

cw_code cw_successor_ready(cw_successor *s, cw_err *err)
{
    cw_packet p;
    if (s->fd < 0)
        return CW_OK;
    cw_code rc = cw_packet_send_type(s->fd, "ready", err);
    if (!rc)
        rc = cw_packet_wait(s->fd, GO_MS, &p, err);
    /* Without a predecessor the sockets are ours alone. */
    if (rc == CW_GONE || rc == CW_IO)
        return CW_OK;
    if (rc)
        return rc;
    bool may_go = cw_str_is(p.type, "go");
    cw_packet_done(&p);
    return may_go ? CW_OK : cw_fail(err, CW_INVALID, "the running server did not let go");
}

int cw_successor_started(cw_successor *s)
{
    cw_packet p;
    cw_err err = {0};
    int state = -1;
    if (s->fd < 0)
        return -1;
    /* The service manager listens to the old process until that has named this one. */
    if (cw_packet_send_type(s->fd, "started", &err) || cw_packet_wait(s->fd, LET_GO_MS, &p, &err))
        return -1;
    if (cw_str_is(p.type, "done") && p.n_fds == 1) {
        state = p.fds[0];
        p.n_fds = 0;
    }
    cw_packet_done(&p);
    return state;
}

bool cw_successor_is_alone(cw_successor *s)
{
    cw_packet p;
    cw_err err = {0};
    cw_code rc = s->fd < 0 ? CW_GONE : cw_packet_receive(s->fd, &p, &err);
    if (rc == CW_AGAIN)
        return false;
    if (rc == CW_OK) {
        cw_packet_done(&p);
        return false;
    }
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    return true;
}

void cw_successor_failed(cw_successor *s, cw_str problem)
{
    CW_CLEANUP(cw_buf_done) cw_buf buf;
    cw_json_writer w;
    cw_err err = {0};
    cw_buf_init(&buf, CW_PACKET_MAX);
    if (s->fd < 0)
        return;
    if (problem.n > CW_TAKEOVER_PROBLEM) {
        problem.n = CW_TAKEOVER_PROBLEM;
        while ((problem.p[problem.n] & 0xC0) == 0x80)
            problem.n--; /* not within a character */
    }
    cw_packet_open(&w, &buf, "failed");
    cw_json_add_string_member(&w, CW_STR("problem"), problem);
    (void)!cw_packet_send(s->fd, &w, &buf, NULL, 0, &err);
    close(s->fd);
    s->fd = -1;
}
