/* SPDX-License-Identifier: GPL-2.0-or-later */
/* utf8.h - strict UTF-8: no surrogates, no overlong forms, nothing above U+10FFFF.
 *
 * Threads: no state.
 */
#ifndef CW_BASE_UTF8_H
#define CW_BASE_UTF8_H

#include "base/str.h"

/* Length (1 to 4) of the well-formed sequence at p, or 0. Reads at most `n` bytes. */
unsigned cw_utf8_len(const char *p, size_t n);
/* Decode the sequence at p; returns its length, or 0 when it is ill-formed. */
unsigned cw_utf8_decode(const char *p, size_t n, uint32_t *ret_cp);
/* Encode a code point (not a surrogate, <= U+10FFFF); returns the length. */
unsigned cw_utf8_encode(uint32_t cp, char out[4]);
bool cw_utf8_is_valid(cw_str s);
/* Characters that would end a line, drive a terminal or reorder what a reader sees. */
bool cw_utf8_is_control(uint32_t cp);
/* The number of characters of valid UTF-8. */
size_t cw_utf8_count(cw_str s);
/* The longest prefix of at most `max` bytes that does not split a character. */
size_t cw_utf8_cut(cw_str s, size_t max);

#endif
