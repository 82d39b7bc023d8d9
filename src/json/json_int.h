/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json_int.h - what the files of src/json share among themselves. */
#ifndef CW_JSON_JSON_INT_H
#define CW_JSON_JSON_INT_H

#include "json/json.h"

/* In the arena, the characters of a decoded string follow the address and length of its source,
 * both quotes included, so that a value of 16 bytes still finds the bytes it came from. Packed:
 * most such strings are short. */
#define DECODED_HEAD (sizeof(const char *) + sizeof(uint32_t))

CW_INLINE void decoded_set_source(char *text, cw_str quoted)
{
    uint32_t n = (uint32_t)quoted.n;
    memcpy(text - DECODED_HEAD, &quoted.p, sizeof quoted.p);
    memcpy(text - sizeof n, &n, sizeof n);
}

CW_INLINE cw_str decoded_source(const char *text)
{
    const char *p;
    uint32_t n;
    memcpy(&p, text - DECODED_HEAD, sizeof p);
    memcpy(&n, text - sizeof n, sizeof n);
    return cw_str_make(p, n);
}

#define CW_JSON_DOUBLE_MAX 32
/* Print a finite double; returns the length, no NUL. */
size_t cw_json_format_double(double value, char out[CW_JSON_DOUBLE_MAX]);

#endif
