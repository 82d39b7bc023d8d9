/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/addr/addrcount.h"
#include "support/oom.h"
#include "support/test.h"

static cw_addrcount count;

static cw_addrkey key_of(const char *text)
{
    cw_address a;
    assert_int_equal(cw_address_parse(cw_str_from(text), &a, NULL), CW_OK);
    return cw_addrcount_key(&a);
}

static bool same(const char *a, const char *b)
{
    cw_addrkey x = key_of(a), y = key_of(b);
    return memcmp(&x, &y, sizeof x) == 0;
}

SETUP(set_up)
{
    cw_addrcount_init(&count);
    return 0;
}

TEARDOWN(tear_down)
{
    cw_addrcount_done(&count);
    return 0;
}

TEST(ipv4_counts_by_address_and_ipv6_by_network)
{
    assert_true(same("10.0.0.1:1", "10.0.0.1:2"));
    assert_false(same("10.0.0.1:1", "10.0.0.2:1"));
    assert_true(same("[2001:db8:1:2::1]:1", "[2001:db8:1:2:ffff::9]:1"));
    assert_false(same("[2001:db8:1:2::1]:1", "[2001:db8:1:3::1]:1"));
    assert_true(same("[::ffff:10.0.0.1]:1", "10.0.0.1:1"));
    assert_false(same("[a00:1::]:1", "10.0.0.1:1"));
    assert_true(same("unix:/a", "unix:/b"));
}

TEST(the_limit_holds_per_address_until_one_leaves)
{
    cw_addrkey a = key_of("10.0.0.1:1"), b = key_of("10.0.0.2:1");
    assert_int_equal(cw_addrcount_add(&count, a, 2, 100), CW_OK);
    assert_int_equal(cw_addrcount_add(&count, a, 2, 100), CW_OK);
    assert_int_equal(cw_addrcount_add(&count, a, 2, 100), CW_LIMIT);
    assert_int_equal(cw_addrcount_add(&count, b, 2, 100), CW_OK);
    cw_addrcount_remove(&count, a);
    assert_int_equal(cw_addrcount_add(&count, a, 2, 100), CW_OK);
}

TEST(an_address_that_left_costs_no_memory)
{
    cw_addrkey a = key_of("10.0.0.1:1");
    assert_int_equal(cw_addrcount_add(&count, a, 2, 100), CW_OK);
    cw_addrcount_remove(&count, a);
    assert_int_equal(count.map.n, 0);
    cw_addrcount_remove(&count, a);
    assert_int_equal(count.map.n, 0);
}

/* Add a connection of each of `n` addresses, with a number in the middle: how many were accepted. */
static uint32_t add_many(uint32_t n, const char *before, const char *after, uint32_t each,
                         uint32_t all)
{
    uint32_t added = 0;
    for (uint32_t i = 0; i < n; i++) {
        char text[64];
        snprintf(text, sizeof text, "[%s%x%s]:1", before, i, after);
        added += cw_addrcount_add(&count, key_of(text), each, all) == CW_OK;
    }
    return added;
}

TEST(networks_of_ipv6_have_a_limit_too)
{
    /* 2 each, 8 of a /56, 32 of a /48. */
    assert_int_equal(add_many(9, "2001:db8:1:1::", "", 2, 1000), 2);
    assert_int_equal(add_many(200, "2001:db8:1:", "::1", 2, 1000), 6);
    assert_int_equal(add_many(200, "2001:db8:1:", "00::1", 2, 1000), 24);
    assert_int_equal(add_many(200, "2001:db8:2:", "00::1", 2, 1000), 32);
    assert_int_equal(add_many(200, "2001:db8:", "::1", 2, 1000), 198);
    /* Those of IPv4 do not count together. */
    assert_int_equal(add_many(10, "::ffff:10.0.0.", "", 1, 2), 10);
    for (uint32_t i = 0; i < 2; i++)
        cw_addrcount_remove(&count, key_of("[2001:db8:1:1::1]:1"));
    assert_int_equal(add_many(200, "2001:db8:1:", "00::1", 2, 1000), 2);
}

TEST(a_network_of_ipv6_has_at_most_half_of_all)
{
    assert_int_equal(add_many(200, "2001:db8:1:", "00::1", 10, 40), 20);
    assert_int_equal(add_many(200, "2001:db8:2:1::", "", 10, 40), 10);
    assert_int_equal(add_many(200, "2001:db8:2:", "::1", 10, 40), 10);
    /* But never less than one address. */
    assert_int_equal(add_many(200, "2001:db8:3:1::", "", 30, 40), 30);
    assert_int_equal(add_many(200, "2001:db8:4:", "::1", UINT32_MAX, 40), 200);
}

static void add_once(void *ctx)
{
    (void)ctx;
    cw_addrcount c;
    cw_addrcount_init(&c);
    cw_code rc = cw_addrcount_add(&c, key_of("[2001:db8:1:2::1]:1"), 2, 100);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    assert_int_equal(c.map.n, oom_was_hit() ? 0 : 3);
    cw_addrcount_done(&c);
}

TEST(adding_survives_every_failed_allocation)
{
    assert_true(oom_each(add_once, NULL) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ipv4_counts_by_address_and_ipv6_by_network, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_limit_holds_per_address_until_one_leaves, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_address_that_left_costs_no_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(networks_of_ipv6_have_a_limit_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_network_of_ipv6_has_at_most_half_of_all, set_up,
                                        tear_down),
        cmocka_unit_test(adding_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
