/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel.c - the life of a channel, and what is sent. */
#include "net/stream/channel.h"

#include <stdlib.h>

#include "net/stream/channel_int.h"

#define CONNECT_MS 5000u
#define TEXTS_MAX (1024u * 1024u)
/* Beyond a message: its head, and what one read brings with its end. */
#define INPUT_MORE (CW_HTTP_MAX_HEAD + 2 * CW_LOOP_SCRATCH)

/* ---- what is told ---- */

void cw_channel_wait(cw_channel *ch, uv_timer_cb fn, uint64_t ms)
{
    uv_timer_start(&ch->timer, fn, ms, 0);
}

void cw_channel_opened(cw_channel *ch)
{
    uv_timer_stop(&ch->timer);
    ch->state = CHANNEL_OPEN;
    if (ch->opts.websocket.n)
        cw_channel_ws_start_keepalive(ch);
    cw_channel_watch(ch);
    ch->opts.ops->on_open(ch, ch->opts.ctx);
}

static void stop(cw_channel *ch)
{
    uv_timer_stop(&ch->timer);
    cw_loop_cancel_deferred(&ch->flush);
    cw_lookup_forget(ch->lookup);
    ch->lookup = NULL;
}

void cw_channel_ended(cw_channel *ch, cw_code code, const char *why)
{
    if (ch->closing || ch->state == CHANNEL_ENDED)
        return;
    ch->state = CHANNEL_ENDED;
    stop(ch);
    cw_channel_watch(ch);
    ch->opts.ops->on_end(ch, code, why, ch->opts.ctx);
}

/* ---- its end ---- */

static void release(cw_channel *ch)
{
    cw_loop_remove_hook(&ch->hook);
    cw_buf_done(&ch->input);
    cw_buf_done(&ch->output);
    cw_ws_reader_done(&ch->frames);
    cw_arena_done(&ch->texts);
    free(ch);
}

static void on_timer_closed(uv_handle_t *handle)
{
    cw_channel *ch = handle->data;
    void (*on_closed)(void *ctx) = ch->opts.ops->on_closed;
    void *ctx = ch->opts.ctx;
    release(ch);
    on_closed(ctx);
}

void cw_channel_settle(cw_channel *ch)
{
    if (!ch->closing || ch->n_ends || ch->has_child || ch->job.ticket || ch->is_released)
        return;
    ch->is_released = true;
    uv_close((uv_handle_t *)&ch->timer, on_timer_closed);
}

void cw_channel_close(cw_channel *ch)
{
    if (ch->closing)
        return;
    /* Write queued messages, as far as possible without waiting. */
    if (ch->state == CHANNEL_OPEN) {
        if (ch->opts.websocket.n)
            cw_channel_ws_send_close(ch, CW_WS_NORMAL);
        cw_channel_flush(ch);
    }
    ch->closing = true;
    stop(ch);
    if (ch->opts.command)
        cw_channel_stop_program(ch);
    else
        cw_channel_close_end(&ch->in);
    cw_channel_tls_end(ch);
    cw_channel_settle(ch);
}

static void on_loop_end(cw_loop_hook *hook)
{
    cw_channel *ch = CW_CONTAINER(hook, cw_channel, hook);
    cw_channel_cancel_start(ch);
    cw_channel_close(ch);
}

/* ---- sending ---- */

/* A line break inside a JSON text is white space; inside a line it would be the line's end. */
static void join_lines(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\n' || p[i] == '\r')
            p[i] = ' ';
    }
}

cw_code cw_channel_send(cw_channel *ch, const cw_str *pieces, size_t n)
{
    size_t size = 0;
    for (size_t i = 0; i < n; i++) {
        if (pieces[i].n > ch->opts.max_message - size)
            return CW_LIMIT;
        size += pieces[i].n;
    }
    if (ch->state != CHANNEL_OPEN || ch->closing)
        return CW_GONE;
    if (ch->is_deaf)
        return CW_OK; /* as if it had been lost on the way: the end tells */
    if (ch->opts.websocket.n)
        return cw_channel_ws_send(ch, CW_WS_TEXT, pieces, n);
    char room[CW_FRAMING_ROOM], *message;
    cw_str before, behind;
    cw_framing_wrap(ch->opts.framing, size, room, &before, &behind);
    cw_code rc = cw_channel_queue(ch, before, pieces, n, behind, &message);
    if (!rc && (ch->opts.framing == CW_FRAMING_LINES || ch->opts.framing == CW_FRAMING_CRLF))
        join_lines(message, size);
    return rc;
}

static void on_flush(cw_deferred *later)
{
    cw_channel_flush(CW_CONTAINER(later, cw_channel, flush));
}

/* ---- opening ---- */

static bool has_nul(cw_str s)
{
    return s.n && memchr(s.p, 0, s.n);
}

/* Fit for a request line. */
static bool is_target(cw_str path)
{
    for (size_t i = 0; i < path.n; i++) {
        if (path.p[i] <= ' ' || path.p[i] == 0x7F)
            return false;
    }
    return path.p[0] == '/';
}

static cw_code check_websocket(const cw_channel_opts *o, cw_err *err)
{
    if (o->websocket.n && (o->command || !is_target(o->websocket)))
        return cw_fail(err, CW_PARAMS, "not the path of a WebSocket");
    if (o->is_tls && (!o->websocket.n || !o->host.n))
        return cw_fail(err, CW_PARAMS, "TLS is for a WebSocket at a host");
    for (size_t i = 0; i < o->n_headers; i++) {
        if (!cw_http_is_token(o->headers[i].name) || !cw_http_is_value(o->headers[i].value))
            return cw_fail(err, CW_PARAMS, "a header that would break the request");
    }
    return CW_OK;
}

static cw_code check(const cw_channel_opts *o, cw_err *err)
{
    if ((o->unix_path.n != 0) + (o->host.n != 0) + (o->command != NULL) != 1)
        return cw_fail(err, CW_PARAMS, "not exactly one of a socket's path, a host and a command");
    if (has_nul(o->host) || has_nul(o->unix_path))
        return cw_fail(err, CW_PARAMS, "a NUL in the name of a host or socket");
    if (o->command && (!o->command[0] || !o->spawner))
        return cw_fail(err, CW_PARAMS, "a command without a program");
    if (o->max_message == 0 || o->max_message > UINT32_MAX - CW_FRAMING_ROOM)
        return cw_fail(err, CW_PARAMS, "no such size of a message");
    return check_websocket(o, err);
}

/* A copy with a NUL behind it; sets *failed. */
static cw_str copy(cw_arena *a, cw_str s, bool *failed)
{
    char *p = cw_arena_alloc(a, s.n + 1);
    *failed |= !p;
    if (!p)
        return CW_STR("");
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = 0;
    return cw_str_make(p, s.n);
}

static const char *const *copy_list(cw_arena *a, const char *const *list, bool *failed)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    const char **strings = cw_arena_alloc(a, (n + 1) * sizeof *strings);
    *failed |= !strings;
    for (size_t i = 0; i < n && !*failed; i++)
        strings[i] = copy(a, cw_str_from(list[i]), failed).p;
    if (strings)
        strings[n] = NULL;
    return strings;
}

static void copy_websocket(cw_channel *ch, const cw_channel_opts *o, bool *failed)
{
    cw_arena *a = &ch->texts;
    cw_http_header *headers = cw_arena_calloc(a, o->n_headers + 1, sizeof *headers);
    *failed |= !headers;
    for (size_t i = 0; i < o->n_headers && !*failed; i++)
        headers[i] = (cw_http_header){copy(a, o->headers[i].name, failed),
                                      copy(a, o->headers[i].value, failed)};
    ch->opts.headers = headers;
    ch->opts.websocket = copy(a, o->websocket, failed);
    ch->opts.tls =
        (cw_client_tls){copy(a, o->tls.ca_file, failed), copy(a, o->tls.certificate, failed),
                        copy(a, o->tls.key, failed), copy(a, o->tls.server_name, failed)};
    ch->opts.ping_ms = o->ping_ms ? o->ping_ms : CW_CHANNEL_PING_MS;
    ch->authority = cw_channel_ws_authority(ch);
    *failed |= !ch->authority.p;
}

static cw_code copy_opts(cw_channel *ch, const cw_channel_opts *o, cw_err *err)
{
    bool failed = false;
    cw_arena *a = &ch->texts;
    ch->opts = *o;
    ch->opts.unix_path = copy(a, o->unix_path, &failed);
    ch->opts.host = copy(a, o->host, &failed);
    if (o->websocket.n)
        copy_websocket(ch, o, &failed);
    ch->opts.name = copy(a, o->name, &failed);
    if (o->command) {
        ch->opts.command = copy_list(a, o->command, &failed);
        ch->opts.environment = copy_list(a, o->environment, &failed);
    }
    if (o->folder)
        ch->opts.folder = copy(a, cw_str_from(o->folder), &failed).p;
    if (!ch->opts.connect_ms)
        ch->opts.connect_ms = CONNECT_MS;
    if (!failed)
        return CW_OK;
    return a->failed == CW_LIMIT ? cw_fail(err, CW_LIMIT, "the command or the headers are too long")
                                 : cw_fail_nomem(err);
}

static void on_begin(uv_timer_t *timer)
{
    cw_channel *ch = timer->data;
    if (ch->opts.command)
        cw_channel_start_program(ch);
    else
        cw_channel_connect(ch);
}

cw_code cw_channel_open(cw_loop *loop, const cw_channel_opts *opts, cw_channel **ret, cw_err *err)
{
    cw_code rc = check(opts, err);
    if (rc)
        return rc;
    cw_channel *ch = calloc(1, sizeof *ch);
    if (!ch)
        return cw_fail_nomem(err);
    ch->loop = loop;
    ch->flush.fn = on_flush;
    ch->hook.on_end = on_loop_end;
    ch->job_fds[0] = ch->job_fds[1] = ch->job_fds[2] = -1;
    ch->cutter = (cw_framing_reader){.framing = opts->framing, .max_message = opts->max_message};
    cw_buf_init(&ch->input, opts->max_message + INPUT_MORE);
    cw_buf_init(&ch->output, opts->max_queue);
    cw_ws_reader_init(&ch->frames, opts->max_message);
    cw_arena_init(&ch->texts, TEXTS_MAX);
    rc = copy_opts(ch, opts, err);
    if (!rc)
        rc = cw_channel_find(ch, err);
    if (!rc && ch->opts.is_tls)
        rc = cw_channel_tls_start(ch, err);
    if (rc) {
        release(ch);
        return rc;
    }
    uv_timer_init(&loop->uv, &ch->timer);
    ch->timer.data = ch;
    cw_loop_add_hook(loop, &ch->hook);
    /* In the next turn: no callback is called before this has returned. */
    cw_channel_wait(ch, on_begin, 0);
    *ret = ch;
    return CW_OK;
}
