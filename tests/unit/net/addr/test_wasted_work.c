/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/addr/wasted_work.h"

#include "support/test.h"

#define WHOLE INT64_C(5000000)

static cw_wasted_work waste;

static int64_t ceiling_of(const char *who)
{
    return cw_wasted_work_ceiling(&waste, cw_str_from(who), WHOLE);
}

static void fail_after(const char *who, int64_t spent)
{
    cw_wasted_work_add(&waste, cw_str_from(who), WHOLE, spent);
}

static void go_back(uint64_t seconds)
{
    for (size_t i = 0; i < CW_WASTED_WORK_SLOTS; i++)
        waste.slots[i].since_ns -= seconds * UINT64_C(1000000000);
    waste.until_ns -= seconds * UINT64_C(1000000000);
}

TEST(work_in_vain_lowers_the_ceiling_of_a_network)
{
    assert_int_equal(ceiling_of("203.0.113.9"), WHOLE);
    fail_after("203.0.113.9", WHOLE / 100);
    assert_int_equal(ceiling_of("203.0.113.9"), WHOLE);
    fail_after("203.0.113.9", WHOLE);
    assert_int_equal(ceiling_of("203.0.113.9"), WHOLE / 2);
    for (int i = 0; i < 10; i++) {
        fail_after("203.0.113.9", WHOLE);
        fail_after("2001:db8:1:2::9", WHOLE);
    }
    assert_int_equal(ceiling_of("203.0.113.9"), WHOLE / 64);
    assert_int_equal(ceiling_of("2001:db8:1:ff::1"), WHOLE / 64);
    /* Others may share a slot, but few do. */
    static const char *const others[] = {"198.51.100.1", "198.51.100.2", "2001:db8:2::1",
                                         "a source",     "192.0.2.1",    "192.0.2.2"};
    size_t n = 0;
    for (size_t i = 0; i < CW_COUNT(others); i++)
        n += ceiling_of(others[i]) == WHOLE;
    assert_true(n >= CW_COUNT(others) - 2);
    go_back(2);
    assert_int_equal(ceiling_of("203.0.113.9"), WHOLE / 16);
    go_back(60);
    assert_int_equal(ceiling_of("203.0.113.9"), WHOLE);
}

/* The slots hold nothing then, so that valid requests need not look for theirs. */
TEST(the_slots_are_not_used_once_all_have_recovered)
{
    waste = (cw_wasted_work){.until_ns = 0};
    for (int i = 0; i < 10; i++)
        fail_after("203.0.113.9", WHOLE);
    assert_int_not_equal(waste.until_ns, 0);
    go_back(1);
    assert_int_equal(ceiling_of("203.0.113.9"), WHOLE / 32);
    assert_int_not_equal(waste.until_ns, 0);
    go_back(5);
    assert_int_equal(ceiling_of("198.51.100.1"), WHOLE);
    assert_int_equal(waste.until_ns, 0);
    assert_int_equal(ceiling_of("203.0.113.9"), WHOLE);
    /* A slot forgets its former contents. */
    fail_after("203.0.113.9", WHOLE);
    assert_int_equal(ceiling_of("203.0.113.9"), WHOLE / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_in_vain_lowers_the_ceiling_of_a_network),
        cmocka_unit_test(the_slots_are_not_used_once_all_have_recovered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
