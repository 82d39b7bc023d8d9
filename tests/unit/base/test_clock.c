/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <time.h>

#include "base/attr.h"
#include "base/clock.h"
#include "support/test.h"

TEST(monotonic_clock_advances)
{
    uint64_t a = cw_clock_ns();
    struct timespec pause = {.tv_nsec = 2000000};
    nanosleep(&pause, NULL);
    uint64_t b = cw_clock_ns();
    assert_true(b >= a + 2000000);
    assert_true(cw_clock_ms() >= b / 1000000);
}

TEST(wall_clock_is_the_time_of_day)
{
    int64_t before = (int64_t)time(NULL) * 1000;
    int64_t now = cw_clock_wall_ms();
    assert_true(now >= before - 1000 && now <= before + 5000);
}

TEST(dates_have_the_expected_form)
{
    static const struct {
        int64_t ms;
        const char *http, *iso;
    } cases[] = {
        {0, "Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00.000Z"},
        {784111777123, "Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37.123Z"},
        {-1, "Wed, 31 Dec 1969 23:59:59 GMT", "1969-12-31T23:59:59.999Z"},
        {951782400000, "Tue, 29 Feb 2000 00:00:00 GMT", "2000-02-29T00:00:00.000Z"},
        {-2203891200001, "Wed, 28 Feb 1900 23:59:59 GMT", "1900-02-28T23:59:59.999Z"},
        {-2203891200000, "Thu, 01 Mar 1900 00:00:00 GMT", "1900-03-01T00:00:00.000Z"},
        {-62167219200000, "Sat, 01 Jan 0000 00:00:00 GMT", "0000-01-01T00:00:00.000Z"},
        {253402300799999, "Fri, 31 Dec 9999 23:59:59 GMT", "9999-12-31T23:59:59.999Z"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char http[CW_CLOCK_HTTP_LEN + 1];
        char iso[CW_CLOCK_ISO_LEN + 1];
        cw_clock_format_http(cases[i].ms, http);
        cw_clock_format_iso(cases[i].ms, iso);
        assert_string_equal(http, cases[i].http);
        assert_string_equal(iso, cases[i].iso);
    }
}

TEST(dates_outside_the_range_give_the_nearest_end)
{
    char iso[CW_CLOCK_ISO_LEN + 1];
    cw_clock_format_iso(INT64_MIN, iso);
    assert_string_equal(iso, "0000-01-01T00:00:00.000Z");
    cw_clock_format_iso(INT64_MAX, iso);
    assert_string_equal(iso, "9999-12-31T23:59:59.999Z");
}

/* Days of the whole range, all those near ours, against the C library. */
TEST(dates_agree_with_gmtime)
{
    for (int64_t day = -719528; day <= 2932896; day += day > -30000 && day < 60000 ? 1 : 29) {
        int64_t second = day * 86400 + (day * 7919 % 86400 + 86400) % 86400;
        time_t t = (time_t)second;
        struct tm tm;
        char expected[64];
        char http[CW_CLOCK_HTTP_LEN + 1];
        gmtime_r(&t, &tm);
        cw_clock_format_http(second * 1000, http);
        static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
        static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        snprintf(expected, sizeof(expected), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                 days[tm.tm_wday], tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour,
                 tm.tm_min, tm.tm_sec);
        if (strcmp(expected, http) != 0)
            fail_msg("%s, expected %s", http, expected);
    }
}

TEST(http_dates_are_read_back)
{
    int64_t ms = 7;
    assert_true(cw_clock_parse_http(CW_STR("Sun, 06 Nov 1994 08:49:37 GMT"), &ms));
    assert_int_equal(ms, INT64_C(784111777000));
    static const char *const wrong[] = {
        "",
        "Sun, 06 Nov 1994 08:49:37",
        "Mon, 06 Nov 1994 08:49:37 GMT", /* it was a Sunday */
        "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 CET",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "sun, 06 nov 1994 08:49:37 gmt",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
    };
    for (size_t i = 0; i < CW_COUNT(wrong); i++) {
        if (cw_clock_parse_http(cw_str_from(wrong[i]), &ms))
            fail_msg("accepted: '%s'", wrong[i]);
    }
    assert_int_equal(ms, INT64_C(784111777000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(monotonic_clock_advances),
        cmocka_unit_test(wall_clock_is_the_time_of_day),
        cmocka_unit_test(dates_have_the_expected_form),
        cmocka_unit_test(dates_outside_the_range_give_the_nearest_end),
        cmocka_unit_test(dates_agree_with_gmtime),
        cmocka_unit_test(http_dates_are_read_back),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
