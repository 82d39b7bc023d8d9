/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hex.h - what a hexadecimal digit is worth.
 *
 * Threads: no state.
 */
#ifndef CW_BASE_HEX_H
#define CW_BASE_HEX_H

#include "base/attr.h"

/* 0 to 15, whichever case a letter has; -1 when it is no digit. */
CW_INLINE int cw_hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
