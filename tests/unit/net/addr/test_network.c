/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/addr/network.c" /* NOLINT(bugprone-suspicious-include) */
#include "support/test.h"

TEST(an_ipv6_address_has_three_networks)
{
    static const char *const cases[][4] = {
        {"2001:db8:1:2ff:3:4:5:6", "2001:db8:1:2ff::", "2001:db8:1:200::/56", "2001:db8:1::/48"},
        {"2001:db8::", "2001:db8::", "2001:db8::/56", "2001:db8::/48"},
        {"::1", "::", "::/56", "::/48"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_str address = cw_str_from(cases[i][0]);
        assert_int_equal(levels_of(address), CW_NETWORK_LEVELS);
        for (unsigned level = 0; level < CW_NETWORK_LEVELS; level++) {
            char out[CW_NETWORK_TEXT];
            assert_true(cw_str_is(cw_network_text(address, level, out), cases[i][level + 1]));
        }
    }
}

TEST(other_addresses_are_one_network_on_each_level)
{
    static const char *const cases[][2] = {
        {"10.0.0.1", "10.0.0.1"},
        {"::ffff:10.0.0.1", "10.0.0.1"},
        {"unix", "unix"},
        {"fe80::1%eth0", "fe80::1%eth0"},
        {"", ""},
    };
    char out[CW_NETWORK_TEXT], longer[100];
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_str address = cw_str_from(cases[i][0]);
        assert_int_equal(levels_of(address), 1);
        for (unsigned level = 0; level < CW_NETWORK_LEVELS; level++)
            assert_true(cw_str_is(cw_network_text(address, level, out), cases[i][1]));
    }
    memset(longer, 'a', sizeof longer);
    assert_int_equal(cw_network_text(cw_str_make(longer, sizeof longer), 0, out).n, sizeof longer);
    assert_int_equal(cw_network_text((cw_str){NULL, 0}, 0, out).n, 0);
}

TEST(keys_are_equal_where_networks_are)
{
    cw_network a, b, mapped, plain;
    cw_network_of(CW_STR("2001:db8:1:100::1"), &a);
    cw_network_of(CW_STR("2001:db8:1:1ff:ffff::1"), &b);
    assert_int_not_equal(a.keys[0], b.keys[0]);
    assert_int_equal(a.keys[1], b.keys[1]);
    assert_int_equal(a.keys[2], b.keys[2]);
    cw_network_of(CW_STR("2001:db8:1:200::1"), &b);
    assert_int_not_equal(a.keys[1], b.keys[1]);
    assert_int_equal(a.keys[2], b.keys[2]);
    cw_network_of(CW_STR("2001:db8:2:100::1"), &b);
    assert_int_not_equal(a.keys[2], b.keys[2]);
    cw_network_of(CW_STR("::ffff:192.0.2.1"), &mapped);
    cw_network_of(CW_STR("192.0.2.1"), &plain);
    assert_memory_equal(&mapped, &plain, sizeof plain);
    cw_network_of(CW_STR("192.0.2.2"), &b);
    assert_int_not_equal(plain.keys[2], b.keys[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ipv6_address_has_three_networks),
        cmocka_unit_test(other_addresses_are_one_network_on_each_level),
        cmocka_unit_test(keys_are_equal_where_networks_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
