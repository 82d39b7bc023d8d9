/* SPDX-License-Identifier: GPL-2.0-or-later */
/* timestamp.c - times of audit records as ms since 1970. */
#include "audit/timestamp.h"

#include <time.h>

/* `n` digits in front of `text`, which is moved behind them. */
static bool take_digits(cw_str *text, size_t n, unsigned max, int *ret)
{
    uint64_t value;
    if (text->n < n || !cw_str_to_u64(cw_str_make(text->p, n), &value) || value > max)
        return false;
    *ret = (int)value;
    *text = cw_str_make(text->p + n, text->n - n);
    return true;
}

static bool take_char(cw_str *text, char c)
{
    if (text->n == 0 || text->p[0] != c)
        return false;
    *text = cw_str_make(text->p + 1, text->n - 1);
    return true;
}

/* The time behind the date. */
static bool read_clock(cw_str *text, struct tm *t, int *ms)
{
    if (!take_char(text, 'T') && !take_char(text, ' '))
        return true;
    if (!take_digits(text, 2, 23, &t->tm_hour) || !take_char(text, ':') ||
        !take_digits(text, 2, 59, &t->tm_min))
        return false;
    if (!take_char(text, ':'))
        return true;
    if (!take_digits(text, 2, 60, &t->tm_sec))
        return false;
    return !take_char(text, '.') || take_digits(text, 3, 999, ms);
}

bool cw_audit_parse_time(cw_str text, int64_t *ret_ms)
{
    struct tm t = {0};
    int ms = 0;
    if (!take_digits(&text, 4, 9999, &t.tm_year) || !take_char(&text, '-') ||
        !take_digits(&text, 2, 12, &t.tm_mon) || !take_char(&text, '-') ||
        !take_digits(&text, 2, 31, &t.tm_mday) || !read_clock(&text, &t, &ms))
        return false;
    (void)take_char(&text, 'Z');
    if (text.n || t.tm_mon == 0 || t.tm_mday == 0)
        return false;
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    *ret_ms = (int64_t)timegm(&t) * 1000 + ms;
    return true;
}
