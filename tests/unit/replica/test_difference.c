/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_difference.c - catalogues of other servers: when services are asked, and subscribers notified, again. */
#include "replica/replicas_int.h"
#include "store/replica.h"
#include "support/test.h"

#define CONFIG "00aa"
#define OLD "0b0b"
#define NEW "0c0c"
#define BEGIN 100000u

static cw_replicas here;

SETUP(begin)
{
    (void)state;
    memset(&here, 0, sizeof here);
    here.opts.version = "1.2.3";
    memcpy(here.shown.config, CONFIG, sizeof CONFIG);
    memcpy(here.shown.catalogue, OLD, sizeof OLD);
    return 0;
}

static void change_own(const char catalogue[sizeof NEW], uint64_t now)
{
    memcpy(here.shown.catalogue, catalogue, sizeof NEW);
    here.difference.changed_at = now;
}

static cw_db_replica row_of(const char *node, const char *catalogue)
{
    return (cw_db_replica){.node = cw_str_from(node),
                           .version = CW_STR("1.2.3"),
                           .config = CW_STR(CONFIG),
                           .catalogue = cw_str_from(catalogue)};
}

static void compare(const cw_db_replica *rows, size_t n, uint64_t now)
{
    cw_replicas_catalogues found = {0};
    for (size_t i = 0; i < n; i++)
        cw_replicas_compare(&here, &rows[i], &found);
    cw_replicas_compared(&here, &found, now);
}

static void compare_two(const char *b, const char *c, uint64_t now)
{
    const cw_db_replica rows[] = {row_of("b", b), row_of("c", c)};
    compare(rows, 2, now);
}

/* The first time at which services are asked, at most `until`; 0: they are not. */
static uint64_t asked_at(uint64_t now, uint64_t until)
{
    for (; now <= until; now += 10) {
        if (cw_replicas_must_ask(&here, now))
            return now;
    }
    return 0;
}

TEST(equal_catalogues_ask_nothing)
{
    compare_two(OLD, OLD, BEGIN);
    assert_true(cw_replicas_is_settled(&here));
    assert_int_equal(asked_at(BEGIN, BEGIN + CW_REPLICAS_PAUSE_MAX_MS), 0);
}

TEST(other_versions_configurations_and_servers_without_a_catalogue_do_not_count)
{
    cw_db_replica rows[] = {row_of("b", NEW), row_of("c", NEW), row_of("d", "0000"),
                            row_of("e", "")};
    rows[0].version = CW_STR("1.2.4");
    rows[1].config = CW_STR("ffff");
    compare(rows, 4, BEGIN);
    assert_true(cw_replicas_is_settled(&here));
    assert_int_equal(asked_at(BEGIN, BEGIN + 10000), 0);
    /* Neither does a server whose own catalogue is not there yet. */
    memcpy(here.shown.catalogue, "0000", 5);
    compare_two(NEW, NEW, BEGIN);
    assert_int_equal(asked_at(BEGIN, BEGIN + 10000), 0);
}

TEST(a_difference_asks_once_after_a_wait)
{
    compare_two(OLD, NEW, BEGIN);
    assert_false(cw_replicas_is_settled(&here));
    uint64_t at = asked_at(BEGIN, BEGIN + 10000);
    assert_in_range(at, BEGIN + CW_REPLICAS_WAIT_MS, BEGIN + 2 * CW_REPLICAS_WAIT_MS + 10);
    compare_two(OLD, NEW, at);
    assert_int_equal(asked_at(at, at + CW_REPLICAS_PAUSE_MAX_MS), 0);
}

TEST(the_server_with_the_newer_catalogue_waits_longer)
{
    change_own(NEW, BEGIN);
    compare_two(OLD, OLD, BEGIN + 100);
    uint64_t at = asked_at(BEGIN + 100, BEGIN + 10000);
    assert_in_range(at, BEGIN + 100 + CW_REPLICAS_CHANGED_MS,
                    BEGIN + 110 + CW_REPLICAS_CHANGED_MS + CW_REPLICAS_WAIT_MS);
}

TEST(further_differences_wait_for_pauses_that_grow_to_a_maximum)
{
    static const char *const digests[] = {NEW, "0d0d"};
    uint64_t now = BEGIN, pause = CW_REPLICAS_PAUSE_MS;
    compare_two(OLD, "0e0e", now);
    now = asked_at(now, now + 10000);
    for (unsigned i = 0; i < 10; i++) {
        compare_two(OLD, digests[i % 2], now);
        uint64_t at = asked_at(now, now + 2 * pause);
        assert_in_range(at, now + pause, now + pause + pause / 4 + 10);
        now = at;
        pause = 2 * pause < CW_REPLICAS_PAUSE_MAX_MS ? 2 * pause : CW_REPLICAS_PAUSE_MAX_MS;
    }
    assert_int_equal(pause, CW_REPLICAS_PAUSE_MAX_MS);
    /* Agreement ends it. */
    compare_two(OLD, OLD, now);
    compare_two(OLD, NEW, now);
    assert_in_range(asked_at(now, now + 10000), now + CW_REPLICAS_WAIT_MS,
                    now + 2 * CW_REPLICAS_WAIT_MS + 10);
}

TEST(each_change_of_another_server_is_repeated_to_subscribers_once)
{
    compare_two(OLD, OLD, BEGIN);
    (void)cw_replicas_must_repeat(&here); /* the servers have come */
    compare_two(OLD, OLD, BEGIN);
    assert_false(cw_replicas_must_repeat(&here));
    /* Our own change is no reason: its subscribers were just notified. */
    change_own(NEW, BEGIN);
    compare_two(OLD, OLD, BEGIN);
    assert_false(cw_replicas_must_repeat(&here));
    compare_two(NEW, OLD, BEGIN);
    assert_true(cw_replicas_must_repeat(&here));
    assert_false(cw_replicas_must_repeat(&here));
    assert_false(cw_replicas_is_settled(&here));
    compare_two(NEW, NEW, BEGIN);
    assert_true(cw_replicas_must_repeat(&here));
    assert_true(cw_replicas_is_settled(&here));
}

TEST(the_order_of_the_rows_does_not_matter)
{
    const cw_db_replica rows[] = {row_of("b", NEW), row_of("c", "0d0d")};
    const cw_db_replica turned[] = {rows[1], rows[0]};
    compare(rows, 2, BEGIN);
    (void)cw_replicas_must_repeat(&here);
    uint64_t at = here.difference.ask_at;
    compare(turned, 2, BEGIN + 10);
    assert_int_equal(here.difference.ask_at, at);
    assert_false(cw_replicas_must_repeat(&here));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(equal_catalogues_ask_nothing, begin),
        cmocka_unit_test_setup(
            other_versions_configurations_and_servers_without_a_catalogue_do_not_count, begin),
        cmocka_unit_test_setup(a_difference_asks_once_after_a_wait, begin),
        cmocka_unit_test_setup(the_server_with_the_newer_catalogue_waits_longer, begin),
        cmocka_unit_test_setup(further_differences_wait_for_pauses_that_grow_to_a_maximum, begin),
        cmocka_unit_test_setup(each_change_of_another_server_is_repeated_to_subscribers_once,
                               begin),
        cmocka_unit_test_setup(the_order_of_the_rows_does_not_matter, begin),
    };
    return cmocka_run_group_tests_name("difference", tests, NULL, NULL);
}
