/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/cursor.h"

#include <stdio.h>

#define DIGITS_MAX 19u /* of INT64_MAX */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static size_t encode(const char *digits, size_t n, char out[CW_CURSOR_SIZE])
{
    size_t at = 0;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t group = (uint32_t)(unsigned char)digits[i] << 16;
        if (left > 1)
            group |= (uint32_t)(unsigned char)digits[i + 1] << 8;
        if (left > 2)
            group |= (unsigned char)digits[i + 2];
        out[at++] = alphabet[group >> 18];
        out[at++] = alphabet[group >> 12 & 63];
        out[at++] = left > 1 ? alphabet[group >> 6 & 63] : '=';
        out[at++] = left > 2 ? alphabet[group & 63] : '=';
    }
    out[at] = 0;
    return at;
}

size_t cw_cursor_format(uint64_t offset, char out[CW_CURSOR_SIZE])
{
    char digits[DIGITS_MAX + 2];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)offset);
    return encode(digits, (size_t)n, out);
}

/* The characters that four of the alphabet stand for; returns how many, 0 for a wrong one. */
static size_t decode_group(const char *in, size_t n, char out[3])
{
    uint32_t group = 0;
    for (size_t i = 0; i < n; i++) {
        const char *found = in[i] ? strchr(alphabet, in[i]) : NULL;
        if (!found)
            return 0;
        group |= (uint32_t)(found - alphabet) << (18 - 6 * i);
    }
    for (size_t i = 0; i < 3; i++)
        out[i] = (char)(group >> (16 - 8 * i) & 255);
    return n - 1;
}

bool cw_cursor_parse(cw_str text, uint64_t *ret)
{
    char digits[CW_CURSOR_SIZE], again[CW_CURSOR_SIZE];
    size_t n = 0, end = text.n;
    uint64_t value;
    if (text.n == 0 || text.n >= CW_CURSOR_SIZE)
        return false;
    while (end && text.p[end - 1] == '=')
        end--;
    /* Padding is all there or not there at all. */
    if (end % 4 == 1 || (end != text.n && (text.n % 4 || text.n - end > 2)))
        return false;
    for (size_t i = 0; i < end; i += 4) {
        size_t got = decode_group(text.p + i, end - i < 4 ? end - i : 4, digits + n);
        if (!got)
            return false;
        n += got;
    }
    if (n > DIGITS_MAX || !cw_str_to_u64(cw_str_make(digits, n), &value) || value > INT64_MAX)
        return false;
    /* Written again it is the same: there is no other spelling. */
    if (cw_cursor_format(value, again) < end || memcmp(again, text.p, end) != 0)
        return false;
    *ret = value;
    return true;
}
