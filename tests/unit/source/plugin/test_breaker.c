/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/plugin/plugin_int.h"
#include "support/test.h"

#define BAD 0u
#define GOOD 1u

static cw_worker_breaker b;
static cw_breaker gates[2];

SETUP(set_up)
{
    memset(gates, 0, sizeof gates);
    cw_worker_breaker_init(&b, gates, 2);
    return 0;
}

TEARDOWN(tear_down)
{
    cw_worker_breaker_done(&b);
    return 0;
}

static void die(uint32_t method, unsigned times, uint64_t now)
{
    for (unsigned i = 0; i < times; i++)
        cw_worker_breaker_on_death(&b, method, now);
}

TEST(deaths_of_a_method_pause_that_method_only)
{
    die(BAD, CW_PLUGIN_DEATHS - 1, 1000);
    assert_null(cw_worker_breaker_refuses(&b, BAD, 1000));
    die(BAD, 1, 1000);
    assert_string_equal(cw_worker_breaker_refuses(&b, BAD, 1000), "method");
    assert_null(cw_worker_breaker_refuses(&b, GOOD, 1000));
    assert_false(cw_worker_breaker_is_open(&b));
}

TEST(deaths_of_nobody_pause_the_plugin)
{
    die(CW_WORKER_BREAKER_PLUGIN, CW_PLUGIN_DEATHS, 1000);
    assert_true(cw_worker_breaker_is_open(&b));
    assert_string_equal(cw_worker_breaker_refuses(&b, GOOD, 1000), "plugin");
    assert_null(cw_worker_breaker_refuses(&b, GOOD, 1000 + CW_PLUGIN_PAUSE_MIN_MS));
    cw_worker_breaker_on_success(&b, GOOD);
    assert_false(cw_worker_breaker_is_open(&b));
    assert_null(cw_worker_breaker_refuses(&b, BAD, 1000 + CW_PLUGIN_PAUSE_MIN_MS));
}

TEST(any_success_starts_the_counts_anew)
{
    for (int round = 0; round < 10; round++) {
        die(BAD, CW_PLUGIN_DEATHS - 1, 1000);
        die(CW_WORKER_BREAKER_PLUGIN, CW_PLUGIN_DEATHS - 1, 1000);
        cw_worker_breaker_on_success(&b, GOOD);
        assert_int_equal(atomic_load(&b.counting), 0);
    }
    assert_null(cw_worker_breaker_refuses(&b, BAD, 1000));
}

TEST(deaths_add_up_in_any_order_of_the_threads_that_report_them)
{
    die(BAD, 1, 1001);
    die(BAD, CW_PLUGIN_DEATHS - 1, 1000);
    assert_string_equal(cw_worker_breaker_refuses(&b, BAD, 1000), "method");
}

TEST(deaths_far_apart_do_not_add_up)
{
    uint64_t now = 1000;
    for (unsigned i = 0; i < 3 * CW_PLUGIN_DEATHS; i++, now += CW_PLUGIN_DEATHS_MS + 1)
        die(BAD, 1, now);
    assert_null(cw_worker_breaker_refuses(&b, BAD, now));
}

TEST(one_call_is_let_through_after_each_pause)
{
    uint64_t now = 1000;
    uint64_t pause = CW_PLUGIN_PAUSE_MIN_MS;
    die(BAD, CW_PLUGIN_DEATHS, now);
    for (int round = 0; round < 6; round++) {
        assert_non_null(cw_worker_breaker_refuses(&b, BAD, now + pause - 1));
        now += pause;
        assert_null(cw_worker_breaker_refuses(&b, BAD, now));
        assert_non_null(cw_worker_breaker_refuses(&b, BAD, now));
        die(BAD, 1, now);
        pause = pause * 2 > CW_PLUGIN_PAUSE_MAX_MS ? CW_PLUGIN_PAUSE_MAX_MS : pause * 2;
    }
    assert_int_equal(gates[BAD].pause_ms, CW_PLUGIN_PAUSE_MAX_MS);
    now += pause;
    assert_null(cw_worker_breaker_refuses(&b, BAD, now));
    cw_worker_breaker_on_success(&b, BAD);
    assert_null(cw_worker_breaker_refuses(&b, BAD, now));
    assert_int_equal(atomic_load(&b.open), 0);
}

TEST(deaths_that_were_on_their_way_do_not_lengthen_the_pause)
{
    die(BAD, CW_PLUGIN_DEATHS + 90, 1000);
    assert_int_equal(gates[BAD].pause_ms, CW_PLUGIN_PAUSE_MIN_MS);
}

TEST(the_success_of_others_does_not_end_a_pause)
{
    die(BAD, CW_PLUGIN_DEATHS, 1000);
    cw_worker_breaker_on_success(&b, GOOD);
    assert_non_null(cw_worker_breaker_refuses(&b, BAD, 1000));
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(deaths_of_a_method_pause_that_method_only),
        T(deaths_of_nobody_pause_the_plugin),
        T(any_success_starts_the_counts_anew),
        T(deaths_far_apart_do_not_add_up),
        T(deaths_add_up_in_any_order_of_the_threads_that_report_them),
        T(one_call_is_let_through_after_each_pause),
        T(deaths_that_were_on_their_way_do_not_lengthen_the_pause),
        T(the_success_of_others_does_not_end_a_pause),
    };
    return cmocka_run_group_tests_name("source/plugin_breaker", tests, NULL, NULL);
}
