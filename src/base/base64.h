/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base64.h - standard Base64 (RFC 4648, section 4), strict: each text stands for one string of
 * bytes and each string of bytes has one text.
 *
 * Not for secrets: the time it takes depends on what is decoded (access/credentials.h has another).
 *
 * Threads: no state.
 */
#ifndef CW_BASE_BASE64_H
#define CW_BASE_BASE64_H

#include "base/str.h"

/* Length of the text of `n` bytes, and the most bytes that a text of length `n` stands for. */
#define CW_BASE64_TEXT(n) (((n) + 2) / 3 * 4)
#define CW_BASE64_BYTES(n) (((n) + 3) / 4 * 3)

typedef enum cw_base64_padding {
    CW_BASE64_PADDED,   /* the text is filled with '=' up to a multiple of four */
    CW_BASE64_OPTIONAL, /* or has none of it at all */
} cw_base64_padding;

/* Write CW_BASE64_TEXT(bytes.n) characters, padded, and no NUL; returns how many. */
size_t cw_base64_encode(cw_str bytes, char *out);
/* False for other characters, line ends and spaces among them, for padding that is not due or in
 * part there, and for bits behind the last byte. `out` has room for CW_BASE64_BYTES(text.n) and may
 * be written to in any case; *ret_n is untouched on failure. */
bool cw_base64_decode(cw_str text, cw_base64_padding padding, char *out, size_t *ret_n);

#endif
