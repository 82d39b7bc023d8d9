/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock.c - clock_gettime, and calendar dates without the C library's time zone lock. */
#include "base/clock.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#define DAY_MS INT64_C(86400000)
#define DAYS_PER_400_YEARS 146097

/* 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z */
#define WALL_MIN INT64_C(-62167219200000)
#define WALL_MAX INT64_C(253402300799999)

typedef struct date {
    unsigned year, month, day; /* month and day from 1 */
    unsigned weekday;          /* 0 = Sunday */
    unsigned hour, minute, second, ms;
} date;

static bool is_leap(unsigned year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days from 0000-01-01 to the first of January of `year`; year 0 itself is a leap year. */
static unsigned days_before(unsigned year)
{
    if (year == 0)
        return 0;
    unsigned past = year - 1;
    return year * 365 + past / 4 - past / 100 + past / 400 + 1;
}

static date split(int64_t wall_ms)
{
    static const unsigned char month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (wall_ms < WALL_MIN)
        wall_ms = WALL_MIN;
    if (wall_ms > WALL_MAX)
        wall_ms = WALL_MAX;
    uint64_t since = (uint64_t)(wall_ms - WALL_MIN);
    unsigned days = (unsigned)(since / DAY_MS);
    unsigned in_day = (unsigned)(since % DAY_MS);

    /* The guess from the mean year is right or one too high. */
    unsigned year = (unsigned)((uint64_t)days * 400 / DAYS_PER_400_YEARS);
    if (days_before(year) > days)
        year--;
    else if (days_before(year + 1) <= days)
        year++;
    unsigned left = days - days_before(year);
    unsigned month = 0;
    for (;; month++) {
        unsigned len = month_days[month] + (month == 1 && is_leap(year) ? 1u : 0u);
        if (left < len)
            break;
        left -= len;
    }
    return (date){
        .year = year,
        .month = month + 1,
        .day = left + 1,
        .weekday = (days + 6) % 7, /* 0000-01-01 was a Saturday */
        .hour = in_day / 3600000,
        .minute = in_day / 60000 % 60,
        .second = in_day / 1000 % 60,
        .ms = in_day % 1000,
    };
}

/* `width` decimal digits of v; returns the byte after them. */
static char *put_digits(char *out, unsigned v, unsigned width)
{
    for (unsigned i = width; i-- > 0; v /= 10)
        out[i] = (char)('0' + v % 10);
    return out + width;
}

static char *put_time(char *out, const date *d)
{
    out = put_digits(out, d->hour, 2);
    *out++ = ':';
    out = put_digits(out, d->minute, 2);
    *out++ = ':';
    return put_digits(out, d->second, 2);
}

static char *put_text(char *out, const char *text, size_t n)
{
    memcpy(out, text, n);
    return out + n;
}

static struct timespec now(clockid_t id)
{
    struct timespec t = {0};
    /* Both clocks exist on every kernel we run on, so there is no failure to report. */
    (void)clock_gettime(id, &t);
    return t;
}

static uint64_t ns_of(struct timespec t)
{
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

uint64_t cw_clock_ns(void)
{
    return ns_of(now(CLOCK_MONOTONIC));
}

uint64_t cw_clock_thread_ns(void)
{
    return ns_of(now(CLOCK_THREAD_CPUTIME_ID));
}

uint64_t cw_clock_ms(void)
{
    return cw_clock_ns() / 1000000;
}

int64_t cw_clock_wall_ms(void)
{
    struct timespec t = now(CLOCK_REALTIME);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void cw_clock_format_http(int64_t wall_ms, char out[CW_CLOCK_HTTP_LEN + 1])
{
    static const char days[] = "Sun, Mon, Tue, Wed, Thu, Fri, Sat, ";
    static const char months[] = " Jan  Feb  Mar  Apr  May  Jun  Jul  Aug  Sep  Oct  Nov  Dec ";
    date d = split(wall_ms);
    out = put_text(out, days + 5 * (size_t)d.weekday, 5);
    out = put_digits(out, d.day, 2);
    out = put_text(out, months + 5 * (size_t)(d.month - 1), 5);
    out = put_digits(out, d.year, 4);
    *out++ = ' ';
    out = put_time(out, &d);
    put_text(out, " GMT", 5);
}

void cw_clock_format_iso(int64_t wall_ms, char out[CW_CLOCK_ISO_LEN + 1])
{
    date d = split(wall_ms);
    out = put_digits(out, d.year, 4);
    *out++ = '-';
    out = put_digits(out, d.month, 2);
    *out++ = '-';
    out = put_digits(out, d.day, 2);
    *out++ = 'T';
    out = put_time(out, &d);
    *out++ = '.';
    out = put_digits(out, d.ms, 3);
    put_text(out, "Z", 2);
}

bool cw_clock_parse_http(cw_str text, int64_t *ret_wall_ms)
{
    char copy[CW_CLOCK_HTTP_LEN + 1], back[CW_CLOCK_HTTP_LEN + 1];
    struct tm tm = {0};
    if (text.n != CW_CLOCK_HTTP_LEN)
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = 0;
    const char *end = strptime(copy, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    if (!end || *end)
        return false;
    int64_t ms = (int64_t)timegm(&tm) * 1000;
    /* strptime accepts more forms, and days that do not exist. */
    cw_clock_format_http(ms, back);
    if (strcmp(back, copy) != 0)
        return false;
    *ret_wall_ms = ms;
    return true;
}
