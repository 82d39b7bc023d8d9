/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel_ws.c - the client's side of a WebSocket (RFC 6455) over a channel's socket.
 *
 * It is strict where the RFC says MUST: no masked frame from a server, no reserved bit or opcode,
 * lengths in their shortest form, control frames whole and short, text in UTF-8, no extension and no
 * subprotocol, since none is requested. A binary message is a message like a text, since some
 * services send JSON that way.
 *
 *     0: FIN RSV RSV RSV opcode(4)   1: MASK length(7)   2 or 8 more bytes of length   mask   data
 */
#include <openssl/sha.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/random.h"
#include "base/utf8.h"
#include "net/stream/channel_int.h"

#define KEY_BYTES 16u
#define ACCEPT_LEN CW_BASE64_TEXT(SHA_DIGEST_LENGTH)
#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

#define FIN 0x80u
#define RESERVED 0x70u
#define MASKED 0x80u
#define CONTINUATION 0u
#define LENGTH_16 126u
#define LENGTH_64 127u

/* ---- bytes of the handshake ---- */

static cw_code make_key(char key[CW_WS_KEY], cw_err *err)
{
    char bytes[KEY_BYTES];
    cw_code rc = cw_random_bytes(bytes, sizeof bytes, err);
    if (!rc)
        cw_base64_encode(cw_str_make(bytes, sizeof bytes), key);
    return rc;
}

/* `path` and `authority` must be valid in a request (see cw_client_url), as must `headers`. */
static void write_request(cw_buf *out, cw_str path, cw_str authority, const char key[CW_WS_KEY],
                          const cw_http_header *headers, size_t n_headers)
{
    cw_buf_add(out, CW_STR("GET "));
    cw_buf_add(out, path);
    cw_buf_add(out, CW_STR(" HTTP/1.1\r\nHost: "));
    cw_buf_add(out, authority);
    cw_buf_add(out, CW_STR("\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "));
    cw_buf_add_bytes(out, key, CW_WS_KEY);
    cw_buf_add(out, CW_STR("\r\n"));
    for (size_t i = 0; i < n_headers; i++)
        cw_buf_printf(out, "%.*s: %.*s\r\n", CW_STR_ARG(headers[i].name),
                      CW_STR_ARG(headers[i].value));
    cw_buf_add(out, CW_STR("\r\n"));
}

/* The one field of this name, or an empty string. */
static cw_str only_field(const cw_http1_head *h, const char *p, cw_str name)
{
    size_t at = cw_http1_find(h, p, name, 0);
    if (at == CW_HTTP1_NONE || cw_http1_find(h, p, name, at + 1) != CW_HTTP1_NONE)
        return CW_STR("");
    return cw_http1_value(h, p, at);
}

static bool lists(const cw_http1_head *h, const char *p, cw_str name, cw_str option)
{
    for (size_t at = cw_http1_find(h, p, name, 0); at != CW_HTTP1_NONE;
         at = cw_http1_find(h, p, name, at + 1)) {
        cw_str list = cw_http1_value(h, p, at);
        while (list.p) {
            if (cw_str_ieq(cw_str_trim(cw_str_cut(list, ',', &list)), option))
                return true;
        }
    }
    return false;
}

static bool is_accepted(cw_str accept, const char key[CW_WS_KEY])
{
    char text[CW_WS_KEY + sizeof GUID - 1], want[ACCEPT_LEN];
    unsigned char digest[SHA_DIGEST_LENGTH];
    memcpy(text, key, CW_WS_KEY);
    memcpy(text + CW_WS_KEY, GUID, sizeof GUID - 1);
    if (!SHA1((const unsigned char *)text, sizeof text, digest))
        return false;
    cw_base64_encode(cw_str_make((const char *)digest, sizeof digest), want);
    return cw_str_eq(accept, cw_str_make(want, sizeof want));
}

/* Whether a head, whose bytes are at `p`, is the answer to this key. CW_INVALID with a reason. */
static cw_code check_response(const cw_http1_head *h, const char *p, const char key[CW_WS_KEY],
                              cw_err *err)
{
    if (h->code == 401 || h->code == 403)
        return cw_fail(err, CW_INVALID,
                       "the service refuses our credentials, or asks for some: HTTP %u", h->code);
    if (h->code >= 300 && h->code < 400)
        return cw_fail(err, CW_INVALID, "the WebSocket is elsewhere: HTTP %u is not followed",
                       h->code);
    if (h->code != 101)
        return cw_fail(err, CW_INVALID, "no WebSocket there: HTTP %u", h->code);
    if (!lists(h, p, CW_STR("Upgrade"), CW_STR("websocket")) ||
        !lists(h, p, CW_STR("Connection"), CW_STR("upgrade")))
        return cw_fail(err, CW_INVALID, "switched to something else than a WebSocket");
    if (!is_accepted(only_field(h, p, CW_STR("Sec-WebSocket-Accept")), key))
        return cw_fail(err, CW_INVALID, "wrong Sec-WebSocket-Accept");
    if (cw_http1_find(h, p, CW_STR("Sec-WebSocket-Extensions"), 0) != CW_HTTP1_NONE ||
        cw_http1_find(h, p, CW_STR("Sec-WebSocket-Protocol"), 0) != CW_HTTP1_NONE)
        return cw_fail(err, CW_INVALID, "an extension or protocol that was not requested");
    return CW_OK;
}

/* ---- frames that come ---- */

typedef struct frame {
    bool is_last;
    unsigned opcode;
    size_t head;
    uint64_t n;
} frame;

void cw_ws_reader_init(cw_ws_reader *r, size_t max_message)
{
    *r = (cw_ws_reader){.max_message = max_message};
    cw_buf_init(&r->parts, max_message);
}

void cw_ws_reader_done(cw_ws_reader *r)
{
    cw_buf_done(&r->parts);
}

static cw_code refuse(cw_ws_reader *r, unsigned status)
{
    r->status = (uint16_t)status;
    return status == CW_WS_TOO_LARGE ? CW_LIMIT : CW_INVALID;
}

static uint64_t read_number(const unsigned char *p, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | p[i];
    return value;
}

/* The length in its shortest form. CW_AGAIN: not all of it is there. */
static cw_code read_length(cw_ws_reader *r, cw_str bytes, frame *f)
{
    const unsigned char *p = (const unsigned char *)bytes.p;
    unsigned small = p[1] & ~MASKED;
    size_t more = small == LENGTH_16 ? 2 : small == LENGTH_64 ? 8 : 0;
    f->head = 2 + more;
    f->n = small;
    if (bytes.n < f->head)
        return CW_AGAIN;
    if (more)
        f->n = read_number(p + 2, more);
    bool is_longer_than_due = (more == 2 && f->n < LENGTH_16) || (more == 8 && f->n <= UINT16_MAX);
    return is_longer_than_due || f->n >> 63 ? refuse(r, CW_WS_PROTOCOL) : CW_OK;
}

static bool is_control(unsigned opcode)
{
    return opcode >= CW_WS_CLOSE;
}

/* Whether this frame may stand here. */
static bool is_due(const cw_ws_reader *r, const frame *f)
{
    switch (f->opcode) {
    case CONTINUATION:
        return r->kind != 0;
    case CW_WS_TEXT:
    case CW_WS_BINARY:
        return r->kind == 0;
    case CW_WS_CLOSE:
    case CW_WS_PING:
    case CW_WS_PONG:
        return f->is_last && f->n <= CW_WS_CONTROL_MAX;
    default:
        return false;
    }
}

static cw_code read_head(cw_ws_reader *r, cw_str bytes, frame *f)
{
    if (bytes.n < 2)
        return CW_AGAIN;
    const unsigned char *p = (const unsigned char *)bytes.p;
    f->is_last = p[0] & FIN;
    f->opcode = p[0] & ~(FIN | RESERVED);
    if (p[0] & RESERVED || p[1] & MASKED)
        return refuse(r, CW_WS_PROTOCOL);
    cw_code rc = read_length(r, bytes, f);
    if (rc)
        return rc;
    if (!is_due(r, f))
        return refuse(r, CW_WS_PROTOCOL);
    if (!is_control(f->opcode) && f->n > r->max_message - r->parts.n)
        return refuse(r, CW_WS_TOO_LARGE);
    return bytes.n - f->head < f->n ? CW_AGAIN : CW_OK;
}

/* Which numbers may be sent: RFC 6455 7.4. */
static bool is_status(unsigned status)
{
    return (status >= 1000 && status <= 1014 && status != 1004 && status != 1005 &&
            status != 1006) ||
           (status >= 3000 && status <= 4999);
}

static cw_code read_close(cw_ws_reader *r, cw_str *data)
{
    r->peer_status = CW_WS_NO_STATUS;
    if (data->n == 0)
        return CW_OK;
    if (data->n == 1)
        return refuse(r, CW_WS_PROTOCOL);
    r->peer_status = (uint16_t)read_number((const unsigned char *)data->p, 2);
    *data = cw_str_make(data->p + 2, data->n - 2);
    if (!is_status(r->peer_status))
        return refuse(r, CW_WS_PROTOCOL);
    return cw_utf8_is_valid(*data) ? CW_OK : refuse(r, CW_WS_NOT_UTF8);
}

/* A piece of a message. CW_AGAIN: it was not the last one. */
static cw_code take_piece(cw_ws_reader *r, const frame *f, cw_str *data)
{
    if (f->opcode != CONTINUATION)
        r->kind = (uint8_t)f->opcode;
    cw_buf_add(&r->parts, *data);
    if (r->parts.code)
        return r->parts.code;
    if (!f->is_last)
        return CW_AGAIN;
    *data = cw_buf_str(&r->parts);
    r->is_handed = true;
    return CW_OK;
}

static cw_code take_frame(cw_ws_reader *r, const frame *f, cw_str *data, cw_ws_kind *ret_kind)
{
    *ret_kind = (cw_ws_kind)f->opcode;
    if (f->opcode == CW_WS_CLOSE)
        return read_close(r, data);
    if (is_control(f->opcode))
        return CW_OK;
    if (f->opcode == CONTINUATION || !f->is_last) {
        cw_code rc = take_piece(r, f, data);
        if (rc)
            return rc;
        *ret_kind = (cw_ws_kind)r->kind;
        r->kind = 0;
    }
    return *ret_kind == CW_WS_BINARY || cw_utf8_is_valid(*data) ? CW_OK : refuse(r, CW_WS_NOT_UTF8);
}

/* Read the next message or control frame from `bytes`, which begin where the last *ret_used ended.
 * CW_OK: *ret is its payload; for a CW_WS_CLOSE the reason. It points into `bytes`, or into the reader
 * if it came in pieces, and lives until the next call. CW_AGAIN: *ret_used bytes are done with; pass
 * those behind them again, and more. CW_INVALID, CW_LIMIT, CW_NOMEM: the end. */
static cw_code next_frame(cw_ws_reader *r, cw_str bytes, cw_ws_kind *ret_kind, cw_str *ret,
                          size_t *ret_used)
{
    size_t at = 0;
    if (r->is_handed)
        cw_buf_release(&r->parts);
    r->is_handed = false;
    cw_code rc = CW_AGAIN;
    *ret_used = 0;
    while (rc == CW_AGAIN && at < bytes.n) {
        frame f;
        rc = read_head(r, cw_str_make(bytes.p + at, bytes.n - at), &f);
        if (rc)
            break;
        cw_str data = {bytes.p + at + f.head, (size_t)f.n};
        at += f.head + (size_t)f.n;
        *ret_used = at;
        rc = take_frame(r, &f, &data, ret_kind);
        if (rc == CW_OK)
            *ret = data;
    }
    return rc;
}

/* ---- frames that go ---- */

/* The head of a whole message with `n` bytes; returns its length. The mask is its last four. */
static size_t write_head(cw_ws_kind kind, size_t n, const char mask[CW_WS_MASK],
                         char out[CW_WS_HEAD_MAX])
{
    size_t more = n > UINT16_MAX ? 8 : n >= LENGTH_16 ? 2 : 0;
    out[0] = (char)(FIN | (unsigned)kind);
    out[1] = (char)(MASKED | (more == 8 ? LENGTH_64 : more == 2 ? LENGTH_16 : (unsigned)n));
    for (size_t i = 0; i < more; i++)
        out[2 + i] = (char)((uint64_t)n >> (8 * (more - 1 - i)) & 0xFF);
    memcpy(out + 2 + more, mask, CW_WS_MASK);
    return 2 + more + CW_WS_MASK;
}

static void mask_bytes(char *p, size_t n, const char mask[CW_WS_MASK])
{
    uint32_t once;
    memcpy(&once, mask, sizeof once);
    uint64_t twice = (uint64_t)once << 32 | once;
    size_t i = 0;
    for (; n - i >= sizeof twice; i += sizeof twice) {
        uint64_t bytes;
        memcpy(&bytes, p + i, sizeof bytes);
        bytes ^= twice;
        memcpy(p + i, &bytes, sizeof bytes);
    }
    for (; i < n; i++)
        p[i] = (char)(p[i] ^ mask[i % CW_WS_MASK]);
}

/* ---- the handshake ---- */

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
    cw_code rc = make_key(ch->key, NULL);
    if (!rc) {
        write_request(&ch->output, o->websocket, ch->authority, ch->key, o->headers, o->n_headers);
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
        rc = check_response(&ch->head, bytes.p, ch->key, &err);
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
    cw_code rc = next_frame(&ch->frames, bytes, &kind, &data, ret_used);
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

/* ---- sending ---- */

cw_code cw_channel_ws_send(cw_channel *ch, cw_ws_kind kind, const cw_str *pieces, size_t n)
{
    char mask[CW_WS_MASK], head[CW_WS_HEAD_MAX], *message;
    size_t size = 0;
    for (size_t i = 0; i < n; i++)
        size += pieces[i].n;
    cw_code rc = cw_random_bytes(mask, sizeof mask, NULL);
    if (rc)
        return rc;
    cw_str before = {head, write_head(kind, size, mask, head)};
    rc = cw_channel_queue(ch, before, pieces, n, CW_STR(""), &message);
    if (!rc)
        mask_bytes(message, size, mask);
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
