/* SPDX-License-Identifier: GPL-2.0-or-later */
/* utf8.c - the table of well-formed sequences (Unicode, table 3-7) as comparisons. */
#include "base/utf8.h"

static bool is_tail(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

unsigned cw_utf8_decode(const char *p, size_t n, uint32_t *ret_cp)
{
    const unsigned char *u = (const unsigned char *)p;
    if (n == 0)
        return 0;
    if (u[0] < 0x80) {
        *ret_cp = u[0];
        return 1;
    }
    if (u[0] < 0xC2 || u[0] > 0xF4)
        return 0;
    unsigned len = u[0] < 0xE0 ? 2 : u[0] < 0xF0 ? 3 : 4;
    if (n < len)
        return 0;
    uint32_t cp = u[0] & (0x7Fu >> len);
    for (unsigned i = 1; i < len; i++) {
        if (!is_tail(u[i]))
            return 0;
        cp = cp << 6 | (u[i] & 0x3Fu);
    }
    /* Overlong forms of three and four bytes; those of two are the lead bytes C0 and C1. */
    if ((len == 3 && cp < 0x800) || (len == 4 && (cp < 0x10000 || cp > 0x10FFFF)))
        return 0;
    if (cp >= 0xD800 && cp <= 0xDFFF)
        return 0;
    *ret_cp = cp;
    return len;
}

unsigned cw_utf8_len(const char *p, size_t n)
{
    uint32_t cp;
    return cw_utf8_decode(p, n, &cp);
}

unsigned cw_utf8_encode(uint32_t cp, char out[4])
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    unsigned len = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (unsigned i = len - 1; i > 0; i--, cp >>= 6)
        out[i] = (char)(0x80 | (cp & 0x3F));
    /* The lead byte starts with as many ones as there are bytes. */
    out[0] = (char)((0xF00u >> len & 0xFF) | cp);
    return len;
}

bool cw_utf8_is_valid(cw_str s)
{
    size_t i = 0;
    while (i < s.n) {
        /* Most text is ASCII: eight bytes at a time while none has its high bit set. */
        uint64_t word;
        if (s.n - i >= sizeof(word)) {
            memcpy(&word, s.p + i, sizeof(word));
            if ((word & UINT64_C(0x8080808080808080)) == 0) {
                i += sizeof(word);
                continue;
            }
        }
        unsigned len = cw_utf8_len(s.p + i, s.n - i);
        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

size_t cw_utf8_count(cw_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xC0) != 0x80; /* each character has one such byte */
    return n;
}

size_t cw_utf8_cut(cw_str s, size_t max)
{
    if (s.n <= max)
        return s.n;
    /* Only a whole character that starts before the cut and ends behind it is split by it. */
    for (size_t back = 1; back <= 3 && back <= max; back++)
        if (cw_utf8_len(s.p + (max - back), s.n - (max - back)) > back)
            return max - back;
    return max;
}

bool cw_utf8_is_control(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7F && cp <= 0x9F) || cp == 0x200E || cp == 0x200F ||
           (cp >= 0x2028 && cp <= 0x202E) || (cp >= 0x2066 && cp <= 0x2069) || cp == 0x061C;
}
