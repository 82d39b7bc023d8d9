/* SPDX-License-Identifier: GPL-2.0-or-later */
/* canonical.c - one spelling for all values that are equal. */
#include <stdlib.h>

#include "json/decimal.h"
#include "json/write.h"

/* Only the sign of larger exponents is kept. */
#define TOP_MAX INT64_C(10000000000000000)

/* DIGITS e EXPONENT, a whole number of digits without zeros at either end. */
static void add_number(cw_buf *out, const cw_json *v)
{
    decimal d;
    cw_json_decimal_split(v, &d);
    if (d.count == 0) {
        cw_buf_add_char(out, '0');
        return;
    }
    int64_t top = cw_json_decimal_top(&d);
    if (top > TOP_MAX || top < -TOP_MAX) {
        cw_buf_add(out, cw_json_text(v));
        return;
    }
    if (d.negative)
        cw_buf_add_char(out, '-');
    const char *dot = memchr(d.first, '.', (size_t)(d.last - d.first));
    const char *end = dot ? dot : d.last;
    cw_buf_add_bytes(out, d.first, (size_t)(end - d.first));
    if (dot)
        cw_buf_add_bytes(out, dot + 1, (size_t)(d.last - dot - 1));
    cw_buf_add_char(out, 'e');
    cw_buf_add_i64(out, top - (int64_t)d.count);
}

static int compare_keys(const void *a, const void *b)
{
    const cw_json *const *x = a, *const *y = b;
    return cw_str_cmp(cw_json_text(*x), cw_json_text(*y));
}

static void add_members(cw_buf *out, const cw_json *v)
{
    size_t n = 0;
    const cw_json **keys = malloc((cw_json_count(v) + 1) * sizeof *keys);
    if (!keys) {
        out->code = CW_NOMEM;
        return;
    }
    for (const cw_json *k = cw_json_first(v); k; k = cw_json_next_key(k))
        keys[n++] = k;
    qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 0; i < n && !out->code; i++) {
        if (i)
            cw_buf_add_char(out, ',');
        cw_json_escape(out, cw_json_text(keys[i]));
        cw_buf_add_char(out, ':');
        cw_json_add_canonical(out, cw_json_value(keys[i]));
    }
    free(keys);
}

static void add_elements(cw_buf *out, const cw_json *v)
{
    const cw_json *first = cw_json_first(v);
    for (const cw_json *i = first; i && !out->code; i = cw_json_next(i)) {
        if (i != first)
            cw_buf_add_char(out, ',');
        cw_json_add_canonical(out, i);
    }
}

void cw_json_add_canonical(cw_buf *out, const cw_json *v)
{
    switch (cw_json_type_of(v)) {
    case CW_JSON_OBJECT:
        cw_buf_add_char(out, '{');
        add_members(out, v);
        cw_buf_add_char(out, '}');
        return;
    case CW_JSON_ARRAY:
        cw_buf_add_char(out, '[');
        add_elements(out, v);
        cw_buf_add_char(out, ']');
        return;
    case CW_JSON_NUMBER:
        add_number(out, v);
        return;
    case CW_JSON_STRING:
        cw_json_escape(out, cw_json_text(v));
        return;
    default:
        cw_buf_add(out, cw_json_text(v));
    }
}
