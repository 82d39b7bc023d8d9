/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hex.h - hexadecimal digits.
 *
 * Threads: no state.
 */
#ifndef CW_BASE_HEX_H
#define CW_BASE_HEX_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attr.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* 0 to 15, whichever case a letter has; -1 when it is no digit. */
CW_INLINE int cw_hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The eight small digits of a number, the highest first. They are computed side by side, in the
 * bytes of a word: 0 to 9 are '0' + n, and 10 to 15 are 39 more. */
CW_INLINE void cw_hex_write_u32(char *out, uint32_t number)
{
    uint64_t n = number;
    n = (n << 16 | n) & 0x0000ffff0000ffff;
    n = (n << 8 | n) & 0x00ff00ff00ff00ff;
    n = (n << 4 | n) & 0x0f0f0f0f0f0f0f0f;
    uint64_t is_letter = (n + 0x0606060606060606) >> 4 & 0x0101010101010101;
    uint64_t digits = htobe64(n + 0x3030303030303030 + is_letter * 39);
    memcpy(out, &digits, sizeof digits);
}

/* The sixteen small digits of eight bytes. */
CW_INLINE void cw_hex_write_8(char *out, const unsigned char bytes[8])
{
#if defined(__SSE2__)
    const __m128i low = _mm_set1_epi8(15);
    __m128i in = _mm_loadl_epi64((const __m128i *)(const void *)bytes);
    __m128i n =
        _mm_unpacklo_epi8(_mm_and_si128(_mm_srli_epi16(in, 4), low), _mm_and_si128(in, low));
    __m128i is_letter = _mm_cmpgt_epi8(n, _mm_set1_epi8(9));
    n = _mm_add_epi8(n, _mm_and_si128(is_letter, _mm_set1_epi8(39)));
    _mm_storeu_si128((__m128i *)(void *)out, _mm_add_epi8(n, _mm_set1_epi8('0')));
#else
    uint32_t words[2];
    memcpy(words, bytes, sizeof words);
    cw_hex_write_u32(out, be32toh(words[0]));
    cw_hex_write_u32(out + 8, be32toh(words[1]));
#endif
}

/* Two small digits for each byte, and a NUL: out has room for 2 * n + 1. */
CW_INLINE void cw_hex_write(char *out, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        cw_hex_write_8(out, bytes + i);
        out += 16;
    }
    for (; i < n; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

#endif
