/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_bucket.c - levels that servers share. Runs with with-postgres.sh alone. */
#include "store/bucket.h"

#include <inttypes.h>

#include "store/replica.h"
#include "support/temp_db.h"

#define HOUR_NS INT64_C(3600000000000)

static cw_err err;

static cw_db *open_db(void)
{
    cw_db *db = NULL;
    cw_db_opts opts = {TEMP_DB, .may_create = true};
    assert_int_equal(cw_db_open(&opts, &db, &err), CW_OK);
    return db;
}

/* The levels of "a" and "b"; -1: not reported. */
typedef struct levels {
    int64_t a, b;
} levels;

static void on_level(cw_str name, int64_t ahead_ns, void *ctx)
{
    levels *l = ctx;
    *(cw_str_is(name, "a") ? &l->a : &l->b) = ahead_ns;
}

static levels fill(cw_db *db, int64_t a, int64_t b)
{
    levels l = {-1, -1};
    char text[96];
    snprintf(text, sizeof text, "{\"a\":\"%" PRId64 "\",\"b\":\"%" PRId64 "\"}", a, b);
    assert_int_equal(cw_db_fill_buckets(db, cw_str_from(text), on_level, &l, &err), CW_OK);
    return l;
}

/* Time passes between two statements, so a level may be a little lower. */
static void assert_level(int64_t level, int64_t expected)
{
    assert_true(level <= expected && level > expected - HOUR_NS / 2);
}

TEST(uses_add_up_and_a_bucket_is_never_more_than_full)
{
    cw_db *db = open_db();
    levels l = fill(db, HOUR_NS, 3 * HOUR_NS);
    assert_int_equal(l.a, HOUR_NS);
    assert_int_equal(l.b, 3 * HOUR_NS);
    l = fill(db, 2 * HOUR_NS, 0);
    assert_level(l.a, 3 * HOUR_NS);
    assert_level(l.b, 3 * HOUR_NS);
    temp_db_run("UPDATE bucket SET tat = 1 WHERE name = 'a'"); /* full since long ago */
    assert_int_equal(fill(db, HOUR_NS, 0).a, HOUR_NS);
    cw_db_close(db);
}

TEST(only_full_buckets_are_forgotten)
{
    cw_db *db = open_db();
    fill(db, HOUR_NS, HOUR_NS);
    temp_db_run("UPDATE bucket SET tat = 1 WHERE name = 'a'");
    assert_int_equal(cw_db_forget_full_buckets(db, &err), CW_OK);
    temp_db_run("DO $$ BEGIN ASSERT (SELECT string_agg(name, ',') FROM bucket) = 'b'; END $$");
    assert_level(fill(db, 0, HOUR_NS).b, 2 * HOUR_NS);
    cw_db_close(db);
}

TEST(servers_that_have_missed_their_turns_do_not_count)
{
    cw_db *db = open_db();
    int64_t number, n = -1;
    assert_int_equal(cw_db_count_replicas(db, &n, &err), CW_OK);
    assert_int_equal(n, 0);
    static const char *const nodes[] = {"x", "y"};
    for (size_t i = 0; i < CW_COUNT(nodes); i++) {
        cw_db_replica row = {.node = cw_str_from(nodes[i]),
                             .name = cw_str_from(nodes[i]),
                             .process = CW_STR("p"),
                             .version = CW_STR("1"),
                             .every = 60000};
        assert_int_equal(cw_db_renew_replica(db, &row, &number, &err), CW_OK);
    }
    assert_int_equal(cw_db_count_replicas(db, &n, &err), CW_OK);
    assert_int_equal(n, 2);
    temp_db_run("UPDATE replica SET seen = seen - 3 * every WHERE node = 'y'");
    assert_int_equal(cw_db_count_replicas(db, &n, &err), CW_OK);
    assert_int_equal(n, 1);
    cw_db_close(db);
}

#define T(name) cmocka_unit_test_setup_teardown(name, temp_db_setup, temp_db_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(uses_add_up_and_a_bucket_is_never_more_than_full),
        T(only_full_buckets_are_forgotten),
        T(servers_that_have_missed_their_turns_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
