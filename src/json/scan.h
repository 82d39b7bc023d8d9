/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scan.h - finding the next interesting byte, 16 at a time.
 *
 * Nothing here reads at or behind `end`: a vector is loaded only while all of it
 * is inside. With CW_JSON_NO_SIMD, or without SSE2, eight bytes are tested with
 * plain integers instead; both must find the same byte.
 */
#ifndef CW_JSON_SCAN_H
#define CW_JSON_SCAN_H

#include "base/ascii.h"
#include "json/json.h"

#if defined(__SSE2__) && !defined(CW_JSON_NO_SIMD)
#include <emmintrin.h>
#define SCAN_SSE2 1
#else
#define SCAN_SSE2 0
#endif

/* Neither '"' nor '\\' nor a control character (DEL is none in JSON) nor part of a character beyond
 * ASCII. */
CW_INLINE bool is_plain(char c)
{
    return (signed char)c >= 0x20 && c != '"' && c != '\\';
}

#if SCAN_SSE2

/* One bit per byte that is not plain. Only bit 7 of a byte counts: it is set in x from 0x80 up and
 * in x - 0x20 below 0x20. */
CW_INLINE unsigned special_bits(__m128i x)
{
    __m128i quote = _mm_cmpeq_epi8(x, _mm_set1_epi8('"'));
    __m128i slash = _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'));
    __m128i other = _mm_or_si128(x, _mm_sub_epi8(x, _mm_set1_epi8(0x20)));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, slash), other));
}

/* The index of the lowest bit. */
CW_INLINE size_t first_bit(unsigned bits)
{
    return (unsigned)__builtin_ctz(bits);
}

CW_INLINE __m128i load16(const char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

#else

#define REPEAT8(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Not 0 exactly when one of eight bytes is not plain. A byte is 0 when (x - 1) borrows into bit 7
 * while x has it clear; bytes from 0x80 up are caught by the first term, so that borrow from a
 * neighbour can only add to a hit that is there already. */
CW_INLINE uint64_t special_mask(uint64_t x)
{
    uint64_t quote = x ^ REPEAT8(0x22);
    uint64_t slash = x ^ REPEAT8(0x5C);
    uint64_t below = x - REPEAT8(0x20);
    uint64_t zero = (quote - REPEAT8(0x01)) | (slash - REPEAT8(0x01));
    return (x | below | zero) & REPEAT8(0x80);
}

#endif

/* The first byte in [p, end) that is not plain, or `end`. */
CW_INLINE const char *skip_plain(const char *p, const char *end)
{
#if SCAN_SSE2
    while (end - p >= 16) {
        unsigned bits = special_bits(load16(p));
        if (bits)
            return p + first_bit(bits);
        p += 16;
    }
#else
    while (end - p >= 8 && !special_mask(cw_json_load8(p)))
        p += 8;
#endif
    while (p < end && is_plain(*p))
        p++;
    return p;
}

/* Length (2 to 4) of the well-formed UTF-8 sequence at p, whose first byte is not ASCII, or 0.
 * Table 3-7 of the Unicode standard: only the second byte has special ranges. */
CW_INLINE size_t sequence_len(const char *text, const char *end)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t left = (size_t)(end - text);
    unsigned lead = p[0];
    if (lead < 0xE0)
        return lead >= 0xC2 && left >= 2 && (p[1] & 0xC0) == 0x80 ? 2 : 0;
    if (lead < 0xF0) {
        unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
        unsigned high = lead == 0xED ? 0x9F : 0xBF;
        return left >= 3 && p[1] >= low && p[1] <= high && (p[2] & 0xC0) == 0x80 ? 3 : 0;
    }
    unsigned low = lead == 0xF0 ? 0x90 : 0x80;
    unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
    return lead <= 0xF4 && left >= 4 && p[1] >= low && p[1] <= high && (p[2] & 0xC0) == 0x80 &&
                   (p[3] & 0xC0) == 0x80
               ? 4
               : 0;
}

#endif
