/* SPDX-License-Identifier: GPL-2.0-or-later */
/* format.c - a double as the shortest text that reads back as the same double. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "json/json_int.h"

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
        if (cw_json_digits_to_double(ret->d, (size_t)ret->n, ret->top) == value)
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
