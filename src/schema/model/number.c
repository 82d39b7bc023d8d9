/* SPDX-License-Identifier: GPL-2.0-or-later */
/* number.c - multipleOf without rounding errors.
 *
 * Both numbers are whole digits times a power of ten. With V, D the digits (the
 * last of each is not 0) and e the difference of the powers, v is a multiple of d
 * when D divides V x 10^e:
 *
 *     e < 0   never: D x 10 would have to divide V, which does not end in 0
 *     e >= 0  a D of n digits has fewer than 4n factors of 2 and 5 together, so
 *             that zeros beyond 4n change nothing and any exponent costs the same
 */
#include "schema/model/model.h"
#include <assert.h>

#include "json/decimal.h"

#define SMALL_DIGITS 17u /* a remainder times ten plus nine still fits 64 bits */

static uint64_t small_value(const decimal *d)
{
    uint64_t value = 0;
    for (const char *p = d->first; p < d->last; p++) {
        if (*p != '.')
            value = value * 10 + (uint64_t)(*p - '0');
    }
    return value;
}

static bool small_divides(const decimal *v, uint64_t zeros, uint64_t divisor)
{
    uint64_t rest = 0;
    assert(divisor > 0);
    for (const char *p = v->first; p < v->last; p++) {
        if (*p != '.')
            rest = (rest * 10 + (uint64_t)(*p - '0')) % divisor;
    }
    for (; zeros > 0 && rest; zeros--)
        rest = rest * 10 % divisor;
    return rest == 0;
}

/* A remainder below a divisor of many digits: one digit each, the highest first. */
typedef struct big {
    uint8_t rest[CW_SCHEMA_MAX_DIVISOR + 1];
    uint8_t divisor[CW_SCHEMA_MAX_DIVISOR + 1];
    size_t n; /* digits of both; the divisor has a leading zero */
} big;

static bool big_subtract(big *b)
{
    if (memcmp(b->rest, b->divisor, b->n) < 0)
        return false;
    int borrow = 0;
    for (size_t i = b->n; i-- > 0;) {
        int digit = b->rest[i] - b->divisor[i] - borrow;
        borrow = digit < 0;
        b->rest[i] = (uint8_t)(digit + (borrow ? 10 : 0));
    }
    return true;
}

static void big_push(big *b, unsigned digit)
{
    memmove(b->rest, b->rest + 1, b->n - 1);
    b->rest[b->n - 1] = (uint8_t)digit;
    while (big_subtract(b))
        ;
}

static bool big_divides(const decimal *v, uint64_t zeros, const decimal *d)
{
    big b = {.n = d->count + 1};
    size_t n = 1;
    for (const char *p = d->first; p < d->last; p++) {
        if (*p != '.')
            b.divisor[n++] = (uint8_t)(*p - '0');
    }
    for (const char *p = v->first; p < v->last; p++) {
        if (*p != '.')
            big_push(&b, (unsigned)(*p - '0'));
    }
    for (; zeros > 0; zeros--)
        big_push(&b, 0);
    for (size_t i = 0; i < b.n; i++) {
        if (b.rest[i])
            return false;
    }
    return true;
}

bool cw_schema_is_multiple(const cw_json *value, const cw_json *by, int64_t *steps)
{
    decimal v;
    decimal d;
    cw_json_decimal_split(value, &v);
    cw_json_decimal_split(by, &d);
    if (v.count == 0)
        return true;
    int64_t e =
        cw_json_decimal_top(&v) - (int64_t)v.count - (cw_json_decimal_top(&d) - (int64_t)d.count);
    if (e < 0)
        return false;
    uint64_t zeros = (uint64_t)e > 4 * d.count ? 4 * d.count : (uint64_t)e;
    *steps -= (int64_t)((v.count + zeros) / 8);
    if (d.count <= SMALL_DIGITS)
        return small_divides(&v, zeros, small_value(&d));
    *steps -= (int64_t)((v.count + zeros) * d.count / 4);
    return *steps >= 0 && big_divides(&v, zeros, &d);
}
