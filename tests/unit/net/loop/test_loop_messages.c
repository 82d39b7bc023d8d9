/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_loop_messages.c - messages to a loop: order, threads, and the end of the mailbox. */
#include <poll.h>

#include "net/loop/loop.c" /* NOLINT(bugprone-suspicious-include) */
#include "support/test.h"

typedef struct mail {
    cw_message message;
    unsigned number;
    unsigned n_got, n_dropped;
} mail;

static cw_mailbox box;
static unsigned got[16];
static size_t n_got;

static void on_message(cw_message *message)
{
    mail *m = CW_CONTAINER(message, mail, message);
    m->n_got++;
    if (n_got < CW_COUNT(got))
        got[n_got] = m->number;
    n_got++;
}

static void on_dropped(cw_message *message)
{
    CW_CONTAINER(message, mail, message)->n_dropped++;
}

static void post_again(cw_message *message)
{
    on_message(message);
    if (n_got < 2)
        mailbox_post(&box, message);
}

static void close_box(cw_message *message)
{
    on_message(message);
    mailbox_close(&box);
}

static mail make(unsigned number, cw_message_fn fn)
{
    return (mail){.message = {.fn = fn, .drop = on_dropped}, .number = number};
}

static bool is_readable(void)
{
    struct pollfd p = {.fd = box.fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

SETUP(set_up)
{
    n_got = 0;
    return mailbox_init(&box, NULL);
}

TEARDOWN(tear_down)
{
    mailbox_close(&box);
    mailbox_done(&box);
    return 0;
}

TEST(messages_arrive_in_order_and_wake_the_loop)
{
    mail all[] = {make(1, on_message), make(2, on_message), make(3, on_message)};
    assert_false(is_readable());
    for (size_t i = 0; i < CW_COUNT(all); i++)
        mailbox_post(&box, &all[i].message);
    assert_true(is_readable());
    mailbox_deliver(&box);
    assert_int_equal(n_got, 3);
    assert_int_equal(got[0], 1);
    assert_int_equal(got[1], 2);
    assert_int_equal(got[2], 3);
    assert_false(is_readable());
}

TEST(a_message_may_post_itself_for_the_next_turn)
{
    mail m = make(1, post_again);
    mailbox_post(&box, &m.message);
    mailbox_deliver(&box);
    assert_int_equal(n_got, 1);
    assert_true(is_readable());
    mailbox_deliver(&box);
    assert_int_equal(n_got, 2);
    assert_false(is_readable());
}

TEST(notify_posts_a_message_once_until_it_is_delivered)
{
    mail m = make(1, on_message);
    mailbox_notify(&box, &m.message);
    mailbox_notify(&box, &m.message);
    mailbox_deliver(&box);
    assert_int_equal(n_got, 1);
    mailbox_notify(&box, &m.message);
    mailbox_deliver(&box);
    assert_int_equal(n_got, 2);
}

TEST(a_mailbox_that_closes_drops_what_waits_and_what_comes)
{
    mail closes = make(1, close_box), same = make(2, on_message), late = make(3, on_message);
    mailbox_post(&box, &closes.message);
    mailbox_post(&box, &same.message);
    mailbox_deliver(&box);
    mailbox_post(&box, &late.message);
    mailbox_post(&box, &late.message);
    mailbox_deliver(&box);
    assert_int_equal(n_got, 1);
    assert_int_equal(same.n_dropped, 1);
    assert_int_equal(late.n_dropped, 2);
    assert_int_equal(closes.n_dropped, 0);
}

/* ---- threads ---- */

#define SENDERS 4
#define EACH 25000u

static mail many[SENDERS][EACH];
static unsigned next_of[SENDERS];
static size_t n_disordered;

/* `number` is sender * EACH + position. */
static void on_numbered(cw_message *message)
{
    mail *m = CW_CONTAINER(message, mail, message);
    m->n_got++;
    n_got++;
    n_disordered += next_of[m->number / EACH]++ != m->number % EACH;
}

static void *send_many(void *arg)
{
    mail *own = arg;
    for (unsigned i = 0; i < EACH; i++)
        mailbox_post(&box, &own[i].message);
    return NULL;
}

static void deliver_until(size_t n)
{
    while (n_got < n) {
        struct pollfd p = {.fd = box.fd, .events = POLLIN};
        assert_int_equal(poll(&p, 1, 60000), 1);
        mailbox_deliver(&box);
    }
}

static void start_senders(pthread_t threads[SENDERS])
{
    n_disordered = 0;
    for (unsigned i = 0; i < SENDERS; i++) {
        next_of[i] = 0;
        for (unsigned j = 0; j < EACH; j++)
            many[i][j] = make(i * EACH + j, on_numbered);
    }
    for (unsigned i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send_many, many[i]), 0);
}

static void expect_all_in_order(void)
{
    assert_int_equal(n_got, SENDERS * EACH);
    assert_int_equal(n_disordered, 0);
    for (unsigned i = 0; i < SENDERS; i++) {
        for (unsigned j = 0; j < EACH; j++)
            assert_int_equal(many[i][j].n_got, 1);
    }
    assert_false(is_readable());
}

TEST(messages_of_many_threads_all_arrive_in_the_order_of_each)
{
    pthread_t threads[SENDERS];
    start_senders(threads);
    deliver_until((size_t)SENDERS * EACH);
    for (unsigned i = 0; i < SENDERS; i++)
        pthread_join(threads[i], NULL);
    expect_all_in_order();
}

TEST(a_full_mailbox_cannot_be_made)
{
    pthread_t threads[SENDERS];
    start_senders(threads);
    for (unsigned i = 0; i < SENDERS; i++) /* nothing is delivered before the last was posted */
        pthread_join(threads[i], NULL);
    mailbox_deliver(&box);
    expect_all_in_order();
}

static atomic_uint n_written;
static unsigned n_seen;

static void on_written(cw_message *message)
{
    (void)message;
    n_seen = atomic_load_explicit(&n_written, memory_order_relaxed);
}

static void *notify_often(void *arg)
{
    for (unsigned i = 0; i < EACH; i++) {
        atomic_fetch_add_explicit(&n_written, 1, memory_order_relaxed);
        mailbox_notify(&box, arg);
    }
    return NULL;
}

TEST(the_last_notification_of_a_thread_is_never_lost)
{
    pthread_t threads[SENDERS];
    cw_message message = {.fn = on_written};
    atomic_store(&n_written, 0);
    n_seen = 0;
    for (unsigned i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, notify_often, &message), 0);
    while (n_seen < SENDERS * EACH) {
        struct pollfd p = {.fd = box.fd, .events = POLLIN};
        assert_int_equal(poll(&p, 1, 60000), 1);
        mailbox_deliver(&box);
    }
    for (unsigned i = 0; i < SENDERS; i++)
        pthread_join(threads[i], NULL);
    mailbox_deliver(&box); /* one may have been posted after the last was seen */
}

#define MAIL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MAIL_TEST(messages_arrive_in_order_and_wake_the_loop),
        MAIL_TEST(a_message_may_post_itself_for_the_next_turn),
        MAIL_TEST(notify_posts_a_message_once_until_it_is_delivered),
        MAIL_TEST(a_mailbox_that_closes_drops_what_waits_and_what_comes),
        MAIL_TEST(messages_of_many_threads_all_arrive_in_the_order_of_each),
        MAIL_TEST(a_full_mailbox_cannot_be_made),
        MAIL_TEST(the_last_notification_of_a_thread_is_never_lost),
    };
    return cmocka_run_group_tests_name("net/loop_messages", tests, NULL, NULL);
}
