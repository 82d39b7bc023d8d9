/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http1_chars.h - the character classes of RFC 9110, 9112 and 3986 as one table.
 *
 * Private to the HTTP files of src/net: a byte is classified with one load.
 *
 * Threads: constant.
 */
#ifndef CW_NET_HTTP_HTTP1_CHARS_H
#define CW_NET_HTTP_HTTP1_CHARS_H

#include <stdint.h>

#include "base/attr.h"
#include "base/str.h"

enum {
    CW_HTTP_TCHAR = 1,  /* may stand in a token */
    CW_HTTP_URI = 2,    /* unreserved, reserved without '#', or '%' */
    CW_HTTP_VCHAR = 4,  /* may stand in a field value: TAB, SP, visible, obs-text */
    CW_HTTP_XDIGIT = 8, /* hexadecimal digit */
    CW_HTTP_LABEL = 16, /* letter, digit, '-' or '_': may stand in a host label */
};

extern const uint8_t cw_http_chars[256];

CW_INLINE bool cw_http_is(char c, unsigned mask)
{
    return (cw_http_chars[(unsigned char)c] & mask) != 0;
}

/* The value of a hexadecimal digit. */
CW_INLINE unsigned cw_http_hex(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

/* How many bytes from the front of `s` belong to the class. */
CW_INLINE size_t cw_http_span(cw_str s, unsigned mask)
{
    size_t i = 0;

    while (i < s.n && cw_http_is(s.p[i], mask))
        i++;
    return i;
}

#endif
