/* SPDX-License-Identifier: GPL-2.0-or-later */
/* time.c - date, time, date-time and duration as RFC 3339 writes them. */
#include "schema/format/format_int.h"

#define DATE_LEN 10
#define DAY_MINUTES (24 * 60)

/* The number that `n` digits make, or -1. */
static int digits(cw_str s, size_t at, size_t n)
{
    if (s.n < at + n)
        return -1;
    int value = 0;
    for (size_t i = at; i < at + n; i++) {
        if (!cw_format_is_digit(s.p[i]))
            return -1;
        value = value * 10 + (s.p[i] - '0');
    }
    return value;
}

static bool char_at(cw_str s, size_t at, char c)
{
    return at < s.n && s.p[at] == c;
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month == 2 && leap ? 29 : days[month - 1];
}

bool cw_format_date(cw_str s)
{
    int year = digits(s, 0, 4);
    int month = digits(s, 5, 2);
    int day = digits(s, 8, 2);
    if (s.n != DATE_LEN || year < 0 || s.p[4] != '-' || s.p[7] != '-')
        return false;
    return month >= 1 && month <= 12 && day >= 1 && day <= days_in(year, month);
}

/* "Z" or "+hh:mm": minutes east of UTC in *ret. */
static bool read_offset(cw_str s, int *ret)
{
    *ret = 0;
    if (s.n == 1)
        return s.p[0] == 'Z' || s.p[0] == 'z';
    int hours = digits(s, 1, 2);
    int minutes = digits(s, 4, 2);
    if (s.n != 6 || (s.p[0] != '+' && s.p[0] != '-') || s.p[3] != ':')
        return false;
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
        return false;
    *ret = (s.p[0] == '-' ? -1 : 1) * (hours * 60 + minutes);
    return true;
}

bool cw_format_time(cw_str s)
{
    int hour = digits(s, 0, 2);
    int minute = digits(s, 3, 2);
    int second = digits(s, 6, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
        return false;
    if (s.p[2] != ':' || s.p[5] != ':')
        return false;
    size_t at = 8;
    if (char_at(s, at, '.')) {
        size_t first = ++at;
        while (at < s.n && cw_format_is_digit(s.p[at]))
            at++;
        if (at == first)
            return false;
    }
    int offset;
    if (!read_offset(cw_str_make(s.p + at, s.n - at), &offset))
        return false;
    /* A leap second comes at 23:59:60 UTC only. */
    int utc = (hour * 60 + minute - offset + 2 * DAY_MINUTES) % DAY_MINUTES;
    return second < 60 || utc == DAY_MINUTES - 1;
}

bool cw_format_date_time(cw_str s)
{
    if (!char_at(s, DATE_LEN, 'T') && !char_at(s, DATE_LEN, 't'))
        return false;
    return cw_format_date(cw_str_make(s.p, DATE_LEN)) &&
           cw_format_time(cw_str_make(s.p + DATE_LEN + 1, s.n - DATE_LEN - 1));
}

/* Take components such as "1Y2M3D" whose units come in the order of `units`, without a gap. Returns
 * how many were taken; *at stands behind them. */
static unsigned take_components(cw_str s, size_t *at, const char *units)
{
    unsigned taken = 0;
    while (*at < s.n && cw_format_is_digit(s.p[*at])) {
        size_t end = *at;
        while (end < s.n && cw_format_is_digit(s.p[end]))
            end++;
        const char *unit = end < s.n && s.p[end] ? strchr(units, s.p[end]) : NULL;
        if (!unit || (taken > 0 && unit != units))
            return taken; /* what is left over makes the duration invalid */
        units = unit + 1;
        *at = end + 1;
        taken++;
    }
    return taken;
}

bool cw_format_duration(cw_str s)
{
    if (!char_at(s, 0, 'P'))
        return false;
    size_t at = 1;
    if (take_components(s, &at, "W") > 0)
        return at == s.n;
    unsigned taken = take_components(s, &at, "YMD");
    if (char_at(s, at, 'T')) {
        at++;
        if (take_components(s, &at, "HMS") == 0)
            return false;
        taken++;
    }
    return taken > 0 && at == s.n;
}
