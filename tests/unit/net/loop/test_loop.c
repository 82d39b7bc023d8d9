/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/loop/loop.h"

#include <unistd.h>

#include "support/test.h"

static cw_loop loop;
static char trace[64];

static void note(char c)
{
    size_t n = strlen(trace);
    assert_true(n + 1 < sizeof trace);
    trace[n] = c;
}

SETUP(set_up)
{
    memset(trace, 0, sizeof trace);
    return cw_loop_init(&loop, 64, NULL);
}

TEARDOWN(tear_down)
{
    cw_loop_end(&loop);
    cw_loop_run(&loop);
    cw_loop_done(&loop);
    return 0;
}

/* ---- hooks ---- */

static void on_end_a(cw_loop_hook *hook)
{
    assert_false(cw_list_is_in(&hook->node));
    note('a');
}

static cw_loop_hook hook_a = {.on_end = on_end_a};
static cw_loop_hook hook_b, hook_c;

static void on_end_b(cw_loop_hook *hook)
{
    (void)hook;
    note('b');
    cw_loop_remove_hook(&hook_c);
}

static void on_end_c(cw_loop_hook *hook)
{
    (void)hook;
    note('c');
}

TEST(the_end_calls_hooks_in_order_and_once)
{
    hook_b = (cw_loop_hook){.on_end = on_end_b};
    hook_c = (cw_loop_hook){.on_end = on_end_c};
    cw_loop_add_hook(&loop, &hook_a);
    cw_loop_add_hook(&loop, &hook_b);
    cw_loop_add_hook(&loop, &hook_c); /* removed by b's */
    cw_loop_end(&loop);
    assert_string_equal(trace, "ab");
    cw_loop_end(&loop);
    assert_string_equal(trace, "ab");
}

TEST(a_removed_hook_is_not_called)
{
    hook_c = (cw_loop_hook){.on_end = on_end_c};
    cw_loop_remove_hook(&hook_c);
    cw_loop_add_hook(&loop, &hook_c);
    cw_loop_remove_hook(&hook_c);
    cw_loop_remove_hook(&hook_c);
    cw_loop_end(&loop);
    assert_string_equal(trace, "");
}

/* ---- later ---- */

static cw_deferred later_a, later_b;

static void do_a(cw_deferred *later)
{
    assert_false(cw_loop_is_deferred(later));
    note('a');
}

static void do_b(cw_deferred *later)
{
    (void)later;
    note('b');
}

static void do_a_then_ask_for_b(cw_deferred *later)
{
    do_a(later);
    cw_loop_defer(&loop, &later_b);
}

static void mail_asks(cw_message *message)
{
    (void)message;
    note('m');
    cw_loop_defer(&loop, &later_a);
    cw_loop_defer(&loop, &later_a);
    note('m');
}

static void mail_ends(cw_message *message)
{
    (void)message;
    note('e');
    cw_loop_end(&loop);
}

TEST(later_is_after_all_events_of_a_turn_and_before_the_wait)
{
    later_a = (cw_deferred){.fn = do_a_then_ask_for_b};
    later_b = (cw_deferred){.fn = do_b};
    cw_message asks = {.fn = mail_asks}, ends = {.fn = mail_ends};
    cw_loop_post(&loop, &asks);
    uv_run(&loop.uv, UV_RUN_ONCE);
    assert_string_equal(trace, "mm");
    cw_loop_post(&loop, &ends);
    cw_loop_run(&loop);
    assert_string_equal(trace, "mmabe");
}

static void do_a_again_once(cw_deferred *later)
{
    do_a(later);
    later->fn = do_a;
    cw_loop_defer_next(&loop, later);
}

TEST(next_is_once_in_each_turn_and_the_loop_does_not_wait)
{
    later_a = (cw_deferred){.fn = do_a_again_once};
    later_b = (cw_deferred){.fn = do_b};
    cw_loop_defer_next(&loop, &later_a);
    cw_loop_defer_next(&loop, &later_a);
    cw_loop_defer_next(&loop, &later_b);
    uv_run(&loop.uv, UV_RUN_ONCE);
    assert_string_equal(trace, "ab");
    uv_run(&loop.uv, UV_RUN_ONCE);
    assert_string_equal(trace, "aba");
    cw_loop_defer_next(&loop, &later_b);
    cw_loop_cancel_deferred(&later_b);
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    assert_string_equal(trace, "aba");
}

TEST(what_is_forgotten_is_not_done)
{
    later_a = (cw_deferred){.fn = do_a};
    later_b = (cw_deferred){.fn = do_b};
    cw_loop_defer(&loop, &later_a);
    cw_loop_defer(&loop, &later_b);
    cw_loop_cancel_deferred(&later_a);
    cw_loop_cancel_deferred(&later_a);
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    assert_string_equal(trace, "b");
}

/* ---- lists ---- */

static cw_deadline_list list_a, list_b, list_c;
static cw_deadline d_a, d_b, d_c;

static void take_back_both(cw_deadline *d)
{
    note(d == &d_a ? 'a' : d == &d_b ? 'b' : 'c');
    cw_deadline_clear(&d_a);
    cw_deadline_clear(&d_c);
    cw_loop_unwatch(&loop, &list_a);
    cw_loop_unwatch(&loop, &list_c);
}

/* Run the loop until `n` letters are noted, however long that takes, and some turns more, in which
 * no other letter may follow. */
static void run_until_noted(size_t n)
{
    for (unsigned i = 0; i < 10000 && strlen(trace) < n; i++) {
        uv_run(&loop.uv, UV_RUN_NOWAIT);
        usleep(1000);
    }
    for (unsigned i = 0; i < 5; i++) {
        usleep(1000);
        uv_run(&loop.uv, UV_RUN_NOWAIT);
    }
}

TEST(a_list_may_be_taken_back_while_the_lists_are_walked)
{
    cw_deadline_list_init(&list_a, 1, take_back_both);
    cw_deadline_list_init(&list_b, 1, take_back_both);
    cw_deadline_list_init(&list_c, 1, take_back_both);
    cw_loop_watch(&loop, &list_a);
    cw_loop_watch(&loop, &list_b);
    cw_loop_watch(&loop, &list_c);
    cw_loop_set_deadline(&loop, &d_b, &list_b);
    run_until_noted(1);
    assert_string_equal(trace, "b");
    cw_loop_set_deadline(&loop, &d_b, &list_b);
    run_until_noted(2);
    assert_string_equal(trace, "bb");
    cw_loop_unwatch(&loop, &list_b);
    cw_loop_unwatch(&loop, &list_b); /* not watched: nothing happens */
}

TEST(every_due_list_fires_though_one_goes_away)
{
    cw_deadline_list_init(&list_a, 1, take_back_both);
    cw_deadline_list_init(&list_b, 1, take_back_both);
    cw_deadline_list_init(&list_c, 1, take_back_both);
    /* Walked in the order c, b, a: the first one takes back itself and the last one. */
    cw_loop_watch(&loop, &list_a);
    cw_loop_watch(&loop, &list_b);
    cw_loop_watch(&loop, &list_c);
    cw_loop_set_deadline(&loop, &d_a, &list_a);
    cw_loop_set_deadline(&loop, &d_b, &list_b);
    cw_loop_set_deadline(&loop, &d_c, &list_c);
    run_until_noted(2);
    assert_string_equal(trace, "cb");
    cw_loop_unwatch(&loop, &list_b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_end_calls_hooks_in_order_and_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_removed_hook_is_not_called, set_up, tear_down),
        cmocka_unit_test_setup_teardown(later_is_after_all_events_of_a_turn_and_before_the_wait,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(next_is_once_in_each_turn_and_the_loop_does_not_wait,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_forgotten_is_not_done, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_list_may_be_taken_back_while_the_lists_are_walked, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_due_list_fires_though_one_goes_away, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("net/loop", tests, NULL, NULL);
}
