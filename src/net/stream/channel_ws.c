/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel_ws.c - a WebSocket's handshake and frames over a channel's socket. */
#include <stdio.h>

#include "base/random.h"
#include "net/stream/channel_int.h"

static const cw_http1_limits head_limits = {.head = CW_HTTP_MAX_HEAD, .fields = CW_HTTP_MAX_FIELDS};

static void on_late(uv_timer_t *timer)
{
    cw_channel_ended(timer->data, CW_TIMEOUT, "no answer to the WebSocket's handshake");
}

cw_str cw_channel_ws_authority(cw_channel *ch)
{
    const cw_channel_opts *o = &ch->opts;
    char port[8] = "";
    if (o->unix_path.n)
        return CW_STR("localhost");
    if (o->port != (o->is_tls ? 443 : 80))
        snprintf(port, sizeof port, ":%u", o->port);
    bool is_v6 = memchr(o->host.p, ':', o->host.n) != NULL;
    char *text =
        cw_arena_printf(&ch->texts, is_v6 ? "[%.*s]%s" : "%.*s%s", CW_STR_ARG(o->host), port);
    return text ? cw_str_from(text) : (cw_str){NULL, 0};
}

void cw_channel_send_handshake(cw_channel *ch)
{
    const cw_channel_opts *o = &ch->opts;
    uint64_t now = cw_loop_now(ch->loop);
    cw_code rc = cw_ws_make_key(ch->key, NULL);
    if (!rc) {
        cw_ws_write_request(&ch->output, o->websocket, ch->authority, ch->key, o->headers,
                            o->n_headers);
        rc = ch->output.code;
    }
    if (rc) {
        cw_channel_ended(ch, rc, cw_code_text(rc));
        return;
    }
    cw_http1_response_init(&ch->head, &head_limits);
    ch->head.may_switch = true;
    ch->state = CHANNEL_GREETING;
    cw_channel_wait(ch, on_late, now < ch->until ? ch->until - now : 0);
    cw_channel_flush(ch);
}

static cw_code take_answer(cw_channel *ch, cw_str bytes, size_t *ret_used)
{
    cw_err err;
    cw_code rc = cw_http1_parse_response(&ch->head, bytes.p, bytes.n);
    if (rc == CW_AGAIN)
        return rc;
    if (rc)
        cw_fail(&err, CW_INVALID, "no WebSocket there: %s", ch->head.reason);
    else
        rc = cw_ws_check_response(&ch->head, bytes.p, ch->key, &err);
    *ret_used = ch->head.size;
    bool is_refused = ch->head.code == 401 || ch->head.code == 403;
    if (rc)
        cw_channel_ended(ch, is_refused ? CW_DECLINED : CW_INVALID, err.msg);
    else
        cw_channel_opened(ch);
    return CW_OK;
}

/* The other side closes: say so too, as RFC 6455 5.5.1 asks. */
static void take_close(cw_channel *ch, cw_str reason)
{
    char why[256];
    unsigned status = ch->frames.peer_status;
    cw_channel_ws_send_close(ch, status == CW_WS_NO_STATUS ? CW_WS_NORMAL : status);
    snprintf(why, sizeof why, "the WebSocket was closed: %u %.*s", status, CW_STR_ARG(reason));
    cw_channel_ended(ch, CW_GONE, why);
}

cw_code cw_channel_ws_read(cw_channel *ch, cw_str bytes, cw_str *ret_message, size_t *ret_used)
{
    if (ch->state == CHANNEL_GREETING)
        return take_answer(ch, bytes, ret_used);
    cw_ws_kind kind;
    cw_str data;
    cw_code rc = cw_ws_next(&ch->frames, bytes, &kind, &data, ret_used);
    if (rc)
        return rc;
    switch (kind) {
    case CW_WS_TEXT:
    case CW_WS_BINARY:
        *ret_message = data;
        break;
    case CW_WS_PING:
        /* A peer that pings faster than it reads gets fewer pongs, as RFC 6455 5.5.3 allows. */
        rc = cw_channel_ws_send(ch, CW_WS_PONG, &data, 1);
        (void)rc;
        break;
    case CW_WS_CLOSE:
        take_close(ch, data);
        break;
    case CW_WS_PONG:
        break;
    }
    return CW_OK;
}

/* ---- whether it is still there ---- */

static void on_quiet(uv_timer_t *timer);

/* A service that works on a call may have no thread left for a pong; who waits for the answer knows
 * how long that may take. */
static bool is_awaited(const cw_channel *ch)
{
    return ch->opts.ops->is_awaited && ch->opts.ops->is_awaited(ch->opts.ctx);
}

static void on_no_pong(uv_timer_t *timer)
{
    cw_channel *ch = timer->data;
    char why[64];
    if (ch->received_at >= ch->pinged_at || is_awaited(ch)) {
        on_quiet(timer);
        return;
    }
    snprintf(why, sizeof why, "no answer to a ping within %u ms", ch->opts.connect_ms);
    cw_channel_ended(ch, CW_GONE, why);
}

/* Whatever comes is as good as a pong. */
static void on_quiet(uv_timer_t *timer)
{
    cw_channel *ch = timer->data;
    uint64_t now = cw_loop_now(ch->loop), quiet = now - ch->received_at;
    if (quiet < ch->opts.ping_ms || is_awaited(ch)) {
        bool is_early = quiet < ch->opts.ping_ms;
        cw_channel_wait(ch, on_quiet, is_early ? ch->opts.ping_ms - quiet : ch->opts.ping_ms);
        return;
    }
    /* A ping would wait behind what is being sent, and that may take its time. */
    if (ch->sent < ch->output.n || cw_channel_ws_send(ch, CW_WS_PING, NULL, 0)) {
        cw_channel_wait(ch, on_quiet, ch->opts.ping_ms);
        return;
    }
    ch->pinged_at = now;
    cw_channel_wait(ch, on_no_pong, ch->opts.connect_ms);
}

void cw_channel_ws_start_keepalive(cw_channel *ch)
{
    ch->received_at = cw_loop_now(ch->loop);
    cw_channel_wait(ch, on_quiet, ch->opts.ping_ms);
}

/* ---- frames ---- */

cw_code cw_channel_ws_send(cw_channel *ch, cw_ws_kind kind, const cw_str *pieces, size_t n)
{
    char mask[CW_WS_MASK], head[CW_WS_HEAD_MAX], *message;
    size_t size = 0;
    for (size_t i = 0; i < n; i++)
        size += pieces[i].n;
    cw_code rc = cw_random_bytes(mask, sizeof mask, NULL);
    if (rc)
        return rc;
    cw_str before = {head, cw_ws_write_head(kind, size, mask, head)};
    rc = cw_channel_queue(ch, before, pieces, n, CW_STR(""), &message);
    if (!rc)
        cw_ws_mask(message, size, mask);
    return rc;
}

void cw_channel_ws_send_close(cw_channel *ch, unsigned status)
{
    char bytes[] = {(char)(status >> 8), (char)(status & 0xFF)};
    cw_str data = {bytes, sizeof bytes};
    /* It is a courtesy: what cannot be sent now is not sent. */
    if (!cw_channel_ws_send(ch, CW_WS_CLOSE, &data, 1))
        cw_channel_flush(ch);
}
