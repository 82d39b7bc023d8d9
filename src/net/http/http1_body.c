/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http1_body.c - the body of a message: by Content-Length, chunked (RFC 9112 7.1), or up to the end
 * of the connection (answers only).
 *
 *     5;name="text"\r\n     SIZE EXT... SIZE_LF
 *     hello\r\n             DATA DATA_CR DATA_LF
 *     0\r\n                 SIZE SIZE_LF
 *     Trailer: x\r\n        TRAILER TRAILER_NAME TRAILER_VALUE TRAILER_LF
 *     \r\n                  TRAILER END_LF
 *
 * Everything but content goes through one function a byte at a time: it is
 * small, and no two readers of these bytes may come to different ends.
 */
#include "net/http/http1.h"
#include "net/http/http1_chars.h"

#define SIZE_DIGITS_MAX 8u
#define EXT_BYTES_MAX 256u
#define TRAILER_BYTES_MAX 8192u

enum {
    LENGTH, /* content up to a length known from the head */
    CLOSE,  /* content up to the end of the connection */
    SIZE,
    SIZE_BWS,  /* white space, which only ';' may follow */
    EXT_START, /* behind ';' */
    EXT_NAME,
    EXT_NAME_BWS,
    EXT_EQUALS, /* behind '=' */
    EXT_TOKEN,
    EXT_QUOTED,
    EXT_ESCAPE, /* behind '\' in a quoted string */
    EXT_END,    /* behind a quoted string */
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER, /* at the beginning of a trailer line */
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    END_LF,
    DONE,
    REFUSED,
};

/* Fields that would change how the message is framed, routed, authorised or read: RFC 9110 6.5.1
 * forbids them in trailers. They would be dropped with the rest; a client that sends one is
 * likely an attacker. */
static const cw_str forbidden[] = {
    CW_STR_INIT("authorization"),
    CW_STR_INIT("cache-control"),
    CW_STR_INIT("connection"),
    CW_STR_INIT("content-encoding"),
    CW_STR_INIT("content-length"),
    CW_STR_INIT("content-range"),
    CW_STR_INIT("content-type"),
    CW_STR_INIT("cookie"),
    CW_STR_INIT("expect"),
    CW_STR_INIT("host"),
    CW_STR_INIT("keep-alive"),
    CW_STR_INIT("max-forwards"),
    CW_STR_INIT("origin"),
    CW_STR_INIT("proxy-authorization"),
    CW_STR_INIT("proxy-connection"),
    CW_STR_INIT("range"),
    CW_STR_INIT("te"),
    CW_STR_INIT("trailer"),
    CW_STR_INIT("transfer-encoding"),
    CW_STR_INIT("upgrade"),
};

static cw_code refuse(cw_http1_body *b, cw_code code, const char *reason)
{
    b->state = REFUSED;
    b->status = code == CW_LIMIT ? 413 : 400;
    b->reason = reason;
    return code;
}

static cw_code to(cw_http1_body *b, unsigned state)
{
    b->state = (uint8_t)state;
    return CW_OK;
}

/* ---- the line with a chunk's size ---- */

/* Behind the size, a name or a value: the end of the line, or the next extension. White space may
 * stand before a ';' and nowhere else. */
static cw_code end_part(cw_http1_body *b, char c, const char *otherwise)
{
    switch (c) {
    case '\r':
        return to(b, SIZE_LF);
    case ';':
        return to(b, EXT_START);
    case ' ':
    case '\t':
        return to(b, SIZE_BWS);
    default:
        return refuse(b, CW_INVALID, otherwise);
    }
}

/* The size is complete: refuse what would exceed the limit before any of it is read. */
static cw_code end_size(cw_http1_body *b, char c)
{
    if (b->digits == 0)
        return refuse(b, CW_INVALID, "chunk without a size");
    if (b->left > b->max - b->received)
        return refuse(b, CW_LIMIT, "request body too large");
    return end_part(b, c, "invalid chunk size");
}

static cw_code step_size(cw_http1_body *b, char c)
{
    if (!cw_http_is(c, CW_HTTP_XDIGIT))
        return end_size(b, c);
    if (b->digits == SIZE_DIGITS_MAX)
        return refuse(b, CW_INVALID, "chunk size too long");
    b->digits++;
    b->left = b->left << 4 | cw_http_hex(c);
    return CW_OK;
}

static cw_code step_ext(cw_http1_body *b, char c)
{
    bool blank = c == ' ' || c == '\t';
    bool tchar = cw_http_is(c, CW_HTTP_TCHAR);

    if (++b->ext_bytes > EXT_BYTES_MAX)
        return refuse(b, CW_LIMIT, "chunk extension too long");
    switch (b->state) {
    case SIZE_BWS:
        if (blank || c == ';')
            return to(b, blank ? SIZE_BWS : EXT_START);
        break;
    case EXT_START:
        if (blank || tchar)
            return to(b, blank ? EXT_START : EXT_NAME);
        break;
    case EXT_NAME:
        if (tchar)
            return CW_OK;
        if (blank || c == '=')
            return to(b, blank ? EXT_NAME_BWS : EXT_EQUALS);
        return end_part(b, c, "invalid chunk extension");
    case EXT_NAME_BWS:
        if (blank)
            return CW_OK;
        if (c == '=' || c == ';')
            return to(b, c == '=' ? EXT_EQUALS : EXT_START);
        break;
    case EXT_EQUALS:
        if (blank)
            return CW_OK;
        if (tchar || c == '"')
            return to(b, tchar ? EXT_TOKEN : EXT_QUOTED);
        break;
    case EXT_TOKEN:
        return tchar ? CW_OK : end_part(b, c, "invalid chunk extension");
    case EXT_QUOTED:
        if (c == '"' || c == '\\')
            return to(b, c == '"' ? EXT_END : EXT_ESCAPE);
        if (cw_http_is(c, CW_HTTP_VCHAR))
            return CW_OK;
        break;
    case EXT_ESCAPE:
        if (cw_http_is(c, CW_HTTP_VCHAR))
            return to(b, EXT_QUOTED);
        break;
    default: /* EXT_END */
        return end_part(b, c, "invalid chunk extension");
    }
    return refuse(b, CW_INVALID, "invalid chunk extension");
}

static void start_chunk(cw_http1_body *b)
{
    b->state = SIZE;
    b->left = 0;
    b->digits = 0;
    b->ext_bytes = 0;
}

/* ---- trailers ---- */

static cw_code end_trailer_name(cw_http1_body *b)
{
    for (size_t i = 0; i < CW_COUNT(forbidden); i++) {
        if (cw_str_eq((cw_str){b->name, b->name_len}, forbidden[i]))
            return refuse(b, CW_INVALID, "field that may not stand in a trailer");
    }
    return to(b, TRAILER_VALUE);
}

/* A name longer than the buffer stops at its full length, which is longer than any in the list. */
static void add_to_name(cw_http1_body *b, char c)
{
    if (b->name_len < sizeof b->name)
        b->name[b->name_len++] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static cw_code step_trailer(cw_http1_body *b, char c)
{
    if (++b->trailer_bytes > TRAILER_BYTES_MAX)
        return refuse(b, CW_LIMIT, "trailers too large");
    switch (b->state) {
    case TRAILER:
        if (c == '\r')
            return to(b, END_LF);
        if (!cw_http_is(c, CW_HTTP_TCHAR))
            return refuse(b, CW_INVALID, "invalid trailer line");
        b->name_len = 0;
        add_to_name(b, c);
        return to(b, TRAILER_NAME);
    case TRAILER_NAME:
        if (c == ':')
            return end_trailer_name(b);
        if (!cw_http_is(c, CW_HTTP_TCHAR))
            return refuse(b, CW_INVALID, "invalid trailer field name");
        add_to_name(b, c);
        return CW_OK;
    case TRAILER_VALUE:
        if (c == '\r')
            return to(b, TRAILER_LF);
        if (!cw_http_is(c, CW_HTTP_VCHAR))
            return refuse(b, CW_INVALID, "control character in a trailer field");
        return CW_OK;
    case TRAILER_LF:
        return c == '\n' ? to(b, TRAILER) : refuse(b, CW_INVALID, "bare CR in a trailer");
    default: /* END_LF */
        return c == '\n' ? to(b, DONE) : refuse(b, CW_INVALID, "bare CR behind the trailers");
    }
}

/* One byte that is not content. */
static cw_code step(cw_http1_body *b, char c)
{
    if (b->state == SIZE)
        return step_size(b, c);
    if (b->state < SIZE_LF)
        return step_ext(b, c);
    if (b->state >= TRAILER)
        return step_trailer(b, c);
    if (c != (b->state == DATA_CR ? '\r' : '\n'))
        return refuse(b, CW_INVALID,
                      b->state == SIZE_LF ? "bare CR behind a chunk size"
                                          : "chunk longer than its size");
    if (b->state == DATA_CR)
        return to(b, DATA_LF);
    if (b->state == SIZE_LF)
        return to(b, b->left ? DATA : TRAILER);
    start_chunk(b);
    return CW_OK;
}

static void take_content(cw_http1_body *b, cw_str *in, cw_str *piece)
{
    size_t n = in->n < b->left ? in->n : (size_t)b->left;

    *piece = (cw_str){in->p, n};
    *in = (cw_str){in->p + n, in->n - n};
    b->left -= n;
    b->received += n;
    if (b->left == 0 && b->state != CLOSE)
        b->state = b->state == DATA ? DATA_CR : DONE;
}

cw_code cw_http1_body_init(cw_http1_body *b, const cw_http1_head *h, uint64_t max)
{
    *b = (cw_http1_body){.max = max};
    if (h->chunked) {
        start_chunk(b);
        return CW_OK;
    }
    if (h->has_length && h->content_length > max)
        return refuse(b, CW_LIMIT, "request body too large");
    b->left = h->has_length ? h->content_length : 0;
    b->state = b->left ? LENGTH : DONE;
    return CW_OK;
}

cw_code cw_http1_response_body_init(cw_http1_body *b, const cw_http1_head *h, cw_http_method method,
                                    uint64_t max)
{
    bool bodiless = method == CW_HTTP_HEAD || h->code < 200 || h->code == 204 || h->code == 304;
    if (!bodiless && (h->chunked || h->has_length))
        return cw_http1_body_init(b, h, max);
    *b = (cw_http1_body){.max = max, .left = bodiless ? 0 : max};
    b->state = bodiless ? DONE : CLOSE;
    return CW_OK;
}

cw_code cw_http1_end_body(const cw_http1_body *b)
{
    return b->state == CLOSE || b->state == DONE ? CW_DONE : CW_INVALID;
}

uint64_t cw_http1_body_left(const cw_http1_body *b)
{
    return b->state == LENGTH || b->state == DATA ? b->left : 0;
}

cw_code cw_http1_read_body(cw_http1_body *b, cw_str *in, cw_str *piece)
{
    *piece = (cw_str){in->p, 0};
    for (;;) {
        cw_code rc;

        if (b->state == DONE)
            return CW_DONE;
        if (b->state == REFUSED)
            return b->status == 413 ? CW_LIMIT : CW_INVALID;
        if (in->n == 0)
            return CW_AGAIN;
        if (b->state == CLOSE && b->left == 0)
            return refuse(b, CW_LIMIT, "body too large");
        if (b->state == LENGTH || b->state == DATA || b->state == CLOSE) {
            take_content(b, in, piece);
            return CW_AGAIN;
        }
        rc = step(b, *in->p);
        if (rc)
            return rc;
        *in = (cw_str){in->p + 1, in->n - 1};
    }
}
