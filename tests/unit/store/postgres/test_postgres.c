/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_postgres.c - the database on a server: several connections at once, and lost ones. Runs with
 * with-postgres.sh alone. */
#include "support/store_fixture.h"

#include <pthread.h>

#include "base/clock.h"
#include "store/copy.h"
#include "store/seal_key.h"
#include "support/patience.h"

#define OPENERS 8
#define ROUNDS 100

static cw_err err;

static cw_db *open_db(void)
{
    cw_db *db = NULL;
    cw_db_opts opts = {TEMP_DB, .may_create = true};
    cw_code rc = cw_db_open(&opts, &db, &err);
    if (rc)
        print_message("%s\n", err.msg);
    assert_int_equal(rc, CW_OK);
    return db;
}

static cw_code open_with(const char *url, const char *password_file)
{
    cw_db *db = NULL;
    cw_db_opts opts = {.where = url, .password_file = password_file, .timeout_ms = 2000};
    cw_code rc = cw_db_open(&opts, &db, &err);
    cw_db_close(db);
    return rc;
}

/* ---- opening ---- */

static void *open_and_count(void *arg)
{
    cw_db *db = NULL;
    cw_err problem;
    cw_db_opts opts = {TEMP_DB, .may_create = true};
    if (cw_db_open(&opts, &db, &problem) == CW_OK)
        atomic_fetch_add((atomic_int *)arg, 1);
    else
        print_message("%s\n", problem.msg);
    cw_db_close(db);
    return NULL;
}

TEST(eight_programs_that_start_at_once_make_the_tables_once)
{
    pthread_t threads[OPENERS];
    atomic_int opened = 0;
    for (size_t i = 0; i < OPENERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_and_count, &opened), 0);
    for (size_t i = 0; i < OPENERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&opened), OPENERS);
    cw_db *db = open_db();
    bool has_it = false;
    assert_int_equal(cw_db_has_role(db, CW_STR("authenticated"), &has_it, &err), CW_OK);
    assert_true(has_it);
    cw_db_close(db);
}

TEST(without_tables_nothing_is_opened_and_none_are_made)
{
    assert_int_equal(open_with(temp_db_path, NULL), CW_NOTFOUND);
    assert_int_equal(open_with(temp_db_path, NULL), CW_NOTFOUND);
}

TEST(tables_of_a_newer_program_are_used_while_they_can_be_read)
{
    cw_db_close(open_db());
    temp_db_run("UPDATE causeway_meta SET version = 1000");
    cw_db_close(open_db());
    temp_db_run("UPDATE causeway_meta SET readable_from = 1000");
    assert_int_equal(open_with(temp_db_path, NULL), CW_CONFIG);
    assert_non_null(strstr(err.msg, "made by a newer version"));
}

TEST(a_table_of_another_program_is_left_alone)
{
    cw_db *db = NULL;
    cw_db_opts opts = {TEMP_DB, .may_create = true};
    temp_db_run("CREATE TABLE account (theirs int)");
    assert_int_equal(cw_db_open(&opts, &db, &err), CW_IO);
    assert_non_null(strstr(err.msg, "account"));
    /* None of ours stays. */
    assert_int_equal(open_with(temp_db_path, NULL), CW_NOTFOUND);
}

TEST(a_url_must_be_safe)
{
    static const struct {
        const char *url, *says;
    } bad[] = {
        {"postgresql://u:geheim@localhost/x", "holds a password"},
        {"postgresql://u@localhost/x?password=geheim", "holds a password"},
        {"postgresql://db.example/x?sslmode=require", "sslmode=require does not check"},
        {"postgresql://localhost,db.example/x?sslmode=disable", "sslmode=disable does not check"},
        {"postgresql://localhost/x?geheim=1", "not a URL of PostgreSQL"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(open_with(bad[i].url, NULL), CW_CONFIG);
        assert_non_null(strstr(err.msg, bad[i].says));
        assert_null(strstr(err.msg, "geheim"));
    }
    assert_int_equal(open_with(temp_db_path, "/nonexistent"), CW_IO);
    assert_non_null(strstr(err.msg, "store.password_file"));
    temp_dir_write("empty", "\n");
    assert_int_equal(open_with(temp_db_path, temp_dir_path("empty")), CW_CONFIG);
    unlink(temp_dir_path("empty"));
}

TEST(a_server_that_is_away_is_an_error_within_the_timeout)
{
    uint64_t began = cw_clock_ms();
    assert_int_equal(open_with("postgresql://causeway@/postgres?host=/nonexistent", NULL), CW_IO);
    assert_true(cw_clock_ms() - began < patience(3000));
}

/* ---- changes at once ---- */

typedef struct race {
    int64_t account;
    atomic_int round, finished;
} race;

static const cw_session_rules rules = {
    .idle_ms = 1000000, .lifetime_ms = 1000000, .per_account = 9};

static void *log_in_each_round(void *arg)
{
    race *r = arg;
    cw_db *db = open_db();
    for (int i = 1; i <= ROUNDS; i++) {
        while (atomic_load(&r->round) < i)
            usleep(50);
        cw_session s = {.account = r->account, .created = 5};
        memset(s.hash, i, sizeof s.hash);
        cw_code rc = cw_db_add_session(db, &s, CW_STR("old"), &rules, NULL, NULL);
        assert_true(rc == CW_OK || rc == CW_NOTFOUND);
        atomic_store(&r->finished, i);
    }
    cw_db_close(db);
    return NULL;
}

static cw_code count(const cw_session *session, void *ctx, cw_err *e)
{
    (void)session;
    (void)e;
    ++*(int *)ctx;
    return CW_OK;
}

TEST(a_login_beside_a_new_password_leaves_no_session)
{
    race r = {0};
    pthread_t thread;
    cw_db *db = open_db();
    cw_account alice = {.name = CW_STR("alice"), .password = CW_STR("old")};
    assert_int_equal(cw_db_add_account(db, &alice, NULL, 0, &r.account, &err), CW_OK);
    assert_int_equal(pthread_create(&thread, NULL, log_in_each_round, &r), 0);
    for (int i = 1; i <= ROUNDS; i++) {
        int n = 0;
        assert_int_equal(cw_db_set_password(db, CW_STR("alice"), CW_STR("old"), &err), CW_OK);
        atomic_store(&r.round, i);
        assert_int_equal(cw_db_set_password(db, CW_STR("alice"), CW_STR("new"), &err), CW_OK);
        while (atomic_load(&r.finished) < i)
            usleep(50);
        assert_int_equal(cw_db_each_session(db, 0, count, &n, &err), CW_OK);
        assert_int_equal(n, 0);
    }
    pthread_join(thread, NULL);
    cw_db_close(db);
}

TEST(the_use_of_a_session_is_no_change_of_rights)
{
    int64_t before, after, id = 0;
    cw_db *db = open_db(), *other = open_db();
    cw_account alice = {.name = CW_STR("alice"), .password = CW_STR("hash")};
    assert_int_equal(cw_db_add_account(db, &alice, NULL, 0, &id, &err), CW_OK);
    cw_session s = {.account = id, .created = 5, .hash = {1}};
    assert_int_equal(cw_db_data_version(other, &before, &err), CW_OK);
    assert_int_equal(cw_db_add_session(db, &s, CW_STR("hash"), &rules, NULL, &err), CW_OK);
    assert_int_equal(cw_db_touch_session(db, 1, 6, &err), CW_OK);
    assert_int_equal(cw_db_data_version(other, &after, &err), CW_OK);
    assert_int_equal(before, after);
    assert_int_equal(cw_db_end_session(db, s.hash, &err), CW_OK);
    assert_int_equal(cw_db_data_version(other, &after, &err), CW_OK);
    assert_int_not_equal(before, after);
    cw_db_close(other);
    cw_db_close(db);
}

/* ---- copies ---- */

static cw_db *open_file(const char *path)
{
    cw_db *db = NULL;
    cw_db_opts opts = {.where = path, .may_create = true, .busy_ms = 50};
    assert_int_equal(cw_db_open(&opts, &db, &err), CW_OK);
    return db;
}

static void remove_file(const char *name)
{
    unlink(temp_dir_path(name));
}

/* Three accounts, the last of which is gone. */
static void fill(cw_db *db)
{
    static const cw_str roles[] = {CW_STR_INIT("editor")};
    const cw_db_seal_key key = {.number = 2, .key = {7}, .created = 1, .begins = 3};
    int64_t id = 0, unused;
    cw_account a = {.name = CW_STR("alice"), .password = CW_STR("hash"), .created = 5};
    cw_account b = {.name = CW_STR("b\xc3\xa4r"), .language = CW_STR("de"), .is_blocked = true};
    cw_account c = {.name = CW_STR("c")};
    assert_int_equal(cw_db_add_account(db, &b, NULL, 0, &unused, &err), CW_OK);
    assert_int_equal(cw_db_add_account(db, &a, roles, 1, &id, &err), CW_OK);
    assert_int_equal(cw_db_add_account(db, &c, NULL, 0, &unused, &err), CW_OK);
    assert_int_equal(cw_db_remove_account(db, CW_STR("c"), &err), CW_OK);
    assert_int_equal(cw_db_add_role(db, CW_STR("editor"), &err), CW_OK);
    assert_int_equal(cw_db_allow(db, CW_STR("editor"), CW_STR("x y"), true, &err), CW_OK);
    cw_token token = {.account = id, .name = CW_STR("t"), .hash = {9}, .expires = 77};
    assert_int_equal(cw_db_add_token(db, &token, roles, 1, &unused, &err), CW_OK);
    cw_session s = {.account = id, .created = 5, .hash = {1}};
    assert_int_equal(cw_db_add_session(db, &s, CW_STR("hash"), &rules, NULL, &err), CW_OK);
    assert_int_equal(cw_db_add_seal_key(db, &key, &err), CW_OK);
}

TEST(a_copy_to_a_server_and_back_has_the_same_rows_and_numbers)
{
    cw_db_copied n = {0};
    int64_t before, after, id = 0;
    cw_db *first = open_file(temp_dir_path("first")), *server = open_db();
    fill(first);
    assert_int_equal(cw_db_data_version(server, &before, &err), CW_OK);
    assert_int_equal(cw_db_copy(first, server, &n, &err), CW_OK);
    assert_int_equal(n.accounts, 2);
    assert_int_equal(n.roles, 3);
    assert_int_equal(n.tokens, 1);
    assert_int_equal(n.sessions, 1);
    /* The copy is a change, and its triggers work. */
    assert_int_equal(cw_db_data_version(server, &after, &err), CW_OK);
    assert_int_not_equal(before, after);
    cw_db *second = open_file(temp_dir_path("second"));
    assert_int_equal(cw_db_copy(server, second, &n, &err), CW_OK);
    assert_int_equal(n.sessions, 1);
    cw_account d = {.name = CW_STR("d")};
    cw_db *const all[] = {first, server, second};
    for (size_t i = 0; i < 3; i++) {
        int sessions = 0;
        assert_int_equal(cw_db_add_account(all[i], &d, NULL, 0, &id, &err), CW_OK);
        assert_int_equal(id, 4);
        assert_int_equal(cw_db_block_account(all[i], CW_STR("alice"), true, &err), CW_OK);
        assert_int_equal(cw_db_each_session(all[i], 0, count, &sessions, &err), CW_OK);
        assert_int_equal(sessions, 0);
    }
    /* Not into one with rows, which stay. */
    assert_int_equal(cw_db_copy(first, server, &n, &err), CW_PARAMS);
    assert_int_equal(cw_db_copy(server, second, &n, &err), CW_PARAMS);
    for (size_t i = 0; i < 3; i++)
        cw_db_close(all[i]);
    remove_file("first");
    remove_file("second");
}

/* ---- the store ---- */

TEST(the_first_job_waits_for_the_connection)
{
    cw_store *s = store_fixture_start();
    assert_int_equal(store_fixture_ask(s), CW_OK);
    assert_int_equal(atomic_load(&store_downs), 0);
    cw_store_free(s);
}

TEST(a_change_of_another_program_raises_the_generation_within_a_second)
{
    cw_store *s = store_fixture_start();
    assert_int_equal(store_fixture_ask(s), CW_OK);
    cw_db *other = open_db();
    for (int i = 0; i < 3; i++) {
        char name[] = {'r', (char)('0' + i), '\0'};
        int seen = atomic_load(&store_changes);
        uint64_t before = cw_store_generation(s);
        assert_int_equal(cw_db_add_role(other, cw_str_from(name), &err), CW_OK);
        uint64_t began = cw_clock_ms();
        store_fixture_wait_for(&store_changes, seen + 1);
        assert_true(cw_clock_ms() - began < patience(1000));
        assert_true(cw_store_generation(s) > before);
    }
    cw_db_close(other);
    cw_store_free(s);
}

TEST(a_lost_connection_is_made_again_and_everything_counts_as_changed)
{
    cw_store *s = store_fixture_start();
    assert_int_equal(store_fixture_ask(s), CW_OK);
    uint64_t before = cw_store_generation(s);
    temp_db_run("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE application_name = 'causeway'");
    store_fixture_wait_for(&store_downs, 1);
    store_fixture_wait_for(&store_ups, 1);
    assert_int_equal(store_fixture_ask(s), CW_OK);
    assert_true(cw_store_generation(s) > before);
    cw_store_free(s);
}

int main(void)
{
    if (!temp_db_is_server())
        return 77;
#define T(name) cmocka_unit_test_setup_teardown(name, temp_db_setup, temp_db_teardown)
    const struct CMUnitTest tests[] = {
        T(eight_programs_that_start_at_once_make_the_tables_once),
        T(without_tables_nothing_is_opened_and_none_are_made),
        T(tables_of_a_newer_program_are_used_while_they_can_be_read),
        T(a_table_of_another_program_is_left_alone),
        T(a_url_must_be_safe),
        T(a_server_that_is_away_is_an_error_within_the_timeout),
        T(a_login_beside_a_new_password_leaves_no_session),
        T(the_use_of_a_session_is_no_change_of_rights),
        T(a_copy_to_a_server_and_back_has_the_same_rows_and_numbers),
        T(the_first_job_waits_for_the_connection),
        T(a_change_of_another_program_raises_the_generation_within_a_second),
        T(a_lost_connection_is_made_again_and_everything_counts_as_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
