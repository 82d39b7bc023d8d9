/* SPDX-License-Identifier: GPL-2.0-or-later */
/* framing.c - one small reader for each framing.
 *
 *     bytes: [means nothing][looked at before |  new ]
 *                           ▲ *ret_used of CW_AGAIN
 */
#include "net/stream/framing.h"

#include <stdio.h>

#include "base/ascii.h"
#include "net/http/http1.h"

#define HEAD_MAX 4096u
#define LENGTH_BYTES 4u

/* The message that begins behind `from` bytes was cut; forget how it was found. */
static cw_code cut(cw_framing_reader *c, cw_str bytes, size_t from, size_t n, size_t used,
                   cw_str *ret, size_t *ret_used)
{
    *c = (cw_framing_reader){.framing = c->framing, .max_message = c->max_message};
    *ret = cw_str_make(bytes.p + from, n);
    *ret_used = used;
    return CW_OK;
}

/* ---- lines ---- */

static cw_code next_line(cw_framing_reader *c, cw_str bytes, cw_str *ret, size_t *ret_used)
{
    size_t at = 0;
    while (at < bytes.n) {
        const char *from = bytes.p + at;
        size_t n = bytes.n - at;
        const char *end = n > c->looked ? memchr(from + c->looked, '\n', n - c->looked) : NULL;
        if (!end) {
            c->looked = n;
            *ret_used = at;
            /* The last byte may be a CR that does not count. */
            return n - 1 > c->max_message ? CW_LIMIT : CW_AGAIN;
        }
        size_t line = (size_t)(end - from);
        size_t next = at + line + 1;
        if (line && from[line - 1] == '\r')
            line--;
        if (line > c->max_message)
            return CW_LIMIT;
        if (line)
            return cut(c, bytes, at, line, next, ret, ret_used);
        c->looked = 0;
        at = next;
    }
    *ret_used = at;
    return CW_AGAIN;
}

/* ---- Content-Length ---- */

static cw_code take_field(cw_framing_reader *c, cw_str line)
{
    cw_str value, name = cw_str_cut(line, ':', &value);
    uint64_t n;
    if (!value.p || !cw_http_is_token(name))
        return CW_INVALID;
    if (!cw_str_ieq(name, CW_STR("Content-Length")))
        return CW_OK;
    if (c->has_body || !cw_str_to_u64(cw_str_trim(value), &n))
        return CW_INVALID;
    if (n > c->max_message)
        return CW_LIMIT;
    c->has_body = true;
    c->body = (size_t)n;
    return CW_OK;
}

/* Read the lines of a head that have come. CW_OK: it has ended. Each line is judged when it is
 * there, so that an invalid head is rejected without waiting. */
static cw_code read_head(cw_framing_reader *c, cw_str bytes)
{
    size_t end = bytes.n < HEAD_MAX ? bytes.n : HEAD_MAX;
    while (c->looked < end) {
        const char *lf = memchr(bytes.p + c->looked, '\n', end - c->looked);
        if (!lf)
            break;
        size_t at = (size_t)(lf - bytes.p);
        cw_str line = {bytes.p + c->line, at - c->line};
        if (line.n && line.p[line.n - 1] == '\r')
            line.n--;
        c->line = c->looked = at + 1;
        if (line.n == 0) {
            c->head = at + 1;
            return c->has_body ? CW_OK : CW_INVALID;
        }
        cw_code rc = take_field(c, line);
        if (rc)
            return rc;
    }
    c->looked = end;
    if (end == HEAD_MAX)
        return CW_INVALID;
    /* JSON where a head should be, say. */
    return c->line < end && !cw_http_is_token(cw_str_make(bytes.p + c->line, 1)) &&
                   bytes.p[c->line] != '\r'
               ? CW_INVALID
               : CW_AGAIN;
}

static cw_code next_with_head(cw_framing_reader *c, cw_str bytes, cw_str *ret, size_t *ret_used)
{
    size_t at = 0;
    for (;;) {
        while (c->looked == 0 && at < bytes.n && (bytes.p[at] == '\r' || bytes.p[at] == '\n'))
            at++;
        *ret_used = at;
        if (at == bytes.n)
            return CW_AGAIN;
        cw_str rest = {bytes.p + at, bytes.n - at};
        cw_code rc = c->head ? CW_OK : read_head(c, rest);
        if (rc)
            return rc;
        if (rest.n - c->head < c->body)
            return CW_AGAIN;
        size_t from = at + c->head, n = c->body;
        at = from + n;
        rc = cut(c, bytes, from, n, at, ret, ret_used);
        if (n)
            return rc;
    }
}

/* ---- a length before each ---- */

static size_t read_length(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;
    return (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
}

static cw_code next_with_length(cw_framing_reader *c, cw_str bytes, cw_str *ret, size_t *ret_used)
{
    size_t at = 0;
    while (bytes.n - at >= LENGTH_BYTES) {
        size_t n = read_length(bytes.p + at);
        if (n > c->max_message)
            return CW_LIMIT;
        if (n > bytes.n - at - LENGTH_BYTES)
            break;
        size_t from = at + LENGTH_BYTES;
        if (n)
            return cut(c, bytes, from, n, from + n, ret, ret_used);
        at = from;
    }
    *ret_used = at;
    return CW_AGAIN;
}

/* ---- JSON values ---- */

static bool is_opening(char ch)
{
    return ch == '{' || ch == '[' || ch == '"';
}

/* A character of a number or a literal. */
static bool is_bare(char ch)
{
    return (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
           ch == '-' || ch == '+' || ch == '.';
}

/* A number ends where something else begins. */
static cw_code scan_bare(cw_framing_reader *c, cw_str bytes)
{
    while (c->looked < bytes.n && is_bare(bytes.p[c->looked]))
        c->looked++;
    if (c->looked == bytes.n)
        return CW_AGAIN;
    char next = bytes.p[c->looked];
    return cw_is_space(next) || is_opening(next) ? CW_OK : CW_INVALID;
}

/* Go on inside a string; CW_OK behind its end. */
static cw_code scan_string(cw_framing_reader *c, cw_str bytes)
{
    size_t i = c->looked;
    for (; i < bytes.n; i++) {
        if (c->is_escaped) {
            c->is_escaped = false;
        } else if (bytes.p[i] == '\\') {
            c->is_escaped = true;
        } else if (bytes.p[i] == '"') {
            c->in_string = false;
            c->looked = i + 1;
            return CW_OK;
        }
    }
    c->looked = i;
    return CW_AGAIN;
}

/* Go on inside an array or object. Which bracket closes which is the JSON reader's business. */
static cw_code scan_nested(cw_framing_reader *c, cw_str bytes)
{
    while (c->looked < bytes.n) {
        if (c->in_string) {
            if (scan_string(c, bytes))
                return CW_AGAIN;
            if (c->depth == 0)
                return CW_OK;
            continue;
        }
        char ch = bytes.p[c->looked++];
        if (ch == '"')
            c->in_string = true;
        else if (ch == '{' || ch == '[')
            c->depth++;
        else if ((ch == '}' || ch == ']') && --c->depth == 0)
            return CW_OK;
    }
    return CW_AGAIN;
}

static cw_code begin_value(cw_framing_reader *c, char first)
{
    c->is_bare = is_bare(first);
    if (!c->is_bare && !is_opening(first))
        return CW_INVALID;
    if (c->is_bare)
        return CW_OK;
    c->looked = 1;
    c->in_string = first == '"';
    c->depth = !c->in_string;
    return CW_OK;
}

static cw_code next_value(cw_framing_reader *c, cw_str bytes, cw_str *ret, size_t *ret_used)
{
    size_t at = 0;
    while (c->looked == 0 && at < bytes.n && cw_is_space(bytes.p[at]))
        at++;
    *ret_used = at;
    if (at == bytes.n)
        return CW_AGAIN;
    /* Depth is counted in 32 bits. */
    size_t max = c->max_message < UINT32_MAX ? c->max_message : UINT32_MAX - 1;
    cw_str rest = {bytes.p + at, bytes.n - at};
    if (rest.n - 1 > max)
        rest.n = max + 1;
    cw_code rc = c->looked ? CW_OK : begin_value(c, rest.p[0]);
    if (!rc)
        rc = c->is_bare ? scan_bare(c, rest) : scan_nested(c, rest);
    if (c->looked > max)
        return CW_LIMIT;
    if (rc)
        return rc;
    size_t n = c->looked;
    return cut(c, bytes, at, n, at + n, ret, ret_used);
}

/* ---- the public part ---- */

cw_code cw_framing_next(cw_framing_reader *c, cw_str bytes, cw_str *ret, size_t *ret_used)
{
    *ret_used = 0;
    if (bytes.n == 0)
        return CW_AGAIN;
    switch (c->framing) {
    case CW_FRAMING_LINES:
    case CW_FRAMING_CRLF:
        return next_line(c, bytes, ret, ret_used);
    case CW_FRAMING_CONTENT_LENGTH:
        return next_with_head(c, bytes, ret, ret_used);
    case CW_FRAMING_LENGTH:
        return next_with_length(c, bytes, ret, ret_used);
    case CW_FRAMING_JSON:
        return next_value(c, bytes, ret, ret_used);
    }
    return CW_INVALID;
}

void cw_framing_wrap(cw_framing framing, size_t n, char room[CW_FRAMING_ROOM], cw_str *ret_before,
                     cw_str *ret_behind)
{
    *ret_before = *ret_behind = CW_STR("");
    switch (framing) {
    case CW_FRAMING_CRLF:
        *ret_behind = CW_STR("\r\n");
        return;
    case CW_FRAMING_CONTENT_LENGTH:
        snprintf(room, CW_FRAMING_ROOM, "Content-Length: %zu\r\n\r\n", n);
        *ret_before = cw_str_from(room);
        return;
    case CW_FRAMING_LENGTH:
        for (unsigned i = 0; i < LENGTH_BYTES; i++)
            room[i] = (char)(n >> (8 * (LENGTH_BYTES - 1 - i)) & 0xFF);
        *ret_before = cw_str_make(room, LENGTH_BYTES);
        return;
    case CW_FRAMING_LINES:
    case CW_FRAMING_JSON: /* a number would grow together with the next one */
        *ret_behind = CW_STR("\n");
        return;
    }
}
