/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <poll.h>
#include <sched.h>

#include "net/loop/mailbox.h"
#include "support/oom.h"
#include "support/test.h"

static cw_mailbox box;
static uintptr_t got[64];
static size_t n_got;

static void note(void *arg)
{
    got[n_got++] = (uintptr_t)arg;
}

static void post_more(void *arg)
{
    note(arg);
    assert_int_equal(cw_mailbox_post(&box, note, (void *)99), CW_OK);
}

static bool is_readable(void)
{
    struct pollfd p = {.fd = box.fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

SETUP(set_up)
{
    n_got = 0;
    return cw_mailbox_init(&box, 4, NULL);
}

TEARDOWN(tear_down)
{
    cw_mailbox_done(&box);
    return 0;
}

TEST(messages_arrive_in_order_and_wake_the_loop)
{
    assert_false(is_readable());
    for (uintptr_t i = 1; i <= 3; i++)
        assert_int_equal(cw_mailbox_post(&box, note, (void *)i), CW_OK);
    assert_true(is_readable());
    cw_mailbox_deliver(&box);
    assert_int_equal(n_got, 3);
    assert_int_equal(got[0], 1);
    assert_int_equal(got[2], 3);
    assert_false(is_readable());
}

TEST(a_full_mailbox_refuses_and_loses_nothing)
{
    for (uintptr_t i = 1; i <= 4; i++)
        assert_int_equal(cw_mailbox_post(&box, note, (void *)i), CW_OK);
    assert_int_equal(cw_mailbox_post(&box, note, (void *)5), CW_LIMIT);
    cw_mailbox_deliver(&box);
    assert_int_equal(n_got, 4);
    assert_int_equal(cw_mailbox_post(&box, note, (void *)6), CW_OK);
}

TEST(a_message_posted_by_a_message_waits_for_the_next_turn)
{
    assert_int_equal(cw_mailbox_post(&box, post_more, (void *)1), CW_OK);
    cw_mailbox_deliver(&box);
    assert_int_equal(n_got, 1);
    assert_true(is_readable());
    cw_mailbox_deliver(&box);
    assert_int_equal(n_got, 2);
    assert_false(is_readable());
}

#define SENDERS 4
#define EACH 5000

static size_t counted;

static void count(void *arg)
{
    (void)arg;
    counted++;
}

static void *send_many(void *arg)
{
    for (int i = 0; i < EACH; i++) {
        while (cw_mailbox_post(&box, count, arg))
            sched_yield();
    }
    return NULL;
}

TEST(messages_of_many_threads_all_arrive)
{
    pthread_t threads[SENDERS];
    counted = 0;
    for (int i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send_many, NULL), 0);
    while (counted < (size_t)SENDERS * EACH) {
        struct pollfd p = {.fd = box.fd, .events = POLLIN};
        assert_int_equal(poll(&p, 1, 10000), 1);
        cw_mailbox_deliver(&box);
    }
    for (int i = 0; i < SENDERS; i++)
        pthread_join(threads[i], NULL);
    assert_false(is_readable());
}

static void init_once(void *ctx)
{
    (void)ctx;
    cw_mailbox m;
    cw_err err;
    cw_code rc = cw_mailbox_init(&m, 4, &err);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_mailbox_done(&m);
}

TEST(init_survives_every_failed_allocation)
{
    assert_true(oom_each(init_once, NULL) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_arrive_in_order_and_wake_the_loop, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_full_mailbox_refuses_and_loses_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_message_posted_by_a_message_waits_for_the_next_turn,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(messages_of_many_threads_all_arrive, set_up, tear_down),
        cmocka_unit_test(init_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
