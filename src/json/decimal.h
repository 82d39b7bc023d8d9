/* SPDX-License-Identifier: GPL-2.0-or-later */
/* decimal.h - a number's text taken apart; the picture is in number.c. */
#ifndef CW_JSON_DECIMAL_H
#define CW_JSON_DECIMAL_H

#include "json/json.h"

typedef struct decimal {
    const char *first; /* first significant digit; a '.' may follow somewhere */
    const char *last;  /* behind the last digit that is not 0 */
    size_t count;      /* significant digits; 0 for zero */
    int64_t point;     /* the decimal point, counted in digits from `first`, exponent left out */
    cw_str exp;        /* the exponent's digits without leading zeros; may be long */
    bool exp_negative;
    bool negative;
} decimal;

/* `v` must be a number. */
void cw_json_decimal_split(const cw_json *v, decimal *ret);
/* point + exponent: the value is 0.d1d2... x 10^top. Beyond about 10^17 only its sign is right. */
int64_t cw_json_decimal_top(const decimal *d);

#endif
