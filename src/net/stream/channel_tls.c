/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel_tls.c - a channel's socket with TLS (net/curl/tls_client.h). */
#include <errno.h>

#include "net/stream/channel_int.h"

static void on_secured(void *owner, cw_code code, int errnum, const char *why)
{
    cw_channel *ch = owner;
    if (errnum)
        cw_channel_not_reached(ch, errnum);
    else if (code)
        cw_channel_ended(ch, code, why);
    else
        cw_channel_send_handshake(ch);
}

cw_code cw_channel_tls_start(cw_channel *ch, cw_err *err)
{
    const cw_tls_client_opts opts = {
        .host = ch->opts.host,
        .authority = ch->authority,
        .port = ch->opts.port,
        .tls = ch->opts.tls,
        .on_done = on_secured,
    };
    ch->record = cw_arena_alloc(&ch->texts, CW_TLS_CLIENT_RECORD);
    if (!ch->record)
        return cw_arena_fail(&ch->texts, err);
    cw_code rc = cw_tls_client_new(ch->loop, &opts, &ch->secure, err);
    if (!rc)
        ch->n_ends++;
    return rc;
}

static void on_closed(void *ctx)
{
    cw_channel *ch = ctx;
    ch->n_ends--;
    cw_channel_settle(ch);
}

void cw_channel_tls_end(cw_channel *ch)
{
    if (ch->secure)
        cw_tls_client_close(ch->secure, on_closed, ch);
    ch->secure = NULL;
}

ssize_t cw_channel_tls_send(cw_channel *ch, const char *p, size_t n)
{
    /* A rejected record must be sent again from the same address, and the queue may have moved. */
    if (ch->n_record == 0) {
        ch->n_record = n < CW_TLS_CLIENT_RECORD ? n : CW_TLS_CLIENT_RECORD;
        memcpy(ch->record, p, ch->n_record);
    }
    ssize_t put = cw_tls_client_send(ch->link, ch->record, ch->n_record);
    if (put >= 0 || errno != EAGAIN)
        ch->n_record = 0;
    return put;
}
