/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/throttle.h"
#include "support/test.h"

static cw_throttle t;
static const cw_str alice = CW_STR_INIT("alice"), bob = CW_STR_INIT("bob");

SETUP(setup)
{
    return cw_throttle_init(&t, 3, NULL);
}

TEARDOWN(teardown)
{
    cw_throttle_done(&t);
    cw_throttle_done(&t);
    return 0;
}

TEST(some_failures_are_free)
{
    cw_throttle_fail(&t, alice, 1000000);
    cw_throttle_fail(&t, alice, 1000000);
    assert_int_equal(cw_throttle_wait(&t, alice, 1000000), 0);
    cw_throttle_fail(&t, alice, 1000000);
    assert_int_equal(cw_throttle_wait(&t, alice, 1000000), 1000);
    assert_int_equal(cw_throttle_wait(&t, alice, 1000400), 600);
    assert_int_equal(cw_throttle_wait(&t, alice, 1001000), 0);
    assert_int_equal(cw_throttle_wait(&t, bob, 1000000), 0);
}

TEST(each_further_one_doubles_the_wait_up_to_a_minute)
{
    static const uint64_t waits[] = {0,     0,     1000,  2000,  4000, 8000,
                                     16000, 32000, 60000, 60000, 60000};
    uint64_t now = 1000000;
    for (size_t i = 0; i < CW_COUNT(waits); i++) {
        cw_throttle_fail(&t, alice, now);
        assert_int_equal(cw_throttle_wait(&t, alice, now), waits[i]);
        now += waits[i];
    }
    for (int i = 0; i < 100; i++)
        cw_throttle_fail(&t, alice, now);
    assert_int_equal(cw_throttle_wait(&t, alice, now), CW_THROTTLE_LONGEST_MS);
}

TEST(success_and_time_forget)
{
    for (int i = 0; i < 5; i++) {
        cw_throttle_fail(&t, alice, 1000000);
        cw_throttle_fail(&t, bob, 1000000);
    }
    cw_throttle_forget(&t, alice);
    assert_int_equal(cw_throttle_wait(&t, alice, 1000000), 0);
    assert_true(cw_throttle_wait(&t, bob, 1000000) > 0);
    cw_throttle_fail(&t, bob, 1000000 + CW_THROTTLE_FORGET_MS);
    assert_int_equal(cw_throttle_wait(&t, bob, 1000000 + CW_THROTTLE_FORGET_MS), 0);
}

TEST(very_many_names_do_not_grow_it)
{
    char name[32];
    for (unsigned i = 0; i < 10 * CW_THROTTLE_ENTRIES; i++) {
        snprintf(name, sizeof name, "name %u", i);
        for (int k = 0; k < 3; k++)
            cw_throttle_fail(&t, cw_str_from(name), 1000000 + i);
        assert_true(cw_throttle_wait(&t, cw_str_from(name), 1000000 + i) > 0);
    }
}

TEST(wider_networks_have_more_free_failures)
{
    cw_network_throttle n;
    cw_network network;
    char address[64];
    assert_int_equal(cw_network_throttle_init(&n, 2, NULL), CW_OK);
    /* Each /64 of a /56 fails once: 8 are free. */
    for (unsigned i = 0; i < 8; i++) {
        snprintf(address, sizeof address, "2001:db8:1:1%02x::1", i);
        cw_network_of(cw_str_from(address), &network);
        assert_int_equal(cw_network_throttle_wait(&n, &network, false, 1000000), 0);
        cw_network_throttle_fail(&n, &network, 1000000);
    }
    cw_network_of(CW_STR("2001:db8:1:1ff::1"), &network);
    assert_int_equal(cw_network_throttle_wait(&n, &network, false, 1000000), 1000);
    assert_int_equal(cw_network_throttle_wait(&n, &network, true, 1000000), 0);
    /* Each /56 of the /48 fails once more: 32 are free. */
    for (unsigned i = 8; i < 32; i++) {
        snprintf(address, sizeof address, "2001:db8:1:%02x00::1", i);
        cw_network_of(cw_str_from(address), &network);
        assert_int_equal(cw_network_throttle_wait(&n, &network, false, 1000000), 0);
        cw_network_throttle_fail(&n, &network, 1000000);
    }
    cw_network_of(CW_STR("2001:db8:1:ff00::1"), &network);
    assert_int_equal(cw_network_throttle_wait(&n, &network, false, 1000000), 1000);
    cw_network_of(CW_STR("2001:db8:2::1"), &network);
    assert_int_equal(cw_network_throttle_wait(&n, &network, false, 1000000), 0);
    cw_network_throttle_done(&n);
    cw_network_throttle_done(&n);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(some_failures_are_free),
        T(each_further_one_doubles_the_wait_up_to_a_minute),
        T(success_and_time_forget),
        T(very_many_names_do_not_grow_it),
        cmocka_unit_test(wider_networks_have_more_free_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
