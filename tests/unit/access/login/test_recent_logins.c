/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/login/recent_logins.h"
#include "support/oom.h"
#include "support/test.h"

static cw_recent_logins v;

SETUP(setup)
{
    return cw_secret_init(NULL) || cw_recent_logins_init(&v, NULL);
}

TEARDOWN(teardown)
{
    cw_recent_logins_done(&v);
    cw_recent_logins_done(&v);
    return 0;
}

static void key_of(unsigned number, unsigned char out[CW_DIGEST])
{
    cw_secret_digest(cw_str_make((const char *)&number, sizeof number), out);
}

TEST(credentials_are_found_with_their_hash)
{
    unsigned char a[CW_DIGEST], b[CW_DIGEST], found[CW_DIGEST];
    key_of(1, a);
    key_of(2, b);
    assert_false(cw_recent_logins_find(&v, a, found));
    cw_recent_logins_add(&v, a, b);
    assert_true(cw_recent_logins_find(&v, a, found));
    assert_memory_equal(found, b, CW_DIGEST);
    assert_false(cw_recent_logins_find(&v, b, found));
    cw_recent_logins_add(&v, a, a);
    assert_true(cw_recent_logins_find(&v, a, found));
    assert_memory_equal(found, a, CW_DIGEST);
}

TEST(the_least_recently_used_is_replaced)
{
    unsigned char first[CW_DIGEST], key[CW_DIGEST], found[CW_DIGEST];
    unsigned kept = 0;
    key_of(0, first);
    for (unsigned i = 0; i < 2 * CW_RECENT_LOGINS_ENTRIES; i++) {
        key_of(i, key);
        cw_recent_logins_add(&v, key, key);
        assert_true(cw_recent_logins_find(&v, first, found)); /* in use */
    }
    for (unsigned i = 0; i < 2 * CW_RECENT_LOGINS_ENTRIES; i++) {
        key_of(i, key);
        kept += cw_recent_logins_find(&v, key, found);
    }
    assert_in_range(kept, CW_RECENT_LOGINS_ENTRIES / 2, CW_RECENT_LOGINS_ENTRIES);
}

TEST(a_network_is_known_for_an_account)
{
    cw_network home, neighbour, away;
    cw_str alice = CW_STR("alice");
    cw_network_of(CW_STR("2001:db8:1:1::1"), &home);
    cw_network_of(CW_STR("2001:db8:1:1::2"), &neighbour);
    cw_network_of(CW_STR("2001:db8:1:2::1"), &away);
    assert_false(cw_recent_logins_has_network(&v, alice, &home, 1000));
    cw_recent_logins_add_network(&v, alice, &home, 1000);
    assert_true(cw_recent_logins_has_network(&v, alice, &home, 2000));
    assert_true(
        cw_recent_logins_has_network(&v, alice, &home, 999)); /* taken before it was added */
    assert_true(cw_recent_logins_has_network(&v, alice, &neighbour, 2000));
    assert_false(cw_recent_logins_has_network(&v, alice, &away, 2000));
    assert_false(cw_recent_logins_has_network(&v, CW_STR("bob"), &home, 2000));
    assert_true(cw_recent_logins_has_network(&v, alice, &home, 999 + CW_RECENT_LOGINS_NETWORK_MS));
    assert_false(
        cw_recent_logins_has_network(&v, alice, &home, 1000 + CW_RECENT_LOGINS_NETWORK_MS));
    cw_recent_logins_add_network(&v, alice, &home, 5000);
    assert_true(cw_recent_logins_has_network(&v, alice, &home, 1000 + CW_RECENT_LOGINS_NETWORK_MS));
}

static void make(void *ctx)
{
    cw_recent_logins own = {0};
    (void)ctx;
    cw_code rc = cw_recent_logins_init(&own, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_recent_logins_done(&own);
}

TEST(every_failed_allocation_is_reported)
{
    assert_true(oom_each(make, NULL) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(credentials_are_found_with_their_hash, setup, teardown),
        cmocka_unit_test_setup_teardown(the_least_recently_used_is_replaced, setup, teardown),
        cmocka_unit_test_setup_teardown(a_network_is_known_for_an_account, setup, teardown),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
