/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/oauth/per_minute.h"
#include "support/test.h"

TEST(AS30_a_name_has_so_many_events_in_a_minute)
{
    static cw_per_minute table;
    cw_per_minute_init(&table, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cw_per_minute_take(&table, 7, 1000), 0);
    assert_int_equal(cw_per_minute_take(&table, 7, 1000), 60);
    assert_int_equal(cw_per_minute_take(&table, 7, 60500), 1);
    assert_int_equal(cw_per_minute_take(&table, 8, 1000), 0);
    assert_int_equal(cw_per_minute_take(&table, 7, 61000), 0);
    for (uint64_t hash = 0; hash < 100000; hash++)
        (void)cw_per_minute_take(&table, hash, 62000);
    cw_per_minute_done(&table);
}

/* The thread with the earlier time may come second. */
TEST(an_event_of_a_moment_ago_counts_with_those_of_now)
{
    static cw_per_minute table;
    cw_per_minute_init(&table, 2);
    assert_int_equal(cw_per_minute_take(&table, 7, 1000), 0);
    assert_int_equal(cw_per_minute_take(&table, 7, 999), 0);
    assert_int_equal(cw_per_minute_take(&table, 7, 999), 60);
    cw_per_minute_done(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AS30_a_name_has_so_many_events_in_a_minute),
        cmocka_unit_test(an_event_of_a_moment_ago_counts_with_those_of_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
