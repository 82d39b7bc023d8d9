/* SPDX-License-Identifier: GPL-2.0-or-later */
/* digits.h - whole numbers as decimal text, without printf and without a heap.
 *
 *     char text[CW_DIGITS_SIZE];
 *     cw_buf_add(&out, cw_digits_u64(id, text));
 *
 * A buffer has this ready: cw_buf_add_u64, cw_buf_add_i64.
 *
 * Ownership: what is returned lies in `out`, at its end, and has no NUL behind it.
 * Threads:   no state.
 */
#ifndef CW_BASE_DIGITS_H
#define CW_BASE_DIGITS_H

#include "base/str.h"

/* Room for UINT64_MAX, and for INT64_MIN with its sign. */
#define CW_DIGITS_SIZE 20u

CW_INLINE cw_str cw_digits_u64(uint64_t value, char out[CW_DIGITS_SIZE])
{
    size_t at = CW_DIGITS_SIZE;
    do
        out[--at] = (char)('0' + value % 10);
    while (value /= 10);
    return cw_str_make(out + at, CW_DIGITS_SIZE - at);
}

CW_INLINE cw_str cw_digits_i64(int64_t value, char out[CW_DIGITS_SIZE])
{
    if (value >= 0)
        return cw_digits_u64((uint64_t)value, out);
    /* Unsigned, since INT64_MIN has no positive counterpart. 19 digits at the most: the sign fits.
     */
    cw_str digits = cw_digits_u64(0 - (uint64_t)value, out);
    size_t at = CW_DIGITS_SIZE - digits.n - 1;
    out[at] = '-';
    return cw_str_make(out + at, digits.n + 1);
}

#endif
