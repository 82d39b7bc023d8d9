/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log_limit.h"

#include "support/test.h"

/* The clock is a number of the test. */
static cw_log_limit limit;
static cw_log_limit_report report;

SETUP(set_up)
{
    (void)state;
    limit = (cw_log_limit){0};
    report = (cw_log_limit_report){0};
    return 0;
}

static cw_log_limit_fate take(const char *name, uint64_t now)
{
    return cw_log_limit_take(&limit, cw_str_from(name), now, &report);
}

/* Lines of a name at one time. Returns how many are written. */
static unsigned take_many(const char *name, uint64_t now, unsigned n)
{
    unsigned written = 0;
    for (unsigned i = 0; i < n; i++)
        written += take(name, now) == CW_LOG_LIMIT_WRITE;
    return written;
}

TEST(the_first_lines_are_written_and_the_others_counted)
{
    assert_int_equal(take_many("a", 1000, CW_LOG_LIMIT_LINES), CW_LOG_LIMIT_LINES);
    assert_true(cw_log_limit_due(&limit) == UINT64_MAX);
    assert_int_equal(take("a", 1001), CW_LOG_LIMIT_COUNT_FIRST);
    assert_int_equal(take("a", 1002), CW_LOG_LIMIT_COUNT);
    assert_int_equal(take_many("a", 1000 + CW_LOG_LIMIT_MS - 1, 5), 0);
    assert_int_equal(report.count, 0);
    assert_int_equal(cw_log_limit_due(&limit), 1000 + CW_LOG_LIMIT_MS);
}

TEST(a_count_is_reported_once_at_the_end_of_its_interval)
{
    take_many("a", 1000, CW_LOG_LIMIT_LINES + 7);
    assert_false(cw_log_limit_next(&limit, 1000 + CW_LOG_LIMIT_MS - 1, false, &report));
    assert_true(cw_log_limit_next(&limit, 1000 + CW_LOG_LIMIT_MS, false, &report));
    assert_int_equal(report.count, 7);
    assert_int_equal(report.ms, CW_LOG_LIMIT_MS);
    assert_string_equal(report.name, "a");
    assert_false(cw_log_limit_next(&limit, 1000 + CW_LOG_LIMIT_MS, false, &report));
    assert_true(cw_log_limit_due(&limit) == UINT64_MAX);
    /* The next interval begins with the next line. */
    assert_int_equal(take_many("a", 200000, CW_LOG_LIMIT_LINES + 1), CW_LOG_LIMIT_LINES);
    assert_int_equal(cw_log_limit_due(&limit), 200000 + CW_LOG_LIMIT_MS);
}

TEST(a_line_after_the_interval_brings_its_count)
{
    take_many("a", 1000, CW_LOG_LIMIT_LINES + 7);
    assert_int_equal(take("a", 1000 + CW_LOG_LIMIT_MS + 5), CW_LOG_LIMIT_WRITE);
    assert_int_equal(report.count, 7);
    assert_int_equal(report.ms, CW_LOG_LIMIT_MS + 5);
    assert_int_equal(take("a", 1000 + CW_LOG_LIMIT_MS + 5), CW_LOG_LIMIT_WRITE);
    assert_int_equal(report.count, 0);
}

TEST(at_the_end_every_count_is_reported)
{
    take_many("a", 1000, CW_LOG_LIMIT_LINES + 1);
    take_many("b", 2000, CW_LOG_LIMIT_LINES + 2);
    uint64_t sum = 0;
    while (cw_log_limit_next(&limit, 3000, /* all= */ true, &report)) {
        assert_int_equal(report.ms, report.name[0] == 'a' ? 2000 : 1000);
        sum += report.count;
    }
    assert_int_equal(sum, 3);
}

TEST(names_are_counted_apart)
{
    assert_int_equal(take_many("a", 1000, 100), CW_LOG_LIMIT_LINES);
    assert_int_equal(take_many("b", 1000, 100), CW_LOG_LIMIT_LINES);
    assert_int_equal(take("", 1000), CW_LOG_LIMIT_WRITE);
}

/* In 10,000 networks or one, the number of lines has a ceiling, and no line is uncounted. */
TEST(any_number_of_names_has_a_ceiling_and_a_whole_count)
{
    enum { N_NAMES = 10000, EACH = 40 };
    uint64_t written = 0, counted = 0;
    bool has_nameless = false;
    for (unsigned i = 0; i < N_NAMES; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        written += take_many(name, 1000 + i, EACH);
        counted += report.count;
    }
    assert_true(written <= (uint64_t)CW_LOG_LIMIT_NAMES * CW_LOG_LIMIT_LINES);
    while (cw_log_limit_next(&limit, 1000 + N_NAMES + CW_LOG_LIMIT_MS, false, &report)) {
        has_nameless = has_nameless || !report.name[0];
        counted += report.count;
    }
    assert_int_equal(written + counted, N_NAMES * EACH);
    assert_true(has_nameless);
}

TEST(a_long_name_is_cut)
{
    char name[200];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    take_many(name, 1000, CW_LOG_LIMIT_LINES + 1);
    assert_true(cw_log_limit_next(&limit, 1000, true, &report));
    assert_int_equal(strlen(report.name), CW_LOG_LIMIT_NAME - 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        T(the_first_lines_are_written_and_the_others_counted),
        T(a_count_is_reported_once_at_the_end_of_its_interval),
        T(a_line_after_the_interval_brings_its_count),
        T(at_the_end_every_count_is_reported),
        T(names_are_counted_apart),
        T(any_number_of_names_has_a_ceiling_and_a_whole_count),
        T(a_long_name_is_cut),
    };
    return cmocka_run_group_tests_name("base/log_limit", tests, NULL, NULL);
}
