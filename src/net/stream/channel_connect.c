/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel_connect.c - the way to a socket: a name is looked up, its addresses are tried one after
 * another, each with its share of the time that is left. */
#include <errno.h>
#include <sys/socket.h>

#include "net/stream/channel_int.h"

cw_code cw_channel_find(cw_channel *ch, cw_err *err)
{
    const cw_channel_opts *o = &ch->opts;
    if (o->unix_path.n) {
        if (!cw_connect_unix(o->unix_path, &ch->addresses[0]))
            return cw_fail(err, CW_PARAMS, "the path of the socket is too long");
        ch->n_addresses = 1;
    } else if (o->host.n) {
        ch->n_addresses = cw_connect_literal(o->host.p, o->port, &ch->addresses[0]);
    }
    return CW_OK;
}

static uint64_t time_left(const cw_channel *ch)
{
    uint64_t now = cw_loop_now(ch->loop);
    return now < ch->until ? ch->until - now : 0;
}

static void try_next(cw_channel *ch);

/* The address before `next_address` was not reached. */
static void not_reached(cw_channel *ch, int errnum)
{
    char text[CW_ADDRESS_TEXT];
    cw_address_format(&ch->addresses[ch->next_address - 1], text, sizeof text);
    cw_fail_errno(&ch->why, errnum, "connect to %s", text);
    if (errnum == ETIMEDOUT)
        ch->why.code = CW_TIMEOUT;
    cw_channel_close_end(&ch->in);
}

void cw_channel_not_reached(cw_channel *ch, int errnum)
{
    not_reached(ch, errnum);
    try_next(ch);
}

static void on_late(uv_timer_t *timer)
{
    cw_channel_not_reached(timer->data, ETIMEDOUT);
}

static void connected(cw_channel *ch)
{
    if (ch->opts.websocket.n)
        cw_channel_send_handshake(ch);
    else
        cw_channel_opened(ch);
}

/* Begin with an address. CW_AGAIN: the rest follows; CW_DECLINED: it is not reached. */
static cw_code dial(cw_channel *ch, const cw_address *to)
{
    bool is_pending = false;
    int fd = ch->secure ? socket(to->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)
                        : cw_connect_open(to, &is_pending);
    if (fd < 0) {
        not_reached(ch, errno);
        return CW_DECLINED;
    }
    cw_code rc = cw_channel_add_end(ch, fd, &ch->in, &ch->why);
    if (rc)
        return rc;
    ch->out = ch->in;
    if (ch->secure) {
        ch->state = CHANNEL_SECURING;
        rc = cw_tls_client_begin(ch->secure, fd, to, ch, &ch->link, &ch->why);
        return rc ? rc : CW_AGAIN;
    }
    if (!is_pending)
        return CW_OK;
    ch->state = CHANNEL_CONNECTING;
    cw_channel_watch(ch);
    return CW_AGAIN;
}

static void try_next(cw_channel *ch)
{
    cw_code rc = CW_DECLINED;
    while (rc == CW_DECLINED && ch->next_address < ch->n_addresses) {
        uint64_t share = time_left(ch) / (ch->n_addresses - ch->next_address);
        rc = dial(ch, &ch->addresses[ch->next_address++]);
        if (rc == CW_AGAIN)
            cw_channel_wait(ch, on_late, share);
    }
    if (rc == CW_OK)
        connected(ch);
    else if (rc != CW_AGAIN)
        cw_channel_ended(ch, ch->why.code, ch->why.msg);
}

void cw_channel_on_connected(cw_channel *ch)
{
    int errnum = cw_connect_result(ch->in->fd);
    if (errnum)
        cw_channel_not_reached(ch, errnum);
    else
        connected(ch);
}

static void on_found(void *ctx, const char *why, const struct addrinfo *found)
{
    cw_channel *ch = ctx;
    ch->lookup = NULL;
    ch->n_addresses = cw_lookup_take(found, ch->opts.port, ch->addresses, CW_CHANNEL_ADDRESSES);
    cw_fail(&ch->why, CW_IO, "look up '%s': %s", ch->opts.host.p, why ? why : "no address");
    try_next(ch);
}

static void on_name_late(uv_timer_t *timer)
{
    cw_channel *ch = timer->data;
    cw_fail(&ch->why, CW_TIMEOUT, "look up '%s': no answer", ch->opts.host.p);
    cw_channel_ended(ch, ch->why.code, ch->why.msg);
}

void cw_channel_connect(cw_channel *ch)
{
    ch->until = cw_loop_now(ch->loop) + ch->opts.connect_ms;
    if (ch->n_addresses) {
        try_next(ch);
        return;
    }
    ch->state = CHANNEL_NAMING;
    cw_code rc = cw_lookup_start(ch->loop, ch->opts.host.p, on_found, ch, &ch->lookup, &ch->why);
    if (rc)
        cw_channel_ended(ch, rc, ch->why.msg);
    else
        cw_channel_wait(ch, on_name_late, time_left(ch));
}
