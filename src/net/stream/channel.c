/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel.c - opens, reads, writes and closes a channel over a socket, TLS or a program. */
#include "net/stream/channel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/stream/channel_int.h"

#define CONNECT_MS 5000u
#define TEXTS_MAX (1024u * 1024u)
/* Beyond a message: its head, and what one read brings with its end. */
#define INPUT_MORE (CW_HTTP_MAX_HEAD + 2 * CW_LOOP_SCRATCH)

/* ---- what is told ---- */

static cw_code channel_find(cw_channel *ch, cw_err *err);
static void channel_connect(cw_channel *ch);
static cw_code tls_start(cw_channel *ch, cw_err *err);
static void tls_end(cw_channel *ch);

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
    cw_loop_cancel_deferred(&ch->more);
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
    tls_end(ch);
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
    char room[CW_FRAMING_ROOM], *message = NULL;
    cw_str before, behind;
    cw_framing_wrap(ch->opts.framing, size, room, &before, &behind);
    cw_code rc = cw_channel_queue(ch, before, pieces, n, behind, &message);
    bool is_line = ch->opts.framing == CW_FRAMING_LINES || ch->opts.framing == CW_FRAMING_CRLF;
    if (!rc && message && is_line)
        join_lines(message, size);
    return rc;
}

static void on_more(cw_deferred *later);

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
        channel_connect(ch);
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
    ch->more.fn = on_more;
    ch->hook.on_end = on_loop_end;
    ch->job_fds[0] = ch->job_fds[1] = ch->job_fds[2] = -1;
    ch->cutter = (cw_framing_reader){.framing = opts->framing, .max_message = opts->max_message};
    cw_buf_init(&ch->input, opts->max_message + INPUT_MORE);
    cw_buf_init(&ch->output, opts->max_queue);
    cw_ws_reader_init(&ch->frames, opts->max_message);
    cw_arena_init(&ch->texts, TEXTS_MAX);
    rc = copy_opts(ch, opts, err);
    if (!rc)
        rc = channel_find(ch, err);
    if (!rc && ch->opts.is_tls)
        rc = tls_start(ch, err);
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

/* ---- connecting ---- */

/* A name is looked up. Its addresses are tried one after another, each with its share of the time that is
 * left. */

static cw_code channel_find(cw_channel *ch, cw_err *err)
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

static void channel_not_reached(cw_channel *ch, int errnum)
{
    not_reached(ch, errnum);
    try_next(ch);
}

static void on_late(uv_timer_t *timer)
{
    channel_not_reached(timer->data, ETIMEDOUT);
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

static void on_connected(cw_channel *ch)
{
    int errnum = cw_connect_result(ch->in->fd);
    if (errnum)
        channel_not_reached(ch, errnum);
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

static void channel_connect(cw_channel *ch)
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

/* ---- TLS ---- */

static void on_secured(void *owner, cw_code code, int errnum, const char *why)
{
    cw_channel *ch = owner;
    if (errnum)
        channel_not_reached(ch, errnum);
    else if (code)
        cw_channel_ended(ch, code, why);
    else
        cw_channel_send_handshake(ch);
}

static cw_code tls_start(cw_channel *ch, cw_err *err)
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

static void tls_end(cw_channel *ch)
{
    if (ch->secure)
        cw_tls_client_close(ch->secure, on_closed, ch);
    ch->secure = NULL;
}

static ssize_t tls_send(cw_channel *ch, const char *p, size_t n)
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

/* ---- reading and writing ---- */

/* the bytes of a channel.
 *
 *     descriptor -> scratch: [message][message][mes      handed out in place; the rest goes to
 *     descriptor -> `input`: [mes|sage][message]         `input`, and reading goes on there
 */

/* Buffers that have grown beyond this are given back when they are empty. */
#define KEEP_BYTES (64u * 1024u)
/* Reads of one event: who writes without end must not starve the others. */
#define TURN_READS 4u
/* With TLS a read returns one record at most. */
#define TURN_RECORDS (TURN_READS * CW_LOOP_SCRATCH / CW_TLS_CLIENT_RECORD)
_Static_assert(CW_LOOP_SCRATCH >= CW_TLS_CLIENT_RECORD, "room for a record");

/* ---- ends ---- */

static void on_end_closed(uv_handle_t *handle)
{
    cw_channel_end *end = handle->data;
    cw_channel *ch = end->channel;
    free(end);
    ch->n_ends--;
    cw_channel_settle(ch);
}

cw_code cw_channel_add_end(cw_channel *ch, int fd, cw_channel_end **ret, cw_err *err)
{
    cw_channel_end *end = calloc(1, sizeof *end);
    if (!end) {
        close(fd);
        return cw_fail_nomem(err);
    }
    int rc = uv_poll_init(&ch->loop->uv, &end->poll, fd);
    if (rc) {
        close(fd);
        free(end);
        return cw_fail(err, rc == UV_ENOMEM ? CW_NOMEM : CW_IO, "poll: %s", uv_strerror(rc));
    }
    end->poll.data = end;
    end->channel = ch;
    end->fd = fd;
    ch->n_ends++;
    *ret = end;
    return CW_OK;
}

void cw_channel_close_end(cw_channel_end **at)
{
    cw_channel_end *end = *at;
    if (!end)
        return;
    cw_channel *ch = end->channel;
    if (ch->out == end)
        ch->out = NULL;
    *at = NULL;
    cw_tls_client_end(ch->link);
    ch->link = NULL;
    uv_close((uv_handle_t *)&end->poll, on_end_closed);
    close(end->fd);
}

/* ---- reading ---- */

static bool is_live(const cw_channel *ch)
{
    return (ch->state == CHANNEL_OPEN || ch->state == CHANNEL_GREETING) && !ch->closing;
}

static void refuse(cw_channel *ch, cw_code rc)
{
    char why[96];
    bool is_ws = ch->opts.websocket.n;
    if (is_ws && ch->frames.status)
        cw_channel_ws_send_close(ch, ch->frames.status);
    if (rc == CW_LIMIT)
        snprintf(why, sizeof why, "a message has more than %zu bytes", ch->opts.max_message);
    else if (rc == CW_INVALID)
        snprintf(why, sizeof why, "%s",
                 is_ws ? "what came is not framed as a WebSocket"
                       : "it sent something that is no JSON-RPC message in this framing");
    else
        snprintf(why, sizeof why, "%s", cw_code_text(rc));
    cw_channel_ended(ch, rc, why);
}

/* Hand out what `bytes` have; returns how many are done with. */
static size_t take(cw_channel *ch, cw_str bytes)
{
    size_t at = 0;
    while (at < bytes.n && is_live(ch)) {
        cw_str rest = {bytes.p + at, bytes.n - at}, message = {NULL, 0};
        size_t used = 0;
        cw_code rc = ch->opts.websocket.n ? cw_channel_ws_read(ch, rest, &message, &used)
                                          : cw_framing_next(&ch->cutter, rest, &message, &used);
        at += used;
        if (rc == CW_AGAIN)
            break;
        if (rc)
            refuse(ch, rc);
        else if (message.n && is_live(ch))
            ch->opts.ops->on_message(ch, message, ch->opts.ctx);
    }
    return at;
}

static void take_scratch(cw_channel *ch, size_t n)
{
    const char *p = ch->loop->scratch;
    size_t used = take(ch, cw_str_make(p, n));
    if (!is_live(ch))
        return;
    cw_buf_add_bytes(&ch->input, p + used, n - used);
    if (ch->input.code)
        refuse(ch, ch->input.code);
}

static void take_input(cw_channel *ch, size_t n)
{
    cw_buf_commit(&ch->input, n);
    cw_buf_consume(&ch->input, take(ch, cw_buf_str(&ch->input)));
    if (ch->input.n == 0 && ch->input.cap > KEEP_BYTES)
        cw_buf_release(&ch->input);
}

static void come_to_end(cw_channel *ch, int errnum)
{
    char why[256];
    if (ch->opts.command) {
        cw_channel_close_end(&ch->in);
        cw_channel_on_output_closed(ch);
        return;
    }
    const char *problem = cw_tls_client_problem(ch->link);
    if (!problem)
        problem = errnum ? strerror(errnum) : "";
    snprintf(why, sizeof why, "the connection was closed%s%s%s",
             ch->input.n ? " inside a message" : "", *problem ? ": " : "", problem);
    /* Nothing of the caller's was sent before a WebSocket was agreed on. */
    cw_channel_ended(ch, ch->state == CHANNEL_GREETING ? CW_IO : CW_GONE, why);
}

/* How many bytes came and were taken; 0: nothing now, or the end. */
static size_t read_once(cw_channel *ch)
{
    char *room = ch->loop->scratch;
    bool is_part = is_live(ch) && ch->input.n > 0;
    if (is_part && !(room = cw_buf_reserve(&ch->input, CW_LOOP_SCRATCH))) {
        refuse(ch, ch->input.code);
        return 0;
    }
    ssize_t n;
    do
        n = ch->link ? cw_tls_client_recv(ch->link, room, CW_LOOP_SCRATCH)
                     : read(ch->in->fd, room, CW_LOOP_SCRATCH);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n <= 0) {
        come_to_end(ch, n < 0 ? errno : 0);
        return 0;
    }
    ch->received_at = cw_loop_now(ch->loop);
    /* A program that is told to end may still write: that is read, so that it does not wait, and
     * dropped. */
    if (is_part)
        take_input(ch, (size_t)n);
    else if (is_live(ch))
        take_scratch(ch, (size_t)n);
    return (size_t)n;
}

static bool can_read(const cw_channel *ch)
{
    return ch->in && (is_live(ch) || (ch->closing && ch->opts.command));
}

void cw_channel_drain(cw_channel *ch)
{
    int waiting = 0;
    if (!can_read(ch) || ioctl(ch->in->fd, FIONREAD, &waiting) < 0)
        return;
    for (size_t left = waiting > 0 ? (size_t)waiting : 0; left && can_read(ch);) {
        size_t n = read_once(ch);
        if (n == 0)
            return;
        left = n < left ? left - n : 0;
    }
}

/* ---- writing ---- */

static void drop_sent(cw_channel *ch)
{
    if (ch->sent < ch->output.n)
        return;
    ch->sent = 0;
    cw_buf_clear(&ch->output);
    if (ch->output.cap > KEEP_BYTES)
        cw_buf_release(&ch->output);
}

static ssize_t write_some(cw_channel *ch)
{
    const char *p = ch->output.p + ch->sent;
    size_t n = ch->output.n - ch->sent;
    if (ch->opts.command)
        return write(ch->out->fd, p, n);
    if (ch->link)
        return tls_send(ch, p, n);
    return send(ch->out->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void cw_channel_flush(cw_channel *ch)
{
    while (ch->out && ch->sent < ch->output.n) {
        ssize_t n = write_some(ch);
        if (n >= 0) {
            ch->sent += (size_t)n;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno == EAGAIN)
            break;
        /* Bytes that the peer wrote before may still wait: reading reaches the end. */
        ch->is_deaf = true;
        ch->sent = ch->output.n;
        if (ch->opts.command)
            cw_channel_on_output_closed(ch);
    }
    drop_sent(ch);
    cw_channel_watch(ch);
}

cw_code cw_channel_queue(cw_channel *ch, cw_str before, const cw_str *pieces, size_t n,
                         cw_str behind, char **ret_message)
{
    size_t size = before.n + behind.n;
    for (size_t i = 0; i < n; i++)
        size += pieces[i].n;
    if (ch->sent > 0 && size > ch->output.max - ch->output.n) {
        cw_buf_consume(&ch->output, ch->sent);
        ch->sent = 0;
    }
    char *p = cw_buf_reserve(&ch->output, size);
    if (!p) {
        cw_code rc = ch->output.code;
        ch->output.code = CW_OK;
        return rc;
    }
    cw_buf_add(&ch->output, before);
    for (size_t i = 0; i < n; i++)
        cw_buf_add(&ch->output, pieces[i]);
    cw_buf_add(&ch->output, behind);
    *ret_message = p + before.n;
    if (ch->out && !(ch->out->events & UV_WRITABLE))
        cw_loop_defer(ch->loop, &ch->flush);
    return CW_OK;
}

/* ---- events ---- */

static void read_turn(cw_channel *ch)
{
    size_t most = ch->link ? TURN_RECORDS : TURN_READS;
    size_t full = ch->link ? 1 : CW_LOOP_SCRATCH; /* there may be more */
    size_t n = 0;
    while (n < most && can_read(ch) && read_once(ch) >= full)
        n++;
    /* Records that libcurl has already taken from the socket cause no event of the socket. */
    if (ch->link && n == most && can_read(ch))
        cw_loop_defer_next(ch->loop, &ch->more);
}

static void on_more(cw_deferred *later)
{
    read_turn(CW_CONTAINER(later, cw_channel, more));
}

/* A broken descriptor is not watched again by itself, so no later turn reads what came before the fault.
 * Nothing more can come: the socket and libcurl bound what they hold. */
static void read_rest(cw_channel *ch)
{
    while (can_read(ch) && read_once(ch))
        continue;
    if (can_read(ch))
        come_to_end(ch, EIO);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    cw_channel_end *end = poll->data;
    cw_channel *ch = end->channel;
    /* libuv has stopped watching; reading and writing tell what is wrong. */
    if (status < 0)
        end->events = 0;
    if (ch->state == CHANNEL_CONNECTING && !ch->closing) {
        on_connected(ch);
        return;
    }
    if (end == ch->out && (status < 0 || events & UV_WRITABLE))
        cw_channel_flush(ch);
    if (end != ch->in || !can_read(ch) || !(status < 0 || events & UV_READABLE))
        return;
    if (status < 0)
        read_rest(ch);
    else
        read_turn(ch);
}

static void poll_for(cw_channel_end *end, int events)
{
    if (!end || end->events == events)
        return;
    end->events = events;
    if (events)
        uv_poll_start(&end->poll, events, on_poll);
    else
        uv_poll_stop(&end->poll);
}

void cw_channel_watch(cw_channel *ch)
{
    int reading = can_read(ch) ? UV_READABLE : 0;
    bool is_writing = ch->sent < ch->output.n && is_live(ch) && !ch->is_deaf;
    int writing = is_writing || ch->state == CHANNEL_CONNECTING ? UV_WRITABLE : 0;
    if (ch->in == ch->out) {
        poll_for(ch->in, reading | writing);
        return;
    }
    poll_for(ch->in, reading);
    poll_for(ch->out, writing);
}
