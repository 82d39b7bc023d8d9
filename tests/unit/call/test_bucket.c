/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Servers share a bucket through a database that this test plays. */
#include "call/bucket.h"

#include "support/test.h"

#define SERVERS 5u
#define BURST 40u
#define S UINT64_C(1000000000)

static const cw_rate rate = {.interval_ns = 3600 * S, .depth_ns = (BURST - 1) * 3600 * S};

static cw_bucket_share *shares[SERVERS];
static cw_bucket buckets[SERVERS];
static unsigned woken;
static uint64_t level; /* of the database: full again */

static void on_wake(void *ctx)
{
    (void)ctx;
    woken++;
}

SETUP(begin)
{
    level = 0;
    woken = 0;
    for (unsigned i = 0; i < SERVERS; i++) {
        buckets[i] = (cw_bucket){0};
        assert_int_equal(cw_bucket_share_new(on_wake, NULL, &shares[i], NULL), CW_OK);
        cw_bucket_share_set(shares[i], SERVERS, /* is_away= */ false);
    }
    return 0;
}

TEARDOWN(end)
{
    for (unsigned i = 0; i < SERVERS; i++)
        cw_bucket_share_free(shares[i]);
    return 0;
}

static bool take(unsigned i, uint64_t now)
{
    bool taken = cw_bucket_take(shares[i], &buckets[i], rate, now) == 0;
    cw_bucket_report(shares[i], &buckets[i], rate, 't', CW_STR("tool"), now);
    return taken;
}

static void report(unsigned i, uint64_t now)
{
    cw_bucket_use uses[4];
    size_t n = cw_bucket_share_collect(shares[i], uses, CW_COUNT(uses));
    for (size_t k = 0; k < n; k++) {
        assert_int_equal(strlen(uses[k].name), CW_BUCKET_NAME);
        level =
            (level > now ? level : now) + (uint64_t)(uses[k].tokens * (int64_t)rate.interval_ns);
        cw_bucket_share_settle(shares[i], &uses[k], level > now ? level - now : 0, now);
    }
}

TEST(together_they_take_the_burst_and_one_more_each_at_most)
{
    uint32_t seed = 1;
    for (unsigned round = 0; round < 200; round++) {
        assert_int_equal(begin(NULL), 0);
        unsigned taken = 0;
        uint64_t now = S;
        for (unsigned step = 0; step < 4000; step++) {
            seed = seed * 1664525u + 1013904223u;
            unsigned i = (seed >> 8) % SERVERS;
            now += 1000000;
            if ((seed >> 16) % 8 == 0)
                report(i, now);
            else
                taken += take(i, now);
        }
        assert_in_range(taken, BURST, BURST + SERVERS);
        end(NULL);
    }
    begin(NULL);
}

TEST(an_unknown_bucket_gives_one_token_until_the_answer)
{
    assert_true(take(0, S));
    assert_int_equal(woken, 1);
    assert_true(cw_bucket_share_is_urgent(shares[0]));
    assert_false(cw_bucket_share_is_urgent(shares[0]));
    for (unsigned i = 0; i < 3; i++)
        assert_false(take(0, S));
    report(0, S);
    /* Half of an even share, and one without a lease. */
    for (unsigned i = 0; i < BURST / SERVERS / 2 + 2; i++)
        assert_true(take(0, S));
    assert_false(take(0, S));
}

TEST(tokens_that_are_not_used_are_returned)
{
    for (unsigned i = 0; i < 4; i++)
        (void)take(0, S);
    report(0, S);
    assert_int_equal(level, S + (1 + BURST / SERVERS / 2 + 1) * rate.interval_ns);
    report(0, S);
    assert_int_equal(level, S + rate.interval_ns);
    report(0, S);
    assert_int_equal(cw_bucket_share_collect(shares[0], &(cw_bucket_use){0}, 1), 0);
}

TEST(an_empty_bucket_is_not_asked_for)
{
    level = S + rate.depth_ns + rate.interval_ns;
    assert_true(take(0, S));
    (void)take(0, S);
    report(0, S);
    report(0, S);
    report(0, S);
    assert_int_equal(level, S + rate.depth_ns + 2 * rate.interval_ns);
    assert_false(take(0, S));
    assert_int_equal(cw_bucket_share_collect(shares[0], &(cw_bucket_use){0}, 1), 0);
    assert_in_range(cw_bucket_take(shares[0], &buckets[0], rate, S), rate.interval_ns,
                    2 * rate.interval_ns);
    assert_true(take(0, S + 2 * rate.interval_ns));
}

TEST(without_a_database_each_has_its_share)
{
    unsigned taken = 0;
    cw_bucket_share_set(shares[0], SERVERS, /* is_away= */ true);
    for (unsigned i = 0; i < BURST; i++)
        taken += take(0, S);
    assert_in_range(taken, BURST / SERVERS, BURST / SERVERS + 1);
    /* Tokens that could not be reported are reported later. */
    cw_bucket_use use;
    assert_int_equal(cw_bucket_share_collect(shares[0], &use, 1), 1);
    cw_bucket_share_give_up(shares[0], &use);
    report(0, S);
    assert_int_equal(level, S + taken * rate.interval_ns);
}

TEST(a_single_server_has_the_whole_burst_at_once)
{
    unsigned taken = 0;
    cw_bucket_share_set(shares[0], 1, /* is_away= */ false);
    for (unsigned i = 0; i < 2 * BURST; i++)
        taken += take(0, S);
    assert_int_equal(taken, BURST);
}

TEST(a_returned_token_can_be_taken_again)
{
    cw_bucket_share_set(shares[0], 1, /* is_away= */ false);
    for (unsigned i = 0; i < 3 * BURST; i++) {
        assert_int_equal(cw_bucket_take(shares[0], &buckets[0], rate, S), 0);
        cw_bucket_give(shares[0], &buckets[0], rate);
    }
    cw_bucket alone = {0};
    assert_int_equal(cw_bucket_take(NULL, &alone, rate, S), 0);
    cw_bucket_give(NULL, &alone, rate);
    cw_bucket_give(shares[0], &buckets[0], (cw_rate){0});
}

TEST(a_full_queue_loses_no_token)
{
    static cw_bucket many[CW_BUCKET_QUEUE + 1];
    static cw_bucket_use uses[CW_BUCKET_QUEUE];
    for (unsigned i = 0; i <= CW_BUCKET_QUEUE; i++) {
        many[i] = (cw_bucket){0};
        assert_int_equal(cw_bucket_take(shares[0], &many[i], rate, S), 0);
        cw_bucket_report(shares[0], &many[i], rate, 'a', cw_str_make((char *)&i, sizeof i), S);
    }
    assert_int_equal(cw_bucket_share_collect(shares[0], uses, CW_BUCKET_QUEUE), CW_BUCKET_QUEUE);
    for (unsigned i = 1; i < CW_BUCKET_QUEUE; i++)
        assert_true(strcmp(uses[i - 1].name, uses[i].name) < 0);
    /* The last one has no place, and reports with its next token. */
    cw_bucket_report(shares[0], &many[CW_BUCKET_QUEUE], rate, 'a', CW_STR("last"), S);
    assert_int_equal(cw_bucket_share_collect(shares[0], uses, CW_BUCKET_QUEUE), 1);
    assert_int_equal(uses[0].debt, 1);
    /* Another name has it now: what is settled late takes nothing from it. */
    cw_bucket_reset_share(&many[CW_BUCKET_QUEUE]);
    cw_bucket_share_settle(shares[0], &uses[0], 0, S);
    assert_int_equal(atomic_load(&many[CW_BUCKET_QUEUE].debt), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(together_they_take_the_burst_and_one_more_each_at_most,
                                        begin, end),
        cmocka_unit_test_setup_teardown(an_unknown_bucket_gives_one_token_until_the_answer, begin,
                                        end),
        cmocka_unit_test_setup_teardown(tokens_that_are_not_used_are_returned, begin, end),
        cmocka_unit_test_setup_teardown(an_empty_bucket_is_not_asked_for, begin, end),
        cmocka_unit_test_setup_teardown(without_a_database_each_has_its_share, begin, end),
        cmocka_unit_test_setup_teardown(a_single_server_has_the_whole_burst_at_once, begin, end),
        cmocka_unit_test_setup_teardown(a_returned_token_can_be_taken_again, begin, end),
        cmocka_unit_test_setup_teardown(a_full_queue_loses_no_token, begin, end),
    };
    return cmocka_run_group_tests_name("call/bucket", tests, NULL, NULL);
}
