/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_letter.c - rows that one server leaves for others, and the changes that all of them read. */
#include "store/letter.h"

#include <stdio.h>

#include "base/buf.h"
#include "store/replica.h"
#include "support/oom.h"
#include "support/temp_db.h"

#define LATER INT64_C(9000000000000)

static cw_err err;

static cw_db *open_db(void)
{
    cw_db *db = NULL;
    cw_db_opts opts = {TEMP_DB, .may_create = true, .busy_ms = 1000};
    assert_int_equal(cw_db_open(&opts, &db, &err), CW_OK);
    return db;
}

/* A server, and the number that it gets. */
static int64_t add_server(cw_db *db, const char *node)
{
    int64_t number = 0;
    cw_db_replica row = {.node = cw_str_from(node),
                         .name = cw_str_from(node),
                         .process = CW_STR("p"),
                         .version = CW_STR("1"),
                         .every = 5000};
    assert_int_equal(cw_db_renew_replica(db, &row, &number, &err), CW_OK);
    assert_true(number > 0);
    return number;
}

static int64_t send_letter(cw_db *db, const char *from, int64_t to, const char *body)
{
    int64_t n = -1;
    assert_int_equal(cw_db_send_letter(db, cw_str_from(from), to, cw_str_from(body), &n, &err),
                     CW_OK);
    return n;
}

static cw_code keep_letter(cw_db *db, const char *body, int64_t until, int64_t share)
{
    const cw_db_lasting letter = {.body = cw_str_from(body), .until = until, .share = share};
    return cw_db_keep_letter(db, &letter, &err);
}

static cw_code join(cw_str body, void *ctx, cw_err *e)
{
    cw_buf *out = ctx;
    (void)e;
    cw_buf_add(out, body);
    cw_buf_add_char(out, '|');
    return CW_OK;
}

static cw_code count(cw_str body, void *ctx, cw_err *e)
{
    (void)body;
    (void)e;
    ++*(int *)ctx;
    return CW_OK;
}

static void assert_taken(cw_db *db, const char *node, const char *expected)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, CW_BUF_MAX);
    assert_int_equal(cw_db_take_letters(db, cw_str_from(node), join, &out, &err), CW_OK);
    assert_true(cw_str_is(cw_buf_str(&out), expected));
}

static void assert_read(cw_db *db, int64_t *at, const char *expected)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, CW_BUF_MAX);
    assert_int_equal(cw_db_read_letters(db, at, join, &out, &err), CW_OK);
    assert_true(cw_str_is(cw_buf_str(&out), expected));
}

/* ---- letters to a server ---- */

TEST(a_letter_is_taken_once_by_the_server_with_its_number)
{
    cw_db *db = open_db();
    (void)add_server(db, "a");
    int64_t b = add_server(db, "b");
    assert_int_equal(send_letter(db, "a", b, "one"), 1);
    assert_int_equal(send_letter(db, "a", b, "two"), 1);
    assert_taken(db, "a", "");
    assert_taken(db, "b", "one|two|");
    assert_taken(db, "b", "");
    cw_db_close(db);
}

TEST(a_letter_to_all_reaches_all_but_its_sender)
{
    cw_db *db = open_db();
    static const char *const nodes[] = {"a", "b", "c"};
    for (size_t i = 0; i < CW_COUNT(nodes); i++)
        (void)add_server(db, nodes[i]);
    assert_int_equal(send_letter(db, "b", 0, "all"), 2);
    assert_taken(db, "a", "all|");
    assert_taken(db, "b", "");
    assert_taken(db, "c", "all|");
    cw_db_close(db);
}

TEST(a_number_that_no_running_server_has_gets_none)
{
    cw_db *db = open_db();
    int64_t a = add_server(db, "a"), b = add_server(db, "b");
    assert_int_equal(send_letter(db, "a", 1000, "nobody"), 0);
    assert_int_equal(send_letter(db, "a", a, "self"), 0);
    temp_db_run("UPDATE replica SET seen = 1 WHERE node = 'b'");
    assert_int_equal(send_letter(db, "a", b, "lost"), 0);
    assert_int_equal(send_letter(db, "a", 0, "lost"), 0);
    cw_db_close(db);
}

TEST(a_server_with_too_many_letters_gets_no_further_one)
{
    int n = 0;
    cw_db *db = open_db();
    (void)add_server(db, "a");
    int64_t b = add_server(db, "b");
    temp_db_run(
        temp_db_is_server()
            ? "INSERT INTO letter (to_node, body, until)"
              " SELECT 'b', 'x'::bytea, 9000000000000 FROM generate_series(1, 999)"
            : "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 999)"
              " INSERT INTO letter (to_node, body, until) SELECT 'b', x'78', 9000000000000 FROM c");
    _Static_assert(CW_DB_LETTERS == 1000, "as above");
    assert_int_equal(send_letter(db, "a", b, "the last"), 1);
    assert_int_equal(send_letter(db, "a", b, "too many"), 0);
    assert_int_equal(cw_db_take_letters(db, CW_STR("b"), count, &n, &err), CW_OK);
    assert_int_equal(n, CW_DB_LETTERS);
    assert_int_equal(send_letter(db, "a", b, "room again"), 1);
    cw_db_close(db);
}

static cw_code refuse_from_40(cw_str body, void *ctx, cw_err *e)
{
    (void)body;
    return ++*(int *)ctx < 40 ? CW_OK : cw_fail(e, CW_LIMIT, "not now");
}

/* Each letter may have two megabytes, and the result of a statement is in memory as a whole. */
TEST(letters_are_taken_some_at_once)
{
    int n = 0;
    char body[16];
    cw_db *db = open_db();
    (void)add_server(db, "a");
    int64_t b = add_server(db, "b");
    for (int i = 0; i < 100; i++) {
        snprintf(body, sizeof body, "%d", i);
        assert_int_equal(send_letter(db, "a", b, body), 1);
    }
    assert_int_equal(cw_db_take_letters(db, CW_STR("b"), refuse_from_40, &n, &err), CW_LIMIT);
    n = 0;
    assert_int_equal(cw_db_take_letters(db, CW_STR("b"), count, &n, &err), CW_OK);
    assert_in_range(n, 61, 99);
    cw_db_close(db);
}

TEST(a_letter_that_is_not_taken_is_removed_after_its_time)
{
    cw_db *db = open_db();
    (void)add_server(db, "a");
    int64_t b = add_server(db, "b");
    assert_int_equal(send_letter(db, "a", b, "old"), 1);
    assert_int_equal(cw_db_expire_letters(db, &err), CW_OK);
    assert_taken(db, "b", "old|");
    assert_int_equal(send_letter(db, "a", b, "old"), 1);
    char sql[128];
    snprintf(sql, sizeof sql, "UPDATE letter SET until = until - %d", CW_DB_LETTER_MS);
    temp_db_run(sql);
    assert_int_equal(cw_db_expire_letters(db, &err), CW_OK);
    assert_taken(db, "b", "");
    cw_db_close(db);
}

static cw_code refuse(cw_str body, void *ctx, cw_err *e)
{
    (void)body;
    (void)ctx;
    return cw_fail(e, CW_LIMIT, "not now");
}

TEST(a_receiver_that_fails_keeps_its_letters)
{
    int64_t at = 0;
    cw_db *db = open_db();
    (void)add_server(db, "a");
    int64_t b = add_server(db, "b");
    assert_int_equal(send_letter(db, "a", b, "x"), 1);
    assert_int_equal(keep_letter(db, "y", LATER, 0), CW_OK);
    assert_int_equal(cw_db_take_letters(db, CW_STR("b"), refuse, NULL, &err), CW_LIMIT);
    assert_string_equal(err.msg, "not now");
    assert_int_equal(cw_db_read_letters(db, &at, refuse, NULL, &err), CW_LIMIT);
    assert_taken(db, "b", "x|");
    assert_read(db, &at, "y|");
    cw_db_close(db);
}

/* ---- lasting letters ---- */

TEST(a_lasting_letter_reaches_each_reader_once_also_later_ones)
{
    cw_db *db = open_db();
    int64_t first = 0, second = 0;
    assert_int_equal(keep_letter(db, "one", LATER, 0), CW_OK);
    assert_read(db, &first, "one|");
    assert_read(db, &first, "");
    assert_int_equal(keep_letter(db, "two", LATER, 0), CW_OK);
    assert_read(db, &first, "two|");
    assert_read(db, &second, "one|two|");
    assert_int_equal(keep_letter(db, "over", 1, 0), CW_OK);
    assert_int_equal(cw_db_expire_letters(db, &err), CW_OK);
    assert_read(db, &second, "");
    cw_db_close(db);
}

/* Letters of a number of callers, each with as many. */
static void fill(int first_share, int callers, int each)
{
    char sql[512];
    snprintf(sql, sizeof sql,
             temp_db_is_server()
                 ? "INSERT INTO letter (to_node, body, until, share)"
                   " SELECT '', 'x'::bytea, 9000000000000, %d + n %% %d"
                   " FROM generate_series(0, %d) n"
                 : "INSERT INTO letter (to_node, body, until, share)"
                   " SELECT '', x'78', 9000000000000, %d + n %% %d"
                   " FROM (WITH RECURSIVE c(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM c"
                   " WHERE n < %d) SELECT n FROM c)",
             first_share, callers, callers * each - 1);
    temp_db_run(sql);
}

static int count_kept(cw_db *db, const char *body)
{
    int64_t at = 0;
    int n = 0;
    CW_CLEANUP(cw_buf_done) cw_buf all;
    cw_buf_init(&all, CW_BUF_MAX);
    assert_int_equal(
        cw_db_read_letters(db, &at, body ? join : count, body ? (void *)&all : &n, &err), CW_OK);
    cw_str text = cw_buf_str(&all);
    return body ? memmem(text.p, text.n, body, strlen(body)) != NULL : n;
}

TEST(a_full_table_loses_the_oldest_letters_of_the_caller_with_the_most)
{
    cw_db *db = open_db();
    assert_int_equal(keep_letter(db, "of another", LATER, 7), CW_OK);
    assert_int_equal(keep_letter(db, "the oldest", LATER, 8), CW_OK);
    fill(8, 1, CW_DB_LASTING_LETTERS - 2);
    assert_int_equal(keep_letter(db, "newest", LATER, 9), CW_OK);
    assert_true(count_kept(db, "of another"));
    assert_true(count_kept(db, "newest"));
    assert_false(count_kept(db, "the oldest"));
    assert_in_range(count_kept(db, NULL), CW_DB_LASTING_LETTERS * 9 / 10, CW_DB_LASTING_LETTERS);
    /* The caller goes on, and displaces its own. */
    for (int i = 0; i < 2000; i++)
        assert_int_equal(keep_letter(db, "flood", LATER, 8), CW_OK);
    assert_true(count_kept(db, "of another"));
    assert_true(count_kept(db, "newest"));
    cw_db_close(db);
}

/* Networks are cheap: a thousand of them are no reason to forget the letters of an account. */
TEST(anonymous_callers_together_have_half_of_a_full_table)
{
    cw_db *db = open_db();
    for (int i = 0; i < 3; i++)
        assert_int_equal(keep_letter(db, i ? "of the account" : "the first", LATER, 7), CW_OK);
    fill(-CW_DB_LASTING_LETTERS, CW_DB_LASTING_LETTERS - 3, 1);
    assert_int_equal(keep_letter(db, "anonymous", LATER, -1), CW_OK);
    assert_true(count_kept(db, "the first"));
    assert_true(count_kept(db, "anonymous"));
    assert_int_equal(count_kept(db, NULL), CW_DB_LASTING_LETTERS);
    cw_db_close(db);
}

/* ---- changes ---- */

static void note(int64_t account, void *ctx)
{
    char *out = ctx;
    snprintf(out + strlen(out), 400 - strlen(out), "%lld|", (long long)account);
}

static cw_code read_changes(cw_db *db, cw_db_reading *at, char out[400])
{
    out[0] = '\0';
    return cw_db_read_changes(db, at, note, out, &err);
}

TEST(changes_name_their_accounts_and_more_than_a_reader_keeps_are_those_of_all)
{
    char out[400];
    int64_t ids[2] = {0};
    cw_db *db = open_db();
    cw_db_reading at = {0};
    assert_int_equal(read_changes(db, &at, out), CW_OK);
    assert_string_equal(out, "0|");
    assert_int_equal(read_changes(db, &at, out), CW_DONE);
    for (size_t i = 0; i < 2; i++) {
        cw_account account = {.name = i ? CW_STR("bob") : CW_STR("alice")};
        assert_int_equal(cw_db_add_account(db, &account, NULL, 0, &ids[i], &err), CW_OK);
    }
    (void)read_changes(db, &at, out);
    assert_int_equal(cw_db_block_account(db, CW_STR("bob"), true, &err), CW_OK);
    assert_int_equal(read_changes(db, &at, out), CW_OK);
    char expected[32];
    snprintf(expected, sizeof expected, "%lld|", (long long)ids[1]);
    assert_string_equal(out, expected);
    for (unsigned i = 0; i <= CW_DB_MAX_CHANGES; i++)
        assert_int_equal(cw_db_block_account(db, CW_STR("alice"), i % 2 == 0, &err), CW_OK);
    assert_int_equal(read_changes(db, &at, out), CW_OK);
    assert_string_equal(out, "0|");
    assert_int_equal(read_changes(db, &at, out), CW_DONE);
    cw_db_close(db);
}

TEST(a_database_that_was_restored_is_a_change_of_all)
{
    char out[400];
    cw_db *db = open_db();
    cw_db_reading at = {0};
    (void)read_changes(db, &at, out);
    assert_int_equal(cw_db_begin_epoch(db, &err), CW_OK);
    assert_int_equal(read_changes(db, &at, out), CW_OK);
    assert_string_equal(out, "0|");
    /* An older copy: fewer changes, in the same epoch. */
    temp_db_run("UPDATE generation SET n = n - 1");
    assert_int_equal(read_changes(db, &at, out), CW_OK);
    assert_string_equal(out, "0|");
    /* More changes than rows: one was forgotten. */
    temp_db_run("UPDATE generation SET n = n + 3");
    assert_int_equal(read_changes(db, &at, out), CW_OK);
    assert_string_equal(out, "0|");
    cw_db_close(db);
}

/* ---- failed allocations ---- */

static void use_once(void *ctx)
{
    cw_db *db = ctx;
    int n = 0;
    int64_t sent = 0, at = 0;
    cw_db_reading reading = {0};
    char out[400] = "";
    const cw_code codes[] = {
        cw_db_send_letter(db, CW_STR("a"), 0, CW_STR("body"), &sent, &err),
        cw_db_take_letters(db, CW_STR("b"), count, &n, &err),
        keep_letter(db, "body", LATER, 0),
        cw_db_read_letters(db, &at, count, &n, &err),
        cw_db_expire_letters(db, &err),
        cw_db_read_changes(db, &reading, note, out, &err),
    };
    for (size_t i = 0; i < CW_COUNT(codes); i++)
        assert_true(codes[i] == CW_OK || codes[i] == CW_DONE ||
                    (codes[i] == CW_NOMEM && oom_was_hit()));
}

TEST(letters_and_changes_survive_every_failed_allocation)
{
    cw_db *db = open_db();
    (void)add_server(db, "a");
    (void)add_server(db, "b");
    (void)oom_each(use_once, db);
    assert_int_equal(send_letter(db, "a", 0, "after"), 1);
    cw_db_close(db);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, temp_db_setup, temp_db_teardown)
    const struct CMUnitTest tests[] = {
        T(a_letter_is_taken_once_by_the_server_with_its_number),
        T(a_letter_to_all_reaches_all_but_its_sender),
        T(a_number_that_no_running_server_has_gets_none),
        T(a_server_with_too_many_letters_gets_no_further_one),
        T(letters_are_taken_some_at_once),
        T(a_letter_that_is_not_taken_is_removed_after_its_time),
        T(a_receiver_that_fails_keeps_its_letters),
        T(a_lasting_letter_reaches_each_reader_once_also_later_ones),
        T(a_full_table_loses_the_oldest_letters_of_the_caller_with_the_most),
        T(anonymous_callers_together_have_half_of_a_full_table),
        T(changes_name_their_accounts_and_more_than_a_reader_keeps_are_those_of_all),
        T(a_database_that_was_restored_is_a_change_of_all),
        T(letters_and_changes_survive_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
