/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/interest.h"
#include "support/oom.h"
#include "support/test.h"

static void count(void *ctx)
{
    ++*(int *)ctx;
}

TEST(a_uri_is_wanted_as_long_as_one_client_wants_it)
{
    cw_interest i;
    cw_arena a;
    cw_str *uris;
    size_t n;
    int changes = 0;
    cw_interest_init(&i);
    cw_arena_init(&a, 1 << 20);
    cw_interest_listen(&i, count, &changes);
    cw_interest_enter(&i, CW_STR("b"));
    cw_interest_enter(&i, CW_STR("a"));
    cw_interest_enter(&i, CW_STR("b"));
    assert_int_equal(changes, 2);
    assert_int_equal(cw_interest_list(&i, &a, &uris, &n), CW_OK);
    assert_int_equal(n, 2);
    assert_true(cw_str_is(uris[0], "a"));
    assert_true(cw_str_is(uris[1], "b"));
    cw_interest_leave(&i, CW_STR("b"));
    cw_interest_leave(&i, CW_STR("unknown"));
    assert_int_equal(changes, 2);
    cw_interest_leave(&i, CW_STR("b"));
    assert_int_equal(changes, 3);
    assert_int_equal(cw_interest_list(&i, &a, &uris, &n), CW_OK);
    assert_int_equal(n, 1);
    cw_interest_listen(&i, NULL, NULL);
    cw_interest_leave(&i, CW_STR("a"));
    assert_int_equal(changes, 3);
    cw_interest_enter(NULL, CW_STR("a"));
    cw_interest_leave(NULL, CW_STR("a"));
    cw_arena_done(&a);
    cw_interest_done(&i);
}

TEST(there_is_a_ceiling)
{
    cw_interest i;
    char uri[32];
    cw_interest_init(&i);
    for (unsigned k = 0; k < CW_INTEREST_MAX + 100; k++) {
        snprintf(uri, sizeof uri, "u://%u", k);
        cw_interest_enter(&i, cw_str_from(uri));
    }
    assert_int_equal(i.uris.n, CW_INTEREST_MAX);
    cw_interest_done(&i);
}

static void enter_once(void *ctx)
{
    (void)ctx;
    cw_interest i;
    cw_arena a;
    cw_str *uris;
    size_t n = 0;
    cw_interest_init(&i);
    cw_arena_init(&a, 1 << 20);
    cw_interest_enter(&i, CW_STR("a"));
    cw_code rc = cw_interest_list(&i, &a, &uris, &n);
    assert_true(oom_was_hit() || (!rc && n == 1));
    cw_interest_leave(&i, CW_STR("a"));
    cw_arena_done(&a);
    cw_interest_done(&i);
}

TEST(every_failed_allocation_is_survived)
{
    assert_true(oom_each(enter_once, NULL) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uri_is_wanted_as_long_as_one_client_wants_it),
        cmocka_unit_test(there_is_a_ceiling),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
