/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_rate_limits_buckets.c - token buckets, and meters of running calls. */
#include <pthread.h>

#include "call/rate_limits.c" /* NOLINT(bugprone-suspicious-include) */
#include "support/oom.h"
#include "support/test.h"

#define S UINT64_C(1000000000)
#define THREADS 4
#define TRIES 20000

TEST(a_burst_is_let_through_and_then_one_each_interval)
{
    bucket b = {0};
    cw_rate rate = rate_make(2, 1000, 3);
    uint64_t now = 1000 * S;
    for (int i = 0; i < 3; i++)
        assert_int_equal(cw_bucket_take(NULL, &b, rate, now), 0);
    assert_int_equal(cw_bucket_take(NULL, &b, rate, now), S / 2);
    assert_int_equal(cw_bucket_take(NULL, &b, rate, now + S / 4), S / 4);
    assert_int_equal(cw_bucket_take(NULL, &b, rate, now + S / 2), 0);
    assert_int_equal(cw_bucket_take(NULL, &b, rate, now + S / 2), S / 2);
    /* A long pause fills it up to the burst, and no further. */
    now += 100 * S;
    for (int i = 0; i < 3; i++)
        assert_int_equal(cw_bucket_take(NULL, &b, rate, now), 0);
    assert_int_not_equal(cw_bucket_take(NULL, &b, rate, now), 0);
}

TEST(over_a_long_time_the_rate_holds_exactly)
{
    bucket b = {0};
    cw_rate rate = rate_make(600, 60000, 5);
    uint64_t now = S, taken = 0;
    for (int i = 0; i < 100000; i++, now += S / 1000)
        taken += cw_bucket_take(NULL, &b, rate, now) == 0;
    assert_in_range(taken, 1000, 1005);
}

TEST(no_rate_is_no_limit)
{
    bucket b = {0};
    cw_rate none = rate_make(0, 1000, 7);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(cw_bucket_take(NULL, &b, none, S), 0);
    cw_bucket_give(NULL, &b, none);
    assert_int_equal(b.full, 0);
}

TEST(a_token_that_is_given_back_can_be_taken_again)
{
    bucket b = {0};
    cw_rate rate = rate_make(1, 3600000, 1);
    assert_int_equal(cw_bucket_take(NULL, &b, rate, S), 0);
    assert_int_equal(cw_bucket_take(NULL, &b, rate, S), 3600 * S);
    cw_bucket_give(NULL, &b, rate);
    assert_int_equal(cw_bucket_take(NULL, &b, rate, S), 0);
}

TEST(the_largest_rates_do_not_overflow)
{
    bucket b = {0};
    cw_rate rate = rate_make(1, 3600000, 999999);
    assert_int_equal(cw_bucket_take(NULL, &b, rate, 1000000 * S), 0);
    rate = rate_make(999999, 1, 999999);
    assert_int_equal(rate.interval_ns, 1);
}

/* ---- several loops ---- */

typedef struct contest {
    bucket bucket;
    meters meters;
    atomic_uint taken;
    atomic_uint most;
} contest;

static void *take_many(void *arg)
{
    contest *c = arg;
    cw_rate rate = rate_make(1, 3600000, 1000);
    for (int i = 0; i < TRIES; i++) {
        if (cw_bucket_take(NULL, &c->bucket, rate, S) == 0)
            atomic_fetch_add(&c->taken, 1);
    }
    return NULL;
}

TEST(loops_share_a_bucket_to_the_last_token)
{
    contest c = {0};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_many, &c), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(c.taken, 1000);
}

static void *enter_many(void *arg)
{
    contest *c = arg;
    const cw_fair_key key = {{1, 1, 1}};
    cw_fair_turns *in;
    cw_fair_group *place;
    for (int i = 0; i < TRIES; i++) {
        if (take_place(meters_find(&c->meters, CW_STR("tool")), 2, &key, S, &in, &place))
            continue;
        unsigned inside = atomic_fetch_add(&c->taken, 1) + 1;
        if (inside > atomic_load(&c->most))
            atomic_store(&c->most, inside);
        atomic_fetch_sub(&c->taken, 1);
        cw_fair_turns_leave(in, place);
    }
    return NULL;
}

TEST(loops_find_one_meter_and_keep_its_ceiling)
{
    contest c = {0};
    pthread_t threads[THREADS];
    assert_int_equal(meters_init(&c.meters, NULL), CW_OK);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, enter_many, &c), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_in_range(c.most, 1, 2);
    meter *m = meters_find(&c.meters, CW_STR("tool"));
    assert_non_null(m);
    assert_int_equal(atomic_load(&m->running)->groups.n, 0);
    meters_done(&c.meters);
}

/* ---- tables ---- */

TEST(names_have_buckets_of_their_own)
{
    buckets t;
    assert_int_equal(buckets_init(&t, NULL), CW_OK);
    bucket *alice = buckets_find(&t, CW_STR("alice"));
    assert_ptr_equal(buckets_find(&t, CW_STR("alice")), alice);
    assert_ptr_not_equal(buckets_find(&t, CW_STR("bob")), alice);
    buckets_done(&t);
    buckets_done(&t);
}

/* A client that invents names faster than the table is large gets used buckets, not fresh ones. */
TEST(threat_A7_made_up_names_win_no_fresh_buckets)
{
    buckets t;
    cw_rate rate = rate_make(1, 3600000, 1);
    unsigned taken = 0;
    char name[32];
    assert_int_equal(buckets_init(&t, NULL), CW_OK);
    for (unsigned i = 0; i < 4 * CW_BUCKETS_MAX; i++) {
        int n = snprintf(name, sizeof name, "2001:db8:0:%x::", i);
        taken += cw_bucket_take(NULL, buckets_find(&t, cw_str_make(name, (size_t)n)), rate, S) == 0;
    }
    assert_in_range(taken, CW_BUCKETS_MAX * 9 / 10, CW_BUCKETS_MAX);
    buckets_done(&t);
}

TEST(meters_beyond_the_ceiling_are_none)
{
    meters t;
    char name[32];
    assert_int_equal(meters_init(&t, NULL), CW_OK);
    for (unsigned i = 0; i < CW_METERS_MAX; i++) {
        int n = snprintf(name, sizeof name, "tool-%u", i);
        assert_non_null(meters_find(&t, cw_str_make(name, (size_t)n)));
    }
    assert_null(meters_find(&t, CW_STR("one too many")));
    assert_non_null(meters_find(&t, CW_STR("tool-7")));
    meters_done(&t);
    meters_done(&t);
}

static void tables_once(void *ctx)
{
    const cw_fair_key key = {{1, 2, 3}};
    buckets t = {0};
    meters m = {0};
    cw_fair_turns *in;
    cw_fair_group *place = NULL;
    (void)ctx;
    cw_code rc = buckets_init(&t, NULL);
    if (!rc)
        rc = meters_init(&m, NULL);
    if (!rc)
        rc = take_place(meters_find(&m, CW_STR("tool")), 1, &key, S, &in, &place);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    buckets_done(&t);
    meters_done(&m);
}

TEST(tables_survive_every_failed_allocation)
{
    assert_int_equal(oom_each(tables_once, NULL), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_is_let_through_and_then_one_each_interval),
        cmocka_unit_test(over_a_long_time_the_rate_holds_exactly),
        cmocka_unit_test(no_rate_is_no_limit),
        cmocka_unit_test(a_token_that_is_given_back_can_be_taken_again),
        cmocka_unit_test(the_largest_rates_do_not_overflow),
        cmocka_unit_test(loops_share_a_bucket_to_the_last_token),
        cmocka_unit_test(loops_find_one_meter_and_keep_its_ceiling),
        cmocka_unit_test(names_have_buckets_of_their_own),
        cmocka_unit_test(threat_A7_made_up_names_win_no_fresh_buckets),
        cmocka_unit_test(meters_beyond_the_ceiling_are_none),
        cmocka_unit_test(tables_survive_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
