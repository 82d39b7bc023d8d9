/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ascii.h - classes of ASCII characters, whatever the locale.
 *
 * Threads: no state.
 */
#ifndef CW_BASE_ASCII_H
#define CW_BASE_ASCII_H

#include <stdbool.h>

#include "base/attr.h"

CW_INLINE bool cw_is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

CW_INLINE bool cw_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

CW_INLINE bool cw_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

CW_INLINE bool cw_is_letter(char c)
{
    return cw_is_lower((char)(c | 0x20));
}

CW_INLINE bool cw_is_alnum(char c)
{
    return cw_is_digit(c) || cw_is_letter(c);
}

CW_INLINE bool cw_is_hex(char c)
{
    char lower = (char)(c | 0x20);
    return cw_is_digit(c) || (lower >= 'a' && lower <= 'f');
}

/* The white space of JSON: space, tab, line feed and carriage return. */
CW_INLINE bool cw_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

#endif
