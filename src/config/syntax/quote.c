/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quote.c - quotes text so that it is safe to print. */
#include "config/syntax/quote.h"

#include <stdio.h>

#include "base/utf8.h"

#define ESCAPED_MAX 7u /* \uXXXX and its NUL */

/* Whether a terminal, an editor or libyaml would treat this as more than a visible character. */
static bool needs_escape(uint32_t cp)
{
    if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
        return true;
    if (cp >= 0x200b && cp <= 0x200f)
        return true;
    if (cp >= 0x2028 && cp <= 0x202e)
        return true;
    if (cp >= 0x2060 && cp <= 0x206f)
        return true;
    return cp == 0xad || cp == 0x61c || cp == 0xfeff || (cp >= 0xfff9 && cp <= 0xffff);
}

/* Write the character at the front of *rest as it is shown and step behind it. Returns the length.
 */
static size_t escape_next(cw_str *rest, char out[ESCAPED_MAX])
{
    uint32_t cp = 0;
    unsigned n = cw_utf8_decode(rest->p, rest->n, &cp);
    if (!n) {
        cp = 0xfffd;
        n = 1;
    }
    const char *from = rest->p;
    rest->p += n;
    rest->n -= n;
    if (cp == '"' || cp == '\\')
        return (size_t)snprintf(out, ESCAPED_MAX, "\\%c", (int)cp);
    if (needs_escape(cp))
        return (size_t)snprintf(out, ESCAPED_MAX, "\\u%04x", (unsigned)cp);
    memcpy(out, from, n);
    return n;
}

void cw_quote_bare(cw_buf *out, cw_str text)
{
    char exposed[ESCAPED_MAX];
    while (text.n) {
        size_t n = escape_next(&text, exposed);
        cw_buf_add_bytes(out, exposed, n);
    }
}

void cw_quote_shown(cw_buf *out, cw_str text)
{
    char exposed[ESCAPED_MAX];
    while (text.n) {
        bool stands = *text.p == '"' || *text.p == '\\';
        char c = *text.p;
        size_t n = escape_next(&text, exposed);
        cw_buf_add_bytes(out, stands ? &c : exposed, stands ? 1 : n);
    }
}

void cw_quote(cw_buf *out, cw_str text)
{
    cw_buf_add_char(out, '"');
    cw_quote_bare(out, text);
    cw_buf_add_char(out, '"');
}

const char *cw_excerpt(cw_str text, char out[CW_EXCERPT_SIZE])
{
    size_t at = 0;
    out[at++] = '"';
    for (unsigned i = 0; i < CW_EXCERPT_CHARS && text.n; i++) {
        char exposed[ESCAPED_MAX];
        size_t n = escape_next(&text, exposed);
        memcpy(out + at, exposed, n);
        at += n;
    }
    const char *end = text.n ? "...\"" : "\"";
    memcpy(out + at, end, strlen(end) + 1);
    return out;
}
