/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base64.c - base64 and base64url, by RFC 4648. */
#include "base/base64.h"

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

size_t cw_base64_encode(cw_str bytes, char *out)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = 0;
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t left = bytes.n - i;
        uint32_t group = (uint32_t)(unsigned char)bytes.p[i] << 16;
        if (left > 1)
            group |= (uint32_t)(unsigned char)bytes.p[i + 1] << 8;
        if (left > 2)
            group |= (unsigned char)bytes.p[i + 2];
        out[n++] = alphabet[group >> 18];
        out[n++] = alphabet[group >> 12 & 63];
        out[n++] = left > 1 ? alphabet[group >> 6 & 63] : '=';
        out[n++] = left > 2 ? alphabet[group & 63] : '=';
    }
    return n;
}

bool cw_base64_decode(cw_str text, cw_base64_padding padding, char *out, size_t *ret_n)
{
    size_t end = text.n, n = 0;
    while (end && text.n - end < 2 && text.p[end - 1] == '=')
        end--;
    bool padded = text.n % 4 == 0;
    if (!padded && (padding == CW_BASE64_PADDED || end != text.n || end % 4 == 1))
        return false;
    uint32_t bits = 0;
    unsigned have = 0; /* bits that no byte has taken yet */
    for (size_t i = 0; i < end; i++) {
        int digit = digit_of(text.p[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        have += 6;
        if (have < 8)
            continue;
        have -= 8;
        out[n++] = (char)(bits >> have & 0xFF);
    }
    /* Bits behind the last byte have nowhere to go. */
    if (bits & ((1u << have) - 1))
        return false;
    *ret_n = n;
    return true;
}
