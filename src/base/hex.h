/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hex.h - hexadecimal digits.
 *
 * Threads: no state.
 */
#ifndef CW_BASE_HEX_H
#define CW_BASE_HEX_H

#include <stddef.h>

#include "base/attr.h"

/* 0 to 15, whichever case a letter has; -1 when it is no digit. */
CW_INLINE int cw_hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Two small digits for each byte, and a NUL: out has room for 2 * n + 1. */
CW_INLINE void cw_hex_write(char *out, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

#endif
