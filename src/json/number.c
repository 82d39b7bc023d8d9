/* SPDX-License-Identifier: GPL-2.0-or-later */
/* number.c - arithmetic on the text of numbers, and doubles as text.
 *
 * A number is taken apart once into a decimal, without copying a digit:
 *
 *     -00 is not JSON; -0012.3400e5 cannot occur, but 0.00123400e5 can:
 *
 *     0.00 1234 00 e 5      value = 0.1234 x 10^(point + exponent)
 *          ^    ^
 *       first   last        point = -2, exponent = 5
 *
 * Zeros in front of `first` and behind the last digit do not count, so that two
 * equal numbers have equal digits and an equal sum of point and exponent. The
 * exponent stays text: it may be longer than any integer type.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "json/decimal.h"
#include "json/json_int.h"

#define EXPONENT_HUGE INT64_C(100000000000000000) /* far beyond any count of digits */

/* More digits never change which double is nearest: 767 decide every tie, the rest is one bit. */
#define DIGITS_MAX 780
#define DOUBLE_TOP_MAX 310
#define DOUBLE_TOP_MIN (-330)

void cw_json_decimal_split(const cw_json *v, decimal *d)
{
    const char *p = v->p + ((v->meta & CW_JSON_NEGATIVE) != 0);
    const char *end = v->p + v->n;
    *d = (decimal){.negative = (v->meta & CW_JSON_NEGATIVE) != 0};

    const char *digits_end = end;
    if (v->meta & CW_JSON_EXPONENT) {
        for (digits_end = p; (*digits_end | 0x20) != 'e'; digits_end++)
            ;
        const char *e = digits_end + 1;
        d->exp_negative = *e == '-';
        e += *e == '-' || *e == '+';
        while (e < end && *e == '0')
            e++;
        d->exp = cw_str_make(e, (size_t)(end - e));
    }
    const char *dot = digits_end;
    if (v->meta & CW_JSON_FRACTION)
        dot = memchr(p, '.', (size_t)(digits_end - p));

    while (p < digits_end && (*p == '0' || *p == '.'))
        p++;
    const char *last = digits_end;
    while (last > p && (last[-1] == '0' || last[-1] == '.'))
        last--;
    d->first = p;
    d->last = last;
    /* A first digit behind the dot: the zeros between them. In front of it: the digits between. */
    d->point = dot < p ? dot + 1 - p : dot - p;
    d->count = (size_t)(last - p) - (p < dot && dot < last);
}

/* The difference of two exponents; beyond EXPONENT_HUGE only its sign is right. Digit by digit from
 * the top: once the difference is large, no later digit brings it back. */
static int64_t exponent_diff(const decimal *a, const decimal *b)
{
    size_t n = a->exp.n > b->exp.n ? a->exp.n : b->exp.n;
    int64_t diff = 0;
    for (size_t i = n; i > 0; i--) {
        int64_t x = i <= a->exp.n ? a->exp.p[a->exp.n - i] - '0' : 0;
        int64_t y = i <= b->exp.n ? b->exp.p[b->exp.n - i] - '0' : 0;
        diff = diff * 10 + (a->exp_negative ? -x : x) - (b->exp_negative ? -y : y);
        if (diff > EXPONENT_HUGE || diff < -EXPONENT_HUGE)
            break;
    }
    return diff;
}

int64_t cw_json_decimal_top(const decimal *d)
{
    static const decimal none = {0};
    return d->point + exponent_diff(d, &none);
}

static int compare_digits(const decimal *a, const decimal *b)
{
    const char *p = a->first;
    const char *q = b->first;
    for (;;) {
        p += p < a->last && *p == '.';
        q += q < b->last && *q == '.';
        if (p == a->last || q == b->last)
            return (p < a->last) - (q < b->last);
        if (*p != *q)
            return *p < *q ? -1 : 1;
        p++;
        q++;
    }
}

static int sign_of(const decimal *d)
{
    if (d->count == 0)
        return 0;
    return d->negative ? -1 : 1;
}

/* The magnitude of a whole number; false when it is none or does not fit. */
static bool whole_magnitude(const decimal *d, uint64_t *ret)
{
    int64_t top = cw_json_decimal_top(d);
    if (d->count == 0)
        top = 0;
    if (top < (int64_t)d->count || top > 20)
        return false;
    uint64_t value = 0;
    const char *p = d->first;
    for (int64_t i = 0; i < top; i++) {
        p += p < d->last && *p == '.';
        unsigned digit = p < d->last ? (unsigned)(*p++ - '0') : 0;
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = value;
    return true;
}

static bool magnitude(const cw_json *v, bool *ret_negative, uint64_t *ret)
{
    if (!cw_json_is(v, CW_JSON_NUMBER))
        return false;
    decimal d;
    cw_json_decimal_split(v, &d);
    *ret_negative = d.negative;
    return whole_magnitude(&d, ret);
}

bool cw_json_to_u64(const cw_json *v, uint64_t *ret)
{
    bool negative;
    uint64_t value;
    if (!magnitude(v, &negative, &value) || (negative && value != 0))
        return false;
    *ret = value;
    return true;
}

bool cw_json_to_i64(const cw_json *v, int64_t *ret)
{
    bool negative;
    uint64_t value;
    if (!magnitude(v, &negative, &value) || value > (uint64_t)INT64_MAX + negative)
        return false;
    /* INT64_MIN has no positive counterpart: negate one less. */
    *ret = negative && value ? -(int64_t)(value - 1) - 1 : (int64_t)value;
    return true;
}

bool cw_json_is_integer(const cw_json *v)
{
    if (!cw_json_is(v, CW_JSON_NUMBER))
        return false;
    if (!(v->meta & (CW_JSON_FRACTION | CW_JSON_EXPONENT)))
        return true;
    decimal d;
    cw_json_decimal_split(v, &d);
    return d.count == 0 || cw_json_decimal_top(&d) >= (int64_t)d.count;
}

int cw_json_compare_numbers(const cw_json *a, const cw_json *b)
{
    decimal x;
    decimal y;
    cw_json_decimal_split(a, &x);
    cw_json_decimal_split(b, &y);
    int sign = sign_of(&x);
    int other = sign_of(&y);
    if (sign != other)
        return sign < other ? -1 : 1;
    if (sign == 0)
        return 0;
    int64_t diff = exponent_diff(&x, &y) + (x.point - y.point);
    int order = diff ? (diff < 0 ? -1 : 1) : compare_digits(&x, &y);
    return sign * order;
}

#if FLT_EVAL_METHOD == 0
/* Up to 15 digits and a power of ten that a double holds exactly: one rounding, so exact. */
static bool fast_double(const char *digits, size_t n, int64_t exponent, double *ret)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (n > 15 || exponent < -22 || exponent > 22)
        return false;
    int64_t whole = 0;
    for (size_t i = 0; i < n; i++)
        whole = whole * 10 + (digits[i] - '0');
    *ret = exponent < 0 ? (double)whole / powers[-exponent] : (double)whole * powers[exponent];
    return true;
}
#else
static bool fast_double(const char *digits, size_t n, int64_t exponent, double *ret)
{
    (void)digits, (void)n, (void)exponent, (void)ret;
    return false;
}
#endif

/* The nearest double of 0.d1d2... x 10^top, from `n` ASCII digits with d1 not 0. Any `n`; infinite
 * beyond the range. */
static double digits_to_double(const char *digits, size_t n, int64_t top)
{
    double value;
    if (n == 0 || top < DOUBLE_TOP_MIN)
        return 0.0;
    if (top > DOUBLE_TOP_MAX)
        return HUGE_VAL;
    int64_t exponent = top - (int64_t)n;
    if (fast_double(digits, n, exponent, &value))
        return value;
    /* Without a decimal point strtod does the same in every locale. */
    char text[DIGITS_MAX + 16];
    memcpy(text, digits, n);
    char *p = text + n;
    *p++ = 'e';
    if (exponent < 0)
        *p++ = '-';
    unsigned rest = (unsigned)(exponent < 0 ? -exponent : exponent);
    for (unsigned unit = 1000; unit > 0; unit /= 10)
        *p++ = (char)('0' + rest / unit % 10);
    *p = '\0';
    return strtod(text, NULL);
}

bool cw_json_to_double(const cw_json *v, double *ret)
{
    if (!cw_json_is(v, CW_JSON_NUMBER))
        return false;
    decimal d;
    cw_json_decimal_split(v, &d);
    char digits[DIGITS_MAX];
    size_t n = 0;
    for (const char *p = d.first; p < d.last && n < DIGITS_MAX - 1; p++) {
        if (*p != '.')
            digits[n++] = *p;
    }
    /* The last digit is not 0, so whatever is cut off is more than nothing. */
    if (n < d.count)
        digits[n++] = '1';
    double value = digits_to_double(digits, n, cw_json_decimal_top(&d));
    if (isinf(value))
        return false;
    *ret = d.negative ? -value : value;
    return true;
}

/* ---- a double as the shortest text that reads back as the same double ---- */

#define DIGITS_EXACT 17 /* enough for every double */
#define DIGITS_SAFE 15  /* a decimal of so many digits survives the way through a normal double */
#define PLAIN_MAX 21    /* digits before the point without an exponent, as ECMAScript does it */
#define PLAIN_MIN (-6)

/* 0.d1d2... x 10^top */
typedef struct digits {
    char d[DIGITS_EXACT];
    int n;
    int top;
} digits;

/* Round a positive value to `n` digits. printf's decimal point depends on the locale, so it is
 * skipped, whatever it is. */
static void round_to(double value, int n, digits *ret)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", n - 1, value);
    const char *p = text;
    int count = 0;
    for (; *p != 'e'; p++) {
        if (*p >= '0' && *p <= '9' && count < n)
            ret->d[count++] = *p;
    }
    while (count > 1 && ret->d[count - 1] == '0')
        count--;
    ret->n = count;
    ret->top = (int)strtol(p + 1, NULL, 10) + 1;
}

static void shortest(double value, digits *ret)
{
    int n = value < DBL_MIN ? 1 : DIGITS_SAFE;
    for (; n < DIGITS_EXACT; n++) {
        round_to(value, n, ret);
        if (digits_to_double(ret->d, (size_t)ret->n, ret->top) == value)
            return;
    }
    round_to(value, DIGITS_EXACT, ret);
}

static char *fill(char *o, int zeros)
{
    memset(o, '0', (size_t)zeros);
    return o + zeros;
}

static char *copy(char *o, const char *p, int n)
{
    memcpy(o, p, (size_t)n);
    return o + n;
}

size_t cw_json_format_double(double value, char out[CW_JSON_DOUBLE_MAX])
{
    char *o = out;
    if (signbit(value)) {
        *o++ = '-';
        value = -value;
    }
    digits s = {.d = "0", .n = 1, .top = 1};
    if (value > 0)
        shortest(value, &s);

    if (s.top >= s.n && s.top <= PLAIN_MAX) {
        o = copy(o, s.d, s.n);
        o = fill(o, s.top - s.n);
    } else if (s.top > 0 && s.top <= PLAIN_MAX) {
        o = copy(o, s.d, s.top);
        *o++ = '.';
        o = copy(o, s.d + s.top, s.n - s.top);
    } else if (s.top <= 0 && s.top > PLAIN_MIN) {
        o = copy(o, "0.", 2);
        o = fill(o, -s.top);
        o = copy(o, s.d, s.n);
    } else {
        *o++ = s.d[0];
        if (s.n > 1)
            *o++ = '.';
        o = copy(o, s.d + 1, s.n - 1);
        o += snprintf(o, 8, "e%+d", s.top - 1);
    }
    return (size_t)(o - out);
}
