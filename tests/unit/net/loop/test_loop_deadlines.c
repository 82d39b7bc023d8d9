/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_loop_deadlines.c - lists of deadlines: order, expiry, other durations. */
#include "net/loop/loop.c" /* NOLINT(bugprone-suspicious-include) */
#include "support/test.h"

static cw_deadline *expired[16];
static unsigned n_expired;
static cw_deadline_list list, *doomed;
static cw_deadline a, b, c; /* all zero before each test */

/* Expire what is due; returns the next expiry, or UINT64_MAX. */
static uint64_t run(uint64_t now)
{
    list_run(&list, now);
    const cw_deadline *first = list_first(&list);
    return first ? first->at : UINT64_MAX;
}

static void note(cw_deadline *d)
{
    expired[n_expired++] = d;
}

static void set_again(cw_deadline *d)
{
    note(d);
    deadline_set(d, &list, 1000);
}

SETUP(set_up)
{
    n_expired = 0;
    a = b = c = (cw_deadline){0};
    cw_deadline_list_init(&list, 100, note);
    return 0;
}

TEST(entries_expire_in_the_order_they_were_set)
{
    deadline_set(&a, &list, 0);
    deadline_set(&b, &list, 10);
    deadline_set(&c, &list, 20);
    assert_int_equal(run(99), 100);
    assert_int_equal(n_expired, 0);
    assert_int_equal(run(110), 120);
    assert_int_equal(n_expired, 2);
    assert_ptr_equal(expired[0], &a);
    assert_ptr_equal(expired[1], &b);
    assert_null(a.list);
    assert_non_null(c.list);
}

TEST(setting_again_moves_an_entry_to_the_end)
{
    deadline_set(&a, &list, 0);
    deadline_set(&b, &list, 1);
    deadline_set(&a, &list, 2);
    assert_int_equal(run(101), 102);
    assert_int_equal(n_expired, 1);
    assert_ptr_equal(expired[0], &b);
}

TEST(a_cleared_entry_never_expires)
{
    cw_deadline_clear(&a);
    deadline_set(&a, &list, 0);
    cw_deadline_clear(&a);
    cw_deadline_clear(&a);
    assert_true(run(1000000) == UINT64_MAX);
    assert_int_equal(n_expired, 0);
}

static void free_list(cw_deadline *d)
{
    note(d);
    free(doomed);
}

TEST(a_list_may_end_with_its_last_entry)
{
    doomed = malloc(sizeof *doomed);
    assert_non_null(doomed);
    cw_deadline_list_init(doomed, 5, free_list);
    deadline_set(&a, doomed, 0);
    list_run(doomed, 5); /* a sanitizer sees a look at the list afterwards */
    assert_int_equal(n_expired, 1);
}

TEST(an_entry_can_be_set_again_by_its_own_expiry)
{
    cw_deadline_list_init(&list, 100, set_again);
    deadline_set(&a, &list, 0);
    assert_int_equal(run(500), 1100);
    assert_int_equal(n_expired, 1);
}

static void set_now(cw_deadline *d)
{
    note(d);
    if (n_expired < 10)
        deadline_set(d, &list, 7);
}

TEST(with_no_duration_an_entry_expires_once_per_run)
{
    cw_deadline_list_init(&list, 0, set_now);
    deadline_set(&a, &list, 7);
    deadline_set(&b, &list, 7);
    assert_int_equal(run(7), 7);
    assert_int_equal(n_expired, 2);
    assert_int_equal(run(7), 7);
    assert_int_equal(n_expired, 4);
}

static cw_deadline *victim;

static void clear_other(cw_deadline *d)
{
    note(d);
    cw_deadline_clear(victim);
}

TEST(an_expiry_may_clear_another_that_is_due)
{
    cw_deadline_list_init(&list, 5, clear_other);
    deadline_set(&a, &list, 0);
    deadline_set(&b, &list, 0);
    deadline_set(&c, &list, 0);
    victim = &b;
    assert_true(run(5) == UINT64_MAX);
    assert_int_equal(n_expired, 2);
    assert_ptr_equal(expired[1], &c);
}

TEST(a_shorter_duration_holds_for_entries_that_wait)
{
    deadline_set(&a, &list, 0);
    deadline_set(&b, &list, 50);
    list_set_ms(&list, 30, 60);
    deadline_set(&c, &list, 70);
    assert_int_equal(run(89), 90);
    assert_int_equal(run(90), 100);
    assert_int_equal(n_expired, 2);
    list_set_ms(&list, 1000, 95);
    assert_true(run(100) == UINT64_MAX);
    assert_int_equal(n_expired, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(entries_expire_in_the_order_they_were_set, set_up),
        cmocka_unit_test_setup(setting_again_moves_an_entry_to_the_end, set_up),
        cmocka_unit_test_setup(a_cleared_entry_never_expires, set_up),
        cmocka_unit_test_setup(a_list_may_end_with_its_last_entry, set_up),
        cmocka_unit_test_setup(an_entry_can_be_set_again_by_its_own_expiry, set_up),
        cmocka_unit_test_setup(with_no_duration_an_entry_expires_once_per_run, set_up),
        cmocka_unit_test_setup(an_expiry_may_clear_another_that_is_due, set_up),
        cmocka_unit_test_setup(a_shorter_duration_holds_for_entries_that_wait, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
