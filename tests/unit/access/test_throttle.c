/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/throttle.h"
#include "support/test.h"

static cw_throttle t;
static const cw_str alice = CW_STR_INIT("alice"), bob = CW_STR_INIT("bob");

SETUP(setup)
{
    return cw_throttle_init(&t, 3, NULL);
}

TEARDOWN(teardown)
{
    cw_throttle_done(&t);
    cw_throttle_done(&t);
    return 0;
}

TEST(some_failures_are_free)
{
    cw_throttle_fail(&t, alice, 1000000);
    cw_throttle_fail(&t, alice, 1000000);
    assert_int_equal(cw_throttle_wait(&t, alice, 1000000), 0);
    cw_throttle_fail(&t, alice, 1000000);
    assert_int_equal(cw_throttle_wait(&t, alice, 1000000), 1000);
    assert_int_equal(cw_throttle_wait(&t, alice, 1000400), 600);
    assert_int_equal(cw_throttle_wait(&t, alice, 1001000), 0);
    assert_int_equal(cw_throttle_wait(&t, bob, 1000000), 0);
}

/* A thread takes the time before it waits for the lock, and another one counts a failure meanwhile. */
TEST(a_free_failure_of_a_moment_later_delays_nothing)
{
    cw_throttle_fail(&t, alice, 1000020);
    assert_int_equal(cw_throttle_wait(&t, alice, 1000000), 0);
}

TEST(each_further_one_doubles_the_wait_up_to_a_minute)
{
    static const uint64_t waits[] = {0,     0,     1000,  2000,  4000, 8000,
                                     16000, 32000, 60000, 60000, 60000};
    uint64_t now = 1000000;
    for (size_t i = 0; i < CW_COUNT(waits); i++) {
        cw_throttle_fail(&t, alice, now);
        assert_int_equal(cw_throttle_wait(&t, alice, now), waits[i]);
        now += waits[i];
    }
    for (int i = 0; i < 100; i++)
        cw_throttle_fail(&t, alice, now);
    assert_int_equal(cw_throttle_wait(&t, alice, now), CW_THROTTLE_LONGEST_MS);
}

TEST(success_and_time_forget)
{
    for (int i = 0; i < 5; i++) {
        cw_throttle_fail(&t, alice, 1000000);
        cw_throttle_fail(&t, bob, 1000000);
    }
    cw_throttle_forget(&t, alice);
    assert_int_equal(cw_throttle_wait(&t, alice, 1000000), 0);
    assert_true(cw_throttle_wait(&t, bob, 1000000) > 0);
    cw_throttle_fail(&t, bob, 1000000 + CW_THROTTLE_FORGET_MS);
    assert_int_equal(cw_throttle_wait(&t, bob, 1000000 + CW_THROTTLE_FORGET_MS), 0);
}

TEST(failures_of_other_servers_count)
{
    cw_throttle_set(&t, alice, 3, 400, 1000000);
    assert_int_equal(cw_throttle_wait(&t, alice, 1000000), 600);
    cw_throttle_set(&t, alice, 0, 0, 1000000);
    assert_int_equal(cw_throttle_wait(&t, alice, 1000000), 0);
    cw_throttle_set(&t, alice, UINT64_MAX, UINT64_MAX, 1000);
    assert_int_equal(cw_throttle_wait(&t, alice, 1000), CW_THROTTLE_LONGEST_MS - 1000);
}

TEST(failures_that_the_database_does_not_have_are_kept)
{
    cw_throttle_fail(&t, alice, 1000000);
    cw_throttle_fail(&t, alice, 1000000);
    assert_int_equal(cw_throttle_take(&t, alice), 2);
    assert_int_equal(cw_throttle_take(&t, alice), 0);
    /* One more while the database counts the two. */
    cw_throttle_fail(&t, alice, 1000500);
    cw_throttle_set(&t, alice, 2, 0, 1000600);
    assert_int_equal(cw_throttle_wait(&t, alice, 1000600), 1000);
    assert_int_equal(cw_throttle_take(&t, alice), 1);
    cw_throttle_give_back(&t, alice, 1);
    cw_throttle_set(&t, alice, 0, 0, 1000600);
    assert_int_equal(cw_throttle_take(&t, alice), 1);
    cw_throttle_give_back(&t, bob, 1);
    assert_int_equal(cw_throttle_take(&t, bob), 0);
}

TEST(very_many_names_do_not_grow_it)
{
    char name[32];
    for (unsigned i = 0; i < 10 * CW_THROTTLE_ENTRIES; i++) {
        snprintf(name, sizeof name, "name %u", i);
        for (int k = 0; k < 3; k++)
            cw_throttle_fail(&t, cw_str_from(name), 1000000 + i);
        assert_true(cw_throttle_wait(&t, cw_str_from(name), 1000000 + i) > 0);
    }
}

TEST(wider_networks_have_more_free_failures)
{
    cw_network_throttle n;
    cw_network network;
    char address[64];
    assert_int_equal(cw_network_throttle_init(&n, 2, NULL), CW_OK);
    /* Each /64 of a /56 fails once: 8 are free. */
    for (unsigned i = 0; i < 8; i++) {
        snprintf(address, sizeof address, "2001:db8:1:1%02x::1", i);
        cw_network_of(cw_str_from(address), &network);
        assert_int_equal(cw_network_throttle_wait(&n, &network, false, 1000000), 0);
        cw_network_throttle_fail(&n, &network, 1000000);
    }
    cw_network_of(CW_STR("2001:db8:1:1ff::1"), &network);
    assert_int_equal(cw_network_throttle_wait(&n, &network, false, 1000000), 1000);
    assert_int_equal(cw_network_throttle_wait(&n, &network, true, 1000000), 0);
    /* Each /56 of the /48 fails once more: 32 are free. */
    for (unsigned i = 8; i < 32; i++) {
        snprintf(address, sizeof address, "2001:db8:1:%02x00::1", i);
        cw_network_of(cw_str_from(address), &network);
        assert_int_equal(cw_network_throttle_wait(&n, &network, false, 1000000), 0);
        cw_network_throttle_fail(&n, &network, 1000000);
    }
    cw_network_of(CW_STR("2001:db8:1:ff00::1"), &network);
    assert_int_equal(cw_network_throttle_wait(&n, &network, false, 1000000), 1000);
    cw_network_of(CW_STR("2001:db8:2::1"), &network);
    assert_int_equal(cw_network_throttle_wait(&n, &network, false, 1000000), 0);
    cw_network_throttle_done(&n);
    cw_network_throttle_done(&n);
}

static const cw_json *written(cw_throttle *from, cw_arena *arena, uint64_t now)
{
    cw_buf buf;
    cw_json_writer w;
    const cw_json *root;
    cw_buf_init(&buf, 1 << 20);
    cw_json_writer_init(&w, &buf, CW_JSON_COMPACT);
    cw_throttle_write(from, &w, now);
    assert_int_equal(cw_json_writer_end(&w, NULL), CW_OK);
    cw_str text = cw_arena_dup_str(arena, cw_buf_str(&buf));
    cw_buf_done(&buf);
    assert_int_equal(cw_json_read(text, NULL, arena, &root, NULL, NULL), CW_OK);
    return root;
}

TEST(failures_go_to_a_successor_and_add_up)
{
    cw_throttle other;
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_throttle_init(&other, 3, NULL), CW_OK);
    for (int i = 0; i < 3; i++)
        cw_throttle_fail(&t, alice, 1000000);
    cw_throttle_fail(&t, bob, 1000000 - CW_THROTTLE_FORGET_MS); /* too old to count */
    const cw_json *all = written(&t, &arena, 1000000);
    assert_int_equal(cw_json_count(all), 1);
    cw_throttle_fail(&other, alice, 999000);
    cw_throttle_read(&other, all);
    assert_int_equal(cw_throttle_wait(&other, alice, 1000000), 2000);
    assert_int_equal(cw_throttle_wait(&other, bob, 1000000), 0);
    cw_throttle_done(&other);
    cw_arena_done(&arena);
}

TEST(nonsense_of_a_predecessor_is_ignored)
{
    static const char *const wrong[] = {"null", "{}", "[1,[],[1],[1,2],[1,2,0],[1,2,-1]]",
                                        "[[\"a\",2,3],[1,2,5000000000],[-1,2,3],[1.5,2,3]]"};
    cw_arena arena;
    const cw_json *root;
    cw_arena_init(&arena, 1 << 20);
    cw_throttle_read(&t, NULL);
    for (size_t i = 0; i < CW_COUNT(wrong); i++) {
        assert_int_equal(cw_json_read(cw_str_from(wrong[i]), NULL, &arena, &root, NULL, NULL),
                         CW_OK);
        cw_throttle_read(&t, root);
    }
    assert_int_equal(cw_json_count(written(&t, &arena, 2)), 0);
    cw_arena_done(&arena);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(some_failures_are_free),
        T(a_free_failure_of_a_moment_later_delays_nothing),
        T(each_further_one_doubles_the_wait_up_to_a_minute),
        T(success_and_time_forget),
        T(failures_of_other_servers_count),
        T(failures_that_the_database_does_not_have_are_kept),
        T(very_many_names_do_not_grow_it),
        T(failures_go_to_a_successor_and_add_up),
        T(nonsense_of_a_predecessor_is_ignored),
        cmocka_unit_test(wider_networks_have_more_free_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
