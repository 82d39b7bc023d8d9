/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <unistd.h>

#include "door/mcp/stream_expiry.h"
#include "support/patience.h"
#include "support/test.h"

typedef struct entry {
    cw_mcp_expiry expiry;
    char name;
    void (*act)(void);
} entry;

static cw_loop loop;
static cw_mcp_expiries all;
static entry a, b, c, d;
static char trace[16]; /* who has expired, in order */
static int64_t begun;

static void on_expired(cw_mcp_expiry *expiry)
{
    entry *e = CW_CONTAINER(expiry, entry, expiry);
    assert_false(cw_list_is_in(&expiry->node));
    assert_true(cw_clock_wall_ms() >= expiry->at);
    trace[strlen(trace)] = e->name;
    if (e->act)
        e->act();
}

static void add(entry *e, char name, int64_t ms)
{
    *e = (entry){.name = name, .act = e->act};
    e->expiry.at = begun + ms;
    e->expiry.on_expired = on_expired;
    cw_mcp_expiry_add(&all, &e->expiry);
}

static void run_until_count(size_t n)
{
    uint64_t end = cw_clock_ms() + patience(5000);
    /* Not UV_RUN_ONCE: where the last timer is due at once, libuv runs it and then waits for ever.
     */
    while (strlen(trace) < n && cw_clock_ms() < end) {
        uv_run(&loop.uv, UV_RUN_NOWAIT);
        usleep(500);
    }
}

static void run_until(const char *expected)
{
    run_until_count(strlen(expected));
    assert_string_equal(trace, expected);
}

SETUP(set_up)
{
    a = b = c = d = (entry){0};
    memset(trace, 0, sizeof trace);
    if (cw_loop_init(&loop, 64, NULL))
        return 1;
    cw_mcp_expiries_init(&all, &loop);
    begun = cw_clock_wall_ms();
    return 0;
}

TEARDOWN(tear_down)
{
    cw_loop_end(&loop);
    cw_loop_run(&loop);
    cw_loop_done(&loop);
    return 0;
}

TEST(each_expires_at_its_time_whatever_came_first)
{
    /* Those that are due at the same time, because the machine stood still, have no order. */
    for (int64_t ms = 40; ms < 3000 && strcmp(trace, "bca") != 0; ms *= 2) {
        memset(trace, 0, sizeof trace);
        begun = cw_clock_wall_ms();
        add(&a, 'a', 3 * ms);
        add(&b, 'b', ms);
        add(&c, 'c', 2 * ms);
        run_until_count(3);
    }
    assert_string_equal(trace, "bca");
}

TEST(one_that_expires_much_later_waits)
{
    add(&d, 'd', 100000000);
    add(&a, 'a', 40);
    run_until("a");
    assert_true(cw_list_is_in(&d.expiry.node));
    cw_mcp_expiry_remove(&d.expiry);
}

TEST(one_that_is_over_already_expires_soon)
{
    add(&a, 'a', -1000);
    assert_string_equal(trace, ""); /* not from inside */
    run_until("a");
}

TEST(one_that_was_removed_does_not_expire)
{
    add(&a, 'a', 20);
    add(&b, 'b', 60);
    cw_mcp_expiry_remove(&a.expiry);
    cw_mcp_expiry_remove(&a.expiry);
    run_until("b");
}

static void remove_b_and_add_c(void)
{
    cw_mcp_expiry_remove(&b.expiry);
    add(&c, 'c', 20);
}

TEST(whoever_expires_may_add_and_remove_others)
{
    a.act = remove_b_and_add_c;
    add(&a, 'a', 20);
    add(&b, 'b', 20);
    add(&d, 'd', 20);
    uv_sleep(30); /* all of them at once */
    run_until("adc");
    assert_ptr_equal(all.ring.next, &all.ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_expires_at_its_time_whatever_came_first, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_that_expires_much_later_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_is_over_already_expires_soon, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_was_removed_does_not_expire, set_up, tear_down),
        cmocka_unit_test_setup_teardown(whoever_expires_may_add_and_remove_others, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
