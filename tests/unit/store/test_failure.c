/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/failure.h"

#include "store/stmt.h"
#include "support/temp_db.h"

static cw_err err;
static cw_db *db;
static const cw_str alice = CW_STR_INIT("account:alice"), here = CW_STR_INIT("guess:192.0.2.1"),
                    pair = CW_STR_INIT("pair:alice:192.0.2.1");

SETUP(setup)
{
    cw_db_opts opts = {TEMP_DB, .may_create = true, .busy_ms = 50};
    if (temp_db_setup(state))
        return -1;
    opts.where = temp_db_path;
    return cw_db_open(&opts, &db, &err) ? -1 : 0;
}

TEARDOWN(teardown)
{
    cw_db_close(db);
    return temp_db_teardown(state);
}

static cw_db_failures add(cw_str who, int64_t n)
{
    cw_db_failures counter = {.who = who, .n = n};
    assert_int_equal(cw_db_add_failures(db, &counter, 1, &err), CW_OK);
    return counter;
}

static cw_db_failures look(cw_str who)
{
    cw_db_failures counter = {.who = who, .n = 77};
    assert_int_equal(cw_db_read_failures(db, &counter, 1, &err), CW_OK);
    return counter;
}

static void run(const char *sql)
{
    cw_db_query q;
    cw_stmt_open(&q, db, sql);
    assert_int_equal(cw_stmt_run(&q, &err), CW_OK);
}

TEST(failures_are_counted)
{
    assert_int_equal(look(alice).n, 0);
    assert_int_equal(look(alice).left_ms, 0);
    assert_int_equal(add(alice, 1).n, 1);
    cw_db_failures counter = add(alice, 2);
    assert_int_equal(counter.n, 3);
    assert_in_range(counter.age_ms, 0, 10000);
    assert_in_range(counter.left_ms, CW_DB_FAILURES_MS - 10000, CW_DB_FAILURES_MS);
    assert_int_equal(look(alice).n, 3);
    assert_int_equal(cw_db_forget_failures(db, alice, &err), CW_OK);
    assert_int_equal(look(alice).n, 0);
}

TEST(several_counters_take_one_statement)
{
    cw_db_failures c[] = {{.who = pair, .n = 1}, {.who = here}, {.who = alice, .n = 4}};
    assert_int_equal(cw_db_add_failures(db, c, CW_COUNT(c), &err), CW_OK);
    assert_int_equal(c[0].n, 1);
    assert_int_equal(c[2].n, 4);
    assert_int_equal(cw_db_read_failures(db, c, CW_COUNT(c), &err), CW_OK);
    assert_int_equal(c[0].n, 1);
    assert_int_equal(c[1].n, 0);
    assert_int_equal(c[1].left_ms, 0);
    assert_int_equal(c[2].n, 4);
}

TEST(fifteen_minutes_forget_them)
{
    add(alice, 5);
    add(pair, 5);
    assert_int_equal(cw_db_know_network(db, pair, &err), CW_OK);
    add(pair, 2);
    run("UPDATE failure SET at = at - 900000 WHERE who LIKE 'pair:%'");
    run("UPDATE failure SET at = at - 900000, until = until - 900000 WHERE who LIKE 'account:%'");
    assert_int_equal(look(pair).n, 0);
    assert_true(look(pair).left_ms > CW_DB_FAILURES_MS);
    assert_int_equal(look(alice).left_ms, 0);
    assert_int_equal(add(alice, 1).n, 1);
    assert_int_equal(add(pair, 1).n, 1);
    assert_true(look(pair).left_ms > CW_DB_FAILURES_MS);
}

TEST(a_network_is_known_for_thirty_days)
{
    assert_int_equal(cw_db_know_network(db, pair, &err), CW_OK);
    cw_db_failures counter = look(pair);
    assert_int_equal(counter.n, 0);
    assert_true(counter.left_ms > CW_DB_KNOWN_NETWORK_MS - 10000);
    add(pair, 3);
    assert_int_equal(cw_db_know_network(db, pair, &err), CW_OK);
    assert_int_equal(look(pair).n, 0);
}

TEST(a_changed_account_has_no_failures)
{
    int64_t id;
    cw_account account = {.name = CW_STR("alice"), .password = CW_STR("hash")};
    cw_str other = CW_STR("pair:alice2:192.0.2.1");
    assert_int_equal(cw_db_add_account(db, &account, NULL, 0, &id, &err), CW_OK);
    for (int i = 0; i < 2; i++) {
        add(alice, 5);
        add(pair, 5);
        add(other, 5);
        assert_int_equal(i ? cw_db_block_account(db, account.name, false, &err)
                           : cw_db_set_password(db, account.name, CW_STR("new"), &err),
                         CW_OK);
        assert_int_equal(look(alice).left_ms, 0);
        assert_int_equal(look(pair).n, 0);
        assert_true(look(pair).left_ms > 0);
        assert_int_equal(look(other).n, 5 * (i + 1));
    }
    assert_int_equal(cw_db_remove_account(db, account.name, &err), CW_OK);
    assert_int_equal(look(pair).left_ms, 0);
}

TEST(rows_are_bounded)
{
    add(alice, 5);
    add(here, 1);
    run("UPDATE failure SET until = 0 WHERE who LIKE 'guess:%'");
    run("WITH RECURSIVE many (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM many WHERE i < 100001)"
        " INSERT INTO failure (who, n, at, until)"
        " SELECT 'guess:' || i, 1, i, 9000000000000000 FROM many");
    assert_int_equal(cw_db_trim_failures(db, &err), CW_OK);
    cw_db_query q;
    cw_stmt_open(&q, db, "SELECT count(*) FROM failure");
    assert_true(cw_stmt_step(&q));
    assert_int_equal(cw_stmt_i64(&q, 0), CW_DB_FAILURE_ROWS);
    assert_int_equal(cw_stmt_close(&q, &err), CW_OK);
    assert_int_equal(look(alice).n, 5);
    assert_int_equal(look(CW_STR("guess:2")).left_ms, 0);
}

/* Each network has one of each client, and nothing bounds the number of networks of a stranger. */
TEST(counters_of_clients_displace_no_others)
{
    add(alice, 5);
    assert_int_equal(cw_db_know_network(db, pair, &err), CW_OK);
    run("WITH RECURSIVE many (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM many WHERE i < 100001)"
        " INSERT INTO failure (who, n, at, until)"
        " SELECT 'client:' || i, 1, 8000000000000000 + i, 9000000000000000 FROM many");
    assert_int_equal(cw_db_trim_failures(db, &err), CW_OK);
    assert_int_equal(look(alice).n, 5);
    assert_true(look(pair).left_ms > 0);
    assert_int_equal(look(CW_STR("client:3")).left_ms, 0);
    assert_true(look(CW_STR("client:4")).left_ms > 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(failures_are_counted),
        T(several_counters_take_one_statement),
        T(fifteen_minutes_forget_them),
        T(a_network_is_known_for_thirty_days),
        T(a_changed_account_has_no_failures),
        T(rows_are_bounded),
        T(counters_of_clients_displace_no_others),
    };
    return cmocka_run_group_tests_name("failure", tests, NULL, NULL);
}
