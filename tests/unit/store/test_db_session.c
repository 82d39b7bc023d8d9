/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/temp_db.h"

#include "store/db.h"
#include "support/oom.h"

static cw_err err;
static cw_db *db;
static int64_t alice;
static const cw_session_rules rules = {.idle_ms = 100, .lifetime_ms = 1000, .per_account = 3};

static int64_t add_account(const char *name)
{
    int64_t id = 0;
    cw_account account = {.name = cw_str_from(name), .password = CW_STR("hash")};
    assert_int_equal(cw_db_add_account(db, &account, NULL, 0, &id, &err), CW_OK);
    return id;
}

SETUP(setup)
{
    cw_db_opts opts = {TEMP_DB, .may_create = true, .busy_ms = 50};
    if (temp_db_setup(state))
        return -1;
    opts.where = temp_db_path;
    if (cw_db_open(&opts, &db, &err))
        return -1;
    alice = add_account("alice");
    return 0;
}

TEARDOWN(teardown)
{
    cw_db_close(db);
    return temp_db_teardown(state);
}

static cw_session make(int64_t account, unsigned char number, int64_t created)
{
    cw_session s = {.account = account, .created = created};
    memset(s.hash, number, sizeof s.hash);
    return s;
}

static cw_code add(int64_t account, unsigned char number, int64_t created, const char *password)
{
    cw_session s = make(account, number, created);
    return cw_db_add_session(db, &s, cw_str_from(password), &rules, NULL, &err);
}

/* The number of the session with this hash; 0: there is none. */
static int64_t find(unsigned char number)
{
    cw_session wanted = make(0, number, 0), *found = NULL;
    cw_account *account = NULL;
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_arena_init(&arena, 65536);
    assert_int_equal(cw_db_find_session(db, wanted.hash, &arena, &found, &account, &err), CW_OK);
    assert_int_equal(found != NULL, account != NULL);
    return found ? found->id : 0;
}

static cw_code count(const cw_session *session, void *ctx, cw_err *e)
{
    int *n = ctx;
    (void)e;
    assert_true(session->id > 0);
    return ++*n < 1000 ? CW_OK : CW_LIMIT;
}

static int n_sessions(int64_t account)
{
    int n = 0;
    assert_int_equal(cw_db_each_session(db, account, count, &n, &err), CW_OK);
    return n;
}

TEST(a_session_is_found_with_its_account)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_session wanted = make(0, 7, 0), *found = NULL;
    cw_account *account = NULL;
    cw_arena_init(&arena, 65536);
    assert_int_equal(add(alice, 7, 50, "hash"), CW_OK);
    assert_int_equal(cw_db_find_session(db, wanted.hash, &arena, &found, &account, &err), CW_OK);
    assert_int_equal(found->account, alice);
    assert_int_equal(found->created, 50);
    assert_int_equal(found->used, 50);
    assert_true(cw_str_is(found->account_name, "alice"));
    assert_memory_equal(found->hash, wanted.hash, sizeof wanted.hash);
    assert_true(cw_str_is(account->name, "alice"));
    assert_int_equal(cw_db_touch_session(db, found->id, 60, &err), CW_OK);
    assert_int_equal(cw_db_find_session(db, wanted.hash, &arena, &found, &account, &err), CW_OK);
    assert_int_equal(found->used, 60);
    assert_int_equal(find(8), 0);
    /* The same secret twice is nobody's plan. */
    assert_int_equal(add(alice, 7, 51, "hash"), CW_PARAMS);
}

TEST(only_the_password_of_this_moment_opens_one)
{
    assert_int_equal(add(alice, 1, 50, "other"), CW_NOTFOUND);
    assert_int_equal(add(alice, 1, 50, ""), CW_NOTFOUND);
    assert_int_equal(add(alice + 1, 1, 50, "hash"), CW_NOTFOUND);
    assert_int_equal(cw_db_block_account(db, CW_STR("alice"), true, &err), CW_OK);
    assert_int_equal(add(alice, 1, 50, "hash"), CW_NOTFOUND);
    assert_int_equal(n_sessions(0), 0);
    int64_t tokens_only = 0;
    cw_account none = {.name = CW_STR("none")};
    assert_int_equal(cw_db_add_account(db, &none, NULL, 0, &tokens_only, &err), CW_OK);
    assert_int_equal(add(tokens_only, 1, 50, ""), CW_NOTFOUND);
}

TEST(every_change_of_an_account_ends_its_sessions_and_no_others)
{
    int64_t bob = add_account("bob");
    assert_int_equal(add(bob, 100, 50, "hash"), CW_OK);
    for (unsigned char i = 0; i < 5; i++) {
        assert_int_equal(add(alice, i, 50, "hash"), CW_OK);
        assert_int_equal(n_sessions(alice), 1);
        cw_code rc = CW_INTERNAL;
        switch (i) {
        case 0:
            rc = cw_db_set_password(db, CW_STR("alice"), CW_STR("hash"), &err);
            break;
        case 1:
            rc = cw_db_grant(db, CW_STR("alice"), CW_STR("editor"), true, &err);
            break;
        case 2:
            rc = cw_db_grant(db, CW_STR("alice"), CW_STR("editor"), false, &err);
            break;
        case 3:
            rc = cw_db_block_account(db, CW_STR("alice"), true, &err);
            break;
        default:
            rc = cw_db_remove_account(db, CW_STR("alice"), &err);
        }
        assert_int_equal(rc, CW_OK);
        assert_int_equal(n_sessions(0), 1);
        if (i == 3)
            assert_int_equal(cw_db_block_account(db, CW_STR("alice"), false, &err), CW_OK);
    }
    assert_int_not_equal(find(100), 0);
}

TEST(a_role_that_goes_ends_the_sessions_of_those_who_had_it)
{
    assert_int_equal(cw_db_add_role(db, CW_STR("editor"), &err), CW_OK);
    assert_int_equal(cw_db_grant(db, CW_STR("alice"), CW_STR("editor"), true, &err), CW_OK);
    assert_int_equal(add(alice, 1, 50, "hash"), CW_OK);
    /* What a role may do is read with each request: nobody has to log in again for it. */
    assert_int_equal(cw_db_allow(db, CW_STR("editor"), CW_STR("p"), true, &err), CW_OK);
    assert_int_equal(n_sessions(alice), 1);
    assert_int_equal(cw_db_remove_role(db, CW_STR("editor"), &err), CW_OK);
    assert_int_equal(n_sessions(alice), 0);
}

TEST(the_oldest_goes_beyond_the_ceiling)
{
    int64_t bob = add_account("bob");
    assert_int_equal(add(bob, 100, 50, "hash"), CW_OK);
    for (unsigned char i = 1; i <= 5; i++)
        assert_int_equal(add(alice, i, 60 - i, "hash"), CW_OK); /* a clock that runs backwards */
    assert_int_equal(n_sessions(alice), 3);
    assert_int_equal(find(2), 0);
    assert_int_not_equal(find(3), 0);
    assert_int_not_equal(find(5), 0);
    assert_int_equal(n_sessions(bob), 1);
}

TEST(those_that_are_over_are_removed_by_the_next)
{
    assert_int_equal(add(alice, 1, 0, "hash"), CW_OK);
    assert_int_equal(cw_db_touch_session(db, find(1), 999, &err), CW_OK);
    assert_int_equal(add(alice, 2, 950, "hash"), CW_OK);
    assert_int_equal(add(alice, 3, 999, "hash"), CW_OK);
    assert_int_equal(n_sessions(0), 3);
    /* The first has lived long enough at 1000, the second was not used for 100 at 1050. */
    assert_int_equal(add(alice, 4, 1000, "hash"), CW_OK);
    assert_int_equal(find(1), 0);
    assert_int_not_equal(find(2), 0);
    assert_int_equal(add(alice, 5, 1050, "hash"), CW_OK);
    assert_int_equal(find(2), 0);
    assert_int_not_equal(find(3), 0);
}

TEST(another_session_takes_the_place_of_one)
{
    cw_session old = make(alice, 1, 50), fresh = make(alice, 2, 51);
    assert_int_equal(add(alice, 1, 50, "hash"), CW_OK);
    /* A login that fails ends nothing. */
    assert_int_equal(cw_db_add_session(db, &fresh, CW_STR("wrong"), &rules, old.hash, &err),
                     CW_NOTFOUND);
    assert_int_not_equal(find(1), 0);
    assert_int_equal(cw_db_add_session(db, &fresh, CW_STR("hash"), &rules, old.hash, &err), CW_OK);
    assert_int_equal(find(1), 0);
    assert_int_not_equal(find(2), 0);
    fresh = make(alice, 3, 52);
    assert_int_equal(cw_db_add_session(db, &fresh, CW_STR("hash"), &rules, old.hash, &err), CW_OK);
}

TEST(a_session_ends_by_its_number_or_its_hash)
{
    cw_session one = make(alice, 1, 50);
    assert_int_equal(add(alice, 1, 50, "hash"), CW_OK);
    assert_int_equal(add(alice, 2, 50, "hash"), CW_OK);
    assert_int_equal(cw_db_end_session(db, one.hash, &err), CW_OK);
    assert_int_equal(cw_db_end_session(db, one.hash, &err), CW_DONE);
    assert_int_equal(cw_db_remove_session(db, find(2), &err), CW_OK);
    assert_int_equal(cw_db_remove_session(db, 2, &err), CW_NOTFOUND);
    assert_string_equal(err.msg, "no session 2");
    assert_int_equal(n_sessions(0), 0);
}

static cw_code refuse(const cw_session *session, void *ctx, cw_err *e)
{
    (void)session;
    (void)ctx;
    return cw_fail(e, CW_LIMIT, "enough");
}

TEST(an_enumeration_ends_when_its_function_says_so)
{
    assert_int_equal(add(alice, 1, 50, "hash"), CW_OK);
    assert_int_equal(cw_db_each_session(db, 0, refuse, NULL, &err), CW_LIMIT);
    assert_string_equal(err.msg, "enough");
    assert_int_equal(n_sessions(alice + 1), 0);
}

static void look_up(void *ctx)
{
    cw_session *wanted = ctx, *found = NULL;
    cw_account *account = NULL;
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_arena_init(&arena, 65536);
    cw_code rc = cw_db_find_session(db, wanted->hash, &arena, &found, &account, &err);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    if (oom_was_hit())
        assert_int_equal(rc, CW_NOMEM);
    else
        assert_non_null(found);
}

TEST(looking_one_up_survives_every_failed_allocation)
{
    cw_session wanted = make(alice, 1, 50);
    assert_int_equal(add(alice, 1, 50, "hash"), CW_OK);
    assert_true(oom_each(look_up, &wanted) >= 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_session_is_found_with_its_account),
        T(only_the_password_of_this_moment_opens_one),
        T(every_change_of_an_account_ends_its_sessions_and_no_others),
        T(a_role_that_goes_ends_the_sessions_of_those_who_had_it),
        T(the_oldest_goes_beyond_the_ceiling),
        T(those_that_are_over_are_removed_by_the_next),
        T(another_session_takes_the_place_of_one),
        T(a_session_ends_by_its_number_or_its_hash),
        T(an_enumeration_ends_when_its_function_says_so),
    };
    const struct CMUnitTest of_a_file[] = {
        T(looking_one_up_survives_every_failed_allocation),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return temp_db_is_server() ? failed : failed + cmocka_run_group_tests(of_a_file, NULL, NULL);
}
