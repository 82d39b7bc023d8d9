/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/fair_key.h"
#include "support/test.h"

static cw_fair_key key_of(const char *peer)
{
    return cw_caller_fair_key(NULL, cw_str_from(peer));
}

/* How many groups two keys have in common, the widest first. */
static unsigned common(cw_fair_key a, cw_fair_key b)
{
    unsigned n = 0;
    while (n < CW_FAIR_LEVELS && a.at[n] == b.at[n])
        n++;
    return n;
}

TEST(anonymous_callers_differ_by_network)
{
    assert_int_equal(common(key_of("10.0.0.1"), key_of("10.0.0.1")), 3);
    assert_int_equal(common(key_of("10.0.0.1"), key_of("10.0.0.2")), 0);
    assert_int_equal(common(key_of("10.0.0.1"), key_of("::ffff:10.0.0.1")), 3);
    cw_fair_key key = key_of("2001:db8:1:203::1");
    assert_int_equal(common(key, key_of("2001:db8:1:203:ffff::2")), 3);
    assert_int_equal(common(key, key_of("2001:db8:1:2ff::1")), 2);
    assert_int_equal(common(key, key_of("2001:db8:1:303::1")), 1);
    assert_int_equal(common(key, key_of("2001:db8:2:203::1")), 0);
    assert_int_equal(common(key_of(""), key_of("")), 3);
}

TEST(an_account_is_one_caller_wherever_it_is)
{
    cw_caller *alice, *bob, *anonymous;
    cw_caller_opts opts = {.id = CW_STR("10.0.0.1"), .name = CW_STR("alice")};
    assert_int_equal(cw_caller_new(&opts, &alice, NULL), CW_OK);
    opts.id = CW_STR("7");
    assert_int_equal(cw_caller_new(&opts, &bob, NULL), CW_OK);
    assert_int_equal(cw_caller_new_anonymous(NULL, 0, &anonymous, NULL), CW_OK);
    cw_fair_key key = cw_caller_fair_key(alice, CW_STR("2001:db8::1"));
    assert_int_equal(common(key, cw_caller_fair_key(alice, CW_STR("10.0.0.9"))), 3);
    assert_int_equal(common(key, cw_caller_fair_key(bob, CW_STR("2001:db8::1"))), 0);
    assert_int_equal(common(key, key_of("10.0.0.1")), 0);
    assert_int_equal(common(cw_caller_fair_key(anonymous, CW_STR("::1")), key_of("::1")), 3);
    cw_caller_unref(alice);
    cw_caller_unref(bob);
    cw_caller_unref(anonymous);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anonymous_callers_differ_by_network),
        cmocka_unit_test(an_account_is_one_caller_wherever_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
