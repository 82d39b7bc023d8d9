/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cursor.c - formats and parses cursors of REST lists. */
#include "door/rest/cursor.h"

#include "base/base64.h"
#include "base/digits.h"

#define DIGITS_MAX 19u /* of INT64_MAX */

size_t cw_cursor_format(uint64_t offset, char out[CW_CURSOR_SIZE])
{
    char digits[CW_DIGITS_SIZE];
    size_t n = cw_base64_encode(cw_digits_u64(offset, digits), out);
    out[n] = 0;
    return n;
}

bool cw_cursor_parse(cw_str text, uint64_t *ret)
{
    char digits[CW_BASE64_BYTES(CW_CURSOR_SIZE)];
    size_t n;
    uint64_t value;
    if (text.n >= CW_CURSOR_SIZE || !cw_base64_decode(text, CW_BASE64_OPTIONAL, digits, &n))
        return false;
    if (n > DIGITS_MAX || !cw_str_to_u64(cw_str_make(digits, n), &value) || value > INT64_MAX)
        return false;
    /* No other spelling: base64 has one, and so has a number without leading zeros. */
    if (n > 1 && digits[0] == '0')
        return false;
    *ret = value;
    return true;
}
