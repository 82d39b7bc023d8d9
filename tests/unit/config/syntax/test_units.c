/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/syntax/units.h"
#include "support/test.h"

TEST(durations_are_a_number_and_a_unit)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } cases[] = {
        {"0s", 0},       {"0ms", 0},        {"1ms", 1},
        {"500ms", 500},  {"75s", 75000},    {"5m", 300000},
        {"1h", 3600000}, {"24h", 86400000}, {"999999999h", UINT64_C(999999999) * 3600000},
        {"0h", 0},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        uint64_t ms = 42;
        assert_true(cw_units_parse_duration(cw_str_from(cases[i].text), &ms));
        assert_int_equal(ms, cases[i].ms);
    }
}

TEST(other_durations_are_refused)
{
    static const char *const cases[] = {
        "",     "s",    "ms",          "75",   "75S", "75 s",  " 75s",  "75s ",
        "1.5s", "-1s",  "+1s",         "01s",  "00s", "1h30m", "1d",    "1min",
        "soon", "0x1s", "1000000000s", "1_0s", "s1",  "75ss",  "75s75", "1\xc2\xb5s",
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        uint64_t ms = 42;
        assert_false(cw_units_parse_duration(cw_str_from(cases[i]), &ms));
        assert_int_equal(ms, 42);
    }
    uint64_t ms = 42;
    assert_false(cw_units_parse_duration(CW_STR("75s\0"), &ms));
    assert_int_equal(ms, 42);
}

TEST(sizes_count_in_1024)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"0KB", 0},       {"1KB", 1024},        {"16KB", 16384},
        {"4MB", 4194304}, {"1GB", 1073741824u}, {"999999999GB", UINT64_C(999999999) << 30},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        uint64_t bytes = 42;
        assert_true(cw_units_parse_size(cw_str_from(cases[i].text), &bytes));
        assert_int_equal(bytes, cases[i].bytes);
    }
}

TEST(other_sizes_are_refused)
{
    static const char *const cases[] = {
        "",      "KB",   "16",   "16kb",         "16K", "16KiB", "16 KB",
        "1.5MB", "-1KB", "01KB", "1000000000KB", "1TB", "16B",
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        uint64_t bytes = 42;
        assert_false(cw_units_parse_size(cw_str_from(cases[i]), &bytes));
        assert_int_equal(bytes, 42);
    }
}

TEST(formatting_takes_the_largest_unit_that_divides)
{
    char text[CW_UNITS_TEXT_SIZE];
    assert_string_equal(cw_units_format_duration(0, text), "0s");
    assert_string_equal(cw_units_format_duration(1, text), "1ms");
    assert_string_equal(cw_units_format_duration(1000, text), "1s");
    assert_string_equal(cw_units_format_duration(1500, text), "1500ms");
    assert_string_equal(cw_units_format_duration(75000, text), "75s");
    assert_string_equal(cw_units_format_duration(60000, text), "1m");
    assert_string_equal(cw_units_format_duration(86400000, text), "24h");
    assert_string_equal(cw_units_format_size(0, text), "0");
    assert_string_equal(cw_units_format_size(1, text), "1");
    assert_string_equal(cw_units_format_size(1023, text), "1023");
    assert_string_equal(cw_units_format_size(1024, text), "1KB");
    assert_string_equal(cw_units_format_size(65535, text), "65535");
    assert_string_equal(cw_units_format_size(4194304, text), "4MB");
    assert_string_equal(cw_units_format_size(1073741824u, text), "1GB");
    assert_string_equal(cw_units_format_size(UINT64_MAX, text), "18446744073709551615");
}

TEST(what_is_formatted_reads_back)
{
    char text[CW_UNITS_TEXT_SIZE];
    for (uint64_t ms = 0; ms < 4000000; ms += 250) {
        uint64_t back = 1;
        assert_true(
            cw_units_parse_duration(cw_str_from(cw_units_format_duration(ms, text)), &back));
        assert_int_equal(back, ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_a_number_and_a_unit),
        cmocka_unit_test(other_durations_are_refused),
        cmocka_unit_test(sizes_count_in_1024),
        cmocka_unit_test(other_sizes_are_refused),
        cmocka_unit_test(formatting_takes_the_largest_unit_that_divides),
        cmocka_unit_test(what_is_formatted_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
