/* SPDX-License-Identifier: GPL-2.0-or-later */
/* percent.c - percent-encoding by RFC 3986. */
#include "base/percent.h"

static bool is_plain(unsigned char c)
{
    bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    bool is_digit = c >= '0' && c <= '9';
    return is_letter || is_digit || c == '-' || c == '.' || c == '_' || c == '~';
}

void cw_percent_encode(cw_buf *out, cw_str text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        char hex[] = {'%', digits[c >> 4], digits[c & 15]};
        cw_buf_add(out, is_plain(c) ? cw_str_make(text.p + i, 1) : cw_str_make(hex, sizeof hex));
    }
}
